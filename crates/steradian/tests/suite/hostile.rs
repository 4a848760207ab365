//! Invalid input: an error with numbers, never a panic.

use crate::common::{TestRandom, fit, message_of, solvers, source};
use steradian::config::{Angle, Cone, Missing, Screen};
use steradian::data::Shape;
use steradian::engine::CancelToken;
use steradian::{Center, Config, Error, Local, Matrix, Method, Model, Plan, SliceSource, Solver, Source};

fn rejection(config: &Config, x: &Matrix) -> Error {
    fit(config, &source(x), 2).expect_err("must be rejected")
}

fn invalid_argument(config: &Config, x: &Matrix, words: &str) {
    match rejection(config, x) {
        error @ (Error::InvalidArgument { .. } | Error::RankTooSmall { .. }) => {
            assert!(message_of(&error).contains(words), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

fn invalid_data(config: &Config, x: &Matrix, words: &str) {
    match rejection(config, x) {
        error @ (Error::InvalidData(_) | Error::NotFinite { .. }) => {
            assert!(message_of(&error).contains(words), "{error}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn cells_that_are_not_finite_are_reported_by_row_and_column() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for method in Method::ALL {
            for &solver in solvers(method) {
                let mut x = TestRandom::new(1).samples(700, 5, 2);
                x[(613, 2)] = bad;
                x[(650, 0)] = bad;
                let config = Config::new(method, 2).with_solver(solver).with_missing(Missing::Error);
                invalid_data(&config, &x, "at row 613, column 2");
            }
        }
    }
    let mut x = TestRandom::new(1).samples(30, 5, 2);
    let model = fit(&Config::new(Method::Ae, 2), &source(&x), 1).unwrap();
    x[(7, 4)] = f64::NAN;
    let error = model.transform(&source(&x), &Local::new(1).unwrap()).expect_err("NaN in new data");
    assert!(message_of(&error).contains("NaN at row 7, column 4"), "{error}");
}

#[test]
fn sums_that_overflow_are_no_obstacle() {
    // Up to rounding, all rows are equal; their column sums overflow.
    let x = Matrix::from_vec(3, 2, vec![1e308, 1.0, 1e308, 2.0, 1e308, 3.5]);
    invalid_data(&Config::new(Method::Ae, 1), &x, "equal to the center");
    let x = Matrix::from_vec(4, 2, vec![1.7e308, 1e307, 1.6e308, 2e307, 1.5e308, 3e307, 1.4e308, 4.5e307]);
    invalid_data(&Config::new(Method::Ae, 1), &x, "outside of the range of f64");
    let config = Config::new(Method::Ae, 1).with_scaling(steradian::config::Scaling::Mad);
    let model = fit(&config, &source(&x), 1).unwrap();
    assert!((model.subspace.center[0] / 1.55e308 - 1.0).abs() < 1e-12);
}

#[test]
fn too_little_data() {
    let config = Config::new(Method::Angular, 1);
    invalid_data(&config, &Matrix::from_vec(1, 3, vec![1.0, 2.0, 3.0]), "single sample");
    invalid_data(&config, &Matrix::zeros(0, 3), "empty");
    invalid_data(&config, &Matrix::zeros(5, 0), "empty");
    for method in Method::ALL {
        for &solver in solvers(method) {
            let mut config = Config::new(method, 1);
            config = config.with_solver(solver);
            // 0.1 is not a binary fraction: the mean of equal rows differs from them by rounding.
            let words = if method.is_cellwise() { "no feature has two different values" } else { "equal" };
            invalid_data(&config, &Matrix::from_vec(7, 3, vec![0.1; 21]), words);
        }
    }
    let equal = [9u8; 30];
    for solver in [Solver::Scatter, Solver::Gram, Solver::Krylov] {
        let mut config = Config::new(Method::Angular, 1);
        config = config.with_solver(solver);
        let error = fit(&config, &SliceSource::new(&equal, 10, 3).unwrap(), 1).expect_err("equal rows");
        assert!(matches!(error, Error::InvalidData(m) if m.contains("equal to the center")));
    }
}

#[test]
fn constant_columns_and_zero_rows_are_valid() {
    let mut x = TestRandom::new(2).samples(50, 6, 2);
    (0..50).for_each(|i| x[(i, 3)] = 4.0);
    let config = Config::new(Method::Angular, 2);
    let model = fit(&config, &source(&x), 1).unwrap();
    assert!(model.subspace.components[(0, 3)].abs() < 1e-12 && model.subspace.components[(1, 3)].abs() < 1e-12);
    let center = model.subspace.center.clone();
    x.row_mut(9).copy_from_slice(&center);
    let mut config = Config::new(Method::Tae, 2);
    config = config.with_center(Center::Given(center));
    let model = fit(&config, &source(&x), 1).unwrap();
    assert!(!model.report.support[9]);
    assert_eq!(model.report.cone.unwrap().tau[9], 51);
}

#[test]
fn too_many_components() {
    let x = TestRandom::new(3).samples(20, 6, 2);
    invalid_argument(&Config::new(Method::Ae, 0), &x, "at least 1");
    invalid_argument(&Config::new(Method::Ae, 7), &x, "use at most 6");
    let line = Matrix::from_vec(5, 3, (0..15).map(|i| (i / 3) as f64 * [1.0, 2.0, -1.0][i % 3]).collect());
    for solver in [Solver::Scatter, Solver::Gram, Solver::Krylov] {
        let mut config = Config::new(Method::Ae, 2);
        config = config.with_solver(solver);
        invalid_argument(&config, &line, "exceeds the rank 1");
    }
}

#[test]
fn angles_tolerances_and_centers_out_of_range() {
    let x = TestRandom::new(4).samples(20, 6, 2);
    for angle in [0.0, -5.0, 90.5, f64::NAN, f64::INFINITY] {
        let mut config = Config::new(Method::Tae, 1);
        config = config.with_screen(Screen::Cone(Cone { max_angle: Angle::Degrees(angle), ..Cone::default() }));
        invalid_argument(&config, &x, "above 0 and at most 90");
    }
    let mut config = Config::new(Method::Ae, 1);
    config = config.with_tolerance(0.0);
    invalid_argument(&config, &x, "tolerance");
    let mut config = Config::new(Method::Ae, 1);
    config = config.with_center(Center::Given(vec![0.0; 5]));
    invalid_argument(&config, &x, "one value per feature");
    config = config.with_center(Center::Given(vec![0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]));
    invalid_argument(&config, &x, "at feature 2");
}

#[test]
fn a_narrow_cone_warns_and_a_cone_too_narrow_for_d_is_rejected() {
    let x = TestRandom::new(5).samples(60, 20, 2);
    let mut config = Config::new(Method::Tae, 2);
    config = config.with_screen(Screen::Cone(Cone { max_angle: Angle::Degrees(25.0), ..Cone::default() }));
    let model = fit(&config, &source(&x), 1).unwrap();
    assert!(model.report.warnings.iter().any(|w| w.contains("fewer than half")), "{:?}", model.report.warnings);
    config = config.with_screen(Screen::Cone(Cone { max_angle: Angle::Degrees(1e-6), ..Cone::default() }));
    invalid_argument(&config, &x, "too few for n_components = 2");
}

#[test]
fn data_of_another_width() {
    let x = TestRandom::new(6).samples(20, 6, 2);
    let model = fit(&Config::new(Method::Ae, 1), &source(&x), 1).unwrap();
    let other = TestRandom::new(6).samples(20, 5, 2);
    let error = model.transform(&source(&other), &Local::new(1).unwrap()).expect_err("another width");
    assert!(matches!(error, Error::FeatureCount { expected: 6, found: 5 }), "{error}");
}

#[test]
fn over_the_memory_limit_with_numbers() {
    let mut config = Config::new(Method::Ae, 2);
    config = config.with_memory_limit(Some(1 << 20));
    let shape = Shape { samples: 5000, features: 90_000, element: steradian::data::ElementType::U8, image: None };
    match Plan::new(&config, &shape, 2).expect_err("1 MiB is too little") {
        error @ Error::OverMemory { limit, needed, .. } => {
            assert!(limit == 1 << 20 && needed > limit, "{error}");
            assert!(message_of(&error).contains("may use 1.0 MiB"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    config = config.with_memory_limit(Some(1 << 30));
    let plan = Plan::new(&config, &shape, 2).unwrap();
    assert!(plan.peak_memory_bytes < 1 << 30 && plan.passes > 0 && plan.bytes_read >= shape.bytes());
}

#[test]
fn models_that_are_damaged_or_of_another_version() {
    let x = TestRandom::new(8).samples(30, 6, 2);
    let model = fit(&Config::new(Method::Tae, 2), &source(&x), 1).unwrap();
    let bytes = model.to_bytes().unwrap();
    let text = |e: Error| message_of(&e);
    assert!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap() == bytes, "a round trip changes nothing");
    let replace = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
        let mut other = bytes.clone();
        other[at..at + from.len()].copy_from_slice(to.as_bytes());
        Model::from_bytes(&other).map(|_| ()).expect_err("damaged")
    };
    assert!(text(replace("format\\\":2", "format\\\":7")).contains("version 7"));
    assert!(
        text(replace("\"explained_variance\"", "\"explained_variancX\"")).contains("`explained_variance` is missing")
    );
    for length in [0, 7, 8, 100, bytes.len() - 1] {
        assert!(Model::from_bytes(&bytes[..length]).is_err());
    }
    let mut numbers = TestRandom::new(9);
    for _ in 0..2000 {
        let mut other = bytes.clone();
        for _ in 0..1 + numbers.next() % 4 {
            let at = numbers.next() as usize % other.len();
            other[at] = numbers.next() as u8;
        }
        let _ = Model::from_bytes(&other); // must return, with any result
    }
}

#[test]
fn a_cancelled_fit_stops() {
    let x = TestRandom::new(10).samples(4000, 50, 2);
    let token = CancelToken::default();
    let inner = token.clone();
    let runner = Local::new(2).unwrap().with_cancel_token(token).with_progress(move |progress| {
        if progress.pass == 2 {
            inner.cancel();
        }
    });
    let result = steradian::fit(&Config::new(Method::Angular, 2), &source(&x), &runner);
    assert!(matches!(result, Err(Error::Cancelled)));
}

#[test]
fn a_shape_that_does_not_fit_its_buffer() {
    assert!(SliceSource::new(&[1.0f64; 5], 2, 3).is_err());
    assert!(SliceSource::new(&[1.0f64; 6], usize::MAX, 3).is_err());
    assert!(SliceSource::new(&[1.0f64; 6], 2, 3).unwrap().with_image(2, 2).is_err());
    assert_eq!(SliceSource::new(&[1.0f64; 6], 1, 6).unwrap().with_image(2, 3).unwrap().shape().image, Some((2, 3)));
}
