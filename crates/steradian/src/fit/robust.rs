//! The fit of `robust`, `cells` and `rows`: a search on a sample in memory, passes over all rows, a certified eigenproblem, cutoffs.
//!
//! | stage | reads | keeps |
//! |---|---|---|
//! | sample | at most 1500 rows | the rows in their element type |
//! | search | the sample, at most 2048 features | 8 bytes per cell, for each candidate |
//! | extension, if features were left out | the sample | d + 4 numbers per feature |
//! | passes, if rows or features were left out | all rows, at most 4 times | sums of D x D or D x l |
//! | last eigenproblem: model, weights and expected values frozen | all rows, once per application | a Krylov basis, or D x D |
//! | calibration | the sample | residuals of the sample |

use std::borrow::Cow;

use super::assemble::{Embedding, require_finite, signed_rows};
use super::component_count::ComponentChoice;
use crate::cellwise::features::TINY;
use crate::cellwise::student::kappa;
use crate::cellwise::{CellState, FeatureStats, RowModel, RowStep};
use crate::center::Finite;
use crate::config::Config;
use crate::config::options::Solver;
use crate::config::screen::Screen;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{MomentProduct, RepairedProduct, RepairedRow, RobustMoments, RowMoments, RowWeighting};
use crate::model::{Cellwise, Certificate, Diagnostics, FitReport, Subspace};
use crate::numeric::linalg::{Matrix, product, symmetric_eigen, tall_inner};
use crate::numeric::orthonormal::{orthonormalize_in_order, widen};
use crate::search::calibration::{Calibration, calibrate, resolution_floor};
use crate::search::candidate::SearchOptions;
use crate::search::component_count::count_components;
use crate::search::concentration::kept_limit;
use crate::search::extension::extend;
use crate::search::leading::turn;
use crate::search::tables::compare;
use crate::search::tails::freedom_of_rows;
use crate::search::{Candidate, Sample, majority, search};
use crate::solver::certificate::{Certified, certify, certify_to};
use crate::solver::operator::{Dense, Operator};
use crate::solver::{dense, krylov};

/// Features up to which a pass sums the D x D matrix.
pub(crate) const SCATTER_FEATURES: usize = 512;
/// Columns of the block iteration of the passes beyond the components.
pub(crate) const EXTRA_COLUMNS: usize = 4;
/// Passes at most, and the turn of the components at which they end: of the next model only the weights of the rows would
/// differ, since the last eigenproblem gives the components for those of this one.
pub(crate) const MAX_PASSES: usize = 4;
const SETTLED: f64 = 0.03;
/// Numbers that repair the rows again, which are kept for the last eigenproblem, at most.
pub(super) const KEPT_NUMBERS: usize = 1 << 23;
/// Relative rise of the objective that is rounding.
const RISE: f64 = 1e-9;
/// Share of a feature's cells that are bad, from which on it is named in a warning.
const MANY_BAD: f64 = 0.2;
/// Features that a warning names.
const NAMED: usize = 5;

/// A model of all features, with what the passes need.
pub(super) struct FitState {
    pub model: RowModel,
    pub row_cutoff: f64,
    /// Columns from which the next eigenproblem starts.
    pub basis: Matrix,
    pub objective: Vec<f64>,
}

