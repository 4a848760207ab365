//! The peak memory of a fit: the largest of its stages, each with its arrays per sample, per feature and per thread.
//!
//! | array | bytes |
//! |---|---|
//! | a result per sample (a pass that returns one value each) | twice its size while the last leaves are merged |
//! | sums of a pass | one accumulator per thread or one in all, and those that await their siblings (`Grid`) |
//! | Krylov basis | its largest size; a fit that converges early takes less |
//! | panels of matrix products | [`PACKING_BYTES`] for each thread |
//!
//! The sums are upper bounds: `tests/suite/memory.rs` compares them with a counting allocator.

use super::assemble::SCALE_SCORES;
use super::cost::{Costs, config_changes};
use super::route::Route;
use crate::center::{median, spatial_median};
use crate::config::options::{Center, ComponentCount, Scaling, Solver};
use crate::config::screen::{Angle, Screen};
use crate::data::element::ElementType;
use crate::engine::grid::Grid;
use crate::folds::{CONE_TILE_ROWS, TILE_ROWS};
use crate::kernel::int8::BYTE_TILE_ROWS;
use crate::kernel::panel;
use crate::numeric::linalg::{PACKING_BYTES, packs};
use crate::screen::outlyingness::{GROUP, SPREAD_SAMPLES};
use crate::screen::{cone, elimination};
use crate::solver::dense::solves_fully;
use crate::solver::krylov::max_columns;

/// Memory of the program apart from the data: arguments, tables, messages.
const PROGRAM_BYTES: u64 = 2 << 20;
/// Memory of each thread: its queue, and the rows of a block in progress.
const THREAD_BYTES: u64 = 256 << 10;
/// Vectors of D values that the iteration of the spatial median holds at once: 8 steps and gradients of its curvature, two
/// evaluations, and intermediate sums.
const MEDIAN_VECTORS: u64 = 2 * 8 + 10;
/// D x l blocks beside the basis of a Krylov iteration: the product, its copies while it is made orthonormal, the start.
const KRYLOV_BLOCKS: u64 = 6;
/// Bytes of a number.
const F64: u64 = 8;

/// Memory of the program on this many threads, apart from the data, in bytes.
pub fn program_bytes(threads: usize) -> u64 {
    PROGRAM_BYTES + threads as u64 * (THREAD_BYTES + PACKING_BYTES)
}

