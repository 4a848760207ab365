//! Weighted rows of the operator, w (x - mu): center, weighting and support.
//!
//! | paper | here |
//! |---|---|
//! | mu | `center` |
//! | u = x / norm(x), eq. (2) | `w (x - mu)` with w = 1 / norm(x - mu) |
//! | columns of S | `support` |
//!
//! U is never formed: a panel of it lives in cache while it is multiplied.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::packed;
use crate::config::options::Weighting;
use crate::data::block::Block;
use crate::kernel::panel;
use crate::kernel::weighted_sums::squared_distances;

/// A sample closer to the center than this many rounding errors of its own coordinates has no direction.
const ZERO_NORM_EPS: f64 = 8.0 * f64::EPSILON;

/// Center, weighting and who may speak.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WeightedRows<'a> {
    #[serde(with = "packed::lent")]
    center: Cow<'a, [f64]>,
    center_length: f64,
    weighting: Weighting,
    support: Option<Cow<'a, [bool]>>,
    factors: Option<Cow<'a, [f64]>>,
}

impl<'a> WeightedRows<'a> {
    /// Samples seen from `center`; where `support` is given, only its samples speak.
    pub fn new(center: &'a [f64], weighting: Weighting, support: Option<&'a [bool]>) -> Self {
        let largest = center.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let center_length = if largest > 0.0 {
            largest * center.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
        } else {
            0.0
        };
        Self {
            center: Cow::Borrowed(center),
            center_length,
            weighting,
            support: support.map(Cow::Borrowed),
            factors: None,
        }
    }

    /// The same, each sample's weight times a factor of its own (reweighted fits); 0 silences it.
    pub fn reweighted(self, factors: &'a [f64]) -> Self {
        Self { factors: Some(Cow::Borrowed(factors)), ..self }
    }

    /// How much the rows of a block that speak count in all: one each, or the square of their factor.
    pub(crate) fn mass(&self, block: &Block<'_>, weights: &[f64]) -> f64 {
        let speaking = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
        match &self.factors {
            None => speaking.count() as f64,
            Some(factors) => speaking.map(|(row, _)| factors[block.first() + row].powi(2)).sum(),
        }
    }

    /// How much a sample says, its own factor apart.
    pub(crate) fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// Whether a sample may speak, if it has a direction.
    pub(crate) fn includes(&self, sample: usize) -> bool {
        self.support.as_ref().is_none_or(|support| support[sample])
            && self.factors.as_ref().is_none_or(|factors| factors[sample] > 0.0)
    }

    /// The factor of a sample's weight.
    pub(crate) fn factor(&self, sample: usize) -> f64 {
        self.factors.as_ref().map_or(1.0, |factors| factors[sample])
    }

    /// How much some samples count in all.
    pub(crate) fn total_weight_of(&self, support: &[bool]) -> f64 {
        let members = support.iter().enumerate().filter(|(_, support)| **support);
        members.map(|(i, _)| self.factors.as_ref().map_or(1.0, |factors| factors[i].powi(2))).sum()
    }

    /// Where samples are seen from.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// Whether everyone speaks with weight 1 as seen from a point of equal coordinates.
    pub(crate) fn is_plain(&self, coordinate: f64) -> bool {
        self.weighting == Weighting::Uniform
            && self.support.is_none()
            && self.factors.is_none()
            && self.center.iter().all(|c| *c == coordinate)
    }

    /// Whether a sample of these lengths has a direction.
    pub(crate) fn has_direction(&self, from_center: f64, from_origin: f64) -> bool {
        from_center > ZERO_NORM_EPS * (from_origin + self.center_length)
    }

    /// The weight of each of the given rows of a block; 0 for those that do not speak.
    pub(crate) fn weights(&self, block: &Block<'_>, rows: Range<usize>) -> Vec<f64> {
        let mut squares = vec![1.0; rows.len()];
        if self.weighting == Weighting::InverseNorm {
            squared_distances(block, rows.clone(), &self.center, &mut squares);
        }
        rows.zip(squares).map(|(row, square)| self.weight(block, row, square, true)).collect()
    }

    /// The weight of one row that may have no direction.
    fn measured_weight(&self, block: &Block<'_>, row: usize) -> f64 {
        let length = panel::lengths(block, row..row + 1, &self.center)[0];
        if self.has_direction(length.from_center, length.from_origin) { 1.0 / length.from_center } else { 0.0 }
    }

    /// The weight of each row of a block, by the threads together.
    pub(crate) fn weights_of(&self, block: &Block<'_>) -> Vec<f64> {
        let chunks: Vec<_> = panel::chunks(block.rows(), 32).collect();
        chunks.into_par_iter().flat_map_iter(|rows| self.weights(block, rows)).collect()
    }

    /// The weight of one row whose squared distance from the center a kernel has summed on its way.
    ///
    /// A sum near a limit of its precision, or a sample so near that it may have no direction, is measured again.
    pub(crate) fn weight(&self, block: &Block<'_>, row: usize, square: f64, double: bool) -> f64 {
        let (safe, clear) = if double { (1e-270..1e300, 1e-12) } else { (1e-30..1e34, 1e-4) };
        if self.support.as_ref().is_some_and(|support| !support[block.first() + row]) {
            return 0.0;
        }
        let (length, factor) =
            (square.sqrt(), self.factors.as_ref().map_or(1.0, |factors| factors[block.first() + row]));
        match self.weighting {
            Weighting::Uniform => factor,
            Weighting::InverseNorm if safe.contains(&square) && length > clear * self.center_length => factor / length,
            Weighting::InverseNorm => factor * self.measured_weight(block, row),
        }
    }

    /// The weight of a row of a block by its squared distance from the center, as kernels ask for it.
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
