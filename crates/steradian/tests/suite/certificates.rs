//! Certificates against exact subspaces on adversarial problems, and methods against a scalar reference: random shapes,
//! element types, memory orders and scales. `STERADIAN_CERTIFICATES=5000` sets the number of problems.

use std::ops::Range;

use crate::common::{TestRandom, fit, source};
use crate::exact;
use steradian::data::{Block, BlockData, Element, Rows, Shape};
use steradian::random::{Stream, normal_matrix};
use steradian::{Center, Config, Error, Matrix, Method, Model, Result, SliceSource, Solver, Source};

/// Error of the comparison itself: components are rounded to f64.
const COMPARISON: f64 = 2e-15;

/// The problems: their number, or a range such as `14693..14694` to repeat a failure.
fn problems() -> Range<u64> {
    let text = std::env::var("STERADIAN_CERTIFICATES").unwrap_or("300".to_owned());
    let (first, last) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("a number of problems, or a range of them");
    number(first)..number(last)
}

/// Rows in memory of any order: C, Fortran, or with gaps.
struct Ordered<T> {
    data: Vec<T>,
    shape: Shape,
    strides: (usize, usize),
}

impl<T: Element> Ordered<T> {
    fn new(x: &Matrix, order: u64, narrow: impl Fn(f64) -> T) -> Self {
        let (n, features) = (x.rows(), x.columns());
        let strides = match order % 3 {
            0 => (features, 1),
            1 => (1, n),
            _ => (2 * features + 1, 2),
        };
        let mut data = vec![T::default(); (n - 1) * strides.0 + (features - 1) * strides.1 + 1];
        for i in 0..n {
            (0..features).for_each(|j| data[i * strides.0 + j * strides.1] = narrow(x[(i, j)]));
        }
        Self { data, shape: Shape { samples: n, features, element: T::TYPE, image: None }, strides }
    }
}

macro_rules! ordered_source {
    ($type:ty, $variant:ident) => {
        impl Source for Ordered<$type> {
            fn shape(&self) -> &Shape {
                &self.shape
            }

            fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
                let (row, column) = self.strides;
                let part = Rows::strided(
                    &self.data,
                    rows.start * row,
                    rows.len(),
                    self.shape.features,
                    row as isize,
                    column as isize,
                )?;
                visit(Block::new(rows.start, BlockData::$variant(part)))
            }
        }
    };
}

ordered_source!(u8, U8);
ordered_source!(u16, U16);
ordered_source!(f32, F32);
ordered_source!(f64, F64);

/// Rows with the given eigenvalues about the origin: each axis of a random rotation and its negative.
fn axes(numbers: &mut TestRandom, eigenvalues: &[f64], rotated: bool) -> Matrix {
    let features = eigenvalues.len();
    let mut rotation = Matrix::zeros(features, features);
    (0..features).for_each(|i| rotation[(i, i)] = 1.0);
    if rotated {
        rotation = numbers.rotation(features);
    }
    let mut x = Matrix::zeros(2 * features, features);
    for (j, value) in eigenvalues.iter().enumerate() {
        for i in 0..features {
            x[(2 * j, i)] = value.sqrt() * rotation[(j, i)];
            x[(2 * j + 1, i)] = -x[(2 * j, i)];
        }
    }
    x
}

/// A problem with its method, center and number of components.
struct Problem {
    kind: &'static str,
    x: Matrix,
    d: usize,
    center: Center,
}

const KINDS: u64 = 7;

