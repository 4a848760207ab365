//! Properties of the baselines: orthonormal components, byte-identical models, numbers of steps, parts that add up.

use crate::common::{TestRandom, fit, largest_sine, low_rank_and_sparse, message_of, relative, sine, source};
use steradian::{Config, Error, Local, Matrix, Method, Model, SliceSource};

fn all_methods() -> impl Iterator<Item = Config> {
    steradian_baselines::BASELINES.into_iter().map(|method| steradian_baselines::preset(method, 2))
}

#[test]
fn components_are_orthonormal_whatever_the_shape() {
    let mut numbers = TestRandom::new(1);
    for (n, features) in [(20, 5), (5, 20), (257, 30), (40, 513), (300, 2)] {
        let x = numbers.samples(n, features, 2);
        for config in all_methods() {
            let model = fit(&config, &x, 2);
            let d = model.n_components();
            assert!(
                d == 2 || config.method() == steradian_baselines::PCP,
                "only the rank of a low-rank part may be less than requested"
            );
            for i in 0..d {
                for j in 0..d {
                    let dot: f64 = model
                        .subspace
                        .components
                        .row(i)
                        .iter()
                        .zip(model.subspace.components.row(j))
                        .map(|(a, b)| a * b)
                        .sum();
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot - expected).abs() < 1e-10, "{} {n} x {features}: {dot}", config.method().name());
                }
            }
            assert_eq!(
                model.report.iterations.len(),
                if matches!(config.method(), steradian_baselines::GA | steradian_baselines::TGA) { 2 } else { 1 }
            );
        }
    }
}

#[test]
fn models_are_byte_identical_for_any_number_of_threads_and_after_a_round_trip() {
    let x = TestRandom::new(2).samples(300, 600, 3);
    for config in all_methods() {
        let bytes: Vec<Vec<u8>> = [1, 2, 7].map(|threads| fit(&config, &x, threads).to_bytes().unwrap()).to_vec();
        assert_eq!(bytes[0], bytes[1], "{}: 1 and 2 threads", config.method().name());
        assert_eq!(bytes[0], bytes[2], "{}: 1 and 7 threads", config.method().name());
        let read = Model::from_bytes(&bytes[0]).unwrap();
        assert_eq!(read.to_bytes().unwrap(), bytes[0], "{}", config.method().name());
        assert_eq!(read.config.parameter(steradian_baselines::TRIM), config.parameter(steradian_baselines::TRIM));
    }
}

/// Directions in pairs (a, -a) along the axes, so that the angular eigenvalues are the fractions of samples per axis.
fn axes(counts: &[usize]) -> Matrix {
    let n = 2 * counts.iter().sum::<usize>();
    let mut x = Matrix::zeros(n, counts.len());
    let mut row = 0;
    for (axis, count) in counts.iter().enumerate() {
        for k in 0..*count {
            for sign in [1.0, -1.0] {
                x[(row, axis)] = sign * (1.0 + k as f64);
                row += 1;
            }
        }
    }
    x
}

#[test]
fn the_steps_of_emae_follow_from_the_ratio_of_eigenvalues() {
    for (counts, d) in [(vec![40, 20, 10, 5], 1), (vec![50, 40, 32, 8], 2), (vec![50, 45, 15, 12, 9], 2)] {
        let x = axes(&counts);
        let ratio = counts[d] as f64 / counts[d - 1] as f64;
        let steps = |tolerance: f64, seed: u64| {
            let config = steradian_baselines::preset(steradian_baselines::EMAE, d);
            fit(&config.with_tolerance(tolerance).with_seed(seed), &x, 2).report.iterations[0] as f64
        };
        // The steps of the start are equal for both tolerances. Single starts have more or fewer steps while smaller
        // eigenvalues still count.
        let (coarse, fine, starts) = (1e-3f64, 1e-9, 8);
        let expected = (fine / coarse).ln() / ratio.ln();
        let found = (0..starts).map(|seed| steps(fine, seed) - steps(coarse, seed)).sum::<f64>() / starts as f64;
        assert!((found - expected).abs() <= 1.0, "{counts:?}, d = {d}: {found} steps, expected {expected:.1}");
    }
}

#[test]
fn emae_is_ae_and_em_pca_is_pca() {
    let mut numbers = TestRandom::new(3);
    for (n, features) in [(200, 10), (30, 90)] {
        let x = numbers.samples(n, features, 3);
        for (iterated, direct) in [(steradian_baselines::EMAE, Method::Ae), (steradian_baselines::EMPCA, Method::Pca)] {
            let mut config = steradian_baselines::preset(iterated, 3);
            config = config.with_tolerance(1e-11);
            let found = fit(&config, &x, 2);
            let exact = steradian::fit(&Config::new(direct, 3), &source(&x), &Local::new(2).unwrap()).unwrap();
            let off = sine(&exact.subspace.components, &found.subspace.components);
            assert!(off < 1e-8, "{}: {off:e}", iterated.name());
            assert!(
                relative(&found.diagnostics.explained_variance, &exact.diagnostics.explained_variance) < 1e-8,
                "{}",
                iterated.name()
            );
            assert!(
                off <= found.report.certificate.sine_bound + 1e-12,
                "the bound holds: {:?}",
                found.report.certificate
            );
            if let (Some(a), Some(b)) = (&found.subspace.angular_eigenvalues, &exact.subspace.angular_eigenvalues) {
                assert!(relative(a, b) < 1e-10);
            }
        }
    }
}

