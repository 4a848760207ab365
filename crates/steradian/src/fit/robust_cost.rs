//! The plan of the robust estimator: its solver, passes and memory.

use super::assemble::SCALE_SCORES;
use super::cost::{Costs, PlanStep};
use super::robust::{EXTRA_COLUMNS, KEPT_NUMBERS, MAX_PASSES, directions};
use crate::config::options::{Cells, ComponentCount, Scaling, Solver};
use crate::data::source::Shape;
use crate::engine::grid::Grid;
use crate::folds::{RepairedRow, repaired_chunk_rows};
use crate::search::outlyingness::pair_count;
use crate::search::sample::{sample_size, search_features};
use crate::solver::krylov::max_columns;

/// Bytes of a number.
const F64: u64 = 8;
/// Passes over all rows that are expected where the sample is not everything.
const EXPECTED_PASSES: usize = 4;
/// Applications of the operator that the last eigenproblem is expected to take by passes.
const EXPECTED_APPLICATIONS: usize = 5;
/// Candidates from one table of start values.
const CANDIDATES: u64 = 2;
/// Bytes per cell of a candidate in progress: repaired rows, their transpose or a part of it, and states.
const CANDIDATE_CELL: u64 = 22;

/// True if the search is on all rows and features, so that passes would repeat its last steps.
fn is_complete(shape: &Shape) -> bool {
    sample_size(shape.samples, shape.features) == shape.samples && search_features(shape.features) == shape.features
}

impl Costs<'_> {
    /// The steps of one fit.
    pub(super) fn robust_steps(&self, solver: Solver) -> Vec<PlanStep> {
        // Scaled samples are read as floating-point numbers.
        let element = self.changed_or_own();
        let bytes = Shape { element, ..self.shape.clone() }.bytes();
        let step = |name: &str, passes: usize| PlanStep { name: name.to_owned(), passes, bytes: passes as u64 * bytes };
        let sampled = sample_size(self.shape.samples, self.shape.features);
        let read = sampled as u64 * (self.shape.features * element.bytes()) as u64;
        let mut steps = vec![PlanStep { name: "sample and search".to_owned(), passes: 0, bytes: read }];
        if !is_complete(self.shape) {
            steps.push(step("reweighted passes", EXPECTED_PASSES.min(MAX_PASSES)));
        }
        let applications = if solver == Solver::Scatter { 1 } else { 1 + EXPECTED_APPLICATIONS };
        steps.push(step("last eigenproblem and certificate", applications));
        steps
    }

    /// Upper bound on the memory of one fit, in bytes.
    pub(super) fn robust_memory(&self, solver: Solver) -> u64 {
        let (n, features, threads) = (self.shape.samples as u64, self.shape.features as u64, self.threads as u64);
        let rows = sample_size(self.shape.samples, self.shape.features) as u64;
        let searched = search_features(self.shape.features) as u64;
        let d = self.d() as u64;
        let cells = rows * searched;
        let sample = rows * features * self.changed_or_own().bytes() as u64;
        let starts = if self.config.cells == Cells::Never { 1 } else { 2 };
        let all = CANDIDATES * starts;
        // A thread that waits for one candidate may begin another.
        let candidates = if threads == 1 { 1 } else { all.min(2 * threads) };
        let pairs = pair_count(rows as usize, searched as usize, directions(self.config)) as u64;
        let paired = F64 * pairs * searched * starts.min(threads);
        let square = searched.min(rows).min(256).pow(2) * 4 * F64;
        // The table, tables of start values, candidates in progress, and the cells of those that are done.
        let search = cells * ((1 + starts) * F64 + candidates * CANDIDATE_CELL + all)
            + paired
            + candidates * (square + 6 * F64 * searched * (d + 16))
            + threads * 40 * F64 * rows;
        let calibration = cells * (3 * F64 + threads.min(5) * (2 * F64 + 2)) + 12 * F64 * features;
        let pass = self.robust_pass(solver);
        let held = F64 * features * (12 + 6 * d) + 2 * n;
        let scores = F64 * rows * (d + 4) * 4;
        let scaling = if self.config.scaling == Scaling::Mad { F64 * features * 4 } else { 0 };
        let again = if matches!(self.config.n_components, ComponentCount::Count(_)) { 0 } else { cells * F64 };
        // The rows are reordered before there are other copies of them.
        let stages = search.max(calibration).max(pass).max(sample).max(F64 * SCALE_SCORES as u64 / 64);
        held + scores + scaling + again + sample + stages
    }

    /// Sums of a pass, its blocks, and the basis of the last eigenproblem.
    fn robust_pass(&self, solver: Solver) -> u64 {
        let (n, features, threads) = (self.shape.samples, self.shape.features as u64, self.threads as u64);
        let width = self.width();
        let columns = match solver {
            Solver::Scatter => features,
            _ => (width.0 as u64).max(self.d() as u64 + EXTRA_COLUMNS as u64),
        };
        let accumulator = F64 * features * (1 + columns);
        let grid = Grid::new(n, self.shape.features, accumulator as usize);
        let block = threads * F64 * features * (2 * repaired_chunk_rows(self.shape.features) as u64 + 12);
        // What repairs the rows again, in the sums and in the result.
        let kept = match solver {
            Solver::Scatter => 0,
            _ => 2 * F64 * (n as u64 * RepairedRow::numbers(self.d()) as u64).min(KEPT_NUMBERS as u64),
        };
        let basis = match solver {
            Solver::Scatter => 5 * F64 * features * features,
            _ => {
                let columns = max_columns(self.shape.features, width) as u64;
                F64 * features * (columns + 8 * width.0 as u64) + 3 * F64 * columns * columns
            }
        };
        accumulator * grid.live_accumulators(self.threads) as u64 + block + basis + kept
    }
}
