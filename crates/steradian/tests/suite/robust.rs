//! Properties of the robust methods: tolerance of outliers, and invariance.

use crate::common::{TestRandom, difference, fit, message_of, orthonormalize, sine, source};
use proptest::prelude::*;
use steradian::config::{Cells, Cone, Loss, Outlyingness, Scaling, Screen, Weighting};
use steradian::data::{BlockElement, Element};
use steradian::model::{CellFlag, CutoffKind, Flag};
use steradian::{Center, ComponentCount, Config, Error, Local, Matrix, Method, SliceSource, Solver, Source};

/// The methods that estimate from usable cells.
const CELLWISE: [Method; 3] = [Method::Robust, Method::Cells, Method::Rows];

/// Samples of a plane with noise, the last `outliers` of them in a cluster at about ten times the distance of the
/// farthest other samples. (At a third of that distance, projection directions through pairs of the cluster can make it
/// part of the bulk: a limit of the Stahel-Donoho outlyingness.) Returns the samples, those without the cluster, and
/// the plane.
fn clustered(seed: u64, n: usize, features: usize, outliers: usize) -> (Matrix, Matrix, Matrix) {
    let mut numbers = TestRandom::new(seed);
    let x = numbers.samples(n, features, 2);
    // `samples` draws the basis of the plane first.
    let mut plane = TestRandom::new(seed).matrix(2, features);
    orthonormalize(&mut plane);
    let clean = Matrix::from_vec(n - outliers, features, x.data()[..(n - outliers) * features].to_vec());
    let mut contaminated = x;
    let direction: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
    for i in n - outliers..n {
        for j in 0..features {
            contaminated[(i, j)] = 120.0 * direction[j] + 0.1 * numbers.normal();
        }
    }
    (contaminated, clean, plane)
}

/// The order of 0..n after random swaps.
fn random_order(seed: u64, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut numbers = TestRandom::new(seed);
    for i in (1..n).rev() {
        order.swap(i, numbers.next() as usize % (i + 1));
    }
    order
}

