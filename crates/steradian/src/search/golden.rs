//! Golden cases of the robust estimator: definitions fixed by an independent implementation in plain loops.

use std::path::PathBuf;

use super::Candidate;
use super::calibration::bulk_cutoff;
use super::concentration::distance_limit;
use super::criterion::criterion;
use super::majority;
use super::outlyingness::{consistency, univariate_mcd};
use super::student_steps::{KeptRows, Steps, student_steps};
use crate::cellwise::features::wrapped;
use crate::cellwise::{CellState, FeatureStats, RowModel, RowStep, RowWork};
use crate::data::block::Block;
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::chi_square_quantile;

/// A case: its folder and the rows of X.
struct Case {
    folder: PathBuf,
    meta: serde_json::Value,
}

impl Case {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let meta = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
        Self { folder, meta }
    }

    /// An array of f64, i64 or bool values.
    fn array(&self, name: &str) -> Vec<f64> {
        let bytes = std::fs::read(self.folder.join(format!("{name}.npy"))).unwrap();
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let header = std::str::from_utf8(&bytes[10..start]).unwrap();
        assert!(header.contains("'fortran_order': False"), "{name}: {header}");
        let words = || bytes[start..].chunks_exact(8).map(|b| <[u8; 8]>::try_from(b).unwrap());
        match header {
            _ if header.contains("'|b1'") => bytes[start..].iter().map(|b| f64::from(*b)).collect(),
            _ if header.contains("'<i8'") => words().map(|b| i64::from_le_bytes(b) as f64).collect(),
            _ if header.contains("'<f8'") => words().map(f64::from_le_bytes).collect(),
            _ => panic!("{name}: {header}"),
        }
    }

    fn matrix(&self, name: &str, rows: usize) -> Matrix {
        let data = self.array(name);
        Matrix::from_vec(rows, data.len() / rows, data)
    }

    fn table(&self) -> Matrix {
        self.matrix("X", self.meta["n"].as_u64().unwrap() as usize)
    }

    /// Asserts that values equal an output within its tolerance.
    fn expect(&self, name: &str, found: &[f64]) {
        let expected = self.array(name);
        let tolerance = self.meta["tolerance"][name]["abs"].as_f64().unwrap_or(0.0);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
            assert!((a - b).abs() <= tolerance || (a.is_nan() && b.is_nan()), "{name}[{i}]: {a} is not {b}");
        }
    }
}

/// A model from Q (D x d) and the arrays of a case.
fn model(case: &Case, table: &Matrix, limits: Vec<f64>, location: Vec<f64>, scale: Vec<f64>) -> RowModel {
    RowModel {
        center: case.array("center"),
        components: case.matrix("Q", table.columns()).transposed(),
        variances: case.array("lam"),
        noise: case.array("s2")[0],
        limits,
        location,
        scale,
        cleans: true,
        scale_features: Vec::new(),
    }
}

fn states(untrusted: &[f64]) -> Vec<CellState> {
    untrusted.iter().map(|u| if *u > 0.0 { CellState::Bad } else { CellState::Usable }).collect()
}

#[test]
fn location_scale_resolution_and_wrapped_cells() {
    let case = Case::new("31_one_columns");
    let table = case.table();
    let stats = FeatureStats::of(&Block::of_values(table.data(), table.rows(), table.columns()).unwrap());
    case.expect("location", &stats.location);
    case.expect("scale", &stats.scale);
    case.expect("resolution", &stats.resolution);
    let cells = table.data().iter().enumerate();
    let all: Vec<f64> = cells
        .map(|(i, x)| wrapped(*x, stats.location[i % table.columns()], stats.scale[i % table.columns()]))
        .collect();
    case.expect("wrapped", &all);
}

#[test]
fn scores_distances_and_completed_cells() {
    let case = Case::new("32_one_scores");
    let table = case.table();
    let (n, features) = (table.rows(), table.columns());
    let ones = vec![1.0; features];
    let model = model(&case, &table, ones.clone(), ones.clone(), ones);
    let step = RowStep::new(&model);
    let states = states(&case.array("untrusted"));
    let (mut scores, mut distances, mut completed) = (Vec::new(), Vec::new(), Vec::new());
    let mut work = RowWork::new(features);
    for i in 0..n {
        let mut own = vec![0.0; 2];
        let state = step.run_with_states(table.row(i), &states[i * features..(i + 1) * features], &mut work, &mut own);
        let mut repaired = vec![0.0; features];
        step.repair(&work, &own, &mut repaired);
        completed.extend(repaired.iter().zip(&model.center).map(|(z, c)| z + c));
        scores.extend(own);
        distances.push(state.distance);
    }
    case.expect("scores", &scores);
    case.expect("od", &distances);
    case.expect("completed", &completed);
}

