//! Merges of partial results: bitwise identical for any number of threads and any cut on the grid; rounding off the
//! grid.

use std::borrow::Cow;

use crate::common::{TestRandom, difference, fit, row_model, solvers, source};
use proptest::prelude::*;
use steradian::config::{Cone, Missing, Screen, Weighting};
use steradian::data::{Element, ElementType};
use steradian::engine::{Fold, Forest, Grid, Runner};
use steradian::folds::{
    AnchorCounts, Anchors, Coefficients, ColumnMeans, ConePredicate, ConeSizes, DataCheck, MomentProduct,
    OperatorProduct, Precision, RobustMoments, RowWeighting, Scatter, SelectRows, SpatialGradient, WeightedRows,
};
use steradian::{Center, Config, Local, Matrix, Method, SliceSource, Solver, Source};

/// The bytes of the model file of every method and solver on some data.
fn all_models<T: Element + steradian::data::BlockElement>(
    data: &[T],
    n: usize,
    features: usize,
    threads: usize,
) -> Vec<Vec<u8>> {
    let source = SliceSource::new(data, n, features).unwrap();
    let mut models = Vec::new();
    for solver in [Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov] {
        for method in Method::ALL {
            if method.is_cellwise() && solver != Solver::Auto {
                continue;
            }
            let config = Config::new(method, 3).with_solver(solver);
            models.push(fit(&config, &source, threads).unwrap().to_bytes().unwrap());
        }
        let mut config = Config::new(Method::Tae, 2);
        config = config.with_solver(solver);
        config = config.with_center(Center::Median);
        config = config.with_screen(Screen::Cone(Cone {
            max_angle: steradian::config::Angle::Auto,
            ties: steradian::config::Ties::Density,
            recenter: true,
            ..Cone::default()
        }));
        models.push(fit(&config, &source, threads).unwrap().to_bytes().unwrap());
    }
    models
}

#[test]
fn models_are_byte_identical_for_1_2_and_7_threads() {
    // Tall with many leaves, and wide enough for large accumulators of the operator.
    for (n, features) in [(1500, 20), (60, 17_000)] {
        let x = TestRandom::new(3).samples(n, features, 4);
        let single: Vec<f32> = x.data().iter().map(|&v| v as f32).collect();
        let words: Vec<u16> = x.data().iter().map(|&v| (v * 300.0 + 20_000.0).clamp(0.0, 65_535.0) as u16).collect();
        let bytes: Vec<u8> = x.data().iter().map(|&v| (v * 4.0 + 128.0).clamp(0.0, 255.0) as u8).collect();
        // The wide case covers one element type: types differ in the panels only, which the tall case covers.
        for threads in [2, 7] {
            if n > features {
                assert!(all_models(x.data(), n, features, 1) == all_models(x.data(), n, features, threads), "f64");
                assert!(all_models(&words, n, features, 1) == all_models(&words, n, features, threads), "u16");
                assert!(all_models(&single, n, features, 1) == all_models(&single, n, features, threads), "f32");
                assert!(all_models(&bytes, n, features, 1) == all_models(&bytes, n, features, threads), "u8");
                continue;
            }
            for method in Method::ALL {
                for &solver in solvers(method).iter().filter(|solver| **solver != Solver::Scatter) {
                    let config = Config::new(method, 3).with_solver(solver);
                    let source = SliceSource::new(&bytes, n, features).unwrap();
                    let bytes = |threads| fit(&config, &source, threads).unwrap().to_bytes().unwrap();
                    assert!(bytes(1) == bytes(threads), "{method:?} {solver:?} at {threads} threads");
                }
            }
        }
    }
}

