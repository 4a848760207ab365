//! The row step: scores of a row over its usable cells, its bad cells, its row scale and its orthogonal distance.
//!
//! | symbol | definition |
//! |---|---|
//! | z | x - mu, 0 where a cell is missing |
//! | s | (Q'GQ + (1 - g) diag(sigma^2 / lambda) + 1e-9)^-1 Q'G z over the usable cells G, a share g of all; Q'z for a row without others |
//! | a_j | absolute residual of cell j over the limit of feature j |
//! | row scale | max(1, 1.4826 median of a), over at most 512 features |
//! | bad cell | a_j > 3 row scales |
//! | unusable row | more than (D - d) / 2 bad cells: no cell is removed; or at most d usable cells |
//!
//! A row without a large residual ends after the first projection. Any other row is compared from its own scores or from
//! those of the wrapped row, whichever leaves the smaller median residual, since bad cells can mask each other in least squares.

use super::features::wrapped;
use super::row_model::{RowModel, SCALE_FEATURES};
use super::vectors::{residuals, row_products, square_norm, standardize};
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::NORMAL_MAD;

/// Limit of regular residuals, in scales of the feature and the row.
const CELL_LIMIT: f64 = 3.0;
/// Row scale below which a row without a large residual needs no second look.
const CALM: f64 = 1.2;
/// Rounds of bad cells and scores.
const ROUNDS: usize = 2;
/// Regularization of scores from few cells.
const RIDGE: f64 = 1e-9;
/// Largest deviation that is computed with: products of larger ones overflow.
const LARGEST: f64 = 1e290;

/// The state of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CellState {
    Usable,
    Bad,
    Missing,
}

/// The position of a row relative to a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowState {
    /// The number of usable cells.
    pub usable: usize,
    /// True if too few cells are usable, or too many are bad.
    pub unusable: bool,
    /// The scale of the row's residuals relative to the limits, at least 1.
    pub row_scale: f64,
    /// The sum of squared residuals over the usable cells.
    pub square: f64,
    /// The degrees of freedom: usable cells less components, at least 1.
    pub freedom: f64,
    /// The orthogonal distance, scaled to D - d degrees of freedom.
    pub distance: f64,
}

/// Buffers of one row.
#[derive(Debug, Clone)]
pub(crate) struct RowWork {
    /// The centered row; 0 where a cell is missing.
    pub centered: Vec<f64>,
    /// The states of the cells.
    pub states: Vec<CellState>,
    /// The centered row with 0 for every cell that is not usable.
    used: Vec<f64>,
    residuals: Vec<f64>,
    wrapped_residuals: Vec<f64>,
    few: Vec<f64>,
}

impl RowWork {
    pub(crate) fn new(features: usize) -> Self {
        let zeros = || memory::filled(features, 0.0);
        Self {
            centered: zeros(),
            states: memory::filled(features, CellState::Usable),
            used: zeros(),
            residuals: zeros(),
            wrapped_residuals: zeros(),
            few: Vec::with_capacity(features.min(SCALE_FEATURES)),
        }
    }

    /// The numbers of bad and of missing cells.
    pub(crate) fn unused(&self) -> (u64, u64) {
        let count = |of: CellState| self.states.iter().filter(|state| **state == of).count() as u64;
        (count(CellState::Bad), count(CellState::Missing))
    }
}

/// A model prepared for the row step.
#[derive(Debug, Clone)]
pub(crate) struct RowStep<'a> {
    model: &'a RowModel,
    /// Q: D x d.
    columns: Matrix,
    inverse_limits: Vec<f64>,
    /// sigma^2 / lambda of each component.
    ridge: Vec<f64>,
}

impl<'a> RowStep<'a> {
    pub(crate) fn new(model: &'a RowModel) -> Self {
        let ridge = model.variances.iter().map(|lambda| model.noise / lambda.max(model.noise)).collect();
        Self::with_ridge(model, ridge)
    }

    /// A step whose scores from incomplete rows are shrunk by a given ridge, for a model without variances.
    pub(crate) fn with_ridge(model: &'a RowModel, ridge: Vec<f64>) -> Self {
        Self {
            model,
            columns: model.components.transposed(),
            inverse_limits: model.limits.iter().map(|limit| 1.0 / limit).collect(),
            ridge,
        }
    }

    pub(crate) fn model(&self) -> &RowModel {
        self.model
    }

    /// Compares a row with the model; NaN is a missing cell.
    pub(crate) fn run(&self, row: &[f64], work: &mut RowWork, scores: &mut [f64]) -> RowState {
        let missing = self.center(row, work);
        self.scores(missing, work, scores);
        let (mut row_scale, mut too_many) = (1.0, false);
        let (d, features) = (self.model.n_components(), self.model.n_features());
        if self.model.cleans && d < features {
            residuals(&work.centered, scores, &self.model.components, &mut work.residuals);
            let largest = self.standardize(missing, &work.states, &mut work.residuals);
            let own = self.own_scale(missing, &work.states, &work.residuals, &mut work.few);
            row_scale = own.max(1.0);
            if largest > CELL_LIMIT || own > CALM {
                (row_scale, too_many) = self.clean(row, missing, own, work, scores);
            }
        }
        self.state(work, scores, row_scale, too_many)
    }

