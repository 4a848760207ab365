//! What a fit is asked to do: methods are presets of one configuration.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::source::Shape;

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
}

impl Default for Cone {
    fn default() -> Self {
        Self { angle: Angle::Degrees(60.0), cosine: Cosine::Abs, ties: Ties::Index, recenter: false }
    }
}

/// Who may speak.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screen {
    /// Every sample that has a direction.
    Everyone,
    /// The samples in a cone around the sample that has most others near it (TAE).
    Cone(Cone),
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

/// A method: a named preset of center, screen and weighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The paper's angular embedding: mean center, everyone, unit directions.
    Ae,
    /// The paper's trimmed form: mean center, cone of 60 degrees.
    Tae,
    /// Angular embedding around the spatial median (spherical PCA of Locantore et al. 1999).
    Angular,
    /// Classical PCA.
    Pca,
}

impl Method {
    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ae => "ae",
            Self::Tae => "tae",
            Self::Angular => "angular",
            Self::Pca => "pca",
        }
    }
}

/// Everything a fit is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The preset this began as; it names the method in models and reports.
    pub method: Method,
    /// The number of components, d.
    pub components: usize,
    /// Where samples are seen from.
    pub center: Center,
    /// Who may speak.
    pub screen: Screen,
    /// How much a sample says.
    pub weighting: Weighting,
    /// How the eigenvectors are found.
    pub solver: Solver,
    /// The largest sine of an angle between the found and the exact subspace that counts as converged.
    pub tolerance: f64,
    /// The seed of every random choice.
    pub seed: u64,
    /// Bytes that the fit may allocate.
    pub memory_limit: Option<u64>,
}

impl Config {
    /// The preset of a method for `components` components.
    pub fn new(method: Method, components: usize) -> Self {
        let (center, screen, weighting) = match method {
            Method::Ae => (Center::Mean, Screen::Everyone, Weighting::InverseNorm),
            Method::Tae => (Center::Mean, Screen::Cone(Cone::default()), Weighting::InverseNorm),
            Method::Angular => (Center::SpatialMedian, Screen::Everyone, Weighting::InverseNorm),
            Method::Pca => (Center::Mean, Screen::Everyone, Weighting::Uniform),
        };
        Self {
            method,
            components,
            center,
            screen,
            weighting,
            solver: Solver::Auto,
            tolerance: 1e-6,
            seed: 0,
            memory_limit: None,
        }
    }

    /// Refuses what cannot be done for data of this shape, before anything heavy happens.
    pub fn check(&self, shape: &Shape) -> Result<()> {
        let (n, features, d) = (shape.samples, shape.features, self.components);
        if n == 0 || features == 0 {
            return Err(Error::data(format!("the data are empty ({n} samples x {features} features); nothing to fit")));
        }
        if n == 1 {
            return Err(Error::data("a single sample has no direction around its own center; at least 2 are needed"));
        }
        if d == 0 {
            return Err(Error::asked("n_components = 0; ask for at least 1"));
        }
        if d > n.min(features) {
            return Err(Error::asked(format!(
                "n_components = {d} exceeds min(n_samples, n_features) = {}; ask for at most {}",
                n.min(features),
                n.min(features)
            )));
        }
        if let Screen::Cone(Cone { angle: Angle::Degrees(angle), .. }) = self.screen
            && !(angle > 0.0 && angle <= 90.0)
        {
            return Err(Error::asked(format!(
                "the angle of the cone is {angle} degrees; it must be above 0 and at most 90"
            )));
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::asked(format!("the tolerance is {}; it must lie between 0 and 1", self.tolerance)));
        }
        if let Center::Given(center) = &self.center {
            if center.len() != features {
                return Err(Error::asked(format!(
                    "the given center has {} numbers but the data have {features} features; give one number per feature",
                    center.len()
                )));
            }
            if let Some(at) = center.iter().position(|x| !x.is_finite()) {
                return Err(Error::asked(format!(
                    "the given center is {} at feature {at}; it must be finite",
                    center[at]
                )));
            }
        }
        Ok(())
    }
}
