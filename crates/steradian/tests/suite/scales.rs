//! Fits at every scale of the data: equal to the fit at scale 1, bit by bit for powers of two, or rejected with the
//! reason.

use crate::common::{TestRandom, fit, message_of, sine, solvers, source};
use steradian::config::Scaling;
use steradian::model::CutoffKind;
use steradian::{Center, Config, Local, Matrix, Method, Model, SliceSource};

/// 2^k, also outside of the range of normal numbers.
fn power(k: i32) -> f64 {
    let half = k / 2;
    2f64.powi(half) * 2f64.powi(k - half)
}

/// x 2^k in two exact steps.
fn scaled(x: f64, k: i32) -> f64 {
    let half = k / 2;
    x * 2f64.powi(half) * 2f64.powi(k - half)
}

fn scaled_matrix(x: &Matrix, k: i32) -> Matrix {
    Matrix::from_vec(x.rows(), x.columns(), x.data().iter().map(|v| scaled(*v, k)).collect())
}

/// Rows with bad rows and bad cells, which every method handles.
fn rows(seed: u64, n: usize, features: usize) -> Matrix {
    let mut numbers = TestRandom::new(seed);
    let mut x = numbers.samples(n, features, 3);
    for i in 0..n / 10 {
        (0..features).for_each(|j| x[(i, j)] += 25.0 * f64::from(u8::from(j % 3 == 0)));
        let cell = (numbers.next() % features as u64) as usize;
        x[(n - 1 - i, cell)] -= 40.0;
    }
    x
}

/// Asserts that a model of data times 2^k is the model of the data in other units.
fn assert_equal(found: &Model, base: &Model, k: i32, what: &str) {
    assert_eq!(found.subspace.components, base.subspace.components, "{what}: components");
    let center: Vec<f64> = base.subspace.center.iter().map(|c| scaled(*c, k)).collect();
    assert_eq!(found.subspace.center, center, "{what}: center");
    assert_eq!(found.report.certificate, base.report.certificate, "{what}: certificate");
    assert_eq!(found.report.support, base.report.support, "{what}: support");
    assert_eq!(found.subspace.angular_eigenvalues, base.subspace.angular_eigenvalues, "{what}: eigenvalues");
    let units = |x: &f64| scaled(scaled(*x, k), k);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    let variances = found.diagnostics.explained_variance.iter().zip(&base.diagnostics.explained_variance);
    for (a, b) in variances {
        assert!(near(*a, units(b)), "{what}: variance {a:e} {b:e}");
    }
    assert!(near(found.diagnostics.cutoffs[1], scaled(base.diagnostics.cutoffs[1], k)), "{what}: cutoff");
    match (&found.diagnostics.cellwise, &base.diagnostics.cellwise) {
        (Some(a), Some(b)) => {
            let lengths = |x: &[f64]| x.iter().map(|x| scaled(*x, k)).collect::<Vec<_>>();
            assert_eq!(a.rows.limits, lengths(&b.rows.limits), "{what}: limits");
            assert_eq!(a.cell_scales, lengths(&b.cell_scales), "{what}: scales of cells");
            assert_eq!(a.cell_scales_new, lengths(&b.cell_scales_new), "{what}: scales of cells of new rows");
            assert!(near(a.cutoffs_new[0], b.cutoffs_new[0]), "{what}: score cutoff of new rows");
            assert!(near(a.cutoffs_new[1], scaled(b.cutoffs_new[1], k)), "{what}: cutoff of new rows");
            assert_eq!(a.rows.cleans, b.rows.cleans, "{what}: cleaning");
            assert_eq!(a.bad_fraction, b.bad_fraction, "{what}: fraction");
        }
        (a, b) => assert_eq!(a, b, "{what}: cells"),
    }
}

/// Asserts that the reason of a rejection is that the variances are no numbers of f64.
fn assert_out_of_range(error: &steradian::Error, what: &str) {
    let message = message_of(error);
    assert!(message.contains("outside of the range of f64"), "{what}: {message}");
}

#[test]
fn powers_of_two_change_units_only() {
    let x = rows(1, 120, 9);
    let (mut equal, mut rejected) = (0, 0);
    for method in Method::ALL {
        for &solver in solvers(method) {
            let config = Config::new(method, 2).with_solver(solver);
            let base = fit(&config, &source(&x), 1).unwrap();
            for k in [-1020, -996, -540, -505, -400, -160, -60, 60, 160, 400, 505, 540, 996, 1015] {
                let what = format!("{} {} 2^{k}", method.name(), solver.name());
                match fit(&config, &source(&scaled_matrix(&x, k)), 1) {
                    Ok(found) => {
                        assert_equal(&found, &base, k, &what);
                        equal += 1;
                    }
                    Err(error) => {
                        assert!(k.abs() > 500, "{what}: {error}");
                        assert_out_of_range(&error, &what);
                        rejected += 1;
                    }
                }
            }
        }
    }
    println!("{equal} fits equal to scale 1, {rejected} rejected");
    assert!(equal >= 18 * 6 && rejected > 0);
}