    /// Compares a row with the model where the states of its cells are given.
    pub(crate) fn run_with_states(
        &self,
        row: &[f64],
        states: &[CellState],
        work: &mut RowWork,
        scores: &mut [f64],
    ) -> RowState {
        self.center(row, work);
        work.states.copy_from_slice(states);
        let unused = states.iter().filter(|state| **state != CellState::Usable).count();
        self.scores(unused, work, scores);
        self.state(work, scores, 1.0, false)
    }

    /// Writes the centered row with the expected value for every cell that is not usable.
    pub(crate) fn repair(&self, work: &RowWork, scores: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&work.centered);
        for (j, _) in work.states.iter().enumerate().filter(|(_, state)| **state != CellState::Usable) {
            out[j] = self.fitted(j, scores);
        }
    }

    /// The expected value of a cell relative to the center.
    pub(crate) fn fitted(&self, feature: usize, scores: &[f64]) -> f64 {
        self.columns.row(feature).iter().zip(scores).map(|(q, s)| q * s).sum()
    }

    /// Centers a row and marks its missing cells; returns their number.
    fn center(&self, row: &[f64], work: &mut RowWork) -> usize {
        let mut missing = 0;
        let cells = work.centered.iter_mut().zip(&mut work.states);
        for ((z, state), (x, mu)) in cells.zip(row.iter().zip(&self.model.center)) {
            let is_missing = x.is_nan();
            missing += usize::from(is_missing);
            *z = if is_missing { 0.0 } else { (x - mu).clamp(-LARGEST, LARGEST) };
            *state = if is_missing { CellState::Missing } else { CellState::Usable };
        }
        missing
    }

    /// Scores over the usable cells, of which `unused` are not.
    fn scores(&self, unused: usize, work: &mut RowWork, scores: &mut [f64]) {
        if unused == 0 {
            return row_products(&work.centered, &self.model.components, scores);
        }
        let (d, features) = (self.model.n_components(), self.model.n_features());
        let usable = |state: &CellState| *state == CellState::Usable;
        let cells = work.used.iter_mut().zip(&work.centered).zip(&work.states);
        cells.for_each(|((used, z), state)| *used = if usable(state) { *z } else { 0.0 });
        row_products(&work.used, &self.model.components, scores);
        // The sum over the smaller set of cells: of those that are not usable it is subtracted from the identity.
        let of_usable = 2 * unused > features;
        let mut normal = vec![0.0; d * d];
        for (j, _) in work.states.iter().enumerate().filter(|(_, state)| usable(state) == of_usable) {
            let q = self.columns.row(j);
            for (a, row) in normal.chunks_exact_mut(d).enumerate() {
                row[..=a].iter_mut().zip(q).for_each(|(sum, b)| *sum += q[a] * b);
            }
        }
        let share = unused as f64 / features as f64;
        for a in 0..d {
            if !of_usable {
                normal[a * d..=a * d + a].iter_mut().for_each(|x| *x = -*x);
                normal[a * d + a] += 1.0;
            }
            normal[a * d + a] += share * self.ridge[a] + RIDGE;
        }
        solve_cholesky(&mut normal, scores);
    }

    /// Divides residuals by their limits; returns the largest of the cells that are present.
    fn standardize(&self, missing: usize, states: &[CellState], residuals: &mut [f64]) -> f64 {
        if missing > 0 {
            let cells = residuals.iter_mut().zip(states).filter(|(_, state)| **state == CellState::Missing);
            cells.for_each(|(residual, _)| *residual = 0.0);
        }
        standardize(residuals, &self.inverse_limits)
    }

    /// 1.4826 times the median of the standardized residuals of the cells that are present; 0 without any.
    fn own_scale(&self, missing: usize, states: &[CellState], standardized: &[f64], few: &mut Vec<f64>) -> f64 {
        few.clear();
        let chosen = &self.model.scale_features;
        if !chosen.is_empty() {
            let present = chosen.iter().filter(|&&j| states[j] != CellState::Missing);
            few.extend(present.map(|&j| standardized[j]));
        } else if missing == 0 {
            few.extend_from_slice(standardized);
        } else {
            let cells = standardized.iter().zip(states).filter(|(_, state)| **state != CellState::Missing);
            few.extend(cells.map(|(a, _)| *a));
        }
        NORMAL_MAD * unsorted_median(few)
    }

    /// Bad cells, scores without them, row scale; true if too many cells are bad.
    fn clean(&self, row: &[f64], missing: usize, own: f64, work: &mut RowWork, scores: &mut [f64]) -> (f64, bool) {
        let model = self.model;
        let (d, features) = (model.n_components(), model.n_features());
        let cells = work.used.iter_mut().zip(row).zip(&model.center);
        let scales = model.location.iter().zip(&model.scale);
        for (((used, x), mu), (location, scale)) in cells.zip(scales) {
            *used = if x.is_nan() { 0.0 } else { wrapped(*x, *location, *scale) - mu };
        }
        let mut from_wrapped = vec![0.0; d];
        row_products(&work.used, &model.components, &mut from_wrapped);
        residuals(&work.centered, &from_wrapped, &model.components, &mut work.wrapped_residuals);
        self.standardize(missing, &work.states, &mut work.wrapped_residuals);
        if self.own_scale(missing, &work.states, &work.wrapped_residuals, &mut work.few) < own {
            scores.copy_from_slice(&from_wrapped);
            std::mem::swap(&mut work.residuals, &mut work.wrapped_residuals);
        }
        let (mut row_scale, mut too_many) = (1.0, false);
        for round in 0..ROUNDS {
            if round > 0 {
                residuals(&work.centered, scores, &model.components, &mut work.residuals);
                self.standardize(missing, &work.states, &mut work.residuals);
            }
            row_scale = self.own_scale(missing, &work.states, &work.residuals, &mut work.few).max(1.0);
            let limit = CELL_LIMIT * row_scale;
            let mut bad = 0;
            for (state, a) in work.states.iter_mut().zip(&work.residuals) {
                if *state != CellState::Missing {
                    let is_bad = *a > limit;
                    bad += usize::from(is_bad);
                    *state = if is_bad { CellState::Bad } else { CellState::Usable };
                }
            }
            too_many = 2 * bad > features - d;
            if too_many {
                let states = work.states.iter_mut().filter(|state| **state == CellState::Bad);
                states.for_each(|state| *state = CellState::Usable);
                bad = 0;
            }
            self.scores(missing + bad, work, scores);
        }
        (row_scale, too_many)
    }

    /// Residuals over the usable cells.
    fn state(&self, work: &mut RowWork, scores: &[f64], row_scale: f64, too_many: bool) -> RowState {
        let (d, features) = (self.model.n_components(), self.model.n_features());
        residuals(&work.centered, scores, &self.model.components, &mut work.residuals);
        let mut usable = features;
        for (residual, state) in work.residuals.iter_mut().zip(&work.states) {
            if *state != CellState::Usable {
                *residual = 0.0;
                usable -= 1;
            }
        }
        // Without directions outside of the subspace, residuals are rounding.
        let square = if features > d { square_norm(&work.residuals) } else { 0.0 };
        let outside = (features - d) as f64;
        let freedom = usable as f64 - d as f64;
        let too_few = if features > d { freedom < 1.0 } else { freedom < 0.0 };
        RowState {
            usable,
            unusable: too_many || too_few,
            row_scale,
            square,
            freedom: freedom.max(1.0),
            distance: (square * outside / freedom.max(0.5)).sqrt(),
        }
    }
}

