//! The operations of the robust rounds: the trait that passes over the data and the Gram matrix implement.

use crate::config::options::Weighting;
use crate::config::screen::Outlyingness;
use crate::error::Result;
use crate::folds::SampleDistances;
use crate::screen::outlyingness::OutlyingnessResult;
use crate::solver::certificate::Decomposed;

/// The weights of a decomposition about a point: weighting, support and one factor per sample.
#[derive(Debug)]
pub(crate) struct FitWeights<'a, P> {
    pub point: &'a P,
    pub weighting: Weighting,
    pub support: Option<&'a [bool]>,
    /// A factor of the weight, one per sample.
    pub factors: Option<&'a [f64]>,
}

/// The operations of the robust rounds.
pub(crate) trait FitBackend {
    /// A center.
    type Point;
    /// Orthonormal vectors, d of them or more.
    type Vectors;

    /// The outlyingness of each sample.
    fn outlyingness(&mut self, screen: &Outlyingness) -> Result<OutlyingnessResult>;

    /// The mean of some samples.
    fn mean(&mut self, support: &[bool]) -> Result<Self::Point>;

    /// The center of some samples, by the rule of the configuration.
    fn center(&mut self, support: &[bool]) -> Result<Self::Point>;

    /// The top vectors, good enough to compute weights from; iterations begin at `start`.
    fn solve_approx(
        &mut self,
        around: &FitWeights<'_, Self::Point>,
        start: Option<&Self::Vectors>,
    ) -> Result<Self::Vectors>;

    /// The number of vectors.
    fn count(vectors: &Self::Vectors) -> usize;

    /// Distances of all samples from the span of the first d vectors.
    fn distances(&mut self, point: &Self::Point, vectors: &Self::Vectors) -> Result<SampleDistances>;

    /// The center in data units and the decomposition, to the tolerance and with its certificate.
    fn solve_certified(
        &mut self,
        around: &FitWeights<'_, Self::Point>,
        start: Option<&Self::Vectors>,
    ) -> Result<(Vec<f64>, Decomposed)>;
}