/// Fits `d` components to all samples of a source.
pub(super) fn fit_robust<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let source = data.source;
    let (n, features) = (source.shape().samples, source.shape().features);
    let sample = Sample::draw(source, config.seed)?;
    let mut warnings = data.missing_warnings();
    warnings.extend(feature_warnings(&sample.stats, source));
    let chosen = sample.search_features();
    let stats = sample.stats.select(&chosen);
    require_variation(&sample, &chosen)?;
    let table = sample.table(&chosen)?;
    runner.check_cancelled()?;
    let all_rows = sample.rows.len() == n;
    let all_features = chosen.len() == features;
    let options = search_options(config, d, all_rows && all_features);
    let candidate = runner.compute(|| search(&table, &stats, options))?;
    check_support(&candidate, d, n)?;
    warnings.extend(bad_cell_warning(&candidate, &chosen, source));
    let mut state = if all_features {
        FitState {
            row_cutoff: candidate.row_cutoff,
            basis: candidate.basis.clone(),
            objective: candidate.objective.clone(),
            model: candidate.model.clone(),
        }
    } else {
        let model = runner.compute(|| extend(&sample, &candidate))?;
        extended(model, &sample, config.skew)?
    };
    let nu = runner.compute(|| freedom_of_rows(&table, &candidate));
    drop(table);
    let weighting = RowWeighting::Student { kappa: kappa(n, features, d), nu, row_cutoff: state.row_cutoff };
    let problem = LastProblem { config, weighting, solver };
    let moments = if all_rows && all_features {
        problem.frozen_moments(&state, source, runner)?
    } else {
        state.objective.clear();
        run_passes(&problem, &mut state, source, runner)?
    };
    let (certified, moments) = last_eigenproblem(&problem, &state, moments, data, runner)?;
    let frozen_cutoff = state.row_cutoff;
    let mut model = maximum(state.model, &certified.vectors.first_columns(d), &certified.values[..d], &moments);
    drop_rounding(&mut model.components, &sample.stats);
    require_finite(&model.center, &model.components)?;
    check_rank(&certified, d, n, features)?;
    let calibration = calibrated((&sample, &chosen, &stats), &model, frozen_cutoff, config.skew, runner)?;
    warnings.extend(exact_fit_warning(&model, &sample.stats, moments.rows, n));
    let converged = certified.sine_bound <= config.tolerance;
    if !converged {
        warnings.push(not_converged(config, &certified, d));
    }
    let report = report_of(&problem, &certified, moments.support, state.objective, warnings);
    let bad_fraction = moments.bad as f64 / (moments.rows as f64 * features as f64);
    Ok(embedding(model, calibration, bad_fraction, report))
}

/// The report of a fit with a certified eigenproblem.
pub(super) fn report_of(
    problem: &LastProblem<'_>,
    certified: &Certified,
    support: Vec<bool>,
    objective: Vec<f64>,
    warnings: Vec<String>,
) -> FitReport {
    let converged = certified.sine_bound <= problem.config.tolerance;
    FitReport {
        solver: problem.solver,
        support,
        objective,
        certificate: Certificate { residual: certified.residual, sine_bound: certified.sine_bound, converged },
        warnings,
        ..FitReport::default()
    }
}

/// The number of components of checked data, and the reason for it.
pub(super) fn count<R: Runner>(config: &Config, data: &Finite<'_>, runner: &R) -> Result<ComponentChoice> {
    let sample = Sample::draw(data.source, config.seed)?;
    let chosen = sample.search_features();
    require_variation(&sample, &chosen)?;
    let stats = sample.stats.select(&chosen);
    let table = sample.table(&chosen)?;
    let options = search_options(config, 1, true);
    let (components, reason) = runner.compute(|| count_components(&table, &stats, options))?;
    Ok(ComponentChoice { components, reason })
}

fn require_variation(sample: &Sample, chosen: &[usize]) -> Result<()> {
    if chosen.iter().all(|&j| sample.stats.constant[j]) {
        return Err(Error::invalid_data(format!(
            "no feature has two different values in {} rows; use data that vary",
            sample.rows.len()
        )));
    }
    Ok(())
}

/// Loadings of 0 for features with one value or without a number, where they are rounding.
fn drop_rounding(components: &mut Matrix, stats: &FeatureStats) {
    for k in 0..components.rows() {
        let loadings = components.row_mut(k).iter_mut().zip(&stats.constant);
        loadings.filter(|(q, constant)| **constant && q.abs() < f64::EPSILON).for_each(|(q, _)| *q = 0.0);
    }
}

/// The search of a configuration; `is_final` if no pass follows it.
fn search_options(config: &Config, d: usize, is_final: bool) -> SearchOptions {
    SearchOptions { d, cells: config.cells, skew: config.skew, pairs: directions(config), seed: config.seed, is_final }
}

/// The number of directions through pairs: at least that of the configuration, more for small tables.
pub(super) fn directions(config: &Config) -> Option<usize> {
    match &config.screen {
        Screen::Outlyingness(screen) => Some(screen.n_directions),
        _ => None,
    }
}

fn check_support(candidate: &Candidate, d: usize, n: usize) -> Result<()> {
    let kept = candidate.kept.iter().filter(|kept| **kept).count();
    if kept < d + 2 {
        return Err(Error::invalid_data(format!(
            "{kept} of {n} rows have enough usable cells for {d} components; use fewer components or rows with fewer missing cells"
        )));
    }
    Ok(())
}

