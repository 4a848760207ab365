//! Laws that any right implementation obeys: orthonormality, the paper's identities, invariance.

use crate::common::{Numbers, difference, fit, product, sine, source};
use proptest::prelude::*;
use steradian::{Center, Cone, Config, Cosine, Matrix, Method, Model, Screen, Source};

fn angular_methods() -> [Method; 3] {
    [Method::Ae, Method::Tae, Method::Angular]
}

fn fitted(method: Method, d: usize, x: &Matrix) -> Model {
    let mut config = Config::new(method, d);
    config.tolerance = 1e-9;
    fit(&config, &source(x), 2).unwrap()
}

/// The angle of each sample to the model's subspace, in degrees.
fn angles(model: &Model, x: &Matrix) -> Vec<f64> {
    let mut angles = Vec::new();
    source(x)
        .visit(0..x.rows(), &mut |block| {
            angles = model.diagnose_block(&block)?.into_iter().map(|d| d.angle_degrees).collect();
            Ok(())
        })
        .unwrap();
    angles
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn components_are_orthonormal_and_shares_fall(seed in any::<u64>(), n in 8usize..60, features in 3usize..40) {
        let x = Numbers::new(seed).samples(n, features, 2);
        for method in Method::ALL {
            let model = fitted(method, 2, &x);
            for i in 0..2 {
                for j in 0..2 {
                    let dot: f64 = model.components.row(i).iter().zip(model.components.row(j)).map(|(a, b)| a * b).sum();
                    prop_assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-13);
                }
            }
            prop_assert!(model.variances.iter().all(|v| *v >= 0.0));
            if let Some(shares) = &model.shares {
                prop_assert!(shares[0] >= shares[1] && shares[1] > 0.0 && shares.iter().sum::<f64>() <= 1.0 + 1e-12);
            }
        }
    }

    /// cos^2(theta) = sum_j cos^2(vartheta_j), and the mean of it over the samples is the sum of the shares.
    #[test]
    fn squared_cosines_add_up(seed in any::<u64>(), n in 8usize..60, features in 3usize..20) {
        let x = Numbers::new(seed).samples(n, features, 2);
        let model = fitted(Method::Ae, 2, &x);
        let mut total = 0.0;
        for (i, angle) in angles(&model, &x).into_iter().enumerate() {
            let centered: Vec<f64> = x.row(i).iter().zip(&model.center).map(|(x, c)| x - c).collect();
            let length = centered.iter().map(|x| x * x).sum::<f64>().sqrt();
            let cosines = (0..2).map(|j| centered.iter().zip(model.components.row(j)).map(|(a, b)| a * b).sum::<f64>() / length);
            let square: f64 = cosines.map(|c| c * c).sum();
            prop_assert!((angle.to_radians().cos().powi(2) - square).abs() < 1e-12);
            total += square;
        }
        prop_assert!((total / n as f64 - model.shares.as_ref().unwrap().iter().sum::<f64>()).abs() < 1e-12);
    }

    /// The components are the best: no other subspace has a larger sum of squared cosines.
    #[test]
    fn no_rotation_does_better(seed in any::<u64>(), n in 8usize..40, features in 3usize..12) {
        let mut numbers = Numbers::new(seed);
        let x = numbers.samples(n, features, 2);
        let model = fitted(Method::Ae, 2, &x);
        let best = model.shares.as_ref().unwrap().iter().sum::<f64>();
        let other = numbers.rotation(features);
        let mut sum = 0.0;
        for i in 0..n {
            let centered: Vec<f64> = x.row(i).iter().zip(&model.center).map(|(x, c)| x - c).collect();
            let square = centered.iter().map(|x| x * x).sum::<f64>();
            sum += (0..2).map(|j| centered.iter().zip(other.row(j)).map(|(a, b)| a * b).sum::<f64>().powi(2) / square).sum::<f64>();
        }
        prop_assert!(sum / n as f64 <= best + 1e-12);
    }

    /// Theorem 1: an orthogonal pair does not move the leading component within its plane, and a pair that is off by xi
    /// changes the objective by at most |sin xi|.
    #[test]
    fn theorem_1(angle in 0.0f64..7.0, xi in -0.5f64..0.5, at in 0.0f64..7.0) {
        let objective = |q: f64, u: f64, v: f64| (q - u).cos().powi(2) + (q - v).cos().powi(2);
        let orthogonal = angle + std::f64::consts::FRAC_PI_2;
        prop_assert!((objective(at, angle, orthogonal) - 1.0).abs() < 1e-12);
        prop_assert!((objective(at, angle, orthogonal + xi) - 1.0).abs() <= xi.sin().abs() + 1e-12);
        // The same through a fit: adding orthogonal pairs to samples in a plane leaves the leading component alone.
        let mut rows: Vec<f64> = Vec::new();
        for k in 0..7 {
            let direction = 0.3 + 0.05 * f64::from(k);
            rows.extend([direction.cos(), direction.sin()]);
        }
        let alone = Matrix::from_vec(7, 2, rows.clone());
        for (u, length) in [(angle, 1.0), (orthogonal, 40.0)] {
            rows.extend([length * u.cos(), length * u.sin()]);
        }
        let with_pair = Matrix::from_vec(9, 2, rows);
        let mut config = Config::new(Method::Ae, 1);
        config.center = Center::None;
        let (a, b) = (fit(&config, &source(&alone), 1).unwrap(), fit(&config, &source(&with_pair), 1).unwrap());
        prop_assert!(sine(&a.components, &b.components) < 1e-12);
    }

    #[test]
    fn rotating_the_data_rotates_the_components(seed in any::<u64>(), n in 8usize..50, features in 3usize..12) {
        let mut numbers = Numbers::new(seed);
        let x = numbers.samples(n, features, 2);
        let rotation = numbers.rotation(features);
        let turned = product(&x, &rotation);
        for method in angular_methods() {
            let (a, b) = (fitted(method, 2, &x), fitted(method, 2, &turned));
            prop_assert!(sine(&product(&a.components, &rotation), &b.components) < 1e-7, "{method:?}");
            prop_assert!(difference(a.shares.as_ref().unwrap(), b.shares.as_ref().unwrap()) < 1e-8);
            prop_assert_eq!(a.kept, b.kept);
        }
    }

    #[test]
    fn scaling_and_moving_the_data_change_nothing_but_the_center(seed in any::<u64>(), n in 8usize..50, features in 3usize..12, scale in 1e-3f64..1e3) {
        let mut numbers = Numbers::new(seed);
        let x = numbers.samples(n, features, 2);
        let shift: Vec<f64> = (0..features).map(|_| 10.0 * scale * numbers.normal()).collect();
        let mut moved = x.clone();
        for i in 0..n {
            moved.row_mut(i).iter_mut().zip(&shift).for_each(|(x, s)| *x = *x * scale + s);
        }
        for (method, center) in [(Method::Ae, Center::Mean), (Method::Ae, Center::Median), (Method::Tae, Center::Mean), (Method::Angular, Center::SpatialMedian)] {
            let mut config = Config::new(method, 2);
            config.center = center;
            let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&moved), 1).unwrap());
            prop_assert!(sine(&a.components, &b.components) < 1e-7, "{method:?}");
            let expected: Vec<f64> = a.center.iter().zip(&shift).map(|(c, s)| c * scale + s).collect();
            let size = 1e-8 * scale * 50.0;
            prop_assert!(difference(&expected, &b.center) < size, "{method:?} {:e}", difference(&expected, &b.center));
            for (v, w) in a.variances.iter().zip(&b.variances) {
                prop_assert!((w / (v * scale * scale) - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn saying_everything_twice_changes_nothing(seed in any::<u64>(), n in 8usize..40, features in 3usize..12) {
        let x = Numbers::new(seed).samples(n, features, 2);
        let mut doubled = x.data().to_vec();
        doubled.extend_from_slice(x.data());
        let twice = Matrix::from_vec(2 * n, features, doubled);
        for method in angular_methods() {
            let (a, b) = (fitted(method, 2, &x), fitted(method, 2, &twice));
            prop_assert!(sine(&a.components, &b.components) < 1e-7, "{method:?}");
            prop_assert!(difference(&a.center, &b.center) < 1e-7);
            prop_assert_eq!(&a.kept[..], &b.kept[..n]);
            prop_assert_eq!(&a.kept[..], &b.kept[n..]);
        }
    }

    /// Ties by density do not depend on the order of the rows.
    #[test]
    fn the_order_of_rows_does_not_matter(seed in any::<u64>(), n in 8usize..40, features in 3usize..8) {
        let mut numbers = Numbers::new(seed);
        let x = numbers.samples(n, features, 2);
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, numbers.next() as usize % (i + 1));
        }
        let shuffled = Matrix::from_vec(n, features, order.iter().flat_map(|&i| x.row(i).to_vec()).collect());
        let mut config = Config::new(Method::Tae, 1);
        config.screen = Screen::Cone(Cone { ties: steradian::Ties::Density, cosine: Cosine::Signed, ..Cone::default() });
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&shuffled), 1).unwrap());
        prop_assert_eq!(order[b.cone.as_ref().unwrap().pivot], a.cone.as_ref().unwrap().pivot);
        prop_assert!(sine(&a.components, &b.components) < 1e-9);
    }

    /// The spatial median is where unit directions cancel, whatever the route to it.
    #[test]
    fn the_spatial_median_balances_the_directions(seed in any::<u64>(), n in 5usize..80, features in 2usize..30) {
        assert_balanced(&Numbers::new(seed).samples(n, features, 2));
    }
}

