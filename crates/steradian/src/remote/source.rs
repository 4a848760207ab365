//! The source of rows that other processes hold: single samples are fetched when a fit reads them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::job::Job;
use super::partial_result::PartialResult;
use crate::data::block::Block;
use crate::data::source::{Shape, Source};
use crate::error::{Error, Result};

/// The connection to the processes that hold the rows.
pub trait Dispatch: Sync {
    /// The total of a job over all rows: the partial results of all parts, merged in data order along a fixed tree.
    /// `name` is that of the pass, `pass` its 1-based index.
    fn sum(&self, job: &Job<'_>, name: &'static str, pass: usize) -> Result<PartialResult>;

    /// The samples with these indices, in this order.
    fn fetch(&self, samples: &[usize]) -> Result<Arc<dyn Source + Send + Sync>>;
}

/// The rows that other processes hold, as a source.
pub struct RemoteSource<'a> {
    dispatch: &'a dyn Dispatch,
    shape: Shape,
    feature_names: Option<Vec<String>>,
    fetched: Mutex<Arc<FetchedRows>>,
}

/// The samples that were fetched last, in ascending order.
struct FetchedRows {
    /// Row of each sample.
    places: HashMap<usize, usize>,
    rows: Option<Arc<dyn Source + Send + Sync>>,
}

impl<'a> RemoteSource<'a> {
    /// A source of this shape whose rows `dispatch` fetches.
    pub fn new(dispatch: &'a dyn Dispatch, shape: Shape) -> Self {
        let fetched = Mutex::new(Arc::new(FetchedRows { places: HashMap::new(), rows: None }));
        Self { dispatch, shape, feature_names: None, fetched }
    }

    /// The source with names of its features, one per feature.
    #[must_use]
    pub fn with_feature_names(self, names: Vec<String>) -> Self {
        Self { feature_names: Some(names), ..self }
    }

    /// The connection to the processes that hold the rows.
    pub(super) fn dispatch(&self) -> &'a dyn Dispatch {
        self.dispatch
    }

    fn fetched(&self) -> Arc<FetchedRows> {
        Arc::clone(&self.fetched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn fetch(&self, samples: &[usize]) -> Result<Arc<FetchedRows>> {
        let rows = self.dispatch.fetch(samples)?;
        let (expected, features) = ((samples.len(), self.shape.features), self.shape.features);
        let got = rows.shape();
        if (got.samples, got.features) != expected || got.element != self.shape.element {
            return Err(Error::invalid_data(format!(
                "expected {} samples of {features} features ({}), got {} of {} ({}); do not change the data during \
                 a fit",
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

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.feature_names.as_ref()?.get(feature).cloned()
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        let fetched = self.fetched();
        if samples.iter().any(|sample| !fetched.places.contains_key(sample)) {
            let mut samples = samples.to_vec();
            samples.sort_unstable();
            samples.dedup();
            let new_rows = self.fetch(&samples)?;
            *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = new_rows;
        }
        Ok(())
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let mut fetched = self.fetched();
        // Fetched samples are in ascending order, so consecutive samples are adjacent rows.
        if rows.clone().any(|row| !fetched.places.contains_key(&row)) {
            fetched = self.fetch(&rows.clone().collect::<Vec<_>>())?;
        }
        let (Some(source), Some(&place)) = (&fetched.rows, fetched.places.get(&rows.start)) else {
            return Ok(()); // no rows were requested
        };
        source.visit(place..place + rows.len(), &mut |block| visit(Block::new(rows.start, block.data())))
    }
}
