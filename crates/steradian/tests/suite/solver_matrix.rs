//! Every solver gives the same result for tall, wide and rank-deficient data of every element type, and its certificate
//! holds.

use crate::common::{TestRandom, difference, fit, product, sine, source};
use steradian::data::BlockElement;
use steradian::{Center, Config, Matrix, Method, Model, SliceSource, Solver};

const SOLVERS: [Solver; 3] = [Solver::Scatter, Solver::Gram, Solver::Krylov];

fn models<T: BlockElement>(data: &[T], n: usize, features: usize, config: &Config) -> Vec<Model> {
    let source = SliceSource::new(data, n, features).unwrap();
    SOLVERS.map(|solver| fit(&config.clone().with_solver(solver), &source, 2).unwrap()).into()
}

fn agree(models: &[Model], tolerance: f64, what: &str) {
    for model in models {
        assert!(model.report.certificate.converged, "{what}: {:?} {:?}", model.report.solver, model.report.certificate);
        let off = sine(&model.subspace.components, &models[0].subspace.components);
        assert!(off < tolerance, "{what}: {:?} is off by {off:e}", model.report.solver);
        let entries = difference(model.subspace.components.data(), models[0].subspace.components.data());
        assert!(entries < 100.0 * tolerance, "{what}: signs of {:?}, {entries:e}", model.report.solver);
        let spread = models[0].diagnostics.explained_variance[0].sqrt();
        assert!(
            difference(&model.subspace.center, &models[0].subspace.center) < 1e-6 * spread,
            "{what}: center of {:?}",
            model.report.solver
        );
        assert_eq!(model.report.support, models[0].report.support, "{what}: {:?}", model.report.solver);
        assert_eq!(model.report.cone, models[0].report.cone, "{what}: {:?}", model.report.solver);
        for (a, b) in model.diagnostics.explained_variance.iter().zip(&models[0].diagnostics.explained_variance) {
            assert!((a / b - 1.0).abs() < 1e-5, "{what}: variances of {:?}", model.report.solver);
        }
    }
}

#[test]
fn tall_wide_and_deficient_in_every_type() {
    let deficient = {
        let mut numbers = TestRandom::new(11);
        product(&numbers.matrix(90, 4), &numbers.matrix(4, 50))
    };
    let shapes = [
        ("tall", TestRandom::new(1).samples(700, 12, 3)),
        ("wide", TestRandom::new(2).samples(40, 900, 3)),
        ("square", TestRandom::new(3).samples(64, 64, 3)),
        ("rank 4", deficient),
    ];
    for (name, x) in &shapes {
        let (n, features) = (x.rows(), x.columns());
        let single: Vec<f32> = x.data().iter().map(|&v| v as f32).collect();
        let words: Vec<u16> = x.data().iter().map(|&v| (v * 500.0 + 20_000.0).clamp(0.0, 65_535.0) as u16).collect();
        let bytes: Vec<u8> = x.data().iter().map(|&v| (v * 5.0 + 128.0).clamp(0.0, 255.0) as u8).collect();
        // Methods that fit more than once compute weights from approximate solutions; tests/suite/robust.rs covers
        // them.
        for method in [Method::Ae, Method::Tae, Method::Angular, Method::Pca] {
            let mut config = Config::new(method, 3);
            config = config.with_tolerance(1e-9);
            agree(&models(x.data(), n, features, &config), 1e-8, &format!("{name} f64 {method:?}"));
            agree(&models(&single, n, features, &config), 1e-6, &format!("{name} f32 {method:?}"));
            agree(&models(&words, n, features, &config), 1e-6, &format!("{name} u16 {method:?}"));
            agree(&models(&bytes, n, features, &config), 1e-6, &format!("{name} u8 {method:?}"));
        }
    }
}

/// Above the largest dimension of a full decomposition, the solvers iterate on the matrix.
#[test]
fn large_matrices_are_iterated_to_the_same_result() {
    let x = TestRandom::new(4).samples(800, 600, 4);
    let mut config = Config::new(Method::Angular, 3);
    config = config.with_tolerance(1e-9);
    agree(&models(x.data(), 800, 600, &config), 1e-8, "800 x 600");
}