impl Costs<'_> {
    /// Upper bound on the memory that a fit by this solver allocates at once, in bytes.
    pub(super) fn memory(&self, solver: Solver) -> u64 {
        let (n, features, threads) = (self.shape.samples as u64, self.shape.features as u64, self.threads as u64);
        let program = PROGRAM_BYTES + threads * THREAD_BYTES;
        if self.is_robust() {
            let packing = threads * PACKING_BYTES;
            return program + packing + self.reading(solver) + (self.robust_memory(solver)).max(self.scaling());
        }
        let packing = if self.packs(solver) { threads * PACKING_BYTES } else { 0 };
        // The mean of the check, the center, and the components before and after their signs are fixed.
        let held = F64 * features * (4 + 2 * self.d() as u64);
        let stages = self
            .centering(solver)
            .max(self.screening(solver))
            .max(self.weights() * n + self.solving(solver))
            .max(self.measuring());
        let fit = packing + self.reading(solver) + stages;
        // Scales come before the first product, unless their number of components is searched for by several fits.
        let again = if matches!(self.config.n_components, ComponentCount::Count(_)) { 0 } else { packing };
        program + held + fit.max(again + self.scaling())
    }

    /// True if products are large enough to be packed into panels.
    fn packs(&self, solver: Solver) -> bool {
        let (features, l) = (self.shape.features, self.width().0);
        let rows = if solver == Solver::Gram { self.shape.samples.min(TILE_ROWS) } else { features.min(1024) };
        packs(rows, l, l)
            || solver == Solver::Scatter && packs(features.min(128), features, 256.min(self.shape.samples))
            || solver == Solver::Gram && packs(rows, rows, features.min(panel::COLUMNS))
            || self.has_cone() && packs(self.shape.samples.min(CONE_TILE_ROWS), CONE_TILE_ROWS, features)
    }

    /// The accumulators of a pass that are in memory at once.
    fn live(&self, accumulator_bytes: u64) -> u64 {
        let grid = Grid::new(self.shape.samples, self.shape.features, accumulator_bytes as usize);
        accumulator_bytes * grid.live_accumulators(self.threads) as u64
    }

    /// Samples that are copies where they are read: buffers of the source, tiles, blocks of changed samples.
    fn reading(&self, solver: Solver) -> u64 {
        let (n, features, threads) = (self.shape.samples as u64, self.shape.features as u64, self.threads as u64);
        let row_bytes = features * self.shape.element.bytes() as u64;
        let pairs = solver == Solver::Gram || self.has_cone();
        let tile_rows = if solver == Solver::Gram { BYTE_TILE_ROWS } else { CONE_TILE_ROWS } as u64;
        let copies = if self.source_bytes > 0 && pairs { 2 * threads * tile_rows.min(n) * row_bytes } else { 0 };
        let block = Grid::new(self.shape.samples, self.shape.features, 0).block_rows() as u64;
        // Views are stacked: scaled samples, their residuals, a subset of them.
        let views = u64::from(self.config.scaling == Scaling::Mad)
            + u64::from(self.config.n_components == ComponentCount::Auto);
        let rows = if pairs { tile_rows.max(block) } else { block };
        let changed = threads * rows.min(n) * features * self.changed().bytes() as u64;
        // One row in f64 for each thread, and where cells are replaced its reconstruction.
        let row = if views > 0 { 2 * threads * F64 * features } else { 0 };
        self.source_bytes + copies + views * changed + row
    }

    /// Bytes per sample that weights take during a decomposition: the support, tau of a cone, the factors of reweighting.
    fn weights(&self) -> u64 {
        match self.config.screen {
            Screen::None => 0,
            Screen::Cone(_) => 1 + 1 + F64,
            Screen::Outlyingness(_) => 1,
        }
    }

    /// The samples from which the start of the spatial median is found.
    fn start(&self) -> u64 {
        let features = self.shape.features as u64;
        let rows = spatial_median::start_samples(self.shape.features).min(self.shape.samples) as u64;
        F64 * features * (rows + 2)
    }

    fn centering(&self, solver: Solver) -> u64 {
        let (n, features) = (self.shape.samples as u64, self.shape.features as u64);
        let support = if self.config.screen == Screen::None { 0 } else { 2 * n };
        let mean = self.live(F64 * features);
        let center = match self.config.center {
            Center::Median => self.live((median::SLAB_BYTES as u64).min(2048 * features)) + 40 * features,
            Center::SpatialMedian if matches!(self.route(solver), Route::Gram { .. }) => {
                // Within the matrix, and for floating-point numbers once more by passes.
                let passes = MEDIAN_VECTORS * F64 * features + mean;
                F64 * n * n + passes.max(2 * MEDIAN_VECTORS * F64 * n) + self.start()
            }
            Center::SpatialMedian => self.start().max(MEDIAN_VECTORS * F64 * features + mean),
            _ => 0,
        };
        support + center.max(mean)
    }

    fn screening(&self, solver: Solver) -> u64 {
        let (n, features, threads) = (self.shape.samples as u64, self.shape.features as u64, self.threads as u64);
        match &self.config.screen {
            Screen::None => 0,
            Screen::Outlyingness(screen) => {
                let directions = screen.pairs.as_ref().map_or(screen.n_directions, Vec::len) as u64;
                let pairs = 16 * directions * if screen.pairs.is_some() { 2 } else { 6 };
                let group = (GROUP as u64).min(directions);
                let order = (F64 + F64 + 1) * n;
                let spread = n.min(SPREAD_SAMPLES as u64);
                // Vectors, and the same packed for the kernels; projections, and the same while leaves are merged.
                let vectors = F64 * features * (2 * group + 4);
                let projected = 2 * (F64 * group + 1) * spread + threads * F64 * spread + F64 * spread;
                let per_sample = if n > spread { 3 * F64 * n } else { 2 * F64 * n };
                let measured = (F64 * n + projected).max(per_sample + F64 * group * spread) + vectors;
                pairs + (self.start() + F64 * n).max(measured).max(order)
            }
            Screen::Cone(cone) => {
                let report = (F64 + 4 + 2 + F64) * n;
                if solver == Solver::Gram {
                    let auto =
                        if cone.max_angle == Angle::Auto { cone::group_size(self.shape.samples) as u64 + 1 } else { 0 };
                    return F64 * n * n + auto * F64 * n + report;
                }
                let tile = CONE_TILE_ROWS.min(self.shape.samples) as u64;
                // A tile of cosines and its two sides in single precision, for each thread.
                let exact = threads * 4 * (tile * tile + 2 * tile * panel::COLUMNS as u64) + F64 * n;
                let search = if self.eliminates() {
                    // The anchors, twice while they are put in order; candidates and their counts of a round.
                    let anchors = elimination::anchors_at_once(self.shape.features).min(self.shape.samples) as u64;
                    2 * 12 * anchors * features + threads * 4 * 256 * anchors + (2 * 24 + 16 + 2 * F64 + 9) * n
                } else {
                    exact
                };
                let auto = match cone.max_angle {
                    Angle::Auto => 3 * F64 * n * cone::group_size(self.shape.samples) as u64,
                    Angle::Degrees(_) => 0,
                };
                report + search.max(auto).max(16 * n)
            }
        }
    }

    fn solving(&self, solver: Solver) -> u64 {
        let (n, features, l) = (self.shape.samples as u64, self.shape.features as u64, self.width().0 as u64);
        let padded = l.next_multiple_of(8);
        let product = self.live(F64 * features * padded) + 3 * F64 * features * padded;
        let basis = |dimension: u64| {
            let columns = max_columns(dimension as usize, self.width()) as u64;
            F64 * dimension * (columns.min(dimension + l) + KRYLOV_BLOCKS * l) + 3 * F64 * columns * columns
        };
        let eigen = |dimension: u64| match solves_fully(dimension as usize, self.d()) {
            // The vectors, the workspace, and the vectors in order.
            true => 7 * F64 * dimension * dimension / 2 + 64 * F64 * dimension,
            false => basis(dimension),
        };
        match solver {
            Solver::Scatter => {
                let square = F64 * features * features;
                let filling = if square > 1 << 20 { 1 } else { self.threads as u64 };
                let pass = self.live(square) + filling * 256.min(n) * F64 * features;
                pass.max(square + eigen(features)) + 4 * F64 * features * l
            }
            Solver::Gram => {
                let rows = if self.shape.element == ElementType::U8 { BYTE_TILE_ROWS } else { TILE_ROWS } as u64;
                let rows = rows.min(n);
                let tiles = self.threads as u64 * F64 * rows * (rows + 2 * panel::COLUMNS as u64);
                F64 * n * n + tiles.max(eigen(n)).max(product + 2 * F64 * n * l) + 4 * F64 * features * l
            }
            Solver::Krylov | Solver::Auto => basis(features) + product,
        }
    }

    /// The last pass: norms, sines and scores of all samples, and variances and cutoffs from them.
    fn measuring(&self) -> u64 {
        let (n, d) = (self.shape.samples as u64, self.d() as u64);
        // The size of a random subsample varies by a few standard deviations.
        let scores = F64 * (SCALE_SCORES as u64 + (8 << 10)).min(n * d);
        let held = self.weights() * n + n;
        held + 2 * F64 * n + scores + (F64 * n).max(scores) + F64 * self.shape.features as u64 * (d + 8)
    }

    /// Scales of features, by medians of the samples and of their deviations, which are copies.
    fn scaling(&self) -> u64 {
        let (features, threads) = (self.shape.features as u64, self.threads as u64);
        if !config_changes(self.config) {
            return 0;
        }
        let block = Grid::new(self.shape.samples, self.shape.features, 0).block_rows().min(self.shape.samples) as u64;
        let copies = threads * (block * features * self.changed().bytes() as u64 + F64 * features);
        self.source_bytes + copies + self.live((median::SLAB_BYTES as u64).min(2048 * features)) + 48 * features
    }
}
