//! The spatial median: by passes over the data, or within the n x n matrix without touching them.
//!
//! It starts at the coordinate-wise median of a few hundred samples, whose median distance also sets the scale of the
//! tolerance: 1e-10 of it for f64 data, 1e-7 for the others. By passes it takes about seven of them; with the n x n
//! matrix K of products around any origin o, the point is o + sum a_i (x_i - o), distances are
//! K_ii - 2 (K a)_i + a' K a, and no pass is needed.

use super::weiszfeld::{Evaluation, Imaged, MAX_EVALUATIONS, WeiszfeldProblem, minimise};
use crate::data::element::ElementType;
use crate::data::source::{Source, read_sample};
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::SpatialGradient;
use crate::numeric::linalg::{Matrix, product};
use crate::numeric::random::{Stream, subsample};

/// Samples that set start and scale, at most.
const START_SAMPLES: usize = 512;
/// Bytes of those samples in double precision, about.
const START_BYTES: usize = 8 << 20;
/// Samples within this share of the scale count as lying on the point.
const COINCIDENCE: f64 = 1e-14;
/// What the plan assumes; a fit reports what it took.
pub(crate) const EXPECTED_PASSES: usize = 7;

/// Where to begin, and the length that tolerances are relative to.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub point: Vec<f64>,
    pub scale: f64,
    tolerance: f64,
}

impl Start {
    /// From a seeded subsample; reads a few samples, no pass.
    pub(crate) fn new(source: &dyn Source, seed: u64) -> Result<Self> {
        Self::within(source, None, seed)
    }

    /// The same, of the kept samples alone.
    pub(crate) fn within(source: &dyn Source, support: Option<&[bool]>, seed: u64) -> Result<Self> {
        let shape = source.shape();
        let count = (START_BYTES / 8 / shape.features).clamp(31, START_SAMPLES);
        let members: Vec<usize> = (0..shape.samples).filter(|&i| support.is_none_or(|support| support[i])).collect();
        let chosen = subsample(members.len(), count, seed, Stream::Subsample);
        let chosen: Vec<usize> = chosen.into_iter().map(|i| members[i]).collect();
        source.prefetch(&chosen)?;
        let rows: Vec<Vec<f64>> = chosen.into_iter().map(|i| read_sample(source, i)).collect::<Result<_>>()?;
        let column_median = |j: usize| median_of(rows.iter().map(|row| row[j]).collect());
        let point: Vec<f64> = (0..shape.features).map(column_median).collect();
        let distances: Vec<f64> = rows.iter().map(|row| distance(row, &point)).collect();
        let mut scale = median_of(distances.clone());
        if scale == 0.0 {
            scale = distances.iter().fold(0.0, |m, d| m.max(*d));
        }
        let largest = point.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        Ok(Self::measured(point, scale, largest, shape.element))
    }

    /// From a point, the scale around it, and the largest coordinate of a sample, about.
    pub(crate) fn measured(point: Vec<f64>, scale: f64, largest: f64, element: ElementType) -> Self {
        // A step below a rounding error of the point itself cannot be seen.
        let tolerance = if element == ElementType::F64 { 1e-10 } else { 1e-7 };
        Self { point, scale, tolerance: (0.1 * tolerance * scale).max(4.0 * f64::EPSILON * largest) }
    }

    /// The same scale, another point to begin at.
    pub(crate) fn at(self, point: Vec<f64>) -> Self {
        Self { point, ..self }
    }
}

/// The middle of some numbers; the lower of two middles is good enough for a start.
fn median_of(mut values: Vec<f64>) -> f64 {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let largest = a.iter().zip(b).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * a.iter().zip(b).map(|(x, y)| ((x - y) / largest).powi(2)).sum::<f64>().sqrt()
}

/// What to tell the user when the iteration ran out.
fn unfinished(tolerance: f64) -> String {
    format!(
        "the spatial median did not settle to {tolerance:.1e} within {MAX_EVALUATIONS} steps; the samples may lie on a line"
    )
}

