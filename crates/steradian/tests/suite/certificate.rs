//! The certificate on 1000 problems with known spectra: the true sine never exceeds the bound.

use crate::common::{TestRandom, sine, source};
use steradian::{Center, Config, Local, Matrix, Method, Solver};

/// Rows along orthogonal axes and their negatives, whose uncentered scatter has a relative gap after eigenvalue d; and
/// the exact subspace.
fn problem(numbers: &mut TestRandom, features: usize, d: usize, gap: f64) -> (Matrix, Matrix) {
    let rotation = numbers.rotation(features);
    let mut x = Matrix::zeros(2 * features, features);
    for j in 0..features {
        let eigenvalue: f64 = match j {
            j if j < d => (1.0 + gap) * (1.0 + 0.3 * (d - 1 - j) as f64),
            j => 1.0 / (1.0 + 0.01 * (j - d) as f64),
        };
        for i in 0..features {
            x[(2 * j, i)] = eigenvalue.sqrt() * rotation[(j, i)];
            x[(2 * j + 1, i)] = -x[(2 * j, i)];
        }
    }
    let exact = Matrix::from_vec(d, features, rotation.data()[..d * features].to_vec());
    (x, exact)
}

#[test]
fn the_true_sine_never_exceeds_the_bound() {
    let runner = Local::new(2).unwrap();
    let mut tightness = Vec::new();
    let mut not_converged = 0;
    for k in 0..1000u64 {
        let mut numbers = TestRandom::new(k);
        let gap = 10f64.powf(-6.0 * numbers.uniform());
        let d = 1 + (numbers.next() % 4) as usize;
        // Wide enough for the Krylov solver to stop before its basis is the whole space.
        let features = if k % 3 == 2 { 150 } else { 40 };
        let (x, exact) = problem(&mut numbers, features, d, gap);
        let mut config = Config::new(Method::Pca, d);
        config = config.with_center(Center::None);
        config = config.with_solver([Solver::Scatter, Solver::Gram, Solver::Krylov][k as usize % 3]);
        config = config.with_tolerance(10f64.powf(-3.0 - 4.0 * numbers.uniform()));
        config = config.with_seed(k);
        let model = steradian::fit(&config, &source(&x), &runner).unwrap();
        let (off, bound) = (sine(&model.subspace.components, &exact), model.report.certificate.sine_bound);
        // The rows are rounded, which changes the exact subspace by about eps / gap.
        let rounding = 20.0 * f64::EPSILON / gap;
        assert!(
            off <= bound + rounding,
            "problem {k}: {:?}, gap {gap:e}: sine {off:e}, bound {bound:e}",
            config.solver()
        );
        assert_eq!(model.report.certificate.converged, bound <= config.tolerance());
        not_converged += usize::from(!model.report.certificate.converged);
        if off > 10.0 * rounding && off > 1e-13 {
            tightness.push(bound / off);
        }
    }
    tightness.sort_by(f64::total_cmp);
    println!(
        "bound / sine: median {:.1}, largest {:.1e}, over {} problems whose error is above rounding; {not_converged} not converged",
        tightness[tightness.len() / 2],
        tightness[tightness.len() - 1],
        tightness.len()
    );
    assert_eq!(not_converged, 0, "all these gaps are large enough for f64");
}