#[test]
fn pca_is_the_eigenproblem_of_the_covariance() {
    let x = TestRandom::new(6).samples(60, 5, 2);
    let model = fit(&Config::new(Method::Pca, 2), &source(&x), 1).unwrap();
    let mut covariance = Matrix::zeros(5, 5);
    for i in 0..60 {
        for a in 0..5 {
            for b in 0..5 {
                covariance[(a, b)] +=
                    (x[(i, a)] - model.subspace.center[a]) * (x[(i, b)] - model.subspace.center[b]) / 59.0;
            }
        }
    }
    for k in 0..2 {
        let q = Matrix::from_vec(5, 1, model.subspace.components.row(k).to_vec());
        let image = product(&covariance, &q);
        let scaled: Vec<f64> = q.data().iter().map(|v| v * model.diagnostics.explained_variance[k]).collect();
        assert!(difference(image.data(), &scaled) < 1e-10 * model.diagnostics.explained_variance[0]);
    }
    assert_eq!(model.subspace.angular_eigenvalues, None);
    assert_eq!(model.n_support(), 60);
}

#[test]
fn every_center_equals_its_definition() {
    let x = TestRandom::new(7).samples(31, 4, 2);
    let found = |center: Center| {
        let mut config = Config::new(Method::Ae, 1);
        config = config.with_center(center);
        fit(&config, &source(&x), 2).unwrap().subspace.center
    };
    let column = |j: usize| (0..31).map(|i| x[(i, j)]).collect::<Vec<_>>();
    for j in 0..4 {
        assert!((found(Center::Mean)[j] - column(j).iter().sum::<f64>() / 31.0).abs() < 1e-12);
        let mut sorted = column(j);
        sorted.sort_by(f64::total_cmp);
        assert_eq!(found(Center::Median)[j], sorted[15]);
    }
    assert_eq!(found(Center::None), [0.0; 4]);
    let given = vec![1.0, -2.0, 3.5, 0.25];
    assert_eq!(found(Center::Given(given.clone())), given);
}

/// The true sine never exceeds the bound.
#[test]
fn the_bound_holds_from_wide_to_narrow_gaps() {
    for (k, gap) in [1.0, 1e-1, 1e-2, 1e-3, 1e-5].into_iter().enumerate() {
        let mut numbers = TestRandom::new(100 + k as u64);
        // Rows +-s_j along orthogonal axes: the eigenvalues of the uncentered scatter are known.
        let features = 40;
        let rotation = numbers.rotation(features);
        let mut x = Matrix::zeros(2 * features, features);
        for j in 0..features {
            let eigenvalue = match j {
                0 => 2.0 * (1.0 + gap),
                1 => 1.0 + gap,
                _ => 1.0 / (1.0 + 0.01 * (j - 2) as f64),
            };
            for i in 0..features {
                x[(2 * j, i)] = eigenvalue.sqrt() * rotation[(j, i)];
                x[(2 * j + 1, i)] = -x[(2 * j, i)];
            }
        }
        let exact = Matrix::from_vec(2, features, rotation.data()[..2 * features].to_vec());
        for solver in SOLVERS {
            let mut config = Config::new(Method::Pca, 2);
            config = config.with_solver(solver);
            let model = fit(&config, &source(&x), 2).unwrap();
            let off = sine(&model.subspace.components, &exact);
            let bound = model.report.certificate.sine_bound;
            assert!(off <= bound + 1e-13, "{solver:?}, gap {gap}: sine {off:e}, bound {bound:e}");
            assert!(model.report.certificate.converged, "{solver:?}, gap {gap}: bound {bound:e}");
        }
    }
}

#[test]
fn a_missing_gap_is_reported() {
    // Two equal eigenvalues: a single component is not defined.
    let x = Matrix::from_vec(4, 2, vec![1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0]);
    let model = fit(&Config::new(Method::Pca, 1), &source(&x), 1).unwrap();
    assert!(!model.report.certificate.converged);
    assert!(
        model.report.warnings.iter().any(|w| w.contains("not converged: sine bound 1.0e0 > tolerance 1.0e-6")),
        "{:?}",
        model.report.warnings
    );
}
