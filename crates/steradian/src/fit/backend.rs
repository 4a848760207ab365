//! The operations that the robust rounds need, in the data or within the n x n matrix.

use crate::config::options::Weighting;
use crate::config::screen::Outlyingness;
use crate::error::Result;
use crate::folds::SampleDistances;
use crate::screen::outlyingness::OutlyingnessResult;
use crate::solver::certificate::Decomposed;

/// Whose directions from a point, and how much each says.
#[derive(Debug)]
pub(crate) struct FitWeights<'a, P> {
    pub point: &'a P,
    pub weighting: Weighting,
    pub support: Option<&'a [bool]>,
    /// A factor of each sample's weight.
    pub factors: Option<&'a [f64]>,
}

/// What the rounds of a fit need.
pub(crate) trait FitBackend {
    /// A center.
    type Point;
    /// Orthonormal vectors, d of them or more.
    type Vectors;

    /// How far each sample lies from the bulk.
    fn outlyingness(&mut self, screen: &Outlyingness) -> Result<OutlyingnessResult>;

    /// The mean of some samples.
    fn mean(&mut self, support: &[bool]) -> Result<Self::Point>;

    /// The center of some samples, as the configuration asks.
    fn center(&mut self, support: &[bool]) -> Result<Self::Point>;

    /// The top vectors, good enough to compute weights from; iterations begin at `start`.
    fn solve_approx(
        &mut self,
        around: &FitWeights<'_, Self::Point>,
        start: Option<&Self::Vectors>,
    ) -> Result<Self::Vectors>;

    /// How many vectors there are.
    fn count(vectors: &Self::Vectors) -> usize;

    /// How all samples lie to the first d of some vectors.
    fn distances(&mut self, point: &Self::Point, vectors: &Self::Vectors) -> Result<SampleDistances>;

    /// The center in data units and the answer, to the tolerance and with its certificate.
    fn solve_certified(
        &mut self,
        around: &FitWeights<'_, Self::Point>,
        start: Option<&Self::Vectors>,
    ) -> Result<(Vec<f64>, Decomposed)>;
}
