//! Student steps: probabilistic PCA under a multivariate t distribution, on the kept rows of a table in memory.
//!
//! Each step computes scores and weights of the rows, replaces unusable cells by their expected values, and takes the mean and
//! the leading eigenvectors of the weighted rows. For complete rows the objective falls in every step; expected values can raise
//! it by a little, and then the step is undone.

use rayon::prelude::*;

use super::leading::{Leading, leading, turn};
use super::tables::TASK_ROWS;
use crate::cellwise::features::TINY;
use crate::cellwise::row_step::unsorted_median;
use crate::cellwise::student::{NU, StudentWeights};
use crate::cellwise::{CellState, RowModel, RowStep, RowWork};
use crate::error::Result;
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::robust_scale;

/// Ridge of scores before variances are known.
const FIRST_RIDGE: f64 = 1e-4;
/// Relative rise of the objective that is rounding.
const RISE: f64 = 1e-12;

/// A subspace with its variances.
#[derive(Debug, Clone)]
pub(crate) struct StudentFit {
    pub center: Vec<f64>,
    /// d x D.
    pub components: Matrix,
    pub variances: Vec<f64>,
    pub noise: f64,
    /// Columns from which the next eigenproblem starts.
    pub basis: Matrix,
    /// The objective before each step.
    pub objective: Vec<f64>,
    /// The weights of the kept rows in the last step.
    pub weights: Vec<f64>,
}

/// The rows of a fit and their usable cells.
pub(crate) struct KeptRows<'a> {
    pub table: &'a Matrix,
    pub kept: &'a [bool],
    /// The states of all cells; `None` if all are usable.
    pub cells: Option<&'a [CellState]>,
}

/// When the steps end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    pub most: usize,
    /// Turn of the components below which the steps end.
    pub tolerance: f64,
    /// The factor of residuals in the distance of a row.
    pub kappa: f64,
}

/// One row after the expectation step.
struct ExpectedRow {
    square: f64,
    freedom: f64,
}

/// Takes Student steps from a center and components.
pub(crate) fn student_steps(
    rows: &KeptRows<'_>,
    center: &[f64],
    components: &Matrix,
    start: Option<&Matrix>,
    steps: Steps,
) -> Result<StudentFit> {
    let (features, d) = (rows.table.columns(), components.rows());
    let members: Vec<usize> = (0..rows.table.rows()).filter(|&i| rows.kept[i]).collect();
    let n = members.len();
    let mut fit = StudentFit {
        center: center.to_vec(),
        components: components.clone(),
        variances: Vec::new(),
        noise: 0.0,
        basis: start.cloned().unwrap_or_else(|| components.transposed()),
        objective: Vec::new(),
        weights: Vec::new(),
    };
    let has_start = start.is_some();
    let mut repaired = Matrix::zeros(n, features);
    let mut scores = Matrix::zeros(n, d);
    let mut before = None;
    for step in 0..steps.most {
        let ridge = match step {
            0 => vec![FIRST_RIDGE; d],
            _ => fit.variances.iter().map(|lambda| fit.noise / lambda.max(fit.noise)).collect(),
        };
        let moments = expectation(rows, &members, &fit, ridge, &mut scores, &mut repaired);
        if step == 0 {
            (fit.variances, fit.noise) = first_variances(&scores, &moments);
        }
        let student = StudentWeights::new(&fit.variances, fit.noise, steps.kappa, NU);
        let weighed = moments.iter().enumerate().map(|(i, row)| student.weight(scores.row(i), row.square, row.freedom));
        let (weights, parts): (Vec<f64>, Vec<f64>) = weighed.unzip();
        let objective: f64 = parts.iter().sum();
        if step > 1 && fit.objective.last().is_some_and(|last| objective > last + RISE * objective.abs()) {
            let path = std::mem::take(&mut fit.objective);
            fit = before.take().unwrap_or(fit);
            fit.objective = path;
            break;
        }
        fit.objective.push(objective);
        before = Some(fit.clone());
        let freedom = moments.iter().map(|row| row.freedom).sum();
        let start = (has_start || step > 0).then_some(&fit.basis);
        let next = maximization(&mut repaired, &weights, freedom, d, start)?;
        let old = fit.components.transposed();
        fit.center.iter_mut().zip(&next.shift).for_each(|(x, shift)| *x += shift);
        fit.components = next.leading.vectors.first_columns(d).transposed();
        fit.variances = next.leading.values[..d].iter().map(|value| value / n as f64).collect();
        fit.noise = next.noise;
        fit.weights = weights;
        let turned = turn(&next.leading.vectors, &old);
        fit.basis = next.leading.basis;
        if turned < steps.tolerance {
            break;
        }
    }
    Ok(fit)
}

