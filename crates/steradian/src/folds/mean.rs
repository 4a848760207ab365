//! Column means in one pass, with a check that every cell is finite.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed, require_length, require_samples};
use crate::config::options::Missing;
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::{Error, Result};
use crate::kernel::column_sums::{PANEL_COLUMNS, add_columns};
use crate::kernel::panel;
use crate::memory;

/// The fold that computes the mean of all samples, or of the support.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnMeans<'a> {
    features: usize,
    support: Option<Cow<'a, [bool]>>,
}

impl<'a> ColumnMeans<'a> {
    /// The mean of data with this many features, over the samples of the support (all if `None`).
    pub fn new(features: usize, support: Option<&'a [bool]>) -> Self {
        Self { features, support: support.map(Cow::Borrowed) }
    }
}

/// Number and column sums of some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeanAccumulator {
    samples: u64,
    #[serde(with = "packed")]
    totals: Vec<f64>,
}

impl Fold for ColumnMeans<'_> {
    const NAME: &'static str = "mean";

    type Accumulator = MeanAccumulator;
    type Out = Vec<f64>;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        require_length("the mean", self.features, shape.features)?;
        self.support.as_ref().map_or(Ok(()), |support| require_samples("the support", support.len(), samples))
    }

    fn check_accumulator(&self, accumulator: &MeanAccumulator, samples: &Range<usize>) -> Result<()> {
        if accumulator.samples > samples.len() as u64 {
            return Err(inconsistent(format!("it counts {} of {} samples", accumulator.samples, samples.len())));
        }
        require_length("the sums", accumulator.totals.len(), self.features)
    }

    fn accumulator_bytes(&self) -> usize {
        self.features * 8
    }

    fn empty(&self) -> MeanAccumulator {
        MeanAccumulator { samples: 0, totals: memory::filled(self.features, 0.0) }
    }

    fn add(&self, accumulator: &mut MeanAccumulator, block: &Block<'_>) -> Result<()> {
        let in_support = |row: usize| self.support.as_ref().is_none_or(|support| support[block.first() + row]);
        let rows: Vec<usize> = (0..block.rows()).filter(|&row| in_support(row)).collect();
        accumulator.samples += rows.len() as u64;
        accumulator.totals.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, totals)| {
            let start = panel * PANEL_COLUMNS;
            add_columns(block, &rows, start..start + totals.len(), totals);
        });
        if accumulator.totals.iter().all(|t| t.is_finite()) {
            return Ok(());
        }
        panel::require_finite(block, Missing::Error)?;
        Err(Error::invalid_data(format!(
            "column sums overflow f64 near row {}; scale the data to below 1e300 in magnitude",
            block.first()
        )))
    }

    fn merge(&self, left: MeanAccumulator, right: MeanAccumulator) -> MeanAccumulator {
        MeanAccumulator {
            samples: left.samples + right.samples,
            totals: crate::folds::add_all(left.totals, &right.totals),
        }
    }

    fn finish(&self, total: MeanAccumulator) -> Result<Vec<f64>> {
        let samples = total.samples.max(1) as f64;
        Ok(total.totals.into_iter().map(|t| t / samples).collect())
    }
}
