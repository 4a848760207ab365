//! Robust scale of numbers: the median absolute deviation, then two rounds that drop what lies beyond 2.5 scales.
//!
//! s_0 = 1.4826 med |y - med y|; then m = mean and s^2 = mean (y - m)^2 / 0.9105 over |y - m| <= 2.5 s, twice, where
//! 0.9105 stands for E[z^2 given |z| < 2.5] of a standard normal z. Far less biased than the median absolute deviation when a
//! fifth of the numbers are wrong.

/// Half of the normal distribution lies within 1 / 1.4826 standard deviations.
const NORMAL_MAD: f64 = 1.4826;
const CUTOFF: f64 = 2.5;
const KEPT_VARIANCE: f64 = 0.9105;

/// The robust scale of some numbers; 0 for none.
pub(super) fn robust_scale(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut center = median(values.to_vec());
    let mut scale = NORMAL_MAD * median(values.iter().map(|y| (y - center).abs()).collect());
    for _ in 0..2 {
        let kept = || values.iter().filter(|y| (*y - center).abs() <= CUTOFF * scale);
        let count = kept().count().max(1) as f64;
        let mean = kept().sum::<f64>() / count;
        let square = kept().map(|y| (y - mean).powi(2)).sum::<f64>();
        (center, scale) = (mean, (square / count / KEPT_VARIANCE).sqrt());
    }
    scale
}

fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut high, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return high;
    }
    let low = below.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_numbers_do_not_count_and_normal_ones_do() {
        // Quantiles of the normal distribution, scaled by 3, with a fifth replaced by far numbers.
        let normal = |p: f64| {
            let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
            let x = t - (2.30753 + 0.27061 * t) / (1.0 + 0.99229 * t + 0.04481 * t * t);
            if p < 0.5 { -x } else { x }
        };
        let mut values: Vec<f64> = (0..4000).map(|i| 3.0 * normal((f64::from(i) + 0.5) / 4000.0)).collect();
        assert!((robust_scale(&values) / 3.0 - 1.0).abs() < 0.01);
        values.extend(std::iter::repeat_n(1e9, 1000));
        assert!((robust_scale(&values) / 3.0 - 1.0).abs() < 0.25, "{}", robust_scale(&values));
        assert_eq!(robust_scale(&[]), 0.0);
        assert_eq!(robust_scale(&[4.0, 4.0, 4.0]), 0.0);
    }
}
