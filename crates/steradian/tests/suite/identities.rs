//! Properties of any correct implementation: orthonormality, identities of the paper, invariance.

use crate::common::{TestRandom, difference, fit, orthonormalize, product, sine, source};
use proptest::prelude::*;
use steradian::model::CutoffKind;
use steradian::config::{Cone, Cosine, Screen};
use steradian::{Center, Config, Matrix, Method, Model, SliceSource, Solver, Source};

fn angular_methods() -> [Method; 3] {
    [Method::Ae, Method::Tae, Method::Angular]
}

fn fitted(method: Method, d: usize, x: &Matrix) -> Model {
    let mut config = Config::new(method, d);
    config = config.with_tolerance(1e-9);
    fit(&config, &source(x), 2).unwrap()
}

/// The angle of each sample to the model's subspace, in degrees.
fn angles(model: &Model, x: &Matrix) -> Vec<f64> {
    let mut angles = Vec::new();
    source(x)
        .visit(0..x.rows(), &mut |block| {
            angles = model.diagnose_block(&block, CutoffKind::New)?.into_iter().map(|d| d.angle_degrees).collect();
            Ok(())
        })
        .unwrap();
    angles
}

/// The fraction of the weighted squared norms of the support that lies in a subspace of orthonormal rows.
fn objective(model: &Model, x: &Matrix, subspace: &Matrix) -> f64 {
    let (mut within, mut all) = (0.0, 0.0);
    for i in (0..x.rows()).filter(|&i| model.report.support[i]) {
        let centered: Vec<f64> = x.row(i).iter().zip(&model.subspace.center).map(|(x, c)| x - c).collect();
        let square: f64 = centered.iter().map(|x| x * x).sum();
        let weight = if model.method() == Method::Pca { 1.0 } else { 1.0 / square };
        let dot = |j: usize| centered.iter().zip(subspace.row(j)).map(|(a, b)| a * b).sum::<f64>();
        within += weight * (0..subspace.rows()).map(|j| dot(j).powi(2)).sum::<f64>();
        all += weight * square;
    }
    within / all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn components_are_orthonormal_and_eigenvalues_decrease(seed in any::<u64>(), n in 8usize..60, features in 3usize..40) {
        let x = TestRandom::new(seed).samples(n, features, 2);
        for method in Method::ALL {
            let model = fitted(method, 2, &x);
            for i in 0..2 {
                for j in 0..2 {
                    let dot: f64 = model.subspace.components.row(i).iter().zip(model.subspace.components.row(j)).map(|(a, b)| a * b).sum();
                    prop_assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-13);
                }
            }
            prop_assert!(model.diagnostics.explained_variance.iter().all(|v| *v >= 0.0));
            if let Some(values) = &model.subspace.angular_eigenvalues {
                prop_assert!(values[0] >= values[1] && values[1] > 0.0 && values.iter().sum::<f64>() <= 1.0 + 1e-12);
            }
        }
    }

    /// cos^2(theta) = sum_j cos^2(vartheta_j), and its mean over the samples is the sum of the angular eigenvalues.
    #[test]
    fn squared_cosines_add_up(seed in any::<u64>(), n in 8usize..60, features in 3usize..20) {
        let x = TestRandom::new(seed).samples(n, features, 2);
        let model = fitted(Method::Ae, 2, &x);
        let mut total = 0.0;
        for (i, angle) in angles(&model, &x).into_iter().enumerate() {
            let centered: Vec<f64> = x.row(i).iter().zip(&model.subspace.center).map(|(x, c)| x - c).collect();
            let length = centered.iter().map(|x| x * x).sum::<f64>().sqrt();
            let cosines = (0..2).map(|j| centered.iter().zip(model.subspace.components.row(j)).map(|(a, b)| a * b).sum::<f64>() / length);
            let square: f64 = cosines.map(|c| c * c).sum();
            prop_assert!((angle.to_radians().cos().powi(2) - square).abs() < 1e-12);
            total += square;
        }
        prop_assert!((total / n as f64 - model.subspace.angular_eigenvalues.as_ref().unwrap().iter().sum::<f64>()).abs() < 1e-12);
    }

    /// The components are optimal: no other subspace, near or far, has a larger objective. The test computes the
    /// objective itself: the fraction of squared cosines (of variance for PCA) within a subspace, over the support.
    #[test]
    fn no_other_subspace_has_a_larger_objective(seed in any::<u64>(), n in 8usize..40, features in 4usize..12, d in 1usize..4) {
        let mut numbers = TestRandom::new(seed);
        let x = numbers.samples(n, features, 2);
        for method in [Method::Ae, Method::Tae, Method::Angular, Method::Pca] {
            for solver in [Solver::Scatter, Solver::Gram, Solver::Krylov] {
                let config = Config::new(method, d).with_solver(solver).with_tolerance(1e-9);
                let model = fit(&config, &source(&x), 1).unwrap();
                prop_assume!(model.n_support() > d + 1);
                let best = objective(&model, &x, &model.subspace.components);
                for _ in 0..40 {
                    let step = 10f64.powf(-5.0 * numbers.uniform());
                    let change = numbers.matrix(d, features);
                    let mut near = model.subspace.components.clone();
                    near.data_mut().iter_mut().zip(change.data()).for_each(|(q, e)| *q += step * e);
                    orthonormalize(&mut near);
                    let other = objective(&model, &x, &near);
                    prop_assert!(other <= best + 1e-14, "{:?} {:?}: better by {:e} at a step of {:e}", method, solver, other - best, step);
                }
            }
        }
    }

    /// Theorem 1: in the plane of the samples, an orthogonal pair does not change the leading component and adds 1 to
    /// its sum of squared cosines. A pair that is off by xi changes that sum by at most |sin xi| more, and rotates the
    /// component by at most the bound of Davis and Kahan. The plane is random in a larger space, and norms do not
    /// matter.
    #[test]
    fn theorem_1(
        seed in any::<u64>(),
        features in 2usize..9,
        spread in 0.01f64..0.5,
        angle in 0.0f64..7.0,
        xi in -0.5f64..0.5,
        length in 1e-3f64..1e3,
    ) {
        let mut numbers = TestRandom::new(seed);
        let plane = numbers.rotation(features);
        let at = |angle: f64, length: f64| {
            (0..features)
                .map(|j| length * (angle.cos() * plane[(0, j)] + angle.sin() * plane[(1, j)]))
                .collect::<Vec<f64>>()
        };
        let rows: Vec<f64> = (0..7).flat_map(|k| at(0.3 + spread * f64::from(k), 1.0 + f64::from(k))).collect();
        let config = Config::new(Method::Ae, 2).with_center(Center::None);
        // The leading component, and the sums of squared cosines of both.
        let leading = |rows: &[f64]| {
            let n = rows.len() / features;
            let model = fit(&config, &SliceSource::new(rows, n, features).unwrap(), 1).unwrap();
            let sums = model.subspace.angular_eigenvalues.unwrap().iter().map(|value| value * n as f64).collect::<Vec<f64>>();
            (Matrix::from_vec(1, features, model.subspace.components.row(0).to_vec()), sums)
        };
        let (alone, before) = leading(&rows);
        let gap = before[0] - before[1];
        prop_assume!(gap > 1e-3);
        let with_pair = |xi: f64| {
            let orthogonal = angle + std::f64::consts::FRAC_PI_2;
            leading(&[rows.clone(), at(angle, 1.0), at(orthogonal + xi, length)].concat())
        };
        let (same, after) = with_pair(0.0);
        prop_assert!(sine(&alone, &same) < 1e-11 / gap, "{:e}", sine(&alone, &same));
        prop_assert!((after[0] - before[0] - 1.0).abs() < 1e-11 && (after[1] - before[1] - 1.0).abs() < 1e-11);
        let (turned, after) = with_pair(xi);
        let off = xi.sin().abs();
        prop_assert!((after[0] - before[0] - 1.0).abs() <= off + 1e-11, "{:?} {:?}", before, after);
        let sine = sine(&alone, &turned).min(1.0);
        prop_assert!(2.0 * sine * (1.0 - sine * sine).sqrt() <= 2.0 * off / gap + 1e-11);
    }

    #[test]
    fn rotating_the_data_rotates_the_components(seed in any::<u64>(), n in 8usize..50, features in 3usize..12) {
        let mut numbers = TestRandom::new(seed);
        let x = numbers.samples(n, features, 2);
        let rotation = numbers.rotation(features);
        let turned = product(&x, &rotation);
        for method in angular_methods() {
            let (a, b) = (fitted(method, 2, &x), fitted(method, 2, &turned));
            prop_assert!(sine(&product(&a.subspace.components, &rotation), &b.subspace.components) < 1e-7, "{method:?}");
            prop_assert!(difference(a.subspace.angular_eigenvalues.as_ref().unwrap(), b.subspace.angular_eigenvalues.as_ref().unwrap()) < 1e-8);
            prop_assert_eq!(a.report.support, b.report.support);
        }
    }

    #[test]
    fn scaling_and_shifting_the_data_change_only_the_center(seed in any::<u64>(), n in 8usize..50, features in 3usize..12, scale in 1e-3f64..1e3) {
        let mut numbers = TestRandom::new(seed);
        let x = numbers.samples(n, features, 2);
        let shift: Vec<f64> = (0..features).map(|_| 10.0 * scale * numbers.normal()).collect();
        let mut moved = x.clone();
        for i in 0..n {
            moved.row_mut(i).iter_mut().zip(&shift).for_each(|(x, s)| *x = *x * scale + s);
        }
        for (method, center) in [(Method::Ae, Center::Mean), (Method::Ae, Center::Median), (Method::Tae, Center::Mean), (Method::Angular, Center::SpatialMedian)] {
            let mut config = Config::new(method, 2);
            config = config.with_center(center);
            let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&moved), 1).unwrap());
            prop_assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-7, "{method:?}");
            let expected: Vec<f64> = a.subspace.center.iter().zip(&shift).map(|(c, s)| c * scale + s).collect();
            let size = 1e-8 * scale * 50.0;
            prop_assert!(difference(&expected, &b.subspace.center) < size, "{method:?} {:e}", difference(&expected, &b.subspace.center));
            for (v, w) in a.diagnostics.explained_variance.iter().zip(&b.diagnostics.explained_variance) {
                prop_assert!((w / (v * scale * scale) - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn duplicating_all_samples_changes_nothing(seed in any::<u64>(), n in 8usize..40, features in 3usize..12) {
        let x = TestRandom::new(seed).samples(n, features, 2);
        let mut doubled = x.data().to_vec();
        doubled.extend_from_slice(x.data());
        let twice = Matrix::from_vec(2 * n, features, doubled);
        for method in angular_methods() {
            let (a, b) = (fitted(method, 2, &x), fitted(method, 2, &twice));
            prop_assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-7, "{method:?}");
            prop_assert!(difference(&a.subspace.center, &b.subspace.center) < 1e-7);
            prop_assert_eq!(&a.report.support[..], &b.report.support[..n]);
            prop_assert_eq!(&a.report.support[..], &b.report.support[n..]);
        }
    }

    /// Ties by density do not depend on the order of the rows.
    #[test]
    fn the_order_of_rows_does_not_matter(seed in any::<u64>(), n in 8usize..40, features in 3usize..8) {
        let mut numbers = TestRandom::new(seed);
        let x = numbers.samples(n, features, 2);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, numbers.next() as usize % (i + 1));
        }
        let shuffled = Matrix::from_vec(n, features, order.iter().flat_map(|&i| x.row(i).to_vec()).collect());
        let mut config = Config::new(Method::Tae, 1);
        config = config.with_screen(Screen::Cone(Cone { ties: steradian::config::Ties::Density, cosine: Cosine::Signed, ..Cone::default() }));
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&shuffled), 1).unwrap());
        prop_assert_eq!(order[b.report.cone.as_ref().unwrap().pivot], a.report.cone.as_ref().unwrap().pivot);
        prop_assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-9);
    }

    /// At the spatial median the unit directions sum to zero, for every solver.
    #[test]
    fn the_spatial_median_balances_the_directions(seed in any::<u64>(), n in 5usize..80, features in 2usize..30) {
        assert_balanced(&TestRandom::new(seed).samples(n, features, 2));
    }
}

