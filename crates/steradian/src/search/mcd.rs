//! The minimum covariance determinant of a few columns (FAST-MCD, Rousseeuw and Van Driessen 1999).

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;

use super::outlyingness::{mean_of, select_rows, smallest};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{Stream, generator};
use crate::numeric::statistics::{chi_square_quantile, robust_scale};

/// Random subsets, and those that go on to convergence.
const SUBSETS: (usize, usize) = (100, 10);
/// Rows on which the random subsets are compared, at most: evenly spaced places of the table.
const COMPARED: usize = 300;
/// Concentration steps of every subset, and of the best ones.
const STEPS: (usize, usize) = (3, 10);
/// Quantile of chi-square within which rows are kept.
const KEPT: f64 = 0.975;
/// Ridge of the covariance, relative to standardized columns.
const RIDGE: f64 = 1e-9;

/// Location and covariance C = L L' of some rows.
struct Ellipsoid {
    center: Vec<f64>,
    /// L, lower triangular.
    root: Matrix,
    log_determinant: f64,
}

impl Ellipsoid {
    fn of(table: &Matrix, rows: &[usize]) -> Self {
        let p = table.columns();
        let center = mean_of(table, rows);
        let mut root = Matrix::zeros(p, p);
        let mut z = vec![0.0; p];
        for &i in rows {
            z.iter_mut().zip(table.row(i).iter().zip(&center)).for_each(|(z, (x, c))| *z = x - c);
            for a in 0..p {
                root.row_mut(a)[..=a].iter_mut().zip(&z).for_each(|(sum, b)| *sum += z[a] * b);
            }
        }
        let count = rows.len() as f64;
        let mut log_determinant = 0.0;
        for a in 0..p {
            for b in 0..=a {
                let ridge = if a == b { RIDGE } else { 0.0 };
                let known: f64 = (0..b).map(|k| root[(a, k)] * root[(b, k)]).sum();
                let rest = root[(a, b)] / count + ridge - known;
                root[(a, b)] = if a == b { rest.max(RIDGE * RIDGE).sqrt() } else { rest / root[(b, b)] };
            }
            log_determinant += 2.0 * root[(a, a)].ln();
        }
        Self { center, root, log_determinant }
    }

    fn squares(&self, table: &Matrix) -> Vec<f64> {
        let p = table.columns();
        let mut z = vec![0.0; p];
        (0..table.rows())
            .map(|i| {
                let row = table.row(i);
                for a in 0..p {
                    let root = self.root.row(a);
                    let known: f64 = root[..a].iter().zip(&z).map(|(l, z)| l * z).sum();
                    z[a] = (row[a] - self.center[a] - known) / root[a];
                }
                z.iter().map(|z| z * z).sum()
            })
            .collect()
    }
}

/// Concentration steps to the h rows of least distance, which end where the rows do not change.
fn concentrated(table: &Matrix, start: Ellipsoid, h: usize, steps: usize) -> Ellipsoid {
    let mut ellipsoid = start;
    let mut rows = Vec::new();
    for _ in 0..steps {
        let next = smallest(&ellipsoid.squares(table), h);
        if next == rows {
            break;
        }
        rows = next;
        ellipsoid = Ellipsoid::of(table, &rows);
    }
    ellipsoid
}

/// The rows within the 97.5 % quantile of the half of least determinant, whose distances are scaled so that the h-th is the
/// quantile of h / n.
pub(crate) fn kept_by_mcd(scores: &Matrix, h: usize, seed: u64) -> Vec<bool> {
    let (n, p) = (scores.rows(), scores.columns());
    let mut table = scores.clone();
    for k in 0..p {
        let scale = robust_scale(&(0..n).map(|i| scores[(i, k)]).collect::<Vec<_>>());
        let factor = if scale > 0.0 { 1.0 / scale } else { 1.0 };
        (0..n).for_each(|i| table[(i, k)] *= factor);
    }
    let few: Vec<usize> = (0..n.min(COMPARED)).map(|place| place * n / n.min(COMPARED)).collect();
    let compared = select_rows(&table, &few);
    let compared_h = (h * few.len()).div_ceil(n);
    let mut random = generator(seed, Stream::Subsets);
    let subsets: Vec<Vec<usize>> =
        (0..SUBSETS.0).map(|_| draw(few.len(), (p + 1).min(few.len()), &mut random)).collect();
    let first: Vec<Ellipsoid> = subsets
        .into_par_iter()
        .map(|rows| concentrated(&compared, Ellipsoid::of(&compared, &rows), compared_h, STEPS.0))
        .collect();
    let determinants: Vec<f64> = first.iter().map(|ellipsoid| ellipsoid.log_determinant).collect();
    let best = smallest(&determinants, SUBSETS.1);
    let mut first: Vec<Option<Ellipsoid>> = first.into_iter().map(Some).collect();
    let starts: Vec<Ellipsoid> = best.into_iter().filter_map(|k| first[k].take()).collect();
    let last: Vec<Ellipsoid> = starts.into_par_iter().map(|start| concentrated(&table, start, h, STEPS.1)).collect();
    let order = |a: &&Ellipsoid, b: &&Ellipsoid| a.log_determinant.total_cmp(&b.log_determinant);
    let Some(ellipsoid) = last.iter().min_by(order) else { return vec![true; n] };
    let squares = ellipsoid.squares(&table);
    let mut sorted = squares.clone();
    let (_, &mut at_h, _) = sorted.select_nth_unstable_by(h - 1, f64::total_cmp);
    let expected = if h < n { chi_square_quantile(h as f64 / n as f64, p) } else { at_h };
    let limit = chi_square_quantile(KEPT, p) * if expected > 0.0 { at_h / expected } else { 1.0 };
    squares.iter().map(|s| *s <= limit).collect()
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