fn check_rank(certified: &Certified, d: usize, n: usize, features: usize) -> Result<()> {
    let largest = certified.values.first().copied().unwrap_or(0.0);
    let limit = n.max(features) as f64 * f64::EPSILON * largest;
    let rank = certified.values.iter().filter(|value| **value > limit).count();
    if rank < d {
        return Err(Error::RankTooSmall { n_components: d, rank, of: "the centered data" });
    }
    Ok(())
}

pub(super) fn not_converged(config: &Config, certified: &Certified, d: usize) -> String {
    let (inside, outside) = (certified.values[d - 1], certified.values.get(d).copied().unwrap_or(0.0));
    format!(
        "not converged: sine bound {:.1e} > tolerance {:.1e}; eigenvalues {d} and {} ({inside:.4e}, {outside:.4e}) differ by {:.1} %: \
         increase the tolerance or change the number of components",
        certified.sine_bound,
        config.tolerance,
        d + 1,
        100.0 * (inside - outside) / inside
    )
}

/// A warning about features with one value.
fn feature_warnings(stats: &FeatureStats, source: &dyn Source) -> Option<String> {
    let constant: Vec<usize> = (0..stats.counts.len()).filter(|&j| stats.counts[j] > 0 && stats.constant[j]).collect();
    (!constant.is_empty()).then(|| format!("features with one value have loadings of 0: {}", named(&constant, source)))
}

/// A warning about features of which many cells are bad, which then describe few rows.
fn bad_cell_warning(candidate: &Candidate, chosen: &[usize], source: &dyn Source) -> Option<String> {
    let mut bad = vec![0usize; chosen.len()];
    let rows = candidate.cells.chunks_exact(chosen.len()).zip(&candidate.kept).filter(|(_, kept)| **kept);
    for (cells, _) in rows {
        let states = bad.iter_mut().zip(cells).filter(|(_, state)| **state == CellState::Bad);
        states.for_each(|(count, _)| *count += 1);
    }
    let kept = candidate.kept.iter().filter(|kept| **kept).count() as f64;
    let many: Vec<usize> =
        bad.iter().zip(chosen).filter(|(count, _)| **count as f64 > MANY_BAD * kept).map(|(_, &j)| j).collect();
    (!many.is_empty()).then(|| {
        format!("more than {:.0} % of the cells are bad in these features: {}", 100.0 * MANY_BAD, named(&many, source))
    })
}

/// The warning of an exact fit: residuals of the kept samples are rounding, so every other sample is an outlier.
fn exact_fit_warning(model: &RowModel, stats: &FeatureStats, kept: u64, n: usize) -> Option<String> {
    let (d, outside) = (model.n_components(), model.n_features() - model.n_components());
    let off = n as u64 - kept;
    let is_exact = outside > 0 && (model.noise * outside as f64).sqrt() <= stats.row_rounding();
    (is_exact && off > 0).then(|| {
        format!(
            "{off} samples are outliers however small their distances are: the other {kept} of {n} lie on a subspace of {d} dimensions"
        )
    })
}

