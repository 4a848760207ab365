//! The operations that the robust rounds need, in the data or within the n x n matrix.

use crate::config::options::Weighting;
use crate::config::screen::Outlyingness;
use crate::error::Result;
use crate::folds::DistancesSum;
use crate::screen::outlyingness::Outlying;
use crate::solver::certificate::Decomposed;

/// Whose directions from a point, and how much each says.
#[derive(Debug)]
pub(crate) struct Around<'a, P> {
    pub point: &'a P,
    pub weighting: Weighting,
    pub kept: Option<&'a [bool]>,
    /// A factor of each sample's weight.
    pub factors: Option<&'a [f64]>,
}

/// What the rounds of a fit need.
pub(crate) trait Ground {
    /// A center.
    type Point;
    /// Orthonormal vectors, d of them or more.
    type Vectors;

    /// How far each sample lies from the bulk.
    fn outlyingness(&mut self, screen: &Outlyingness) -> Result<Outlying>;

    /// The mean of some samples.
    fn mean(&mut self, kept: &[bool]) -> Result<Self::Point>;

    /// The center of some samples, as the configuration asks.
    fn center(&mut self, kept: &[bool]) -> Result<Self::Point>;

    /// The top vectors, good enough to compute weights from; iterations begin at `start`.
    fn roughly(&mut self, around: &Around<'_, Self::Point>, start: Option<&Self::Vectors>) -> Result<Self::Vectors>;

    /// How many vectors there are.
    fn count(vectors: &Self::Vectors) -> usize;

    /// How all samples lie to the first d of some vectors.
    fn distances(&mut self, point: &Self::Point, vectors: &Self::Vectors) -> Result<DistancesSum>;

    /// The center in data units and the answer, to the tolerance and with its certificate.
    fn exactly(
        &mut self,
        around: &Around<'_, Self::Point>,
        start: Option<&Self::Vectors>,
    ) -> Result<(Vec<f64>, Decomposed)>;
}
