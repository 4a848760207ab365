//! The minimum covariance determinant of a few columns (FAST-MCD, Rousseeuw and Van Driessen 1999).

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

use super::outlyingness::smallest;
use crate::error::Result;
use crate::numeric::linalg::{Matrix, symmetric_eigen};
use crate::numeric::random::{Stream, generator};
use crate::numeric::statistics::{chi_square_quantile, robust_scale};

/// Random subsets, and those that go on to convergence.
const SUBSETS: (usize, usize) = (100, 10);
/// Concentration steps of every subset, and of the best ones.
const STEPS: (usize, usize) = (3, 10);
/// Quantile of chi-square within which rows are kept.
const KEPT: f64 = 0.975;
/// Ridge of the covariance, relative to standardized columns.
const RIDGE: f64 = 1e-9;

/// Location and inverse covariance of some rows.
struct Ellipsoid {
    center: Vec<f64>,
    /// Rows that map a deviation to a standardized one.
    map: Matrix,
    log_determinant: f64,
}

impl Ellipsoid {
    fn of(table: &Matrix, rows: &[usize]) -> Result<Self> {
        let p = table.columns();
        let center = super::outlyingness::mean_of(table, rows);
        let mut covariance = Matrix::zeros(p, p);
        for &i in rows {
            let row = table.row(i);
            for a in 0..p {
                for b in 0..=a {
                    covariance[(a, b)] += (row[a] - center[a]) * (row[b] - center[b]);
                }
            }
        }
        for a in 0..p {
            for b in 0..=a {
                covariance[(a, b)] /= rows.len() as f64;
            }
            covariance[(a, a)] += RIDGE;
        }
        let (values, vectors) = symmetric_eigen(&covariance)?;
        let values: Vec<f64> = values.iter().map(|v| v.max(RIDGE)).collect();
        let mut map = vectors.transposed();
        values.iter().enumerate().for_each(|(k, v)| map.row_mut(k).iter_mut().for_each(|x| *x /= v.sqrt()));
        Ok(Self { center, map, log_determinant: values.iter().map(|v| v.ln()).sum() })
    }

    fn squares(&self, table: &Matrix) -> Vec<f64> {
        let p = table.columns();
        let mut z = vec![0.0; p];
        (0..table.rows())
            .map(|i| {
                z.iter_mut().zip(table.row(i).iter().zip(&self.center)).for_each(|(z, (x, c))| *z = x - c);
                let along = |k: usize| self.map.row(k).iter().zip(&z).map(|(m, z)| m * z).sum::<f64>();
                (0..p).map(|k| along(k).powi(2)).sum()
            })
            .collect()
    }
}

/// The rows within the 97.5 % quantile of the half of least determinant, whose distances are scaled so that the h-th is the
/// quantile of h / n.
pub(crate) fn kept_by_mcd(scores: &Matrix, h: usize, seed: u64) -> Result<Vec<bool>> {
    let (n, p) = (scores.rows(), scores.columns());
    let mut table = scores.clone();
    for k in 0..p {
        let scale = robust_scale(&(0..n).map(|i| scores[(i, k)]).collect::<Vec<_>>());
        let factor = if scale > 0.0 { 1.0 / scale } else { 1.0 };
        (0..n).for_each(|i| table[(i, k)] *= factor);
    }
    let mut random = generator(seed, Stream::Subsets);
    let subsets: Vec<Vec<usize>> = (0..SUBSETS.0).map(|_| draw(n, (p + 1).min(n), &mut random)).collect();
    let steps = |mut rows: Vec<usize>, count: usize| -> Result<(Vec<usize>, Ellipsoid)> {
        for _ in 0..count {
            rows = smallest(&Ellipsoid::of(&table, &rows)?.squares(&table), h);
        }
        let last = Ellipsoid::of(&table, &rows)?;
        Ok((rows, last))
    };
    let first: Vec<(Vec<usize>, Ellipsoid)> =
        subsets.into_par_iter().map(|rows| steps(rows, STEPS.0)).collect::<Result<_>>()?;
    let determinants: Vec<f64> = first.iter().map(|(_, ellipsoid)| ellipsoid.log_determinant).collect();
    let best = smallest(&determinants, SUBSETS.1);
    let last: Vec<(Vec<usize>, Ellipsoid)> =
        best.into_par_iter().map(|k| steps(first[k].0.clone(), STEPS.1)).collect::<Result<_>>()?;
    let order = |a: &&(Vec<usize>, Ellipsoid), b: &&(Vec<usize>, Ellipsoid)| {
        a.1.log_determinant.total_cmp(&b.1.log_determinant)
    };
    let Some((_, ellipsoid)) = last.iter().min_by(order) else { return Ok(vec![true; n]) };
    let squares = ellipsoid.squares(&table);
    let mut sorted = squares.clone();
    let (_, &mut at_h, _) = sorted.select_nth_unstable_by(h - 1, f64::total_cmp);
    let expected = if h < n { chi_square_quantile(h as f64 / n as f64, p) } else { at_h };
    let limit = chi_square_quantile(KEPT, p) * if expected > 0.0 { at_h / expected } else { 1.0 };
    Ok(squares.iter().map(|s| *s <= limit).collect())
}

/// Different places below n, ascending.
fn draw(n: usize, count: usize, random: &mut impl Rng) -> Vec<usize> {
    let mut chosen = std::collections::BTreeSet::new();
    for top in n - count..n {
        let pick = (random.next_u64() % (top as u64 + 1)) as usize;
        if !chosen.insert(pick) {
            chosen.insert(top);
        }
    }
    chosen.into_iter().collect()
}
