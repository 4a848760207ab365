//! Exact subspaces of small problems for comparison: weighted scatter matrices and their eigenvectors in arithmetic of
//! 106 bits (pairs of f64), by cyclic Jacobi rotations.

use std::ops::{Add, Div, Mul, Neg, Sub};

use steradian::Matrix;

/// A number as the unevaluated sum of two f64 (Dekker 1971).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair(pub f64, pub f64);

fn two_sum(a: f64, b: f64) -> Pair {
    let s = a + b;
    let t = s - a;
    Pair(s, (a - (s - t)) + (b - t))
}

fn two_product(a: f64, b: f64) -> Pair {
    let split = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let p = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    Pair(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl)
}

fn normalized(a: f64, b: f64) -> Pair {
    let s = a + b;
    Pair(s, b - (s - a))
}

impl From<f64> for Pair {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl Add for Pair {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (s, t) = (two_sum(self.0, other.0), two_sum(self.1, other.1));
        let s = normalized(s.0, s.1 + t.0);
        normalized(s.0, s.1 + t.1)
    }
}

impl Neg for Pair {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Pair {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Pair {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let p = two_product(self.0, other.0);
        normalized(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Pair {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self - other * first.into();
        let second = rest.0 / other.0;
        let rest = rest - other * second.into();
        normalized(first, second) + (rest.0 / other.0).into()
    }
}

impl Pair {
    pub fn sqrt(self) -> Self {
        if self.0 <= 0.0 {
            return Self(0.0, 0.0);
        }
        let first = self.0.sqrt();
        let rest = self - two_product(first, first);
        normalized(first, rest.0 / (2.0 * first))
    }

    fn is_below(self, other: Self) -> bool {
        self.0 < other.0 || self.0 == other.0 && self.1 < other.1
    }
}

/// sum w (x - mu)(x - mu)' over the active rows, divided by their number; w is 1, or 1 / norm(x - mu)^2.
pub fn scatter(x: &Matrix, center: &[f64], unit: bool, active: &[bool]) -> Vec<Vec<Pair>> {
    let features = x.columns();
    let mut sum = vec![vec![Pair(0.0, 0.0); features]; features];
    let mut count = 0.0;
    for i in (0..x.rows()).filter(|&i| active[i]) {
        let row: Vec<Pair> = x.row(i).iter().zip(center).map(|(x, c)| two_sum(*x, -*c)).collect();
        let square = row.iter().fold(Pair(0.0, 0.0), |sum, x| sum + *x * *x);
        if unit && square.0 == 0.0 {
            continue;
        }
        count += 1.0;
        for j in 0..features {
            for k in 0..=j {
                let product = row[j] * row[k];
                sum[j][k] = sum[j][k] + if unit { product / square } else { product };
            }
        }
    }
    let mean = |j: usize, k: usize| sum[j.max(k)][j.min(k)] / Pair::from(count);
    (0..features).map(|j| (0..features).map(|k| mean(j, k)).collect()).collect()
}

/// Eigenvalues, largest first, and eigenvectors as rows, of a symmetric matrix.
pub fn eigen(mut a: Vec<Vec<Pair>>) -> (Vec<Pair>, Vec<Vec<Pair>>) {
    let n = a.len();
    let (zero, one) = (Pair(0.0, 0.0), Pair(1.0, 0.0));
    let mut v: Vec<Vec<Pair>> = (0..n).map(|i| (0..n).map(|j| if i == j { one } else { zero }).collect()).collect();
    let norm = a.iter().flatten().map(|x| x.0 * x.0).sum::<f64>().sqrt();
    for _ in 0..60 {
        let off = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).fold(0.0f64, |m, (i, j)| m.max(a[i][j].0.abs()));
        if off <= 1e-31 * norm {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].0.abs() <= 1e-33 * norm {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (a[p][q] + a[p][q]);
                let root = (theta * theta + one).sqrt();
                let t = if theta.0 >= 0.0 { one / (theta + root) } else { -(one / (root - theta)) };
                let c = one / (t * t + one).sqrt();
                let s = t * c;
                for row in &mut a {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (c * x - s * y, s * x + c * y);
                }
                for rows in [&mut a, &mut v] {
                    let (x, y) = (rows[p].clone(), rows[q].clone());
                    rows[p] = x.iter().zip(&y).map(|(x, y)| c * *x - s * *y).collect();
                    rows[q] = x.iter().zip(&y).map(|(x, y)| s * *x + c * *y).collect();
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(
        |&i, &j| if a[j][j].is_below(a[i][i]) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater },
    );
    (order.iter().map(|&i| a[i][i]).collect(), order.iter().map(|&i| v[i].clone()).collect())
}

/// The sine of the largest angle between the row space of `found` and the span of the first rows of `exact`. Upper
/// estimate: the Frobenius norm, after the rows of `found` are orthonormalized here.
pub fn sine(found: &Matrix, exact: &[Vec<Pair>]) -> f64 {
    let mut rows: Vec<Vec<Pair>> =
        (0..found.rows()).map(|i| found.row(i).iter().map(|x| Pair::from(*x)).collect()).collect();
    let dot = |a: &[Pair], b: &[Pair]| a.iter().zip(b).fold(Pair(0.0, 0.0), |sum, (x, y)| sum + *x * *y);
    for i in 0..rows.len() {
        let (before, rest) = rows.split_at_mut(i);
        for other in before.iter() {
            let along = dot(&rest[0], other);
            rest[0].iter_mut().zip(other).for_each(|(x, y)| *x = *x - along * *y);
        }
        let length = dot(&rest[0], &rest[0]).sqrt();
        rest[0].iter_mut().for_each(|x| *x = *x / length);
    }
    let mut square = 0.0;
    for row in &mut rows {
        for other in exact {
            let along = dot(row, other);
            row.iter_mut().zip(other).for_each(|(x, y)| *x = *x - along * *y);
        }
        square += dot(row, row).0;
    }
    square.sqrt()
}

#[test]
fn eigenvectors_of_a_known_matrix_have_thirty_digits() {
    // Eigenvalues 3 and 1 + 1e-20 apart from others that f64 cannot tell from each other.
    let tiny = 1e-20;
    let a = vec![
        vec![Pair(2.0, 0.0), Pair(1.0, 0.0), Pair(0.0, 0.0)],
        vec![Pair(1.0, 0.0), Pair(2.0, 0.0), Pair(0.0, 0.0)],
        vec![Pair(0.0, 0.0), Pair(0.0, 0.0), Pair(1.0, tiny)],
    ];
    let (values, vectors) = eigen(a);
    assert!((values[0].0 - 3.0).abs() < 1e-30 && (values[1] - Pair(1.0, tiny)).0.abs() < 1e-29, "{values:?}");
    assert!((vectors[1][2].0.abs() - 1.0).abs() < 1e-15 && vectors[1][0].0.abs() < 1e-9, "{vectors:?}");
}
