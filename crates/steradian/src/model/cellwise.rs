//! Models of data with bad and missing cells, applied to samples: scores over usable cells, distances, flags of rows and cells,
//! expected values, and completed rows.

use rayon::prelude::*;

use super::Model;
use super::diagnosis::{Diagnosis, Flag};
use crate::cellwise::{CellState, RowModel, RowState, RowStep, RowWork};
use crate::data::block::Block;
use crate::error::Result;
use crate::kernel::panel;
use crate::memory;
use crate::search::calibration::{CELL_CUTOFF, score_distance};

/// The rows for which cutoffs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutoffKind {
    /// The rows of the fit, to which the model has adapted.
    Training,
    /// Rows that were not part of the fit.
    New,
}

/// The class of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellFlag {
    /// The cell is present and near its expected value.
    Usable,
    /// The cell is far from its expected value.
    Bad,
    /// The cell has no number.
    Missing,
}

/// Expected values, standardized residuals and flags of all cells of some rows, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct CellDiagnosis {
    /// The expected value of each cell, in data units.
    pub expected: Vec<f64>,
    /// The residual of each cell in standard deviations; NaN for a missing cell.
    pub residual_sd: Vec<f64>,
    /// The class of each cell.
    pub flags: Vec<CellFlag>,
}

/// Completed rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FilledRows {
    /// The cells, row by row: expected values where `changed`.
    pub values: Vec<f64>,
    /// True for each cell that was missing, or bad if bad cells were to be replaced.
    pub changed: Vec<bool>,
}

/// One row of a block under the model.
struct RowView<'a> {
    step: &'a RowStep<'a>,
    work: &'a RowWork,
    scores: &'a [f64],
    state: RowState,
}

impl Model {
    /// The cutoffs of score and orthogonal distance. Models without cutoffs of their own for new rows have the same for both.
    pub fn cutoffs(&self, kind: CutoffKind) -> [f64; 2] {
        match (&self.diagnostics.cellwise, kind) {
            (Some(cellwise), CutoffKind::New) => cellwise.cutoffs_new,
            _ => self.diagnostics.cutoffs,
        }
    }

    /// Expected values, standardized residuals and flags of the cells of a block, row by row; `None` for a model without scales of cells.
    ///
    /// # Errors
    /// For a cell that is infinite.
    pub fn diagnose_cells_block(&self, block: &Block<'_>, kind: CutoffKind) -> Result<Option<CellDiagnosis>> {
        let Some(cellwise) = &self.diagnostics.cellwise else { return Ok(None) };
        let features = self.n_features();
        let scales = match kind {
            CutoffKind::Training => &cellwise.cell_scales,
            CutoffKind::New => &cellwise.cell_scales_new,
        };
        // Cells are compared with scores over usable cells, also in a model that does not clean.
        let model = RowModel { cleans: true, ..cellwise.rows.clone() };
        let cells = block.rows() * features;
        let mut expected = memory::filled(cells, 0.0);
        let mut residual_sd = memory::filled(cells, 0.0);
        let mut flags = memory::filled(cells, CellFlag::Usable);
        let rows = expected
            .par_chunks_mut(features)
            .zip(residual_sd.par_chunks_mut(features))
            .zip(flags.par_chunks_mut(features));
        self.visit_rows(
            block,
            &RowStep::new(&model).with_row_scales(),
            rows,
            |row, ((expected, residuals), flags)| {
                for j in 0..features {
                    let fitted = row.step.fitted(j, row.scores);
                    expected[j] = self.in_data_units(j, fitted);
                    if row.work.states[j] == CellState::Missing {
                        (residuals[j], flags[j]) = (f64::NAN, CellFlag::Missing);
                        continue;
                    }
                    residuals[j] = (row.work.centered[j] - fitted) / (scales[j] * row.state.row_scale);
                    if residuals[j].abs() > CELL_CUTOFF && !row.state.unusable {
                        flags[j] = CellFlag::Bad;
                    }
                }
            },
        )?;
        Ok(Some(CellDiagnosis { expected, residual_sd, flags }))
    }

