//! Location, scale and resolution of features, and the wrapping function, which bounds outlying cells.
//!
//! | symbol | definition |
//! |---|---|
//! | m | median; the majority value of a feature whose MAD is 0 |
//! | r | resolution: lower median of the differences of neighboring distinct values, if at most half are distinct; else 0 |
//! | s | 1.4826 MAD; sqrt(share of the others times the median of their squared deviation) if the MAD is 0; at least r / 1.5 |
//! | wrapped cell | m + s psi((x - m) / s); psi is the identity up to 1.5 and falls to 0 at 4 (Raymaekers and Rousseeuw 2021) |
//!
//! A feature of bits or counts has a resolution of 1, so that one step is never an outlying cell.

use rayon::prelude::*;

use crate::data::block::{Block, BlockData, each_element};
use crate::data::element::Element;
use crate::memory;
use crate::numeric::statistics::NORMAL_MAD;

/// Smallest scale and variance: divisors stay above 0.
pub(crate) const TINY: f64 = 1e-300;
/// Where wrapping begins to differ from the identity, in scales.
const LINEAR: f64 = 1.5;
/// Where wrapping reaches 0, in scales.
const REJECTED: f64 = 4.0;
/// Height and slope of the hyperbolic tangent between them.
const WRAP: (f64, f64) = (1.540793, 0.8622731);
/// Rounding errors of residuals, relative to the size of the cells.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Features per task.
const TASK_FEATURES: usize = 32;

/// Location, scale and resolution of every feature.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FeatureStats {
    pub location: Vec<f64>,
    pub scale: Vec<f64>,
    pub resolution: Vec<f64>,
    /// The number of cells that are present.
    pub counts: Vec<usize>,
    /// True where all cells that are present are equal.
    pub constant: Vec<bool>,
}

/// The statistics of one feature.
struct FeatureStat {
    location: f64,
    scale: f64,
    resolution: f64,
    count: usize,
    constant: bool,
}

impl FeatureStats {
    /// The statistics of the features over the rows of a block. NaN is a missing cell.
    pub(crate) fn of(block: &Block<'_>) -> Self {
        let features = block.columns();
        let tasks = features.div_ceil(TASK_FEATURES);
        let parts: Vec<Vec<FeatureStat>> = (0..tasks)
            .into_par_iter()
            .map(|task| {
                let end = ((task + 1) * TASK_FEATURES).min(features);
                let mut sorted = memory::reserved(block.rows());
                (task * TASK_FEATURES..end)
                    .map(|feature| {
                        sorted_feature(block, feature, &mut sorted);
                        statistics(&sorted)
                    })
                    .collect()
            })
            .collect();
        let mut all = Self::default();
        for FeatureStat { location, scale, resolution, count, constant } in parts.into_iter().flatten() {
            all.location.push(location);
            all.scale.push(scale);
            all.resolution.push(resolution);
            all.counts.push(count);
            all.constant.push(constant);
        }
        all
    }

    /// The statistics of some of the features.
    pub(crate) fn select(&self, features: &[usize]) -> Self {
        Self {
            location: features.iter().map(|&j| self.location[j]).collect(),
            scale: features.iter().map(|&j| self.scale[j]).collect(),
            resolution: features.iter().map(|&j| self.resolution[j]).collect(),
            counts: features.iter().map(|&j| self.counts[j]).collect(),
            constant: features.iter().map(|&j| self.constant[j]).collect(),
        }
    }

    /// The residual of a cell of a feature that is rounding.
    pub(crate) fn rounding(&self, feature: usize) -> f64 {
        ROUNDING * (self.location[feature].abs() + self.scale[feature])
    }

    /// The orthogonal distance of a row that is rounding.
    pub(crate) fn row_rounding(&self) -> f64 {
        (0..self.scale.len()).fold(0.0, |norm: f64, j| norm.hypot(self.rounding(j)))
    }

    /// True if some feature has tied values.
    pub(crate) fn has_resolution(&self) -> bool {
        self.resolution.iter().any(|r| *r > 0.0)
    }
}

