//! The parameters of a fit, their presets by method, and the check of them against the shape of the data.

use std::collections::BTreeMap;

pub(crate) mod screen;

pub(crate) mod options;

pub(crate) mod method;

use crate::data::source::Shape;
use crate::error::{Error, Result};
use method::Method;
use options::{Cells, Center, Components, Loss, Scaling, Solver, Weighting};
use screen::{Angle, Cone, Outlyingness, Screen};

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
    pub fn new(method: Method, components: impl Into<Components>) -> Self {
        let outlyingness = Screen::Outlyingness(Outlyingness::default());
        let (center, screen) = match method {
            Method::Ae | Method::Pca | Method::Other(_) => (Center::Mean, Screen::Everyone),
            Method::Tae => (Center::Mean, Screen::Cone(Cone::default())),
            Method::Angular => (Center::SpatialMedian, Screen::Everyone),
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