    /// The rows of a block with expected values for missing cells and, if requested, for bad cells.
    ///
    /// # Errors
    /// For a cell that is infinite, and for missing cells where the method of the model does not accept them.
    pub fn fill_block(&self, block: &Block<'_>, bad_cells: bool) -> Result<FilledRows> {
        let features = self.n_features();
        let model = self.row_model(bad_cells);
        let flags = match bad_cells {
            true => self.diagnose_cells_block(block, CutoffKind::New)?.map(|cells| cells.flags),
            false => None,
        };
        let mut values = memory::filled(block.rows() * features, 0.0);
        let mut changed = memory::filled(block.rows() * features, false);
        let bad: Vec<Option<&[CellFlag]>> = match &flags {
            Some(flags) => flags.chunks(features).map(Some).collect(),
            None => vec![None; block.rows()],
        };
        let rows = values.par_chunks_mut(features).zip(changed.par_chunks_mut(features)).zip(bad.into_par_iter());
        self.visit_rows_with(block, &RowStep::new(&model), rows, |own, row, ((values, changed), bad)| {
            for j in 0..features {
                let is_missing = row.work.states[j] == CellState::Missing;
                changed[j] = is_missing || bad.is_some_and(|flags| flags[j] == CellFlag::Bad);
                values[j] = if changed[j] { self.in_data_units(j, row.step.fitted(j, row.scores)) } else { own[j] };
            }
        })?;
        Ok(FilledRows { values, changed })
    }

    /// The scores of a block over usable cells.
    pub(super) fn scores_over_usable_cells(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let d = self.n_components();
        let mut scores = memory::filled(block.rows() * d, 0.0);
        let model = self.row_model(false);
        self.visit_rows(block, &RowStep::new(&model), scores.par_chunks_mut(d), |row, out| {
            out.copy_from_slice(row.scores)
        })?;
        Ok(scores)
    }

    /// Distances, angle and flag of each sample of a block, over usable cells.
    pub(super) fn diagnose_usable_cells(&self, block: &Block<'_>, kind: CutoffKind) -> Result<Vec<Diagnosis>> {
        let model = self.row_model(false);
        let cutoffs = self.cutoffs(kind);
        let cellwise = self.diagnostics.cellwise.as_ref();
        let zeros = vec![0.0; self.n_components()];
        let (center, variances) = match cellwise {
            Some(cellwise) => (&cellwise.score_center, &cellwise.score_variances),
            None => (&zeros, &self.diagnostics.explained_variance),
        };
        let mut diagnoses = vec![None; block.rows()];
        self.visit_rows(block, &RowStep::new(&model), diagnoses.par_iter_mut(), |row, out| {
            let distances = [score_distance(row.scores, center, variances), row.state.distance];
            let inside = row.scores.iter().map(|s| s * s).sum::<f64>().sqrt();
            let norm = inside.hypot(row.state.distance);
            let mut flag = Flag::of(distances, cutoffs);
            if row.state.unusable && !flag.is_outlier() {
                flag = if flag == Flag::GoodLeverage { Flag::BadLeverage } else { Flag::Orthogonal };
            }
            *out = Some(Diagnosis {
                score_distance: distances[0],
                orthogonal_distance: distances[1],
                angle_degrees: if norm > 0.0 { row.state.distance.atan2(inside).to_degrees() } else { f64::NAN },
                flag,
            });
        })?;
        Ok(diagnoses.into_iter().flatten().collect())
    }

    /// The residuals of a block over usable cells, row by row; 0 where a cell is missing.
    pub(super) fn residuals_over_usable_cells(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let features = self.n_features();
        let model = self.row_model(false);
        let mut residuals = memory::filled(block.rows() * features, 0.0);
        self.visit_rows(block, &RowStep::new(&model), residuals.par_chunks_mut(features), |row, out| {
            for (j, out) in out.iter_mut().enumerate() {
                if row.work.states[j] != CellState::Missing {
                    *out = row.work.centered[j] - row.step.fitted(j, row.scores);
                }
            }
        })?;
        Ok(residuals)
    }

    /// The model that rows are compared with. A method without scales of cells uses every cell that is present.
    fn row_model(&self, cleans: bool) -> RowModel {
        if let Some(cellwise) = &self.diagnostics.cellwise {
            return RowModel { cleans: cleans || cellwise.rows.cleans, ..cellwise.rows.clone() };
        }
        let features = self.n_features();
        let center = self.subspace.center_in_units_of_scale();
        let variances = memory::copied(&self.diagnostics.explained_variance);
        let inside: f64 = variances.iter().sum();
        let outside = self.diagnostics.total_variance.unwrap_or(0.0) - inside;
        let noise = (outside / (features - variances.len()).max(1) as f64).max(f64::MIN_POSITIVE);
        RowModel {
            location: memory::copied(&center),
            center,
            components: self.subspace.components.clone(),
            variances,
            noise,
            limits: memory::filled(features, 1.0),
            scale: memory::filled(features, 1.0),
            cleans: false,
            scale_features: Vec::new(),
        }
    }

