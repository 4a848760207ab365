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

/// How the sample with most others in its cone is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
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
    pub counting: Counting,
}

impl Default for Cone {
    fn default() -> Self {
        Self {
            angle: Angle::Degrees(60.0),
            cosine: Cosine::Abs,
            ties: Ties::Index,
            recenter: false,
            counting: Counting::Auto,
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

impl Outlyingness {
    /// Refuses what cannot be done with `n` samples and `d` components.
    fn check(&self, n: usize, d: usize) -> Result<()> {
        if n < d + 3 {
            return Err(Error::asked(format!(
                "{n} samples are too few for the outlyingness screen with n_components = {d}; it needs at least {}, or use \
                 the method angular",
                d + 3
            )));
        }
        let Some(pairs) = &self.pairs else {
            return if self.directions > 0 {
                Ok(())
            } else {
                Err(Error::asked("the outlyingness screen was given 0 directions; ask for at least 1"))
            };
        };
        if pairs.is_empty() {
            return Err(Error::asked("the list of pairs is empty; give at least one pair of samples"));
        }
        match pairs.iter().flatten().find(|&&sample| sample >= n) {
            Some(sample) => Err(Error::asked(format!(
                "a given pair names sample {sample}, but there are {n}; samples count from 0"
            ))),
            None => Ok(()),
        }
    }
}

/// Who may speak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Screen {
    /// Every sample that has a direction.
    Everyone,
    /// The samples in a cone around the sample that has most others near it (TAE).
    Cone(Cone),
    /// The samples near the subspace of the least outlying half.
    Outlyingness(Outlyingness),
}

impl Screen {
    /// The name in model files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Everyone => "none",
            Self::Cone(_) => "cone",
            Self::Outlyingness(_) => "outlyingness",
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
pub enum Components {
    /// This many.
    Count(usize),
    /// As many as explain this fraction of the total variance (see [`Model::total_variance`](crate::Model)).
    Share(f64),
    /// As many as stand out from noise (parallel analysis on the sphere).
    Auto,
}

impl Components {
    /// The most that are looked at where the number is not given.
    const SEARCHED: usize = 30;

    /// The number, or the most that it may become for data of this shape.
    pub fn at_most(self, shape: &Shape) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Share(_) | Self::Auto => {
                Self::SEARCHED.min(shape.features).min(shape.samples.saturating_sub(1) / 2).max(1)
            }
        }
    }
}

impl From<usize> for Components {
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
    /// Outlyingness screen, spatial median, sum of sines: withstands almost half of the samples being wrong.
    Robust,
    /// The robust method with single bad cells cleaned.
    Cells,
    /// Classical PCA.
    Pca,
    /// Made for clips: what the crate `steradian-clips` begins from, angular embedding around the median of each pixel.
    Scene,
    /// Classical PCA by expectation maximisation (Roweis 1998); a baseline.
    Empca,
    /// The paper's angular embedding by the same iteration, without a matrix decomposition; a baseline.
    Emae,
    /// The Grassmann average (Hauberg et al. 2014); a baseline.
    Ga,
    /// The trimmed Grassmann average; a baseline.
    Tga,
    /// Principal component pursuit (Candes et al. 2011): a low-rank and a sparse part; a baseline.
    Pcp,
}

impl Method {
    /// Those of this crate, in the order in which help lists them.
    pub const ALL: [Self; 6] = [Self::Robust, Self::Cells, Self::Angular, Self::Ae, Self::Tae, Self::Pca];

    /// Those that others published and the crate `steradian-baselines` fits.
    pub const BASELINES: [Self; 5] = [Self::Empca, Self::Emae, Self::Ga, Self::Tga, Self::Pcp];

    /// Whether it is one of [`Method::BASELINES`].
    pub fn is_baseline(self) -> bool {
        Self::BASELINES.contains(&self)
    }

    /// Whether it fits by passes over the data; the others read them once and then work in memory.
    pub fn fits_by_passes(self) -> bool {
        !matches!(self, Self::Ga | Self::Tga | Self::Pcp)
    }

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ae => "ae",
            Self::Tae => "tae",
            Self::Angular => "angular",
            Self::Robust => "robust",
            Self::Cells => "cells",
            Self::Pca => "pca",
            Self::Scene => "scene",
            Self::Empca => "empca",
            Self::Emae => "emae",
            Self::Ga => "ga",
            Self::Tga => "tga",
            Self::Pcp => "pcp",
        }
    }
}