#[test]
fn the_certificate_bounds_an_early_stop() {
    let x = TestRandom::new(4).samples(150, 40, 2);
    for (iterated, direct) in [(steradian_baselines::EMAE, Method::Ae), (steradian_baselines::EMPCA, Method::Pca)] {
        for tolerance in [0.3, 1e-2, 1e-4] {
            let mut config = steradian_baselines::preset(iterated, 2);
            config = config.with_tolerance(tolerance);
            let found = fit(&config, &x, 1);
            let exact = steradian::fit(&Config::new(direct, 2), &source(&x), &Local::new(1).unwrap()).unwrap();
            // The bound is on the largest angle; rounding is far below all these tolerances.
            let off = largest_sine(&exact.subspace.components, &found.subspace.components);
            let bound = found.report.certificate.sine_bound;
            assert!(off <= bound + 1e-12, "{} at {tolerance}: {off:e}, bound {bound:e}", iterated.name());
            assert!(off > 1e-9, "{} at {tolerance}: {off:e}; an early stop leaves an error to bound", iterated.name());
            assert!(bound < 1.0, "{} at {tolerance}: a bound of 1 is trivial", iterated.name());
        }
    }
}

#[test]
fn u8_data_give_the_result_of_f64_data() {
    let x = TestRandom::new(5).samples(120, 50, 2);
    let bytes: Vec<u8> = x.data().iter().map(|v| (8.0 * v + 128.0).clamp(0.0, 255.0) as u8).collect();
    let wide: Vec<f64> = bytes.iter().map(|b| f64::from(*b)).collect();
    let runner = Local::new(2).unwrap();
    for config in all_methods() {
        let narrow = steradian_baselines::fit(&config, &SliceSource::new(&bytes, 120, 50).unwrap(), &runner).unwrap();
        let double = steradian_baselines::fit(&config, &SliceSource::new(&wide, 120, 50).unwrap(), &runner).unwrap();
        let off = sine(&double.subspace.components, &narrow.subspace.components);
        assert!(off < 3e-3, "{}: {off:e}", config.method().name());
    }
}

#[test]
fn low_rank_and_sparse_parts_are_found_and_add_up() {
    for (n, features) in [(60, 80), (90, 40)] {
        let x = low_rank_and_sparse(6, n, features, 2, 0.05);
        let mut config = steradian_baselines::preset(steradian_baselines::PCP, 2);
        config = config.with_center(steradian::Center::None);
        let found =
            steradian_baselines::principal_component_pursuit(&config, &source(&x), &Local::new(2).unwrap()).unwrap();
        let sum: Vec<f64> = found.low_rank.data().iter().zip(found.sparse.data()).map(|(l, s)| l + s).collect();
        assert!(relative(&sum, x.data()) < 1e-6, "M = L + S");
        let clean = low_rank_and_sparse(6, n, features, 2, 0.0);
        // The generator draws cells after the factors, so the low-rank parts are equal.
        let off = relative(found.low_rank.data(), clean.data());
        assert!(off < 1e-3, "{n} x {features}: the low-rank part is off by {off:e}");
        let zeros = found.sparse.data().iter().filter(|s| s.abs() < 1e-6).count() as f64;
        assert!(zeros > 0.9 * (n * features) as f64, "{zeros} zeros");
        assert_eq!(found.rank, 2);
    }
}

#[test]
fn a_pursuit_that_does_not_converge_warns() {
    let mut config = steradian_baselines::preset(steradian_baselines::PCP, 2);
    // Below rounding: no iteration reaches it.
    config = config.with_tolerance(1e-30);
    let model = fit(&config, &low_rank_and_sparse(6, 20, 30, 2, 0.05), 1);
    assert!(!model.report.certificate.converged && model.report.certificate.residual > 0.0);
    assert_eq!(model.report.iterations, [1000]);
    assert!(
        model.report.warnings.iter().any(|warning| warning.contains("> tolerance 1.0e-30 after 1000 iterations")),
        "{:?}",
        model.report.warnings
    );
}

#[test]
fn tga_tolerates_outliers_that_affect_ga() {
    let mut numbers = TestRandom::new(7);
    let mut x = numbers.samples(200, 6, 1);
    let clean = fit(&steradian_baselines::preset(steradian_baselines::GA, 1), &x, 1);
    for i in 0..20 {
        let feature = i % 6;
        x[(i, feature)] += 400.0;
    }
    let mut config = steradian_baselines::preset(steradian_baselines::TGA, 1);
    config = config.with_center(steradian::Center::Median);
    let trimmed = sine(&clean.subspace.components, &fit(&config, &x, 1).subspace.components);
    config = config.with_method(steradian_baselines::GA);
    config = config.with_parameter(steradian_baselines::TRIM, 0.0);
    let plain = sine(&clean.subspace.components, &fit(&config, &x, 1).subspace.components);
    assert!(trimmed < 0.1 && plain > 0.5, "trimmed {trimmed}, plain {plain}");
}

