//! Rows of other processes as a source: single samples are fetched when a fit reads them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::job::Job;
use super::partial_result::PartialResult;
use crate::data::block::Block;
use crate::data::source::{Shape, Source};
use crate::error::{Error, Result};

/// The way to the processes that hold the rows.
pub trait Dispatch: Sync {
    /// The sum of all rows: the job's sums of every part, merged in the order of the data along a fixed tree.
    fn sum(&self, job: &Job<'_>, name: &'static str, pass: usize) -> Result<PartialResult>;

    /// These samples, in this order.
    fn fetch(&self, samples: &[usize]) -> Result<Arc<dyn Source + Send + Sync>>;
}

/// All rows, wherever they are.
pub struct RemoteSource<'a> {
    dispatch: &'a dyn Dispatch,
    shape: Shape,
    near: Mutex<Arc<FetchedRows>>,
}

/// The samples that were fetched last.
struct FetchedRows {
    places: HashMap<usize, usize>,
    rows: Option<Arc<dyn Source + Send + Sync>>,
}

impl<'a> RemoteSource<'a> {
    /// Rows of this shape behind `dispatch`.
    pub fn new(dispatch: &'a dyn Dispatch, shape: Shape) -> Self {
        let near = Mutex::new(Arc::new(FetchedRows { places: HashMap::new(), rows: None }));
        Self { dispatch, shape, near }
    }

    /// The way to the processes that hold the rows.
    pub(super) fn dispatch(&self) -> &'a dyn Dispatch {
        self.dispatch
    }

    fn near(&self) -> Arc<FetchedRows> {
        Arc::clone(&self.near.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fetch(&self, samples: &[usize]) -> Result<Arc<FetchedRows>> {
        let rows = self.dispatch.fetch(samples)?;
        let (asked, features) = ((samples.len(), self.shape.features), self.shape.features);
        let got = rows.shape();
        if (got.samples, got.features) != asked || got.element != self.shape.element {
            return Err(Error::invalid_data(format!(
                "{} samples of {features} features ({}) were asked for but {} of {} ({}) came; the data must not change \
                 during a fit",
                samples.len(),
                self.shape.element.name(),
                got.samples,
                got.features,
                got.element.name()
            )));
        }
        let places = samples.iter().enumerate().map(|(place, sample)| (*sample, place)).collect();
        Ok(Arc::new(FetchedRows { places, rows: Some(rows) }))
    }
}

impl Source for RemoteSource<'_> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let near = self.near();
        if samples.iter().any(|sample| !near.places.contains_key(sample)) {
            let mut samples = samples.to_vec();
            samples.sort_unstable();
            samples.dedup();
            let fetched = self.fetch(&samples)?;
            *self.near.lock().unwrap_or_else(PoisonError::into_inner) = fetched;
        }
        Ok(())
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let mut near = self.near();
        // Samples are kept in ascending order, so neighbours lie side by side.
        if rows.clone().any(|row| !near.places.contains_key(&row)) {
            near = self.fetch(&rows.clone().collect::<Vec<_>>())?;
        }
        let (Some(source), Some(&place)) = (&near.rows, near.places.get(&rows.start)) else {
            return Ok(()); // no rows were asked for
        };
        source.visit(place..place + rows.len(), &mut |block| visit(Block::new(rows.start, block.data())))
    }
}
