//! The spatial median (geometric median, L1-median): by passes over the data, or from the Gram matrix without a pass.
//!
//! The iteration starts at the coordinate-wise median of a few hundred samples. Their median distance from it is the
//! scale of the tolerance, which is 1e-10 times the scale for f64 data and 1e-7 times the scale for other data. Cost by
//! passes: about seven passes. With the n x n Gram matrix K of the samples relative to any origin o, the point is o +
//! sum a_i (x_i - o), squared distances are K_ii - 2 (K a)_i + a' K a, and no pass is needed.

use super::weiszfeld::{Evaluation, Imaged, MAX_EVALUATIONS, WeiszfeldProblem, minimize};
use crate::data::element::ElementType;
use crate::data::source::{Source, read_sample};
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::SpatialGradient;
use crate::memory;
use crate::numeric::linalg::{Matrix, product};
use crate::numeric::random::{Stream, subsample};

/// Largest number of samples from which start and scale are computed.
const START_SAMPLES: usize = 512;
/// Approximate bytes of those samples as f64 values.
const START_BYTES: usize = 8 << 20;
/// Samples within this fraction of the scale coincide with the point.
const COINCIDENCE: f64 = 1e-14;
/// Largest distance from the start, in scales, at which a point is near it.
const NEAR_START: f64 = 1e3;
/// Number of passes that the plan assumes; a fit reports the actual number.
pub(crate) const EXPECTED_PASSES: usize = 7;

/// Largest number of samples from which the start is computed, for data with this many features.
pub(crate) fn start_samples(features: usize) -> usize {
    (START_BYTES / 8 / features).clamp(31, START_SAMPLES)
}

/// Starting point of the iteration, and the scale of its tolerances.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub point: Vec<f64>,
    pub scale: f64,
    tolerance: f64,
}

impl Start {
    /// The start from a seeded subsample of all samples. Reads at most 512 samples; no pass.
    pub(crate) fn new(source: &dyn Source, seed: u64) -> Result<Self> {
        Self::within(source, None, seed)
    }

    /// The start from a seeded subsample of the samples in `support`.
    pub(crate) fn within(source: &dyn Source, support: Option<&[bool]>, seed: u64) -> Result<Self> {
        let shape = source.shape();
        let count = start_samples(shape.features);
        let chosen = match support {
            None => subsample(shape.samples, count, seed, Stream::Subsample),
            Some(support) => members_at(support, |members| subsample(members, count, seed, Stream::Subsample)),
        };
        if chosen.is_empty() {
            return Err(Error::invalid_data("the spatial median of no sample is undefined; use more samples"));
        }
        source.prefetch(&chosen)?;
        let rows: Vec<Vec<f64>> = chosen.into_iter().map(|i| read_sample(source, i)).collect::<Result<_>>()?;
        Ok(Self::from_rows(&rows, None, shape.element))
    }

    /// The start from a seeded subsample of data with missing cells: medians and distances are those of the numbers. `mean` is
    /// the coordinate of a feature without a number in the subsample.
    pub(crate) fn of_present(source: &dyn Source, mean: &[f64], seed: u64) -> Result<Self> {
        let shape = source.shape();
        let chosen = subsample(shape.samples, start_samples(shape.features), seed, Stream::Subsample);
        source.prefetch(&chosen)?;
        let rows: Vec<Vec<f64>> = chosen.into_iter().map(|i| read_sample(source, i)).collect::<Result<_>>()?;
        Ok(Self::from_rows(&rows, Some(mean), shape.element))
    }

    fn from_rows(rows: &[Vec<f64>], mean: Option<&[f64]>, element: ElementType) -> Self {
        let features = rows[0].len();
        let column_median = |j: usize| {
            let numbers: Vec<f64> = rows.iter().map(|row| row[j]).filter(|x| !x.is_nan()).collect();
            if numbers.is_empty() { mean.map_or(0.0, |mean| mean[j]) } else { median_of(numbers) }
        };
        let point: Vec<f64> = (0..features).map(column_median).collect();
        let distances: Vec<f64> = rows.iter().map(|row| distance(row, &point)).collect();
        let mut scale = median_of(distances.clone());
        if scale == 0.0 {
            scale = distances.iter().fold(0.0, |m, d| m.max(*d));
        }
        let largest = point.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        Self::measured(point, scale, largest, element)
    }

    /// A start from a point, the scale around it, and the approximate largest coordinate of a sample.
    pub(crate) fn measured(point: Vec<f64>, scale: f64, largest: f64, element: ElementType) -> Self {
        // A step below the rounding error of the point changes nothing.
        let tolerance = if element == ElementType::F64 { 1e-10 } else { 1e-7 };
        Self { point, scale, tolerance: (0.1 * tolerance * scale).max(4.0 * f64::EPSILON * largest) }
    }

    /// True if a point is near enough to start from: within [`NEAR_START`] scales. Weights of the samples lose the digits of
    /// the point if a sample is many orders of magnitude farther away than the others.
    pub(crate) fn is_near(&self, point: &[f64]) -> bool {
        distance(&self.point, point) <= NEAR_START * self.scale
    }

    /// This start with its scale and another point.
    pub(crate) fn at(self, point: Vec<f64>) -> Self {
        Self { point, ..self }
    }
}

/// The samples at some places among the members of a support; `places` are ascending and depend on the number of members.
fn members_at(support: &[bool], places: impl FnOnce(usize) -> Vec<usize>) -> Vec<usize> {
    let members = || support.iter().enumerate().filter(|(_, member)| **member).map(|(sample, _)| sample);
    let mut wanted = places(members().count()).into_iter().peekable();
    members().enumerate().filter(|(place, _)| wanted.next_if_eq(place).is_some()).map(|(_, sample)| sample).collect()
}

