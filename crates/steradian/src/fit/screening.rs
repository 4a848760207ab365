//! A screen without a fit, as a step before any estimator: the support, the measure of each sample, and the same measure
//! for new samples.
//!
//! | screen | measure | support |
//! |---|---|---|
//! | cone | the angle to the pivot, in degrees | within the cone |
//! | outlyingness | o, the largest standardised distance along the directions | o^(2/3) within 97.5 % of the bulk, were it normal |
//! | everyone | 0 | all |
//!
//! Cost: that of the screen in a fit, and one pass more for the angles. An outlyingness screen keeps its directions, 8 D
//! bytes each, to measure new samples by.

use serde::{Deserialize, Serialize};

use super::units::in_units;
use crate::center::{self, Finite};
use crate::config::Config;
use crate::config::options::{Missing, Weighting};
use crate::config::request::Request;
use crate::config::screen::{Cosine, Outlyingness, Screen};
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{MaxOutlyingness, Projection, ProjectionUnits, WeightedRows};
use crate::kernel::operand::Precision;
use crate::memory;
use crate::model::Model;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::NORMAL_975;
use crate::screen::cone::{self, ConeInput};
use crate::screen::outlyingness::{self, ProjectionStats, bulk_limit};
use crate::screen::report::ConeReport;
use crate::screen::unit_directions::unit_directions;

/// The result of a screen, which also measures new samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FittedScreen {
    /// The support: true for the samples that the screen selects.
    pub support: Vec<bool>,
    /// The measure of each sample: larger is worse; NaN for a sample at the center of a cone.
    pub measures: Vec<f64>,
    /// The largest measure within the support.
    pub cutoff: f64,
    /// The pivot and tau of the cone screen.
    pub cone: Option<ConeReport>,
    /// Warnings of the screen.
    pub warnings: Vec<String>,
    features: usize,
    /// The power of two by which samples are multiplied before they are measured.
    power: i32,
    rule: Rule,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Rule {
    None,
    Cone { center: Vec<f64>, pivot: Matrix, cosine: Cosine },
    Outlyingness(Vec<ProjectionStats>),
}

/// Runs the screen of a configuration alone; its center and seed count, its number of components does not.
///
/// # Errors
/// For a configuration that does not suit the data, for cells that are not finite, and errors of the source.
pub fn screen<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<FittedScreen> {
    memory::guard(|| runner.compute(|| screen_within(config, source, runner)))
}

fn screen_within<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<FittedScreen> {
    Request::new(config, source.shape(), runner.supports_pairs())?;
    let (mut found, units) = in_units(config, source, runner, |config, data| screened(config, data, runner))?;
    found.power = units.power();
    if found.measures.is_empty() {
        found.measures = found.measure(source, runner)?;
    }
    Ok(found)
}

/// The screen of checked data; measures are empty where they need a pass of their own.
fn screened<R: Runner>(config: &Config, data: &Finite<'_>, runner: &R) -> Result<FittedScreen> {
    data.require_complete()?;
    let (source, mut warnings) = (data.source, Vec::new());
    let mut found = match &config.screen {
        Screen::None => FittedScreen {
            support: vec![true; source.shape().samples],
            measures: vec![0.0; source.shape().samples],
            cutoff: f64::INFINITY,
            cone: None,
            warnings: Vec::new(),
            features: source.shape().features,
            power: 0,
            rule: Rule::None,
        },
        Screen::Cone(cone) => {
            let (center, warning) = center::by_passes(&config.center, data, config.seed, runner)?;
            warnings.extend(warning);
            let directed = ConeInput { source, center: &center, cosines: None, active: None, seed: config.seed };
            let (report, support) = cone::screen(cone, &directed, runner)?;
            let pivot = unit_directions(&[report.pivot], &center, source)?;
            warnings.extend(report.warning());
            let rule = Rule::Cone { center, pivot, cosine: cone.cosine };
            FittedScreen {
                support,
                measures: Vec::new(),
                cutoff: report.max_angle,
                cone: Some(report),
                warnings: Vec::new(),
                features: source.shape().features,
                power: 0,
                rule,
            }
        }
        Screen::Outlyingness(screen) => by_outlyingness(screen, config.seed, source, runner)?,
    };
    found.warnings.splice(0..0, warnings);
    Ok(found)
}