/// The cells of a feature that are present, ascending.
fn sorted_feature(block: &Block<'_>, feature: usize, sorted: &mut Vec<f64>) {
    sorted.clear();
    if let BlockData::U8(rows) = block.data() {
        let mut counts = [0u32; 256];
        (0..block.rows()).for_each(|i| counts[usize::from(rows.get(i, feature))] += 1);
        let runs = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        return runs.for_each(|(x, count)| sorted.extend(std::iter::repeat_n(x as f64, *count as usize)));
    }
    each_element!(block, rows => {
        let cells = (0..block.rows()).map(|i| rows.get(i, feature).widen());
        sorted.extend(cells.filter(|x| !x.is_nan()));
    });
    sorted.sort_unstable_by(f64::total_cmp);
}

/// The median of ascending values; 0 if there are none.
pub(crate) fn sorted_median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match n {
        0 => 0.0,
        _ => midpoint(sorted[(n - 1) / 2], sorted[n / 2]),
    }
}

fn midpoint(low: f64, high: f64) -> f64 {
    if low == high { low } else { low / 2.0 + high / 2.0 }
}

/// The median absolute deviation of ascending values from `center`: the deviations on each side are sorted already.
pub(crate) fn sorted_mad(sorted: &[f64], center: f64) -> f64 {
    let n = sorted.len();
    if n == 0 {
        return 0.0;
    }
    let mut right = sorted.partition_point(|x| *x < center);
    let mut left = right;
    let (mut before, mut deviation) = (0.0, 0.0);
    for _ in 0..=n / 2 {
        before = deviation;
        let below = if left > 0 { center - sorted[left - 1] } else { f64::INFINITY };
        let above = if right < n { sorted[right] - center } else { f64::INFINITY };
        if below <= above {
            deviation = below;
            left -= 1;
        } else {
            deviation = above;
            right += 1;
        }
    }
    if n % 2 == 1 { deviation } else { midpoint(before, deviation) }
}

fn statistics(sorted: &[f64]) -> FeatureStat {
    let count = sorted.len();
    let mut location = sorted_median(sorted);
    let mut scale = NORMAL_MAD * sorted_mad(sorted, location);
    let mut gaps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0).collect();
    let distinct = gaps.len() + 1;
    let constant = gaps.is_empty();
    let mut resolution = 0.0;
    if !constant && 2 * distinct <= count {
        let middle = (gaps.len() - 1) / 2;
        resolution = *gaps.select_nth_unstable_by(middle, f64::total_cmp).1;
    }
    if scale == 0.0 && !constant {
        location = sorted[count / 2];
        let mut squares: Vec<f64> = sorted.iter().filter(|x| **x != location).map(|x| (x - location).powi(2)).collect();
        squares.sort_unstable_by(f64::total_cmp);
        scale = (squares.len() as f64 / count as f64 * sorted_median(&squares)).sqrt();
    }
    FeatureStat { location, scale: scale.max(resolution / 1.5).max(TINY), resolution, count, constant }
}

/// A cell after wrapping; a missing cell becomes the location.
pub(crate) fn wrapped(x: f64, location: f64, scale: f64) -> f64 {
    let z = (x - location) / scale;
    let size = z.abs();
    if size <= LINEAR {
        x
    } else if size < REJECTED {
        location + scale * z.signum() * WRAP.0 * (WRAP.1 * (REJECTED - size)).tanh()
    } else {
        location
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::statistics::median;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sorted_mad_is_the_median_of_the_deviations(mut values in proptest::collection::vec(-4i32..5, 1..30)) {
            values.sort_unstable();
            let sorted: Vec<f64> = values.iter().map(|x| f64::from(*x) / 2.0).collect();
            let center = sorted_median(&sorted);
            prop_assert_eq!(center, median(sorted.clone()));
            let plain = median(sorted.iter().map(|x| (x - center).abs()).collect());
            prop_assert_eq!(sorted_mad(&sorted, center), plain);
        }
    }

    #[test]
    fn wrapping_is_bounded_and_maps_missing_cells_to_the_location() {
        assert_eq!(wrapped(1.5, 1.0, 2.0), 1.5);
        assert_eq!(wrapped(9.1, 1.0, 2.0), 1.0);
        assert_eq!(wrapped(f64::NAN, 1.0, 2.0), 1.0);
        assert_eq!(wrapped(f64::INFINITY, 1.0, 2.0), 1.0);
        let near = wrapped(1.0 + 2.0 * 1.500001, 1.0, 2.0);
        assert!((near - 4.0).abs() < 1e-4, "continuous at the end of the linear part: {near}");
    }
}
