//! The robust rounds after the outlyingness screen (support, center, subspace), and the reweighting steps of AE-1.

use super::backend::{FitBackend, FitWeights};
use super::sine_loss::{self, STEPS};
use crate::config::options::{Loss, Weighting};
use crate::config::screen::Outlyingness;
use crate::error::{Error, Result};
use crate::screen::outlyingness;
use crate::solver::certificate::Decomposed;
use crate::solver::decompose::require_directions;

/// Rounds of flagging, centering and fitting after the outlyingness screen.
pub(crate) const ROUNDS: usize = 2;

/// What is fitted in every round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SubspaceFit {
    pub samples: usize,
    pub d: usize,
    pub weighting: Weighting,
    pub loss: Loss,
}

/// The answer around a center.
pub(crate) struct CenteredFit {
    pub center: Vec<f64>,
    pub decomposed: Decomposed,
    /// The sum of sines before each step of the last refinement.
    pub objective: Vec<f64>,
}

/// The answer of the samples that a screen kept.
pub(crate) struct ScreenedFit {
    pub fitted: CenteredFit,
    pub support: Vec<bool>,
    pub warning: Option<String>,
}

/// All steps of AE-1 but the last decomposition: where that may begin, and the factors of its weights.
struct IrlsState<V> {
    vectors: V,
    factors: Vec<f64>,
    objective: Vec<f64>,
}

impl SubspaceFit {
    /// From the least outlying half, and in rounds from there to all samples near the subspace.
    pub(crate) fn fit_screened<G: FitBackend>(&self, screen: &Outlyingness, ground: &mut G) -> Result<ScreenedFit> {
        let h = outlyingness::majority(self.samples, self.d);
        let outlying = ground.outlyingness(screen)?;
        let mut support = outlyingness::least_outlying(&outlying.values, h);
        let mut point = ground.mean(&support)?;
        let classical =
            FitWeights { point: &point, weighting: Weighting::Uniform, support: Some(&support), factors: None };
        let mut vectors = ground.solve_approx(&classical, None)?;
        for round in 1..=ROUNDS {
            self.require_found::<G>(&vectors)?;
            support = outlyingness::near(&ground.distances(&point, &vectors)?.orthogonal(), h);
            point = ground.center(&support)?;
            if round < ROUNDS {
                vectors = self.solve_approx(&point, &support, &vectors, ground)?;
            }
        }
        let around = FitWeights { point: &point, weighting: self.weighting, support: Some(&support), factors: None };
        let fitted = self.fit(&around, Some(&vectors), ground)?;
        Ok(ScreenedFit { fitted, support, warning: outlying.warning })
    }

    /// The wanted subspace.
    pub(crate) fn fit<G: FitBackend>(
        &self,
        around: &FitWeights<'_, G::Point>,
        start: Option<&G::Vectors>,
        ground: &mut G,
    ) -> Result<CenteredFit> {
        if self.loss == Loss::SquaredCosine {
            let (center, decomposed) = ground.solve_certified(around, start)?;
            return Ok(CenteredFit { center, decomposed, objective: Vec::new() });
        }
        let IrlsState { vectors, factors, objective } = self.reweighted(around, start, ground)?;
        let FitWeights { point, weighting, support, .. } = *around;
        let heavier = FitWeights { point, weighting, support, factors: Some(&factors) };
        let (center, decomposed) = ground.solve_certified(&heavier, Some(&vectors))?;
        Ok(CenteredFit { center, decomposed, objective })
    }

    /// The wanted subspace, roughly: to judge samples by.
    fn solve_approx<G: FitBackend>(
        &self,
        point: &G::Point,
        support: &[bool],
        start: &G::Vectors,
        ground: &mut G,
    ) -> Result<G::Vectors> {
        let around = FitWeights { point, weighting: self.weighting, support: Some(support), factors: None };
        if self.loss == Loss::SquaredCosine {
            return ground.solve_approx(&around, Some(start));
        }
        let IrlsState { vectors, factors, .. } = self.reweighted(&around, Some(start), ground)?;
        ground.solve_approx(&FitWeights { factors: Some(&factors), ..around }, Some(&vectors))
    }

    /// The steps of AE-1.
    fn reweighted<G: FitBackend>(
        &self,
        around: &FitWeights<'_, G::Point>,
        start: Option<&G::Vectors>,
        ground: &mut G,
    ) -> Result<IrlsState<G::Vectors>> {
        let FitWeights { point, weighting, support, .. } = *around;
        let mut vectors = ground.solve_approx(around, start)?;
        let mut objective = Vec::with_capacity(STEPS + 1);
        loop {
            self.require_found::<G>(&vectors)?;
            let measured = ground.distances(point, &vectors)?;
            objective.push(sine_loss::objective(&measured.sines, &measured.lengths, support));
            let factors = sine_loss::factors(&measured.sines);
            if objective.len() == STEPS {
                return Ok(IrlsState { vectors, factors, objective });
            }
            let heavier = FitWeights { point, weighting, support, factors: Some(&factors) };
            vectors = ground.solve_approx(&heavier, Some(&vectors))?;
        }
    }

    /// Fewer vectors than components: the samples that speak have no more directions.
    fn require_found<G: FitBackend>(&self, vectors: &G::Vectors) -> Result<()> {
        let found = G::count(vectors);
        if found >= self.d {
            return Ok(());
        }
        require_directions(found > 0, self.samples)?;
        Err(Error::RankTooSmall { n_components: self.d, rank: found, of: "the samples that the screen keeps" })
    }
}