    fn in_data_units(&self, feature: usize, deviation: f64) -> f64 {
        let scale = self.subspace.scale.as_ref().map_or(1.0, |scale| scale[feature]);
        deviation.mul_add(scale, self.subspace.center[feature])
    }

    fn visit_rows<I>(
        &self,
        block: &Block<'_>,
        step: &RowStep<'_>,
        outputs: I,
        visit: impl Fn(RowView<'_>, I::Item) + Sync,
    ) -> Result<()>
    where
        I: IndexedParallelIterator,
    {
        self.visit_rows_with(block, step, outputs, |_, row, output| visit(row, output))
    }

    /// Compares each row of a block with a model, beside an item of `outputs`; the row is passed in data units, too.
    fn visit_rows_with<I>(
        &self,
        block: &Block<'_>,
        step: &RowStep<'_>,
        outputs: I,
        visit: impl Fn(&[f64], RowView<'_>, I::Item) + Sync,
    ) -> Result<()>
    where
        I: IndexedParallelIterator,
    {
        panel::require_finite(block, self.config.missing)?;
        let (features, d) = (self.n_features(), self.n_components());
        let zeros = || memory::filled(features, 0.0);
        outputs.enumerate().for_each_init(
            || (RowWork::new(features), zeros(), zeros(), vec![0.0; d]),
            |(work, own, scaled, scores), (index, output)| {
                block.read_row(index, own);
                let row = match &self.subspace.scale {
                    Some(scale) => {
                        scaled.iter_mut().zip(&*own).zip(scale).for_each(|((to, x), s)| *to = x / s);
                        &*scaled
                    }
                    None => &*own,
                };
                let state = step.run(row, work, scores);
                visit(own, RowView { step, work, scores, state }, output);
            },
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::method::Method;
    use crate::data::slice::SliceSource;
    use crate::data::source::Source;
    use crate::engine::local::Local;
    use crate::numeric::random::{Stream, normal_matrix};

    #[test]
    fn transform_and_diagnosis_are_those_of_the_row_step() {
        let (n, features) = (80, 6);
        let mut x = normal_matrix(n, features, 5, Stream::Krylov);
        for i in 0..n {
            x.row_mut(i)
                .iter_mut()
                .enumerate()
                .for_each(|(j, x)| *x += 6.0 * (i as f64 * 0.7).sin() * (j as f64 - 2.0));
            x[(i, i % features)] += if i % 7 == 0 { 60.0 } else { 0.0 };
            x[(i, (i + 2) % features)] = if i % 5 == 0 { f64::NAN } else { 1.0 };
        }
        let source = SliceSource::new(x.data(), n, features).unwrap();
        for method in [Method::Robust, Method::Cells, Method::Rows] {
            let model = crate::fit(&Config::new(method, 1), &source, &Local::new(1).unwrap()).unwrap();
            let cellwise = model.diagnostics.cellwise.as_ref().unwrap();
            let step = RowStep::new(&cellwise.rows);
            let (mut work, mut scores) = (RowWork::new(features), [0.0]);
            source
                .visit(0..n, &mut |block| {
                    let (found, rows) =
                        (model.transform_block(&block)?, model.diagnose_block(&block, CutoffKind::New)?);
                    for i in 0..n {
                        let state = step.run(x.row(i), &mut work, &mut scores);
                        assert_eq!(found[i], scores[0]);
                        assert_eq!(rows[i].orthogonal_distance, state.distance);
                        let distance = score_distance(&scores, &cellwise.score_center, &cellwise.score_variances);
                        assert_eq!(rows[i].score_distance, distance);
                        let outside = distance > cellwise.cutoffs_new[0] || state.distance > cellwise.cutoffs_new[1];
                        assert_eq!(rows[i].flag != Flag::Regular, outside || state.unusable, "row {i}");
                    }
                    Ok(())
                })
                .unwrap();
        }
    }
}
