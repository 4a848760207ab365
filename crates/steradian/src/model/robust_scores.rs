//! Scores of samples with bad cells: Huber-weighted least squares over the features instead of a plain projection.
//!
//! | symbol | here |
//! |---|---|
//! | r_j = x_j - mu_j - (Q s)_j | `residual` |
//! | sigma_j | the cell scale of the model where it has one, else that of the sample's own residuals |
//! | w_j = min(1, k sigma_j / abs(r_j)) | weights |
//!
//! s minimizes the sum of Huber's loss of r_j / sigma_j (Huber 1964), by reweighted least squares from the plain
//! projection. Cost: [`STEPS`] times 2 D (d^2 + d) flops per sample.

use crate::error::Result;
use crate::kernel::panel::is_safe_square;
use crate::numeric::linalg::{Matrix, symmetric_eigen};
use crate::numeric::statistics::{NORMAL_MAD, median};

/// Huber's constant: 95 % efficiency for normal residuals.
const K: f64 = 1.345;
/// Steps at most.
const STEPS: usize = 30;
/// Steps in which the sample's own scale is still measured anew.
const SCALE_STEPS: usize = 12;
/// The relative change of the scores below which the iteration stops.
const SETTLED: f64 = 1e-8;

/// Improves the scores of one centered sample; `components` is d x D.
pub(crate) fn robust_scores(
    sample: &[f64],
    components: &Matrix,
    cell_scales: Option<&[f64]>,
    scores: &mut [f64],
) -> Result<()> {
    let (d, features) = (components.rows(), components.columns());
    let mut residual = vec![0.0; features];
    let mut scale = 0.0;
    for step in 0..STEPS {
        residual.copy_from_slice(sample);
        for (s, component) in scores.iter().zip(0..d) {
            residual.iter_mut().zip(components.row(component)).for_each(|(r, q)| *r -= s * q);
        }
        if cell_scales.is_none() && step < SCALE_STEPS {
            scale = NORMAL_MAD * median(residual.iter().map(|r| r.abs()).collect());
            if scale == 0.0 {
                return Ok(()); // more than half of the cells fit exactly
            }
        }
        let weight = |j: usize| {
            let sigma = cell_scales.map_or(scale, |scales| scales[j]);
            if residual[j].abs() <= K * sigma { 1.0 } else { K * sigma / residual[j].abs() }
        };
        let weights: Vec<f64> = (0..features).map(weight).collect();
        let mut normal = Matrix::zeros(d, d);
        let mut right = vec![0.0; d];
        for a in 0..d {
            let weighted: Vec<f64> = components.row(a).iter().zip(&weights).map(|(q, w)| q * w).collect();
            right[a] = weighted.iter().zip(&residual).map(|(q, r)| q * r).sum();
            for b in 0..=a {
                let entry = weighted.iter().zip(components.row(b)).map(|(x, y)| x * y).sum();
                (normal[(a, b)], normal[(b, a)]) = (entry, entry);
            }
        }
        let step = solve(&normal, &right)?;
        let (moved, size) = (norm(&step), norm(scores));
        scores.iter_mut().zip(&step).for_each(|(s, by)| *s += by);
        if moved <= SETTLED * size {
            break;
        }
    }
    Ok(())
}

/// The norm of some values; squares of large values overflow.
fn norm(values: &[f64]) -> f64 {
    let square = values.iter().map(|x| x * x).sum::<f64>();
    if is_safe_square(square) { square.sqrt() } else { values.iter().fold(0.0, |norm, x| f64::hypot(norm, *x)) }
}

/// Directions that have almost no weight keep their scores.
fn solve(normal: &Matrix, right: &[f64]) -> Result<Vec<f64>> {
    let (values, vectors) = symmetric_eigen(normal)?;
    let mut out = vec![0.0; right.len()];
    for (k, value) in values.iter().enumerate().filter(|(_, value)| **value > 1e-9 * values[0]) {
        let along = (0..right.len()).map(|i| vectors[(i, k)] * right[i]).sum::<f64>() / value;
        out.iter_mut().enumerate().for_each(|(i, x)| *x += vectors[(i, k)] * along);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bad_cells_do_not_move_the_scores() {
        let features = 60;
        let root = (features as f64).sqrt();
        let q: Vec<f64> = (0..features).map(|j| if j % 2 == 0 { 1.0 } else { -1.0 } / root).collect();
        let mut sample: Vec<f64> =
            q.iter().enumerate().map(|(j, q)| 7.0 * q + 0.01 * ((j * 7919 % 13) as f64 - 6.0)).collect();
        (0..10).for_each(|j| sample[j * 5] += if j % 2 == 0 { 500.0 } else { 90.0 });
        let components = Matrix::from_vec(1, features, q.clone());
        let plain: f64 = sample.iter().zip(&q).map(|(x, q)| x * q).sum();
        let mut scores = [plain];
        robust_scores(&sample, &components, None, &mut scores).unwrap();
        assert!((plain - 7.0).abs() > 1.0, "the case is hard: {plain}");
        assert!((scores[0] - 7.0).abs() < 0.1, "{}", scores[0]);
        let mut given = [plain];
        robust_scores(&sample, &components, Some(&vec![0.04; features]), &mut given).unwrap();
        assert!((given[0] - 7.0).abs() < 0.1, "{}", given[0]);
    }
}
