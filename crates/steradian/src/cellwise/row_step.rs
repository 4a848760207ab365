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
//! A row without a large residual ends after the first projection. In any other row bad cells are looked for from its own
//! scores; since bad cells can mask each other in least squares, a row whose median residual is large, too, is compared from
//! the scores of the wrapped row if these leave a smaller one.

use super::features::wrapped;
use super::row_model::{RowModel, SCALE_FEATURES};
use super::vectors::{
    Fitted, center_row, count_up_to, list_beyond, padded, residuals, row_products, standardized_residuals,
    subtract_rows, sum_of_outer_products,
};
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::NORMAL_MAD;

/// Limit of regular residuals, in scales of the feature and the row.
const CELL_LIMIT: f64 = 3.0;
/// Row scale up to which a row has no large median residual.
const CALM: f64 = 1.2;
/// Standardized residual up to which a bad cell is subtracted from the products of its row: what is left of a larger one is rounding.
const SUBTRACTED: f64 = 1e4;
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
    /// The scale of the row's residuals relative to the limits, at least 1; of a row without suspicious cells only for a step
    /// [`with_row_scales`](RowStep::with_row_scales), otherwise 1.
    pub row_scale: f64,
    /// Standardized residual for [`RowWork::marking_scores`] beyond which cells are bad; infinite if none are.
    pub limit: f64,
    /// The sum of squared residuals over the usable cells.
    pub square: f64,
    /// The degrees of freedom: usable cells less components, at least 1.
    pub freedom: f64,
    /// The orthogonal distance, scaled to D - d degrees of freedom.
    pub distance: f64,
}

/// The result of the search for bad cells in a row.
#[derive(Debug, Clone, Copy)]
struct Cleaned {
    row_scale: f64,
    limit: f64,
    too_many: bool,
}

impl Cleaned {
    /// A row whose cells are all taken as they are.
    const NOT: Self = Self { row_scale: 1.0, limit: f64::INFINITY, too_many: false };
}

/// Buffers of one row.
#[derive(Debug, Clone)]
pub(crate) struct RowWork {
    /// The centered row; 0 where a cell is missing.
    pub centered: Vec<f64>,
    /// The states of the cells.
    pub states: Vec<CellState>,
    /// The cells that are not usable, and those of them that are missing, in ascending order.
    unused: Vec<u32>,
    missing: Vec<u32>,
    /// The products of the components with the cells that are present.
    products: Vec<f64>,
    /// The centered row with some cells replaced.
    used: Vec<f64>,
    residuals: Vec<f64>,
    few: Vec<f64>,
    /// The scores that gave the last bad cells.
    pub marking_scores: Vec<f64>,
}

impl RowWork {
    pub(crate) fn new(features: usize) -> Self {
        let zeros = || memory::filled(features, 0.0);
        Self {
            centered: zeros(),
            states: memory::filled(features, CellState::Usable),
            unused: Vec::new(),
            missing: Vec::new(),
            products: Vec::new(),
            used: zeros(),
            residuals: zeros(),
            few: Vec::with_capacity(features.min(SCALE_FEATURES)),
            marking_scores: Vec::new(),
        }
    }

    /// The numbers of bad and of missing cells.
    pub(crate) fn unused(&self) -> (u64, u64) {
        let bad = self.unused.iter().filter(|&&j| self.states[j as usize] == CellState::Bad).count();
        (bad as u64, (self.unused.len() - bad) as u64)
    }

    /// Takes cells from a list of bad ones; missing ones stay missing.
    fn set_bad(&mut self, bad: Vec<u32>) {
        self.forget_bad();
        bad.iter().for_each(|&j| self.states[j as usize] = CellState::Bad);
        if self.missing.is_empty() {
            self.unused = bad;
        } else {
            self.unused.extend(bad);
            self.unused.sort_unstable();
        }
    }

