//! Helpers of the tests: golden arrays, synthetic data, angles between subspaces.
#![allow(dead_code)] // other crates use a subset of these helpers

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use steradian::model::RowModel;
use steradian::{Local, Matrix, Method, Model, SliceSource, Solver, Source};

/// The folder of a golden case.
pub fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case)
}

/// A small .npy array as f64 values: shape and values in C order, of any dtype that the golden cases use.
pub fn read_npy(path: &Path) -> (Vec<usize>, Vec<f64>) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let length = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let between = |a: &str, b: &str| {
        let start = header.find(a).unwrap() + a.len();
        &header[start..start + header[start..].find(b).unwrap()]
    };
    let shape = between("'shape': (", ")").split(',').filter_map(|s| s.trim().parse().ok()).collect();
    let data = &bytes[10 + length..];
    let values = match between("'descr': '", "'") {
        "<f8" => data.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
        "<f4" => data.chunks_exact(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
        "<i8" => data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64).collect(),
        "|u1" | "|b1" => data.iter().map(|&b| f64::from(b)).collect(),
        other => panic!("{}: dtype {other}", path.display()),
    };
    (shape, values)
}

/// A small random number generator for test data, independent of the library's generator.
pub struct TestRandom(u64);

impl TestRandom {
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

    pub fn matrix(&mut self, rows: usize, columns: usize) -> Matrix {
        let data = (0..rows * columns).map(|_| self.normal()).collect();
        Matrix::from_vec(rows, columns, data)
    }

    /// A random orthogonal matrix, by Gram-Schmidt on normal rows.
    pub fn rotation(&mut self, size: usize) -> Matrix {
        let mut q = self.matrix(size, size);
        orthonormalize(&mut q);
        q
    }

    /// Samples with a decreasing spectrum about an offset: a few strong directions, many weak ones.
    pub fn samples(&mut self, n: usize, features: usize, strong: usize) -> Matrix {
        let basis = self.matrix(strong, features);
        let offset: Vec<f64> = (0..features).map(|_| 3.0 * self.normal()).collect();
        let mut x = Matrix::zeros(n, features);
        for i in 0..n {
            let scores: Vec<f64> = (0..strong).map(|k| self.normal() * 4.0 / (k + 1) as f64).collect();
            for j in 0..features {
                let along: f64 = (0..strong).map(|k| scores[k] * basis[(k, j)]).sum();
                x[(i, j)] = offset[j] + along + 0.3 * self.normal();
            }
        }
        x
    }
}

/// Orthonormalizes the rows by Gram-Schmidt, with two sweeps.
pub fn orthonormalize(q: &mut Matrix) {
    for i in 0..q.rows() {
        for _ in 0..2 {
            for j in 0..i {
                let dot: f64 = (0..q.columns()).map(|k| q[(i, k)] * q[(j, k)]).sum();
                (0..q.columns()).for_each(|k| q[(i, k)] -= dot * q[(j, k)]);
            }
        }
        let length = q.row(i).iter().map(|x| x * x).sum::<f64>().sqrt();
        q.row_mut(i).iter_mut().for_each(|x| *x /= length);
    }
}

/// The matrix product A B.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.columns());
    for i in 0..a.rows() {
        for j in 0..b.columns() {
            out[(i, j)] = (0..a.columns()).map(|k| a[(i, k)] * b[(k, j)]).sum();
        }
    }
    out
}

/// A model that rows are compared with, of random components and unit scales.
pub fn row_model(seed: u64, features: usize, d: usize) -> RowModel {
    let mut numbers = TestRandom::new(seed);
    let mut components = numbers.matrix(d, features);
    orthonormalize(&mut components);
    RowModel {
        center: (0..features).map(|_| numbers.normal()).collect(),
        components,
        variances: (0..d).map(|k| 9.0 / (k + 1) as f64).collect(),
        noise: 0.5,
        limits: vec![1.0; features],
        location: vec![0.0; features],
        scale: vec![2.0; features],
        cleans: true,
        scale_features: Vec::new(),
    }
}