fn problem(k: u64, numbers: &mut TestRandom) -> Problem {
    let features = 4 + (numbers.next() % 9) as usize;
    let d = 1 + (numbers.next() % (features as u64 - 1).min(4)) as usize;
    let tail = |j: usize| 0.6f64.powi(j as i32);
    let gap = 10f64.powf(-12.0 * numbers.uniform());
    let level = |j: usize, gap: f64| if j < d { 1.0 + gap + 0.4 * (d - 1 - j) as f64 } else { tail(j - d) };
    match k % KINDS {
        0 => {
            let values: Vec<f64> = (0..features).map(|j| level(j, gap)).collect();
            Problem { kind: "gap", x: axes(numbers, &values, true), d, center: Center::None }
        }
        1 => {
            // Two eigenvalues at the cut are equal: exactly without a rotation, up to rounding with one.
            let values: Vec<f64> = (0..features).map(|j| level(j, 0.0)).collect();
            let rotated = numbers.next().is_multiple_of(2);
            Problem { kind: "equal eigenvalues", x: axes(numbers, &values, rotated), d, center: Center::None }
        }
        2 => {
            let rank = d + (numbers.next() % 2) as usize;
            let basis = numbers.matrix(rank, features);
            let n = 12 + (numbers.next() % 40) as usize;
            let scores = numbers.matrix(n, rank);
            Problem { kind: "rank", x: crate::common::product(&scores, &basis), d, center: Center::Mean }
        }
        3 => {
            let n = 12 + (numbers.next() % 60) as usize;
            Problem { kind: "random", x: numbers.samples(n, features, 2), d, center: Center::Mean }
        }
        4 => {
            // Rows whose norms differ by many orders of magnitude.
            let n = 10 + (numbers.next() % 30) as usize;
            let mut x = numbers.matrix(n, features);
            for i in 0..x.rows() {
                let factor = 10f64.powf(12.0 * numbers.uniform() - 6.0);
                x.row_mut(i).iter_mut().for_each(|x| *x *= factor);
            }
            Problem { kind: "norms", x, d, center: Center::None }
        }
        5 => {
            // A large offset, which the center must remove.
            let n = 20 + (numbers.next() % 40) as usize;
            let mut x = numbers.samples(n, features, 2);
            x.data_mut().iter_mut().for_each(|x| *x += 1e6);
            Problem { kind: "offset", x, d, center: Center::Mean }
        }
        _ => {
            let seed = 0;
            Problem { kind: "hidden", x: hidden(numbers, 24, 60, 40, seed), d: 2, center: Center::None }
        }
    }
}

/// Rows of which `heavy` lie along a direction that is orthogonal to the start block of a seed and to all other rows.
fn hidden(numbers: &mut TestRandom, features: usize, heavy: usize, others: usize, seed: u64) -> Matrix {
    let start = normal_matrix(features, 8, seed, Stream::Krylov);
    // The first eight rows span the start block; the last one is orthogonal to them.
    let mut basis = numbers.matrix(9, features);
    for k in 0..8 {
        (0..features).for_each(|j| basis[(k, j)] = start[(j, k)]);
    }
    crate::common::orthonormalize(&mut basis);
    let mut x = Matrix::zeros(heavy + others, features);
    for i in 0..heavy {
        let length = if i % 2 == 0 { 1.0 } else { -1.0 } * (1.0 + 0.01 * i as f64 / heavy as f64);
        (0..features).for_each(|j| x[(i, j)] = length * basis[(8, j)]);
    }
    for i in heavy..heavy + others {
        for k in 0..8 {
            let score = numbers.normal() / (1 + k) as f64;
            (0..features).for_each(|j| x[(i, j)] += score * basis[(k, j)]);
        }
    }
    x
}

/// The data as the library reads them, as f64 numbers, and the fit.
fn fit_as(x: &Matrix, element: u64, order: u64, scale: i32, config: &Config) -> (Matrix, Result<Model>) {
    let factor = 10f64.powi(scale);
    let as_read =
        |f: &dyn Fn(f64) -> f64| Matrix::from_vec(x.rows(), x.columns(), x.data().iter().map(|v| f(*v)).collect());
    let largest = x.data().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    match element % 4 {
        0 => {
            let byte = move |v: f64| (128.0 + 100.0 * v / largest).round().clamp(0.0, 255.0);
            let read = as_read(&byte);
            let found = fit(config, &Ordered::<u8>::new(&read, order, |v| v as u8), 1);
            (read, found)
        }
        1 => {
            let short = move |v: f64| (32768.0 + 30000.0 * v / largest).round().clamp(0.0, 65535.0);
            let read = as_read(&short);
            let found = fit(config, &Ordered::<u16>::new(&read, order, |v| v as u16), 1);
            (read, found)
        }
        2 => {
            let factor = 10f64.powi(scale.clamp(-30, 30));
            let read = as_read(&|v| f64::from((v * factor) as f32));
            let found = fit(config, &Ordered::<f32>::new(&read, order, |v| v as f32), 1);
            (read, found)
        }
        _ => {
            let read = as_read(&|v| v * factor);
            let found = fit(config, &Ordered::<f64>::new(&read, order, |v| v), 1);
            (read, found)
        }
    }
}

/// Data in units in which the exact reference neither overflows nor underflows: times a power of two, which is exact.
fn in_range(x: &Matrix, center: &[f64]) -> (Matrix, Vec<f64>) {
    let largest = x.data().iter().chain(center).fold(0.0f64, |m, v| m.max(v.abs()));
    let k = -largest.log2().floor() as i32;
    let scaled = |v: &f64| v * 2f64.powi(k / 2) * 2f64.powi(k - k / 2);
    let data = Matrix::from_vec(x.rows(), x.columns(), x.data().iter().map(scaled).collect());
    (data, center.iter().map(scaled).collect())
}

