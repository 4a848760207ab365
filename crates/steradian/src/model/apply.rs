//! A model applied to samples: scores, reconstructions, distances and flags, one block at a time or for a whole source.
//!
//! transform: s = (x - mu) Q; inverse: x = mu + s Q'. Where features were scaled, (x - mu) is divided by their scales
//! first, and multiplied by them last.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::Model;
use super::cellwise::CutoffKind;
use super::diagnosis::{Diagnosis, Flag};
use super::robust_scores::robust_scores;
use crate::config::options::Missing;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::{Shape, Source};
use crate::engine::local::Local;
use crate::error::{Error, Result};
use crate::kernel::panel;
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::{Matrix, MatrixView, add_product};
use crate::numeric::magnitude::{exponent, times_power_of_two};

/// The limit of regular residuals, in scales of their feature.
pub(crate) const CELL_LIMIT: f64 = 3.0;
/// Rows per task of a projection.
const CHUNK_ROWS: usize = 32;

/// The scores of a block, row by row, and the squared distance of each sample to the center.
struct Projected {
    scores: Vec<f64>,
    squares: Vec<f64>,
    /// Samples whose squares overflow or underflow, by row.
    extreme: BTreeMap<usize, ExtremeSample>,
}

/// Scores and squared norm of a sample in units of 2^power.
struct ExtremeSample {
    power: i32,
    scores: Vec<f64>,
    square: f64,
}

