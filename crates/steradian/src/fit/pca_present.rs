//! Classical PCA of data with missing cells: least squares on the numbers that are present.
//!
//! Every pass replaces missing cells by their expected values under the current subspace and takes mean and leading eigenvectors of the
//! completed rows (EM for probabilistic PCA, Tipping and Bishop 1999); it starts from the PCA of the data with means in place of missing
//! cells. The last eigenproblem, with expected values frozen, has a certificate. All rows have weight 1.

use std::borrow::Cow;

use super::assemble::Embedding;
use super::robust::{
    EXTRA_COLUMNS, FitState, LastProblem, SCATTER_FEATURES, calibrated, embedding, last_eigenproblem, leading_of,
    maximum, not_converged, report_of,
};
use super::stages::embed;
use crate::cellwise::RowModel;
use crate::center::Finite;
use crate::config::Config;
use crate::config::options::{Missing, Solver};
use crate::data::row_map::RowMap;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{MomentProduct, RobustMoments, RowWeighting};
use crate::memory;
use crate::numeric::orthonormal::widen;
use crate::search::Sample;
use crate::search::leading::turn;

/// Passes at most, and the turn of the components at which they end.
const MAX_PASSES: usize = 200;
const SETTLED: f64 = 1e-6;

/// Fits `d` components to data of which some cells are missing.
pub(super) fn fit_present<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let source = data.source;
    let (n, features) = (source.shape().samples, source.shape().features);
    let Some(mean) = &data.mean else {
        return Err(Error::invalid_data("column sums overflow f64; scale the data to below 1e300 in magnitude"));
    };
    let filled = MappedSource::new(source, RowMap::Fill(Cow::Borrowed(mean)));
    let inner = Config { missing: Missing::Error, ..config.clone() };
    let first = embed(&inner, d, solver, &data.filled_view(&filled), runner)?;
    let variances = memory::copied(&first.diagnostics.explained_variance);
    let outside = first.diagnostics.total_variance.unwrap_or(0.0) - variances.iter().sum::<f64>();
    let sample = Sample::draw(source, config.seed)?;
    let mut state = FitState {
        basis: first.subspace.components.transposed(),
        model: RowModel {
            center: first.subspace.center,
            components: first.subspace.components,
            noise: (outside / (features - d).max(1) as f64).max(f64::MIN_POSITIVE),
            variances,
            limits: memory::filled(features, 1.0),
            location: memory::copied(&sample.stats.location),
            scale: memory::copied(&sample.stats.scale),
            cleans: false,
            scale_features: Vec::new(),
        },
        row_cutoff: f64::INFINITY,
        objective: Vec::new(),
    };
    if features > SCATTER_FEATURES {
        widen(&mut state.basis, d + EXTRA_COLUMNS)?;
    }
    for _ in 0..MAX_PASSES {
        let product = match features <= SCATTER_FEATURES {
            true => MomentProduct::Scatter,
            false => MomentProduct::Basis(Cow::Borrowed(&state.basis)),
        };
        let moments = runner.run(&RobustMoments::new(&state.model, RowWeighting::Uniform, product), source)?;
        let (values, vectors) = runner.compute(|| leading_of(&moments, &state.basis, features))?;
        let leading = vectors.first_columns(d);
        let turned = turn(&leading, &state.model.components.transposed());
        state.model = maximum(state.model, &leading, &values[..d], &moments);
        if features > SCATTER_FEATURES {
            state.basis = vectors;
        }
        if turned < SETTLED {
            break;
        }
    }
    let solver = if solver == Solver::Scatter { Solver::Scatter } else { Solver::Krylov };
    let problem = LastProblem { config, weighting: RowWeighting::Uniform, solver };
    let moments = problem.frozen_moments(&state, source, runner)?;
    let (certified, moments) = last_eigenproblem(&problem, &state, moments, data, runner)?;
    let mut model = maximum(state.model, &certified.vectors.first_columns(d), &certified.values[..d], &moments);
    // Variances of a sample, as without missing cells.
    let unbiased = n as f64 / (n - 1) as f64;
    model.variances.iter_mut().for_each(|variance| *variance *= unbiased);
    model.limits.fill(model.noise.sqrt());
    let chosen = sample.search_features();
    let stats = sample.stats.select(&chosen);
    let calibration = calibrated((&sample, &chosen, &stats), &model, f64::INFINITY, false, runner)?;
    let mut warnings = data.missing_warnings();
    if certified.sine_bound > config.tolerance {
        warnings.push(not_converged(config, &certified, d));
    }
    let report = report_of(&problem, &certified, moments.support, Vec::new(), warnings);
    Ok(embedding(model, calibration, 0.0, report))
}
