//! Properties of explained-variance ratios: consistent variances and totals, fractions, tables of low rank.

use crate::common::{TestRandom, fit, product, solvers, source};
use proptest::prelude::*;
use steradian::config::{Loss, Scaling, Weighting};
use steradian::{ComponentCount, Config, Matrix, Method, Model};

const KINDS: [&str; 5] = ["clean", "contaminated", "rank-deficient", "heavy-tailed", "mostly zero"];

/// A table of a kind, n x features.
fn table(kind: &str, seed: u64, n: usize, features: usize) -> Matrix {
    let mut numbers = TestRandom::new(seed);
    let mut x = numbers.samples(n, features, 3);
    match kind {
        "clean" => {}
        "contaminated" => {
            let direction: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
            for i in 0..n / 5 {
                (0..features).for_each(|j| x[(i, j)] = 100.0 * direction[j] + 3.0 * numbers.normal());
            }
        }
        "rank-deficient" => x = product(&numbers.matrix(n, 2), &numbers.matrix(2, features)),
        "heavy-tailed" => {
            for i in 0..n {
                let factor = numbers.uniform().powf(-0.8); // an infinite variance
                x.row_mut(i).iter_mut().for_each(|x| *x *= factor);
            }
        }
        "mostly zero" => x.data_mut().iter_mut().for_each(|x| *x *= f64::from(u8::from(numbers.uniform() < 0.3))),
        other => panic!("{other}"),
    }
    x
}

fn ratios(model: &Model) -> Vec<f64> {
    let total = model.diagnostics.total_variance.expect("a total variance");
    model.diagnostics.explained_variance.iter().map(|variance| variance / total).collect()
}

fn explained(model: &Model) -> f64 {
    ratios(model).iter().sum()
}

/// The sum over features of the variance, with n - 1.
fn trace(x: &Matrix) -> f64 {
    let n = x.rows() as f64;
    (0..x.columns())
        .map(|j| {
            let mean = (0..x.rows()).map(|i| x[(i, j)]).sum::<f64>() / n;
            (0..x.rows()).map(|i| (x[(i, j)] - mean).powi(2)).sum::<f64>() / (n - 1.0)
        })
        .sum()
}