fn assert_balanced(x: &Matrix) {
    for solver in [steradian::Solver::Gram, steradian::Solver::Scatter] {
        let mut config = Config::new(Method::Angular, 1);
        config = config.with_solver(solver);
        let center = fit(&config, &source(x), 1).unwrap().subspace.center;
        let mut pull = vec![0.0; x.columns()];
        let mut coincident = 0;
        for i in 0..x.rows() {
            let centered: Vec<f64> = x.row(i).iter().zip(&center).map(|(x, c)| x - c).collect();
            let length = centered.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length < 1e-9 {
                coincident += 1;
            } else {
                pull.iter_mut().zip(centered).for_each(|(p, a)| *p += a / length);
            }
        }
        let pull = pull.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(
            pull <= f64::from(coincident) + 1e-7 * x.rows() as f64,
            "pull {pull:e} with {coincident} coincident samples"
        );
    }
}

/// Few samples: the start coincides with one of them, and the iteration passes near others.
#[test]
fn the_spatial_median_does_not_stop_near_a_sample() {
    assert_balanced(&TestRandom::new(988226861330079776).samples(6, 2, 2));
    for seed in 0..3000 {
        assert_balanced(&TestRandom::new(seed).samples(4 + seed as usize % 9, 2 + seed as usize % 3, 2));
    }
}