#[test]
fn certificates_hold_on_adversarial_problems() {
    let (mut checked, mut rejected, mut converged) = (0, 0, 0);
    let mut violations = Vec::new();
    let mut kinds = std::collections::BTreeMap::<&str, usize>::new();
    for k in problems() {
        let mut numbers = TestRandom::new(k);
        let Problem { kind, x, d, center } = problem(k, &mut numbers);
        let [element, order, pick] = [numbers.next(), numbers.next(), numbers.next()];
        let element = if kind == "random" || kind == "offset" || element % 3 == 0 { element / 3 } else { 3 };
        let scale = if pick % 2 == 0 { 0 } else { (numbers.next() % 601) as i32 - 300 };
        let method = [Method::Pca, Method::Ae, Method::Angular][(pick / 2 % 3) as usize];
        let solver = [Solver::Scatter, Solver::Gram, Solver::Krylov][(pick / 6 % 3) as usize];
        let solver = if kind == "hidden" { Solver::Krylov } else { solver };
        let mut config = Config::new(method, d).with_solver(solver).with_seed(if kind == "hidden" { 0 } else { k });
        if method == Method::Pca || kind != "random" {
            config = config.with_center(if element % 4 < 2 { Center::Mean } else { center });
        }
        config = config.with_tolerance(10f64.powf(-2.0 - 8.0 * numbers.uniform()));
        let what =
            format!("problem {k}: {kind}, {} {} type {} scale 1e{scale}", method.name(), solver.name(), element % 4);
        let (read, found) = fit_as(&x, element, order, scale, &config);
        let model = match found {
            Ok(model) => model,
            Err(Error::RankTooSmall { .. }) => {
                rejected += 1;
                continue;
            }
            Err(error) => {
                let message = crate::common::message_of(&error);
                let expected =
                    message.contains("outside of the range of f64") || message.contains("equal to the center");
                assert!(expected, "{what}: {message}");
                rejected += 1;
                continue;
            }
        };
        let (data, mu) = in_range(&read, &model.subspace.center);
        let unit = method != Method::Pca;
        let scatter = exact::scatter(&data, &mu, unit, &model.report.support);
        let (values, vectors) = exact::eigen(scatter);
        let off = exact::sine(&model.subspace.components, &vectors[..d]);
        let certificate = model.report.certificate;
        if off.min(1.0) > certificate.sine_bound + COMPARISON && certificate.sine_bound < 1.0 {
            let shape = format!(
                "{} x {}, d = {d}, eigenvalues {:?}",
                x.rows(),
                x.columns(),
                values.iter().map(|v| v.0).collect::<Vec<_>>()
            );
            violations.push(format!("{what}: sine {off:e} > bound {:e}; {shape}", certificate.sine_bound));
        }
        checked += 1;
        converged += usize::from(certificate.converged);
        *kinds.entry(kind).or_default() += 1;
    }
    println!(
        "certificates: {checked} checked ({kinds:?}), {converged} converged, {rejected} rejected, {} violated",
        violations.len()
    );
    assert!(violations.is_empty(), "{} of {checked} violated:\n{}", violations.len(), violations.join("\n"));
    assert!(checked > rejected, "most problems have a result");
}

/// 900 of 1474 rows lie along a direction that is orthogonal to the public start block of seed 0.
#[test]
fn no_direction_hides_behind_the_public_start_block() {
    let x = hidden(&mut TestRandom::new(5), 40, 900, 574, 0);
    for method in [Method::Pca, Method::Ae] {
        let config = Config::new(method, 2).with_center(Center::None).with_solver(Solver::Krylov);
        let model = fit(&config, &source(&x), 1).unwrap();
        let (_, vectors) = exact::eigen(exact::scatter(&x, &[0.0; 40], method == Method::Ae, &model.report.support));
        let off = exact::sine(&model.subspace.components, &vectors[..2]);
        let bound = model.report.certificate.sine_bound;
        println!("{}: sine {off:e}, bound {bound:e}", method.name());
        assert!(off <= bound + COMPARISON, "{}: sine {off:e}, bound {bound:e}", method.name());
    }
}