fn largest_exponent(values: &[f64]) -> Option<i32> {
    exponent(values.iter().fold(0.0f64, |m, x| m.max(x.abs())))
}

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

    /// Rejects data with another number of features, or with other names of features, where model and data have names.
    ///
    /// # Errors
    /// [`Error::FeatureCount`], and [`Error::InvalidArgument`] with the first name that differs.
    pub fn check_features(&self, source: &dyn Source) -> Result<()> {
        self.check_width(source.shape())?;
        let names = self.feature_names.iter().flatten().enumerate();
        for (feature, expected) in names {
            let Some(found) = source.feature_name(feature).filter(|found| found != expected) else { continue };
            return Err(Error::invalid_argument(format!(
                "feature {feature} of the data is {found:?} but that of the model is {expected:?}; \
                 use data with the features of the fit, in their order"
            )));
        }
        Ok(())
    }

    /// The scores of a block, row by row: (x - mu) Q.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        if self.uses_usable_cells(block) {
            return self.scores_over_usable_cells(block);
        }
        Ok(self.project(block)?.scores)
    }

    /// True if rows of a block are compared over their usable cells: for models with scales of cells, and for missing cells where
    /// the method accepts them.
    fn uses_usable_cells(&self, block: &Block<'_>) -> bool {
        self.diagnostics.cellwise.is_some() || self.config.missing == Missing::Use && panel::has_missing(block)
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
        let mut residuals = memory::filled(expected.len(), 0.0);
        panel::center(block, 0..block.rows(), 0..features, &vec![0.0; features], None, &mut residuals);
        residuals.iter_mut().zip(&expected).for_each(|(x, e)| *x -= e);
        self.to_scale(&mut residuals, 0..features);
        let limits = cells.limits.iter().cycle();
        Ok(Some(residuals.iter().zip(limits).map(|(r, limit)| r.abs() > *limit).collect_reserved()))
    }

    /// The scores of a block and the squared distance of each sample to the center. Samples whose squares overflow or
    /// underflow are measured in other units.
    fn project(&self, block: &Block<'_>) -> Result<Projected> {
        let (d, features) = (self.n_components(), self.n_features());
        let mut scores = memory::filled(block.rows() * d, 0.0);
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
            panel::require_finite(block, Missing::Error)?;
        }
        let mut extreme = BTreeMap::new();
        for (row, _) in squares.iter().enumerate().filter(|(_, square)| !panel::is_safe_square(**square)) {
            if let Some(own) = self.project_extreme(block, row) {
                let to = scores[row * d..(row + 1) * d].iter_mut();
                to.zip(&own.scores).for_each(|(s, own_score)| *s = times_power_of_two(*own_score, own.power));
                extreme.insert(row, own);
            }
        }
        Ok(Projected { scores, squares, extreme })
    }

    /// Scores and squared norm of one sample in units of a power of two near its largest coordinate; `None` for a sample at
    /// the center.
    fn project_extreme(&self, block: &Block<'_>, row: usize) -> Option<ExtremeSample> {
        let mut sample = vec![0.0; self.n_features()];
        block.read_row(row, &mut sample);
        // The difference of two large numbers may overflow; that of a quarter of each does not.
        let large = largest_exponent(&sample).max(largest_exponent(&self.subspace.center)) > Some(1020);
        let before = if large { -2 } else { 0 };
        for (x, c) in sample.iter_mut().zip(&self.subspace.center) {
            *x = times_power_of_two(*x, before) - times_power_of_two(*c, before);
        }
        self.to_scale(&mut sample, 0..self.n_features());
        let own = largest_exponent(&sample)?;
        sample.iter_mut().for_each(|x| *x = times_power_of_two(*x, -own));
        let components = &self.subspace.components;
        let along = |k: usize| components.row(k).iter().zip(&sample).map(|(q, x)| q * x).sum::<f64>();
        let scores = (0..self.n_components()).map(along).collect();
        Some(ExtremeSample { power: own - before, scores, square: panel::sum_of_squares(&sample) })
    }

    /// Columns of the components, as a panel x d view.
    fn component_columns(&self, columns: std::ops::Range<usize>) -> MatrixView<'_> {
        self.subspace.components.view().select_columns(columns).transposed()
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
    pub fn diagnose(&self, source: &dyn Source, runner: &Local, kind: CutoffKind) -> Result<Vec<Diagnosis>> {
        self.check_width(source.shape())?;
        memory::guard(|| {
            let mut diagnoses = memory::reserved(source.shape().samples);
            runner.for_each_block("diagnose", source, self.block_rows(), |block| {
                diagnoses.extend(self.diagnose_block(block, kind)?);
                Ok(())
            })?;
            Ok(diagnoses)
        })
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
        memory::guard(|| {
            let mut values = memory::reserved(samples * columns);
            runner.for_each_block(name, source, self.block_rows(), |block| {
                values.extend(rows(block)?);
                Ok(())
            })?;
            Ok(Matrix::from_vec(samples, columns, values))
        })
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
        let mut out: Vec<f64> = memory::reserved(scores.len() / d * features);
        for _ in 0..scores.len() / d {
            out.extend_from_slice(&self.subspace.center);
        }
        out.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(out, scores)| {
                let scores = MatrixView::new(scores, scores.len() / d, d);
                let Some(scale) = &self.subspace.scale else {
                    return add_product(out, scores, self.subspace.components.view(), 1.0);
                };
                let mut scaled = memory::filled(out.len(), 0.0);
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
    pub fn diagnose_block(&self, block: &Block<'_>, kind: CutoffKind) -> Result<Vec<Diagnosis>> {
        if self.uses_usable_cells(block) {
            return self.diagnose_usable_cells(block, kind);
        }
        let Projected { scores, squares, extreme } = self.project(block)?;
        let diagnose = |(row, (scores, square)): (usize, (&[f64], &f64))| {
            // In the units of the sample, where it has its own.
            let own = extreme.get(&row);
            let (scores, square) = own.map_or((scores, square), |own| (&own.scores[..], &own.square));
            let in_data_units = |x: f64| own.map_or(x, |own| times_power_of_two(x, own.power));
            let inside = scores.iter().map(|s| s * s).sum::<f64>();
            let outside = (square - inside).max(0.0).sqrt();
            // Along a component of variance 0 any score but 0 is infinitely far.
            let standardized = |(s, v): (&f64, &f64)| match (*s == 0.0, own) {
                (true, _) => 0.0,
                (false, None) => s * s / v,
                (false, Some(own)) => times_power_of_two(s / v.sqrt(), own.power),
            };
            let along = scores.iter().zip(&self.diagnostics.explained_variance).map(standardized);
            let score_distance = match own {
                None => along.sum::<f64>().sqrt(),
                Some(_) => along.fold(0.0, f64::hypot),
            };
            let (inside, outside_own) = (inside.sqrt(), outside);
            let outside = in_data_units(outside);
            // atan2 keeps small angles accurate where acos would round them to zero.
            let angle = if *square > 0.0 { outside_own.atan2(inside).to_degrees() } else { f64::NAN };
            Diagnosis {
                score_distance,
                orthogonal_distance: outside,
                angle_degrees: angle,
                flag: Flag::of([score_distance, outside], self.cutoffs(kind)),
            }
        };
        Ok(scores.chunks(self.n_components()).zip(&squares).enumerate().map(diagnose).collect_reserved())
    }

    /// The contribution of each feature to the squared orthogonal distance of each sample of a block, row by row; the
    /// contributions of a sample sum to 1, or are all 0 for a sample in the subspace.
    ///
    /// # Errors
    /// [`Error::NotFinite`].
    pub fn contributions_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let features = self.n_features();
        let mut residuals = match self.uses_usable_cells(block) {
            true => self.residuals_over_usable_cells(block)?,
            false => self.plain_residuals(block)?,
        };
        residuals.par_chunks_mut((CHUNK_ROWS * features).max(1)).for_each(|residuals| {
            for residual in residuals.chunks_mut(features) {
                let mut square: f64 = residual.iter().map(|r| r * r).sum();
                if let (false, Some(power)) = (panel::is_safe_square(square), largest_exponent(residual)) {
                    residual.iter_mut().for_each(|r| *r = times_power_of_two(*r, -power));
                    square = residual.iter().map(|r| r * r).sum();
                }
                let factor = if square > 0.0 { 1.0 / square } else { 0.0 };
                residual.iter_mut().for_each(|r| *r = *r * *r * factor);
            }
        });
        Ok(residuals)
    }

    /// The residuals of a block from its plain projections.
    fn plain_residuals(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        let scores = self.project(block)?.scores;
        let mut residuals = memory::filled(block.rows() * features, 0.0);
        panel::center(block, 0..block.rows(), 0..features, &self.subspace.center, None, &mut residuals);
        self.to_scale(&mut residuals, 0..features);
        residuals.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(residuals, scores)| {
                let scores = MatrixView::new(scores, scores.len() / d, d);
                add_product(residuals, scores, self.subspace.components.view(), -1.0);
            },
        );
        Ok(residuals)
    }

    /// A number of rows whose samples take a few megabytes as f64 values.
    pub fn block_rows(&self) -> usize {
        ((1usize << 20) / self.n_features().max(1)).clamp(1, 4096)
    }
}
