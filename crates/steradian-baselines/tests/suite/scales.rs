//! Baselines at every scale of the data: equal to the fit at scale 1, or rejected with the reason.

use crate::common::{TestRandom, message_of, source};
use steradian::{Local, Matrix, Result, SliceSource};
use steradian_baselines::{BASELINES, Pursuit, preset};

/// x 2^k in two exact steps.
fn scaled(x: f64, k: i32) -> f64 {
    x * 2f64.powi(k / 2) * 2f64.powi(k - k / 2)
}

fn scaled_matrix(x: &Matrix, k: i32) -> Matrix {
    Matrix::from_vec(x.rows(), x.columns(), x.data().iter().map(|v| scaled(*v, k)).collect())
}

#[test]
fn powers_of_two_change_units_only() {
    let runner = Local::new(1).unwrap();
    let x = TestRandom::new(3).samples(60, 7, 2);
    for method in BASELINES {
        let config = preset(method, 2);
        let base = steradian_baselines::fit(&config, &source(&x), &runner).unwrap();
        for k in [-1010, -505, -300, -100, 100, 253, 300, 505, 1015] {
            match steradian_baselines::fit(&config, &source(&scaled_matrix(&x, k)), &runner) {
                Ok(found) => {
                    assert_eq!(found.subspace.components, base.subspace.components, "{} 2^{k}", method.name());
                    let center: Vec<f64> = base.subspace.center.iter().map(|c| scaled(*c, k)).collect();
                    assert_eq!(found.subspace.center, center, "{} 2^{k}", method.name());
                    assert_eq!(found.report.iterations, base.report.iterations);
                    assert_eq!(found.report.certificate.converged, base.report.certificate.converged);
                    assert_eq!(found.config, config);
                }
                Err(error) => {
                    assert!(k.abs() > 500, "{} 2^{k}: {error}", method.name());
                    assert!(
                        message_of(&error).contains("outside of the range of f64"),
                        "{} 2^{k}: {error}",
                        method.name()
                    );
                }
            }
        }
        // Single precision, of whose range 1e18 is far from the end.
        let single = |k: i32| -> Vec<f32> { x.data().iter().map(|v| scaled(f64::from(*v as f32), k) as f32).collect() };
        let fit = |data: &[f32]| steradian_baselines::fit(&config, &SliceSource::new(data, 60, 7).unwrap(), &runner);
        let base = fit(&single(0)).unwrap();
        for k in [-100, -60, 60, 110] {
            let found = fit(&single(k)).unwrap();
            assert_eq!(found.subspace.components, base.subspace.components, "{} f32 2^{k}", method.name());
        }
    }
}

#[test]
fn both_parts_of_a_pursuit_are_in_the_units_of_the_data() {
    let runner = Local::new(1).unwrap();
    let x = TestRandom::new(4).samples(40, 9, 2);
    let config = preset(steradian_baselines::PCP, 2);
    let fit = |x: &Matrix| -> Result<Pursuit> {
        steradian_baselines::principal_component_pursuit(&config, &source(x), &runner)
    };
    let base = fit(&x).unwrap();
    for k in [-400, 400] {
        let found = fit(&scaled_matrix(&x, k)).unwrap();
        assert_eq!(found.low_rank, scaled_matrix(&base.low_rank, k));
        assert_eq!(found.sparse, scaled_matrix(&base.sparse, k));
    }
}

#[test]
fn huge_cells_give_an_error_or_a_finite_result() {
    let runner = Local::new(1).unwrap();
    for value in [1e76, 1e200, 1.7e308, -1.7e308] {
        let mut x = TestRandom::new(5).samples(60, 6, 2);
        x[(30, 2)] = value;
        for method in BASELINES {
            match steradian_baselines::fit(&preset(method, 2), &source(&x), &runner) {
                Ok(model) => assert!(model.subspace.components.data().iter().all(|c| c.is_finite())),
                Err(error) => drop(message_of(&error)),
            }
        }
    }
}