/// The first of some features by name.
fn named(features: &[usize], source: &dyn Source) -> String {
    let name = |j: &usize| source.feature_name(*j).unwrap_or_else(|| j.to_string());
    let text = features.iter().take(NAMED).map(name).collect::<Vec<_>>().join(", ");
    match features.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// The state of a model of all features.
fn extended(model: RowModel, sample: &Sample, skew: bool) -> Result<FitState> {
    let block = sample.block()?;
    let step = RowStep::new(&model);
    let states = crate::search::tables::compare_scores(&block, &step).0;
    let usable: Vec<f64> = states.iter().filter(|row| !row.unusable).map(|row| row.distance).collect();
    let d = model.n_components();
    let h = majority(usable.len(), d);
    let floor = resolution_floor(&model.components, &sample.stats.resolution).max(sample.stats.row_rounding());
    let row_cutoff = if usable.len() > d + 2 { kept_limit(&usable, h, skew, floor) } else { f64::INFINITY };
    let basis = model.components.transposed();
    Ok(FitState { model, row_cutoff, basis, objective: Vec::new() })
}

/// Student steps over all rows, one per pass, until the components rest; returns the moments under the last model.
fn run_passes<R: Runner>(
    problem: &LastProblem<'_>,
    state: &mut FitState,
    source: &dyn Source,
    runner: &R,
) -> Result<RowMoments> {
    let features = state.model.n_features();
    let d = state.model.n_components();
    let by_scatter = features <= SCATTER_FEATURES;
    if !by_scatter {
        state.basis = state.basis.first_columns(state.basis.columns().min(d + EXTRA_COLUMNS));
        widen(&mut state.basis, d + EXTRA_COLUMNS)?;
    }
    for pass in 1.. {
        let product =
            if by_scatter { MomentProduct::Scatter } else { MomentProduct::Basis(Cow::Borrowed(&state.basis)) };
        let moments = problem.moments(state, product, source, runner)?;
        let objective = moments.objective / moments.rows as f64;
        if state.objective.last().is_some_and(|last| objective > last + RISE * objective.abs()) {
            return Ok(moments);
        }
        state.objective.push(objective);
        let (values, vectors) = runner.compute(|| leading_of(&moments, &state.basis, features))?;
        let turned = turn(&vectors.first_columns(d), &state.model.components.transposed());
        if !by_scatter {
            state.basis = vectors.clone();
        }
        if turned < SETTLED || pass == MAX_PASSES {
            return Ok(moments);
        }
        state.model = maximum(state.model.clone(), &vectors.first_columns(d), &values[..d], &moments);
    }
    unreachable!("the last pass returns")
}

fn require_rows(moments: &RowMoments, d: usize, source: &dyn Source) -> Result<()> {
    if moments.rows < d as u64 + 2 {
        return Err(Error::invalid_data(format!(
            "{} of {} rows have enough usable cells near a subspace of {d} components; use fewer components",
            moments.rows,
            source.shape().samples
        )));
    }
    Ok(())
}

/// The shift of the center and the sum of the weights.
fn shift(moments: &RowMoments) -> Vec<f64> {
    moments.sum.iter().map(|x| x / moments.weight).collect()
}

/// Eigenvalues of the weighted scatter, largest first, and vectors: exact for a D x D matrix, one step of block iteration otherwise.
pub(super) fn leading_of(moments: &RowMoments, basis: &Matrix, features: usize) -> Result<(Vec<f64>, Matrix)> {
    if moments.product.columns() == features {
        return symmetric_eigen(&centered_scatter(moments, &shift(moments)));
    }
    let image = centered_product(moments.product.clone(), moments, basis);
    let inner = tall_inner(basis, &image);
    let (values, rotation) = symmetric_eigen(&crate::solver::certificate::symmetric_part(&inner))?;
    let mut vectors = product(&image, &rotation);
    orthonormalize_in_order(&mut vectors);
    Ok((values, vectors))
}

fn centered_scatter(moments: &RowMoments, shift: &[f64]) -> Matrix {
    let mut scatter = moments.product.clone();
    for (i, a) in shift.iter().enumerate() {
        scatter.row_mut(i).iter_mut().zip(shift).for_each(|(x, b)| *x -= moments.weight * a * b);
    }
    scatter
}

/// sum w (z - c)(z - c)'V from sum w z (z'V).
fn centered_product(mut image: Matrix, moments: &RowMoments, basis: &Matrix) -> Matrix {
    let (l, shift) = (basis.columns(), shift(moments));
    let mut along = vec![0.0; l];
    for (row, c) in basis.data().chunks_exact(l).zip(&shift) {
        along.iter_mut().zip(row).for_each(|(sum, v)| *sum += c * v);
    }
    for (row, c) in image.data_mut().chunks_exact_mut(l).zip(&shift) {
        row.iter_mut().zip(&along).for_each(|(x, a)| *x -= moments.weight * c * a);
    }
    image
}

/// The maximization step: center, components, variances and noise.
pub(super) fn maximum(mut model: RowModel, vectors: &Matrix, values: &[f64], moments: &RowMoments) -> RowModel {
    let shift = shift(moments);
    let total = moments.square - moments.weight * shift.iter().map(|c| c * c).sum::<f64>();
    let inside: f64 = values.iter().sum();
    model.center.iter_mut().zip(&shift).for_each(|(x, c)| *x += c);
    model.components = signed_rows(vectors);
    model.variances = values.iter().map(|value| value.max(0.0) / moments.rows as f64).collect();
    model.noise = ((total - inside) / moments.freedom.max(1.0)).max(TINY);
    model
}

/// The operator of the repaired rows under a frozen model, over the sum of their weights.
struct RepairedRows<'a, R> {
    state: &'a FitState,
    weighting: RowWeighting,
    /// Moments of the first pass, which also list what repairs the rows again unless there are too many.
    moments: &'a RowMoments,
    source: &'a dyn Source,
    runner: &'a R,
}

