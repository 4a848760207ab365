//! Laws of the methods that estimate from usable cells: missing cells, degenerate tables, ratios, files, scores of own rows.

use crate::common::{TestRandom, difference, fit, message_of, product, sine, source};
use proptest::prelude::*;
use steradian::config::{Missing, Scaling};
use steradian::model::{CellDiagnosis, CellFlag, CutoffKind, Diagnosis, Flag};
use steradian::{ComponentCount, Config, Error, Local, Matrix, Method, Model, SliceSource, Source};

const CELLWISE: [Method; 3] = [Method::Robust, Method::Cells, Method::Rows];
const NAN: f64 = f64::NAN;

/// Samples about a plane with bad rows, bad cells and missing cells, in these fractions.
fn table(seed: u64, (n, features): (usize, usize), [rows, cells, missing]: [f64; 3]) -> Matrix {
    let mut numbers = TestRandom::new(seed);
    let mut x = numbers.samples(n, features, 2);
    for i in 0..n {
        let moved = if numbers.uniform() < rows { 50.0 * numbers.normal() } else { 0.0 };
        for (j, x) in x.row_mut(i).iter_mut().enumerate() {
            *x += moved * f64::from(u8::from(j % 3 == 0));
            match numbers.uniform() {
                u if u < cells => *x += 30.0,
                u if u < cells + missing => *x = NAN,
                _ => {}
            }
        }
    }
    x
}

/// Scores, distances and cells of the rows of a table under a model.
fn applied(model: &Model, x: &Matrix, kind: CutoffKind) -> (Vec<f64>, Vec<Diagnosis>, CellDiagnosis) {
    let mut out = None;
    source(x)
        .visit(0..x.rows(), &mut |block| {
            let cells = model.diagnose_cells_block(&block, kind)?.unwrap();
            out = Some((model.transform_block(&block)?, model.diagnose_block(&block, kind)?, cells));
            Ok(())
        })
        .unwrap();
    out.unwrap()
}

/// The bits of all values, so that missing cells compare equal.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

fn check_ratios(model: &Model, what: &str) {
    let total = model.diagnostics.total_variance.unwrap();
    let ratios: Vec<f64> = model.diagnostics.explained_variance.iter().map(|v| v / total).collect();
    assert!(ratios.iter().all(|ratio| (0.0..=1.0).contains(ratio)), "{what}: {ratios:?}");
    assert!(ratios.iter().sum::<f64>() <= 1.0 + 1e-12, "{what}: {ratios:?}");
    assert!(ratios.windows(2).all(|w| w[1] <= w[0]), "{what}: {ratios:?}");
}