fn check(model: &Model, what: &str) {
    let ratios = ratios(model);
    assert!(ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{what}: {ratios:?}");
    assert!(ratios.iter().sum::<f64>() <= 1.0 + 1e-12, "{what}: {ratios:?}");
}

#[test]
fn a_fraction_is_reached_on_every_table_by_every_method() {
    for kind in KINDS {
        let x = table(kind, 3, 90, 12);
        for method in Method::ALL {
            for fraction in [0.5, 0.95, 0.99] {
                let what = format!("{kind}, {}, {fraction}", method.name());
                if (kind, method) == ("mostly zero", Method::Cells) {
                    continue; // cells that differ from a feature's frequent value are cleaned: no variance
                }
                let model = fit(&Config::new(method, ComponentCount::VarianceFraction(fraction)), &source(&x), 1)
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                check(&model, &what);
                let reason = model.report.n_components_reason.as_deref().unwrap();
                assert!(explained(&model) >= fraction, "{what}: {} of {reason}", explained(&model));
                let stated = format!("explain {:.4} of the ", explained(&model));
                assert!(reason.contains(&stated), "{what}: {reason}, not {stated}");
            }
        }
    }
}

#[test]
fn fractions_of_pca_are_of_the_trace_and_take_the_fewest_components() {
    for kind in KINDS {
        let x = table(kind, 4, 80, 9);
        let rank = if kind == "rank-deficient" { 2 } else { 9 };
        let all = fit(&Config::new(Method::Pca, rank), &source(&x), 1).unwrap();
        for fraction in [0.3, 0.9, 0.99] {
            let model =
                fit(&Config::new(Method::Pca, ComponentCount::VarianceFraction(fraction)), &source(&x), 1).unwrap();
            let total = model.diagnostics.total_variance.unwrap();
            assert!((total / trace(&x) - 1.0).abs() < 1e-10, "{kind}: {total} and {}", trace(&x));
            let mut sum = 0.0;
            let fewest = 1 + all
                .diagnostics
                .explained_variance
                .iter()
                .take_while(|v| {
                    sum += **v;
                    sum < fraction * total
                })
                .count();
            assert_eq!(model.n_components(), fewest, "{kind}, {fraction}: {:?}", model.report.n_components_reason);
        }
    }
}

/// All components of a table explain all of its variance.
#[test]
fn all_components_explain_everything() {
    for (kind, rank) in [("clean", 7), ("heavy-tailed", 7), ("rank-deficient", 2)] {
        let x = table(kind, 5, 60, 7);
        for method in Method::ALL {
            let model = fit(&Config::new(method, rank), &source(&x), 1).unwrap();
            assert!((explained(&model) - 1.0).abs() < 1e-9, "{kind}, {}: {}", method.name(), explained(&model));
        }
    }
}

/// For normal samples the robust total is the trace of the covariance for any number of components.
#[test]
fn the_total_hardly_depends_on_the_number_of_components() {
    let x = table("clean", 6, 4000, 10);
    for method in [Method::Angular, Method::Ae, Method::Robust] {
        for d in [1, 2, 3, 5, 9, 10] {
            let total = fit(&Config::new(method, d), &source(&x), 1).unwrap().diagnostics.total_variance.unwrap();
            let off = total / trace(&x) - 1.0;
            assert!(off.abs() < 0.06, "{}, {d} components: {total} is off by {off}", method.name());
        }
    }
}

/// Outliers increase the classical total, not the robust one.
#[test]
fn outliers_do_not_change_the_robust_total() {
    let (clean, contaminated) = (table("clean", 7, 400, 10), table("contaminated", 7, 400, 10));
    assert!(trace(&contaminated) > 10.0 * trace(&clean));
    let total =
        |method, x: &Matrix| fit(&Config::new(method, 3), &source(x), 1).unwrap().diagnostics.total_variance.unwrap();
    let robust = total(Method::Robust, &contaminated) / total(Method::Robust, &clean);
    assert!((robust - 1.0).abs() < 0.15, "{robust}");
}

/// Features that are equal in most samples have a robust scale of 0; a direction across several features does not.
#[test]
fn rotations_do_not_change_ratios() {
    let x = table("mostly zero", 8, 150, 8);
    let rotated = product(&x, &TestRandom::new(9).rotation(8));
    for method in [Method::Angular, Method::Robust, Method::Ae, Method::Pca] {
        let [a, b] = [&x, &rotated].map(|x| ratios(&fit(&Config::new(method, 3), &source(x), 1).unwrap()));
        assert!(crate::common::difference(&a, &b) < 1e-6, "{}: {a:?} and {b:?}", method.name());
    }
}

/// Weighting and screen determine the kind of the variances and of the total, not the name of the method.
#[test]
fn variances_and_total_are_of_one_kind() {
    let x = table("contaminated", 10, 200, 6);
    let plain = Config::new(Method::Ae, 6).with_weighting(Weighting::Uniform);
    let screen = Config::new(Method::Robust, 6).screen().clone();
    let screened = plain.clone().with_screen(screen).with_weighting(Weighting::Uniform).with_loss(Loss::SquaredCosine);
    let [plain, screened] = [plain, screened].map(|config| fit(&config, &source(&x), 1).unwrap());
    for model in [&plain, &screened] {
        assert!((explained(model) - 1.0).abs() < 1e-9, "{}", explained(model));
    }
    assert!((plain.diagnostics.total_variance.unwrap() / trace(&x) - 1.0).abs() < 1e-10);
    assert!(screened.diagnostics.total_variance.unwrap() < 0.1 * trace(&x));
}

#[test]
fn the_total_is_in_the_model_file() {
    let x = table("clean", 11, 60, 7);
    for method in Method::ALL {
        let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert!(model.diagnostics.total_variance.is_some_and(|total| total > 0.0), "{}", method.name());
        assert_eq!(again.diagnostics.total_variance, model.diagnostics.total_variance, "{}", method.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn ratios_lie_between_0_and_1_and_sum_to_at_most_1(
        seed in any::<u64>(),
        kind in proptest::sample::select(&KINDS[..]),
        method in proptest::sample::select(&Method::ALL[..]),
        which in 0usize..3,
        scaled in any::<bool>(),
        n in 30usize..90,
        features in 3usize..20,
    ) {
        let x = table(kind, seed, n, features);
        let scaling = if scaled { Scaling::Mad } else { Scaling::None };
        for d in [1, 2] {
            let solver = solvers(method)[which % solvers(method).len()];
            let config = Config::new(method, d).with_solver(solver).with_scaling(scaling);
            match fit(&config, &source(&x), 1) {
                Ok(model) => check(&model, &format!("{kind}, {}, {d} components", method.name())),
                // A narrow cone or cleaned cells may reduce the rank.
                Err(error) => {
                    let text = error.to_string();
                    let cleaned = method == Method::Cells && text.contains("no direction to find");
                    prop_assert!(cleaned || text.contains("n_components"), "{}", text);
                }
            }
        }
    }
}