#[test]
fn invalid_arguments_are_rejected_with_numbers() {
    let x = TestRandom::new(8).samples(30, 10, 3);
    let runner = Local::new(1).unwrap();
    let message = |config: &Config| match steradian_baselines::fit(config, &source(&x), &runner) {
        Err(error @ (Error::InvalidArgument { .. } | Error::OverMemory { .. })) => message_of(&error),
        other => panic!("{other:?}"),
    };
    let mut config = steradian_baselines::preset(steradian_baselines::PCP, 2);
    config = config.with_memory_limit(Some(10 << 10));
    assert!(message(&config).contains("with method pcp on one thread but may use 10.0 KiB"), "{}", message(&config));
    let mut config = steradian_baselines::preset(steradian_baselines::TGA, 2);
    config = config.with_parameter(steradian_baselines::TRIM, 0.7);
    assert!(message(&config).contains("trim = 0.7 is not in [0, 0.5]"));
    let mut config = steradian_baselines::preset(steradian_baselines::EMPCA, 11);
    assert!(message(&config).contains("at most 10"));
    config = config.with_n_components(steradian::ComponentCount::Auto);
    assert!(message(&config).contains("requires an integer number of components"));
    assert!(message(&Config::new(Method::Ae, 2)).contains("is not a baseline"));
    let engine =
        steradian::fit(&steradian_baselines::preset(steradian_baselines::TGA, 2), &source(&x), &runner).unwrap_err();
    assert!(engine.to_string().contains("the method tga belongs to another crate"), "{engine}");
}

#[test]
fn invalid_data_are_rejected() {
    let runner = Local::new(1).unwrap();
    for config in all_methods() {
        let equal = vec![3.5; 40];
        let error = steradian_baselines::fit(&config, &SliceSource::new(&equal, 10, 4).unwrap(), &runner).unwrap_err();
        assert!(message_of(&error).contains("equal to the center"), "{}: {error}", config.method().name());
        let mut with_nan: Vec<f64> = (0..40).map(|i| (i * i % 17) as f64).collect();
        with_nan[13] = f64::NAN;
        let error =
            steradian_baselines::fit(&config, &SliceSource::new(&with_nan, 10, 4).unwrap(), &runner).unwrap_err();
        assert!(message_of(&error).contains("row 3, column 1"), "{}: {error}", config.method().name());
    }
    // Data of rank 1: a second component does not exist.
    let line: Vec<f64> = (0..40).map(|i| (i / 4) as f64 * [1.0, 2.0, -1.0, 0.5][i % 4]).collect();
    for method in
        [steradian_baselines::EMPCA, steradian_baselines::EMAE, steradian_baselines::GA, steradian_baselines::TGA]
    {
        let error = steradian_baselines::fit(
            &steradian_baselines::preset(method, 2),
            &SliceSource::new(&line, 10, 4).unwrap(),
            &runner,
        )
        .unwrap_err();
        assert!(message_of(&error).contains("rank 1"), "{}: {error}", method.name());
    }
}

#[test]
fn equal_eigenvalues_are_never_certified() {
    let model = fit(&steradian_baselines::preset(steradian_baselines::EMAE, 1), &axes(&[30, 30, 30]), 1);
    assert_eq!(model.report.certificate.sine_bound, 1.0);
}

/// The total variance is the trace for EM PCA and robust for the other methods, as are the explained variances.
#[test]
fn explained_variance_ratios_sum_to_at_most_1() {
    let mut x = TestRandom::new(12).samples(80, 12, 3);
    for outliers in [false, true] {
        if outliers {
            (0..16).for_each(|i| x.row_mut(i).iter_mut().for_each(|x| *x *= 40.0));
        }
        for config in all_methods() {
            let model = fit(&config, &x, 1);
            let total = model.diagnostics.total_variance.unwrap();
            let ratios: Vec<f64> =
                model.diagnostics.explained_variance.iter().map(|variance| variance / total).collect();
            let what = format!("{}, outliers {outliers}: {ratios:?}", config.method().name());
            assert!(ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{what}");
            assert!(ratios.iter().sum::<f64>() <= 1.0 + 1e-12, "{what}");
            if config.method() == steradian_baselines::EMPCA {
                let trace: f64 = (0..12)
                    .map(|j| {
                        let mean = (0..80).map(|i| x[(i, j)]).sum::<f64>() / 80.0;
                        (0..80).map(|i| (x[(i, j)] - mean).powi(2)).sum::<f64>() / 79.0
                    })
                    .sum();
                assert!((total / trace - 1.0).abs() < 1e-10, "{total} and {trace}");
            }
        }
    }
}
