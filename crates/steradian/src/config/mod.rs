//! The parameters of a fit, their presets by method, and the check of them against the shape of the data.

use std::collections::BTreeMap;

pub(crate) mod screen;

pub(crate) mod options;
pub(crate) mod request;

pub(crate) mod method;

use method::Method;
use options::{Cells, Center, ComponentCount, Loss, Scaling, Solver, Weighting};
use screen::{Cone, Outlyingness, Screen};

/// Everything a fit is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The preset this began as; it names the method in models and reports.
    pub method: Method,
    /// The number of components, d, or how it is found.
    pub components: ComponentCount,
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
    /// Parameters of methods of other crates, by name; model files keep them.
    pub other: BTreeMap<String, f64>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Bytes that the fit may allocate.
    pub memory_limit: Option<u64>,
    /// Whether scores under the model are robust unless asked otherwise.
    pub robust_scores: bool,
}

impl Config {
    /// The preset of a method for `components` components. Methods of other crates have presets of their own, which begin
    /// with a mean center, uniform weights and no screen.
    pub fn new(method: Method, components: impl Into<ComponentCount>) -> Self {
        let outlyingness = Screen::Outlyingness(Outlyingness::default());
        let (center, screen) = match method {
            Method::Ae | Method::Pca | Method::Other(_) => (Center::Mean, Screen::None),
            Method::Tae => (Center::Mean, Screen::Cone(Cone::default())),
            Method::Angular => (Center::SpatialMedian, Screen::None),
            Method::Robust | Method::Cells => (Center::SpatialMedian, outlyingness),
        };
        let sine = matches!(method, Method::Robust | Method::Cells);
        Self {
            method,
            components: components.into(),
            center,
            screen,
            weighting: match method {
                Method::Pca | Method::Other(_) => Weighting::Uniform,
                _ => Weighting::InverseNorm,
            },
            loss: if sine { Loss::Sine } else { Loss::SquaredCosine },
            cells: if method == Method::Cells { Cells::Clean } else { Cells::Keep },
            scaling: Scaling::None,
            solver: Solver::Auto,
            tolerance: 1e-6,
            other: BTreeMap::new(),
            seed: 0,
            memory_limit: None,
            robust_scores: false,
        }
    }
}
