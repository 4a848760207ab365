//! Centers: location estimates that are subtracted from the samples.

pub(crate) mod mean;
pub(crate) mod median;
pub(crate) mod present;
pub(crate) mod spatial_median;
pub(crate) mod weiszfeld;

use crate::config::options::Center;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
pub use mean::Finite;

/// A center that needs no iteration, of all samples or of those in `support`: any center but the spatial median.
pub(crate) fn closed_form(
    center: &Center,
    source: &dyn Source,
    support: Option<&[bool]>,
    runner: &impl Runner,
) -> Result<Vec<f64>> {
    match center {
        Center::Mean => mean::mean(source, support, runner),
        Center::Median => median::median(source, support, runner),
        Center::None => Ok(vec![0.0; source.shape().features]),
        Center::Given(point) => Ok(point.clone()),
        Center::SpatialMedian => unreachable!("the caller iterates for the spatial median"),
    }
}

/// The center of all samples, computed by passes, and an optional warning.
///
/// # Errors
/// Those of the source.
pub fn by_passes(
    center: &Center,
    data: &Finite<'_>,
    seed: u64,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    if let (Center::Mean, Some(mean)) = (center, &data.mean) {
        return Ok((mean.clone(), None));
    }
    let source = data.source;
    if *center != Center::SpatialMedian {
        return Ok((closed_form(center, source, None, runner)?, None));
    }
    let start = spatial_median::Start::new(source, seed)?;
    spatial_median::by_passes(source, None, &start, runner)
}