/// The screen by outlyingness of checked data.
pub(super) fn by_outlyingness<R: Runner>(
    screen: &Outlyingness,
    seed: u64,
    source: &dyn Source,
    runner: &R,
) -> Result<FittedScreen> {
    // A screen has no components; one is the least that a majority is reckoned with.
    let h = outlyingness::majority(source.shape().samples, 1);
    let mut gauges = Vec::new();
    let outlying = outlyingness::measured(screen, 1, source, seed, runner, |gauge| gauges.push(gauge))?;
    let cutoff = bulk_limit(&outlying.values, h, NORMAL_975).powf(1.5);
    Ok(FittedScreen {
        support: outlying.values.iter().map(|o| *o <= cutoff).collect(),
        measures: outlying.values,
        cutoff,
        cone: None,
        warnings: outlying.warning.into_iter().collect(),
        features: source.shape().features,
        power: 0,
        rule: Rule::Outlyingness(gauges),
    })
}

/// Angles of samples to a direction, in degrees; NaN for a sample at the center.
fn angles<R: Runner>(
    center: &[f64],
    pivot: &Matrix,
    cosine: Cosine,
    source: &dyn Source,
    runner: &R,
) -> Result<Vec<f64>> {
    let directions = WeightedRows::new(center, Weighting::InverseNorm, None);
    let cosines =
        Projection::new(directions, pivot, ProjectionUnits::Direction, Precision::Double, source.shape().element);
    let found = runner.run(&cosines, source)?;
    let mut values = found.values.into_iter();
    let angle = |c: f64| match cosine {
        Cosine::Abs => c.abs().min(1.0).acos().to_degrees(),
        Cosine::Signed => c.clamp(-1.0, 1.0).acos().to_degrees(),
    };
    let of = |active: &bool| if *active { values.next().map_or(f64::NAN, angle) } else { f64::NAN };
    Ok(found.active.iter().map(of).collect())
}

impl Model {
    /// Angles of the samples of the fit to the pivot of the cone, in degrees, relative to the model's center; NaN
    /// for a sample there. `source` is the data of the fit, since a model does not hold the pivot itself.
    ///
    /// # Errors
    /// For a model without a cone, for data other than those of the fit, and errors of the source.
    pub fn cone_angles<R: Runner>(&self, source: &dyn Source, runner: &R) -> Result<Vec<f64>> {
        self.check_width(source.shape())?;
        let (Some(report), Screen::Cone(cone)) = (&self.report.cone, &self.config.screen) else {
            return Err(Error::invalid_argument("this model has no cone; fit one with the cone as its screen"));
        };
        let samples = source.shape().samples;
        if samples != self.report.support.len() {
            return Err(Error::invalid_argument(format!(
                "the model was fitted on {} samples but the data have {samples}; give the data of the fit",
                self.report.support.len()
            )));
        }
        let pivot = unit_directions(&[report.pivot], &self.subspace.center, source)?;
        angles(&self.subspace.center, &pivot, cone.cosine, source, runner)
    }
}

impl FittedScreen {
    /// The measure of each sample of any data of the same width; one pass, or one for each group of directions.
    ///
    /// # Errors
    /// For data with another number of features, and errors of the source.
    pub fn measure<R: Runner>(&self, source: &dyn Source, runner: &R) -> Result<Vec<f64>> {
        let shape = source.shape();
        if shape.features != self.features {
            return Err(Error::invalid_argument(format!(
                "the screen has {} features but the data have {}; use data of the same width",
                self.features, shape.features
            )));
        }
        Finite::check(source, Missing::Error, runner)?;
        let scaled = MappedSource::new(source, RowMap::PowerOfTwo(self.power));
        let source = if self.power == 0 { source } else { &scaled };
        match &self.rule {
            Rule::None => Ok(vec![0.0; shape.samples]),
            Rule::Cone { center, pivot, cosine } => angles(center, pivot, *cosine, source, runner),
            Rule::Outlyingness(gauges) => {
                let mut most = vec![0.0f64; shape.samples];
                for ProjectionStats { point, vectors, spreads, flat } in gauges {
                    let directions = WeightedRows::new(point, Weighting::Uniform, None);
                    let max_z_score = MaxOutlyingness::new(directions, vectors, spreads.clone(), *flat, shape.element);
                    let own = runner.run(&max_z_score, source)?;
                    most.iter_mut().zip(own).for_each(|(o, own)| *o = o.max(own));
                }
                Ok(most)
            }
        }
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.features
    }
}
