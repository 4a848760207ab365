//! The configuration of a fit: the preset of a method, and options that override it.

pub(crate) mod method;
pub(crate) mod options;
pub(crate) mod parameters;
pub(crate) mod request;
pub(crate) mod screen;

pub use method::MethodName;
pub use options::{Cells, ComponentOrder, Loss, Missing, Scaling, Weighting};
pub use request::Request;
pub use screen::{Angle, Cone, Cosine, Outlyingness, PivotSearch, Screen, Ties};

use std::collections::BTreeMap;

use method::Method;
use options::{Center, ComponentCount, Solver};

/// The configuration of a fit.
///
/// [`Config::new`] is the preset of a method; the `with_` methods override single options. A configuration is checked
/// against the shape of the data when a fit is planned ([`Request`]). It serializes as the flat list of parameters that model
/// files and reports contain; the memory limit, which does not change the result, is no part of that.
///
/// ```
/// use steradian::{Center, Config, Method, Solver};
///
/// let config = Config::new(Method::Tae, 3).with_center(Center::SpatialMedian).with_solver(Solver::Gram);
/// assert_eq!(config.center(), &Center::SpatialMedian);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Config {
    pub(crate) method: Method,
    pub(crate) n_components: ComponentCount,
    pub(crate) center: Center,
    pub(crate) screen: Screen,
    pub(crate) weighting: Weighting,
    pub(crate) loss: Loss,
    pub(crate) cells: Cells,
    pub(crate) missing: Missing,
    pub(crate) skew: bool,
    pub(crate) scaling: Scaling,
    pub(crate) solver: Solver,
    pub(crate) tolerance: f64,
    pub(crate) other: BTreeMap<String, f64>,
    pub(crate) seed: u64,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) robust_scores: bool,
    pub(crate) order: ComponentOrder,
}

impl Config {
    /// The preset of a method for `n_components` components. Methods of other crates have presets of their own, which start
    /// from a mean center, uniform weights and no screen.
    pub fn new(method: Method, n_components: impl Into<ComponentCount>) -> Self {
        let outlyingness = Screen::Outlyingness(Outlyingness::default());
        let (center, screen) = match method {
            Method::Ae | Method::Pca | Method::Other(_) => (Center::Mean, Screen::None),
            Method::Tae => (Center::Mean, Screen::Cone(Cone::default())),
            Method::Angular => (Center::SpatialMedian, Screen::None),
            Method::Robust | Method::Cells | Method::Rows => (Center::Mean, outlyingness),
        };
        Self {
            method,
            n_components: n_components.into(),
            center,
            screen,
            weighting: match method {
                Method::Ae | Method::Tae | Method::Angular => Weighting::InverseNorm,
                _ => Weighting::Uniform,
            },
            loss: if method.is_cellwise() { Loss::Student } else { Loss::SquaredCosine },
            cells: match method {
                Method::Robust => Cells::Auto,
                Method::Cells => Cells::Always,
                _ => Cells::Never,
            },
            missing: method.missing(),
            skew: false,
            scaling: Scaling::None,
            solver: Solver::Auto,
            // Statistical errors are far larger than this bound on the numerical error.
            tolerance: if method.is_cellwise() { 1e-4 } else { 1e-6 },
            other: BTreeMap::new(),
            seed: 0,
            memory_limit: None,
            robust_scores: false,
            order: ComponentOrder::Angular,
        }
    }

    /// The method, which names the fit in models and reports.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The number of components, d, or the rule that finds it.
    pub fn n_components(&self) -> ComponentCount {
        self.n_components
    }

    /// The center that is subtracted from the samples.
    pub fn center(&self) -> &Center {
        &self.center
    }

    /// The rule that selects the samples of the decomposition.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// The weight of each sample in the operator.
    pub fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// The objective that the fit minimizes.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The treatment of cellwise outliers.
    pub fn cells(&self) -> Cells {
        self.cells
    }

    /// The treatment of missing cells.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// True if limits and cutoffs of distances are adjusted for skewed features.
    pub fn skew(&self) -> bool {
        self.skew
    }

    /// The scaling of the features before the fit.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    /// The solver of the eigenproblems.
    pub fn solver(&self) -> Solver {
        self.solver
    }

    /// The largest accepted sine bound; for baselines the change, or the residual, at which their iteration stops.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// A parameter of a method of another crate, by name.
    pub fn parameter(&self, name: &str) -> Option<f64> {
        self.other.get(name).copied()
    }

    /// The seed of all random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of bytes that the fit may allocate.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }

    /// True if scores under the model are robust by default.
    pub fn robust_scores(&self) -> bool {
        self.robust_scores
    }

    /// The order of the components.
    pub fn order(&self) -> ComponentOrder {
        self.order
    }

    /// Names another method and keeps all options: for methods of other crates that run a fit of this one.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// Sets the number of components, or the rule that finds it.
    #[must_use]
    pub fn with_n_components(mut self, n_components: impl Into<ComponentCount>) -> Self {
        self.n_components = n_components.into();
        self
    }

    /// Sets the center that is subtracted from the samples.
    #[must_use]
    pub fn with_center(mut self, center: Center) -> Self {
        self.center = center;
        self
    }

    /// Sets the rule that selects the samples of the decomposition.
    #[must_use]
    pub fn with_screen(mut self, screen: Screen) -> Self {
        self.screen = screen;
        self
    }

    /// Sets the weight of each sample in the operator.
    #[must_use]
    pub fn with_weighting(mut self, weighting: Weighting) -> Self {
        self.weighting = weighting;
        self
    }

    /// Sets the objective that the fit minimizes.
    #[must_use]
    pub fn with_loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Sets the treatment of cellwise outliers.
    #[must_use]
    pub fn with_cells(mut self, cells: Cells) -> Self {
        self.cells = cells;
        self
    }

    /// Sets the treatment of missing cells.
    #[must_use]
    pub fn with_missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Sets whether limits and cutoffs of distances are adjusted for skewed features.
    #[must_use]
    pub fn with_skew(mut self, skew: bool) -> Self {
        self.skew = skew;
        self
    }

    /// Sets the scaling of the features.
    #[must_use]
    pub fn with_scaling(mut self, scaling: Scaling) -> Self {
        self.scaling = scaling;
        self
    }

    /// Sets the solver of the eigenproblems.
    #[must_use]
    pub fn with_solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// Sets the tolerance, between 0 and 1.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets a parameter of a method of another crate; model files contain it.
    #[must_use]
    pub fn with_parameter(mut self, name: &str, value: f64) -> Self {
        self.other.insert(name.to_owned(), value);
        self
    }

    /// Sets the seed of all random numbers.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the number of bytes that the fit may allocate; `None` removes the limit.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.memory_limit = bytes.into();
        self
    }

    /// Sets the order of the components, for methods on the sphere.
    #[must_use]
    pub fn with_order(mut self, order: ComponentOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets whether scores under the model are robust by default.
    #[must_use]
    pub fn with_robust_scores(mut self, robust_scores: bool) -> Self {
        self.robust_scores = robust_scores;
        self
    }
}
