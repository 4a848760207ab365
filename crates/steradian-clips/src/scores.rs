//! Robust scores of a frame: iteratively reweighted least squares over some of its pixels.
//!
//! | symbol | here |
//! |---|---|
//! | r_j = x_j - mu_j - (Q s)_j | `residual` |
//! | sigma | 1.4826 times the median of abs(r), at least [`MIN_SCALE`] |
//! | w_j = min(1, k sigma / abs(r_j)), 0 beyond c sigma after the first steps | weights |
//!
//! Huber's weights (Huber 1964) give a first fit; the hard cutoff then gives foreground pixels weight 0. Pixels are
//! spread evenly; a few thousand determine scores to a fraction of a gray level. Cost: [`STEPS`] times m (d^2 + 3 d)
//! flops for m pixels.
//!
//! Other methods project all pixels instead: s = Q'(x - mu).

use steradian::{Matrix, Method, Model};

use crate::scene::SCENE;

/// Principal component pursuit, a method of the crate `steradian-baselines`.
const PURSUIT: Method = Method::other("pcp");

/// Largest number of pixels.
const MAX_PIXELS: usize = 3000;
/// Number of steps of the iteration.
const STEPS: usize = 8;
/// Number of steps before the hard cutoff.
const SOFT_STEPS: usize = 2;
/// Huber's constant.
const HUBER: f32 = 1.345;
/// Hard cutoff: number of scales beyond which a pixel has weight 0.
const CUTOFF: f32 = 4.0;
/// Smallest scale, in gray levels; rounding alone is a third of a gray level.
const MIN_SCALE: f32 = 0.5;
/// Ridge of the normal equations relative to their largest diagonal entry, for components without a pixel of non-zero
/// weight.
const RIDGE: f64 = 1e-6;
/// Ratio of the standard deviation to the median absolute deviation of a normal distribution.
const NORMAL_MAD: f32 = 1.4826;

/// Center and components at the pixels that determine the scores of a frame.
pub(crate) struct Scorer {
    robust: bool,
    pixels: Vec<usize>,
    center: Vec<f32>,
    /// The components at the pixels, one per row.
    components: Vec<Vec<f32>>,
}

impl Scorer {
    /// The scorer of a model; its method determines if scores are robust.
    pub(crate) fn of(model: &Model) -> Self {
        // The pursuit treats foreground as sparse, too: a projection would make it part of the background.
        let robust = matches!(model.method(), SCENE | PURSUIT) || model.method().is_cellwise();
        Self::new(robust, &model.subspace.center, &model.subspace.components)
    }

    /// The scorer of a center and components (d x D).
    pub(crate) fn new(robust: bool, center: &[f64], components: &Matrix) -> Self {
        let pixels = if robust { spread(center.len()) } else { (0..center.len()).collect() };
        let center = pixels.iter().map(|&j| center[j] as f32).collect();
        let component = |k: usize| pixels.iter().map(|&j| components.row(k)[j] as f32).collect();
        let components = (0..components.rows()).map(component).collect();
        Self { robust, pixels, center, components }
    }

    /// The scores of one frame.
    pub(crate) fn scores(&self, frame: &[u8]) -> Vec<f64> {
        let d = self.components.len();
        let centered: Vec<f32> = self.pixels.iter().zip(&self.center).map(|(&j, c)| f32::from(frame[j]) - c).collect();
        if !self.robust {
            return self.components.iter().map(|component| dot(&centered, component)).collect();
        }
        let mut scores = vec![0.0f64; d];
        let mut residual = centered.clone();
        let mut weights = vec![1.0f32; centered.len()];
        let mut sizes: Vec<u32> = Vec::with_capacity(centered.len());
        for step in 0..STEPS {
            residual.copy_from_slice(&centered);
            for (s, component) in scores.iter().zip(&self.components) {
                let s = *s as f32;
                residual.iter_mut().zip(component).for_each(|(r, q)| *r -= s * q);
            }
            sizes.clear();
            // The bits of non-negative f32 values have their order, and selecting integers is faster.
            sizes.extend(residual.iter().map(|r| r.abs().to_bits()));
            let middle = sizes.len() / 2;
            let (_, median, _) = sizes.select_nth_unstable(middle);
            let scale = (NORMAL_MAD * f32::from_bits(*median)).max(MIN_SCALE);
            let cut = if step < SOFT_STEPS { f32::INFINITY } else { CUTOFF * scale };
            let corner = HUBER * scale;
            for (w, r) in weights.iter_mut().zip(&residual) {
                let size = r.abs();
                *w = if size <= corner { 1.0 } else { corner / size };
                *w = if size > cut { 0.0 } else { *w };
            }
            let by = self.step(&residual, &weights);
            scores.iter_mut().zip(&by).for_each(|(s, by)| *s += by);
        }
        scores
    }

