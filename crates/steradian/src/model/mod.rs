//! The model: the result of a fit, and its use on new samples.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | mu | `center` | D |
//! | Q' | `components` | d x D, rows orthonormal |
//!
//! transform: s = (x - mu) Q; inverse: x = mu + s Q'. Where features were scaled, (x - mu) is divided by their scales
//! first, and multiplied by them last.

pub(crate) mod diagnosis;
pub(crate) mod extras;
pub(crate) mod file;
pub(crate) mod robust_scores;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::Solver;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::{Shape, Source};
use crate::engine::local::Local;
use crate::error::{Error, Result};
use crate::kernel::panel;
use crate::numeric::linalg::{Matrix, MatrixView, add_product};
use crate::screen::report::ConeReport;
use diagnosis::{Diagnosis, Flag};
use extras::Extra;
use robust_scores::robust_scores;

/// Residuals beyond this many scales of their feature are cleaned.
pub(crate) const CELL_LIMIT: f64 = 3.0;
/// Rows that one task projects.
const CHUNK_ROWS: usize = 32;

/// How sure the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The largest 2-norm of a column of A Q - Q Lambda, relative to the largest eigenvalue; for principal component
    /// pursuit that of the split; not a number for Grassmann averages, which are no eigenvectors.
    #[serde(deserialize_with = "number_or_null")]
    pub residual: f64,
    /// An upper bound on the sine of the largest angle to the exact subspace, in [0, 1]; not a number where the method
    /// has no such subspace.
    #[serde(deserialize_with = "number_or_null")]
    pub sine_bound: f64,
    /// Whether the bound reached the tolerance; for baselines, whether their iteration stopped by its own rule.
    pub converged: bool,
}

/// JSON has no word for what is not a number but null.
fn number_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// What became of single cells.
#[derive(Debug, Clone, PartialEq)]
pub struct CleanedCells {
    /// The residual of a cell beyond which it is cleaned, for each feature.
    pub limits: Vec<f64>,
    /// The share of the cells of the fit's samples that were cleaned.
    pub share: f64,
}

