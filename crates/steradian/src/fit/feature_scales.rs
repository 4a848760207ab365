//! Robust statistics of each feature: scales to divide by, limits of residuals.

use std::borrow::Cow;

use crate::center::{Finite, mean, median};
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::numeric::statistics::NORMAL_MAD;

/// The median of the numbers of each feature and their median absolute deviation times 1.4826, exact.
pub(crate) fn median_and_deviation(source: &dyn Source, runner: &impl Runner) -> Result<(Vec<f64>, Vec<f64>)> {
    let middle = median::median(source, None, runner)?;
    let away = MappedSource::new(source, RowMap::AbsDeviation(Cow::Borrowed(&middle)));
    let deviation = median::median(&away, None, runner)?.into_iter().map(|d| NORMAL_MAD * d).collect();
    Ok((middle, deviation))
}

/// A normal distribution's standard deviation is its mean absolute deviation times this.
const NORMAL_MEAN_DEVIATION: f64 = 1.2533;

/// The divisor of each feature: its median absolute deviation. A feature whose values are mostly equal has none; its
/// mean absolute deviation takes the place, and the warning names it. 1 for a feature that never changes or has no number.
pub(crate) fn scales(data: &Finite<'_>, runner: &impl Runner) -> Result<(Vec<f64>, Option<String>)> {
    let source = data.source;
    let (middle, mut scales) = median_and_deviation(source, runner)?;
    if scales.iter().all(|s| *s > 0.0) {
        return Ok((scales, None));
    }
    let away = MappedSource::new(source, RowMap::AbsDeviation(Cow::Borrowed(&middle)));
    let away = match data.missing.is_none() {
        true => mean::mean(&away, None, runner)?,
        false => mean::of_present(&away, runner)?,
    };
    let mut mostly_equal = Vec::new();
    for (j, scale) in scales.iter_mut().enumerate().filter(|(_, scale)| **scale == 0.0) {
        *scale = if away[j] > 0.0 { NORMAL_MEAN_DEVIATION * away[j] } else { 1.0 };
        if away[j] > 0.0 {
            mostly_equal.push(j);
        }
    }
    let warning = (!mostly_equal.is_empty()).then(|| {
        let name = |&j: &usize| source.feature_name(j).map_or_else(|| j.to_string(), |name| format!("{j} ({name})"));
        let names: Vec<String> = mostly_equal.iter().take(5).map(name).collect();
        format!(
            "{} of {} features have a median absolute deviation of 0 although they change, since more than half of their \
             values are equal, and are scaled by their mean absolute deviation, which outliers can move: {}{}; leave \
             them out if that is not meant",
            mostly_equal.len(),
            scales.len(),
            names.join(", "),
            if mostly_equal.len() > names.len() { ", .." } else { "" }
        )
    });
    Ok((scales, warning))
}
