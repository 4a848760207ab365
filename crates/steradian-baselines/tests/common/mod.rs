//! What the test files share: made data and angles between subspaces.
#![allow(dead_code)] // each test file uses a part of this

use steradian::{Config, Local, Matrix, Memory, Model};

/// A small generator for test data; the library's own is not for tests to lean on.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Samples with a few strong directions around an offset.
    pub fn samples(&mut self, n: usize, features: usize, strong: usize) -> Matrix {
        let basis: Vec<f64> = (0..strong * features).map(|_| self.normal()).collect();
        let mut x = Matrix::zeros(n, features);
        for i in 0..n {
            let scores: Vec<f64> = (0..strong).map(|k| self.normal() * 4.0 / (k + 1) as f64).collect();
            for j in 0..features {
                let along: f64 = (0..strong).map(|k| scores[k] * basis[k * features + j]).sum();
                x[(i, j)] = 3.0 + along + 0.3 * self.normal();
            }
        }
        x
    }

    /// A product of two thin matrices, and a share of cells that are something else.
    pub fn low_rank_and_sparse(&mut self, n: usize, features: usize, rank: usize, share: f64) -> Matrix {
        let left: Vec<f64> = (0..n * rank).map(|_| self.normal()).collect();
        let right: Vec<f64> = (0..rank * features).map(|_| self.normal()).collect();
        let mut x = Matrix::zeros(n, features);
        for i in 0..n {
            for j in 0..features {
                x[(i, j)] = (0..rank).map(|k| left[i * rank + k] * right[k * features + j]).sum();
                if self.uniform() < share {
                    x[(i, j)] += 16.0 * self.uniform() - 8.0;
                }
            }
        }
        x
    }
}

/// Samples in memory as a source.
pub fn source(x: &Matrix) -> Memory<'_, f64> {
    Memory::new(x.data(), x.rows(), x.columns()).unwrap()
}

/// Fits a baseline on some threads.
pub fn fit(config: &Config, x: &Matrix, threads: usize) -> Model {
    steradian_baselines::fit(config, &source(x), &Local::new(threads).unwrap()).unwrap()
}

/// The sine of the largest angle between two sets of orthonormal rows, from above (Frobenius norm).
pub fn sine(a: &Matrix, b: &Matrix) -> f64 {
    let mut square = 0.0;
    for i in 0..a.rows() {
        let mut rest = a.row(i).to_vec();
        for _ in 0..2 {
            for j in 0..b.rows() {
                let dot: f64 = rest.iter().zip(b.row(j)).map(|(x, y)| x * y).sum();
                rest.iter_mut().zip(b.row(j)).for_each(|(x, y)| *x -= dot * y);
            }
        }
        square += rest.iter().map(|x| x * x).sum::<f64>();
    }
    square.sqrt()
}

/// The root of the sum of squares of differences, relative to that of `b`.
pub fn relative(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lists of different length");
    let off: f64 = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum();
    (off / b.iter().map(|y| y * y).sum::<f64>()).sqrt()
}
