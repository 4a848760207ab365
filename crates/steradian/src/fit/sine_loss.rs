//! AE-1: the least sum of sines instead of squared sines, by a few reweighted decompositions.
//!
//! | symbol | here |
//! |---|---|
//! | theta_i, the angle of sample i to the subspace | `sines[i]` = sin theta_i |
//! | sum_i sin theta_i | [`objective`] |
//! | 1 / sqrt(max(sin theta_i, delta)) | [`factors`] |
//!
//! A step is the decomposition of sum_i u_i u_i' / sin theta_i with the angles of the step before (iteratively
//! reweighted least squares; Lerman and Maunu 2018 without the sphere). With sines below delta counted as
//! sin^2 / (2 delta) + delta / 2 the objective never rises. Cost: STEPS decompositions, each from where the last ended, and as
//! many passes for the angles.

use crate::memory::CollectReserved;

/// Steps.
pub(crate) const STEPS: usize = 5;
/// delta: sines below count as this, so that a sample on the subspace does not take all the weight.
const LEAST_SINE: f64 = 1e-6;

/// The objective that the steps minimize, over the active samples.
pub(crate) fn objective(sines: &[f64], lengths: &[f64], support: Option<&[bool]>) -> f64 {
    let active = |i: usize| lengths[i] > 0.0 && support.is_none_or(|support| support[i]);
    let smoothed = |sine: f64| {
        if sine >= LEAST_SINE { sine } else { sine * sine / (2.0 * LEAST_SINE) + LEAST_SINE / 2.0 }
    };
    sines.iter().enumerate().filter(|(i, _)| active(*i)).map(|(_, sine)| smoothed(*sine)).sum()
}

/// The factor of each sample's weight in the next step.
pub(crate) fn factors(sines: &[f64]) -> Vec<f64> {
    sines.iter().map(|sine| 1.0 / sine.max(LEAST_SINE).sqrt()).collect_reserved()
}