/// True if what repairs each row again is kept in memory: rows in this process, and not too many.
fn keeps_rows(samples: usize, d: usize, in_process: bool) -> bool {
    in_process && samples.saturating_mul(RepairedRow::numbers(d)) <= KEPT_NUMBERS
}

impl<R: Runner> Operator for RepairedRows<'_, R> {
    fn dimension(&self) -> usize {
        self.state.model.n_features()
    }

    fn apply(&self, w: &Matrix) -> Result<Matrix> {
        let model = &self.state.model;
        let product = if self.moments.repaired.is_empty() {
            let product = MomentProduct::Basis(Cow::Borrowed(w));
            self.runner.run(&RobustMoments::new(model, self.weighting, product), self.source)?.product
        } else {
            self.runner.run(&RepairedProduct::new(model, &self.moments.repaired, w), self.source)?
        };
        let mut image = centered_product(product, self.moments, w);
        image.data_mut().iter_mut().for_each(|x| *x /= self.moments.weight);
        Ok(image)
    }
}

/// The last eigenproblem of a fit.
pub(super) struct LastProblem<'a> {
    pub config: &'a Config,
    pub weighting: RowWeighting,
    pub solver: Solver,
}

impl LastProblem<'_> {
    /// The moments of one pass under a model, with what the eigenproblem needs beside the product.
    fn moments<R: Runner>(
        &self,
        state: &FitState,
        product: MomentProduct<'_>,
        source: &dyn Source,
        runner: &R,
    ) -> Result<RowMoments> {
        let d = state.model.n_components();
        let pass = RobustMoments::new(&state.model, self.weighting, product).with_support();
        let keeps = self.solver != Solver::Scatter && keeps_rows(source.shape().samples, d, runner.supports_pairs());
        let moments = runner.run(&if keeps { pass.with_rows() } else { pass }, source)?;
        require_rows(&moments, d, source)?;
        Ok(moments)
    }

    /// The moments under a model that no pass led to.
    pub(super) fn frozen_moments<R: Runner>(
        &self,
        state: &FitState,
        source: &dyn Source,
        runner: &R,
    ) -> Result<RowMoments> {
        let product = if self.solver == Solver::Scatter { MomentProduct::Scatter } else { MomentProduct::None };
        self.moments(state, product, source, runner)
    }
}

/// The eigenproblem of the repaired rows with everything but the subspace frozen, from the moments under the model, and its
/// certificate. The eigenvalues are those of the sum over rows.
pub(super) fn last_eigenproblem<R: Runner>(
    &LastProblem { config, weighting, solver }: &LastProblem<'_>,
    state: &FitState,
    mut moments: RowMoments,
    data: &Finite<'_>,
    runner: &R,
) -> Result<(Certified, RowMoments)> {
    let source = data.source;
    if solver != Solver::Scatter {
        // The product of a pass with its own columns, which nothing reads here, would be held beside the Krylov basis.
        moments.product = Matrix::zeros(0, 0);
    }
    let d = state.model.n_components();
    let seed = data.start_seed(config.seed);
    let mut certified = if solver == Solver::Scatter {
        let mut matrix = centered_scatter(&moments, &shift(&moments));
        matrix.data_mut().iter_mut().for_each(|x| *x /= moments.weight);
        let vectors = dense::top_vectors(&matrix, d, config.tolerance, seed, runner)?;
        certify(&Dense { matrix: &matrix, runner }, vectors, d, runner)?
    } else {
        let operator = RepairedRows { state, weighting, moments: &moments, source, runner };
        let target = (0.5 * config.tolerance, krylov::Purpose::Certified);
        let vectors = krylov::top_vectors(&operator, Some(&state.basis), (d, d + 1), target, seed, runner)?;
        certify_to(config.tolerance, &operator, vectors, d, runner)?
    };
    let centered = moments.square / moments.weight - shift(&moments).iter().map(|c| c * c).sum::<f64>();
    certified.compare_with_trace(centered, moments.rows as usize, d);
    certified.values.iter_mut().for_each(|value| *value *= moments.weight);
    Ok((certified, moments))
}

