//! Missing cells: angular embedding over the cells present, the check of the data, and methods that reject missing cells.

use crate::common::{TestRandom, fit, message_of, sine, source};
use proptest::prelude::*;
use steradian::config::{Missing, Scaling};
use steradian::{Center, ComponentCount, Config, Error, Matrix, Method, Model, SliceSource};

const NAN: f64 = f64::NAN;

/// Samples of which a fraction of the cells is missing.
fn incomplete(seed: u64, n: usize, features: usize, fraction: f64) -> (Matrix, Matrix) {
    let complete = TestRandom::new(seed).samples(n, features, 2);
    let mut random = TestRandom::new(seed ^ 77);
    let data = complete.data().iter().map(|x| if random.uniform() < fraction { NAN } else { *x }).collect();
    (complete, Matrix::from_vec(n, features, data))
}

fn fitted(config: &Config, x: &Matrix) -> Model {
    fit(config, &source(x), 2).unwrap()
}

fn angular() -> Config {
    Config::new(Method::Angular, 2)
}

/// Directions over the cells present, and their sum.
fn directions(x: &Matrix, center: &[f64]) -> Vec<Vec<f64>> {
    let deviations = (0..x.rows())
        .map(|i| x.row(i).iter().zip(center).map(|(x, c)| if x.is_nan() { 0.0 } else { x - c }).collect::<Vec<f64>>());
    let unit = |z: Vec<f64>| {
        let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
        z.into_iter().map(|z| if norm > 0.0 { z / norm } else { 0.0 }).collect()
    };
    deviations.map(unit).collect()
}

#[test]
fn the_center_has_the_least_sum_of_distances_over_the_cells_present() {
    let (_, x) = incomplete(3, 400, 9, 0.3);
    let model = fitted(&angular(), &x);
    let center = &model.subspace.center;
    let sum = |j: usize| directions(&x, center).iter().map(|u| u[j]).sum::<f64>();
    for j in 0..9 {
        assert!(sum(j).abs() < 1e-6, "feature {j}: {}", sum(j));
    }
    assert_eq!(model.config.center(), &Center::SpatialMedian);
    assert_eq!(model.config.missing(), Missing::Use);
}

#[test]
fn components_are_those_of_the_directions_over_the_cells_present() {
    let (complete, x) = incomplete(4, 600, 8, 0.2);
    let model = fitted(&angular(), &x);
    let unit = directions(&x, &model.subspace.center);
    let u = Matrix::from_vec(600, 8, unit.concat());
    let plain = fitted(&Config::new(Method::Pca, 2).with_center(Center::None), &u);
    assert!(sine(&model.subspace.components, &plain.subspace.components) < 1e-6);
    let whole = fitted(&angular(), &complete);
    assert!(sine(&model.subspace.components, &whole.subspace.components) < 0.2);
}

#[test]
fn every_center_is_that_of_the_numbers() {
    let (_, mut x) = incomplete(5, 101, 4, 0.25);
    for i in 0..101 {
        x[(i, 2)] = NAN;
    }
    let numbers = |j: usize| {
        let mut column: Vec<f64> = (0..101).map(|i| x[(i, j)]).filter(|v| !v.is_nan()).collect();
        column.sort_by(f64::total_cmp);
        column
    };
    let median = |c: Vec<f64>| if c.is_empty() { 0.0 } else { (c[(c.len() - 1) / 2] + c[c.len() / 2]) / 2.0 };
    let mean = |c: Vec<f64>| c.iter().sum::<f64>() / c.len().max(1) as f64;
    for (center, expected) in [
        (Center::Median, (0..4).map(|j| median(numbers(j))).collect::<Vec<f64>>()),
        (Center::Mean, (0..4).map(|j| mean(numbers(j))).collect()),
        (Center::None, vec![0.0; 4]),
        (Center::Given(vec![1.0, 2.0, 3.0, 4.0]), vec![1.0, 2.0, 3.0, 4.0]),
    ] {
        let model = fitted(&angular().with_center(center.clone()), &x);
        for (found, expected) in model.subspace.center.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{center:?}: {found} {expected}");
        }
    }
}

#[test]
fn rows_and_features_without_numbers_are_named_and_take_no_part() {
    let (_, mut x) = incomplete(6, 120, 6, 0.1);
    for j in 0..6 {
        x[(7, j)] = NAN;
        x[(90, j)] = NAN;
    }
    for i in 0..120 {
        x[(i, 4)] = NAN;
    }
    let single: Vec<f32> = x.data().iter().map(|v| *v as f32).collect();
    let narrow = SliceSource::new(&single, 120, 6).unwrap();
    for model in [fitted(&angular(), &x), fit(&angular(), &narrow, 2).unwrap()] {
        let inactive: Vec<usize> = (0..120).filter(|&i| !model.report.support[i]).collect();
        assert_eq!(inactive, [7, 90]);
        assert!((0..2).all(|k| model.subspace.components[(k, 4)] == 0.0) && model.subspace.center[4] == 0.0);
        let warnings = model.report.warnings.join("\n");
        assert!(warnings.contains("1 of 6 features have no number, and loadings of 0: 4"), "{warnings}");
        assert!(warnings.contains("2 of 120 rows have no number, and take no part in the fit: 7, 90"), "{warnings}");
    }
    // Rows without any number change nothing but their number.
    let others: Vec<f64> = (0..120).filter(|i| *i != 7 && *i != 90).flat_map(|i| x.row(i).to_vec()).collect();
    let model = fitted(&angular(), &Matrix::from_vec(118, 6, others));
    assert!(sine(&model.subspace.components, &fitted(&angular(), &x).subspace.components) < 1e-6);
}

