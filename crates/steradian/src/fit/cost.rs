//! The cost model: operations and passes of each step of a fit.
//!
//! The cost model counts operations and weighs each kind by the time it takes, relative to one of a square product in
//! single precision. [Decision 15](../../../docs/decisions/15-cost-model.md) has the measurements.
//!
//! | work | operations | weight |
//! |---|---|---|
//! | Gram matrix, u8, center within the matrix | n^2 D | [`GRAM_U8`] |
//! | Gram matrix in f64 | n^2 D | [`GRAM_F64`] |
//! | exact pivot search without the Gram matrix | n^2 D | [`CONE_PAIRS`] |
//! | pivot search by elimination | 2 n m D, m anchors | [`CONE_PAIRS`] |
//! | scatter matrix | n D^2 | [`SCATTER`] |
//! | pass of l vectors | 4 n D l | [`BLOCK_PASS`], twice that for f64 data |
//! | full eigenproblem | 10 N^3 | [`EIGEN`] |
//! | iterated eigenproblem, 24 products | 2 N^2 l each | [`EIGEN`] |
//!
//! Solvers whose matrices would not fit into memory are out. The choice is a function of shape, element type and
//! configuration: weights do not depend on the processor, and the memory that decides is that of [`DECIDING_THREADS`].

use super::route::{Route, robust_solver};
use crate::center::{median, spatial_median};
use crate::config::Config;
use crate::config::options::{Center, ComponentCount, Loss, Scaling, Solver, Weighting};
use crate::config::screen::{Angle, Screen};
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::engine::local::pair_bytes;
use crate::folds::{CONE_TILE_ROWS, TILE_ROWS};
use crate::kernel::int8::BYTE_TILE_ROWS;
use crate::screen::cone;
use crate::screen::outlyingness::{self, SPREAD_SAMPLES};
use crate::solver::dense::solves_fully;
use crate::solver::operator::Width;

/// Applications of the operator that the Krylov solver takes to its usual tolerance, its certificate apart.
const KRYLOV_PASSES: usize = 9;
/// The integer tile with its overhead: between 0.88 (AVX2) and 0.36 (AVX-512 VNNI). The choice of a solver must not depend on
/// the processor.
const GRAM_U8: f64 = 0.56;
/// Tiles in double precision, converted for each pair.
const GRAM_F64: f64 = 2.5;
/// Tiles in single precision with compare-and-count.
const CONE_PAIRS: f64 = 1.2;
/// Double precision, all of the square, converted on the way.
const SCATTER: f64 = 4.5;
/// Converting, narrow products, and the orthogonalisation that follows.
const BLOCK_PASS: f64 = 2.4;
/// Double precision, partly on one thread.
const EIGEN: f64 = 3.0;
/// Anchors for each sample that an elimination and its recount usually amount to.
const ELIMINATION_ANCHORS: f64 = 1024.0;
/// Passes of an elimination: two a round, and two for the recount; ties take more.
const ELIMINATION_PASSES: usize = 14;
/// The memory limit of matrices when no limit is given, in bytes.
const DEFAULT_MATRIX_BYTES: u64 = 1 << 30;
/// The number of threads of the memory estimate that decides on solvers and limits, so that the threads of a run do not
/// change the answer. With one the estimate is the least that any run takes.
pub(super) const DECIDING_THREADS: usize = 1;
/// One stage of a fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    /// The name of the stage.
    pub name: String,
    /// Passes over the data.
    pub passes: usize,
    /// Bytes of samples that they read.
    pub bytes: u64,
}

/// True if samples are transformed when they are read.
pub(super) fn config_changes(config: &Config) -> bool {
    config.scaling != Scaling::None
}

pub(super) struct Costs<'a> {
    pub(super) config: &'a Config,
    pub(super) shape: &'a Shape,
    pub(super) threads: usize,
    /// Memory of the source's buffers in bytes; 0 for zero-copy sources.
    pub(super) source_bytes: u64,
}

