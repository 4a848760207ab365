//! Robust statistics of one variable, and quantiles for cutoffs.
//!
//! | name | definition |
//! |---|---|
//! | robust scale | s_0 = 1.4826 med abs(y - med y); then m = mean and s^2 = mean (y - m)^2 / 0.9105 over abs(y - m) <= 2.5 s, twice, where 0.9105 is E[z^2 given abs(z) < 2.5] of a standard normal z |
//! | least-variance window | location and scale of the h consecutive order statistics with the least variance (univariate MCD, Rousseeuw 1984) |
//! | shortest window | midpoint and half length of the shortest interval that contains h values |

use crate::memory::{self, CollectReserved};
use serde::{Deserialize, Serialize};

use super::magnitude::{exponent, times_power_of_two};

/// Ratio of the standard deviation to the MAD of a normal distribution.
pub(crate) const NORMAL_MAD: f64 = 1.4826;
/// The 97.5 % quantile of the standard normal distribution.
pub(crate) const NORMAL_975: f64 = 1.959_963_984_540_054;
/// Number of scales beyond which values are trimmed.
const CUTOFF: f64 = 2.5;
/// Variance of a standard normal variable that is trimmed at [`CUTOFF`].
const TRIMMED_VARIANCE: f64 = 0.9105;
/// The 75 % quantile of the standard normal distribution: half the length of its shortest half.
const NORMAL_QUARTILE: f64 = 0.6745;

/// Location and scale of some values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct LocationScale {
    pub location: f64,
    pub scale: f64,
}

/// The robust scale of some values; 0 if there are none.
pub(crate) fn robust_scale(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = median(memory::copied(values));
    let mad = NORMAL_MAD * median(values.iter().map(|y| (y - middle).abs()).collect_reserved());
    trimmed(values, LocationScale { location: middle, scale: mad }, 2).scale
}

/// Rounds of mean and standard deviation over the values within 2.5 scales, consistent for normal values.
fn trimmed(values: &[f64], start: LocationScale, rounds: usize) -> LocationScale {
    (0..rounds).fold(start, |LocationScale { location, scale }, _| {
        let inner = || values.iter().filter(|y| (*y - location).abs() <= CUTOFF * scale);
        let count = inner().count().max(1) as f64;
        let mean = inner().sum::<f64>() / count;
        let square = inner().map(|y| (y - mean).powi(2)).sum::<f64>();
        LocationScale { location: mean, scale: (square / count / TRIMMED_VARIANCE).sqrt() }
    })
}

/// The median; the mean of the two middle values for an even count. Panics without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return high;
    }
    let low = below.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    low + (high - low) / 2.0
}

/// The least-variance window of `h` of some sorted values, more than half of them: mean and standard deviation.
pub(crate) fn least_variance_window(sorted: &[f64], h: usize) -> LocationScale {
    let n = sorted.len();
    debug_assert!(2 * h > n && h <= n);
    let range = |start: usize| sorted[start + h - 1] - sorted[start];
    let shortest = (0..=n - h).map(range).fold(f64::INFINITY, f64::min);
    // A longer window than this has more variance than the shortest one, for any values inside. Without such windows,
    // far outliers do not enter the running sums and cause no cancellation.
    let reach = shortest * (h as f64 / 2.0).sqrt().max(1.0);
    let origin = sorted[n / 2]; // in every window
    let Some(first) = (0..=n - h).find(|&start| range(start) <= reach).filter(|_| reach.is_finite()) else {
        // Every window has a value that is not finite: the values have no finite scale.
        return LocationScale { location: origin, scale: f64::INFINITY };
    };
    // In units of a power of two near the length of a window, squares neither overflow nor underflow.
    let power = exponent(reach).unwrap_or(0);
    // Sums over the values before and up to the end of a window, each from `first` on.
    let add = |(total, squares): (f64, f64), y: &f64| {
        let z = times_power_of_two(y - origin, -power);
        (total + z, squares + z * z)
    };
    let mut from = (0.0, 0.0);
    let mut to = sorted[first..first + h].iter().fold((0.0, 0.0), add);
    let size = h as f64;
    let mut best = (f64::INFINITY, 0.0);
    for start in first..=n - h {
        if start > first {
            from = add(from, &sorted[start - 1]);
            to = add(to, &sorted[start + h - 1]);
        }
        if range(start) > reach {
            continue;
        }
        let mean = (to.0 - from.0) / size;
        let variance = ((to.1 - from.1) / size - mean * mean).max(0.0);
        if variance < best.0 {
            best = (variance, mean);
        }
    }
    let scale = if shortest == 0.0 { 0.0 } else { times_power_of_two(best.0.sqrt(), power) };
    LocationScale { location: origin + times_power_of_two(best.1, power), scale }
}

/// The shortest window with `h` of some values: its midpoint, and its half length made consistent for normal values.
pub(crate) fn shortest_window(mut values: Vec<f64>, h: usize) -> LocationScale {
    values.sort_unstable_by(f64::total_cmp);
    let length = |start: usize| values[start + h - 1] - values[start];
    let mut best = 0;
    for start in 1..=values.len() - h {
        if length(start) < length(best) {
            best = start;
        }
    }
    LocationScale { location: (values[best] + values[best + h - 1]) / 2.0, scale: length(best) / 2.0 / NORMAL_QUARTILE }
}

