//! Weighted rows of the operator, w (x - mu): center, weighting and support.
//!
//! | paper | here |
//! |---|---|
//! | mu | `center` |
//! | u = x / norm(x), eq. (2) | `w (x - mu)` with w = 1 / norm(x - mu) |
//! | columns of S | `support` |
//!
//! U is never formed: only one panel of it at a time, which stays in cache.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, packed, require_finite, require_length, require_samples};
use crate::config::options::Weighting;
use crate::data::block::{Block, BlockData};
use crate::data::source::Shape;
use crate::error::Result;
use crate::kernel::panel;
use crate::kernel::weighted_sums::squared_distances;

/// Distance to the center, relative to the norms of sample and center, below which a sample has no direction.
const ZERO_NORM_EPS: f64 = 8.0 * f64::EPSILON;

/// Center, weighting, support and factors of the rows w (x - mu).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WeightedRows<'a> {
    #[serde(with = "packed::cow")]
    center: Cow<'a, [f64]>,
    center_norm: f64,
    weighting: Weighting,
    support: Option<Cow<'a, [bool]>>,
    factors: Option<Cow<'a, [f64]>>,
}

impl<'a> WeightedRows<'a> {
    /// Rows centered at `center`; samples outside of the support get weight 0. `None` means all samples.
    pub fn new(center: &'a [f64], weighting: Weighting, support: Option<&'a [bool]>) -> Self {
        let largest = center.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let center_norm = if largest > 0.0 {
            largest * center.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
        } else {
            0.0
        };
        Self {
            center: Cow::Borrowed(center),
            center_norm,
            weighting,
            support: support.map(Cow::Borrowed),
            factors: None,
        }
    }

    /// Rejects rows that do not agree with the data, as in [`Fold::check`](crate::engine::fold::Fold::check).
    pub(crate) fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        require_length("the center", self.center.len(), shape.features)?;
        require_finite("the center", &self.center)?;
        if self.center_norm.is_nan() || self.center_norm < 0.0 {
            return Err(inconsistent(format!("the norm of the center is {}", self.center_norm)));
        }
        if let Some(support) = &self.support {
            require_samples("the support", support.len(), samples)?;
        }
        if let Some(factors) = &self.factors {
            require_samples("the factors", factors.len(), samples)?;
            require_finite("the factors", factors)?;
        }
        Ok(())
    }

    /// Multiplies the weight of each sample by its own factor (reweighted fits); factor 0 gives weight 0.
    pub fn reweighted(self, factors: &'a [f64]) -> Self {
        Self { factors: Some(Cow::Borrowed(factors)), ..self }
    }

    /// Total weight of the active rows of a block: 1 per row, or the square of its factor.
    pub(crate) fn total_weight(&self, block: &Block<'_>, weights: &[f64]) -> f64 {
        let active = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        match &self.factors {
            None => active.count() as f64,
            Some(factors) => active.map(|(row, _)| factors[block.first() + row].powi(2)).sum(),
        }
    }

    /// The weighting, without the factors.
    pub(crate) fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// True if a sample is in the support and has a non-zero factor.
    pub(crate) fn includes(&self, sample: usize) -> bool {
        self.support.as_ref().is_none_or(|support| support[sample])
            && self.factors.as_ref().is_none_or(|factors| factors[sample] > 0.0)
    }

    /// The factor of a sample; 1 without factors.
    pub(crate) fn factor(&self, sample: usize) -> f64 {
        self.factors.as_ref().map_or(1.0, |factors| factors[sample])
    }

    /// Total weight of the samples of a mask.
    pub(crate) fn total_weight_of(&self, support: &[bool]) -> f64 {
        let members = support.iter().enumerate().filter(|(_, member)| **member);
        members.map(|(i, _)| self.factors.as_ref().map_or(1.0, |factors| factors[i].powi(2))).sum()
    }

    /// The center that is subtracted from each sample.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// True if all samples have weight 1 and every coordinate of the center is `coordinate`.
    pub(crate) fn is_plain(&self, coordinate: f64) -> bool {
        self.weighting == Weighting::Uniform
            && self.support.is_none()
            && self.factors.is_none()
            && self.center.iter().all(|c| *c == coordinate)
    }

    /// True if a sample with these distances to the center and to the origin has a direction.
    pub(crate) fn has_direction(&self, from_center: f64, from_origin: f64) -> bool {
        from_center > ZERO_NORM_EPS * (from_origin + self.center_norm)
    }

    /// The weights of some rows of a block; 0 for rows that are not active.
    pub(crate) fn weights(&self, block: &Block<'_>, rows: Range<usize>) -> Vec<f64> {
        let mut squares = vec![1.0; rows.len()];
        if self.weighting == Weighting::InverseNorm {
            squared_distances(block, rows.clone(), &self.center, &mut squares);
        }
        rows.zip(squares).map(|(row, square)| self.weight(block, row, square, true)).collect()
    }

    /// The weight of one row that may have no direction, from distances that neither overflow nor underflow.
    fn measured_weight(&self, block: &Block<'_>, row: usize) -> f64 {
        let norms = panel::norms(block, row..row + 1, &self.center)[0];
        // The inverse of a smaller norm overflows in the arithmetic of a pass.
        let least = if matches!(block.data(), BlockData::F64(_)) { 1e-300 } else { 1e-36 };
        let direction = norms.from_center >= least && self.has_direction(norms.from_center, norms.from_origin);
        if direction { 1.0 / norms.from_center } else { 0.0 }
    }

    /// The weights of all rows of a block, computed on the current thread pool.
    pub(crate) fn weights_of(&self, block: &Block<'_>) -> Vec<f64> {
        let chunks: Vec<_> = panel::chunks(block.rows(), 32).collect();
        chunks.into_par_iter().flat_map_iter(|rows| self.weights(block, rows)).collect()
    }

    /// The weight of one row from its squared distance to the center, which a kernel has computed.
    ///
    /// The distance is computed again if the square is close to overflow or underflow, or so small that the sample may
    /// have no direction.
    pub(crate) fn weight(&self, block: &Block<'_>, row: usize, square: f64, double: bool) -> f64 {
        let (safe, clear) = if double { (1e-270..1e300, 1e-12) } else { (1e-30..1e34, 1e-4) };
        if self.support.as_ref().is_some_and(|support| !support[block.first() + row]) {
            return 0.0;
        }
        let (norm, factor) = (square.sqrt(), self.factors.as_ref().map_or(1.0, |factors| factors[block.first() + row]));
        match self.weighting {
            Weighting::Uniform => factor,
            Weighting::InverseNorm if safe.contains(&square) && norm > clear * self.center_norm => factor / norm,
            Weighting::InverseNorm => factor * self.measured_weight(block, row),
        }
    }

    /// The function of row, squared distance and precision by which kernels compute the weights of a block.
    pub(crate) fn weigher<'b>(&'b self, block: &'b Block<'b>) -> impl Fn(usize, f64, bool) -> f64 + Sync + 'b {
        |row, square, double| self.weight(block, row, square, double)
    }

    /// Writes w (x - mu) for some rows and columns of a block.
    pub(crate) fn panel(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        columns: Range<usize>,
        weights: &[f64],
        out: &mut [f64],
    ) {
        let weights = match (self.weighting, &self.support, &self.factors) {
            (Weighting::Uniform, None, None) => None,
            _ => Some(weights),
        };
        panel::center(block, rows, columns, &self.center, weights, out);
    }
}
