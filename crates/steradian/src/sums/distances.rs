//! How each sample lies to a subspace: its distance from the center, the part of it inside, and scores of some.
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

use super::Directions;
use super::directions::SentDirections;
use super::operand::{Operand, Precision};
use crate::block::Block;
use crate::config::Weighting;
use crate::element::ElementType;
use crate::error::Result;
use crate::job::{Kind, Work};
use crate::linalg::Matrix;
use crate::pass::Fold;
use crate::random::RandomShare;
use crate::wire::packed;

/// Sines below this are rounding of the difference 1 - cos^2.
const ROUNDING: f64 = 3e-8;
/// The same where samples are projected in single precision.
const SINGLE_ROUNDING: f64 = 5e-4;

/// Measures all samples against the columns of some orthonormal vectors.
#[derive(Debug, Clone)]
pub struct Distances<'a> {
    directions: Directions<'a>,
    width: usize,
    operand: Cow<'a, Operand>,
    scored: Option<&'a [bool]>,
    /// Of which share of these samples scores are gathered; `None` of none.
    drawn: Option<RandomShare>,
    rounding: f64,
}

impl<'a> Distances<'a> {
    /// Seen from `center`, against the columns of `vectors` (D x d). Sines need double precision: in single precision those
    /// below 5e-4 are lost, and with them the distances of samples near the subspace.
    pub fn new(center: &'a [f64], vectors: &Matrix, precision: Precision, element: ElementType) -> Self {
        let directions = Directions::new(center, Weighting::InverseNorm, None);
        let operand = Cow::Owned(Operand::for_element(center, vectors.columns(), Some(vectors), precision, element));
        let rounding = if precision.is_double(element) { ROUNDING } else { SINGLE_ROUNDING };
        Self { directions, width: vectors.columns(), operand, scored: None, drawn: None, rounding }
    }

    /// Gathers scores, too: of the samples in `scored` (all when it is not given) that belong to a random share.
    pub fn with_scores(self, scored: Option<&'a [bool]>, drawn: RandomShare) -> Self {
        Self { scored, drawn: Some(drawn), ..self }
    }
}

/// The sine of the angle between a sample, by its scores and inverse length, and the subspace.
pub(crate) fn sine_outside(scores: &[f64], inverse_length: f64, rounding: f64) -> f64 {
    let cosine_squared = scores.iter().map(|y| (y * inverse_length).powi(2)).sum::<f64>();
    let sine = (1.0 - cosine_squared).max(0.0).sqrt();
    if sine > rounding { sine } else { 0.0 }
}

/// The same pass on its way to another process, and there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SentDistances<'a> {
    directions: SentDirections<'a>,
    operand: Cow<'a, Operand>,
    scored: Option<Cow<'a, [bool]>>,
    drawn: Option<RandomShare>,
    rounding: f64,
}

impl SentDistances<'_> {
    pub(crate) fn fold(&self) -> Distances<'_> {
        Distances {
            directions: self.directions.directions(),
            width: self.operand.columns(),
            operand: Cow::Borrowed(&self.operand),
            scored: self.scored.as_deref(),
            drawn: self.drawn,
            rounding: self.rounding,
        }
    }
}

/// What was measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct DistancesSum {
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

impl DistancesSum {
    /// The distance of each sample from the subspace.
    pub fn orthogonal(&self) -> Vec<f64> {
        self.lengths.iter().zip(&self.sines).map(|(length, sine)| length * sine).collect()
    }
}

impl Fold for Distances<'_> {
    type Sum = DistancesSum;
    type Out = DistancesSum;

    fn name(&self) -> &'static str {
        "distances"
    }

    fn ship(&self) -> Option<Work<'_>> {
        Some(Work(Kind::Distances(SentDistances {
            directions: (&self.directions).into(),
            operand: Cow::Borrowed(&self.operand),
            scored: self.scored.map(Cow::Borrowed),
            drawn: self.drawn,
            rounding: self.rounding,
        })))
    }

    fn sum_bytes(&self) -> usize {
        0 // grows with the rows of a cell; all cells together hold the answer once
    }

    fn empty(&self) -> DistancesSum {
        DistancesSum::default()
    }

    fn add(&self, sum: &mut DistancesSum, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(&self.directions, block);
        let drawn = self.drawn.map_or_else(Vec::new, |drawn| drawn.members(block.first(), block.rows()));
        for (row, (w, y)) in weights.iter().zip(y.chunks(self.width)).enumerate() {
            sum.lengths.push(if *w > 0.0 { 1.0 / w } else { 0.0 });
            sum.sines.push(if *w > 0.0 { sine_outside(y, *w, self.rounding) } else { 0.0 });
            let gathered = drawn.get(row).is_some_and(|drawn| *drawn);
            if *w > 0.0 && gathered && self.scored.is_none_or(|scored| scored[block.first() + row]) {
                sum.scores.extend_from_slice(y);
            }
        }
        Ok(())
    }

    fn merge(&self, mut left: DistancesSum, right: DistancesSum) -> DistancesSum {
        left.lengths.extend(right.lengths);
        left.sines.extend(right.sines);
        left.scores.extend(right.scores);
        left
    }

    fn finish(&self, sum: DistancesSum) -> Result<DistancesSum> {
        Ok(sum)
    }
}