/// A fitted subspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was asked.
    pub config: Config,
    /// The solver that ran; `Auto` for baselines, which iterate on their own.
    pub solver: Solver,
    /// The shape of the data it was fitted on.
    pub shape: Shape,
    /// Where samples are seen from, mu, in data units.
    pub center: Vec<f64>,
    /// What each feature is divided by, after the center is subtracted; `None` where features keep their units.
    pub scale: Option<Vec<f64>>,
    /// The components: d x D, rows orthonormal, in order of their shares.
    pub components: Matrix,
    /// Angular shares: eigenvalues on the sphere, which sum to at most 1; `None` for classical PCA.
    pub angular_eigenvalues: Option<Vec<f64>>,
    /// The variance along each component in data units; they sum to at most `total_variance`.
    pub explained_variance: Vec<f64>,
    /// The total variance that `variances` are fractions of, of the same kind: for `pca` the trace of the covariance, else
    /// the sum of the variances and the robust mean of squared orthogonal distances. `None` only in older model files.
    pub total_variance: Option<f64>,
    /// Why there are this many components, where the number was found.
    pub n_components_reason: Option<String>,
    /// Which samples the components come from.
    pub support: Vec<bool>,
    /// What the cone found, when there was one.
    pub cone: Option<ConeReport>,
    /// The sum of sines before each step of the last refinement, and after all; empty for other losses.
    pub objective: Vec<f64>,
    /// Steps of each iteration of a baseline; empty for the methods of this crate.
    pub iterations: Vec<usize>,
    /// Which cells were cleaned, when cells were.
    pub cells: Option<CleanedCells>,
    /// Arrays that other crates keep in the model.
    pub extras: BTreeMap<String, Extra>,
    /// Cutoffs of score and orthogonal distance; NaN while undefined.
    pub cutoffs: [f64; 2],
    /// How sure the answer is.
    pub certificate: Certificate,
    /// Passes over the data that the fit made.
    pub passes: usize,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Model {
    /// The number of components, d.
    pub fn n_components(&self) -> usize {
        self.components.rows()
    }

    /// The number of features, D.
    pub fn n_features(&self) -> usize {
        self.center.len()
    }

    /// How many samples the components come from.
    pub fn n_support(&self) -> usize {
        self.support.iter().filter(|&&k| k).count()
    }

    /// The method it was fitted with.
    pub fn method(&self) -> Method {
        self.config.method
    }

    /// The solver that ran.
    pub fn solver(&self) -> Solver {
        self.solver
    }

    /// The element type that scores and reconstructions of such data have.
    pub fn output_element(data: ElementType) -> ElementType {
        if data == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
    }

    /// Refuses data of another width.
    pub fn check_width(&self, shape: &Shape) -> Result<()> {
        if shape.features != self.n_features() {
            return Err(Error::FeatureCount { expected: self.n_features(), found: shape.features });
        }
        Ok(())
    }

    /// The scores of a block, row after row: (x - mu) Q.
    pub fn transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        Ok(self.project(block)?.0)
    }

    /// The scores of a block by Huber-weighted least squares over the features: cells that do not fit count less.
    pub fn robust_transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        let mut scores = self.transform_block(block)?;
        let cell_scales: Option<Vec<f64>> =
            self.cells.as_ref().map(|cells| cells.limits.iter().map(|limit| limit / CELL_LIMIT).collect());
        scores.par_chunks_mut(d.max(1)).enumerate().try_for_each(|(row, scores)| {
            let mut sample = vec![0.0; features];
            panel::center(block, row..row + 1, 0..features, &self.center, None, &mut sample);
            self.to_scale(&mut sample, 0..features);
            robust_scores(&sample, &self.components, cell_scales.as_deref(), scores)
        })?;
        Ok(scores)
    }

    /// The samples of a block as the model sees them by their robust scores.
    pub fn robust_reconstruct_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        self.inverse(&self.robust_transform_block(block)?)
    }

    /// Which cells of a block the model would clean, row after row: those beyond the limits of their feature, as seen by
    /// robust scores. `None` where the model did not clean cells.
    pub fn bad_cells_block(&self, block: &Block<'_>) -> Result<Option<Vec<bool>>> {
        let Some(cells) = &self.cells else { return Ok(None) };
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
                    panel::center(block, rows.clone(), columns.clone(), &self.center, None, &mut buffer);
                    self.to_scale(&mut buffer[..rows.len() * columns.len()], columns.clone());
                    for (square, row) in squares.iter_mut().zip(buffer.chunks(columns.len())) {
                        *square += panel::sum_of_squares(row);
                    }
                    let part = MatrixView::new(&buffer, rows.len(), columns.len());
                    add_product(scores, part, self.component_columns(columns), 1.0);
                }
            },
        );
        // A NaN or infinity in a sample spoils its sum of squares, whatever the components are.
        if squares.iter().any(|s| !s.is_finite()) {
            panel::require_finite(block)?;
        }
        Ok((scores, squares))
    }

    /// Columns of the components, as a panel x d view.
    fn component_columns(&self, columns: std::ops::Range<usize>) -> MatrixView<'_> {
        MatrixView::columns(&self.components, columns).transposed()
    }

    /// The scores of all samples: n x d.
    pub fn transform(&self, source: &dyn Source, runner: &Local) -> Result<Matrix> {
        self.check_width(source.shape())?;
        let mut scores = Vec::with_capacity(source.shape().samples * self.n_components());
        runner.for_each_block("transform", source, self.block_rows(), |block| {
            scores.extend(self.transform_block(block)?);
            Ok(())
        })?;
        Ok(Matrix::from_vec(source.shape().samples, self.n_components(), scores))
    }

    /// The samples that scores stand for: mu + s Q', row after row.
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
            out.extend_from_slice(&self.center);
        }
        out.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(out, scores)| {
                let scores = MatrixView::new(scores, scores.len() / d, d);
                let Some(scale) = &self.scale else {
                    return add_product(out, scores, self.components.view(), 1.0);
                };
                let mut scaled = vec![0.0; out.len()];
                add_product(&mut scaled, scores, self.components.view(), 1.0);
                let factors = scale.iter().cycle();
                out.iter_mut().zip(&scaled).zip(factors).for_each(|((out, x), scale)| *out += x * scale);
            },
        );
        Ok(out)
    }

    /// Divides columns of centered rows by their scales.
    fn to_scale(&self, rows: &mut [f64], columns: std::ops::Range<usize>) {
        let Some(scale) = &self.scale else { return };
        let scale = &scale[columns];
        rows.chunks_mut(scale.len()).for_each(|row| row.iter_mut().zip(scale).for_each(|(x, s)| *x /= s));
    }

    /// The samples of a block as the model sees them: mu + (x - mu) Q Q'.
    pub fn reconstruct_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        self.inverse(&self.transform_block(block)?)
    }

    /// How each sample of a block lies to the model.
    pub fn diagnose_block(&self, block: &Block<'_>) -> Result<Vec<Diagnosis>> {
        let (scores, squares) = self.project(block)?;
        let diagnose = |(scores, square): (&[f64], &f64)| {
            let inside = scores.iter().map(|s| s * s).sum::<f64>();
            let outside = (square - inside).max(0.0).sqrt();
            // A component without spread has room for nobody.
            let standardised = |(s, v): (&f64, &f64)| if *s == 0.0 { 0.0 } else { s * s / v };
            let score_distance = scores.iter().zip(&self.explained_variance).map(standardised).sum::<f64>().sqrt();
            // atan2 keeps small angles accurate where acos would round them to zero.
            let angle = if *square > 0.0 { outside.atan2(inside.sqrt()).to_degrees() } else { f64::NAN };
            Diagnosis {
                score_distance,
                orthogonal_distance: outside,
                angle_degrees: angle,
                flag: Flag::of([score_distance, outside], self.cutoffs),
            }
        };
        Ok(scores.chunks(self.n_components()).zip(&squares).map(diagnose).collect())
    }

    /// What each feature contributes to the squared orthogonal distance of each sample of a block, row after row; the
    /// contributions of a sample sum to 1 (all 0 for one within the subspace).
    pub fn contributions_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (d, features) = (self.n_components(), self.n_features());
        let scores = self.transform_block(block)?;
        let mut residuals = vec![0.0; block.rows() * features];
        panel::center(block, 0..block.rows(), 0..features, &self.center, None, &mut residuals);
        self.to_scale(&mut residuals, 0..features);
        residuals.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(residuals, scores)| {
                add_product(residuals, MatrixView::new(scores, scores.len() / d, d), self.components.view(), -1.0);
                for residual in residuals.chunks_mut(features) {
                    let square: f64 = residual.iter().map(|r| r * r).sum();
                    let share = if square > 0.0 { 1.0 / square } else { 0.0 };
                    residual.iter_mut().for_each(|r| *r = *r * *r * share);
                }
            },
        );
        Ok(residuals)
    }

    /// A number of rows whose samples fit into a few megabytes in double precision.
    pub fn block_rows(&self) -> usize {
        ((1usize << 20) / self.n_features().max(1)).clamp(1, 4096)
    }
}