fn with_pairs(pairs: Vec<[usize; 2]>) -> Config {
    let screen = Outlyingness { pairs: Some(pairs), ..Outlyingness::default() };
    Config::new(Method::Robust, 2).with_screen(Screen::Outlyingness(screen))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Two fifths of the samples are in a cluster: none of them is in the support, and the model is that of the others
    /// alone, except for a few samples at the edge. The true plane is found as accurately as 240 samples with this noise
    /// allow.
    #[test]
    fn a_cluster_of_two_fifths_has_no_influence(seed in any::<u64>(), features in 8usize..30) {
        let n = 400;
        let (x, clean, plane) = clustered(seed, n, features, 160);
        let config = Config::new(Method::Robust, 2);
        let alone = fit(&config, &source(&clean), 1).unwrap();
        let model = fit(&config, &source(&x), 1).unwrap();
        prop_assert!(model.report.support[n - 160..].iter().all(|k| !k), "outliers are in the support");
        prop_assert!(model.n_support() >= 217, "{} of 240 regular samples are in the support", model.n_support());
        let (apart, off) = (sine(&model.subspace.components, &alone.subspace.components), sine(&model.subspace.components, &plane));
        prop_assert!(apart < 0.02 && off < 0.06, "{} from the fit of the others, {} from the plane", apart, off);
        for (a, b) in model.diagnostics.explained_variance.iter().zip(&alone.diagnostics.explained_variance) {
            prop_assert!((a / b - 1.0).abs() < 0.15, "{:?} {:?}", model.diagnostics.explained_variance, alone.diagnostics.explained_variance);
        }
        // The method of the paper follows them.
        let ae = fit(&Config::new(Method::Ae, 2), &source(&x), 1).unwrap();
        prop_assert!(sine(&ae.subspace.components, &plane) > 0.5);
    }

    #[test]
    fn rows_in_another_order_give_the_same_model(seed in any::<u64>(), n in 20usize..70) {
        let (x, ..) = clustered(seed, n, 6, n / 5);
        let order = random_order(seed ^ 2, n);
        let shuffled = Matrix::from_vec(n, 6, order.iter().flat_map(|&i| x.row(i).to_vec()).collect());
        for method in CELLWISE {
            let config = Config::new(method, 2);
            let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&shuffled), 1).unwrap());
            prop_assert!((0..n).all(|i| b.report.support[i] == a.report.support[order[i]]));
            prop_assert!(difference(&a.subspace.center, &b.subspace.center) < 1e-7);
            prop_assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-7);
            prop_assert!(difference(&a.diagnostics.cutoffs, &b.diagnostics.cutoffs) < 1e-7);
        }
    }

    #[test]
    fn features_in_another_order_permute_the_model(seed in any::<u64>(), n in 20usize..70, features in 4usize..14) {
        let (mut x, ..) = clustered(seed, n, features, n / 5);
        let order = random_order(seed ^ 2, features);
        for cell in (0..n * features).filter(|cell| (cell * 7 + seed as usize % 31).is_multiple_of(29)) {
            x.data_mut()[cell] = f64::NAN;
        }
        let permute = |row: &[f64]| order.iter().map(|&j| row[j]).collect::<Vec<f64>>();
        let moved = Matrix::from_vec(n, features, (0..n).flat_map(|i| permute(x.row(i))).collect());
        for method in CELLWISE {
            let config = Config::new(method, 2);
            let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&moved), 1).unwrap());
            prop_assert_eq!(&a.report.support, &b.report.support);
            prop_assert!(difference(&permute(&a.subspace.center), &b.subspace.center) < 1e-7);
            let components = Matrix::from_vec(2, features, (0..2).flat_map(|k| permute(a.subspace.components.row(k))).collect());
            prop_assert!(sine(&components, &b.subspace.components) < 1e-7);
            let (own, other) = (a.diagnostics.cellwise.unwrap(), b.diagnostics.cellwise.unwrap());
            prop_assert!(difference(&permute(&own.cell_scales), &other.cell_scales) < 1e-7);
        }
    }

    #[test]
    fn shift_and_scale_move_the_model_with_the_data(seed in any::<u64>(), factor in 1e-3f64..1e3, shift in -50.0f64..50.0) {
        let (x, ..) = clustered(seed, 60, 7, 15);
        let moved = Matrix::from_vec(60, 7, x.data().iter().map(|v| factor * v + shift).collect());
        for method in CELLWISE {
            let a = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
            let b = fit(&Config::new(method, 2), &source(&moved), 1).unwrap();
            prop_assert_eq!(&a.report.support, &b.report.support);
            prop_assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-6);
            let center: Vec<f64> = a.subspace.center.iter().map(|c| factor * c + shift).collect();
            prop_assert!(difference(&center, &b.subspace.center) < 1e-6 * (factor + shift.abs() + 1.0));
            prop_assert!((b.diagnostics.cutoffs[1] / a.diagnostics.cutoffs[1] / factor - 1.0).abs() < 1e-5);
            prop_assert!((b.diagnostics.explained_variance[0] / a.diagnostics.explained_variance[0] / factor / factor - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_very_distant_sample_is_never_in_the_support(seed in any::<u64>(), n in 40usize..80, at in 0usize..20) {
        let (mut x, _, plane) = clustered(seed, n, 5, 0);
        let others = Matrix::from_vec(n - 1, 5, [&x.data()[..at * 5], &x.data()[(at + 1) * 5..]].concat());
        (0..5).for_each(|j| x[(at, j)] = 1e12 * (1.0 + j as f64));
        for method in CELLWISE {
            let config = Config::new(method, 2);
            let without = fit(&config, &source(&others), 1).unwrap();
            let model = fit(&config, &source(&x), 1).unwrap();
            prop_assert!(!model.report.support[at]);
            // It has no influence if the support of the other samples is equal; else a few of them enter or leave it.
            let (apart, off) = (sine(&model.subspace.components, &without.subspace.components), sine(&model.subspace.components, &plane));
            let same = (0..n).filter(|&i| i != at).map(|i| model.report.support[i]).eq(without.report.support.iter().copied());
            if same && method == Method::Rows {
                prop_assert!(apart < 1e-2, "{}", apart);
            }
            prop_assert!(apart < 0.25 && off < 0.25, "{} from the fit without it, {} from the plane", apart, off);
            // The rows may pass as normal without it and not with it, or the reverse, which moves the center by less than its error.
            let error = (model.diagnostics.explained_variance.iter().sum::<f64>() / n as f64).sqrt();
            prop_assert!(difference(&model.subspace.center, &without.subspace.center) < error);
        }
    }

    /// Of the last Student steps on a small table, and of the passes over a large one.
    #[test]
    fn the_objective_never_rises(seed in any::<u64>(), n in 20usize..80, features in 3usize..30, large in any::<bool>()) {
        let n = if large { 20 * n + 1500 } else { n };
        let (mut x, ..) = clustered(seed, n, features, n / 10);
        let mut numbers = TestRandom::new(seed ^ 3);
        for cell in x.data_mut() {
            match numbers.uniform() {
                u if u < 0.05 => *cell = f64::NAN,
                u if u < 0.08 => *cell += 40.0,
                _ => {}
            }
        }
        for method in CELLWISE {
            let objective = fit(&Config::new(method, 2), &source(&x), 1).unwrap().report.objective;
            prop_assert!(!objective.is_empty());
            prop_assert!(objective.windows(2).all(|w| w[1] <= w[0] + 1e-9 * w[0].abs()), "{:?}", objective);
        }
    }
}

/// Two rows more than a search takes: it is then on a sample, and passes over all rows follow.
#[test]
fn passes_over_all_rows_give_the_model_of_a_search_on_all_rows() {
    for (features, method) in [(12, Method::Robust), (12, Method::Rows), (40, Method::Cells)] {
        let (x, ..) = clustered(3, 1502, features, 0);
        let mut bad = x.clone();
        for i in (0..1500).step_by(6) {
            bad.row_mut(i).iter_mut().step_by(3).for_each(|v| *v += 70.0);
        }
        let within = Matrix::from_vec(1500, features, bad.data()[..1500 * features].to_vec());
        let config = Config::new(method, 2);
        let (complete, sampled) = (fit(&config, &source(&within), 2).unwrap(), fit(&config, &source(&bad), 2).unwrap());
        // One pass checks the data, and each other one is a step.
        assert_eq!(sampled.report.passes, 1 + sampled.report.objective.len());
        let apart = sine(&complete.subspace.components, &sampled.subspace.components);
        assert!(apart < 5e-3, "{} {features}: {apart}", method.name());
        assert!(difference(&complete.subspace.center, &sampled.subspace.center) < 0.05);
        for (a, b) in complete.diagnostics.explained_variance.iter().zip(&sampled.diagnostics.explained_variance) {
            assert!((a / b - 1.0).abs() < 0.03, "{a} {b}");
        }
        let differ = complete.report.support.iter().zip(&sampled.report.support).filter(|(a, b)| a != b).count();
        assert!(differ < 30, "{differ} rows differ in the support");
    }
}

/// The search looks at 2048 features, above all those of large scale; a component on 20 of the others is found nevertheless, because the
/// last eigenproblem is that of all features.
#[test]
fn a_component_on_few_of_many_features_is_found() {
    let (n, features, noisy, few, bad) = (180, 6000, 1100, 20, 12);
    let mut numbers = TestRandom::new(6);
    let mut axes = Matrix::zeros(3, features);
    (0..2).for_each(|k| axes.row_mut(k)[..noisy].iter_mut().for_each(|x| *x = numbers.normal()));
    axes.row_mut(2)[noisy..].iter_mut().step_by((features - noisy) / few).take(few).for_each(|x| *x = 1.0);
    orthonormalize(&mut axes);
    let mut x = numbers.matrix(n, features);
    for i in 0..n {
        let scores = [60.0, 45.0, 25.0].map(|sd| sd * numbers.normal());
        for (j, x) in x.row_mut(i).iter_mut().enumerate() {
            *x *= if j < noisy { 3.0 } else { 0.1 };
            *x += (0..3).map(|k| scores[k] * axes[(k, j)]).sum::<f64>();
            *x += if i < bad { 9.0 * numbers.normal() } else { 0.0 };
        }
    }
    let clean = Matrix::from_vec(n - bad, features, x.data()[bad * features..].to_vec());
    let best = fit(&Config::new(Method::Pca, 3), &source(&clean), 2).unwrap();
    let found = fit(&Config::new(Method::Robust, 3), &source(&x), 2).unwrap();
    let (best, found) = (sine(&best.subspace.components, &axes), sine(&found.subspace.components, &axes));
    assert!(best < 0.5, "{best}");
    assert!(found < 1.1 * best, "{found} {best}");
}

/// With 512 features the last eigenproblem is that of a matrix, with more it is solved by passes.
#[test]
fn the_last_eigenproblem_is_the_same_by_a_matrix_and_by_passes() {
    let (n, features) = (120, 512);
    let (x, ..) = clustered(4, n, features, 20);
    let wide = Matrix::from_vec(n, features + 1, (0..n).flat_map(|i| [x.row(i), &[1.0]].concat()).collect());
    let config = Config::new(Method::Rows, 2);
    let (narrow, wide) = (fit(&config, &source(&x), 2).unwrap(), fit(&config, &source(&wide), 2).unwrap());
    assert_eq!((narrow.report.solver, wide.report.solver), (Solver::Scatter, Solver::Krylov));
    let components = Matrix::from_vec(
        2,
        features,
        (0..2).flat_map(|k| wide.subspace.components.row(k)[..features].to_vec()).collect(),
    );
    // The factor of the residuals depends on the number of features.
    assert!(
        sine(&components, &narrow.subspace.components) < 5e-3,
        "{}",
        sine(&components, &narrow.subspace.components)
    );
    assert!((0..2).all(|k| wide.subspace.components[(k, features)].abs() < 1e-6));
    assert_eq!(narrow.report.support, wide.report.support);
}

/// Integers as in images: a plane with noise, and a distant cluster.
fn bytes(seed: u64, n: usize, features: usize, outliers: usize) -> Vec<u8> {
    let (x, ..) = clustered(seed, n, features, 0);
    let mut numbers = TestRandom::new(seed + 1);
    let mut data: Vec<u8> = x.data().iter().map(|v| (110.0 + 2.0 * v).round().clamp(0.0, 255.0) as u8).collect();
    let direction: Vec<f64> = (0..features).map(|_| 110.0 + 60.0 * numbers.normal().signum()).collect();
    for row in data.chunks_exact_mut(features).rev().take(outliers) {
        row.iter_mut()
            .zip(&direction)
            .for_each(|(x, a)| *x = (a + 2.0 * numbers.normal()).round().clamp(0.0, 255.0) as u8);
    }
    data
}

#[test]
fn models_of_all_methods_are_byte_identical_for_any_number_of_threads() {
    let (x, ..) = clustered(5, 700, 9, 200);
    for method in Method::ALL {
        let bytes = |threads| fit(&Config::new(method, 2), &source(&x), threads).unwrap().to_bytes().unwrap();
        assert_eq!(bytes(1), bytes(2), "{}", method.name());
        assert_eq!(bytes(1), bytes(7), "{}", method.name());
    }
}

/// Compares data of a narrow element type with the same values as f64.
fn equals_f64<T: BlockElement + Element>(data: &[T], n: usize) {
    let as_f64: Vec<f64> = data.iter().map(|x| x.widen()).collect();
    let features = data.len() / n;
    for method in CELLWISE {
        let config = Config::new(method, 2);
        let narrow = fit(&config, &SliceSource::new(data, n, features).unwrap(), 1).unwrap();
        let wide = fit(&config, &SliceSource::new(&as_f64, n, features).unwrap(), 1).unwrap();
        let what = format!("{} {}", T::TYPE, method.name());
        let size = wide.diagnostics.explained_variance[0].sqrt();
        assert_eq!(narrow.report.support, wide.report.support, "{what}");
        let near = |name: &str, off: f64, allowed: f64| assert!(off < allowed, "{what}: {name} is off by {off:e}");
        near("the subspace", sine(&narrow.subspace.components, &wide.subspace.components), 1e-5);
        near("the center", difference(&narrow.subspace.center, &wide.subspace.center) / size, 1e-8);
        for (a, b) in narrow.diagnostics.explained_variance.iter().zip(&wide.diagnostics.explained_variance) {
            near("a variance", (a / b - 1.0).abs(), 1e-5);
        }
        for (a, b) in narrow.diagnostics.cutoffs.iter().zip(&wide.diagnostics.cutoffs) {
            near("a cutoff", (a / b - 1.0).abs(), 3e-5);
        }
    }
}

#[test]
fn every_element_type_gives_the_same_model() {
    let n = 80;
    let (x, ..) = clustered(8, n, 10, 20);
    let singles: Vec<f32> = x.data().iter().map(|&v| v as f32).collect();
    equals_f64(&singles, n);
    let (least, most) = x.data().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
    let level = |v: &f64, levels: f64| levels * (v - least) / (most - least);
    equals_f64(&x.data().iter().map(|v| level(v, 65_535.0) as u16).collect::<Vec<u16>>(), n);
    equals_f64(&bytes(8, n, 10, 20), n);
}

/// Most samples are in a plane exactly: it is found, and rows outside are outliers.
#[test]
fn a_plane_with_most_samples_is_found() {
    let mut numbers = TestRandom::new(4);
    let n = 40;
    let mut x = numbers.matrix(n, 3);
    (0..30).for_each(|i| x[(i, 2)] = 0.0);
    for method in CELLWISE {
        let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
        assert!((0..2).all(|k| model.subspace.components[(k, 2)].abs() < 1e-9), "{}", method.name());
        assert!(model.report.support[..30].iter().all(|&k| k), "{}", method.name());
        assert!(model.report.support[30..].iter().all(|&k| !k), "{}: {:?}", method.name(), model.report.support);
        let found = model.diagnose(&source(&x), &Local::new(1).unwrap(), CutoffKind::Training).unwrap();
        assert!(found[30..].iter().all(|d| d.flag.is_outlier()));
        let cutoff = model.cutoffs(CutoffKind::Training)[1];
        assert!(found[..30].iter().all(|d| d.orthogonal_distance <= cutoff), "{}", method.name());
        let exact = |text: &&String| text.contains("10 samples are outliers") && text.contains("30 of 40");
        assert_eq!(model.report.warnings.iter().filter(exact).count(), 1, "{:?}", model.report.warnings);
    }
}

#[test]
fn invalid_arguments_are_rejected_with_numbers() {
    let x = TestRandom::new(1).samples(4, 6, 2);
    let rejected = |config: &Config, x: &Matrix, words: &[&str]| match fit(config, &source(x), 1) {
        Err(error @ (Error::InvalidArgument { .. } | Error::InvalidData(_))) => {
            let message = message_of(&error);
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
        other => panic!("{other:?}"),
    };
    rejected(&Config::new(Method::Robust, 2), &x, &["4 samples", "n_components = 2", "requires 5"]);
    let x = TestRandom::new(1).samples(12, 6, 2);
    rejected(&with_pairs(vec![[0, 12]]), &x, &["sample 12", "12"]);
    rejected(&with_pairs(vec![]), &x, &["empty"]);
    let same = Matrix::from_vec(12, 6, x.row(0).iter().copied().cycle().take(72).collect());
    rejected(&Config::new(Method::Robust, 2), &same, &["no feature has two different values in 12 rows"]);
    rejected(&with_pairs(vec![[0, 1], [2, 3]]), &x, &["robust", "choice of the pairs"]);
    let robust = || Config::new(Method::Robust, 2);
    rejected(&robust().with_center(Center::Median), &x, &["robust", "choice of the center"]);
    rejected(&robust().with_solver(Solver::Krylov), &x, &["robust", "choice of the solver"]);
    rejected(&robust().with_weighting(Weighting::InverseNorm), &x, &["robust", "weighting by norms"]);
    rejected(&robust().with_screen(Screen::Cone(Cone::default())), &x, &["robust", "cone", "tae"]);
    rejected(&robust().with_robust_scores(true), &x, &["robust", "robust scores"]);
    rejected(&Config::new(Method::Pca, 2).with_cells(Cells::Always), &x, &["pca", "bad cells"]);
    rejected(&Config::new(Method::Pca, 2).with_skew(true), &x, &["pca", "skewed"]);
    for fraction in [0.0, 1.0, -0.5, f64::NAN] {
        rejected(
            &Config::new(Method::Robust, ComponentCount::VarianceFraction(fraction)),
            &x,
            &["variance fraction in (0, 1)"],
        );
    }
    let mut config = Config::new(Method::Pca, 2);
    config = config.with_loss(Loss::Sine);
    rejected(&config, &x, &["the sum of sines is not fitted"]);
}

#[test]
fn scaling_removes_units_and_is_inverted() {
    let x = TestRandom::new(6).samples(80, 5, 2);
    let units = [1.0, 1e-3, 1e4, 7.0, 0.2];
    let mixed = Matrix::from_vec(80, 5, x.data().iter().enumerate().map(|(i, v)| v * units[i % 5]).collect());
    let mut config = Config::new(Method::Robust, 2);
    config = config.with_scaling(Scaling::Mad);
    let (a, b) = (fit(&config, &source(&x), 1).unwrap(), fit(&config, &source(&mixed), 1).unwrap());
    assert!(sine(&a.subspace.components, &b.subspace.components) < 1e-6);
    assert_eq!(a.report.support, b.report.support);
    let reconstructed = |model: &steradian::Model, x: &Matrix| {
        let mut out = Vec::new();
        source(x)
            .visit(0..80, &mut |block| {
                out = model.reconstruct_block(&block)?;
                Ok(())
            })
            .unwrap();
        out
    };
    let (plain, scaled) = (reconstructed(&a, &x), reconstructed(&b, &mixed));
    for (i, (p, s)) in plain.iter().zip(&scaled).enumerate() {
        assert!((p * units[i % 5] - s).abs() <= 1e-5 * units[i % 5] * (1.0 + p.abs()));
    }
    let again = steradian::Model::from_bytes(&b.to_bytes().unwrap()).unwrap();
    assert_eq!(again, b);
}

#[test]
fn a_feature_with_zero_mad_is_reported_or_unscaled() {
    let mut x = TestRandom::new(6).samples(30, 4, 2);
    (0..30).for_each(|i| x[(i, 2)] = 5.0);
    let mut config = Config::new(Method::Robust, 2);
    config = config.with_scaling(Scaling::Mad);
    assert_eq!(fit(&config, &source(&x), 1).unwrap().subspace.scale.unwrap()[2], 1.0);
    x[(7, 2)] = 6.0;
    let model = fit(&config, &source(&x), 1).unwrap();
    assert!(
        model
            .report
            .warnings
            .iter()
            .any(|w| w.contains("1 of 4 features") && w.ends_with(": 2; leave them out if that is not meant")),
        "{:?}",
        model.report.warnings
    );
    assert!((model.subspace.scale.unwrap()[2] - 1.2533 / 30.0).abs() < 1e-12);
}

#[test]
fn bad_cells_are_found_and_do_not_affect_scores() {
    let mut numbers = TestRandom::new(12);
    let x = numbers.samples(150, 40, 2);
    let clean_fit = fit(&Config::new(Method::Pca, 2), &source(&x), 1).unwrap();
    let mut contaminated = x.clone();
    let mut bad = vec![false; 150 * 40];
    for (cell, bad) in bad.iter_mut().enumerate() {
        if numbers.uniform() < 0.08 {
            *bad = true;
            contaminated.data_mut()[cell] += if numbers.uniform() < 0.5 { 60.0 } else { -60.0 };
        }
    }
    let apart = |model: &steradian::Model| sine(&model.subspace.components, &clean_fit.subspace.components);
    for method in [Method::Robust, Method::Cells] {
        let model = fit(&Config::new(method, 2), &source(&contaminated), 2).unwrap();
        let cellwise = model.diagnostics.cellwise.as_ref().unwrap();
        assert!(cellwise.rows.cleans, "{}", method.name());
        assert!(apart(&model) < 0.05, "{}: {}", method.name(), apart(&model));
        assert!((0.07..0.12).contains(&cellwise.bad_fraction), "{}", cellwise.bad_fraction);
        source(&contaminated)
            .visit(0..150, &mut |block| {
                let found = model.diagnose_cells_block(&block, CutoffKind::Training)?.unwrap();
                let detected = found.flags.iter().zip(&bad).filter(|(f, b)| **f == CellFlag::Bad && **b).count();
                let flagged = found.flags.iter().filter(|flag| **flag == CellFlag::Bad).count();
                let all = bad.iter().filter(|b| **b).count();
                assert!(detected as f64 > 0.99 * all as f64, "{detected} of {all}");
                assert!(flagged - detected < 150 * 40 / 33, "{} regular cells are flagged", flagged - detected);
                let scores = model.transform_block(&block)?;
                let mut expected = Vec::new();
                source(&x).visit(0..150, &mut |clean| {
                    expected = model.transform_block(&clean)?;
                    Ok(())
                })?;
                assert!(difference(&scores, &expected) < 2.0, "{}", difference(&scores, &expected));
                let filled = model.fill_block(&block, true)?;
                let off = filled.values.iter().zip(x.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 3.0, "a completed cell is off by {off}");
                Ok(())
            })
            .unwrap();
    }
    let rows = fit(&Config::new(Method::Rows, 2), &source(&contaminated), 2).unwrap();
    assert!(apart(&rows) > 0.1, "the case is hard without detection of bad cells: {}", apart(&rows));
}

#[test]
fn flags_follow_from_the_two_distances() {
    let (x, ..) = clustered(21, 200, 12, 40);
    let model = fit(&Config::new(Method::Robust, 2), &source(&x), 1).unwrap();
    source(&x)
        .visit(0..200, &mut |block| {
            let found = model.diagnose_block(&block, CutoffKind::New)?;
            assert!(found[160..].iter().all(|d| d.flag.is_outlier()));
            let regular = found[..160].iter().filter(|d| d.flag == Flag::Regular).count();
            assert!(regular > 140, "{regular}");
            let contributions = model.contributions_block(&block)?;
            for (row, d) in contributions.chunks(12).zip(&found) {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9 || d.orthogonal_distance == 0.0);
            }
            Ok(())
        })
        .unwrap();
    // With as many components as features there is no orthogonal distance.
    let whole = fit(&Config::new(Method::Angular, 12), &source(&x), 1).unwrap();
    assert!(whole.diagnostics.cutoffs[1].is_nan());
}

#[test]
fn the_number_of_components_is_found() {
    let x = TestRandom::new(31).samples(120, 20, 3);
    let auto = fit(&Config::new(Method::Robust, ComponentCount::Auto), &source(&x), 1).unwrap();
    assert_eq!(auto.n_components(), 3, "{:?}", auto.report.n_components_reason);
    let by_fraction = fit(&Config::new(Method::Robust, ComponentCount::VarianceFraction(0.5)), &source(&x), 1).unwrap();
    assert!(by_fraction.n_components() <= 3 && by_fraction.report.n_components_reason.is_some());
    assert!(by_fraction.diagnostics.total_variance.is_some());
    let again = steradian::Model::from_bytes(&auto.to_bytes().unwrap()).unwrap();
    assert_eq!(again, auto);
}

#[test]
fn a_screen_can_be_used_without_a_fit() {
    let (x, ..) = clustered(17, 100, 8, 30);
    let runner = Local::new(2).unwrap();
    let found = steradian::fit::screen(&Config::new(Method::Robust, 2), &source(&x), &runner).unwrap();
    assert!(found.support[70..].iter().all(|k| !k) && found.support[..70].iter().filter(|k| **k).count() > 55);
    assert!(found.measures[70..].iter().all(|o| *o > 10.0));
    let cone = steradian::fit::screen(&Config::new(Method::Tae, 2), &source(&x), &runner).unwrap();
    let model = fit(&Config::new(Method::Tae, 2), &source(&x), 1).unwrap();
    assert_eq!(cone.support, model.report.support);
    assert!(cone.measures.iter().zip(&cone.support).all(|(angle, support)| *support == (*angle <= 60.0)));
    let new = found.measure(&source(&x), &runner).unwrap();
    assert!(difference(&new, &found.measures) < 1e-9);
}
