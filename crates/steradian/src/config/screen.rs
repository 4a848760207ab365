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

/// How two directions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cosine {
    /// A direction and its opposite are the same: the paper's text.
    Abs,
    /// They are not: the paper's Algorithm 2.
    Signed,
}

/// Which of several samples with equally many neighbours becomes the pivot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The first in the data.
    Index,
    /// The one with the largest sum of squared cosines to all samples, then the first.
    Density,
}

/// How the sample with most others in its cone is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PivotSearch {
    /// All pairs where that takes up to a minute at a usual rate, else by elimination; the shape alone decides.
    #[default]
    Auto,
    /// All pairs of samples are met.
    Exact,
    /// Candidates are compared on random anchors until few are left, and those are counted exactly.
    Elimination,
}

/// The cone of the trimmed angular embedding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cone {
    /// The paper's eta.
    pub angle: Angle,
    /// How directions are compared.
    pub cosine: Cosine,
    /// How a tie for the pivot is broken.
    pub ties: Ties,
    /// Whether the mean of the kept samples becomes the center before decomposing.
    pub recenter: bool,
    /// How the pivot is found.
    pub counting: PivotSearch,
}

impl Default for Cone {
    fn default() -> Self {
        Self {
            angle: Angle::Degrees(60.0),
            cosine: Cosine::Abs,
            ties: Ties::Index,
            recenter: false,
            counting: PivotSearch::Auto,
        }
    }
}

/// The outlyingness of Stahel and Donoho: how far a sample lies from the bulk along the worst of many directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlyingness {
    /// How many directions through pairs of samples are looked along.
    pub directions: usize,
    /// The pairs, where they are not drawn.
    pub pairs: Option<Vec<[usize; 2]>>,
}

impl Default for Outlyingness {
    fn default() -> Self {
        Self { directions: 250, pairs: None }
    }
}

/// Who may speak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screen {
    /// Every sample that has a direction.
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