/// Numbers that every element type represents give one result, for every method, type, memory order and power of two.
#[test]
fn element_types_orders_and_scales_give_one_result() {
    for (k, method) in Method::ALL.into_iter().enumerate() {
        let mut numbers = TestRandom::new(40 + k as u64);
        let (n, features) = (60 + (numbers.next() % 80) as usize, 5 + (numbers.next() % 20) as usize);
        let base = numbers.samples(n, features, 2);
        let x = Matrix::from_vec(
            n,
            features,
            base.data().iter().map(|v| (128.0 + 6.0 * v).round().clamp(0.0, 255.0)).collect(),
        );
        let config = |solver| Config::new(method, 2).with_solver(solver);
        let solvers: &[Solver] =
            if method.is_cellwise() { &[Solver::Auto] } else { &[Solver::Scatter, Solver::Gram, Solver::Krylov] };
        let reference = fit(&config(solvers[0]), &source(&x), 1).unwrap();
        for &solver in solvers {
            for order in 0..3 {
                let config = config(solver);
                let found = [
                    fit(&config, &Ordered::<u8>::new(&x, order, |v| v as u8), 1),
                    fit(&config, &Ordered::<u16>::new(&x, order, |v| v as u16), 1),
                    fit(&config, &Ordered::<f32>::new(&x, order, |v| v as f32 * 2f32.powi(-60)), 1),
                    fit(&config, &Ordered::<f64>::new(&x, order, |v| v * 2f64.powi(-400)), 1),
                    fit(&config, &Ordered::<f64>::new(&x, order, |v| v), 2),
                ];
                for (model, kind) in found.into_iter().zip(["u8", "u16", "f32", "f64 small", "f64"]) {
                    let what = format!("{} {} {kind} order {order}", method.name(), solver.name());
                    let model = model.unwrap_or_else(|e| panic!("{what}: {e}"));
                    let off = crate::common::sine(&model.subspace.components, &reference.subspace.components);
                    assert!(off < 2e-4, "{what}: sine {off:e}");
                    assert_eq!(model.report.support, reference.report.support, "{what}");
                }
            }
        }
    }
}

/// The scatter of the rows about the reported center has the reported components and variances, and the reported center
/// is the mean or the spatial median: methods without a screen against the scalar reference.
#[test]
fn methods_equal_the_scalar_reference() {
    for k in 0..problems().end.min(2000) / 10 {
        let mut numbers = TestRandom::new(9000 + k);
        let (n, features) = (20 + (numbers.next() % 60) as usize, 2 + (numbers.next() % 10) as usize);
        let x = numbers.samples(n, features, 2);
        let method = [Method::Pca, Method::Ae, Method::Angular, Method::Tae][(k % 4) as usize];
        let [element, order] = [numbers.next(), numbers.next()];
        let scale = [0, -140, 140, -60, 60, 12][(numbers.next() % 6) as usize];
        let solver = [Solver::Scatter, Solver::Gram, Solver::Krylov][(numbers.next() % 3) as usize];
        let config = Config::new(method, 1).with_solver(solver);
        let what = format!("{k}: {} {} type {} scale 1e{scale}", method.name(), solver.name(), element % 4);
        let (read, found) = fit_as(&x, element, order, scale, &config);
        let model = found.unwrap_or_else(|e| panic!("{what}: {e}"));
        let (data, mu) = in_range(&read, &model.subspace.center);
        let unit = method != Method::Pca;
        let spread = data.data().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (j, c) in mu.iter().enumerate() {
            let mean = (0..n).map(|i| data[(i, j)]).sum::<f64>() / n as f64;
            if method != Method::Angular {
                assert!((c - mean).abs() <= 1e-12 * spread, "{what}: center {c:e}, mean {mean:e}");
            }
        }
        if method == Method::Angular {
            let mut gradient = vec![0.0; features];
            for i in 0..n {
                let row: Vec<f64> = data.row(i).iter().zip(&mu).map(|(x, c)| x - c).collect();
                let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
                gradient.iter_mut().zip(row).for_each(|(g, x)| *g += x / norm.max(1e-300));
            }
            let length = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(length <= 1.0 + 1e-6, "{what}: the sum of directions has norm {length}");
        }
        let (values, vectors) = exact::eigen(exact::scatter(&data, &mu, unit, &model.report.support));
        let off = exact::sine(&model.subspace.components, &vectors[..1]);
        let bound = model.report.certificate.sine_bound;
        assert!(off <= bound + COMPARISON, "{what}: sine {off:e}, bound {bound:e}");
        if unit {
            let found = model.subspace.angular_eigenvalues.as_ref().unwrap()[0];
            assert!((found - values[0].0).abs() < 1e-6, "{what}: eigenvalue {found} {}", values[0].0);
        } else {
            let total = model.diagnostics.total_variance.unwrap();
            let ratio = model.diagnostics.explained_variance[0] / total;
            let expected = values[0].0 / values.iter().map(|v| v.0).sum::<f64>();
            assert!((ratio - expected).abs() < 1e-6, "{what}: ratio {ratio} {expected}");
        }
    }
    let bytes = [1u8, 2, 3, 4, 5, 7];
    assert!(fit(&Config::new(Method::Pca, 1), &SliceSource::new(&bytes, 3, 2).unwrap(), 1).is_ok());
}