/// The median of some values; for an even count the lower of the two middle values, which suffices for a start.
fn median_of(mut values: Vec<f64>) -> f64 {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The distance over the coordinates of `a` that are present.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let present = || a.iter().zip(b).filter(|(x, _)| !x.is_nan());
    let largest = present().fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * present().map(|(x, y)| ((x - y) / largest).powi(2)).sum::<f64>().sqrt()
}

/// The warning about an iteration that did not converge.
fn not_converged(tolerance: f64) -> String {
    format!(
        "the spatial median did not converge to {tolerance:.1e} in {MAX_EVALUATIONS} iterations (nearly collinear \
         samples?)"
    )
}

/// The spatial median of the samples in `support`, from `start.point`, and an optional warning. One pass per step.
pub(crate) fn by_passes(
    source: &dyn Source,
    support: Option<&[bool]>,
    start: &Start,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    iterate(source, support, None, start, runner)
}

/// The point of least sum of distances over the cells present, and an optional warning: each sample counts by its distance
/// along the features that it has. `empty` samples have no number. One pass per step.
pub(crate) fn of_present(
    source: &dyn Source,
    empty: u64,
    start: &Start,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    iterate(source, None, Some(empty), start, runner)
}

/// The iteration over all cells, or over those present in data with this number of samples without any.
fn iterate(
    source: &dyn Source,
    support: Option<&[bool]>,
    empty: Option<u64>,
    start: &Start,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Option<String>)> {
    struct Passes<'a, R> {
        source: &'a dyn Source,
        support: Option<&'a [bool]>,
        runner: &'a R,
        coincidence: f64,
        empty: Option<u64>,
        latest: Vec<f64>,
    }
    impl<R: Runner> WeiszfeldProblem for Passes<'_, R> {
        fn evaluate(&mut self, y: &[f64]) -> Result<Evaluation> {
            let mut gradient = SpatialGradient::new(y, self.support, self.coincidence);
            if self.empty.is_some() {
                gradient = gradient.over_present_cells();
                self.latest = memory::copied(y);
            }
            let sum = self.runner.run(&gradient, self.source)?;
            let coordinates = |values: Vec<f64>| Imaged { own: values, image: None };
            let evaluation = Evaluation::new(
                coordinates(memory::copied(y)),
                coordinates(sum.gradient),
                sum.inverse_distances,
                // A sample without any number coincides with every point.
                sum.coincident.saturating_sub(self.empty.unwrap_or(0)),
            );
            Ok(Evaluation { lengths: sum.lengths, nearest: sum.nearest, ..evaluation })
        }

        fn sample(&mut self, index: usize) -> Result<Vec<f64>> {
            let mut sample = read_sample(self.source, index)?;
            for (x, y) in sample.iter_mut().zip(&self.latest) {
                *x = if x.is_nan() { *y } else { *x };
            }
            Ok(sample)
        }
    }
    let coincidence = COINCIDENCE * start.scale;
    let mut passes = Passes { source, support, runner, coincidence, empty, latest: Vec::new() };
    let (point, converged) = minimize(&mut passes, start.point.clone(), start.tolerance)?;
    Ok((point, (!converged).then(|| not_converged(start.tolerance))))
}

/// The spatial median of the samples in `support` from the Gram matrix relative to any origin, and an optional warning.
/// The median is returned as affine weights a_i of the samples, which sum to 1; `start.point` holds the first weights.
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
            let column = Matrix::from_vec(a.len(), 1, memory::copied(a));
            self.runner.compute(|| product(self.gram, &column)).into_vec()
        }
    }
    impl<R: Runner> WeiszfeldProblem for Weights<'_, R> {
        fn evaluate(&mut self, a: &[f64]) -> Result<Evaluation> {
            self.runner.check_cancelled()?;
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let ka = self.times(a);
            let aka = dot(a, &ka);
            let mut gradient = vec![0.0; a.len()]; // weights of the samples; the term of the point is subtracted below
            let (mut lengths, mut inverse_distances, mut coincident, mut nearest) = (0.0, 0.0, 0, None);
            let members =
                gradient.iter_mut().enumerate().filter(|(i, _)| self.support.is_none_or(|support| support[*i]));
            for (i, gradient) in members {
                let length = (self.gram[(i, i)] - 2.0 * ka[i] + aka).max(0.0).sqrt();
                if length <= self.coincidence {
                    coincident += 1;
                    continue;
                }
                *gradient = 1.0 / length;
                inverse_distances += *gradient;
                lengths += length;
                if nearest.is_none_or(|(_, least)| length < least) {
                    nearest = Some((i, length));
                }
            }
            gradient.iter_mut().zip(a).for_each(|(p, a)| *p -= inverse_distances * a);
            let gradient = Imaged { image: Some(self.times(&gradient)), own: gradient };
            let point = Imaged { own: a.to_vec(), image: Some(ka) };
            Ok(Evaluation { lengths, nearest, ..Evaluation::new(point, gradient, inverse_distances, coincident) })
        }

        fn sample(&mut self, index: usize) -> Result<Vec<f64>> {
            let mut a = vec![0.0; self.gram.rows()];
            a[index] = 1.0;
            Ok(a)
        }
    }
    // Distances from K are roots of differences with half of the digits, so samples closer than that count as
    // coincident.
    let mut weights = Weights { gram, support, runner, coincidence: f64::EPSILON.sqrt() * start.scale };
    let (a, converged) = minimize(&mut weights, start.point.clone(), start.tolerance)?;
    Ok((a, (!converged).then(|| not_converged(start.tolerance))))
}
