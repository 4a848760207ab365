//! Distances of samples to a subspace: norm around the center, sine of the angle, and scores of a subset.
//!
//! | symbol | here |
//! |---|---|
//! | norm(x - mu) | `lengths` |
//! | inside, the norm of the scores Q'(x - mu) | not kept |
//! | sin theta = sqrt(1 - (inside / length)^2) | `sines` |
//! | orthogonal distance | length * sin theta |
//!
//! Cost: one pass, 2 n D d flops, 16 bytes a sample.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::packed;
use crate::config::options::Weighting;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::RandomShare;

/// Sines below this are rounding of the difference 1 - cos^2.
const ROUNDING: f64 = 3e-8;
/// The same where samples are projected in single precision.
const SINGLE_ROUNDING: f64 = 5e-4;

/// Measures all samples against the columns of some orthonormal vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Distances<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    scored: Option<Cow<'a, [bool]>>,
    /// The share of these samples whose scores are gathered; `None` for none.
    drawn: Option<RandomShare>,
    rounding: f64,
}

impl<'a> Distances<'a> {
    /// Seen from `center`, against the columns of `vectors` (D x d). Sines need double precision: in single precision those
    /// below 5e-4 are lost, and with them the distances of samples near the subspace.
    pub fn new(center: &'a [f64], vectors: &Matrix, precision: Precision, element: ElementType) -> Self {
        let directions = WeightedRows::new(center, Weighting::InverseNorm, None);
        let operand = Operand::for_element(center, vectors.columns(), Some(vectors), precision, element);
        let rounding = if precision.is_double(element) { ROUNDING } else { SINGLE_ROUNDING };
        Self { directions, operand, scored: None, drawn: None, rounding }
    }

    /// Gathers scores, too: of the samples in `scored` (all when it is not given) that belong to a random share.
    pub fn with_scores(self, scored: Option<&'a [bool]>, drawn: RandomShare) -> Self {
        Self { scored: scored.map(Cow::Borrowed), drawn: Some(drawn), ..self }
    }
}

/// The sine of the angle between a sample, by its scores and inverse length, and the subspace.
pub(crate) fn sine_outside(scores: &[f64], inverse_length: f64, rounding: f64) -> f64 {
    let cosine_squared = scores.iter().map(|y| (y * inverse_length).powi(2)).sum::<f64>();
    let sine = (1.0 - cosine_squared).max(0.0).sqrt();
    if sine > rounding { sine } else { 0.0 }
}

/// What was measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SampleDistances {
    /// The distance of each sample from the center; 0 for one that has no direction.
    #[serde(with = "packed")]
    pub lengths: Vec<f64>,
    /// The sine of its angle to the subspace.
    #[serde(with = "packed")]
    pub sines: Vec<f64>,
    /// Scores of the gathered samples, row after row.
    #[serde(with = "packed")]
    pub scores: Vec<f64>,
}

impl SampleDistances {
    /// The distance of each sample from the subspace.
    pub fn orthogonal(&self) -> Vec<f64> {
        self.lengths.iter().zip(&self.sines).map(|(length, sine)| length * sine).collect()
    }
}

impl Fold for Distances<'_> {
    const NAME: &'static str = "distances";

    type Accumulator = SampleDistances;
    type Out = SampleDistances;

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> SampleDistances {
        SampleDistances::default()
    }

    fn add(&self, sum: &mut SampleDistances, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(block, self.directions.weigher(block));
        let drawn = self.drawn.map_or_else(Vec::new, |drawn| drawn.members(block.first(), block.rows()));
        for (row, (w, y)) in weights.iter().zip(y.chunks(self.operand.columns())).enumerate() {
            sum.lengths.push(if *w > 0.0 { 1.0 / w } else { 0.0 });
            sum.sines.push(if *w > 0.0 { sine_outside(y, *w, self.rounding) } else { 0.0 });
            let gathered = drawn.get(row).is_some_and(|drawn| *drawn);
            if *w > 0.0 && gathered && self.scored.as_ref().is_none_or(|scored| scored[block.first() + row]) {
                sum.scores.extend_from_slice(y);
            }
        }
        Ok(())
    }

    fn merge(&self, mut left: SampleDistances, right: SampleDistances) -> SampleDistances {
        left.lengths.extend(right.lengths);
        left.sines.extend(right.sines);
        left.scores.extend(right.scores);
        left
    }

    fn finish(&self, sum: SampleDistances) -> Result<SampleDistances> {
        Ok(sum)
    }
}