/// Of the kept samples, by passes, from `start.point`.
pub(crate) fn by_passes(
    source: &dyn Source,
    support: Option<&[bool]>,
    start: &Start,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    struct Passes<'a, R> {
        source: &'a dyn Source,
        support: Option<&'a [bool]>,
        runner: &'a R,
        coincidence: f64,
    }
    impl<R: Runner> WeiszfeldProblem for Passes<'_, R> {
        fn evaluate(&mut self, y: &[f64]) -> Result<Evaluation> {
            let sum = self.runner.run(&SpatialGradient::new(y, self.support, self.coincidence), self.source)?;
            let plain = |values: Vec<f64>| Imaged { own: values, image: None };
            let weighed = Evaluation::new(plain(y.to_vec()), plain(sum.pull), sum.inverse_lengths, sum.coincident);
            Ok(Evaluation { lengths: sum.lengths, nearest: sum.nearest, ..weighed })
        }

        fn sample(&mut self, index: usize) -> Result<Vec<f64>> {
            read_sample(self.source, index)
        }
    }
    let mut passes = Passes { source, support, runner, coincidence: COINCIDENCE * start.scale };
    let (point, settled) = minimise(&mut passes, start.point.clone(), start.tolerance)?;
    Ok((point, (!settled).then(|| unfinished(start.tolerance))))
}

/// Of the kept samples, within the n x n matrix of products around any origin: the weights a_i of the samples, which sum
/// to 1, from those in `start.point`.
pub(crate) fn by_gram(
    gram: &Matrix,
    support: Option<&[bool]>,
    start: &Start,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    struct Weights<'a, R> {
        gram: &'a Matrix,
        support: Option<&'a [bool]>,
        runner: &'a R,
        coincidence: f64,
    }
    impl<R: Runner> Weights<'_, R> {
        fn times(&self, a: &[f64]) -> Vec<f64> {
            let column = Matrix::from_vec(a.len(), 1, a.to_vec());
            self.runner.compute(|| product(self.gram, &column)).data().to_vec()
        }
    }
    impl<R: Runner> WeiszfeldProblem for Weights<'_, R> {
        fn evaluate(&mut self, a: &[f64]) -> Result<Evaluation> {
            self.runner.check_cancelled()?;
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let ka = self.times(a);
            let aka = dot(a, &ka);
            let mut pull = vec![0.0; a.len()]; // weights of samples in the pull, before the point's own share
            let (mut lengths, mut inverse_lengths, mut coincident, mut nearest) = (0.0, 0.0, 0, None);
            let speaking = pull.iter_mut().enumerate().filter(|(i, _)| self.support.is_none_or(|support| support[*i]));
            for (i, pull) in speaking {
                let length = (self.gram[(i, i)] - 2.0 * ka[i] + aka).max(0.0).sqrt();
                if length <= self.coincidence {
                    coincident += 1;
                    continue;
                }
                *pull = 1.0 / length;
                inverse_lengths += *pull;
                lengths += length;
                if nearest.is_none_or(|(_, least)| length < least) {
                    nearest = Some((i, length));
                }
            }
            pull.iter_mut().zip(a).for_each(|(p, a)| *p -= inverse_lengths * a);
            let pull = Imaged { image: Some(self.times(&pull)), own: pull };
            let point = Imaged { own: a.to_vec(), image: Some(ka) };
            Ok(Evaluation { lengths, nearest, ..Evaluation::new(point, pull, inverse_lengths, coincident) })
        }

        fn sample(&mut self, index: usize) -> Result<Vec<f64>> {
            let mut a = vec![0.0; self.gram.rows()];
            a[index] = 1.0;
            Ok(a)
        }
    }
    // Distances within K are roots of differences, so samples closer than half of the digits look coincident.
    let mut weights = Weights { gram, support, runner, coincidence: f64::EPSILON.sqrt() * start.scale };
    let (a, settled) = minimise(&mut weights, start.point.clone(), start.tolerance)?;
    Ok((a, (!settled).then(|| unfinished(start.tolerance))))
}