fn assert_balanced(x: &Matrix) {
    for solver in [steradian::Solver::Gram, steradian::Solver::Scatter] {
        let mut config = Config::new(Method::Angular, 1);
        config.solver = solver;
        let center = fit(&config, &source(x), 1).unwrap().center;
        let mut pull = vec![0.0; x.columns()];
        let mut on_it = 0;
        for i in 0..x.rows() {
            let away: Vec<f64> = x.row(i).iter().zip(&center).map(|(x, c)| x - c).collect();
            let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
            if length < 1e-9 {
                on_it += 1;
            } else {
                pull.iter_mut().zip(away).for_each(|(p, a)| *p += a / length);
            }
        }
        let pull = pull.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(pull <= f64::from(on_it) + 1e-7 * x.rows() as f64, "pull {pull:e} with {on_it} samples on the point");
    }
}

/// Few samples: the start lies on one of them, and the way leads past others.
#[test]
fn the_spatial_median_does_not_stop_beside_a_sample() {
    assert_balanced(&Numbers::new(988226861330079776).samples(6, 2, 2));
    for seed in 0..3000 {
        assert_balanced(&Numbers::new(seed).samples(4 + seed as usize % 9, 2 + seed as usize % 3, 2));
    }
}

#[test]
fn the_spatial_median_of_three_points_on_a_line_is_the_middle_one() {
    for solver in [steradian::Solver::Gram, steradian::Solver::Scatter] {
        let x = Matrix::from_vec(5, 2, vec![0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 70.0, 70.0, -5.0, -5.0]);
        let mut config = Config::new(Method::Angular, 1);
        config.solver = solver;
        let model = fit(&config, &source(&x), 1).unwrap();
        assert!(difference(&model.center, &[1.0, 1.0]) < 1e-7, "{:?}", model.center);
    }
}