#[test]
fn powers_of_two_of_single_precision_change_units_only() {
    let x: Vec<f32> = rows(2, 150, 7).data().iter().map(|v| *v as f32).collect();
    let of = |k: i32| -> Vec<f32> { x.iter().map(|v| scaled(f64::from(*v), k) as f32).collect() };
    for method in Method::ALL {
        for &solver in solvers(method) {
            let config = Config::new(method, 2).with_solver(solver);
            let base = fit(&config, &SliceSource::new(&x, 150, 7).unwrap(), 1).unwrap();
            for k in [-110, -90, -60, -30, 30, 60, 90, 118] {
                let what = format!("{} {} 2^{k}", method.name(), solver.name());
                let data = of(k);
                let found = fit(&config, &SliceSource::new(&data, 150, 7).unwrap(), 1).unwrap();
                // Digits of the smallest cells are lost where they become subnormal.
                if data.iter().zip(&x).all(|(a, b)| f64::from(*a) == scaled(f64::from(*b), k)) {
                    assert_equal(&found, &base, k, &what);
                }
            }
        }
    }
}

#[test]
fn powers_of_ten_give_the_subspace_of_scale_1() {
    let x = rows(3, 100, 8);
    let mut fits = 0;
    for method in Method::ALL {
        for &solver in solvers(method) {
            let config = Config::new(method, 2).with_solver(solver).with_tolerance(1e-9);
            let base = fit(&config, &source(&x), 1).unwrap();
            for k in (-300..=300).step_by(37).chain([-154, -165, 154, 300]) {
                let what = format!("{} {} 1e{k}", method.name(), solver.name());
                let factor = 10f64.powi(k);
                let data = Matrix::from_vec(100, 8, x.data().iter().map(|v| v * factor).collect());
                match fit(&config, &source(&data), 1) {
                    Ok(found) => {
                        let off = sine(&found.subspace.components, &base.subspace.components);
                        assert!(off < 1e-6, "{what}: sine {off:e}, bound {:e}", found.report.certificate.sine_bound);
                        fits += 1;
                    }
                    Err(error) => {
                        assert!(k.abs() > 150, "{what}: {error}");
                        assert_out_of_range(&error, &what);
                    }
                }
            }
        }
    }
    println!("{fits} fits");
}

