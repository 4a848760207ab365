//! Polishing of a candidate: rounds of cell limits, states of rows and cells, kept rows, and Student steps.

use super::Candidate;
use super::calibration::resolution_floor;
use super::concentration::kept_limit;
use super::leading::turn;
use super::majority;
use super::outlyingness::smallest;
use super::student_steps::{KeptRows, Steps, student_steps};
use super::tables::{cell_limits, compare};
use crate::cellwise::features::TINY;
use crate::cellwise::row_model::scale_features;
use crate::cellwise::student::kappa;
use crate::cellwise::{CellState, FeatureStats, RowModel, RowStep, RowWork};
use crate::error::Result;
use crate::numeric::linalg::Matrix;

/// Student steps of a round.
const ROUND_STEPS: usize = 3;
/// Student steps of a late round of the last polish.
const LAST_STEPS: usize = 30;
/// Turn of the components below which steps, steps of a final polish, and rounds end.
const TOLERANCE: (f64, f64, f64) = (1e-3, 1e-4, 1e-3);
/// Rounds before the turn may end them.
const LEAST_ROUNDS: usize = 3;
/// Ridge of scores of a model without variances.
const FIRST_RIDGE: f64 = 1e-4;

/// Where polishing begins.
pub(crate) struct PolishStart {
    pub center: Vec<f64>,
    /// d x D.
    pub components: Matrix,
    /// Variances and noise, if they are known.
    pub variances: Option<(Vec<f64>, f64)>,
    pub basis: Option<Matrix>,
    pub kept: Vec<bool>,
    /// Scores of all rows.
    pub scores: Matrix,
}

/// How candidates are polished.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polish {
    pub rounds: usize,
    /// True if bad cells are detected.
    pub cleans: bool,
    /// True if limits are adjusted for skewed features.
    pub skew: bool,
    /// True for the last polish, which goes on until the components rest.
    pub last: bool,
    /// True if nothing follows the last polish.
    pub is_final: bool,
}

/// Polishes a candidate on all rows of a table.
pub(crate) fn polish(table: &Matrix, stats: &FeatureStats, start: PolishStart, polish: Polish) -> Result<Candidate> {
    let (n, features, d) = (table.rows(), table.columns(), start.components.rows());
    let (h, rounding) = (majority(n, d), stats.row_rounding());
    let PolishStart { center, components, variances, mut basis, mut kept, mut scores } = start;
    let (variances, noise, mut ridge) = match variances {
        Some((variances, noise)) => (variances, noise, None),
        None => (vec![1.0; d], 1.0, Some(vec![FIRST_RIDGE; d])),
    };
    let mut model = RowModel {
        center,
        components,
        variances,
        noise,
        limits: Vec::new(),
        location: stats.location.clone(),
        scale: stats.scale.clone(),
        cleans: polish.cleans,
        scale_features: scale_features(&stats.scale),
    };
    for round in 0.. {
        model.limits = cell_limits(table, &model.center, &model.components, &scores, &kept, &stats.resolution);
        let step = match ridge.take() {
            Some(ridge) => RowStep::with_ridge(&model, ridge),
            None => RowStep::new(&model),
        };
        let states = compare(table, &step);
        let distances = states.distances();
        let floor = resolution_floor(&model.components, &stats.resolution).max(rounding);
        let usable: Vec<f64> = states.rows.iter().filter(|row| !row.unusable).map(|row| row.distance).collect();
        let mut row_cutoff = if usable.len() > d + 2 {
            kept_limit(&usable, h.min(usable.len()), polish.skew, floor)
        } else {
            f64::INFINITY
        };
        kept = states.rows.iter().map(|row| !row.unusable && row.distance <= row_cutoff).collect();
        if kept.iter().filter(|kept| **kept).count() < d + 2 {
            kept = vec![false; n];
            smallest(&distances, h).into_iter().for_each(|i| kept[i] = true);
            row_cutoff =
                distances.iter().zip(&kept).filter(|(_, kept)| **kept).fold(0.0, |m, (od, _)| f64::max(m, *od));
        }
        let late = polish.last && round + 1 >= LEAST_ROUNDS;
        let steps = Steps {
            most: if late { LAST_STEPS } else { ROUND_STEPS },
            tolerance: if polish.is_final { TOLERANCE.1 } else { TOLERANCE.0 },
            kappa: kappa(n, features, d),
        };
        let rows = KeptRows { table, kept: &kept, cells: Some(&states.cells) };
        let fit = student_steps(&rows, &model.center, &model.components, basis.as_ref(), steps)?;
        let turned = turn(&fit.components.transposed(), &model.components.transposed());
        model.center = fit.center;
        model.components = fit.components;
        model.variances = fit.variances;
        model.noise = fit.noise;
        basis = Some(fit.basis);
        scores = scores_of(table, &model, &states.cells);
        if round + 1 == polish.rounds || (round + 1 >= LEAST_ROUNDS && turned < TOLERANCE.2) {
            return Ok(Candidate {
                model,
                scores,
                kept,
                cells: states.cells,
                row_cutoff,
                basis: basis.unwrap_or_default(),
                // Without that of the variances before the first step, which are no maximum.
                objective: fit.objective[usize::from(fit.objective.len() > 1)..].to_vec(),
            });
        }
    }
    unreachable!("a polish ends after its last round")
}

/// The scores of all rows for given states of their cells.
pub(crate) fn scores_of(table: &Matrix, model: &RowModel, cells: &[CellState]) -> Matrix {
    let (n, features, d) = (table.rows(), table.columns(), model.n_components());
    let unlimited = RowModel { limits: Vec::new(), cleans: false, noise: model.noise.max(TINY), ..model.clone() };
    let step = RowStep::new(&unlimited);
    let mut scores = Matrix::zeros(n, d);
    let mut work = RowWork::new(features);
    for i in 0..n {
        let own = &cells[i * features..(i + 1) * features];
        step.run_with_states(table.row(i), own, &mut work, scores.row_mut(i));
    }
    scores
}
