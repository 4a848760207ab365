//! Options of a fit apart from the screen: center, weighting, loss, cells, scaling, number of components, solver.

use serde::{Deserialize, Serialize};

use crate::data::source::Shape;

/// Where samples are seen from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Center {
    /// The mean of all samples: the paper's choice; one far sample moves it.
    Mean,
    /// The median of each feature.
    Median,
    /// The point with the least sum of distances to the samples; it withstands almost half of them.
    SpatialMedian,
    /// The origin: data are taken as they are.
    None,
    /// A point of the caller's.
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

/// What the fit makes small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Minus the sum of squared cosines to the subspace: one decomposition (AE, and PCA when weights are uniform).
    SquaredCosine,
    /// The sum of sines: a few reweighted decompositions; samples off the subspace pull less (AE-1).
    Sine,
}

/// What happens to single bad cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// They stay as they are.
    Keep,
    /// They are replaced by what the fit expects there, and the fit is repeated.
    Clean,
}

/// Whether features are brought to one scale first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    /// Features keep their units.
    None,
    /// Each feature is divided by its median absolute deviation, times 1.4826.
    Mad,
}

/// How many components are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentCount {
    /// This many.
    Count(usize),
    /// As many as explain this fraction of the total variance (see [`Model::total_variance`](crate::Model)).
    VarianceFraction(f64),
    /// As many as stand out from noise (parallel analysis on the sphere).
    Auto,
}

impl ComponentCount {
    /// The most that are looked at where the number is not given.
    const SEARCHED: usize = 30;

    /// The number, or the most that it may become for data of this shape.
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

/// How much a sample says: the weight w in `sum w^2 (x - mu)(x - mu)'`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// 1: classical PCA.
    Uniform,
    /// 1 / |x - mu|: every sample is a point on the sphere (AE).
    InverseNorm,
}

/// How the eigenvectors are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// The cheapest by the cost model of the plan.
    Auto,
    /// Through the D x D matrix.
    Scatter,
    /// Through the n x n matrix.
    Gram,
    /// Block Krylov by passes: neither matrix is formed.
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
