//! The robust rounds after the outlyingness screen (support, center, subspace), and the reweighting steps of AE-1.

use super::backend::{FitBackend, FitWeights};
use super::sine_loss::{self, STEPS};
use crate::config::options::{Loss, Weighting};
use crate::config::screen::Outlyingness;
use crate::error::{Error, Result};
use crate::screen::outlyingness::{self, OutlyingnessResult};
use crate::solver::certificate::Decomposed;
use crate::solver::decompose::require_directions;

/// Rounds of flagging, centering and fitting after the outlyingness screen.
pub(crate) const ROUNDS: usize = 2;

/// The parameters of the fit in every round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubspaceFit {
    pub samples: usize,
    pub d: usize,
    pub weighting: Weighting,
    pub loss: Loss,
}

/// A decomposition about a center.
pub(crate) struct CenteredFit {
    pub center: Vec<f64>,
    pub decomposed: Decomposed,
    /// The sum of sines before each step of the last refinement.
    pub objective: Vec<f64>,
}

/// A decomposition of the support that a screen selected.
pub(crate) struct ScreenedFit {
    pub fitted: CenteredFit,
    pub support: Vec<bool>,
    pub warning: Option<String>,
}

/// The state before the last decomposition of AE-1: its starting vectors and the factors of its weights.
struct IrlsState<V> {
    vectors: V,
    factors: Vec<f64>,
    objective: Vec<f64>,
}

impl SubspaceFit {
    /// From the least outlying half, and in rounds from there to all samples near the subspace.
    pub(crate) fn fit_screened<G: FitBackend>(&self, screen: &Outlyingness, backend: &mut G) -> Result<ScreenedFit> {
        let h = outlyingness::majority(self.samples, self.d);
        let OutlyingnessResult { values, warning } = backend.outlyingness(screen)?;
        let mut support = outlyingness::least_outlying(&values, h);
        drop(values);
        let mut point = backend.mean(&support)?;
        let classical =
            FitWeights { point: &point, weighting: Weighting::Uniform, support: Some(&support), factors: None };
        let mut vectors = backend.solve_approx(&classical, None)?;
        for round in 1..=ROUNDS {
            self.require_found::<G>(&vectors)?;
            support = outlyingness::near(&backend.distances(&point, &vectors)?.into_orthogonal(), h);
            point = backend.center(&support)?;
            if round < ROUNDS {
                vectors = self.solve_approx(&point, &support, &vectors, backend)?;
            }
        }
        let around = FitWeights { point: &point, weighting: self.weighting, support: Some(&support), factors: None };
        let fitted = self.fit(&around, Some(&vectors), backend)?;
        Ok(ScreenedFit { fitted, support, warning })
    }

    /// The subspace, to the tolerance.
    pub(crate) fn fit<G: FitBackend>(
        &self,
        around: &FitWeights<'_, G::Point>,
        start: Option<&G::Vectors>,
        backend: &mut G,
    ) -> Result<CenteredFit> {
        if self.loss == Loss::SquaredCosine {
            let (center, decomposed) = backend.solve_certified(around, start)?;
            return Ok(CenteredFit { center, decomposed, objective: Vec::new() });
        }
        let IrlsState { vectors, factors, objective } = self.reweighted(around, start, backend)?;
        let FitWeights { point, weighting, support, .. } = *around;
        let heavier = FitWeights { point, weighting, support, factors: Some(&factors) };
        let (center, decomposed) = backend.solve_certified(&heavier, Some(&vectors))?;
        Ok(CenteredFit { center, decomposed, objective })
    }

    /// The subspace, approximately, to compute distances from.
    fn solve_approx<G: FitBackend>(
        &self,
        point: &G::Point,
        support: &[bool],
        start: &G::Vectors,
        backend: &mut G,
    ) -> Result<G::Vectors> {
        let around = FitWeights { point, weighting: self.weighting, support: Some(support), factors: None };
        if self.loss == Loss::SquaredCosine {
            return backend.solve_approx(&around, Some(start));
        }
        let IrlsState { vectors, factors, .. } = self.reweighted(&around, Some(start), backend)?;
        backend.solve_approx(&FitWeights { factors: Some(&factors), ..around }, Some(&vectors))
    }

    /// The steps of AE-1.
    fn reweighted<G: FitBackend>(
        &self,
        around: &FitWeights<'_, G::Point>,
        start: Option<&G::Vectors>,
        backend: &mut G,
    ) -> Result<IrlsState<G::Vectors>> {
        let FitWeights { point, weighting, support, .. } = *around;
        let mut vectors = backend.solve_approx(around, start)?;
        let mut objective = Vec::with_capacity(STEPS + 1);
        loop {
            self.require_found::<G>(&vectors)?;
            let measured = backend.distances(point, &vectors)?;
            objective.push(sine_loss::objective(&measured.sines, &measured.lengths, support));
            let factors = sine_loss::factors(&measured.sines);
            drop(measured);
            if objective.len() == STEPS {
                return Ok(IrlsState { vectors, factors, objective });
            }
            let heavier = FitWeights { point, weighting, support, factors: Some(&factors) };
            vectors = backend.solve_approx(&heavier, Some(&vectors))?;
        }
    }

    /// Rejects fewer vectors than components: the active samples have a lower rank.
    fn require_found<G: FitBackend>(&self, vectors: &G::Vectors) -> Result<()> {
        let found = G::count(vectors);
        if found >= self.d {
            return Ok(());
        }
        require_directions(found > 0, self.samples)?;
        Err(Error::RankTooSmall { n_components: self.d, rank: found, of: "the support of the screen" })
    }
}