/// Cutoffs and scales of cells from the sample. Of many features only those of the search are calibrated on rows left out; the
/// others take the median ratio of their scales.
pub(super) fn calibrated<R: Runner>(
    (sample, chosen, stats): (&Sample, &[usize], &FeatureStats),
    model: &RowModel,
    row_cutoff: f64,
    skew: bool,
    runner: &R,
) -> Result<Calibration> {
    let all_features = chosen.len() == model.n_features();
    let own = if all_features { Cow::Borrowed(model) } else { Cow::Owned(restricted(model, chosen)?) };
    let table = sample.table(chosen)?;
    runner.compute(|| {
        let states = compare(&table, &RowStep::new(&own));
        let cutoff = if all_features {
            row_cutoff
        } else {
            let usable: Vec<f64> = states.rows.iter().filter(|row| !row.unusable).map(|row| row.distance).collect();
            let (h, d) = (majority(usable.len(), own.n_components()), own.n_components());
            let floor = resolution_floor(&own.components, &stats.resolution).max(stats.row_rounding());
            if usable.len() > d + 2 { kept_limit(&usable, h, skew, floor) } else { f64::INFINITY }
        };
        let kept = states.rows.iter().map(|row| !row.unusable && row.distance <= cutoff).collect();
        let basis = own.components.transposed();
        let candidate = Candidate {
            model: own.into_owned(),
            scores: states.scores,
            kept,
            cells: states.cells,
            row_cutoff: cutoff,
            basis,
            objective: Vec::new(),
        };
        let calibration = calibrate(&table, stats, &candidate, skew)?;
        if all_features {
            return Ok(calibration);
        }
        crate::search::calibration::extend(calibration, sample, model, row_cutoff, chosen, skew)
    })
}

/// The model of some features, with orthonormal components.
fn restricted(model: &RowModel, features: &[usize]) -> Result<RowModel> {
    let pick = |values: &[f64]| features.iter().map(|&j| values[j]).collect::<Vec<f64>>();
    let d = model.n_components();
    let mut columns = Matrix::zeros(features.len(), d);
    for (place, &j) in features.iter().enumerate() {
        (0..d).for_each(|k| columns[(place, k)] = model.components[(k, j)]);
    }
    // The scores of the chosen features are those of all, up to the share of each component that they have.
    let gram = tall_inner(&columns, &columns);
    let shares: Vec<f64> = (0..d).map(|k| gram[(k, k)]).collect();
    orthonormalize_in_order(&mut columns);
    let scale = pick(&model.scale);
    Ok(RowModel {
        center: pick(&model.center),
        components: columns.transposed(),
        variances: model.variances.iter().zip(&shares).map(|(v, share)| v * share).collect(),
        noise: model.noise,
        limits: pick(&model.limits),
        location: pick(&model.location),
        scale_features: crate::cellwise::row_model::scale_features(&scale),
        scale,
        cleans: model.cleans,
    })
}

pub(super) fn embedding(model: RowModel, calibration: Calibration, bad_fraction: f64, report: FitReport) -> Embedding {
    let (features, d) = (model.n_features(), model.n_components());
    let inside: f64 = model.variances.iter().sum();
    let total = inside + (features - d) as f64 * model.noise;
    Embedding {
        subspace: Subspace {
            center: model.center.clone(),
            scale: None,
            components: model.components.clone(),
            angular_eigenvalues: None,
        },
        diagnostics: Diagnostics {
            explained_variance: model.variances.clone(),
            total_variance: Some(total),
            cutoffs: calibration.cutoffs,
            cells: None,
            cellwise: Some(Cellwise {
                rows: model,
                score_center: calibration.score_center,
                score_variances: calibration.score_variances,
                cutoffs_new: calibration.cutoffs_new,
                cell_scales: calibration.cell_scales,
                cell_scales_new: calibration.cell_scales_new,
                bad_fraction,
            }),
        },
        report,
    }
}
