//! Robust statistics of each feature: scales to divide by, the total variance, limits of residuals.

use rayon::prelude::*;

use crate::center::{mean, median};
use crate::derived::{Changed, Picked};
use crate::error::{Error, Result};
use crate::run::Runner;
use crate::source::Source;
use crate::sums::Gathered;
use crate::univariate::{NORMAL_MAD, robust_scale};

/// Samples that a feature's statistics come from where all would be too many, evenly spread over them.
pub(crate) const STATISTIC_SAMPLES: usize = 2048;
/// Columns that are gathered at a time.
pub(crate) const SLAB_COLUMNS: usize = 2048;

/// The median of each feature and its median absolute deviation times 1.4826, exact.
pub(crate) fn median_and_deviation(source: &dyn Source, runner: &impl Runner) -> Result<(Vec<f64>, Vec<f64>)> {
    let middle = median::median(source, None, runner)?;
    let away = Changed::new(source, |_, row: &mut [f64]| {
        row.iter_mut().zip(&middle).for_each(|(x, m)| *x = (*x - m).abs());
    });
    let deviation = median::median(&away, None, runner)?.into_iter().map(|d| NORMAL_MAD * d).collect();
    Ok((middle, deviation))
}

/// What to divide each feature by: its deviation; 1 for a feature that never changes. One that changes, but in fewer
/// than half of the samples, has no scale and is refused by name.
pub(crate) fn scales(source: &dyn Source, runner: &impl Runner) -> Result<Vec<f64>> {
    let (middle, mut scales) = median_and_deviation(source, runner)?;
    if scales.iter().all(|s| *s > 0.0) {
        return Ok(scales);
    }
    let away = Changed::new(source, |_, row: &mut [f64]| {
        row.iter_mut().zip(&middle).for_each(|(x, m)| *x = (*x - m).abs());
    });
    let changes: Vec<bool> = mean::mean(&away, None, runner)?.into_iter().map(|away| away > 0.0).collect();
    let name = |j: usize| source.feature_name(j).map_or_else(|| j.to_string(), |name| format!("{j} ({name})"));
    let unscaled: Vec<String> =
        (0..scales.len()).filter(|&j| scales[j] == 0.0 && changes[j]).take(5).map(name).collect();
    if !unscaled.is_empty() {
        return Err(Error::data(format!(
            "feature {} has a median absolute deviation of 0 although it changes: more than half of its values are equal, so \
             it cannot be scaled; leave it out or keep the units of all features",
            unscaled.join(", ")
        )));
    }
    scales.iter_mut().filter(|s| **s == 0.0).for_each(|s| *s = 1.0);
    Ok(scales)
}

/// The sum over features of the squared robust scale of the kept samples.
pub(crate) fn total_variance(source: &dyn Source, kept: Option<&[bool]>, runner: &impl Runner) -> Result<f64> {
    let squares = each(source, kept, runner, |values| robust_scale(values).powi(2))?;
    Ok(squares.iter().sum())
}

/// A statistic of each feature over at most [`STATISTIC_SAMPLES`] of the kept samples.
pub(crate) fn each(
    source: &dyn Source,
    kept: Option<&[bool]>,
    runner: &impl Runner,
    statistic: impl Fn(&mut [f64]) -> f64 + Sync,
) -> Result<Vec<f64>> {
    let picked = Picked::at_most(source, kept, STATISTIC_SAMPLES);
    let (rows, features) = (picked.shape().samples, picked.shape().features);
    let mut out = Vec::with_capacity(features);
    for start in (0..features).step_by(SLAB_COLUMNS) {
        let columns = start..(start + SLAB_COLUMNS).min(features);
        let slab = runner.run(&Gathered::new(columns.clone(), features), &picked)?;
        out.extend(runner.compute(|| {
            (0..columns.len())
                .into_par_iter()
                .map(|j| statistic(&mut (0..rows).map(|i| slab[(i, j)]).collect::<Vec<_>>()))
                .collect::<Vec<_>>()
        }));
    }
    Ok(out)
}
