//! Concentration steps to the rows of least distance, and the limit of the distances of kept rows.

use super::leading::leading;
use super::outlyingness::{centered_rows, mean_of, smallest};
use crate::cellwise::features::TINY;
use crate::cellwise::vectors::{row_products, square_norm};
use crate::error::Result;
use crate::numeric::linalg::Matrix;
use crate::numeric::skewness::upper_fence;
use crate::numeric::statistics::shortest_window;

/// Concentration steps.
const STEPS: usize = 3;
/// Limit of the distances of kept rows, in scales of the shortest half.
const KEPT: f64 = 2.5;

/// Components (d x D) and the rows near them.
#[derive(Debug, Clone)]
pub(crate) struct ConcentratedStart {
    pub components: Matrix,
    pub kept: Vec<bool>,
}

/// The limit of distances: their power 2/3 is within 2.5 scales of the shortest interval that holds h of them.
pub(crate) fn distance_limit(distances: &[f64], h: usize) -> f64 {
    let powers: Vec<f64> = distances.iter().map(|t| t.powf(2.0 / 3.0)).collect();
    let half = shortest_window(powers, h);
    (half.location + KEPT * half.scale).powf(1.5)
}

/// The limit of distances of kept rows: [`distance_limit`], or for skewed features the fence of the adjusted boxplot; at least `floor`.
pub(crate) fn kept_limit(distances: &[f64], h: usize, skew: bool, floor: f64) -> f64 {
    let limit = if skew { upper_fence(distances) } else { distance_limit(distances, h) };
    limit.max(floor)
}

/// Steps from h rows: their mean and components, then the h rows of least distance to these.
pub(crate) fn concentrate(table: &Matrix, d: usize, half: &[usize]) -> Result<ConcentratedStart> {
    let (n, features, h) = (table.rows(), table.columns(), half.len());
    let mut half = half.to_vec();
    let mut basis: Option<Matrix> = None;
    let mut step = 0;
    loop {
        let center = mean_of(table, &half);
        let found = leading(&centered_rows(table, &half), d, basis.as_ref())?;
        let inside: f64 = found.values.iter().sum();
        let noise = ((found.total - inside) / h as f64 / (features - d).max(1) as f64).max(TINY);
        let variances: Vec<f64> = found.values.iter().map(|e| (e / h as f64).max(noise)).collect();
        let components = found.vectors.transposed();
        let mut row = vec![0.0; features];
        let mut scores = vec![0.0; components.rows()];
        let squares: Vec<f64> = (0..n)
            .map(|i| {
                row.iter_mut().zip(table.row(i).iter().zip(&center)).for_each(|(z, (x, c))| *z = x - c);
                row_products(&row, &components, &mut scores);
                let along: f64 = scores.iter().zip(&variances).map(|(s, v)| s * s / v).sum();
                let inside: f64 = scores.iter().map(|s| s * s).sum();
                along + (square_norm(&row) - inside).max(0.0) / noise
            })
            .collect();
        if step == STEPS {
            let distances: Vec<f64> = squares.iter().map(|s| s.sqrt()).collect();
            let limit = distance_limit(&distances, h);
            let mut kept: Vec<bool> = distances.iter().map(|t| *t <= limit).collect();
            if kept.iter().filter(|kept| **kept).count() < h {
                smallest(&distances, h).into_iter().for_each(|i| kept[i] = true);
            }
            return Ok(ConcentratedStart { components, kept });
        }
        half = smallest(&squares, h);
        basis = Some(found.basis);
        step += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_distance_is_beyond_the_limit() {
        let mut distances: Vec<f64> = (0..40).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        distances.push(9.0);
        let limit = distance_limit(&distances, 21);
        assert!(distances[..40].iter().all(|t| *t <= limit) && distances[40] > limit, "{limit}");
    }
}
