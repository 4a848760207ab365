//! Column sums: the mean in one pass, with a check that every number is finite.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::{Error, Result};
use crate::kernel::column_sums::{PANEL_COLUMNS, add_columns};
use crate::kernel::panel;

/// The mean of all samples, or of the kept ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnMeans<'a> {
    features: usize,
    support: Option<Cow<'a, [bool]>>,
}

impl<'a> ColumnMeans<'a> {
    /// For data of this many features; where `support` is given, only its samples count.
    pub fn new(features: usize, support: Option<&'a [bool]>) -> Self {
        Self { features, support: support.map(Cow::Borrowed) }
    }
}

/// The sum of some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MomentsSum {
    samples: u64,
    #[serde(with = "packed")]
    totals: Vec<f64>,
}

impl Fold for ColumnMeans<'_> {
    const NAME: &'static str = "mean";

    type Accumulator = MomentsSum;
    type Out = Vec<f64>;

    fn accumulator_bytes(&self) -> usize {
        self.features * 8
    }

    fn empty(&self) -> MomentsSum {
        MomentsSum { samples: 0, totals: vec![0.0; self.features] }
    }

    fn add(&self, sum: &mut MomentsSum, block: &Block<'_>) -> Result<()> {
        let counts = |row: usize| self.support.as_ref().is_none_or(|support| support[block.first() + row]);
        let rows: Vec<usize> = (0..block.rows()).filter(|&row| counts(row)).collect();
        sum.samples += rows.len() as u64;
        sum.totals.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, totals)| {
            let start = panel * PANEL_COLUMNS;
            add_columns(block, &rows, start..start + totals.len(), totals);
        });
        if sum.totals.iter().all(|t| t.is_finite()) {
            return Ok(());
        }
        panel::require_finite(block)?;
        Err(Error::invalid_data(format!(
            "column sums overflow double precision near row {}; scale the data to below 1e300 in magnitude",
            block.first()
        )))
    }

    fn merge(&self, left: MomentsSum, right: MomentsSum) -> MomentsSum {
        MomentsSum { samples: left.samples + right.samples, totals: crate::folds::add_all(left.totals, &right.totals) }
    }

    fn finish(&self, sum: MomentsSum) -> Result<Vec<f64>> {
        let samples = sum.samples.max(1) as f64;
        Ok(sum.totals.into_iter().map(|t| t / samples).collect())
    }
}