#[test]
fn bad_cells_unusable_rows_and_row_scales() {
    let case = Case::new("33_one_cells");
    let table = case.table();
    let model = model(&case, &table, case.array("limits"), case.array("location"), case.array("scale"));
    let found = super::tables::compare(&table, &RowStep::new(&model).with_row_scales());
    case.expect("scores", found.scores.data());
    let untrusted: Vec<f64> =
        found.cells.iter().map(|state| f64::from(u8::from(*state != CellState::Usable))).collect();
    case.expect("untrusted", &untrusted);
    let unusable: Vec<f64> = found.rows.iter().map(|row| f64::from(u8::from(row.unusable))).collect();
    case.expect("lost", &unusable);
    case.expect("tau", &found.rows.iter().map(|row| row.row_scale).collect::<Vec<_>>());
    case.expect("od", &found.distances());
}

#[test]
fn student_weights_steps_and_objective() {
    let case = Case::new("34_one_student");
    let table = case.table();
    let kept: Vec<bool> = case.array("kept").iter().map(|kept| *kept > 0.0).collect();
    let states = states(&case.array("untrusted"));
    let rows = KeptRows { table: &table, kept: &kept, cells: Some(&states) };
    let kappa = case.meta["config"]["kappa"].as_f64().unwrap();
    let components = case.matrix("Q0", table.columns()).transposed();
    let steps = Steps { most: 4, tolerance: 0.0, kappa };
    let fit = student_steps(&rows, &case.array("center0"), &components, None, steps).unwrap();
    case.expect("center", &fit.center);
    case.expect("lam", &fit.variances);
    case.expect("s2", &[fit.noise]);
    case.expect("weights", &fit.weights);
    case.expect("path", &fit.objective);
    let mut signed = fit.components.clone();
    (0..signed.rows()).for_each(|k| {
        let largest = signed.row(k).iter().fold(0.0f64, |m, q| if q.abs() > m.abs() { *q } else { m });
        signed.row_mut(k).iter_mut().for_each(|q| *q *= largest.signum());
    });
    case.expect("Q", signed.transposed().data());
    let inside: f64 = fit.variances.iter().sum();
    let total = inside + (table.columns() - 2) as f64 * fit.noise;
    case.expect("share", &fit.variances.iter().map(|v| v / total).collect::<Vec<_>>());
}

#[test]
fn limits_cutoffs_and_univariate_mcd() {
    let case = Case::new("35_one_cutoffs");
    let table = case.table();
    let n = table.rows();
    let h = majority(n, 2);
    assert_eq!(h as u64, case.meta["config"]["h"].as_u64().unwrap());
    let columns: Vec<Vec<f64>> = (0..table.columns()).map(|j| (0..n).map(|i| table[(i, j)]).collect()).collect();
    let limits: Vec<f64> = columns.iter().map(|column| distance_limit(column, h)).collect();
    case.expect("limit", &limits);
    let kept = |j: usize| columns[j].iter().map(|t| *t <= limits[j]).collect::<Vec<bool>>();
    let cutoffs: Vec<f64> = (0..columns.len()).map(|j| bulk_cutoff(&columns[j], &kept(j))).collect();
    case.expect("cutoff", &cutoffs);
    let found: Vec<_> = columns
        .iter()
        .map(|column| univariate_mcd(column, h, consistency(h as f64 / n as f64), 0.0, &mut Vec::new()))
        .collect();
    case.expect("mcd_location", &found.iter().map(|mcd| mcd.location).collect::<Vec<_>>());
    case.expect("mcd_scale", &found.iter().map(|mcd| mcd.scale).collect::<Vec<_>>());
    let chi: Vec<f64> = (1..4).map(|d| chi_square_quantile(0.975, d).sqrt()).collect();
    case.expect("sd_cutoff", &chi);
}

#[test]
fn the_selection_criterion() {
    let case = Case::new("36_one_judge");
    let table = case.table();
    let features = table.columns();
    let candidate = Candidate {
        model: RowModel {
            center: case.array("center"),
            components: case.matrix("Q", features).transposed(),
            variances: vec![1.0; 2],
            noise: 1.0,
            limits: case.array("limits"),
            location: vec![0.0; features],
            scale: vec![1.0; features],
            cleans: true,
            scale_features: Vec::new(),
        },
        scores: case.matrix("scores", table.rows()),
        kept: case.array("kept").iter().map(|kept| *kept > 0.0).collect(),
        cells: Vec::new(),
        row_cutoff: 0.0,
        basis: Matrix::zeros(features, 0),
        objective: Vec::new(),
    };
    let shares = case.meta["config"]["cover"].as_array().unwrap();
    let found: Vec<f64> =
        shares.iter().map(|share| criterion(&candidate, &table, share.as_f64().unwrap()).unwrap()).collect();
    case.expect("J", &found);
}
