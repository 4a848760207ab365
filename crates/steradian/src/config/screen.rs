//! Options of the screens: the cone of TAE and the outlyingness of Stahel and Donoho.

use serde::{Deserialize, Serialize};

/// The half-angle of the cone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Angle {
    /// In degrees, above 0 and up to 90.
    Degrees(f64),
    /// The smallest cone around a sample that holds half of the samples.
    Auto,
}

/// The cosine by which two directions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cosine {
    /// The absolute cosine: a direction equals its opposite, as in the paper's text.
    Abs,
    /// The signed cosine, as in the paper's Algorithm 2.
    Signed,
}

/// The tie-breaking rule for the pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The lowest index.
    Index,
    /// The largest sum of squared cosines to all samples, then the lowest index.
    Density,
}

/// The search for the pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PivotSearch {
    /// The exact count for n^2 D up to 6e12 (about a minute on two cores), successive elimination above; only the shape
    /// decides.
    #[default]
    Auto,
    /// An exact count over all pairs of samples.
    Exact,
    /// Successive elimination: candidates are compared on random anchors; the remaining ones are counted exactly.
    Elimination,
}

/// The cone of the trimmed angular embedding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cone {
    /// The half-angle, the paper's eta.
    pub max_angle: Angle,
    /// The cosine by which directions are compared.
    pub cosine: Cosine,
    /// The tie-breaking rule for the pivot.
    pub ties: Ties,
    /// True if the mean of the support becomes the center before the decomposition.
    pub recenter: bool,
    /// The search for the pivot.
    pub pivot_search: PivotSearch,
}

impl Default for Cone {
    fn default() -> Self {
        Self {
            max_angle: Angle::Degrees(60.0),
            cosine: Cosine::Abs,
            ties: Ties::Index,
            recenter: false,
            pivot_search: PivotSearch::Auto,
        }
    }
}

/// The outlyingness of Stahel and Donoho: the largest robust z-score of a sample over many projection directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlyingness {
    /// The number of projection directions, each through a pair of samples.
    pub n_directions: usize,
    /// Given pairs of samples; by default they are drawn at random.
    pub pairs: Option<Vec<[usize; 2]>>,
}

impl Default for Outlyingness {
    fn default() -> Self {
        Self { n_directions: 250, pairs: None }
    }
}

/// The rule that selects the samples of the decomposition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screen {
    /// All samples with a non-zero norm.
    None,
    /// The samples in a cone around the sample that has most others near it (TAE).
    Cone(Cone),
    /// The samples near the subspace of the least outlying half.
    Outlyingness(Outlyingness),
}

impl Screen {
    /// The name in model files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cone(_) => "cone",
            Self::Outlyingness(_) => "outlyingness",
        }
    }
}
