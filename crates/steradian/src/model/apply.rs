//! A model applied to samples: scores, reconstructions, distances and flags, one block at a time or for a whole source.
//!
//! transform: s = (x - mu) Q; inverse: x = mu + s Q'. Where features were scaled, (x - mu) is divided by their scales
//! first, and multiplied by them last.

use rayon::prelude::*;

use super::Model;
use super::diagnosis::{Diagnosis, Flag};
use super::robust_scores::robust_scores;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::{Shape, Source};
use crate::engine::local::Local;
use crate::error::{Error, Result};
use crate::kernel::panel;
use crate::numeric::linalg::{Matrix, MatrixView, add_product};

/// The limit of regular residuals, in scales of their feature.
pub(crate) const CELL_LIMIT: f64 = 3.0;
/// Rows per task of a projection.
const CHUNK_ROWS: usize = 32;

impl Model {
    /// The element type that scores and reconstructions of such data have.
    pub fn output_element(data: ElementType) -> ElementType {
        if data == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
    }

    /// Rejects data with another number of features.
    ///
    /// # Errors
    /// [`Error::FeatureCount`].
    pub fn check_width(&self, shape: &Shape) -> Result<()> {
        if shape.features != self.n_features() {
            return Err(Error::FeatureCount { expected: self.n_features(), found: shape.features });
        }
        Ok(())
    }

