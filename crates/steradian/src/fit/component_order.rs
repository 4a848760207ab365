//! The order of the components: by angular eigenvalue, or by robust variance among more candidates.
//!
//! Samples on a line give the direction of the line a large eigenvalue on the sphere, also where they are fewer than half and
//! most samples vary little along it. So eigenvectors beyond the first d are computed, too, and the d of the largest robust
//! variance are the components.
//!
//! | symbol | here |
//! |---|---|
//! | m >= d candidates, eigenvalues theta_i | [`CANDIDATES`] more than d, fewer where the rank is lower |
//! | b, sine bound of all candidates; R, largest residual | certificate of the candidates |
//! | S, the d components | `chosen` |
//!
//! The part of component i outside of the exact subspace of S lies outside of the candidates, which b bounds for all of S
//! together, or in the exact subspace of the other candidates, where it is at most R / g_i, g_i = min over j not in S of
//! abs(theta_i - theta_j) - R. These parts are orthogonal, so the sine bound of S is sqrt(b^2 + sum_i (R / g_i)^2).
//! Cost: one pass more than the candidates.

use super::assemble::{Embedding, Solved, measure};
use super::stages;
use crate::center::Finite;
use crate::config::Config;
use crate::config::options::{ComponentOrder, Solver};
use crate::config::screen::Screen;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Certificate, FitReport};
use crate::numeric::linalg::Matrix;

/// Fits `d` components, in the order of the configuration, to all samples of a source.
pub(super) fn embed<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    if config.order == ComponentOrder::Angular {
        return stages::embed(config, d, solver, data, runner);
    }
    let candidates = candidates(config, d, solver, data, runner)?;
    let variances = &candidates.diagnostics.explained_variance;
    let mut chosen: Vec<usize> = (0..variances.len()).collect();
    chosen.sort_by(|&a, &b| variances[b].total_cmp(&variances[a]).then(a.cmp(&b)));
    chosen.truncate(d);
    choose(config, candidates, &chosen, data, runner)
}

/// The embedding of more components than `d`, as many as the rank of the data allows.
fn candidates<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let mut most = config.order.candidates(d, data.source.shape());
    loop {
        match stages::embed(config, most, solver, data, runner) {
            Err(Error::RankTooSmall { rank, .. }) if (d..most).contains(&rank) => most = rank,
            Err(Error::RankTooSmall { rank, of, .. }) => return Err(Error::RankTooSmall { n_components: d, rank, of }),
            candidates => return candidates,
        }
    }
}

/// The embedding of some of the candidates, in this order.
fn choose<R: Runner>(
    config: &Config,
    candidates: Embedding,
    chosen: &[usize],
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let Embedding { subspace, report, .. } = candidates;
    let features = subspace.center.len();
    let mut vectors = Matrix::zeros(features, chosen.len());
    for (column, &candidate) in chosen.iter().enumerate() {
        let component = subspace.components.row(candidate);
        component.iter().enumerate().for_each(|(feature, x)| vectors[(feature, column)] = *x);
    }
    let values = subspace.angular_eigenvalues.unwrap_or_default();
    let certificate = certificate(&report.certificate, &values, chosen, config.tolerance);
    let mut warnings = report.warnings;
    if report.certificate.converged && !certificate.converged {
        warnings.push(format!(
            "not converged: sine bound {:.1e} > tolerance {:.1e}; eigenvalues of components and of other candidates are nearly \
             equal: increase the tolerance or change the number of components",
            certificate.sine_bound, config.tolerance
        ));
    }
    let screened = (config.screen != Screen::None).then(|| memory::copied(&report.support));
    let measured = measure(config, &subspace.center, &vectors, screened.as_deref(), data.source, runner)?;
    let eigenvalues = Some(chosen.iter().map(|&candidate| values[candidate]).collect());
    let solved = Solved { center: subspace.center, vectors, eigenvalues, screened };
    Ok(Embedding::new(config, solved, measured, FitReport { certificate, warnings, ..report }))
}

/// The certificate of some candidates, given that of all and their eigenvalues.
fn certificate(all: &Certificate, values: &[f64], chosen: &[usize], tolerance: f64) -> Certificate {
    let residual = all.residual * values.first().copied().unwrap_or(0.0);
    let others = || (0..values.len()).filter(|candidate| !chosen.contains(candidate));
    let inside = |&i: &usize| {
        let gap = others().map(|j| (values[i] - values[j]).abs()).fold(f64::INFINITY, f64::min) - residual;
        if gap > 0.0 { residual / gap } else { 1.0 }
    };
    let square = chosen.iter().map(inside).map(|sine| sine * sine).sum::<f64>() + all.sine_bound.powi(2);
    let sine_bound = square.sqrt().min(1.0);
    Certificate { residual: all.residual, sine_bound, converged: sine_bound <= tolerance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_grows_where_eigenvalues_are_near_those_of_other_candidates() {
        let all = Certificate { residual: 1e-9, sine_bound: 1e-8, converged: true };
        let values = [0.5, 0.3, 0.1, 0.1 - 1e-6];
        let of = |chosen: &[usize]| certificate(&all, &values, chosen, 1e-6);
        assert!(of(&[0, 1]).converged && of(&[0, 1]).sine_bound < 1.1e-8 && of(&[0, 1]).sine_bound >= 1e-8);
        assert!(!of(&[0, 2]).converged && of(&[0, 2]).sine_bound > 4e-4);
        // Without other candidates the bound is that of all.
        assert_eq!(of(&[3, 2, 1, 0]).sine_bound, 1e-8);
        let coarse = Certificate { residual: 1e-3, ..all };
        assert_eq!(certificate(&coarse, &values, &[2], 1e-6).sine_bound, 1.0);
    }
}