#[test]
fn one_far_sample_moves_the_mean_but_not_the_spatial_median() {
    let mut x = Numbers::new(1).samples(200, 10, 2);
    let clean = fitted(Method::Angular, 2, &x);
    x.row_mut(17).iter_mut().enumerate().for_each(|(j, v)| *v = if j == 3 { 1e9 } else { 0.0 });
    assert!(sine(&fitted(Method::Angular, 2, &x).components, &clean.components) < 0.05);
    assert!(sine(&fitted(Method::Pca, 2, &x).components, &clean.components) > 0.9);
}

#[test]
fn huge_and_tiny_rows_give_exact_directions() {
    let x = Numbers::new(5).samples(40, 6, 2);
    let mut scaled = x.clone();
    let mut config = Config::new(Method::Ae, 2);
    config.center = Center::None;
    for i in 0..40 {
        let factor = [1e-150, 1.0, 1e150][i % 3];
        scaled.row_mut(i).iter_mut().for_each(|v| *v *= factor);
    }
    for solver in [steradian::Solver::Scatter, steradian::Solver::Gram, steradian::Solver::Krylov] {
        config.solver = solver;
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&scaled), 1).unwrap());
        assert!(sine(&a.components, &b.components) < 1e-12, "{solver:?}");
        config.screen = Screen::Cone(Cone::default());
        let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&scaled), 1).unwrap());
        assert_eq!(a.cone, b.cone, "{solver:?}");
        config.screen = Screen::Everyone;
    }
}

#[test]
fn the_automatic_cone_is_the_smallest_that_holds_half() {
    let x = Numbers::new(8).samples(41, 6, 1);
    for (solver, cosine) in [
        (steradian::Solver::Gram, Cosine::Abs),
        (steradian::Solver::Scatter, Cosine::Abs),
        (steradian::Solver::Gram, Cosine::Signed),
    ] {
        let mut config = Config::new(Method::Tae, 1);
        config.solver = solver;
        let cone = Cone { cosine, angle: steradian::Angle::Auto, ..Cone::default() };
        config.screen = Screen::Cone(cone);
        let model = fit(&config, &source(&x), 1).unwrap();
        let angle = model.cone.as_ref().unwrap().angle_degrees;
        assert!(model.n_kept() >= 21, "{solver:?}: kept {}", model.n_kept());
        config.screen = Screen::Cone(Cone { angle: steradian::Angle::Degrees(angle - 1e-6), ..cone });
        let tighter = fit(&config, &source(&x), 1).unwrap();
        assert!(tighter.n_kept() < 21, "{solver:?}: {} kept in a tighter cone", tighter.n_kept());
    }
}
