//! What the test files share: what the library's tests share, and data for the pursuit.

// One generator and one measure of angles for all crates.
#[path = "../../../../steradian/tests/suite/common/mod.rs"]
mod library;

pub use library::{TestRandom, alone, golden, largest_sine, sine, source};
use steradian::{Config, Local, Matrix, Model};

/// A product of two thin matrices, and a share of cells that are something else.
pub fn low_rank_and_sparse(seed: u64, n: usize, features: usize, rank: usize, share: f64) -> Matrix {
    let mut numbers = TestRandom::new(seed);
    let (left, right) = (numbers.matrix(n, rank), numbers.matrix(rank, features));
    let mut x = library::product(&left, &right);
    for cell in x.data_mut() {
        if numbers.uniform() < share {
            *cell += 16.0 * numbers.uniform() - 8.0;
        }
    }
    x
}

/// Fits a baseline on some threads.
pub fn fit(config: &Config, x: &Matrix, threads: usize) -> Model {
    steradian_baselines::fit(config, &source(x), &Local::new(threads).unwrap()).unwrap()
}

/// The root of the sum of squares of differences, relative to that of `b`.
pub fn relative(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lists of different length");
    let off: f64 = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum();
    (off / b.iter().map(|y| y * y).sum::<f64>()).sqrt()
}