/// Checks that a model of any table can be used: finite parts, and results of its own rows.
fn check_use(model: &Model, x: &Matrix, what: &str) {
    let finite =
        |name: &str, values: &[f64]| assert!(values.iter().all(|x| x.is_finite()), "{what}: {name} {values:?}");
    finite("center", &model.subspace.center);
    finite("components", model.subspace.components.data());
    finite("variances", &model.diagnostics.explained_variance);
    check_ratios(model, what);
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap_or_else(|error| panic!("{what}: {error}"));
    for kind in [CutoffKind::Training, CutoffKind::New] {
        let (scores, rows, cells) = applied(model, x, kind);
        finite("scores", &scores);
        finite("expected values", &cells.expected);
        assert!(rows.iter().all(|row| row.orthogonal_distance.is_finite() && row.score_distance >= 0.0), "{what}");
        for (j, (value, flag)) in cells.residual_sd.iter().zip(&cells.flags).enumerate() {
            assert_eq!(x.data()[j].is_nan(), *flag == CellFlag::Missing, "{what}");
            assert_eq!(value.is_nan(), *flag == CellFlag::Missing, "{what}: residual {value}");
        }
        let (scores_again, rows_again, cells_again) = applied(&again, x, kind);
        let off = difference(&scores, &scores_again);
        let size = scores.iter().fold(1e-300, |m: f64, s| m.max(s.abs()));
        assert!(off == 0.0, "{what}: scores of the file are off by {off:e} of {size:e}");
        let flags = |rows: &[Diagnosis]| rows.iter().map(|row| row.flag).collect::<Vec<Flag>>();
        assert_eq!(flags(&rows), flags(&rows_again), "{what}");
        assert_eq!(cells.flags, cells_again.flags, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// Models of tables with bad rows, bad cells and missing cells can be used, also after they were read from a file.
    #[test]
    fn models_of_contaminated_tables_can_be_used(
        seed in any::<u64>(),
        method in proptest::sample::select(&CELLWISE[..]),
        n in 12usize..90,
        features in 2usize..24,
        rows in 0.0f64..0.25,
        cells in 0.0f64..0.1,
        missing in 0.0f64..0.3,
        scaled in any::<bool>(),
    ) {
        let x = table(seed, (n, features), [rows, cells, missing]);
        let scaling = if scaled { Scaling::Mad } else { Scaling::None };
        let config = Config::new(method, 1 + seed as usize % 2).with_scaling(scaling);
        let what = format!("{} {n} x {features}", method.name());
        match fit(&config, &source(&x), 2) {
            Ok(model) => check_use(&model, &x, &what),
            Err(error) => {
                message_of(&error);
                prop_assert!(matches!(error, Error::InvalidData(_) | Error::RankTooSmall { .. }), "{}: {}", what, error);
                prop_assert!(missing > 0.1 || features < 4, "{}: {}", what, error);
            }
        }
    }

    /// A row is compared with the model alone: its results do not depend on the other rows of a block, or on their order.
    #[test]
    fn results_of_a_row_depend_on_the_row_alone(seed in any::<u64>(), n in 30usize..60, features in 4usize..12) {
        let x = table(seed, (n, features), [0.1, 0.05, 0.1]);
        for method in CELLWISE {
            let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
            let (scores, rows, cells) = applied(&model, &x, CutoffKind::New);
            for i in [0, n / 2, n - 1] {
                let one = Matrix::from_vec(1, features, x.row(i).to_vec());
                let (own_scores, own_rows, own_cells) = applied(&model, &one, CutoffKind::New);
                prop_assert_eq!(bits(&scores[2 * i..2 * i + 2]), bits(&own_scores));
                prop_assert_eq!(rows[i].orthogonal_distance.to_bits(), own_rows[0].orthogonal_distance.to_bits());
                prop_assert_eq!(rows[i].flag, own_rows[0].flag);
                prop_assert_eq!(bits(&cells.residual_sd[i * features..(i + 1) * features]), bits(&own_cells.residual_sd));
            }
        }
    }

    /// Missing cells have their expected values in completed rows; those lie on the subspace, and other cells are unchanged.
    #[test]
    fn completed_rows_change_missing_and_bad_cells_only(seed in any::<u64>(), n in 40usize..80, features in 5usize..12) {
        let x = table(seed, (n, features), [0.05, 0.05, 0.1]);
        for method in CELLWISE {
            let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
            let (_, _, cells) = applied(&model, &x, CutoffKind::New);
            source(&x).visit(0..n, &mut |block| {
                for bad_cells in [false, true] {
                    let filled = model.fill_block(&block, bad_cells)?;
                    for (place, (value, own)) in filled.values.iter().zip(x.data()).enumerate() {
                        let expected = own.is_nan() || bad_cells && cells.flags[place] == CellFlag::Bad;
                        assert_eq!(filled.changed[place], expected, "cell {place}");
                        assert!(value.is_finite() && (expected || value == own), "{value} {own}");
                        if bad_cells && expected {
                            assert_eq!(value.to_bits(), cells.expected[place].to_bits(), "cell {place}");
                        }
                    }
                }
                Ok(())
            }).unwrap();
        }
    }

    /// Models have equal bits for any number of threads, with missing cells, on tables that are searched whole and on a sample.
    #[test]
    fn threads_do_not_change_a_model(seed in any::<u64>(), n in 20usize..300, large in any::<bool>()) {
        let n = if large { n + 1501 } else { n };
        let x = table(seed, (n, 6), [0.1, 0.05, 0.1]);
        let single: Vec<f32> = x.data().iter().map(|v| *v as f32).collect();
        let single = SliceSource::new(&single, n, 6).unwrap();
        for method in CELLWISE {
            let config = Config::new(method, 2);
            let bytes = |source: &dyn Source, threads| fit(&config, source, threads).unwrap().to_bytes().unwrap();
            for source in [&source(&x) as &dyn Source, &single] {
                let one = bytes(source, 1);
                prop_assert!(one == bytes(source, 2) && one == bytes(source, 7), "{}", method.name());
            }
        }
    }
}

/// A missing cell is NaN of any bits; rows and features without a number, and a corner of missing cells.
#[test]
fn missing_rows_columns_and_corners() {
    let (n, features) = (120, 8);
    let complete = table(3, (n, features), [0.0; 3]);
    let with = |missing: &dyn Fn(usize, usize) -> bool| {
        let cells =
            (0..n * features).map(|c| if missing(c / features, c % features) { NAN } else { complete.data()[c] });
        Matrix::from_vec(n, features, cells.collect())
    };
    for method in CELLWISE {
        let config = Config::new(method, 2);
        let whole = fit(&config, &source(&complete), 1).unwrap();

        let x = with(&|i, _| i == 7 || i == 90);
        let model = fit(&config, &source(&x), 1).unwrap();
        check_use(&model, &x, "two empty rows");
        assert!(!model.report.support[7] && !model.report.support[90]);
        assert!(model.report.warnings.iter().any(|w| w.contains("7, 90")), "{:?}", model.report.warnings);
        let (scores, rows, _) = applied(&model, &x, CutoffKind::Training);
        assert_eq!(scores[14..16], [0.0, 0.0]);
        assert!(rows[7].flag.is_outlier());
        assert!(sine(&model.subspace.components, &whole.subspace.components) < 0.02);

        let x = with(&|_, j| j == 3);
        let model = fit(&config, &source(&x), 1).unwrap();
        check_use(&model, &x, "an empty column");
        assert!((0..2).all(|k| model.subspace.components[(k, 3)] == 0.0), "{:?}", model.subspace.components);
        assert!(
            model.report.warnings.iter().any(|w| w.contains("no number") && w.contains(": 3")),
            "{:?}",
            model.report.warnings
        );

        let x = with(&|i, j| i >= n / 2 && j >= features / 2);
        let model = fit(&config, &source(&x), 1).unwrap();
        check_use(&model, &x, "a corner");
        assert!(sine(&model.subspace.components, &whole.subspace.components) < 0.1);

        let x = with(&|i, j| (i + j) % 4 == 0);
        let model = fit(&config, &source(&x), 1).unwrap();
        check_use(&model, &x, "a quarter of the cells");
        assert!(sine(&model.subspace.components, &whole.subspace.components) < 0.06);
        let strict = fit(&config.clone().with_missing(Missing::Error), &source(&x), 1).unwrap_err();
        assert!(matches!(strict, Error::NotFinite { row: 0, column: 0, .. }), "{strict}");

        for value in [f64::INFINITY, f64::NEG_INFINITY] {
            let mut x = with(&|i, _| i == 7);
            x[(100, 5)] = value;
            let error = fit(&config, &source(&x), 2).unwrap_err();
            assert!(matches!(error, Error::NotFinite { row: 100, column: 5, .. }), "{error}");
            let error =
                source(&x).visit(0..n, &mut |block| model.diagnose_cells_block(&block, CutoffKind::New).map(drop));
            assert!(matches!(error, Err(Error::NotFinite { row: 100, column: 5, .. })), "{error:?}");
        }
        // Hardly any row has more cells than components.
        let sparse = with(&|i, j| j % 4 != i % 4);
        let error = message_of(&fit(&Config::new(method, 3), &source(&sparse), 1).unwrap_err());
        assert!(error.contains("0 of 120 rows have enough usable cells"), "{error}");
    }
}

/// The values of a degenerate table.
fn degenerate(kind: &str, n: usize, features: usize) -> Matrix {
    let mut numbers = TestRandom::new((n * 31 + features) as u64);
    let normal = numbers.matrix(n, features);
    let cell = |i: usize, j: usize| match kind {
        "equal rows" => 0.1,
        "one feature varies" => {
            if j == 0 {
                normal[(i, 0)]
            } else {
                3.0
            }
        }
        "one row differs" => f64::from(u8::from(i == 1 && j == 0)),
        "one cell per row" => f64::from(u8::from(i % features == j)),
        "two values" => {
            if normal[(i, j)] < 0.4 {
                0.0
            } else {
                1.0
            }
        }
        "most rows equal" => {
            if i.is_multiple_of(3) {
                normal[(i, j)]
            } else {
                2.0
            }
        }
        "a line" => i as f64 * (1.0 + j as f64),
        "one number" => {
            if (i, j) == (1, 0) {
                5.0
            } else {
                NAN
            }
        }
        "two numbers" => {
            if j == 0 && i < 2 {
                i as f64
            } else {
                NAN
            }
        }
        "a diagonal of numbers" => {
            if i % features == j {
                normal[(i, j)]
            } else {
                NAN
            }
        }
        "huge and tiny features" => normal[(i, j)] * 10f64.powi(40 * (j as i32 % 7) - 120),
        "counts" => (normal[(i, j)].abs() * 3.0).floor(),
        "large offset" => 1e9 + normal[(i, j)],
        _ => normal[(i, j)],
    };
    Matrix::from_vec(n, features, (0..n * features).map(|c| cell(c / features, c % features)).collect())
}

#[test]
fn degenerate_tables_give_an_error_or_a_model_that_can_be_used() {
    const KINDS: [&str; 14] = [
        "equal rows",
        "one feature varies",
        "one row differs",
        "one cell per row",
        "two values",
        "most rows equal",
        "a line",
        "one number",
        "two numbers",
        "a diagonal of numbers",
        "huge and tiny features",
        "counts",
        "large offset",
        "normal",
    ];
    let (mut models, mut errors) = (0, 0);
    for kind in KINDS {
        for (n, features) in [(2, 3), (4, 1), (5, 5), (6, 40), (30, 7)] {
            let x = degenerate(kind, n, features);
            for method in CELLWISE {
                for d in [1, 2, features.min(n - 1)] {
                    let scaling = if (n + d) % 2 == 0 { Scaling::Mad } else { Scaling::None };
                    let config = Config::new(method, d).with_scaling(scaling);
                    let what = format!("{kind}, {n} x {features}, {} -d {d} {scaling:?}", method.name());
                    match fit(&config, &source(&x), 1) {
                        Ok(model) => {
                            check_use(&model, &x, &what);
                            models += 1;
                        }
                        Err(error) => {
                            message_of(&error);
                            let expected = matches!(
                                error,
                                Error::InvalidData(_) | Error::InvalidArgument { .. } | Error::RankTooSmall { .. }
                            );
                            assert!(expected, "{what}: {error:?}");
                            assert!(kind != "normal" || n < d + 3 || d > features, "{what}: {error}");
                            errors += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{models} models, {errors} errors");
    assert!(models > 100 && errors > 100, "{models} models, {errors} errors");
}

/// With as many components as features nothing is outside of the subspace, and no cell is bad.
#[test]
fn as_many_components_as_features() {
    let x = table(5, (90, 4), [0.0; 3]);
    for method in CELLWISE {
        let model = fit(&Config::new(method, 4), &source(&x), 1).unwrap();
        assert!(model.cutoffs(CutoffKind::New)[1].is_nan() && model.cutoffs(CutoffKind::Training)[1].is_nan());
        let (_, rows, cells) = applied(&model, &x, CutoffKind::Training);
        assert!(rows.iter().all(|row| row.orthogonal_distance < 1e-9));
        assert!(cells.flags.iter().all(|flag| *flag == CellFlag::Usable));
        let regular = rows.iter().filter(|row| row.flag == Flag::Regular).count();
        assert!(regular > 75, "{regular}");
    }
}

/// An exact fit of low rank: residuals of the rows on the subspace are rounding, others are outliers.
#[test]
fn an_exact_subspace_is_found_with_its_outliers() {
    let mut numbers = TestRandom::new(9);
    let (n, features) = (80, 10);
    let mut x = product(&numbers.matrix(n, 2), &numbers.matrix(2, features));
    let exact = fit(&Config::new(Method::Pca, 2), &source(&x), 1).unwrap();
    (0..12).for_each(|i| x.row_mut(i).iter_mut().for_each(|v| *v += numbers.normal()));
    x[(40, 3)] += 5.0;
    for method in CELLWISE {
        let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
        let off = sine(&model.subspace.components, &exact.subspace.components);
        assert!(off < 1e-6, "{}: {off:e}", method.name());
        assert!(model.report.support[..12].iter().all(|kept| !kept), "{}", method.name());
        let (_, rows, _) = applied(&model, &x, CutoffKind::Training);
        assert!(rows[..12].iter().all(|row| row.flag.is_outlier()), "{}", method.name());
        // More components than the rank of the bulk.
        match fit(&Config::new(method, 3), &source(&x), 1) {
            Ok(model) => check_use(&model, &x, "three components of a plane"),
            Err(error) => assert!(matches!(error, Error::RankTooSmall { .. }), "{error}"),
        }
    }
}

/// Many features: the search is on some of them, and the model has all.
#[test]
fn features_beyond_those_of_the_search_are_in_the_model() {
    let (n, features) = (60, 3200);
    let x = table(6, (n, features), [0.1, 0.02, 0.02]);
    let clean = table(6, (n, features), [0.0; 3]);
    let ideal = fit(&Config::new(Method::Pca, 2), &source(&clean), 2).unwrap();
    for method in [Method::Robust, Method::Cells] {
        let model = fit(&Config::new(method, 2), &source(&x), 2).unwrap();
        check_use(&model, &x, method.name());
        let off = sine(&model.subspace.components, &ideal.subspace.components);
        assert!(off < 0.2, "{}: {off}", method.name());
        assert!(model.report.objective.windows(2).all(|w| w[1] <= w[0] + 1e-9 * w[0].abs()));
    }
}

#[test]
fn the_number_of_components_is_found_despite_missing_cells() {
    let x = table(8, (300, 15), [0.05, 0.02, 0.1]);
    for method in CELLWISE {
        let model = fit(&Config::new(method, ComponentCount::VarianceFraction(0.8)), &source(&x), 1).unwrap();
        check_use(&model, &x, "a fraction");
        assert!(model.n_components() <= 3, "{}", model.n_components());
    }
}

/// Scores of the rows of the fit do not depend on the runner that applies the model.
#[test]
fn transform_gives_the_scores_of_the_blocks() {
    let x = table(11, (700, 6), [0.1, 0.05, 0.1]);
    for method in CELLWISE {
        let model = fit(&Config::new(method, 2), &source(&x), 1).unwrap();
        let (scores, rows, _) = applied(&model, &x, CutoffKind::Training);
        let runner = Local::new(3).unwrap();
        assert_eq!(bits(model.transform(&source(&x), &runner).unwrap().data()), bits(&scores));
        let diagnosed = model.diagnose(&source(&x), &runner, CutoffKind::Training).unwrap();
        assert!(diagnosed.iter().zip(&rows).all(|(a, b)| a == b || a.angle_degrees.is_nan()));
    }
}
