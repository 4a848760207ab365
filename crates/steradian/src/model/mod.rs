//! The model: the result of a fit in three parts, the subspace, the diagnostics and the report of the fit.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | mu | `subspace.center` | D |
//! | Q' | `subspace.components` | d x D, rows orthonormal |

mod absent_rows;
pub(crate) mod apply;
mod cell_scales;
pub(crate) mod cellwise;
pub(crate) mod check;
pub(crate) mod diagnosis;
pub(crate) mod extras;
pub(crate) mod file;
pub(crate) mod robust_scores;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::Solver;
use crate::data::source::Shape;
use crate::memory;
use crate::numeric::linalg::Matrix;
pub use crate::cellwise::RowModel;
pub use crate::screen::report::{ConeReport, Elimination};
pub use cell_scales::Cellwise;
pub use cellwise::{CellDiagnosis, CellFlag, CutoffKind, FilledRows};
pub use diagnosis::{Diagnosis, Flag};
pub use extras::Extra;

/// The a-posteriori error bound of the last eigenproblem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The largest 2-norm of a column of A Q - Q Lambda, relative to the largest eigenvalue; for principal component
    /// pursuit the residual of the decomposition; NaN for Grassmann averages, which are not eigenvectors.
    #[serde(deserialize_with = "number_or_null")]
    pub residual: f64,
    /// An upper bound on the sine of the largest angle to the exact subspace, in [0, 1]; NaN where the method has no such
    /// subspace.
    #[serde(deserialize_with = "number_or_null")]
    pub sine_bound: f64,
    /// True if the bound is within the tolerance; for baselines, if their iteration stopped by its own rule.
    pub converged: bool,
}

impl Default for Certificate {
    fn default() -> Self {
        Self { residual: f64::NAN, sine_bound: f64::NAN, converged: false }
    }
}

/// JSON has no NaN; null stands for it.
fn number_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Statistics of cell cleaning.
#[derive(Debug, Clone, PartialEq)]
pub struct CleanedCells {
    /// The largest residual of a regular cell, one per feature.
    pub limits: Vec<f64>,
    /// The fraction of the cells of the support that were cleaned.
    pub fraction: f64,
}

/// The fitted subspace.
#[derive(Debug, Clone, PartialEq)]
pub struct Subspace {
    /// The center mu, in data units.
    pub center: Vec<f64>,
    /// The divisor of each feature after centering; `None` where features keep their units.
    pub scale: Option<Vec<f64>>,
    /// The components: d x D, rows orthonormal, in order of their eigenvalues.
    pub components: Matrix,
    /// The angular eigenvalues: eigenvalues of the spatial sign covariance matrix, which sum to at most 1; `None` where the
    /// weights are uniform or the components are not eigenvectors.
    pub angular_eigenvalues: Option<Vec<f64>>,
}

impl Subspace {
    /// The center divided by the scales of the features, where they have any.
    pub(crate) fn center_in_units_of_scale(&self) -> Vec<f64> {
        match &self.scale {
            Some(scale) => self.center.iter().zip(scale).map(|(c, s)| c / s).collect(),
            None => memory::copied(&self.center),
        }
    }
}

/// The scales by which samples and cells are classified.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostics {
    /// The variance along each component in data units; they sum to at most `total_variance`.
    pub explained_variance: Vec<f64>,
    /// The total variance that `explained_variance` is part of, of the same kind: for `pca` the trace of the covariance, else
    /// the sum of the variances and the robust mean of squared orthogonal distances. `None` only in older model files.
    pub total_variance: Option<f64>,
    /// The cutoffs of score and orthogonal distance; NaN where undefined.
    pub cutoffs: [f64; 2],
    /// The limits of the cells, of models that older versions have written.
    pub cells: Option<CleanedCells>,
    /// The scales of rows and cells, for fits of `robust`, `cells` and `rows`.
    pub cellwise: Option<Cellwise>,
}

/// The course of the fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitReport {
    /// The solver that ran; `Auto` for baselines, which have their own iteration.
    pub solver: Solver,
    /// The support: true for the samples of the last decomposition.
    pub support: Vec<bool>,
    /// The pivot and tau of the cone screen.
    pub cone: Option<ConeReport>,
    /// The reason for the number of components, where a rule found it.
    pub n_components_reason: Option<String>,
    /// The objective before each step of the last reweighting, which never rises; the sum of sines in models that older versions have
    /// written; empty for other losses.
    pub objective: Vec<f64>,
    /// The number of steps of each iteration of a baseline; empty for the methods of this crate.
    pub iterations: Vec<usize>,
    /// The certificate of the last eigenproblem.
    pub certificate: Certificate,
    /// The number of passes over the data.
    pub passes: usize,
    /// Warnings of the fit.
    pub warnings: Vec<String>,
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The configuration of the fit.
    pub config: Config,
    /// The shape of the data of the fit.
    pub shape: Shape,
    /// The names of the features, D of them; `None` if the data of the fit had none.
    pub feature_names: Option<Vec<String>>,
    /// The subspace.
    pub subspace: Subspace,
    /// The scales by which samples and cells are classified.
    pub diagnostics: Diagnostics,
    /// The course of the fit.
    pub report: FitReport,
    /// Arrays of other crates, by name.
    pub extras: BTreeMap<String, Extra>,
}

impl AsMut<Self> for Model {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

impl Model {
    /// The number of components, d.
    pub fn n_components(&self) -> usize {
        self.subspace.components.rows()
    }

    /// The number of features, D.
    pub fn n_features(&self) -> usize {
        self.subspace.center.len()
    }

    /// The number of samples in the support.
    pub fn n_support(&self) -> usize {
        self.report.support.iter().filter(|&&active| active).count()
    }

    /// The method of the fit.
    pub fn method(&self) -> Method {
        self.config.method
    }

    /// The solver that ran.
    pub fn solver(&self) -> Solver {
        self.report.solver
    }

    /// The certificate of the last eigenproblem.
    pub fn certificate(&self) -> Certificate {
        self.report.certificate
    }
}
