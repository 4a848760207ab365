//! Variances of many samples are computed from a random subsample, for any order of the samples.

use crate::common::{TestRandom, fit};
use steradian::fit::FittedSubspace;
use steradian::fit::assemble;
use steradian::model::Certificate;
use steradian::{Config, Local, Matrix, Method, Model, SliceSource};

const SAMPLES: usize = 2_200_000;

/// Samples along the first feature, every third of them with a standard deviation of 1 and the others of 6.
fn periodic() -> Vec<f32> {
    let mut numbers = TestRandom::new(5);
    let mut data = Vec::with_capacity(2 * SAMPLES);
    for i in 0..SAMPLES {
        let spread = if i % 3 == 0 { 1.0 } else { 6.0 };
        data.extend([(spread * numbers.normal()) as f32, (0.1 * (numbers.uniform() - 0.5)) as f32]);
    }
    data
}

/// These samples in random order.
fn shuffled(data: &[f32]) -> Vec<f32> {
    let mut rows: Vec<[f32; 2]> = data.as_chunks::<2>().0.to_vec();
    let mut numbers = TestRandom::new(6);
    for i in (1..rows.len()).rev() {
        rows.swap(i, (numbers.next() % (i as u64 + 1)) as usize);
    }
    rows.into_flattened()
}

fn subsample_of(model: &Model) -> usize {
    let of = format!(" of {SAMPLES} samples");
    let warning =
        model.report.warnings.iter().find(|warning| warning.contains(&of)).expect("a warning of the subsample");
    warning.split(&of).next().and_then(|before| before.rsplit(' ').next()).unwrap().parse().unwrap()
}

#[test]
fn variances_do_not_depend_on_a_period_of_the_samples() {
    let (data, config) = (periodic(), Config::new(Method::Ae, 1));
    let source = SliceSource::new(&data, SAMPLES, 2).unwrap();
    let model = fit(&config, &source, 2).unwrap();
    let other = shuffled(&data);
    let expected =
        fit(&config, &SliceSource::new(&other, SAMPLES, 2).unwrap(), 2).unwrap().diagnostics.explained_variance[0];
    // The standard error of a variance from a million samples is about 0.15 %, and both draws differ.
    assert!(
        (model.diagnostics.explained_variance[0] / expected - 1.0).abs() < 0.01,
        "{} instead of {expected}",
        model.diagnostics.explained_variance[0]
    );
    let used = subsample_of(&model);
    assert!(used.abs_diff(1 << 20) < 5_000, "{used} samples");
    let alone = fit(&config, &source, 1).unwrap();
    assert_eq!(
        (&alone.diagnostics.explained_variance, &alone.report.warnings),
        (&model.diagnostics.explained_variance, &model.report.warnings)
    );
    let reseeded = fit(&config.with_seed(1), &source, 2).unwrap();
    assert_ne!(reseeded.diagnostics.explained_variance, model.diagnostics.explained_variance);
    assert!((reseeded.diagnostics.explained_variance[0] / expected - 1.0).abs() < 0.01);
    // The variance of a subspace that was computed by another method.
    let found = FittedSubspace {
        center: vec![0.0; 2],
        vectors: Matrix::from_vec(2, 1, vec![1.0, 0.0]),
        eigenvalues: None,
        iterations: Vec::new(),
        certificate: Certificate { residual: 0.0, sine_bound: 0.0, converged: true },
        warnings: Vec::new(),
    };
    let runner = Local::new(2).unwrap();
    let assembled = assemble(&Config::new(Method::Ae, 1), found, 0, &source, &runner).unwrap();
    assert!(
        (assembled.diagnostics.explained_variance[0] / expected - 1.0).abs() < 0.01,
        "{}",
        assembled.diagnostics.explained_variance[0]
    );
    assert_eq!(subsample_of(&assembled), used);
}

#[test]
fn all_samples_are_used_up_to_the_limit() {
    let data = periodic();
    let few = 1 << 20;
    let model = fit(&Config::new(Method::Ae, 1), &SliceSource::new(&data[..2 * few], few, 2).unwrap(), 2).unwrap();
    assert!(model.report.warnings.is_empty(), "{:?}", model.report.warnings);
}