/// The total of a fold whose leaves are computed in two parts, serialized and joined.
fn in_two_parts<F: Fold>(fold: &F, source: &dyn Source, cut: usize) -> F::Accumulator {
    let shape = source.shape();
    let grid = Grid::new(shape.samples, shape.features, fold.accumulator_bytes());
    let cut = cut % (grid.leaves() + 1);
    let runner = Local::new(2).unwrap();
    let part = |leaves| {
        let forest = runner.run_leaves(fold, source, grid, leaves).unwrap();
        let bytes = postcard::to_stdvec(&forest).unwrap();
        postcard::from_bytes::<Forest<F::Accumulator>>(&bytes).unwrap()
    };
    part(cut..grid.leaves()).join(part(0..cut), fold).unwrap().total(fold).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_cut_on_the_grid_is_bitwise_identical(seed in any::<u64>(), n in 300usize..3000, cut in 0usize..12) {
        let x = TestRandom::new(seed).samples(n, 7, 2);
        let source = source(&x);
        let w = TestRandom::new(seed ^ 1).matrix(7, 3);
        let center = vec![0.25; 7];
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
        fn same<F: Fold>(fold: &F, source: &dyn Source, cut: usize) -> bool {
            let whole = in_two_parts(fold, source, 0);
            let parts = in_two_parts(fold, source, cut);
            postcard::to_stdvec(&whole).unwrap() == postcard::to_stdvec(&parts).unwrap()
        }
        prop_assert!(same(&ColumnMeans::new(7, None), &source, cut));
        prop_assert!(same(&DataCheck::new(7, Missing::Use), &source, cut));
        prop_assert!(same(&SpatialGradient::new(&center, None, 0.0), &source, cut));
        let holes = x.data().iter().enumerate().map(|(i, v)| if i % 11 == 3 { f64::NAN } else { *v }).collect();
        let incomplete = Matrix::from_vec(n, 7, holes);
        let incomplete = crate::common::source(&incomplete);
        prop_assert!(same(&DataCheck::new(7, Missing::Use), &incomplete, cut));
        prop_assert!(same(&SpatialGradient::new(&center, None, 0.0).over_present_cells(), &incomplete, cut));
        prop_assert!(same(&Scatter::new(directions.clone()), &source, cut));
        prop_assert!(same(&OperatorProduct::new(directions.clone(), Coefficients::Project(&w), Precision::Working, ElementType::F64), &source, cut));
        let chosen = SelectRows::new(vec![1, 20, n / 2, n - 1]);
        prop_assert!(same(&chosen, &source, cut));
        let rows = Local::new(1).unwrap().run(&chosen, &source).unwrap();
        let rule = ConePredicate::new(directions.clone(), steradian::config::Cosine::Abs, 0.5);
        let anchors = Anchors::new(&rule, &[1, 20, n / 2, n - 1], &rows, Some((1, &rows[..7]))).unwrap();
        let candidates: Vec<bool> = (0..n).map(|i| i % 3 != 1).collect();
        prop_assert!(same(&AnchorCounts::new(&rule, &anchors, &candidates), &source, cut));
        prop_assert!(same(&ConeSizes::new(&rule, &anchors), &source, cut));
        let model = row_model(seed, 7, 2);
        for product in [MomentProduct::None, MomentProduct::Scatter, MomentProduct::Basis(Cow::Borrowed(&w))] {
            let student = RowWeighting::Student { kappa: 0.5, nu: 5.0, row_cutoff: 40.0 };
            for weighting in [RowWeighting::Uniform, student] {
                let moments = RobustMoments::new(&model, weighting, product.clone()).with_support();
                prop_assert!(same(&moments, &source, cut) && same(&moments, &incomplete, cut));
            }
        }
    }

    #[test]
    fn merging_off_the_grid_changes_rounding_only(seed in any::<u64>(), n in 20usize..900, cut in 1usize..899) {
        let cut = 1 + cut % (n - 1);
        let x = TestRandom::new(seed).samples(n, 5, 2);
        let runner = Local::new(2).unwrap();
        let center = vec![0.5; 5];
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
        let w = TestRandom::new(seed ^ 1).matrix(5, 2);
        let rows = |from: usize, to: usize| Matrix::from_vec(to - from, 5, x.data()[from * 5..to * 5].to_vec());
        let total = |fold: &OperatorProduct<'_>, x: &Matrix| {
            let source = source(x);
            let grid = Grid::new(x.rows(), 5, fold.accumulator_bytes());
            runner.run_leaves(fold, &source, grid, 0..grid.leaves()).unwrap().total(fold).unwrap()
        };
        let fold = OperatorProduct::new(directions, Coefficients::Project(&w), Precision::Working, ElementType::F64);
        let whole = fold.finish(total(&fold, &x)).unwrap();
        let merged = fold.merge(total(&fold, &rows(0, cut)), total(&fold, &rows(cut, n)));
        let parts = fold.finish(merged).unwrap();
        prop_assert_eq!(whole.1, parts.1);
        prop_assert!(difference(whole.0.data(), parts.0.data()) <= 1e-12 * n as f64);
    }

    #[test]
    fn empty_is_neutral_and_merge_is_associative(seed in any::<u64>()) {
        let x = TestRandom::new(seed).samples(30, 4, 2);
        let fold = ColumnMeans::new(4, None);
        let runner = Local::new(1).unwrap();
        let sum = |from: usize, to: usize| {
            let part = Matrix::from_vec(to - from, 4, x.data()[from * 4..to * 4].to_vec());
            let grid = Grid::new(to - from, 4, fold.accumulator_bytes());
            runner.run_leaves(&fold, &source(&part), grid, 0..grid.leaves()).unwrap().total(&fold).unwrap()
        };
        let mean = |sum| fold.finish(sum).unwrap();
        let left = mean(fold.merge(fold.merge(sum(0, 9), sum(9, 20)), sum(20, 30)));
        let right = mean(fold.merge(sum(0, 9), fold.merge(sum(9, 20), sum(20, 30))));
        let swapped = mean(fold.merge(sum(9, 30), sum(0, 9)));
        let with_empty = mean(fold.merge(fold.empty(), fold.merge(sum(0, 30), fold.empty())));
        prop_assert!(difference(&left, &right) < 1e-13 && difference(&left, &swapped) < 1e-13);
        prop_assert_eq!(with_empty, mean(sum(0, 30)));
    }
}