#[test]
fn scaled_features_fit_at_every_scale() {
    let x = rows(4, 100, 8);
    for method in [Method::Pca, Method::Robust, Method::Cells] {
        let config = Config::new(method, 2).with_scaling(Scaling::Mad).with_solver(solvers(method)[0]);
        let base = fit(&config, &source(&x), 1).unwrap();
        for k in [-1010, -500, 500, 1015] {
            let found = fit(&config, &source(&scaled_matrix(&x, k)), 1).unwrap();
            assert_eq!(found.subspace.components, base.subspace.components, "{} 2^{k}", method.name());
            assert_eq!(found.diagnostics, base.diagnostics);
            let scales = |model: &Model| model.subspace.scale.clone().unwrap();
            assert_eq!(scales(&found), scales(&base).iter().map(|s| scaled(*s, k)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_given_center_is_scaled_with_the_data() {
    let x = rows(5, 90, 6);
    let config = |k: i32| {
        let point: Vec<f64> = (0..6).map(|j| scaled(0.5 + f64::from(j), k)).collect();
        Config::new(Method::Ae, 2).with_center(Center::Given(point))
    };
    let base = fit(&config(0), &source(&x), 1).unwrap();
    for k in [-480, 480] {
        let found = fit(&config(k), &source(&scaled_matrix(&x, k)), 1).unwrap();
        assert_equal(&found, &base, k, &format!("given center, 2^{k}"));
    }
    // A center far from all rows decides the scale.
    let far = Config::new(Method::Pca, 1).with_center(Center::Given(vec![1e140; 6]));
    let found = fit(&far, &source(&x), 1).unwrap();
    assert!((found.subspace.components[(0, 0)] - 6f64.sqrt().recip()).abs() < 1e-12);
}

/// Results of models at extreme scales on new samples.
#[test]
fn models_apply_at_every_scale() {
    let x = rows(6, 80, 7);
    let runner = Local::new(1).unwrap();
    for method in [Method::Pca, Method::Cells] {
        let config = Config::new(method, 2);
        let base = fit(&config, &source(&x), 1).unwrap();
        let then = base.diagnose(&source(&x), &runner, CutoffKind::New).unwrap();
        for k in [-480, 480] {
            let data = scaled_matrix(&x, k);
            let model = fit(&config, &source(&data), 1).unwrap();
            let scores = model.transform(&source(&data), &runner).unwrap();
            let expected = scaled_matrix(&base.transform(&source(&x), &runner).unwrap(), k);
            let size = expected.data().iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let off = scores.data().iter().zip(expected.data()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off <= 1e-14 * size, "{} 2^{k}: {off:e} of {size:e}", method.name());
            for (a, b) in model.diagnose(&source(&data), &runner, CutoffKind::New).unwrap().iter().zip(&then) {
                assert!((a.score_distance / b.score_distance - 1.0).abs() < 1e-9, "{a:?} {b:?}");
                assert!((a.orthogonal_distance / scaled(b.orthogonal_distance, k) - 1.0).abs() < 1e-9, "{a:?} {b:?}");
                assert_eq!(a.flag, b.flag);
            }
        }
    }
    // A new sample far beyond the range of its squares.
    let model = fit(&Config::new(Method::Pca, 2), &source(&x), 1).unwrap();
    let q = &model.subspace.components;
    let far = Matrix::from_vec(1, 7, (0..7).map(|j| 1e200 * (3.0 * q[(0, j)])).collect());
    let diagnosis = model.diagnose(&source(&far), &runner, CutoffKind::New).unwrap()[0];
    let expected = 3e200 / model.diagnostics.explained_variance[0].sqrt();
    assert!((diagnosis.score_distance / expected - 1.0).abs() < 1e-9, "{diagnosis:?} {expected:e}");
    assert!(diagnosis.orthogonal_distance < 1e186 && diagnosis.angle_degrees < 1e-6, "{diagnosis:?}");
    let near = Matrix::from_vec(1, 7, (0..7).map(|j| model.subspace.center[j]).collect());
    let diagnosis = model.diagnose(&source(&near), &runner, CutoffKind::New).unwrap()[0];
    assert!(diagnosis.orthogonal_distance < 1e-12, "{diagnosis:?}");
}

/// One cell near the largest f64 among ordinary ones: the robust methods give the fit without its row, the others an
/// error or a finite result; none panics.
#[test]
fn one_huge_cell_among_ordinary_ones() {
    let x = rows(7, 120, 6);
    for value in [1e30, 1e76, 1e150, 1e200, 1e300, 1.7e308, -1.7e308] {
        let mut hit = x.clone();
        hit[(60, 2)] = value;
        for method in Method::ALL {
            for &solver in solvers(method) {
                let config = Config::new(method, 2).with_solver(solver);
                let what = format!("{} {} {value:e}", method.name(), solver.name());
                let base = fit(&config, &source(&x), 1).unwrap();
                match fit(&config, &source(&hit), 1) {
                    Ok(found) => {
                        assert!(found.subspace.components.data().iter().all(|c| c.is_finite()), "{what}");
                        if matches!(method, Method::Robust | Method::Angular) {
                            let off = sine(&found.subspace.components, &base.subspace.components);
                            assert!(off < 0.3, "{what}: sine {off}");
                        }
                    }
                    Err(error) => {
                        let message = message_of(&error);
                        assert!(!matches!(method, Method::Robust | Method::Angular), "{what}: {message}");
                    }
                }
            }
        }
    }
}

/// Subnormal numbers are numbers with fewer digits.
#[test]
fn subnormal_numbers_are_right_or_rejected() {
    // Integers: all of their digits fit into the few bits of subnormal numbers.
    let mut numbers = TestRandom::new(8);
    let x = Matrix::from_vec(60, 5, (0..300).map(|_| (8.0 * numbers.normal()).round()).collect());
    for method in Method::ALL {
        let config = Config::new(method, 2).with_scaling(Scaling::Mad).with_solver(solvers(method)[0]);
        let base = fit(&config, &source(&x), 1).unwrap();
        let found = fit(&config, &source(&scaled_matrix(&x, -1070)), 1).unwrap();
        assert_eq!(found.subspace.components, base.subspace.components, "{}", method.name());
        let plain = Config::new(method, 2).with_solver(solvers(method)[0]);
        assert_out_of_range(&fit(&plain, &source(&scaled_matrix(&x, -1070)), 1).unwrap_err(), method.name());
        let single: Vec<f32> = x.data().iter().map(|v| scaled(*v, -140) as f32).collect();
        let base: Vec<f32> = x.data().iter().map(|v| *v as f32).collect();
        let [base, found] =
            [base, single].map(|data| fit(&plain, &SliceSource::new(&data, 60, 5).unwrap(), 1).unwrap());
        assert_equal(&found, &base, -140, method.name());
    }
    assert_eq!(power(-1074), f64::from_bits(1));
}
