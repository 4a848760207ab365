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
use super::vectors::{
    Fitted, center_row, count_up_to, mark_bad, residuals, row_products, standardized_residuals, sum_of_outer_products,
};
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::NORMAL_MAD;

/// Limit of regular residuals, in scales of the feature and the row.
const CELL_LIMIT: f64 = 3.0;
/// Row scale below which a row without a large residual needs no second look.
const CALM: f64 = 1.2;
/// Cells that are passed over together if all are usable.
const STATE_GROUP: usize = 16;
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

/// What the search for bad cells found.
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
    /// The centered row with 0 for every cell that is not usable.
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
            used: zeros(),
            residuals: zeros(),
            few: Vec::with_capacity(features.min(SCALE_FEATURES)),
            marking_scores: Vec::new(),
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
            columns: model.components.transposed(),
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
        let missing = self.center(row, work);
        self.scores(missing, work, scores);
        if !self.model.cleans || self.model.n_components() == self.model.n_features() {
            return self.state(work, scores, Cleaned::NOT);
        }
        let states = (missing > 0).then_some(&work.states[..]);
        let (square, largest) = standardized_residuals(
            Fitted { row: &work.centered, scores, components: &self.model.components },
            states,
            &self.inverse_limits,
            &mut work.residuals,
        );
        if largest <= CELL_LIMIT && self.is_calm(missing, work) {
            let row_scale = if self.has_row_scales { self.own_scale(missing, work).max(1.0) } else { 1.0 };
            return self.row_state(square, self.model.n_features() - missing, Cleaned { row_scale, ..Cleaned::NOT });
        }
        let own = self.own_scale(missing, work);
        let cleaned = self.clean(row, missing, own, work, scores);
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
        let unused = states.iter().filter(|state| **state != CellState::Usable).count();
        self.scores(unused, work, scores);
        self.state(work, scores, Cleaned::NOT)
    }

    /// Writes the centered row with the expected value for every cell that is not usable.
    pub(crate) fn repair(&self, work: &RowWork, scores: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&work.centered);
        for (group, states) in work.states.chunks(STATE_GROUP).enumerate() {
            if states.iter().all(|state| *state == CellState::Usable) {
                continue;
            }
            for (j, state) in states.iter().enumerate() {
                if *state != CellState::Usable {
                    let j = group * STATE_GROUP + j;
                    out[j] = self.fitted(j, scores);
                }
            }
        }
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
        let missing = self.center(row, work);
        if limit < f64::INFINITY {
            work.marking_scores.clear();
            work.marking_scores.extend_from_slice(marking_scores);
            let mut products = vec![0.0; scores.len()];
            self.mark_bad((limit, missing > 0), work, &mut products);
        }
        self.repair(work, scores, out);
    }

    /// The expected value of a cell relative to the center.
    pub(crate) fn fitted(&self, feature: usize, scores: &[f64]) -> f64 {
        self.columns.row(feature).iter().zip(scores).map(|(q, s)| q * s).sum()
    }

    /// Centers a row and marks its missing cells; returns their number.
    fn center(&self, row: &[f64], work: &mut RowWork) -> usize {
        let has_missing = center_row(row, &self.model.center, LARGEST, &mut work.centered);
        work.states.fill(CellState::Usable);
        if !has_missing {
            return 0;
        }
        let mut missing = 0;
        for (state, _) in work.states.iter_mut().zip(row).filter(|(_, x)| x.is_nan()) {
            *state = CellState::Missing;
            missing += 1;
        }
        missing
    }

    /// Scores over the usable cells, of which `unused` are not.
    fn scores(&self, unused: usize, work: &mut RowWork, scores: &mut [f64]) {
        if unused == 0 {
            return row_products(&work.centered, &self.model.components, scores);
        }
        let cells = work.used.iter_mut().zip(&work.centered).zip(&work.states);
        cells.for_each(|((used, z), state)| *used = if *state == CellState::Usable { *z } else { 0.0 });
        row_products(&work.used, &self.model.components, scores);
        self.solve(unused, &work.states, scores);
    }

    /// From the products of the components with the usable cells to scores; `unused` cells are not usable.
    fn solve(&self, unused: usize, states: &[CellState], scores: &mut [f64]) {
        if unused == 0 {
            return;
        }
        let (d, features) = (self.model.n_components(), self.model.n_features());
        // The sum over the smaller set of cells: of those that are not usable it is subtracted from the identity.
        let of_usable = 2 * unused > features;
        let mut summed = Vec::with_capacity(if of_usable { features - unused } else { unused });
        for (group, states) in states.chunks(STATE_GROUP).enumerate() {
            if !of_usable && states.iter().all(|state| *state == CellState::Usable) {
                continue;
            }
            let cells = states.iter().enumerate().filter(|(_, state)| (**state == CellState::Usable) == of_usable);
            summed.extend(cells.map(|(j, _)| (group * STATE_GROUP + j) as u32));
        }
        let mut normal = sum_of_outer_products(&self.columns, &summed);
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

    /// True if the scale of the row is at most [`CALM`], by counting its standardized residuals up to that limit.
    fn is_calm(&self, missing: usize, work: &mut RowWork) -> bool {
        let limit = CALM / NORMAL_MAD;
        let (within, present) = if missing == 0 && self.model.scale_features.is_empty() {
            (count_up_to(&work.residuals, limit), work.residuals.len())
        } else {
            self.gather(missing, work);
            (count_up_to(&work.few, limit), work.few.len())
        };
        // The median is a mean of two residuals, one on each side of the limit, only if exactly half of them are within it.
        2 * within > present || 2 * within == present && self.own_scale(missing, work) <= CALM
    }

    /// Collects the standardized residuals that give the scale of the row.
    fn gather(&self, missing: usize, work: &mut RowWork) {
        let RowWork { few, residuals, states, .. } = work;
        few.clear();
        let chosen = &self.model.scale_features;
        if !chosen.is_empty() {
            let present = chosen.iter().filter(|&&j| states[j] != CellState::Missing);
            few.extend(present.map(|&j| residuals[j]));
        } else if missing == 0 {
            few.extend_from_slice(residuals);
        } else {
            let cells = residuals.iter().zip(states).filter(|(_, state)| **state != CellState::Missing);
            few.extend(cells.map(|(a, _)| *a));
        }
    }

    /// 1.4826 times the median of the standardized residuals of the cells that are present; 0 without any.
    fn own_scale(&self, missing: usize, work: &mut RowWork) -> f64 {
        self.gather(missing, work);
        NORMAL_MAD * unsorted_median(&mut work.few)
    }

    /// Bad cells, scores without them, and the scale of the row, which is `own` for the scores that are given.
    fn clean(&self, row: &[f64], missing: usize, own: f64, work: &mut RowWork, scores: &mut [f64]) -> Cleaned {
        let model = self.model;
        let (d, features) = (model.n_components(), model.n_features());
        let cells = work.used.iter_mut().zip(row).zip(&model.center);
        let scales = model.location.iter().zip(&model.scale);
        for (((used, x), mu), (location, scale)) in cells.zip(scales) {
            *used = if x.is_nan() { 0.0 } else { wrapped(*x, *location, *scale) - mu };
        }
        let mut from_wrapped = vec![0.0; d];
        row_products(&work.used, &model.components, &mut from_wrapped);
        let mut scale = self.scale_of(missing, work, &from_wrapped);
        if scale < own {
            scores.copy_from_slice(&from_wrapped);
        } else {
            scale = own;
        }
        let mut cleaned = Cleaned::NOT;
        for round in 0..ROUNDS {
            if round > 0 {
                scale = self.scale_of(missing, work, scores);
            }
            cleaned.row_scale = scale.max(1.0);
            cleaned.limit = CELL_LIMIT * cleaned.row_scale;
            work.marking_scores.clear();
            work.marking_scores.extend_from_slice(scores);
            let bad = self.mark_bad((cleaned.limit, missing > 0), work, scores);
            cleaned.too_many = 2 * bad > features - d;
            if cleaned.too_many {
                let states = work.states.iter_mut().filter(|state| **state == CellState::Bad);
                states.for_each(|state| *state = CellState::Usable);
                cleaned.limit = f64::INFINITY;
                self.scores(missing, work, scores);
            } else {
                self.solve(missing + bad, &work.states, scores);
            }
        }
        cleaned
    }

    /// Marks the bad cells beyond a limit for the scores `work.marking_scores`; writes the products with the usable cells.
    fn mark_bad(&self, (limit, has_missing): (f64, bool), work: &mut RowWork, products: &mut [f64]) -> usize {
        let fitted = Fitted { row: &work.centered, scores: &work.marking_scores, components: &self.model.components };
        mark_bad(fitted, &self.inverse_limits, (limit, has_missing), &mut work.states, products)
    }

    /// 1.4826 times the median of the standardized residuals for some scores.
    fn scale_of(&self, missing: usize, work: &mut RowWork, scores: &[f64]) -> f64 {
        let chosen = &self.model.scale_features;
        if chosen.is_empty() {
            let fitted = Fitted { row: &work.centered, scores, components: &self.model.components };
            // A cell that was bad in the round before counts, too.
            standardized_residuals(fitted, None, &self.inverse_limits, &mut work.residuals);
            return self.own_scale(missing, work);
        }
        work.few.clear();
        for &j in chosen.iter().filter(|&&j| work.states[j] != CellState::Missing) {
            work.few.push((work.centered[j] - self.fitted(j, scores)).abs() * self.inverse_limits[j]);
        }
        NORMAL_MAD * unsorted_median(&mut work.few)
    }

    /// Residuals over the usable cells.
    fn state(&self, work: &mut RowWork, scores: &[f64], cleaned: Cleaned) -> RowState {
        let (d, features) = (self.model.n_components(), self.model.n_features());
        let fitted = Fitted { row: &work.centered, scores, components: &self.model.components };
        let square = residuals(fitted, Some(&work.states), &mut work.residuals);
        let usable = work.states.iter().map(|state| u64::from(*state == CellState::Usable)).sum::<u64>() as usize;
        // Without directions outside of the subspace, residuals are rounding.
        let square = if features > d { square } else { 0.0 };
        self.row_state(square, usable, cleaned)
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
