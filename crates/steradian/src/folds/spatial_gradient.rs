//! The negative gradient of the sum of distances to a point: the sum of unit directions to the samples, whose zero is the
//! spatial median.
//!
//! | symbol | here |
//! |---|---|
//! | y | `point` |
//! | sum over x != y of (x - y) / norm(x - y) | `pull` |
//! | sum of 1 / norm(x - y) | `inverse_lengths` |
//!
//! Weiszfeld's step is y + pull / inverse_lengths. Cost: one pass, 4 n D flops.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::data::block::Block;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::panel;
use crate::kernel::weighted_sums::{add_weighted, squared_distances};

/// Rows that one task measures.
const CHUNK_ROWS: usize = 32;
/// Columns that one task sums: with the point they stay in the first-level cache.
const PANEL_COLUMNS: usize = 1536;

/// The pull of the kept samples on a point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpatialGradient<'a> {
    #[serde(with = "packed::lent")]
    point: Cow<'a, [f64]>,
    support: Option<Cow<'a, [bool]>>,
    coincidence: f64,
}

impl<'a> SpatialGradient<'a> {
    /// The pull on `point`; samples within `coincidence` of it count as lying on it.
    pub fn new(point: &'a [f64], support: Option<&'a [bool]>, coincidence: f64) -> Self {
        Self { point: Cow::Borrowed(point), support: support.map(Cow::Borrowed), coincidence }
    }
}

/// What the samples so far do to the point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PullSum {
    /// The sum of unit directions towards the samples.
    #[serde(with = "packed")]
    pub pull: Vec<f64>,
    /// The sum of inverse distances.
    pub inverse_lengths: f64,
    /// The sum of distances: what the spatial median minimises.
    pub lengths: f64,
    /// How many samples lie on the point.
    pub coincident: u64,
    /// The nearest other sample and its distance.
    pub nearest: Option<(usize, f64)>,
}

impl Fold for SpatialGradient<'_> {
    const NAME: &'static str = "spatial median";

    type Accumulator = PullSum;
    type Out = PullSum;

    fn accumulator_bytes(&self) -> usize {
        self.point.len() * 8
    }

    fn empty(&self) -> PullSum {
        PullSum { pull: vec![0.0; self.point.len()], inverse_lengths: 0.0, lengths: 0.0, coincident: 0, nearest: None }
    }

    fn add(&self, sum: &mut PullSum, block: &Block<'_>) -> Result<()> {
        let mut lengths = vec![0.0; block.rows()];
        lengths.par_chunks_mut(CHUNK_ROWS).enumerate().for_each(|(chunk, lengths)| {
            let first = chunk * CHUNK_ROWS;
            squared_distances(block, first..first + lengths.len(), &self.point, lengths);
            for (row, length) in (first..).zip(lengths) {
                *length = panel::safe_length(*length, block, row, &self.point);
            }
        });
        let mut speaking = Vec::with_capacity(lengths.len());
        for (row, length) in lengths.into_iter().enumerate() {
            let sample = block.first() + row;
            if self.support.as_ref().is_some_and(|support| !support[sample]) {
                continue;
            }
            if length <= self.coincidence {
                sum.coincident += 1;
                continue;
            }
            speaking.push((row, 1.0 / length));
            sum.inverse_lengths += 1.0 / length;
            sum.lengths += length;
            if sum.nearest.is_none_or(|(_, nearest)| length < nearest) {
                sum.nearest = Some((sample, length));
            }
        }
        sum.pull.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, pull)| {
            let columns = panel * PANEL_COLUMNS..panel * PANEL_COLUMNS + pull.len();
            add_weighted(block, &speaking, columns.clone(), &self.point[columns], pull);
        });
        Ok(())
    }

    fn merge(&self, left: PullSum, right: PullSum) -> PullSum {
        let nearest = match (left.nearest, right.nearest) {
            (Some(a), Some(b)) => Some(if b.1 < a.1 { b } else { a }),
            (a, b) => a.or(b),
        };
        PullSum {
            pull: crate::folds::add_all(left.pull, &right.pull),
            inverse_lengths: left.inverse_lengths + right.inverse_lengths,
            lengths: left.lengths + right.lengths,
            coincident: left.coincident + right.coincident,
            nearest,
        }
    }

    fn finish(&self, sum: PullSum) -> Result<PullSum> {
        Ok(sum)
    }
}