/// Samples in memory as a source.
pub fn source(x: &Matrix) -> SliceSource<'_, f64> {
    SliceSource::new(x.data(), x.rows(), x.columns()).unwrap()
}

/// The part of each row of `a` outside the row space of `b`, whose rows are orthonormal.
fn outside(a: &Matrix, b: &Matrix) -> Matrix {
    let mut rest = a.clone();
    for i in 0..a.rows() {
        for _ in 0..2 {
            for j in 0..b.rows() {
                let dot: f64 = rest.row(i).iter().zip(b.row(j)).map(|(x, y)| x * y).sum();
                rest.row_mut(i).iter_mut().zip(b.row(j)).for_each(|(x, y)| *x -= dot * y);
            }
        }
    }
    rest
}

/// Upper bound (Frobenius norm) on the sine of the largest angle between the row spaces of two sets of orthonormal
/// rows.
pub fn sine(a: &Matrix, b: &Matrix) -> f64 {
    outside(a, b).data().iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The sine of the largest angle between the row spaces: the spectral norm, by 100 steps of the power method.
pub fn largest_sine(a: &Matrix, b: &Matrix) -> f64 {
    let rest = outside(a, b);
    let mut along = vec![1.0; a.rows()];
    let mut square = 0.0;
    for _ in 0..100 {
        let image: Vec<f64> =
            (0..rest.columns()).map(|k| (0..rest.rows()).map(|i| along[i] * rest[(i, k)]).sum()).collect();
        let back: Vec<f64> =
            (0..rest.rows()).map(|i| rest.row(i).iter().zip(&image).map(|(x, y)| x * y).sum()).collect();
        square = back.iter().map(|x| x * x).sum::<f64>().sqrt();
        if square == 0.0 {
            break;
        }
        along = back.iter().map(|x| x / square).collect();
    }
    square.sqrt()
}

/// The largest absolute difference between two lists of values.
pub fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lists of different length");
    a.iter().zip(b).fold(0.0, |m, (x, y)| m.max((x - y).abs()))
}

/// Fits with a configuration on some threads.
pub fn fit(config: &steradian::Config, source: &dyn Source, threads: usize) -> steradian::Result<Model> {
    steradian::fit(config, source, &Local::new(threads).unwrap())
}

/// The solvers that a method accepts: the robust methods choose theirs themselves.
pub fn solvers(method: Method) -> &'static [Solver] {
    if method.is_cellwise() { &[Solver::Auto] } else { &[Solver::Scatter, Solver::Gram, Solver::Krylov] }
}

/// The message of an error, after a check of its form: one line, no full stop, no option of a program such as
/// `--exact`.
pub fn message_of(error: &steradian::Error) -> String {
    let message = error.to_string();
    assert!(!message.contains("--"), "an option of a program: {message}");
    assert!(!message.contains('\n') && !message.ends_with('.'), "not one line without a full stop: {message}");
    message
}

/// True in a process that runs only the test of this name. Otherwise starts that process, prints its output and asserts
/// that the test passed there. For tests that measure the heap, which all tests of a process share.
pub fn alone(test: &str) -> bool {
    const MARK: &str = "STERADIAN_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(MARK, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} failed in its own process");
    assert!(text.contains("test result: ok. 1 passed"), "no test is named {test}");
    false
}

/// The number of threads of this process, where the system tells.
pub fn threads_of_process() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// Waits until this process has no more than `threads` threads again: those of a fit end after its return, and free their
/// buffers last. Without a count of threads it waits for a time in which they usually end.
pub fn wait_for_threads(threads: Option<usize>) {
    let Some(threads) = threads else { return std::thread::sleep(Duration::from_millis(50)) };
    let start = Instant::now();
    while threads_of_process().is_some_and(|now| now > threads) {
        assert!(start.elapsed() < Duration::from_secs(20), "threads of a fit did not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}
