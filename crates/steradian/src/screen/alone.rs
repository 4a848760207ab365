//! A screen on its own, before any estimator: who is kept, and how far out each sample is.

use super::cone::{self, Directed};
use super::outlyingness;
use crate::center::{self, mean, spatial_median};
use crate::config::{Center, Config, Cosine, Screen, Weighting};
use crate::error::{Error, Result};
use crate::run::{Local, Runner};
use crate::source::Source;
use crate::sums::{Directions, Precision, Projection, Units};

/// What a screen says of the samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Screened {
    /// Who is kept.
    pub kept: Vec<bool>,
    /// How far out each sample is: its outlyingness, or its angle to the pivot in degrees (not a number at the center).
    pub distances: Vec<f64>,
    /// The sample that a cone is around.
    pub pivot: Option<usize>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Runs the screen of a configuration alone; its number of components only says how many samples are a majority.
pub fn screen(config: &Config, source: &dyn Source, runner: &Local) -> Result<Screened> {
    config.check(source.shape())?;
    mean::mean(source, None, runner)?; // proves that all numbers are finite
    match &config.screen {
        Screen::Everyone => Err(Error::asked("there is no screen to run; choose the cone or outlyingness")),
        Screen::Outlyingness(screen) => {
            let d = config.components.at_most(source.shape());
            let outlying = outlyingness::outlyingness(screen, d, source, config.seed, runner)?;
            let kept = outlyingness::near(&outlying.values, outlyingness::majority(source.shape().samples, d));
            Ok(Screened {
                kept,
                distances: outlying.values,
                pivot: None,
                warnings: outlying.warning.into_iter().collect(),
            })
        }
        Screen::Cone(cone) => {
            let mut warnings = Vec::new();
            let center = match &config.center {
                Center::SpatialMedian => {
                    let start = spatial_median::Start::new(source, config.seed)?;
                    let (point, warning) = spatial_median::by_passes(source, None, &start, runner)?;
                    warnings.extend(warning);
                    point
                }
                other => center::simple(other, source, None, runner)?,
            };
            let directed = Directed { source, center: &center, cosines: None, speaks: None };
            let (report, kept) = cone::screen(cone, &directed, runner)?;
            let axis = directed.units(&[report.pivot])?;
            let directions = Directions::new(&center, Weighting::InverseNorm, None);
            let element = source.shape().element;
            let found = runner
                .run(&Projection::new(directions, &axis, Units::Direction, Precision::Double, element), source)?;
            let mut cosines = found.values.iter();
            let angle = |cosine: f64| match cone.cosine {
                Cosine::Abs => cosine.abs().min(1.0).acos().to_degrees(),
                Cosine::Signed => cosine.clamp(-1.0, 1.0).acos().to_degrees(),
            };
            let distances = found
                .speaks
                .iter()
                .map(|&speaks| if speaks { cosines.next().map_or(f64::NAN, |c| angle(*c)) } else { f64::NAN })
                .collect();
            Ok(Screened { kept, distances, pivot: Some(report.pivot), warnings })
        }
    }
}