/// Scores, squared residuals and repaired rows under the current subspace.
fn expectation(
    rows: &KeptRows<'_>,
    members: &[usize],
    fit: &StudentFit,
    ridge: Vec<f64>,
    scores: &mut Matrix,
    repaired: &mut Matrix,
) -> Vec<ExpectedRow> {
    let (features, d) = (rows.table.columns(), fit.components.rows());
    let model = plain_model(fit);
    let step = RowStep::with_ridge(&model, ridge);
    scores
        .data_mut()
        .par_chunks_mut(TASK_ROWS * d)
        .zip(repaired.data_mut().par_chunks_mut(TASK_ROWS * features))
        .zip(members.par_chunks(TASK_ROWS))
        .flat_map_iter(|((scores, repaired), members)| {
            let mut work = RowWork::new(features);
            let usable = memory::filled(if rows.cells.is_none() { features } else { 0 }, CellState::Usable);
            let rows_of_task = members.iter().zip(scores.chunks_exact_mut(d)).zip(repaired.chunks_exact_mut(features));
            rows_of_task
                .map(|((&i, scores), repaired)| {
                    let states = rows.cells.map_or(&usable[..], |cells| &cells[i * features..(i + 1) * features]);
                    let state = step.run_with_states(rows.table.row(i), states, &mut work, scores);
                    step.repair(&work, scores, repaired);
                    ExpectedRow { square: state.square, freedom: state.freedom }
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

/// A model for the row step with given states of cells, which needs no limits.
fn plain_model(fit: &StudentFit) -> RowModel {
    RowModel {
        center: fit.center.clone(),
        components: fit.components.clone(),
        variances: fit.variances.clone(),
        noise: fit.noise,
        limits: Vec::new(),
        location: Vec::new(),
        scale: Vec::new(),
        cleans: false,
        scale_features: Vec::new(),
    }
}

/// Variances of the first step: robust ones of the scores, and that of the residuals by their median.
fn first_variances(scores: &Matrix, moments: &[ExpectedRow]) -> (Vec<f64>, f64) {
    let column = |k: usize| (0..scores.rows()).map(|i| scores[(i, k)]).collect::<Vec<f64>>();
    let variances = (0..scores.columns()).map(|k| robust_scale(&column(k)).powi(2).max(TINY)).collect();
    let middle = unsorted_median(&mut moments.iter().map(|row| row.square / row.freedom).collect::<Vec<_>>());
    let freedom = unsorted_median(&mut moments.iter().map(|row| row.freedom).collect::<Vec<_>>());
    // The median of chi-square with f degrees of freedom over f (Wilson and Hilferty 1931).
    let ratio = (1.0 - 2.0 / (9.0 * freedom.max(1.0))).powi(3);
    (variances, (middle / ratio).max(TINY))
}

/// The result of the maximization step.
struct Maximum {
    shift: Vec<f64>,
    leading: Leading,
    noise: f64,
}

/// The weighted mean and the leading eigenvectors of the weighted rows, which are overwritten.
fn maximization(
    repaired: &mut Matrix,
    weights: &[f64],
    freedom: f64,
    d: usize,
    start: Option<&Matrix>,
) -> Result<Maximum> {
    let features = repaired.columns();
    let total: f64 = weights.iter().sum();
    let mut shift = vec![0.0; features];
    for (row, w) in repaired.data().chunks_exact(features).zip(weights) {
        shift.iter_mut().zip(row).for_each(|(sum, z)| *sum += w * z);
    }
    shift.iter_mut().for_each(|x| *x /= total);
    repaired.data_mut().par_chunks_mut(features).zip(weights).for_each(|(row, w)| {
        let root = w.sqrt();
        row.iter_mut().zip(&shift).for_each(|(z, c)| *z = (*z - c) * root);
    });
    let leading = leading(repaired, d, start)?;
    let inside: f64 = leading.values[..d].iter().sum();
    let noise = ((leading.total - inside) / freedom).max(TINY);
    Ok(Maximum { shift, leading, noise })
}
