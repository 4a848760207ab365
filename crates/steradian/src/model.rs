//! A model: what is left when the last sum is finished, and its use on new samples.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | mu | `center` | D |
//! | Q' | `components` | d x D, rows orthonormal |
//!
//! transform: s = (x - mu) Q; inverse: x = mu + s Q'; angle: theta with cos^2 theta = |s|^2 / |x - mu|^2.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::config::{Config, Method, Solver};
use crate::element::ElementType;
use crate::error::{Error, Result};
use crate::kernel::panel;
use crate::linalg::{Matrix, View, add_product};
use crate::run::Local;
use crate::source::{Shape, Source};

/// Rows that one task projects.
const CHUNK_ROWS: usize = 32;

/// How sure the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The largest 2-norm of a column of A Q - Q Lambda, relative to the largest eigenvalue.
    pub residual: f64,
    /// An upper bound on the sine of the largest angle to the exact subspace, in [0, 1].
    pub sine_bound: f64,
    /// Whether the bound reached the tolerance.
    pub converged: bool,
}

/// What the cone found.
#[derive(Debug, Clone, PartialEq)]
pub struct ConeReport {
    /// The sample that the cone is around.
    pub pivot: usize,
    /// How many samples lie outside the cone around each sample; n + 1 for a sample without direction.
    pub tau: Vec<i64>,
    /// The half-angle that was used, in degrees.
    pub angle_degrees: f64,
}

impl ConeReport {
    /// The least tau: how many samples were trimmed.
    pub fn tau_min(&self) -> i64 {
        self.tau[self.pivot]
    }
}

/// A fitted subspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// What was asked.
    pub config: Config,
    /// The solver that ran.
    pub solver: Solver,
    /// The shape of the data it was fitted on.
    pub shape: Shape,
    /// Where samples are seen from, mu.
    pub center: Vec<f64>,
    /// The components: d x D, rows orthonormal, in order of their shares.
    pub components: Matrix,
    /// Angular shares: eigenvalues on the sphere, which sum to at most 1; `None` for classical PCA.
    pub shares: Option<Vec<f64>>,
    /// The variance along each component in data units.
    pub variances: Vec<f64>,
    /// Which samples the components come from.
    pub kept: Vec<bool>,
    /// What the cone found, when there was one.
    pub cone: Option<ConeReport>,
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
    pub fn n_kept(&self) -> usize {
        self.kept.iter().filter(|&&k| k).count()
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
            return Err(Error::asked(format!(
                "the model has {} features but the data have {}; use data of the same width",
                self.n_features(),
                shape.features
            )));
        }
        Ok(())
    }

    /// The scores of a block, row after row: (x - mu) Q.
    pub fn transform_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        Ok(self.project(block)?.0)
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
                    for (square, row) in squares.iter_mut().zip(buffer.chunks(columns.len())) {
                        *square += row.iter().map(|x| x * x).sum::<f64>();
                    }
                    let part = View::new(&buffer, rows.len(), columns.len());
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
    fn component_columns(&self, columns: std::ops::Range<usize>) -> View<'_> {
        View::columns(&self.components, columns).transposed()
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
            return Err(Error::asked(format!("{} scores are not rows of {d}; give n x {d} scores", scores.len())));
        }
        let mut out: Vec<f64> = Vec::with_capacity(scores.len() / d * features);
        for _ in 0..scores.len() / d {
            out.extend_from_slice(&self.center);
        }
        out.par_chunks_mut((CHUNK_ROWS * features).max(1)).zip(scores.par_chunks(CHUNK_ROWS * d)).for_each(
            |(out, scores)| add_product(out, View::new(scores, scores.len() / d, d), self.components.view(), 1.0),
        );
        Ok(out)
    }

    /// The samples of a block as the model sees them: mu + (x - mu) Q Q'.
    pub fn reconstruct_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        self.inverse(&self.transform_block(block)?)
    }

    /// The angle of each sample of a block to the subspace, in degrees; NaN for a sample at the center.
    pub fn angles_block(&self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (scores, squares) = self.project(block)?;
        let angle = |(scores, square): (&[f64], &f64)| {
            let inside = scores.iter().map(|s| s * s).sum::<f64>();
            // atan2 keeps small angles accurate where acos would round them to zero.
            if *square > 0.0 { (square - inside).max(0.0).sqrt().atan2(inside.sqrt()).to_degrees() } else { f64::NAN }
        };
        Ok(scores.chunks(self.n_components()).zip(&squares).map(angle).collect())
    }

    /// A number of rows whose samples fit into a few megabytes in double precision.
    pub fn block_rows(&self) -> usize {
        ((1usize << 20) / self.n_features().max(1)).clamp(1, 4096)
    }
}
