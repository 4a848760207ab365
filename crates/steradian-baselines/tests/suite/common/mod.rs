//! Helpers of the tests: those of the core crate, and data for the pursuit.

// One random number generator and one definition of angles for all crates.
#[path = "../../../../steradian/tests/suite/common/mod.rs"]
mod library;

pub use library::{TestRandom, alone, golden, largest_sine, message_of, sine, source};
use steradian::{Config, Local, Matrix, Model};

/// A product of two thin matrices, with a fraction of the cells contaminated.
pub fn low_rank_and_sparse(seed: u64, n: usize, features: usize, rank: usize, fraction: f64) -> Matrix {
    let mut numbers = TestRandom::new(seed);
    let (left, right) = (numbers.matrix(n, rank), numbers.matrix(rank, features));
    let mut x = library::product(&left, &right);
    for cell in x.data_mut() {
        if numbers.uniform() < fraction {
            *cell += 16.0 * numbers.uniform() - 8.0;
        }
    }
    x
}

/// Fits a baseline on some threads.
pub fn fit(config: &Config, x: &Matrix, threads: usize) -> Model {
    steradian_baselines::fit(config, &source(x), &Local::new(threads).unwrap()).unwrap()
}

/// The Euclidean norm of the difference, relative to that of `b`.
pub fn relative(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lists of different length");
    let off: f64 = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum();
    (off / b.iter().map(|y| y * y).sum::<f64>()).sqrt()
}
