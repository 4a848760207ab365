//! The parameters of a fit as one flat list of names and values: the serialized form of a configuration.
//!
//! Model files, reports and the identity of a checkpoint contain it. Names of format 1 of the model file are accepted as aliases.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Config;
use super::method::Method;
use super::options::{Cells, Center, ComponentCount, ComponentOrder, Loss, Missing, Scaling, Solver, Weighting};
use super::screen::{Angle, Cone, Cosine, Outlyingness, PivotSearch, Screen, Ties};

// Here rather than by attributes of `Config`, so that the configuration does not depend on its serialized form.
impl Serialize for Config {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Parameters::from(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Parameters::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The flat form of a [`Config`].
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parameters {
    method: Method,
    n_components: CountValue,
    center: Point,
    screen: ScreenName,
    weighting: Weighting,
    loss: Loss,
    cells: Cells,
    /// Older files have no such parameter: missing cells were an error.
    #[serde(default)]
    missing: Missing,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    skew: bool,
    #[serde(alias = "scale")]
    scaling: Scaling,
    solver: Solver,
    tol: f64,
    seed: u64,
    robust_scores: bool,
    #[serde(default, skip_serializing_if = "ComponentOrder::is_default")]
    order: ComponentOrder,
    #[serde(flatten)]
    cone: ConeParameters,
    #[serde(flatten)]
    outlyingness: OutlyingnessParameters,
    /// Parameters of methods of other crates.
    #[serde(flatten)]
    other: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ConeParameters {
    #[serde(alias = "angle", default, skip_serializing_if = "Option::is_none")]
    max_angle: Option<f64>,
    #[serde(alias = "angle_auto", default, skip_serializing_if = "Option::is_none")]
    max_angle_auto: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cosine: Option<Cosine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ties: Option<Ties>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recenter: Option<bool>,
    #[serde(alias = "counting", default, skip_serializing_if = "Option::is_none")]
    pivot_search: Option<PivotSearch>,
    /// True if the pivot was found by an exact count; only reports and files have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OutlyingnessParameters {
    #[serde(alias = "directions", default, skip_serializing_if = "Option::is_none")]
    n_directions: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pairs: Option<Vec<[usize; 2]>>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScreenName {
    None,
    Cone,
    Outlyingness,
}

/// An integer, a fraction or `auto`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum CountValue {
    Integer(usize),
    Fraction(f64),
    Rule(Auto),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Auto {
    Auto,
}

/// The name of a center, or its coordinates.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Point {
    Named(CenterName),
    Given(Vec<f64>),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CenterName {
    Mean,
    Median,
    SpatialMedian,
    None,
}

impl From<Config> for Parameters {
    fn from(config: Config) -> Self {
        let (mut cone, mut outlyingness) = (ConeParameters::default(), OutlyingnessParameters::default());
        let screen = match config.screen {
            Screen::None => ScreenName::None,
            Screen::Cone(Cone { max_angle, cosine, ties, recenter, pivot_search }) => {
                cone = ConeParameters {
                    max_angle: match max_angle {
                        Angle::Degrees(degrees) => Some(degrees),
                        Angle::Auto => None,
                    },
                    max_angle_auto: Some(max_angle == Angle::Auto),
                    cosine: Some(cosine),
                    ties: Some(ties),
                    recenter: Some(recenter),
                    pivot_search: Some(pivot_search),
                    exact: None,
                };
                ScreenName::Cone
            }
            Screen::Outlyingness(Outlyingness { n_directions, pairs }) => {
                outlyingness =
                    OutlyingnessParameters { n_directions: Some(pairs.as_ref().map_or(n_directions, Vec::len)), pairs };
                ScreenName::Outlyingness
            }
        };
        Self {
            method: config.method,
            n_components: match config.n_components {
                ComponentCount::Count(count) => CountValue::Integer(count),
                ComponentCount::VarianceFraction(fraction) => CountValue::Fraction(fraction),
                ComponentCount::Auto => CountValue::Rule(Auto::Auto),
            },
            center: match config.center {
                Center::Mean => Point::Named(CenterName::Mean),
                Center::Median => Point::Named(CenterName::Median),
                Center::SpatialMedian => Point::Named(CenterName::SpatialMedian),
                Center::None => Point::Named(CenterName::None),
                Center::Given(point) => Point::Given(point),
            },
            screen,
            weighting: config.weighting,
            loss: config.loss,
            cells: config.cells,
            missing: config.missing,
            skew: config.skew,
            scaling: config.scaling,
            solver: config.solver,
            tol: config.tolerance,
            seed: config.seed,
            robust_scores: config.robust_scores,
            order: config.order,
            cone,
            outlyingness,
            other: config.other,
        }
    }
}

impl TryFrom<Parameters> for Config {
    type Error = String;

    fn try_from(parameters: Parameters) -> Result<Self, String> {
        let ConeParameters { max_angle, max_angle_auto, cosine, ties, recenter, pivot_search, .. } = parameters.cone;
        let missing = |name: &str| format!("parameter `{name}` is missing");
        let screen = match parameters.screen {
            ScreenName::None => Screen::None,
            ScreenName::Cone => Screen::Cone(Cone {
                max_angle: match (max_angle_auto, max_angle) {
                    (Some(true), _) => Angle::Auto,
                    (_, Some(degrees)) => Angle::Degrees(degrees),
                    (_, None) => return Err(missing("max_angle")),
                },
                cosine: cosine.ok_or_else(|| missing("cosine"))?,
                ties: ties.ok_or_else(|| missing("ties"))?,
                recenter: recenter.ok_or_else(|| missing("recenter"))?,
                // The oldest models have no such parameter.
                pivot_search: pivot_search.unwrap_or_default(),
            }),
            ScreenName::Outlyingness => Screen::Outlyingness(Outlyingness {
                n_directions: parameters.outlyingness.n_directions.ok_or_else(|| missing("n_directions"))?,
                pairs: parameters.outlyingness.pairs,
            }),
        };
        Ok(Self {
            method: parameters.method,
            n_components: match parameters.n_components {
                CountValue::Integer(count) => ComponentCount::Count(count),
                CountValue::Fraction(fraction) => ComponentCount::VarianceFraction(fraction),
                CountValue::Rule(Auto::Auto) => ComponentCount::Auto,
            },
            center: match parameters.center {
                Point::Named(CenterName::Mean) => Center::Mean,
                Point::Named(CenterName::Median) => Center::Median,
                Point::Named(CenterName::SpatialMedian) => Center::SpatialMedian,
                Point::Named(CenterName::None) => Center::None,
                Point::Given(point) => Center::Given(point),
            },
            screen,
            weighting: parameters.weighting,
            loss: parameters.loss,
            cells: parameters.cells,
            missing: parameters.missing,
            skew: parameters.skew,
            scaling: parameters.scaling,
            solver: parameters.solver,
            tolerance: parameters.tol,
            other: parameters.other,
            seed: parameters.seed,
            memory_limit: None,
            robust_scores: parameters.robust_scores,
            order: parameters.order,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(config: &Config) -> Config {
        serde_json::from_str(&serde_json::to_string(config).unwrap()).unwrap()
    }

    #[test]
    fn every_option_survives_json() {
        let base = Config::new(
            Method::Other(match Method::other("tga") {
                Method::Other(name) => name,
                _ => unreachable!(),
            }),
            3,
        )
        .with_parameter("trim", 0.25);
        let cone = Cone {
            max_angle: Angle::Auto,
            cosine: Cosine::Signed,
            ties: Ties::Density,
            recenter: true,
            pivot_search: PivotSearch::Exact,
        };
        let narrow = Cone { max_angle: Angle::Degrees(12.5), ..Cone::default() };
        let pairs = Outlyingness { n_directions: 2, pairs: Some(vec![[0, 4], [1, 3]]) };
        let configs = [
            base,
            Config::new(Method::Robust, ComponentCount::VarianceFraction(0.9))
                .with_seed(u64::MAX)
                .with_robust_scores(true),
            Config::new(Method::Cells, ComponentCount::Auto).with_scaling(Scaling::Mad).with_tolerance(1e-9),
            Config::new(Method::Tae, 2).with_screen(Screen::Cone(cone)).with_center(Center::Given(vec![1.5, -2.0])),
            Config::new(Method::Angular, 2).with_order(ComponentOrder::Variance),
            Config::new(Method::Tae, 2).with_screen(Screen::Cone(narrow)).with_solver(Solver::Gram),
            Config::new(Method::Robust, 1).with_screen(Screen::Outlyingness(pairs)).with_center(Center::None),
            Config::new(Method::Pca, 1).with_missing(Missing::Error),
        ];
        for config in configs {
            assert_eq!(round_trip(&config), config);
        }
    }

    #[test]
    fn the_memory_limit_is_no_parameter() {
        let config = Config::new(Method::Ae, 2);
        assert_eq!(round_trip(&config.clone().with_memory_limit(1 << 20)), config);
    }

    #[test]
    fn models_without_the_parameter_had_no_missing_cells() {
        let config = Config::new(Method::Robust, 2);
        let text = serde_json::to_string(&config).unwrap();
        let old = text.replace("\"missing\":\"use\",", "");
        assert_ne!(old, text);
        assert_eq!(serde_json::from_str::<Config>(&old).unwrap(), config.with_missing(Missing::Error));
    }

    #[test]
    fn names_of_format_1_are_read() {
        let text = serde_json::to_string(&Config::new(Method::Tae, 2)).unwrap();
        let old = text
            .replace("\"max_angle\"", "\"angle\"")
            .replace("\"max_angle_auto\"", "\"angle_auto\"")
            .replace("\"pivot_search\"", "\"counting\"")
            .replace("\"scaling\"", "\"scale\"");
        assert_ne!(old, text);
        assert_eq!(serde_json::from_str::<Config>(&old).unwrap(), Config::new(Method::Tae, 2));
    }
}
