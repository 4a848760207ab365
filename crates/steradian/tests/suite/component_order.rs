//! The order of the components: by angular eigenvalue, or by robust variance among more candidates.

use crate::common::{TestRandom, fit, message_of, sine, source};
use steradian::config::{ComponentOrder, Loss};
use steradian::{Config, Matrix, Method, Model, Solver};

/// Samples near a plane along the first two axes, two fifths of them moved along the last axis to both sides.
fn along_a_line(n: usize, features: usize) -> (Matrix, Matrix) {
    let mut numbers = TestRandom::new(5);
    let mut x = Matrix::zeros(n, features);
    for i in 0..n {
        for j in 0..features {
            x[(i, j)] = numbers.normal() * [5.0, 3.0].get(j).copied().unwrap_or(0.3);
        }
        if i % 5 < 2 {
            x[(i, features - 1)] += if i % 2 == 0 { 60.0 } else { -60.0 };
        }
    }
    let mut plane = Matrix::zeros(2, features);
    (plane[(0, 0)], plane[(1, 1)]) = (1.0, 1.0);
    (x, plane)
}

fn by_variance(method: Method, d: usize) -> Config {
    Config::new(method, d).with_order(ComponentOrder::Variance)
}

#[test]
fn samples_on_a_line_are_no_component_by_variance() {
    let (x, plane) = along_a_line(200, 12);
    let angular = fit(&Config::new(Method::Angular, 2), &source(&x), 1).unwrap();
    assert!(sine(&angular.subspace.components, &plane) > 0.9, "the case is hard");
    for solver in [Solver::Scatter, Solver::Gram, Solver::Krylov] {
        let model = fit(&by_variance(Method::Angular, 2).with_solver(solver), &source(&x), 1).unwrap();
        let off = sine(&model.subspace.components, &plane);
        assert!(off < 0.15, "{solver:?}: {off}");
        let certificate = model.certificate();
        assert!(certificate.converged && certificate.sine_bound <= 1e-6, "{solver:?}: {certificate:?}");
        // The direction of the line has the largest eigenvalue on the sphere, and is no component.
        let values = model.subspace.angular_eigenvalues.as_ref().unwrap();
        assert!(values.iter().all(|value| *value < angular.subspace.angular_eigenvalues.as_ref().unwrap()[0]));
        assert_eq!((values.len(), model.diagnostics.explained_variance.len()), (2, 2));
    }
}

#[test]
fn variances_fall_and_the_rest_of_the_model_agrees_with_them() {
    let (x, _) = along_a_line(150, 9);
    for (method, d) in [(Method::Angular, 3), (Method::Ae, 4), (Method::Tae, 2), (Method::Angular, 9)] {
        let model = fit(&by_variance(method, d), &source(&x), 2).unwrap();
        let variances = &model.diagnostics.explained_variance;
        assert!(variances.is_sorted_by(|a, b| a >= b), "{method:?}: {variances:?}");
        assert!(variances.iter().sum::<f64>() <= model.diagnostics.total_variance.unwrap() * (1.0 + 1e-12));
        // Eigenvalues belong to their components: they are the mean squared cosines of the samples of the support.
        let values = model.subspace.angular_eigenvalues.as_ref().unwrap();
        for (k, value) in values.iter().enumerate() {
            let found = mean_squared_cosine(&x, &model, k);
            assert!((found - value).abs() < 1e-6, "{method:?}, component {k}: {found} {value}");
        }
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).unwrap().config.order(), ComponentOrder::Variance);
        let threads = fit(&by_variance(method, d), &source(&x), 3).unwrap();
        assert!(threads.to_bytes().unwrap() == bytes, "{method:?}: other bytes with 3 threads");
    }
}

fn mean_squared_cosine(x: &Matrix, model: &Model, component: usize) -> f64 {
    let support = (0..x.rows()).filter(|&i| model.report.support[i]);
    let squares: Vec<f64> = support
        .map(|i| {
            let centered: Vec<f64> = x.row(i).iter().zip(&model.subspace.center).map(|(x, c)| x - c).collect();
            let along: f64 = centered.iter().zip(model.subspace.components.row(component)).map(|(x, q)| x * q).sum();
            along * along / centered.iter().map(|x| x * x).sum::<f64>()
        })
        .collect();
    squares.iter().sum::<f64>() / squares.len() as f64
}

#[test]
fn fewer_candidates_where_the_rank_is_low() {
    let mut x = TestRandom::new(3).matrix(40, 3);
    x = Matrix::from_vec(40, 12, (0..40 * 12).map(|at| x[(at / 12, at % 3)]).collect());
    let model = fit(&by_variance(Method::Ae, 2), &source(&x), 1).unwrap();
    assert!(model.certificate().converged && model.diagnostics.explained_variance[0] > 0.0);
    let error = fit(&by_variance(Method::Ae, 4), &source(&x), 1).unwrap_err();
    let message = message_of(&error);
    assert!(message.contains("n_components = 4") && message.contains("rank 3"), "{message}");
}

#[test]
fn clean_data_have_one_subspace_in_both_orders() {
    let x = TestRandom::new(11).samples(300, 15, 2);
    let angular = fit(&Config::new(Method::Angular, 2), &source(&x), 1).unwrap();
    let variance = fit(&by_variance(Method::Angular, 2), &source(&x), 1).unwrap();
    assert!(sine(&angular.subspace.components, &variance.subspace.components) < 1e-5);
    assert_eq!(angular.subspace.center, variance.subspace.center);
}

#[test]
fn methods_without_angular_eigenvalues_have_no_such_order() {
    let x = TestRandom::new(11).samples(30, 5, 2);
    for config in [by_variance(Method::Pca, 2), by_variance(Method::Robust, 2)] {
        assert!(config.loss() != Loss::SquaredCosine || config.method() == Method::Pca);
        let message = message_of(&fit(&config, &source(&x), 1).unwrap_err());
        assert!(message.contains("order = variance") && message.contains("angular"), "{message}");
    }
}
