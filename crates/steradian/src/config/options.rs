//! Options of a fit apart from the screen: center, weighting, loss, cells, missing cells, scaling, number of components, solver.

use serde::{Deserialize, Serialize};

use crate::data::source::Shape;

/// The center that is subtracted from each sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Center {
    /// The mean of all samples, as in the paper; its breakdown point is 0.
    Mean,
    /// The median of each feature.
    Median,
    /// The spatial median (geometric median, L1-median): the point of least sum of Euclidean distances to the samples. Its
    /// breakdown point is one half.
    SpatialMedian,
    /// The origin: the data are not centered.
    None,
    /// A given point, one value per feature.
    Given(Vec<f64>),
}

impl Center {
    /// The name on the command line and in model files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::SpatialMedian => "spatial-median",
            Self::None => "none",
            Self::Given(_) => "given",
        }
    }
}

/// The objective that the fit minimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Minus the sum of squared cosines to the subspace: one decomposition (AE, and PCA when weights are uniform).
    SquaredCosine,
    /// The sum of sines, of models that older versions have written; it is not fitted.
    Sine,
    /// The likelihood of a multivariate t distribution over usable cells: bad rows, bad cells and missing cells.
    Student,
}

/// The treatment of cellwise outliers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// Bad cells are detected where that improves the fit.
    Auto,
    /// Bad cells are always detected, and replaced by their expected values.
    #[serde(alias = "clean")]
    Always,
    /// Cells are used as they are.
    #[serde(alias = "keep")]
    Never,
}

/// The treatment of missing cells, which are NaN in the blocks of a source. Infinite cells are always an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The fit uses the cells that are present.
    Use,
    /// A missing cell is an error.
    #[default]
    Error,
}

impl Missing {
    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Error => "error",
        }
    }
}

/// The order of the components of methods on the sphere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentOrder {
    /// By angular eigenvalue, the largest first.
    #[default]
    Angular,
    /// By robust variance, the largest first, among more candidates than components.
    Variance,
}

impl ComponentOrder {
    /// Candidates beyond the number of components.
    const MORE: usize = 8;

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Angular => "angular",
            Self::Variance => "variance",
        }
    }

    /// The number of eigenvectors that are computed for `d` components of data of this shape.
    pub(crate) fn candidates(self, d: usize, shape: &Shape) -> usize {
        match self {
            Self::Angular => d,
            Self::Variance => (d + Self::MORE).min(shape.samples).min(shape.features).max(d),
        }
    }

    /// True for the order that a fit has by default.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The scaling of the features before the fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    /// Features keep their units.
    None,
    /// Each feature is divided by its median absolute deviation, times 1.4826.
    Mad,
}

/// The number of components, or the rule that finds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentCount {
    /// A given number.
    Count(usize),
    /// The smallest number that explains this fraction of the total variance (see [`Model::total_variance`](crate::Model)).
    VarianceFraction(f64),
    /// Parallel analysis on the sphere: the components whose eigenvalue exceeds that of noise.
    Auto,
}

impl ComponentCount {
    /// The largest number that is considered where it is not given.
    const SEARCHED: usize = 30;

    /// The number, or its upper limit for data of this shape.
    pub fn at_most(self, shape: &Shape) -> usize {
        match self {
            Self::Count(count) => count,
            Self::VarianceFraction(_) | Self::Auto => {
                Self::SEARCHED.min(shape.features).min(shape.samples.saturating_sub(1) / 2).max(1)
            }
        }
    }
}

impl From<usize> for ComponentCount {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

/// The weight of a sample: w in `sum w^2 (x - mu)(x - mu)'`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// 1: classical PCA.
    Uniform,
    /// 1 / |x - mu|: every sample is projected onto the unit sphere (AE).
    InverseNorm,
}

/// The solver of the eigenproblems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// The cheapest solver by the cost model of the plan.
    #[default]
    Auto,
    /// The scatter matrix (D x D).
    Scatter,
    /// The Gram matrix (n x n).
    Gram,
    /// Block Krylov iteration by passes over the data; no matrix is formed.
    Krylov,
}

impl Solver {
    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Scatter => "scatter",
            Self::Gram => "gram",
            Self::Krylov => "krylov",
        }
    }
}