    /// Takes bad cells as usable.
    fn forget_bad(&mut self) {
        self.unused.iter().for_each(|&j| self.states[j as usize] = CellState::Usable);
        self.missing.iter().for_each(|&j| self.states[j as usize] = CellState::Missing);
        self.unused.clear();
        self.unused.extend_from_slice(&self.missing);
    }
}

/// A model prepared for the row step.
#[derive(Debug, Clone)]
pub(crate) struct RowStep<'a> {
    model: &'a RowModel,
    /// Q, D x d, padded.
    columns: Matrix,
    inverse_limits: Vec<f64>,
    /// sigma^2 / lambda of each component.
    ridge: Vec<f64>,
    /// True if the scale of every row is computed.
    has_row_scales: bool,
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
            columns: padded(&model.components.transposed()),
            inverse_limits: model.limits.iter().map(|limit| 1.0 / limit).collect(),
            ridge,
            has_row_scales: false,
        }
    }

    /// Also computes the scale of rows without suspicious cells, by a median for each row.
    pub(crate) fn with_row_scales(self) -> Self {
        Self { has_row_scales: true, ..self }
    }

    pub(crate) fn model(&self) -> &RowModel {
        self.model
    }

    /// Compares a row with the model; NaN is a missing cell.
    pub(crate) fn run(&self, row: &[f64], work: &mut RowWork, scores: &mut [f64]) -> RowState {
        self.center(row, work);
        self.scores_of_present(work, scores);
        if !self.model.cleans || self.model.n_components() == self.model.n_features() {
            return self.state(work, scores, Cleaned::NOT);
        }
        let (square, largest) = self.standardize(work, scores);
        if largest <= CELL_LIMIT && self.is_calm(work) {
            let row_scale = if self.has_row_scales { self.own_scale(work).max(1.0) } else { 1.0 };
            let usable = self.model.n_features() - work.missing.len();
            return self.row_state(square, usable, Cleaned { row_scale, ..Cleaned::NOT });
        }
        let cleaned = self.clean(row, largest, work, scores);
        self.state(work, scores, cleaned)
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
        work.unused.clear();
        list_where(states, false, &mut work.unused);
        self.scores_of_usable(work, scores);
        self.state(work, scores, Cleaned::NOT)
    }

    /// Writes the centered row with the expected value for every cell that is not usable.
    pub(crate) fn repair(&self, work: &RowWork, scores: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&work.centered);
        work.unused.iter().for_each(|&j| out[j as usize] = self.fitted(j as usize, scores));
    }

    /// [`repair`](Self::repair) of a row that was compared with the model before: its bad cells are those beyond the limit of its
    /// state for the scores that marked them.
    pub(crate) fn repair_again(
        &self,
        row: &[f64],
        (limit, marking_scores): (f64, &[f64]),
        scores: &[f64],
        work: &mut RowWork,
        out: &mut [f64],
    ) {
        self.center(row, work);
        if limit < f64::INFINITY {
            self.standardize(work, marking_scores);
            work.set_bad(list_beyond(&work.residuals, limit));
        }
        self.repair(work, scores, out);
    }

    /// The expected value of a cell relative to the center.
    pub(crate) fn fitted(&self, feature: usize, scores: &[f64]) -> f64 {
        self.columns.row(feature).iter().zip(scores).map(|(q, s)| q * s).sum()
    }

    /// Centers a row and marks its missing cells.
    fn center(&self, row: &[f64], work: &mut RowWork) {
        let RowWork { centered, states, unused, missing, .. } = work;
        unused.iter().for_each(|&j| states[j as usize] = CellState::Usable);
        unused.clear();
        missing.clear();
        if center_row(row, &self.model.center, LARGEST, centered) {
            missing.extend(row.iter().enumerate().filter(|(_, x)| x.is_nan()).map(|(j, _)| j as u32));
            missing.iter().for_each(|&j| states[j as usize] = CellState::Missing);
            unused.extend_from_slice(missing);
        }
    }

    /// Scores over the cells that are present; keeps the products that give them.
    fn scores_of_present(&self, work: &mut RowWork, scores: &mut [f64]) {
        row_products(&work.centered, &self.model.components, scores);
        work.products.clear();
        work.products.extend_from_slice(scores);
        self.solve(work, scores);
    }

    /// Scores over the usable cells.
    fn scores_of_usable(&self, work: &mut RowWork, scores: &mut [f64]) {
        if work.unused.is_empty() {
            return row_products(&work.centered, &self.model.components, scores);
        }
        work.used.copy_from_slice(&work.centered);
        work.unused.iter().for_each(|&j| work.used[j as usize] = 0.0);
        row_products(&work.used, &self.model.components, scores);
        self.solve(work, scores);
    }

    /// From the products of the components with the usable cells to scores.
    fn solve(&self, work: &RowWork, scores: &mut [f64]) {
        if work.unused.is_empty() {
            return;
        }
        let (d, features, unused) = (self.model.n_components(), self.model.n_features(), work.unused.len());
        // The sum over the smaller set of cells: of those that are not usable it is subtracted from the identity.
        let of_usable = 2 * unused > features;
        let mut normal = if of_usable {
            let mut usable = Vec::with_capacity(features - unused);
            list_where(&work.states, true, &mut usable);
            sum_of_outer_products(&self.columns, d, &usable)
        } else {
            sum_of_outer_products(&self.columns, d, &work.unused)
        };
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

    /// Standardized residuals for some scores, 0 for missing cells; returns the sum of squared residuals and the largest
    /// standardized one.
    fn standardize(&self, work: &mut RowWork, scores: &[f64]) -> (f64, f64) {
        let fitted = Fitted { row: &work.centered, scores, components: &self.model.components };
        standardized_residuals(fitted, &work.missing, &self.inverse_limits, &mut work.residuals)
    }

    /// True if the scale of the row is at most [`CALM`], by counting its standardized residuals up to that limit.
    fn is_calm(&self, work: &mut RowWork) -> bool {
        let limit = CALM / NORMAL_MAD;
        let (within, present) = if work.missing.is_empty() && self.model.scale_features.is_empty() {
            (count_up_to(&work.residuals, limit), work.residuals.len())
        } else {
            self.gather(work);
            (count_up_to(&work.few, limit), work.few.len())
        };
        // The median is a mean of two residuals, one on each side of the limit, only if exactly half of them are within it.
        2 * within > present || 2 * within == present && self.own_scale(work) <= CALM
    }

    /// Collects the standardized residuals that give the scale of the row.
    fn gather(&self, work: &mut RowWork) {
        let RowWork { few, residuals, states, missing, .. } = work;
        few.clear();
        let chosen = &self.model.scale_features;
        if !chosen.is_empty() {
            let present = chosen.iter().filter(|&&j| states[j] != CellState::Missing);
            few.extend(present.map(|&j| residuals[j]));
        } else if missing.is_empty() {
            few.extend_from_slice(residuals);
        } else {
            let cells = residuals.iter().zip(states).filter(|(_, state)| **state != CellState::Missing);
            few.extend(cells.map(|(a, _)| *a));
        }
    }

    /// 1.4826 times the median of the standardized residuals of the cells that are present; 0 without any.
    fn own_scale(&self, work: &mut RowWork) -> f64 {
        self.gather(work);
        NORMAL_MAD * unsorted_median(&mut work.few)
    }

    /// Bad cells, scores without them, and the scale of the row, whose standardized residuals for its scores are at hand;
    /// `largest` is that of them.
    fn clean(&self, row: &[f64], mut largest: f64, work: &mut RowWork, scores: &mut [f64]) -> Cleaned {
        let mut row_scale = self.own_scale(work);
        if row_scale > CALM {
            let from_wrapped = self.wrapped_scores(row, work);
            let other = self.scale_of(work, &from_wrapped);
            if other < row_scale {
                scores.copy_from_slice(&from_wrapped);
                row_scale = other;
            }
            largest = self.standardize(work, scores).1;
        }
        let mut cleaned = self.mark((row_scale, largest), work, scores);
        for _ in 1..ROUNDS {
            largest = self.standardize(work, scores).1;
            row_scale = self.own_scale(work);
            cleaned = self.mark((row_scale, largest), work, scores);
        }
        cleaned
    }

    /// Marks the cells whose residuals are beyond the limit of the row, and computes its scores without them.
    fn mark(&self, (row_scale, largest): (f64, f64), work: &mut RowWork, scores: &mut [f64]) -> Cleaned {
        let row_scale = row_scale.max(1.0);
        let limit = CELL_LIMIT * row_scale;
        work.marking_scores.clear();
        work.marking_scores.extend_from_slice(scores);
        let bad = list_beyond(&work.residuals, limit);
        let too_many = 2 * bad.len() > self.model.n_features() - self.model.n_components();
        if too_many {
            work.forget_bad();
        } else {
            work.set_bad(bad);
        }
        if too_many || largest <= SUBTRACTED {
            scores.copy_from_slice(&work.products);
            // A missing cell is 0 in the centered row.
            subtract_rows(&self.columns, &work.unused, &work.centered, scores);
            self.solve(work, scores);
        } else {
            self.scores_of_usable(work, scores);
        }
        Cleaned { row_scale, limit: if too_many { f64::INFINITY } else { limit }, too_many }
    }

    /// Scores of the wrapped row.
    fn wrapped_scores(&self, row: &[f64], work: &mut RowWork) -> Vec<f64> {
        let model = self.model;
        let cells = work.used.iter_mut().zip(row).zip(&model.center);
        let scales = model.location.iter().zip(&model.scale);
        for (((used, x), mu), (location, scale)) in cells.zip(scales) {
            *used = if x.is_nan() { 0.0 } else { wrapped(*x, *location, *scale) - mu };
        }
        let mut scores = vec![0.0; model.n_components()];
        row_products(&work.used, &model.components, &mut scores);
        scores
    }

    /// 1.4826 times the median of the standardized residuals for some scores.
    fn scale_of(&self, work: &mut RowWork, scores: &[f64]) -> f64 {
        let chosen = &self.model.scale_features;
        if chosen.is_empty() {
            self.standardize(work, scores);
            return self.own_scale(work);
        }
        work.few.clear();
        for &j in chosen.iter().filter(|&&j| work.states[j] != CellState::Missing) {
            work.few.push((work.centered[j] - self.fitted(j, scores)).abs() * self.inverse_limits[j]);
        }
        NORMAL_MAD * unsorted_median(&mut work.few)
    }

    /// The position of the row, from its residuals over the usable cells.
    fn state(&self, work: &mut RowWork, scores: &[f64], cleaned: Cleaned) -> RowState {
        let features = self.model.n_features();
        let fitted = Fitted { row: &work.centered, scores, components: &self.model.components };
        let square = residuals(fitted, &work.unused, &mut work.residuals);
        // Without directions outside of the subspace, residuals are rounding.
        let square = if features > self.model.n_components() { square } else { 0.0 };
        self.row_state(square, features - work.unused.len(), cleaned)
    }

    /// The position of a row with this sum of squared residuals over its usable cells.
    fn row_state(&self, square: f64, usable: usize, cleaned: Cleaned) -> RowState {
        let (d, features) = (self.model.n_components(), self.model.n_features());
        let outside = (features - d) as f64;
        let freedom = usable as f64 - d as f64;
        let too_few = if features > d { freedom < 1.0 } else { freedom < 0.0 };
        RowState {
            usable,
            unusable: cleaned.too_many || too_few,
            row_scale: cleaned.row_scale,
            limit: cleaned.limit,
            square,
            freedom: freedom.max(1.0),
            distance: (square * outside / freedom.max(0.5)).sqrt(),
        }
    }
}

/// Lists the cells that are usable, or those that are not.
fn list_where(states: &[CellState], usable: bool, list: &mut Vec<u32>) {
    let cells = states.iter().enumerate().filter(|(_, state)| (**state == CellState::Usable) == usable);
    list.extend(cells.map(|(j, _)| j as u32));
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