/// Location and scale of the majority of some values, efficient for normal ones: four rounds of trimming from the
/// least-variance half.
pub(crate) fn bulk(mut values: Vec<f64>) -> LocationScale {
    values.sort_unstable_by(f64::total_cmp);
    let h = values.len() / 2 + 1;
    let half = least_variance_window(&values, h.min(values.len()));
    // Variance of the middle half of a standard normal distribution.
    const HALF_VARIANCE: f64 = 0.142_632_6;
    trimmed(&values, LocationScale { scale: half.scale / HALF_VARIANCE.sqrt(), ..half }, 4)
}

/// The quantile of the chi-square distribution with an integer number of degrees of freedom.
pub(crate) fn chi_square_quantile(probability: f64, degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, degrees as f64 + 10.0);
    while chi_square_below(high, degrees) < probability {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if chi_square_below(middle, degrees) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The logarithm of the gamma function for x > 0: Stirling's series from 10 on, and the recurrence below.
pub(crate) fn log_gamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series = (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

/// The distribution function of chi-square at x: the series of the incomplete gamma function at `degrees / 2`, `x / 2`.
pub(crate) fn chi_square_below(x: f64, degrees: usize) -> f64 {
    let (a, x) = (degrees as f64 / 2.0, x / 2.0);
    if x <= 0.0 {
        return 0.0;
    }
    // ln of Gamma(a + 1), by Gamma(a + 1) = a Gamma(a) down to Gamma(1) = 1 or Gamma(1/2) = sqrt(pi).
    let rest = if degrees.is_multiple_of(2) { 0.0 } else { 0.5 * std::f64::consts::PI.ln() };
    let log_gamma = rest + (0..degrees.div_ceil(2)).map(|i| (a - i as f64).ln()).sum::<f64>();
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while term > 1e-17 * sum {
        term *= x / (a + k);
        sum += term;
        k += 1.0;
    }
    (a * x.ln() - x - log_gamma).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Quantiles of the normal distribution.
    fn normal_numbers(count: usize) -> Vec<f64> {
        let quantile = |p: f64| {
            let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
            let x = t
                - (2.515517 + 0.802853 * t + 0.010328 * t * t)
                    / (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
            if p < 0.5 { -x } else { x }
        };
        (0..count).map(|i| quantile((i as f64 + 0.5) / count as f64)).collect()
    }

    #[test]
    fn far_numbers_do_not_count_and_normal_ones_do() {
        let mut values: Vec<f64> = normal_numbers(4000).iter().map(|z| 3.0 * z).collect();
        assert!((robust_scale(&values) / 3.0 - 1.0).abs() < 0.01);
        let clean = bulk(values.clone());
        assert!((clean.scale / 3.0 - 1.0).abs() < 0.02 && clean.location.abs() < 0.01, "{clean:?}");
        values.extend(std::iter::repeat_n(1e9, 1000));
        assert!((robust_scale(&values) / 3.0 - 1.0).abs() < 0.25, "{}", robust_scale(&values));
        values.extend(std::iter::repeat_n(1e12, 2000));
        let hit = bulk(values);
        assert!((hit.scale / 3.0 - 1.0).abs() < 0.1 && hit.location.abs() < 0.2, "{hit:?}");
        assert_eq!(robust_scale(&[]), 0.0);
        assert_eq!(robust_scale(&[4.0, 4.0, 4.0]), 0.0);
    }

    #[test]
    fn chi_square_quantiles_are_those_of_the_tables() {
        let table = [(1, 5.023886), (2, 7.377759), (3, 9.348404), (5, 12.832502), (10, 20.483177), (50, 71.420195)];
        for (degrees, expected) in table {
            assert!((chi_square_quantile(0.975, degrees) - expected).abs() < 1e-5, "{degrees}");
        }
    }

    #[test]
    fn the_gamma_function_of_integers_is_a_factorial() {
        let mut log_factorial = 0.0;
        for n in 1..40 {
            assert!((log_gamma(f64::from(n)) - log_factorial).abs() < 1e-11 * (1.0 + log_factorial), "{n}");
            log_factorial += f64::from(n).ln();
        }
        assert!((log_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-12);
    }

    #[test]
    fn values_near_the_ends_of_f64_have_a_scale() {
        let huge = [-1.7e308, 1.0, 2.0, 3.0, 4.0, 1.7e308];
        assert!((least_variance_window(&huge, 4).scale - 1.25f64.sqrt()).abs() < 1e-12);
        let none = [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY];
        assert_eq!(least_variance_window(&none, 3).scale, f64::INFINITY);
        let nan = [1.0, f64::NAN, f64::NAN];
        assert_eq!(least_variance_window(&nan, 2).scale, f64::INFINITY);
        for scale in [1e-300, 1e300] {
            let values = [1.0, 2.0, 3.0, 9.0].map(|x| x * scale);
            assert!((least_variance_window(&values, 3).scale / scale - (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        }
    }

    proptest! {
        #[test]
        fn the_least_variance_window_is_the_best_of_all(mut values in proptest::collection::vec(-10.0f64..10.0, 3..60), far in any::<bool>()) {
            if far {
                values[0] = 1e12;
            }
            values.sort_by(f64::total_cmp);
            let h = values.len() / 2 + 1;
            let deviation = |window: &[f64]| {
                let mean = window.iter().sum::<f64>() / h as f64;
                (window.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / h as f64).sqrt()
            };
            let best = values.windows(h).map(deviation).fold(f64::INFINITY, f64::min);
            let found = least_variance_window(&values, h);
            prop_assert!((found.scale - best).abs() <= 1e-9 * (1.0 + best), "{} {}", found.scale, best);
        }
    }
}
