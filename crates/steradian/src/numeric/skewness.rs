//! The medcouple, a robust measure of skewness, and the upper fence of the adjusted boxplot.
//!
//! | symbol | definition |
//! |---|---|
//! | MC | median of ((b - m) - (m - a)) / (b - a) over all a <= m <= b, m the median (Brys, Hubert and Struyf 2004) |
//! | upper fence | Q3 + 1.5 exp(3 MC) IQR for MC >= 0, Q3 + 1.5 exp(4 MC) IQR otherwise (Hubert and Vandervieren 2008) |
//!
//! A quarter of the values can be arbitrary. Of many values, evenly spaced order statistics represent all.

/// Order statistics that represent all values; their pairs are a quarter of the square.
const MOST: usize = 401;

/// The upper fence of the adjusted boxplot; values above it are outlying for a distribution of this skewness.
pub(crate) fn upper_fence(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n < 4 {
        return sorted.last().copied().unwrap_or(0.0);
    }
    let quantile = |share: f64| {
        let place = share * (n - 1) as f64;
        let low = place.floor() as usize;
        let rest = place - low as f64;
        sorted[low] + rest * (sorted[(low + 1).min(n - 1)] - sorted[low])
    };
    let (first, third) = (quantile(0.25), quantile(0.75));
    let skewness = medcouple(&sorted);
    let factor = if skewness >= 0.0 { 3.0 } else { 4.0 };
    third + 1.5 * (factor * skewness).exp() * (third - first)
}

/// The medcouple of ascending values.
fn medcouple(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    let count = n.min(MOST);
    let values: Vec<f64> = (0..count).map(|i| sorted[i * (n - 1) / (count - 1).max(1)]).collect();
    let middle = values[(count - 1) / 2] / 2.0 + values[count / 2] / 2.0;
    let above: Vec<f64> = values.iter().filter(|x| **x >= middle).map(|x| x - middle).collect();
    let below: Vec<f64> = values.iter().filter(|x| **x <= middle).map(|x| middle - x).collect();
    let mut kernel = Vec::with_capacity(above.len() * below.len());
    for b in &above {
        for a in &below {
            kernel.push(if a + b > 0.0 { (b - a) / (a + b) } else { 0.0 });
        }
    }
    let place = kernel.len() / 2;
    *kernel.select_nth_unstable_by(place, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_values_have_no_skewness_and_exponential_ones_do() {
        let symmetric: Vec<f64> = (-50..=50).map(f64::from).collect();
        assert!(medcouple(&symmetric).abs() < 1e-12);
        let exponential: Vec<f64> = (1..1000).map(|i| -(1.0 - f64::from(i) / 1000.0).ln()).collect();
        let skewness = medcouple(&exponential);
        assert!((0.28..0.40).contains(&skewness), "{skewness}");
        let beyond = |values: &[f64]| {
            let fence = upper_fence(values);
            values.iter().filter(|x| **x > fence).count() as f64 / values.len() as f64
        };
        assert!(beyond(&exponential) < 0.02 && beyond(&symmetric) == 0.0);
        let mut outlying = exponential.clone();
        outlying.extend(std::iter::repeat_n(1e6, 200));
        assert!(upper_fence(&outlying) < 1e3, "a sixth of the values does not move the fence far");
    }
}