/// Everything a fit is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The preset this began as; it names the method in models and reports.
    pub method: Method,
    /// The number of components, d, or how it is found.
    pub components: Components,
    /// Where samples are seen from.
    pub center: Center,
    /// Who may speak.
    pub screen: Screen,
    /// How much a sample says.
    pub weighting: Weighting,
    /// What the fit makes small.
    pub loss: Loss,
    /// What happens to single bad cells.
    pub cells: Cells,
    /// Whether features are brought to one scale first.
    pub scaling: Scaling,
    /// How the eigenvectors are found.
    pub solver: Solver,
    /// The largest sine of an angle between the found and the exact subspace that counts as converged; for baselines
    /// the change, or the residual, at which their iteration stops.
    pub tolerance: f64,
    /// The share of samples that a Grassmann average leaves out at each end of a feature, up to 0.5, its median.
    pub trim: f64,
    /// The seed of every random choice.
    pub seed: u64,
    /// Bytes that the fit may allocate.
    pub memory_limit: Option<u64>,
    /// Whether scores under the model are robust unless asked otherwise.
    pub robust_scores: bool,
}

impl Config {
    /// The preset of a method for `components` components.
    pub fn new(method: Method, components: impl Into<Components>) -> Self {
        let outlyingness = Screen::Outlyingness(Outlyingness::default());
        let (center, screen) = match method {
            Method::Ae | Method::Pca => (Center::Mean, Screen::Everyone),
            Method::Empca | Method::Emae | Method::Ga | Method::Tga | Method::Pcp => (Center::Mean, Screen::Everyone),
            Method::Tae => (Center::Mean, Screen::Cone(Cone::default())),
            Method::Angular => (Center::SpatialMedian, Screen::Everyone),
            Method::Scene => (Center::Median, Screen::Everyone),
            Method::Robust | Method::Cells => (Center::SpatialMedian, outlyingness),
        };
        let sine = matches!(method, Method::Robust | Method::Cells);
        Self {
            method,
            components: components.into(),
            center,
            screen,
            weighting: match method {
                Method::Pca | Method::Empca | Method::Ga | Method::Tga | Method::Pcp => Weighting::Uniform,
                _ => Weighting::InverseNorm,
            },
            loss: if sine { Loss::Sine } else { Loss::SquaredCosine },
            cells: if method == Method::Cells { Cells::Clean } else { Cells::Keep },
            scaling: Scaling::None,
            solver: Solver::Auto,
            tolerance: match method {
                Method::Empca | Method::Emae | Method::Ga | Method::Tga => 1e-4,
                Method::Pcp => 1e-7,
                _ => 1e-6,
            },
            trim: if method == Method::Tga { 0.5 } else { 0.0 },
            seed: 0,
            memory_limit: None,
            robust_scores: false,
        }
    }

    /// Refuses what cannot be done for data of this shape, before anything heavy happens.
    pub fn check(&self, shape: &Shape) -> Result<()> {
        let (n, features) = (shape.samples, shape.features);
        if n == 0 || features == 0 {
            return Err(Error::data(format!("the data are empty ({n} samples x {features} features); nothing to fit")));
        }
        if n == 1 {
            return Err(Error::data("a single sample has no direction around its own center; at least 2 are needed"));
        }
        match self.components {
            Components::Count(0) => return Err(Error::asked("n_components = 0; ask for at least 1")),
            Components::Count(d) if d > n.min(features) => {
                return Err(Error::asked(format!(
                    "n_components = {d} exceeds min(n_samples, n_features) = {}; ask for at most {}",
                    n.min(features),
                    n.min(features)
                )));
            }
            Components::Share(share) if !(share > 0.0 && share < 1.0) => {
                return Err(Error::asked(format!(
                    "n_components = {share} is no share; give a number between 0 and 1, a whole number, or auto"
                )));
            }
            _ => {}
        }
        if let Screen::Outlyingness(screen) = &self.screen {
            screen.check(n, self.components.at_most(shape))?;
        }
        if self.loss == Loss::Sine && self.weighting == Weighting::Uniform {
            return Err(Error::asked("the sum of sines is about directions; use it with angular weights"));
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
