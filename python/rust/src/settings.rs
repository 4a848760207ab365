//! Conversion of the parameters of an estimator to a configuration of the library.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as UnknownName, StrDeserializer};
use steradian::config::{Angle, Cone, Outlyingness, PivotSearch, Screen};
use steradian::{Center, ComponentCount, Config, Method};
use steradian_baselines::TRIM;

/// The parameters of an estimator, a mapping from names to values. The method's preset supplies the missing ones.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    method: String,
    n_components: ComponentsChoice,
    seed: u64,
    memory_limit: Option<u64>,
    #[pyo3(default)]
    solver: Option<String>,
    #[pyo3(default)]
    center: Option<CenterSetting>,
    #[pyo3(default)]
    tol: Option<f64>,
    #[pyo3(default)]
    scaling: Option<String>,
    #[pyo3(default)]
    screen: Option<String>,
    #[pyo3(default)]
    max_angle: Option<AngleChoice>,
    #[pyo3(default)]
    cosine: Option<String>,
    #[pyo3(default)]
    ties: Option<String>,
    #[pyo3(default)]
    recenter: bool,
    #[pyo3(default)]
    exact: bool,
    #[pyo3(default)]
    n_directions: Option<usize>,
    #[pyo3(default)]
    pairs: Option<Vec<[usize; 2]>>,
    #[pyo3(default)]
    cells: Option<String>,
    #[pyo3(default)]
    missing: Option<String>,
    #[pyo3(default)]
    skew: bool,
    #[pyo3(default)]
    robust_scores: Option<bool>,
    #[pyo3(default)]
    trim: Option<f64>,
}

#[derive(FromPyObject)]
enum ComponentsChoice {
    Count(usize),
    VarianceFraction(f64),
    Named(String),
}

#[derive(FromPyObject)]
enum CenterSetting {
    Named(String),
    Given(Vec<f64>),
}

#[derive(FromPyObject)]
enum AngleChoice {
    Degrees(f64),
    Named(String),
}

/// The parameters of a method's preset, as JSON, by the names of model files.
#[pyfunction]
pub fn preset(method: &str) -> PyResult<String> {
    let config = steradian_baselines::preset(named::<Method>("method", method)?, 2);
    serde_json::to_string(&config).map_err(|error| PyValueError::new_err(error.to_string()))
}

impl Settings {
    /// The configuration of the fit.
    pub fn config(&self) -> PyResult<Config> {
        let n_components = match &self.n_components {
            ComponentsChoice::Count(count) => ComponentCount::Count(*count),
            ComponentsChoice::VarianceFraction(fraction) => ComponentCount::VarianceFraction(*fraction),
            ComponentsChoice::Named(name) => named("n_components", name)?,
        };
        let mut config = steradian_baselines::preset(named::<Method>("method", &self.method)?, n_components)
            .with_seed(self.seed)
            .with_memory_limit(self.memory_limit);
        match &self.center {
            // The library writes its names with a hyphen, Python with an underscore.
            Some(CenterSetting::Named(name)) => config = config.with_center(named("center", &name.replace('_', "-"))?),
            Some(CenterSetting::Given(center)) => config = config.with_center(Center::Given(center.clone())),
            None => {}
        }
        if let Some(name) = &self.solver {
            config = config.with_solver(named("solver", name)?);
        }
        if let Some(screen) = &self.screen {
            config = config.with_screen(match screen.as_str() {
                "none" => Screen::None,
                "cone" => Screen::Cone(self.cone()?),
                "outlyingness" => Screen::Outlyingness(self.outlyingness()),
                other => return Err(PyValueError::new_err(format!("screen = {other:?} is not supported"))),
            });
        }
        if let Some(tol) = self.tol {
            config = config.with_tolerance(tol);
        }
        if let Some(name) = &self.scaling {
            config = config.with_scaling(named("scaling", name)?);
        }
        if let Some(name) = &self.cells {
            config = config.with_cells(named("cells", name)?);
        }
        if let Some(name) = &self.missing {
            config = config.with_missing(named("missing", name)?);
        }
        if self.skew {
            config = config.with_skew(true);
        }
        if let Some(robust_scores) = self.robust_scores {
            config = config.with_robust_scores(robust_scores);
        }
        if let Some(trim) = self.trim {
            config = config.with_parameter(TRIM, trim);
        }
        Ok(config)
    }

    fn outlyingness(&self) -> Outlyingness {
        let preset = Outlyingness::default();
        Outlyingness { n_directions: self.n_directions.unwrap_or(preset.n_directions), pairs: self.pairs.clone() }
    }

    fn cone(&self) -> PyResult<Cone> {
        let preset = Cone::default();
        Ok(Cone {
            max_angle: match &self.max_angle {
                None => preset.max_angle,
                Some(AngleChoice::Degrees(degrees)) => Angle::Degrees(*degrees),
                Some(AngleChoice::Named(name)) => named("max_angle", name)?,
            },
            cosine: self.cosine.as_deref().map_or(Ok(preset.cosine), |name| named("cosine", name))?,
            ties: self.ties.as_deref().map_or(Ok(preset.ties), |name| named("ties", name))?,
            recenter: self.recenter,
            pivot_search: if self.exact { PivotSearch::Exact } else { preset.pivot_search },
        })
    }
}

/// The variant of this name; the error lists the variants.
fn named<'a, T: Deserialize<'a>>(parameter: &str, name: &'a str) -> PyResult<T> {
    let name: StrDeserializer<'a, UnknownName> = name.into_deserializer();
    T::deserialize(name).map_err(|error| PyValueError::new_err(format!("{parameter}: {error}")))
}
