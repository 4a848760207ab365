//! Distances of samples to a subspace: norms of the centered samples, sines of their angles, and scores of a subset.
//!
//! | symbol | here |
//! |---|---|
//! | norm(x - mu) | `lengths` |
//! | norm of the scores Q'(x - mu) | not stored |
//! | sin theta = sqrt(1 - (norm of scores / norm)^2) | `sines` |
//! | orthogonal distance | norm * sin theta |
//!
//! Cost: one pass, 2 n D d flops, 16 bytes per sample.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::WeightedRows;
use crate::codec::{inconsistent, packed, require_length, require_samples};
use crate::config::options::Weighting;
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::operand::{Operand, Precision};
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::RandomSubset;

/// Sines below this are rounding errors of the difference 1 - cos^2 in f64.
const ROUNDING: f64 = 3e-8;
/// Sines below this are rounding errors if samples are projected in f32.
const SINGLE_ROUNDING: f64 = 5e-4;

/// The fold that computes the distances of all samples to the span of some orthonormal vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Distances<'a> {
    directions: WeightedRows<'a>,
    operand: Operand,
    scored: Option<Cow<'a, [bool]>>,
    /// The random subset of `scored` whose scores are stored; `None` stores none.
    drawn: Option<RandomSubset>,
    rounding: f64,
}

impl<'a> Distances<'a> {
    /// Distances about `center` to the span of the columns of `vectors` (D x d). In f32, sines below 5e-4 are returned
    /// as 0, and so are the distances of samples close to the subspace.
    pub fn new(center: &'a [f64], vectors: &Matrix, precision: Precision, element: ElementType) -> Self {
        let directions = WeightedRows::new(center, Weighting::InverseNorm, None);
        let operand = Operand::for_element(center, vectors.columns(), Some(vectors), precision, element);
        let rounding = if precision.is_double(element) { ROUNDING } else { SINGLE_ROUNDING };
        Self { directions, operand, scored: None, drawn: None, rounding }
    }

    /// Also stores scores: of the samples of the mask `scored` (all if `None`) that belong to the random subset
    /// `drawn`.
    pub fn with_scores(self, scored: Option<&'a [bool]>, drawn: RandomSubset) -> Self {
        Self { scored: scored.map(Cow::Borrowed), drawn: Some(drawn), ..self }
    }
}

/// The sine of the angle between a sample and the subspace, from the scores and the inverse norm of the sample.
pub(crate) fn sine_outside(scores: &[f64], inverse_norm: f64, rounding: f64) -> f64 {
    let cosine_squared = scores.iter().map(|y| (y * inverse_norm).powi(2)).sum::<f64>();
    let sine = (1.0 - cosine_squared).max(0.0).sqrt();
    if sine > rounding { sine } else { 0.0 }
}

/// Distances of samples to a subspace, in data order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SampleDistances {
    /// Norm of each centered sample; 0 for a sample without direction.
    #[serde(with = "packed")]
    pub lengths: Vec<f64>,
    /// Sine of the angle between each sample and the subspace.
    #[serde(with = "packed")]
    pub sines: Vec<f64>,
    /// Scores of the drawn samples, row by row.
    #[serde(with = "packed")]
    pub scores: Vec<f64>,
}

impl SampleDistances {
    /// Orthogonal distance of each sample to the subspace.
    pub fn orthogonal(&self) -> Vec<f64> {
        self.lengths.iter().zip(&self.sines).map(|(norm, sine)| norm * sine).collect_reserved()
    }

}

impl Clone for SampleDistances {
    fn clone(&self) -> Self {
        Self {
            lengths: memory::copied(&self.lengths),
            sines: memory::copied(&self.sines),
            scores: memory::copied(&self.scores),
        }
    }
}

impl Fold for Distances<'_> {
    const NAME: &'static str = "distances";

    type Accumulator = SampleDistances;
    type Out = SampleDistances;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.directions.check(shape, samples)?;
        self.operand.check(shape.features, true)?;
        self.scored.as_ref().map_or(Ok(()), |scored| require_samples("the mask of scores", scored.len(), samples))
    }

    fn check_accumulator(&self, accumulator: &SampleDistances, samples: &Range<usize>) -> Result<()> {
        require_length("the list of norms", accumulator.lengths.len(), samples.len())?;
        require_length("the list of sines", accumulator.sines.len(), samples.len())?;
        let (found, columns) = (accumulator.scores.len(), self.operand.columns());
        if !found.is_multiple_of(columns) || found / columns > samples.len() {
            return Err(inconsistent(format!(
                "{found} scores are not {columns} of each of at most {} samples",
                samples.len()
            )));
        }
        Ok(())
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a leaf; all leaves together hold the result once
    }

    fn empty(&self) -> SampleDistances {
        SampleDistances::default()
    }

    fn empty_for(&self, rows: usize) -> SampleDistances {
        let scored = self.drawn.is_some_and(|drawn| drawn.is_all());
        SampleDistances {
            lengths: memory::reserved(rows),
            sines: memory::reserved(rows),
            scores: memory::reserved(if scored { rows * self.operand.columns() } else { 0 }),
        }
    }

    fn add(&self, accumulator: &mut SampleDistances, block: &Block<'_>) -> Result<()> {
        let (y, weights) = self.operand.project(block, self.directions.weigher(block));
        let drawn = self.drawn.map_or_else(Vec::new, |drawn| drawn.members(block.first(), block.rows()));
        for (row, (w, y)) in weights.iter().zip(y.chunks(self.operand.columns())).enumerate() {
            accumulator.lengths.push(if *w > 0.0 { 1.0 / w } else { 0.0 });
            accumulator.sines.push(if *w > 0.0 { sine_outside(y, *w, self.rounding) } else { 0.0 });
            let is_drawn = drawn.get(row).is_some_and(|drawn| *drawn);
            if *w > 0.0 && is_drawn && self.scored.as_ref().is_none_or(|scored| scored[block.first() + row]) {
                accumulator.scores.extend_from_slice(y);
            }
        }
        Ok(())
    }

    fn merge(&self, mut left: SampleDistances, right: SampleDistances) -> SampleDistances {
        memory::append(&mut left.lengths, right.lengths);
        memory::append(&mut left.sines, right.sines);
        memory::append(&mut left.scores, right.scores);
        left
    }

    fn finish(&self, total: SampleDistances) -> Result<SampleDistances> {
        Ok(total)
    }
}
