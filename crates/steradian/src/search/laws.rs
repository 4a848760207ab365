//! Laws of the row step and of Student steps, as tests: bad cells equal missing cells, rows that are not kept equal absent rows.

use proptest::prelude::*;

use super::student_steps::{KeptRows, Steps, StudentFit, student_steps};
use crate::cellwise::{CellState, RowModel, RowStep, RowWork};
use crate::numeric::linalg::Matrix;
use crate::numeric::orthonormal::orthonormalize_in_order;
use crate::numeric::random::{Stream, normal_matrix};

/// Rows near a plane, and orthonormal components (d x D) that are not those of the plane.
fn rows(seed: u64, n: usize, features: usize, d: usize) -> (Matrix, Matrix) {
    let plane = normal_matrix(d, features, seed, Stream::Krylov);
    let (scores, noise) =
        (normal_matrix(n, d, seed ^ 1, Stream::Krylov), normal_matrix(n, features, seed ^ 2, Stream::Krylov));
    let mut table = Matrix::zeros(n, features);
    for i in 0..n {
        for j in 0..features {
            let along: f64 = (0..d).map(|k| (4.0 - k as f64) * scores[(i, k)] * plane[(k, j)]).sum();
            table[(i, j)] = 2.0 + along + 0.3 * noise[(i, j)];
        }
    }
    let mut start = normal_matrix(features, d, seed ^ 3, Stream::Krylov);
    orthonormalize_in_order(&mut start);
    (table, start.transposed())
}

/// A state for every cell: some of them bad, or missing.
fn states(seed: u64, count: usize, other: CellState) -> Vec<CellState> {
    let draw = normal_matrix(count, 1, seed ^ 4, Stream::Krylov);
    draw.data().iter().map(|x| if *x > 1.3 { other } else { CellState::Usable }).collect()
}

const STEPS: Steps = Steps { most: 12, tolerance: 0.0, kappa: 0.7 };

fn steps(table: &Matrix, kept: &[bool], cells: Option<&[CellState]>, start: &Matrix) -> StudentFit {
    let center = vec![1.5; table.columns()];
    student_steps(&KeptRows { table, kept, cells }, &center, start, None, STEPS).unwrap()
}

/// Equal bits of everything that a fit has.
fn same(a: &StudentFit, b: &StudentFit) -> bool {
    a.center == b.center
        && a.components == b.components
        && a.variances == b.variances
        && a.noise == b.noise
        && a.weights == b.weights
        && a.objective == b.objective
}