/// The median of some values, which are reordered; 0 if there are none.
pub(crate) fn unsorted_median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, &mut high, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    if n % 2 == 1 {
        return high;
    }
    let low = below.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    if low == high { low } else { low / 2.0 + high / 2.0 }
}

/// Solves `normal s = right` by Cholesky; only the lower triangle of `normal` is read.
fn solve_cholesky(normal: &mut [f64], right: &mut [f64]) {
    let d = right.len();
    for a in 0..d {
        for b in 0..=a {
            let mut sum = normal[a * d + b];
            for k in 0..b {
                sum -= normal[a * d + k] * normal[b * d + k];
            }
            normal[a * d + b] = if a == b { sum.max(RIDGE * RIDGE).sqrt() } else { sum / normal[b * d + b] };
        }
    }
    for a in 0..d {
        let known: f64 = (0..a).map(|k| normal[a * d + k] * right[k]).sum();
        right[a] = (right[a] - known) / normal[a * d + a];
    }
    for a in (0..d).rev() {
        let known: f64 = (a + 1..d).map(|k| normal[k * d + a] * right[k]).sum();
        right[a] = (right[a] - known) / normal[a * d + a];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_unsorted_values_is_the_middle() {
        assert_eq!(unsorted_median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(unsorted_median(&mut [4.0, 1.0, 2.0, 9.0]), 3.0);
        assert_eq!(unsorted_median(&mut []), 0.0);
    }

    #[test]
    fn cholesky_solves_a_small_system() {
        let mut normal = [4.0, 0.0, 2.0, 3.0];
        let mut right = [8.0, 7.0];
        solve_cholesky(&mut normal, &mut right);
        assert!((right[0] - 1.25).abs() < 1e-12 && (right[1] - 1.5).abs() < 1e-12, "{right:?}");
    }
}
