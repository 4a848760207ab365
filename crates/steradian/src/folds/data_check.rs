//! The check of the data in one pass: every cell is finite; column means, magnitudes of the rows and a digest.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed, require_length};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::column_sums::{PANEL_COLUMNS, add_columns};
use crate::kernel::{panel, row_digest};
use crate::memory;
use crate::numeric::magnitude::Magnitudes;

/// The fold that checks all samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataCheck {
    features: usize,
}

impl DataCheck {
    /// The check of data with this many features.
    pub fn new(features: usize) -> Self {
        Self { features }
    }
}

/// Number, column sums, magnitudes and digest of some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataCheckAccumulator {
    samples: u64,
    #[serde(with = "packed")]
    totals: Vec<f64>,
    magnitudes: Magnitudes,
    digest: u64,
}

/// The result of the check.
#[derive(Debug, Clone)]
pub struct DataSummary {
    /// The mean of each column; `None` if a sum overflows.
    pub(crate) mean: Option<Vec<f64>>,
    pub(crate) magnitudes: Magnitudes,
    /// The sum of the digests of the rows, modulo 2^64.
    pub(crate) digest: u64,
}

impl Fold for DataCheck {
    const NAME: &'static str = "check";

    type Accumulator = DataCheckAccumulator;
    type Out = DataSummary;

    fn check(&self, shape: &Shape, _samples: &Range<usize>) -> Result<()> {
        require_length("the check", self.features, shape.features)
    }

    fn check_accumulator(&self, accumulator: &DataCheckAccumulator, samples: &Range<usize>) -> Result<()> {
        if accumulator.samples > samples.len() as u64 {
            return Err(inconsistent(format!("it counts {} of {} samples", accumulator.samples, samples.len())));
        }
        if accumulator.magnitudes.rows().is_none_or(|rows| rows > accumulator.samples) {
            return Err(inconsistent(format!("it has magnitudes of other than {} samples", accumulator.samples)));
        }
        require_length("the sums", accumulator.totals.len(), self.features)
    }

    fn accumulator_bytes(&self) -> usize {
        self.features * 8
    }

    fn empty(&self) -> DataCheckAccumulator {
        let totals = memory::filled(self.features, 0.0);
        DataCheckAccumulator { samples: 0, totals, magnitudes: Magnitudes::default(), digest: 0 }
    }

    fn add(&self, accumulator: &mut DataCheckAccumulator, block: &Block<'_>) -> Result<()> {
        let rows: Vec<usize> = (0..block.rows()).collect();
        accumulator.samples += rows.len() as u64;
        accumulator.totals.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, totals)| {
            let start = panel * PANEL_COLUMNS;
            add_columns(block, &rows, start..start + totals.len(), totals);
        });
        // A sum that is not finite has a cell that is not finite, or overflows; only the former is an error.
        if !accumulator.totals.iter().all(|t| t.is_finite()) {
            panel::require_finite(block)?;
        }
        for row in row_digest::summaries(block) {
            accumulator.magnitudes.add(row.exponent);
            accumulator.digest = accumulator.digest.wrapping_add(row.digest);
        }
        Ok(())
    }

    fn merge(&self, left: DataCheckAccumulator, right: DataCheckAccumulator) -> DataCheckAccumulator {
        DataCheckAccumulator {
            samples: left.samples + right.samples,
            totals: crate::folds::add_all(left.totals, &right.totals),
            magnitudes: left.magnitudes.merge(right.magnitudes),
            digest: left.digest.wrapping_add(right.digest),
        }
    }

    fn finish(&self, total: DataCheckAccumulator) -> Result<DataSummary> {
        let samples = total.samples.max(1) as f64;
        let mean: Vec<f64> = total.totals.into_iter().map(|t| t / samples).collect();
        let mean = mean.iter().all(|x| x.is_finite()).then_some(mean);
        Ok(DataSummary { mean, magnitudes: total.magnitudes, digest: total.digest })
    }
}