fn model(center: Vec<f64>, components: Matrix) -> RowModel {
    let (d, features) = (components.rows(), components.columns());
    RowModel {
        location: center.clone(),
        center,
        components,
        variances: vec![9.0; d],
        noise: 0.1,
        limits: vec![0.4; features],
        scale: vec![3.0; features],
        cleans: true,
        scale_features: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn given_the_states_a_bad_cell_equals_a_missing_cell(seed in any::<u64>(), n in 20usize..60, features in 4usize..12) {
        let (table, start) = rows(seed, n, features, 2);
        let bad = states(seed, n * features, CellState::Bad);
        let missing = states(seed, n * features, CellState::Missing);
        let mut holes = table.clone();
        holes.data_mut().iter_mut().zip(&bad).filter(|(_, s)| **s == CellState::Bad).for_each(|(x, _)| *x = f64::NAN);
        let kept = vec![true; n];
        let a = steps(&table, &kept, Some(&bad), &start);
        let b = steps(&holes, &kept, Some(&missing), &start);
        prop_assert!(same(&a, &b));
        // The values of bad cells do not matter.
        let mut far = table.clone();
        far.data_mut().iter_mut().zip(&bad).filter(|(_, s)| **s == CellState::Bad).for_each(|(x, _)| *x *= -1e6);
        prop_assert!(same(&a, &steps(&far, &kept, Some(&bad), &start)));
        prop_assert!(a.components != steps(&table, &kept, None, &start).components, "there are bad cells");
    }

    #[test]
    fn a_row_that_is_not_kept_equals_an_absent_row(seed in any::<u64>(), n in 30usize..60, features in 4usize..12) {
        let (table, start) = rows(seed, n, features, 2);
        let cells = states(seed, n * features, CellState::Missing);
        let kept: Vec<bool> = (0..n).map(|i| !(i as u64 + seed % 5).is_multiple_of(4)).collect();
        let members: Vec<usize> = (0..n).filter(|&i| kept[i]).collect();
        let own = |i: &usize| i * features..(i + 1) * features;
        let few = Matrix::from_vec(members.len(), features, members.iter().flat_map(|i| table.data()[own(i)].to_vec()).collect());
        let few_cells: Vec<CellState> = members.iter().flat_map(|i| cells[own(i)].to_vec()).collect();
        let a = steps(&table, &kept, Some(&cells), &start);
        let b = steps(&few, &vec![true; members.len()], Some(&few_cells), &start);
        prop_assert!(same(&a, &b));
    }

    #[test]
    fn rows_and_features_in_another_order_and_shifts_change_rounding_only(
        seed in any::<u64>(), n in 30usize..60, features in 4usize..12, shift in -9.0f64..9.0
    ) {
        let (table, start) = rows(seed, n, features, 2);
        let cells = states(seed, n * features, CellState::Bad);
        let a = steps(&table, &vec![true; n], Some(&cells), &start);
        let (i, j) = (|at: usize| (at * 7 + 3) % n, |at: usize| features - 1 - at);
        prop_assume!(n % 7 != 0);
        let moved = Matrix::from_vec(n, features, (0..n * features).map(|c| table[(i(c / features), j(c % features))] + shift).collect());
        let moved_cells: Vec<CellState> = (0..n * features).map(|c| cells[i(c / features) * features + j(c % features)]).collect();
        let moved_start = Matrix::from_vec(2, features, (0..2 * features).map(|c| start[(c / features, j(c % features))]).collect());
        let center = vec![1.5 + shift; features];
        let rows = KeptRows { table: &moved, kept: &vec![true; n], cells: Some(&moved_cells) };
        let b = student_steps(&rows, &center, &moved_start, None, STEPS).unwrap();
        // The guard of the objective may end at another step.
        prop_assume!(a.objective.len() == b.objective.len());
        for c in 0..features {
            prop_assert!((a.center[j(c)] + shift - b.center[c]).abs() < 1e-6);
            for (e, f) in [(0, 0), (0, 1), (1, 1)] {
                let projector = |fit: &StudentFit, at: &dyn Fn(usize) -> usize| (0..2).map(|k| fit.components[(k, at(c))] * fit.components[(k, at(e + f))]).sum::<f64>();
                let off = projector(&a, &|c| j(c)) - projector(&b, &|c| c);
                prop_assert!(off.abs() < 1e-6, "{}", off);
            }
        }
        prop_assert!((a.noise / b.noise - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_objective_of_the_steps_never_rises(seed in any::<u64>(), n in 12usize..60, features in 3usize..30) {
        let (mut table, start) = rows(seed, n, features, 2);
        table.row_mut(3).iter_mut().for_each(|x| *x *= 40.0);
        let cells = states(seed, n * features, CellState::Missing);
        // From the first maximization on.
        let path = steps(&table, &vec![true; n], Some(&cells), &start).objective;
        prop_assert!(path[1..].windows(2).all(|w| w[1] <= w[0] + 1e-9 * w[0].abs()), "{:?}", path);
    }

    #[test]
    fn a_row_without_its_bad_cells_has_the_same_scores(seed in any::<u64>(), features in 6usize..30) {
        let (mut table, start) = rows(seed, 40, features, 2);
        let draw = normal_matrix(40 * features, 1, seed ^ 9, Stream::Krylov);
        table.data_mut().iter_mut().zip(draw.data()).filter(|(_, x)| **x > 1.6).for_each(|(x, _)| *x += 25.0);
        let model = model(vec![2.0; features], start);
        let step = RowStep::new(&model);
        let (mut work, mut other) = (RowWork::new(features), RowWork::new(features));
        let (mut scores, mut again) = ([0.0; 2], [0.0; 2]);
        let mut repaired = [vec![0.0; features], vec![0.0; features]];
        for i in 0..40 {
            let found = step.run(table.row(i), &mut work, &mut scores);
            let cells: Vec<CellState> =
                work.states.iter().map(|s| if *s == CellState::Usable { *s } else { CellState::Missing }).collect();
            let holes: Vec<f64> =
                table.row(i).iter().zip(&cells).map(|(x, s)| if *s == CellState::Usable { *x } else { f64::NAN }).collect();
            let given = step.run_with_states(&holes, &cells, &mut other, &mut again);
            // Bad cells are subtracted from the products of all cells, so the sums round otherwise.
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
            prop_assert!(near(&scores, &again), "{scores:?} {again:?}");
            prop_assert!(near(&[found.square], &[given.square]));
            prop_assert_eq!((found.freedom, found.usable), (given.freedom, given.usable));
            step.repair(&work, &scores, &mut repaired[0]);
            step.repair(&other, &again, &mut repaired[1]);
            prop_assert!(near(&repaired[0], &repaired[1]));
        }
    }
}
