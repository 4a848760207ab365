//! Conversion of the parameters of an estimator to a configuration of the library.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as Unknown, StrDeserializer};
use steradian::{Angle, Center, ComponentCount, Cone, Config, Method, Outlyingness, Screen};
use steradian_baselines::{TRIM, preset};

/// The parameters, as the estimators hand them over: a mapping. What is left out stays as the method's preset has it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    method: String,
    n_components: ComponentsChoice,
    solver: String,
    tol: f64,
    seed: u64,
    memory_limit: Option<u64>,
    center: CenterSetting,
    #[pyo3(default)]
    scale: Option<String>,
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
    counting: Option<String>,
    #[pyo3(default)]
    n_directions: Option<usize>,
    #[pyo3(default)]
    pairs: Option<Vec<[usize; 2]>>,
    #[pyo3(default)]
    loss: Option<String>,
    #[pyo3(default)]
    cells: Option<String>,
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

impl Settings {
    /// The configuration that was asked for.
    pub fn config(&self) -> PyResult<Config> {
        let components = match &self.n_components {
            ComponentsChoice::Count(count) => ComponentCount::Count(*count),
            ComponentsChoice::VarianceFraction(share) => ComponentCount::VarianceFraction(*share),
            ComponentsChoice::Named(name) => named("n_components", name)?,
        };
        let mut config = preset(named::<Method>("method", &self.method)?, components);
        config.center = match &self.center {
            // The library writes its names with a hyphen, Python with an underscore.
            CenterSetting::Named(name) => named("center", &name.replace('_', "-"))?,
            CenterSetting::Given(center) => Center::Given(center.clone()),
        };
        if let Some(screen) = &self.screen {
            config.screen = match screen.as_str() {
                "none" => Screen::None,
                "cone" => Screen::Cone(self.cone()?),
                "outlyingness" => Screen::Outlyingness(self.outlyingness()),
                other => return Err(PyValueError::new_err(format!("screen = {other:?} is not known"))),
            };
        }
        if self.counting.as_deref() == Some("exact") && !matches!(config.screen, Screen::Cone(_)) {
            return Err(PyValueError::new_err(format!(
                "exact=True is about the cone, which the method {} does not have; use AngularEmbedding with screen=\"cone\", or \
                 leave exact out",
                config.method.name()
            )));
        }
        if let Some(name) = &self.scale {
            config.scaling = named("scale", name)?;
        }
        if let Some(name) = &self.loss {
            config.loss = named("loss", name)?;
        }
        if let Some(name) = &self.cells {
            config.cells = named("cells", name)?;
        }
        if let Some(trim) = self.trim {
            config.other.insert(TRIM.to_owned(), trim);
        }
        config.solver = named("solver", &self.solver)?;
        config.tolerance = self.tol;
        config.seed = self.seed;
        config.memory_limit = self.memory_limit;
        Ok(config)
    }

    fn outlyingness(&self) -> Outlyingness {
        let preset = Outlyingness::default();
        Outlyingness { directions: self.n_directions.unwrap_or(preset.directions), pairs: self.pairs.clone() }
    }

    fn cone(&self) -> PyResult<Cone> {
        let preset = Cone::default();
        Ok(Cone {
            angle: match &self.max_angle {
                None => preset.angle,
                Some(AngleChoice::Degrees(degrees)) => Angle::Degrees(*degrees),
                Some(AngleChoice::Named(name)) => named("max_angle", name)?,
            },
            cosine: self.cosine.as_deref().map_or(Ok(preset.cosine), |name| named("cosine", name))?,
            ties: self.ties.as_deref().map_or(Ok(preset.ties), |name| named("ties", name))?,
            recenter: self.recenter,
            counting: self.counting.as_deref().map_or(Ok(preset.counting), |name| named("counting", name))?,
        })
    }
}

/// The variant of this name; the error lists those that there are.
fn named<'a, T: Deserialize<'a>>(parameter: &str, name: &'a str) -> PyResult<T> {
    let name: StrDeserializer<'a, Unknown> = name.into_deserializer();
    T::deserialize(name).map_err(|error| PyValueError::new_err(format!("{parameter}: {error}")))
}
