//! Loops over the rows of a table in memory: states of all rows under a model, and scales of the features.

use rayon::prelude::*;

use crate::cellwise::features::TINY;
use crate::cellwise::row_step::unsorted_median;
use crate::cellwise::{CellState, RowState, RowStep, RowWork};
use crate::data::block::{Block, each_element};
use crate::data::element::Element;
use crate::memory;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::NORMAL_MAD;

/// Rows per task; every row is computed by itself, so their number does not change the result.
pub(crate) const TASK_ROWS: usize = 16;
/// Features per task.
const TASK_FEATURES: usize = 16;

/// All rows of a table under a model.
#[derive(Debug, Clone)]
pub(crate) struct RowStates {
    pub scores: Matrix,
    pub cells: Vec<CellState>,
    pub rows: Vec<RowState>,
}

impl RowStates {
    /// The orthogonal distances.
    pub(crate) fn distances(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.distance).collect()
    }
}

/// Compares all rows of a table with a model.
pub(crate) fn compare(table: &Matrix, step: &RowStep<'_>) -> RowStates {
    let (n, features, d) = (table.rows(), table.columns(), step.model().n_components());
    let mut scores = memory::filled(n * d, 0.0);
    let mut cells = memory::filled(n * features, CellState::Usable);
    let rows = scores
        .par_chunks_mut(TASK_ROWS * d)
        .zip(cells.par_chunks_mut(TASK_ROWS * features))
        .zip(table.data().par_chunks(TASK_ROWS * features))
        .flat_map_iter(|((scores, cells), values)| {
            let mut work = RowWork::new(features);
            let rows = values.chunks_exact(features).zip(scores.chunks_exact_mut(d)).zip(cells.chunks_exact_mut(features));
            rows.map(|((row, scores), cells)| {
                let state = step.run(row, &mut work, scores);
                cells.copy_from_slice(&work.states);
                state
            })
            .collect::<Vec<_>>()
        })
        .collect();
    RowStates { scores: Matrix::from_vec(n, d, scores), cells, rows }
}

/// Compares all rows of a block with a model, without the states of their cells; returns states and scores.
pub(crate) fn compare_scores(block: &Block<'_>, step: &RowStep<'_>) -> (Vec<RowState>, Matrix) {
    let (features, d) = (block.columns(), step.model().n_components());
    let mut scores = Matrix::zeros(block.rows(), d);
    let states = scores
        .data_mut()
        .par_chunks_mut(d)
        .enumerate()
        .map_init(
            || (RowWork::new(features), memory::filled(features, 0.0)),
            |(work, row), (index, scores)| {
                block.read_row(index, row);
                step.run(row, work, scores)
            },
        )
        .collect();
    (states, scores)
}

/// Scales of the features of a block: [`feature_scales`] for rows that are not in f64.
pub(crate) fn block_feature_scales(
    block: &Block<'_>,
    (center, components): (&[f64], &Matrix),
    scores: &Matrix,
    kept: &[bool],
    value: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    let features = block.columns();
    let rows: Vec<usize> = (0..block.rows()).filter(|&i| kept[i]).collect();
    (0..features)
        .into_par_iter()
        .with_min_len(TASK_FEATURES)
        .map_init(
            || Vec::with_capacity(rows.len()),
            |column, j| {
                column.clear();
                each_element!(block, own => {
                    for &i in &rows {
                        let x = own.get(i, j).widen();
                        if !x.is_nan() {
                            let along = scores.row(i).iter().enumerate().map(|(k, s)| s * components[(k, j)]);
                            column.push(value(i, x - center[j] - along.sum::<f64>()));
                        }
                    }
                });
                NORMAL_MAD * unsorted_median(column)
            },
        )
        .collect()
}

/// For each feature, 1.4826 times the median over the rows of a mask of `value(row, residual)`, where the residual is that of a
/// cell that is present.
pub(crate) fn feature_scales(
    table: &Matrix,
    center: &[f64],
    components: &Matrix,
    scores: &Matrix,
    kept: &[bool],
    value: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    let features = table.columns();
    let rows: Vec<usize> = (0..table.rows()).filter(|&i| kept[i]).collect();
    let tasks = features.div_ceil(TASK_FEATURES);
    (0..tasks)
        .into_par_iter()
        .flat_map_iter(|task| {
            let (start, end) = (task * TASK_FEATURES, ((task + 1) * TASK_FEATURES).min(features));
            let width = end - start;
            let mut columns: Vec<Vec<f64>> = vec![Vec::with_capacity(rows.len()); width];
            let mut fit = [0.0; TASK_FEATURES];
            for &i in &rows {
                fit[..width].copy_from_slice(&center[start..end]);
                for (k, score) in scores.row(i).iter().enumerate() {
                    let loadings = &components.row(k)[start..end];
                    fit[..width].iter_mut().zip(loadings).for_each(|(fit, q)| *fit += score * q);
                }
                let cells = table.row(i)[start..end].iter().zip(&fit);
                for (column, (x, fit)) in columns.iter_mut().zip(cells) {
                    if !x.is_nan() {
                        column.push(value(i, x - fit));
                    }
                }
            }
            columns.iter_mut().map(|column| NORMAL_MAD * unsorted_median(column)).collect::<Vec<_>>()
        })
        .collect()
}

/// The limits of the cells: scales of the residuals, at least their median over the features and a third of the resolution.
pub(crate) fn cell_limits(
    table: &Matrix,
    center: &[f64],
    components: &Matrix,
    scores: &Matrix,
    kept: &[bool],
    resolution: &[f64],
) -> Vec<f64> {
    let mut limits = feature_scales(table, center, components, scores, kept, |_, residual| residual.abs());
    let middle = unsorted_median(&mut memory::copied(&limits));
    limits.iter_mut().zip(resolution).for_each(|(limit, r)| *limit = limit.max(middle).max(r / 3.0).max(TINY));
    limits
}
