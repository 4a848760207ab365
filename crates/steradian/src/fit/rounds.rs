//! The robust rounds after the outlyingness screen (support, center, subspace), and the reweighting steps of AE-1.

use super::backend::{Around, Ground};
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
pub(crate) struct Wanted {
    pub samples: usize,
    pub d: usize,
    pub weighting: Weighting,
    pub loss: Loss,
}

/// The answer around a center.
pub(crate) struct Fitted {
    pub center: Vec<f64>,
    pub decomposed: Decomposed,
    /// The sum of sines before each step of the last refinement.
    pub objective: Vec<f64>,
}

/// The answer of the samples that a screen kept.
pub(crate) struct Screened {
    pub fitted: Fitted,
    pub kept: Vec<bool>,
    pub warning: Option<String>,
}

/// All steps of AE-1 but the last decomposition: where that may begin, and the factors of its weights.
struct Reweighted<V> {
    vectors: V,
    factors: Vec<f64>,
    objective: Vec<f64>,
}

impl Wanted {
    /// From the least outlying half, and in rounds from there to all samples near the subspace.
    pub(crate) fn without_outlying<G: Ground>(&self, screen: &Outlyingness, ground: &mut G) -> Result<Screened> {
        let h = outlyingness::majority(self.samples, self.d);
        let outlying = ground.outlyingness(screen)?;
        let mut kept = outlyingness::least_outlying(&outlying.values, h);
        let mut point = ground.mean(&kept)?;
        let classical = Around { point: &point, weighting: Weighting::Uniform, kept: Some(&kept), factors: None };
        let mut vectors = ground.roughly(&classical, None)?;
        for round in 1..=ROUNDS {
            self.require_found::<G>(&vectors)?;
            kept = outlyingness::near(&ground.distances(&point, &vectors)?.orthogonal(), h);
            point = ground.center(&kept)?;
            if round < ROUNDS {
                vectors = self.roughly(&point, &kept, &vectors, ground)?;
            }
        }
        let around = Around { point: &point, weighting: self.weighting, kept: Some(&kept), factors: None };
        let fitted = self.fit(&around, Some(&vectors), ground)?;
        Ok(Screened { fitted, kept, warning: outlying.warning })
    }

    /// The wanted subspace.
    pub(crate) fn fit<G: Ground>(
        &self,
        around: &Around<'_, G::Point>,
        start: Option<&G::Vectors>,
        ground: &mut G,
    ) -> Result<Fitted> {
        if self.loss == Loss::SquaredCosine {
            let (center, decomposed) = ground.exactly(around, start)?;
            return Ok(Fitted { center, decomposed, objective: Vec::new() });
        }
        let Reweighted { vectors, factors, objective } = self.reweighted(around, start, ground)?;
        let Around { point, weighting, kept, .. } = *around;
        let heavier = Around { point, weighting, kept, factors: Some(&factors) };
        let (center, decomposed) = ground.exactly(&heavier, Some(&vectors))?;
        Ok(Fitted { center, decomposed, objective })
    }

    /// The wanted subspace, roughly: to judge samples by.
    fn roughly<G: Ground>(
        &self,
        point: &G::Point,
        kept: &[bool],
        start: &G::Vectors,
        ground: &mut G,
    ) -> Result<G::Vectors> {
        let around = Around { point, weighting: self.weighting, kept: Some(kept), factors: None };
        if self.loss == Loss::SquaredCosine {
            return ground.roughly(&around, Some(start));
        }
        let Reweighted { vectors, factors, .. } = self.reweighted(&around, Some(start), ground)?;
        ground.roughly(&Around { factors: Some(&factors), ..around }, Some(&vectors))
    }

    /// The steps of AE-1.
    fn reweighted<G: Ground>(
        &self,
        around: &Around<'_, G::Point>,
        start: Option<&G::Vectors>,
        ground: &mut G,
    ) -> Result<Reweighted<G::Vectors>> {
        let Around { point, weighting, kept, .. } = *around;
        let mut vectors = ground.roughly(around, start)?;
        let mut objective = Vec::with_capacity(STEPS + 1);
        loop {
            self.require_found::<G>(&vectors)?;
            let measured = ground.distances(point, &vectors)?;
            objective.push(sine_loss::objective(&measured.sines, &measured.lengths, kept));
            let factors = sine_loss::factors(&measured.sines);
            if objective.len() == STEPS {
                return Ok(Reweighted { vectors, factors, objective });
            }
            let heavier = Around { point, weighting, kept, factors: Some(&factors) };
            vectors = ground.roughly(&heavier, Some(&vectors))?;
        }
    }

    /// Fewer vectors than components: the samples that speak have no more directions.
    fn require_found<G: Ground>(&self, vectors: &G::Vectors) -> Result<()> {
        let found = G::count(vectors);
        if found >= self.d {
            return Ok(());
        }
        require_directions(found > 0, self.samples)?;
        Err(Error::RankExceeded { n_components: self.d, rank: found, of: "the samples that the screen keeps" })
    }
}
