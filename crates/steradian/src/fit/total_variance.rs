//! The variances along the components and the total variance that they are fractions of: always of one kind.
//!
//! | kind | where | variance along a component | total variance |
//! |---|---|---|---|
//! | classical | eigenvectors with uniform weights and no screen (pca, empca) | eigenvalue of the covariance (n - 1) | sum over features of the variance (n - 1): the trace of the covariance |
//! | robust | all else | squared robust scale of the scores of the support | the sum of these, and the robust mean of OD^2 over the support |
//!
//! OD is the orthogonal distance. OD^(2/3) is close to normal for normal samples (Wilson and Hilferty 1931), and the
//! third moment of a normal variable with location m and scale s is m^3 + 3 m s^2; m and s are those of the bulk of the
//! support.
//!
//! The robust total is a sum along orthogonal directions because robust scales, unlike variances, do not add up over
//! features: the sum over features can be a small part of the variance along one component (for features that are equal in
//! most samples it is 0), and it depends on the axes. With the remainder measured apart, which is never negative, ratios lie
//! in [0, 1] and sum to at most 1; rotations of the data do not change them; and for normal samples the total is the trace of
//! the covariance for every number of components.
//!
//! Cost: none beyond the pass that measures distances and scores.

use crate::config::Config;
use crate::config::options::Weighting;
use crate::config::screen::Screen;
use crate::folds::SampleDistances;
use crate::memory::CollectReserved;
use crate::numeric::statistics::{bulk, robust_scale};

/// Variances along the components, and the total variance of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Explained {
    pub explained_variance: Vec<f64>,
    pub total: f64,
    /// True if the variances are eigenvalues of the covariance, false if they are robust.
    pub classical: bool,
}

/// True if the eigenvalues are those of the covariance of all samples, and with them the variances.
pub(crate) fn is_classical(config: &Config) -> bool {
    config.weighting == Weighting::Uniform && config.screen == Screen::None
}

impl Explained {
    /// Of `d` components whose eigenvalues are given where the components are eigenvectors; `measured` has the scores of
    /// the support (all samples when it is not given) and the distances of all samples.
    pub(crate) fn new(
        config: &Config,
        eigenvalues: Option<&[f64]>,
        measured: &SampleDistances,
        support: Option<&[bool]>,
        d: usize,
    ) -> Self {
        match eigenvalues {
            Some(values) if is_classical(config) => Self::classical(&values[..d], &measured.lengths),
            _ => Self::robust(measured, support, d),
        }
    }

    fn classical(eigenvalues: &[f64], norms: &[f64]) -> Self {
        let n = norms.len() as f64;
        let explained_variance: Vec<f64> = eigenvalues.iter().map(|l| l.max(0.0) * n / (n - 1.0)).collect();
        let trace = norms.iter().map(|norm| norm * norm).sum::<f64>() / (n - 1.0);
        // Norms and eigenvalues are rounded differently; their difference must not make a remainder negative.
        let total = trace.max(explained_variance.iter().sum());
        Self { explained_variance, total, classical: true }
    }

    fn robust(measured: &SampleDistances, support: Option<&[bool]>, d: usize) -> Self {
        let column = |j: usize| measured.scores[j.min(measured.scores.len())..].iter().step_by(d).copied();
        let explained_variance: Vec<f64> =
            (0..d).map(|j| robust_scale(&column(j).collect_reserved()).powi(2)).collect();
        let active = |i: usize| measured.lengths[i] > 0.0 && support.is_none_or(|support| support[i]);
        let mut distances = measured.orthogonal();
        let mut sample = 0..;
        distances.retain(|_| sample.next().is_some_and(active));
        let total = explained_variance.iter().sum::<f64>() + mean_square(distances);
        Self { explained_variance, total, classical: false }
    }
}

/// The mean square of the bulk of some distances, as if it held for all of them.
fn mean_square(mut distances: Vec<f64>) -> f64 {
    if distances.is_empty() {
        return 0.0;
    }
    distances.iter_mut().for_each(|od| *od = od.powf(2.0 / 3.0));
    let bulk = bulk(distances);
    bulk.location.powi(3) + 3.0 * bulk.location * bulk.scale.powi(2)
}
