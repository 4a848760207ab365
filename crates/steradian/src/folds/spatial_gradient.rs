//! The negative gradient of the sum of distances to a point: the sum of directions to the samples. It is zero at the
//! spatial median.
//!
//! | symbol | here |
//! |---|---|
//! | y | `point` |
//! | sum over x != y of (x - y) / norm(x - y) | `gradient` |
//! | sum of 1 / norm(x - y) | `inverse_distances` |
//!
//! With `present`, only the cells that are present count: a missing cell of x has the coordinate of y, so that the sum of
//! distances over the cells present is minimized. It is as convex as that over all cells.
//!
//! Weiszfeld's step is y + gradient / inverse_distances. Cost: one pass, 4 n D flops.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed, require_finite, require_length, require_samples};
use crate::data::block::{Block, BlockData, Rows};
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::panel;
use crate::kernel::weighted_sums::{add_weighted, squared_distances};
use crate::memory;

/// Rows per task of the distances.
const CHUNK_ROWS: usize = 32;
/// Columns per task of the sums: with the point they fit into the L1 cache.
const PANEL_COLUMNS: usize = 1536;

/// The fold that computes the gradient over the samples of the support.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpatialGradient<'a> {
    #[serde(with = "packed::cow")]
    point: Cow<'a, [f64]>,
    support: Option<Cow<'a, [bool]>>,
    coincidence: f64,
    present: bool,
}

impl<'a> SpatialGradient<'a> {
    /// The gradient at `point`; samples within a distance of `coincidence` coincide with it.
    pub fn new(point: &'a [f64], support: Option<&'a [bool]>, coincidence: f64) -> Self {
        Self { point: Cow::Borrowed(point), support: support.map(Cow::Borrowed), coincidence, present: false }
    }

    /// The gradient of the distances over the cells present.
    #[must_use]
    pub fn over_present_cells(self) -> Self {
        Self { present: true, ..self }
    }

    /// The block with missing cells at the point, in f64, so that their deviation is exactly 0.
    fn filled(&self, block: &Block<'_>) -> Vec<f64> {
        let features = self.point.len();
        let mut filled = memory::filled(block.rows() * features, 0.0);
        filled.par_chunks_mut(features.max(1)).enumerate().for_each(|(row, cells)| {
            block.read_row(row, cells);
            for (x, y) in cells.iter_mut().zip(self.point.iter()) {
                *x = if x.is_nan() { *y } else { *x };
            }
        });
        filled
    }

    /// Adds a block without missing cells.
    fn add_complete(&self, accumulator: &mut SpatialGradientAccumulator, block: &Block<'_>) {
        let mut distances = vec![0.0; block.rows()];
        distances.par_chunks_mut(CHUNK_ROWS).enumerate().for_each(|(chunk, distances)| {
            let first = chunk * CHUNK_ROWS;
            squared_distances(block, first..first + distances.len(), &self.point, distances);
            for (row, distance) in (first..).zip(distances) {
                *distance = panel::safe_norm(*distance, block, row, &self.point);
            }
        });
        let mut active = Vec::with_capacity(distances.len());
        for (row, distance) in distances.into_iter().enumerate() {
            let sample = block.first() + row;
            if self.support.as_ref().is_some_and(|support| !support[sample]) {
                continue;
            }
            if distance <= self.coincidence {
                accumulator.coincident += 1;
                continue;
            }
            active.push((row, 1.0 / distance));
            accumulator.inverse_distances += 1.0 / distance;
            accumulator.lengths += distance;
            if accumulator.nearest.is_none_or(|(_, nearest)| distance < nearest) {
                accumulator.nearest = Some((sample, distance));
            }
        }
        accumulator.gradient.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, gradient)| {
            let columns = panel * PANEL_COLUMNS..panel * PANEL_COLUMNS + gradient.len();
            add_weighted(block, &active, columns.clone(), &self.point[columns], gradient);
        });
    }
}

/// Sums over some samples at the point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SpatialGradientAccumulator {
    /// Sum of the directions from the point to the samples.
    #[serde(with = "packed")]
    pub gradient: Vec<f64>,
    /// Sum of the inverse distances.
    pub inverse_distances: f64,
    /// Sum of the distances, which the spatial median minimizes.
    pub lengths: f64,
    /// Number of samples that coincide with the point.
    pub coincident: u64,
    /// The nearest other sample and its distance to the point.
    pub nearest: Option<(usize, f64)>,
}

impl Fold for SpatialGradient<'_> {
    const NAME: &'static str = "spatial median";

    type Accumulator = SpatialGradientAccumulator;
    type Out = SpatialGradientAccumulator;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        require_length("the point", self.point.len(), shape.features)?;
        require_finite("the point", &self.point)?;
        self.support.as_ref().map_or(Ok(()), |support| require_samples("the support", support.len(), samples))
    }

    fn check_accumulator(&self, accumulator: &SpatialGradientAccumulator, samples: &Range<usize>) -> Result<()> {
        require_length("the gradient", accumulator.gradient.len(), self.point.len())?;
        if accumulator.coincident > samples.len() as u64 {
            return Err(inconsistent(format!("it counts {} of {} samples", accumulator.coincident, samples.len())));
        }
        match accumulator.nearest {
            Some((nearest, _)) if !samples.contains(&nearest) => {
                Err(inconsistent(format!("the nearest sample is {nearest}, but the samples are {samples:?}")))
            }
            _ => Ok(()),
        }
    }

    fn accumulator_bytes(&self) -> usize {
        self.point.len() * 8
    }

    fn empty(&self) -> SpatialGradientAccumulator {
        SpatialGradientAccumulator {
            gradient: memory::filled(self.point.len(), 0.0),
            inverse_distances: 0.0,
            lengths: 0.0,
            coincident: 0,
            nearest: None,
        }
    }

    fn add(&self, accumulator: &mut SpatialGradientAccumulator, block: &Block<'_>) -> Result<()> {
        if !self.present {
            self.add_complete(accumulator, block);
            return Ok(());
        }
        let filled = self.filled(block);
        let rows = Rows::contiguous(&filled, block.rows(), self.point.len())?;
        self.add_complete(accumulator, &Block::new(block.first(), BlockData::F64(rows)));
        Ok(())
    }

    fn merge(&self, left: SpatialGradientAccumulator, right: SpatialGradientAccumulator) -> SpatialGradientAccumulator {
        let nearest = match (left.nearest, right.nearest) {
            (Some(a), Some(b)) => Some(if b.1 < a.1 { b } else { a }),
            (a, b) => a.or(b),
        };
        SpatialGradientAccumulator {
            gradient: crate::folds::add_all(left.gradient, &right.gradient),
            inverse_distances: left.inverse_distances + right.inverse_distances,
            lengths: left.lengths + right.lengths,
            coincident: left.coincident + right.coincident,
            nearest,
        }
    }

    fn finish(&self, total: SpatialGradientAccumulator) -> Result<SpatialGradientAccumulator> {
        Ok(total)
    }
}
