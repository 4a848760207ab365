//! The center of samples with missing cells, over the cells that are present.

use super::{Finite, median, spatial_median};
use crate::config::options::Center;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::memory;

/// The center over the cells present, and an optional warning: the mean or median of the numbers of each feature, or the
/// point of least sum of distances over the cells present. A feature without any number has the coordinate 0 where the
/// center is computed.
pub(crate) fn by_passes(
    center: &Center,
    data: &Finite<'_>,
    seed: u64,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    let source = data.source;
    let mean = || match &data.mean {
        Some(mean) => Ok(memory::copied(mean)),
        // Sums that overflow: medians do not.
        None => median::median(source, None, runner),
    };
    match center {
        Center::Mean => Ok((mean()?, None)),
        Center::Median => Ok((median::median(source, None, runner)?, None)),
        Center::None => Ok((memory::filled(source.shape().features, 0.0), None)),
        Center::Given(point) => Ok((memory::copied(point), None)),
        Center::SpatialMedian => {
            let start = spatial_median::Start::of_present(source, &mean()?, seed)?;
            spatial_median::of_present(source, data.missing.empty_rows(), &start, runner)
        }
    }
}