    /// The scores of a block, row by row: (x - mu) Q.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        Ok(self.project(block)?.0)
    }

    /// The robust scores of a block: Huber regression over the features, which gives outlying cells less weight.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn robust_transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        let mut scores = self.transform_block(block)?;
        let cell_scales: Option<Vec<f64>> =
            self.diagnostics.cells.as_ref().map(|cells| cells.limits.iter().map(|limit| limit / CELL_LIMIT).collect());
        scores.par_chunks_mut(d.max(1)).enumerate().try_for_each(|(row, scores)| {
            let mut sample = vec![0.0; features];
            panel::center(block, row..row + 1, 0..features, &self.subspace.center, None, &mut sample);
            self.to_scale(&mut sample, 0..features);
            robust_scores(&sample, &self.subspace.components, cell_scales.as_deref(), scores)
        })?;
        Ok(scores)
    }

    /// The reconstructions of the samples of a block from their robust scores.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn robust_reconstruct_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        self.inverse(&self.robust_transform_block(block)?)
    }

    /// The outlying cells of a block, row by row: those whose residual under robust scores exceeds the limit of their
    /// feature. `None` for a model without limits of cells.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn bad_cells_block(&self, block: &Block<'_>) -> Result<Option<Vec<bool>>> {
        let Some(cells) = &self.diagnostics.cells else { return Ok(None) };
        let expected = self.robust_reconstruct_block(block)?;
        let features = self.n_features();
        let mut residuals = vec![0.0; expected.len()];
        panel::center(block, 0..block.rows(), 0..features, &vec![0.0; features], None, &mut residuals);
        residuals.iter_mut().zip(&expected).for_each(|(x, e)| *x -= e);
        self.to_scale(&mut residuals, 0..features);
        let limits = cells.limits.iter().cycle();
        Ok(Some(residuals.iter().zip(limits).map(|(r, limit)| r.abs() > *limit).collect()))
    }

    /// The scores of a block and the squared distance of each sample to the center.
    fn project(&self, block: &Block<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
        let (d, features) = (self.n_components(), self.n_features());
        let mut scores = vec![0.0; block.rows() * d];
        let mut squares = vec![0.0; block.rows()];
        scores.par_chunks_mut(CHUNK_ROWS * d).zip(squares.par_chunks_mut(CHUNK_ROWS)).enumerate().for_each(
            |(chunk, (scores, squares))| {
                let rows = chunk * CHUNK_ROWS..chunk * CHUNK_ROWS + squares.len();
                let mut buffer = panel::buffer(rows.len());
                for columns in panel::panels(features) {
                    panel::center(block, rows.clone(), columns.clone(), &self.subspace.center, None, &mut buffer);
                    self.to_scale(&mut buffer[..rows.len() * columns.len()], columns.clone());
                    for (square, row) in squares.iter_mut().zip(buffer.chunks(columns.len())) {
                        *square += panel::sum_of_squares(row);
                    }
                    let part = MatrixView::new(&buffer, rows.len(), columns.len());
                    add_product(scores, part, self.component_columns(columns), 1.0);
                }
            },
        );
        // A NaN or infinity in a sample makes its sum of squares not finite, whatever the components are.
        if squares.iter().any(|s| !s.is_finite()) {
            panel::require_finite(block)?;
        }
        Ok((scores, squares))
    }

    /// Columns of the components, as a panel x d view.
    fn component_columns(&self, columns: std::ops::Range<usize>) -> MatrixView<'_> {
        MatrixView::columns(&self.subspace.components, columns).transposed()
    }

    /// The scores of all samples: n x d. They are robust where the configuration of the fit says so.
    ///
    /// # Errors
    /// For data with another number of features, cells that are not finite, and errors of the source.
    pub fn transform(&self, source: &dyn Source, runner: &Local) -> Result<Matrix> {
        let rows = |block: &Block<'_>| match self.config.robust_scores {
            true => self.robust_transform_block(block),
            false => self.transform_block(block),
        };
        self.collect("transform", source, runner, self.n_components(), rows)
    }

    /// The reconstructions of all samples: n x D. They come from robust scores where the configuration of the fit says so.
    ///
    /// # Errors
    /// For data with another number of features, cells that are not finite, and errors of the source.
    pub fn reconstruct(&self, source: &dyn Source, runner: &Local) -> Result<Matrix> {
        let rows = |block: &Block<'_>| match self.config.robust_scores {
            true => self.robust_reconstruct_block(block),
            false => self.reconstruct_block(block),
        };
        self.collect("reconstruct", source, runner, self.n_features(), rows)
    }

    /// Distances, angle and flag of all samples, in data order.
    ///
    /// # Errors
    /// For data with another number of features, cells that are not finite, and errors of the source.
    pub fn diagnose(&self, source: &dyn Source, runner: &Local) -> Result<Vec<Diagnosis>> {
        self.check_width(source.shape())?;
        let mut diagnoses = Vec::with_capacity(source.shape().samples);
        runner.for_each_block("diagnose", source, self.block_rows(), |block| {
            diagnoses.extend(self.diagnose_block(block)?);
            Ok(())
        })?;
        Ok(diagnoses)
    }

    /// Rows of `columns` values for all samples, block by block.
    fn collect(
        &self,
        name: &'static str,
        source: &dyn Source,
        runner: &Local,
        columns: usize,
        rows: impl Fn(&Block<'_>) -> Result<Vec<f64>> + Sync,
    ) -> Result<Matrix> {
        self.check_width(source.shape())?;
        let samples = source.shape().samples;
        let mut values = Vec::with_capacity(samples * columns);
        runner.for_each_block(name, source, self.block_rows(), |block| {
            values.extend(rows(block)?);
            Ok(())
        })?;
        Ok(Matrix::from_vec(samples, columns, values))
    }

    /// The reconstructions from scores: mu + s Q', row by row.
    ///
    /// # Errors
    /// If the number of scores is not a multiple of the number of components.
    pub fn inverse(&self, scores: &[f64]) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        if !scores.len().is_multiple_of(d) {
            return Err(Error::invalid_argument(format!(
                "{} scores are not rows of {d}; give n x {d} scores",
                scores.len()
            )));
        }
        let mut out: Vec<f64> = Vec::with_capacity(scores.len() / d * features);
        for _ in 0..scores.len() / d {
            out.extend_from_slice(&self.subspace.center);
        }
        out.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(out, scores)| {
                let scores = MatrixView::new(scores, scores.len() / d, d);
                let Some(scale) = &self.subspace.scale else {
                    return add_product(out, scores, self.subspace.components.view(), 1.0);
                };
                let mut scaled = vec![0.0; out.len()];
                add_product(&mut scaled, scores, self.subspace.components.view(), 1.0);
                let factors = scale.iter().cycle();
                out.iter_mut().zip(&scaled).zip(factors).for_each(|((out, x), scale)| *out += x * scale);
            },
        );
        Ok(out)
    }

    /// Divides columns of centered rows by their scales.
    fn to_scale(&self, rows: &mut [f64], columns: std::ops::Range<usize>) {
        let Some(scale) = &self.subspace.scale else { return };
        let scale = &scale[columns];
        rows.chunks_mut(scale.len()).for_each(|row| row.iter_mut().zip(scale).for_each(|(x, s)| *x /= s));
    }

    /// The reconstructions of a block: mu + (x - mu) Q Q', row by row.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn reconstruct_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        self.inverse(&self.transform_block(block)?)
    }

    /// Distances, angle and flag of each sample of a block.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn diagnose_block(&self, block: &Block<'_>) -> Result<Vec<Diagnosis>> {
        let (scores, squares) = self.project(block)?;
        let diagnose = |(scores, square): (&[f64], &f64)| {
            let inside = scores.iter().map(|s| s * s).sum::<f64>();
            let outside = (square - inside).max(0.0).sqrt();
            // Along a component of variance 0 any score but 0 is infinitely far.
            let standardized = |(s, v): (&f64, &f64)| if *s == 0.0 { 0.0 } else { s * s / v };
            let score_distance =
                scores.iter().zip(&self.diagnostics.explained_variance).map(standardized).sum::<f64>().sqrt();
            // atan2 keeps small angles accurate where acos would round them to zero.
            let angle = if *square > 0.0 { outside.atan2(inside.sqrt()).to_degrees() } else { f64::NAN };
            Diagnosis {
                score_distance,
                orthogonal_distance: outside,
                angle_degrees: angle,
                flag: Flag::of([score_distance, outside], self.diagnostics.cutoffs),
            }
        };
        Ok(scores.chunks(self.n_components()).zip(&squares).map(diagnose).collect())
    }

    /// The contribution of each feature to the squared orthogonal distance of each sample of a block, row by row; the
    /// contributions of a sample sum to 1, or are all 0 for a sample in the subspace.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn contributions_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        let scores = self.transform_block(block)?;
        let mut residuals = vec![0.0; block.rows() * features];
        panel::center(block, 0..block.rows(), 0..features, &self.subspace.center, None, &mut residuals);
        self.to_scale(&mut residuals, 0..features);
        residuals.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(residuals, scores)| {
                add_product(
                    residuals,
                    MatrixView::new(scores, scores.len() / d, d),
                    self.subspace.components.view(),
                    -1.0,
                );
                for residual in residuals.chunks_mut(features) {
                    let square: f64 = residual.iter().map(|r| r * r).sum();
                    let factor = if square > 0.0 { 1.0 / square } else { 0.0 };
                    residual.iter_mut().for_each(|r| *r = *r * *r * factor);
                }
            },
        );
        Ok(residuals)
    }

    /// A number of rows whose samples take a few megabytes as f64 values.
    pub fn block_rows(&self) -> usize {
        ((1usize << 20) / self.n_features().max(1)).clamp(1, 4096)
    }
}