    /// One step of weighted least squares.
    fn step(&self, residual: &[f32], weights: &[f32]) -> Vec<f64> {
        let d = self.components.len();
        let (mut normal, mut right) = (vec![0.0f64; d * d], vec![0.0f64; d]);
        let mut weighted = vec![0.0f32; residual.len()];
        for a in 0..d {
            weighted.iter_mut().zip(&self.components[a]).zip(weights).for_each(|((x, q), w)| *x = q * w);
            right[a] = dot(&weighted, residual);
            for b in 0..=a {
                let entry = dot(&weighted, &self.components[b]);
                (normal[a * d + b], normal[b * d + a]) = (entry, entry);
            }
        }
        let ridge = RIDGE * (0..d).map(|a| normal[a * d + a]).fold(f64::MIN_POSITIVE, f64::max);
        (0..d).for_each(|a| normal[a * d + a] += ridge);
        solve(&mut normal, &mut right);
        right
    }
}

/// Inner product in eight partial sums, which the CPU adds in parallel.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut parts = [0.0f32; 8];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            parts[i] += a[i] * b[i];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| f64::from(a * b)).sum();
    parts.iter().map(|&part| f64::from(part)).sum::<f64>() + rest
}

/// Solves a small positive definite system in place by a Cholesky decomposition.
pub(crate) fn solve(matrix: &mut [f64], right: &mut [f64]) {
    let d = right.len();
    for i in 0..d {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| matrix[i * d + k] * matrix[j * d + k]).sum();
            let rest = matrix[i * d + j] - sum;
            matrix[i * d + j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / matrix[j * d + j] };
        }
        let sum: f64 = (0..i).map(|k| matrix[i * d + k] * right[k]).sum();
        right[i] = (right[i] - sum) / matrix[i * d + i];
    }
    for i in (0..d).rev() {
        let sum: f64 = (i + 1..d).map(|k| matrix[k * d + i] * right[k]).sum();
        right[i] = (right[i] - sum) / matrix[i * d + i];
    }
}

/// At most [`MAX_PIXELS`] pixels, one per interval of equal length, at varying offsets, so that they do not align with
/// columns of the image.
pub(crate) fn spread(pixels: usize) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let count = pixels.min(MAX_PIXELS);
    let place = |i: usize| {
        let (start, end) = (i * pixels / count, (i + 1) * pixels / count);
        start + ((i as f64 * GOLDEN).fract() * (end - start) as f64) as usize
    };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_pixels_may_be_outliers() {
        let pixels = 900;
        let center = vec![100.0; pixels];
        let root = (pixels as f64).sqrt();
        let up: Vec<f64> = vec![1.0 / root; pixels];
        let alternating: Vec<f64> = (0..pixels).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } / root).collect();
        let scorer = Scorer::new(true, &center, &Matrix::from_vec(2, pixels, [up, alternating].concat()));
        let clean: Vec<u8> = (0..pixels).map(|j| if j % 2 == 0 { 90 } else { 70 }).collect();
        let mut contaminated = clean.clone();
        contaminated[300..580].fill(250);
        let near = |found: Vec<f64>| (found[0] + 20.0 * root).abs() < 0.5 && (found[1] - 10.0 * root).abs() < 0.5;
        assert!(near(scorer.scores(&clean)), "{:?}", scorer.scores(&clean));
        assert!(near(scorer.scores(&contaminated)), "{:?}", scorer.scores(&contaminated));
    }

    #[test]
    fn pixels_are_distinct_and_inside() {
        for pixels in [1, 7, MAX_PIXELS, MAX_PIXELS + 1, 76_800] {
            let chosen = spread(pixels);
            assert_eq!(chosen.len(), pixels.min(MAX_PIXELS));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]) && chosen[chosen.len() - 1] < pixels);
        }
    }
}