#[test]
fn methods_that_need_complete_samples_name_the_first_missing_cell() {
    let (_, mut x) = incomplete(7, 80, 5, 0.0);
    x[(60, 1)] = NAN;
    x[(33, 3)] = NAN;
    for method in [Method::Ae, Method::Tae] {
        let error = fit(&Config::new(method, 2), &source(&x), 2).unwrap_err();
        assert!(matches!(error, Error::NotFinite { row: 33, column: 3, .. }), "{method:?}: {error}");
        let said = message_of(&fit(&Config::new(method, 2).with_missing(Missing::Use), &source(&x), 1).unwrap_err());
        assert!(said.contains(&format!("missing = use is not supported by method {}", method.name())), "{said}");
    }
    let strict = angular().with_missing(Missing::Error);
    assert!(matches!(fit(&strict, &source(&x), 1), Err(Error::NotFinite { row: 33, column: 3, .. })));
}

#[test]
fn infinite_cells_are_errors_and_not_missing() {
    let (_, mut x) = incomplete(8, 300, 5, 0.1);
    x[(280, 2)] = f64::NEG_INFINITY;
    for method in [Method::Angular, Method::Robust, Method::Pca] {
        let error = fit(&Config::new(method, 2), &source(&x), 2).unwrap_err();
        assert!(
            matches!(error, Error::NotFinite { value, row: 280, column: 2 } if value == f64::NEG_INFINITY),
            "{method:?}: {error}"
        );
    }
}

#[test]
fn data_without_any_number_are_rejected() {
    let x = Matrix::from_vec(10, 3, vec![NAN; 30]);
    let said = message_of(&fit(&angular(), &source(&x), 1).unwrap_err());
    assert!(said.contains("all 30 cells of the data are missing (10 samples x 3 features)"), "{said}");
}

#[test]
fn features_are_scaled_by_their_numbers() {
    let (_, x) = incomplete(9, 200, 5, 0.2);
    let model = fitted(&angular().with_scaling(Scaling::Mad), &x);
    for (j, scale) in model.subspace.scale.as_ref().unwrap().iter().enumerate() {
        let median = |mut c: Vec<f64>| {
            c.sort_by(f64::total_cmp);
            (c[(c.len() - 1) / 2] + c[c.len() / 2]) / 2.0
        };
        let column: Vec<f64> = (0..200).map(|i| x[(i, j)]).filter(|v| !v.is_nan()).collect();
        let middle = median(column.clone());
        let expected = 1.4826 * median(column.iter().map(|v| (v - middle).abs()).collect());
        assert!((scale / expected - 1.0).abs() < 1e-4, "{scale} {expected}");
    }
    // A feature that mostly repeats one value has a mean deviation; one without any number has the scale 1.
    let mut x = x;
    for i in 0..200 {
        x[(i, 0)] = if i % 10 == 0 {
            i as f64
        } else if i % 3 == 0 {
            NAN
        } else {
            0.0
        };
        x[(i, 1)] = NAN;
    }
    let scale = fitted(&angular().with_scaling(Scaling::Mad), &x).subspace.scale.unwrap();
    let column: Vec<f64> = (0..200).map(|i| x[(i, 0)]).filter(|v| !v.is_nan()).collect();
    let expected = 1.2533 * column.iter().sum::<f64>() / column.len() as f64;
    assert!((scale[0] / expected - 1.0).abs() < 1e-12 && scale[1] == 1.0, "{scale:?} {expected}");
}

#[test]
fn the_number_of_components_is_found_over_the_cells_present() {
    let mut random = TestRandom::new(10);
    let mut x = Matrix::zeros(500, 10);
    for i in 0..500 {
        let scores = [5.0 * random.normal(), 3.0 * random.normal()];
        for j in 0..10 {
            let signal = scores[0] * (j as f64).cos() + scores[1] * (j as f64).sin();
            x[(i, j)] = if random.uniform() < 0.15 { NAN } else { 4.0 + signal + 0.3 * random.normal() };
        }
    }
    let found = fitted(&Config::new(Method::Angular, ComponentCount::Auto), &x);
    assert_eq!(found.subspace.components.rows(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn threads_and_bits_of_nan_do_not_change_a_model(seed in any::<u64>(), n in 20usize..600, payload in any::<u64>()) {
        let (_, x) = incomplete(seed, n, 6, 0.2);
        let expected = fit(&angular(), &source(&x), 1).unwrap().to_bytes().unwrap();
        let other = f64::from_bits(NAN.to_bits() | (payload & (0x8007_ffff_ffff_ffff)));
        prop_assert!(other.is_nan());
        let data = x.data().iter().map(|v| if v.is_nan() { other } else { *v }).collect();
        let y = Matrix::from_vec(n, 6, data);
        for threads in [2, 7] {
            prop_assert_eq!(&fit(&angular(), &source(&y), threads).unwrap().to_bytes().unwrap(), &expected);
        }
    }

    #[test]
    fn units_are_powers_of_two(seed in any::<u64>(), power in -900i32..900) {
        let (_, x) = incomplete(seed, 90, 5, 0.2);
        let y = Matrix::from_vec(90, 5, x.data().iter().map(|v| v * 2f64.powi(power)).collect());
        let [a, b] = [fit(&angular(), &source(&x), 1), fit(&angular(), &source(&y), 1)];
        match b {
            Ok(b) => prop_assert_eq!(a.unwrap().subspace.components, b.subspace.components),
            Err(error) => prop_assert!(error.to_string().contains("outside of the range of f64"), "{}", error),
        }
    }
}