#[test]
fn the_spatial_median_of_three_points_on_a_line_is_the_middle_one() {
    for solver in [steradian::Solver::Gram, steradian::Solver::Scatter] {
        let x = Matrix::from_vec(5, 2, vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 70.0, 70.0, -5.0, -5.0]);
        let mut config = Config::new(Method::Angular, 1);
        config = config.with_solver(solver);
        let model = fit(&config, &source(&x), 1).unwrap();
        assert!(difference(&model.subspace.center, &[1.0, 1.0]) < 1e-7, "{:?}", model.subspace.center);
    }
}

#[test]
fn one_far_sample_changes_the_mean_but_not_the_spatial_median() {
    let mut x = TestRandom::new(1).samples(200, 10, 2);
    let clean = fitted(Method::Angular, 2, &x);
    x.row_mut(17).iter_mut().enumerate().for_each(|(j, v)| *v = if j == 3 { 1e9 } else { 0.0 });
    assert!(sine(&fitted(Method::Angular, 2, &x).subspace.components, &clean.subspace.components) < 0.05);
    assert!(sine(&fitted(Method::Pca, 2, &x).subspace.components, &clean.subspace.components) > 0.9);
}

#[test]
fn huge_and_tiny_rows_give_exact_directions() {
    let x = TestRandom::new(5).samples(40, 6, 2);
    let mut scaled = x.clone();
    let mut config = Config::new(Method::Ae, 2);
    config = config.with_center(Center::None);
    for i in 0..40 {
        let factor = [1e-150, 1.0, 1e150][i % 3];
        scaled.row_mut(i).iter_mut().for_each(|v| *v *= factor);
    }
    for solver in [steradian::Solver::Scatter, steradian::Solver::Gram, steradian::Solver::Krylov] {
        config = config.with_solver(solver);
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&scaled), 1).unwrap());
        assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-12, "{solver:?}");
        config = config.with_screen(Screen::Cone(Cone::default()));
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&scaled), 1).unwrap());
        assert_eq!(a.report.cone, b.report.cone, "{solver:?}");
        config = config.with_screen(Screen::None);
    }
}

#[test]
fn the_automatic_cone_is_the_smallest_that_contains_half() {
    let x = TestRandom::new(8).samples(41, 6, 1);
    for (solver, cosine) in [
        (steradian::Solver::Gram, Cosine::Abs),
        (steradian::Solver::Scatter, Cosine::Abs),
        (steradian::Solver::Gram, Cosine::Signed),
    ] {
        let mut config = Config::new(Method::Tae, 1);
        config = config.with_solver(solver);
        let cone = Cone { cosine, max_angle: steradian::config::Angle::Auto, ..Cone::default() };
        config = config.with_screen(Screen::Cone(cone));
        let model = fit(&config, &source(&x), 1).unwrap();
        let angle = model.report.cone.as_ref().unwrap().max_angle;
        assert!(model.n_support() >= 21, "{solver:?}: support of {}", model.n_support());
        config = config
            .with_screen(Screen::Cone(Cone { max_angle: steradian::config::Angle::Degrees(angle - 1e-6), ..cone }));
        let tighter = fit(&config, &source(&x), 1).unwrap();
        assert!(tighter.n_support() < 21, "{solver:?}: support of {} in a tighter cone", tighter.n_support());
    }
}