impl Costs<'_> {
    pub(super) fn width(&self) -> Width {
        Width::for_components(self.d(), self.shape.features)
    }

    pub(super) fn d(&self) -> usize {
        self.config.order.candidates(self.config.n_components.at_most(self.shape), self.shape)
    }

    /// True for the robust estimator, which has a plan of its own.
    pub(super) fn is_robust(&self) -> bool {
        self.config.loss == Loss::Student
    }

    /// The element type of the samples that a fit reads: scaled samples are floating-point numbers.
    pub(super) fn changed_or_own(&self) -> ElementType {
        if config_changes(self.config) { self.changed() } else { self.shape.element }
    }

    pub(super) fn has_cone(&self) -> bool {
        matches!(self.config.screen, Screen::Cone(_))
    }

    /// True if the pivot is found by elimination where there is no Gram matrix.
    pub(super) fn eliminates(&self) -> bool {
        matches!(&self.config.screen, Screen::Cone(cone) if cone::eliminates(cone, self.shape))
    }

    /// The solver of the least work among those that fit into memory; where none does, the one that comes nearest.
    pub(super) fn cheapest(&self, solvers: &[Solver]) -> Solver {
        if self.is_robust() {
            return robust_solver(self.shape);
        }
        let fits = |solver: Solver| match (self.config.memory_limit, solver) {
            (Some(limit), _) => self.memory(solver) <= limit,
            (None, Solver::Krylov) => true,
            (None, _) => self.memory(solver) <= DEFAULT_MATRIX_BYTES,
        };
        let fitting = solvers.iter().copied().filter(|&solver| fits(solver));
        fitting
            .min_by(|&a, &b| self.cost(a).total_cmp(&self.cost(b)))
            .unwrap_or_else(|| self.min_memory_solver(solvers))
    }

    pub(super) fn min_memory_solver(&self, solvers: &[Solver]) -> Solver {
        solvers.iter().copied().min_by_key(|&solver| self.memory(solver)).unwrap_or(Solver::Krylov)
    }

    /// True if the center is found within the exact integer Gram matrix.
    fn uses_integer_gram(&self) -> bool {
        self.shape.element == ElementType::U8 && matches!(self.config.center, Center::Mean | Center::SpatialMedian)
    }

    /// The route of the fit: scaled samples are floating-point numbers.
    pub(super) fn route(&self, solver: Solver) -> Route {
        let element = self.changed_or_own();
        Route::new(self.config, &Shape { element, ..self.shape.clone() }, solver)
    }

    fn cost(&self, solver: Solver) -> f64 {
        let (n, features, l) = (self.shape.samples as f64, self.shape.features as f64, self.width().0 as f64);
        let eigen = |dimension: f64| {
            let full = solves_fully(dimension as usize, self.d());
            EIGEN * if full { 10.0 * dimension.powi(3) } else { 24.0 * 2.0 * dimension * dimension * l }
        };
        let wide = if self.shape.element == ElementType::F64 { 2.0 } else { 1.0 };
        let pass = BLOCK_PASS * wide * 4.0 * n * features * l;
        let pairs = if self.uses_integer_gram() { GRAM_U8 } else { GRAM_F64 } * n * n * features;
        let cone = match (self.has_cone(), self.eliminates()) {
            (false, _) => 0.0,
            (true, false) => CONE_PAIRS * n * n * features,
            (true, true) => CONE_PAIRS * 2.0 * n * ELIMINATION_ANCHORS.min(n) * features,
        };
        match solver {
            Solver::Scatter => SCATTER * n * features * features + eigen(features) + cone,
            Solver::Gram => pairs + eigen(n) + 0.5 * pass,
            Solver::Krylov | Solver::Auto => {
                (KRYLOV_PASSES + 1) as f64 * pass + cone
            }
        }
    }

    /// The steps of the whole fit. A fraction of the variance takes at least two fits: one of many components, which proposes
    /// their number, and one that confirms it.
    pub(super) fn steps(&self, solver: Solver) -> Vec<PlanStep> {
        let fits = if matches!(self.config.n_components, ComponentCount::VarianceFraction(_)) { 2 } else { 1 };
        let mut steps = self.first_steps();
        steps.extend(self.fit_steps(solver).into_iter().map(|step| PlanStep {
            passes: fits * step.passes,
            bytes: fits as u64 * step.bytes,
            ..step
        }));
        steps
    }

    /// The steps before the first fit: the check of floating-point numbers, scales, and the check of scaled numbers.
    fn first_steps(&self) -> Vec<PlanStep> {
        let (shape, data) = (self.shape, self.shape.bytes());
        let mut steps = Vec::new();
        if shape.element.is_float() {
            steps.push(PlanStep { name: "mean and finite check".to_owned(), passes: 1, bytes: data });
        }
        if self.config.scaling == Scaling::Mad {
            let passes = median::passes(shape) + median::passes(&Shape { element: self.changed(), ..shape.clone() });
            let bytes = 2 * shape.element.bytes() as u64 * data;
            steps.push(PlanStep { name: "scales of features".to_owned(), passes, bytes });
            steps.push(PlanStep {
                name: "mean and finite check of scaled features".to_owned(),
                passes: 1,
                bytes: data,
            });
        }
        steps
    }

    fn fit_steps(&self, solver: Solver) -> Vec<PlanStep> {
        if self.is_robust() {
            return self.robust_steps(solver);
        }
        let (config, shape) = (self.config, self.shape);
        let data = shape.bytes();
        let pairs = |tile_rows| pair_bytes(shape.samples, tile_rows, (shape.features * shape.element.bytes()) as u64);
        let gram = solver == Solver::Gram;
        let float = shape.element.is_float();
        let mut steps = Vec::new();
        let mut step = |name: &str, passes: usize, bytes: u64| {
            if passes > 0 {
                steps.push(PlanStep { name: name.to_owned(), passes, bytes });
            }
        };
        let screened = matches!(config.screen, Screen::Outlyingness(_));
        let counted = config.n_components != ComponentCount::Auto;
        let plain = !screened && counted;
        if !plain {
            for (name, passes) in self.screened_passes(solver) {
                step(name, passes, passes as u64 * data);
            }
            return steps;
        }
        // The check has computed the mean of floating-point data.
        let unknown = !float && config.scaling == Scaling::None;
        step("mean", usize::from(unknown && config.center == Center::Mean), data);
        match config.center {
            Center::Median => {
                step("median of each feature", median::passes(shape), shape.element.bytes() as u64 * data);
            }
            Center::SpatialMedian if !gram => {
                let passes = spatial_median::EXPECTED_PASSES;
                step("spatial median", passes, passes as u64 * data);
            }
            _ => {}
        }
        let within_gram = self.route(solver) == (Route::Gram { center_within: true });
        if gram {
            let whole = within_gram && shape.element == ElementType::U8;
            step("Gram matrix", 1, pairs(if whole { BYTE_TILE_ROWS } else { TILE_ROWS }));
        }
        if within_gram && config.center == Center::SpatialMedian {
            let confirm = usize::from(float);
            step("center (from Gram matrix)", 1 + confirm, (1 + confirm) as u64 * data);
        }
        if let Screen::Cone(cone) = config.screen {
            if !gram {
                if cone.max_angle == Angle::Auto {
                    let groups = shape.samples.div_ceil(cone::group_size(shape.samples));
                    step("automatic max-angle", groups, groups as u64 * data);
                }
                if self.eliminates() {
                    step("pivot search (elimination)", ELIMINATION_PASSES, ELIMINATION_PASSES as u64 * data);
                } else {
                    step("pivot search (exact)", 1, pairs(CONE_TILE_ROWS));
                }
                step("support", 1, data);
            }
            step("recentering", usize::from(cone.recenter), data);
            if gram && (cone.recenter || config.weighting == Weighting::Uniform) {
                step("Gram matrix of the support", 1, pairs(TILE_ROWS));
            }
        }
        match solver {
            Solver::Scatter => step("scatter matrix", 1, data),
            Solver::Gram => step("components", 1, data),
            Solver::Krylov | Solver::Auto => {
                step("block Krylov and certificate", KRYLOV_PASSES + 1, (KRYLOV_PASSES as u64 + 1) * data);
            }
        }
        step("variances and cutoffs", usize::from(!within_gram || self.has_cone()), data);
        step("order of the components", usize::from(!config.order.is_default()), data);
        steps
    }

    /// Estimated passes of fits with an outlyingness screen or with parallel analysis.
    fn screened_passes(&self, solver: Solver) -> Vec<(&'static str, usize)> {
        let (config, shape) = (self.config, self.shape);
        let exact = if solver == Solver::Krylov { KRYLOV_PASSES + 1 } else { 1 };
        let center = match config.center {
            Center::SpatialMedian => spatial_median::EXPECTED_PASSES,
            Center::Median => median::passes(shape),
            Center::Mean => 1,
            Center::None | Center::Given(_) => 0,
        };
        let mut passes = Vec::new();
        if let Screen::Outlyingness(screen) = &config.screen {
            let repeats = if shape.samples > SPREAD_SAMPLES { 2 } else { 1 };
            passes.push(("outlyingness", repeats * outlyingness::passes(screen)));
        }
        passes.push(("center", center));
        passes.push(("fit and certificate", exact));
        passes.push(("variances and cutoffs", 1));
        if config.n_components == ComponentCount::Auto {
            passes.push(("number of components", 2 + 10 + 6 * exact));
        }
        passes
    }

    /// The element type of transformed samples.
    pub(super) fn changed(&self) -> ElementType {
        if self.shape.element.is_double() { ElementType::F64 } else { ElementType::F32 }
    }
}
