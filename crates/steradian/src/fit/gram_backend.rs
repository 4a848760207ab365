//! The operations of the robust rounds within one Gram matrix (n x n) of exact products: after its pair pass, the rounds
//! read no data.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | o, an integer | `origin` | D |
//! | K_ij = (x_i - o)'(x_j - o) | `products` | n x n |
//! | a point o + sum a_i (x_i - o), with sum a_i = 1 | [`AffineWeights`] | n |
//! | vectors v = sum c_i (x_i - o), with sum c_i = 0 | [`SampleCombinations`] | n x k |
//!
//! Since the c_i sum to zero, v is the same around any point. Scores are (K c)_i - a'K c, squared norms
//! K_ii - 2 (K a)_i + a'K a, and the operator of weights w applied to y is W (I - 1 a') K (I - a 1') W y. u8 and u16 data give
//! integers in K, so no digits are lost before the subtraction in a squared norm. Cost: one pair pass; 2 n^2 l flops for each
//! application of the operator; at the end one pass for the center and one for the components.

use super::backend::{FitBackend, FitWeights};
use crate::center::spatial_median::{self, Start};
use crate::config::Config;
use crate::config::options::{Center, Weighting};
use crate::config::screen::Outlyingness;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{SampleDistances, WeightedRows, sine_outside};
use crate::numeric::linalg::{Matrix, product};
use crate::numeric::statistics::median;
use crate::screen::outlyingness::{self, OutlyingnessResult};
use crate::solver::certificate::Decomposed;
use crate::solver::decompose::Decomposer;
use crate::solver::gram::{self, GramMatrix, integer_origin, products_around, recenter};
use crate::solver::krylov::{self, Purpose};
use crate::solver::operator::Operator;
use crate::solver::operator::Width;

/// A squared norm below this fraction of its terms counts as zero.
const COINCIDENT: f64 = 1e-10;
/// Sines below this are rounding.
const SINE_ROUNDING: f64 = 1e-6;
/// A combination whose squared norm is below this fraction of the largest one counts as rounding.
const SHORT: f64 = 1e-12;

/// The exact Gram matrix and the fit that uses it.
pub(crate) struct GramBackend<'a, 'b, R> {
    config: &'a Config,
    decomposer: &'a Decomposer<'b, R>,
    warnings: &'a mut Vec<String>,
    origin: Vec<f64>,
    products: Matrix,
    /// The starting point of the next spatial median.
    start: Option<Start>,
}

/// A point as weights of the samples.
#[derive(Debug, Clone)]
pub(crate) struct AffineWeights {
    weights: Vec<f64>,
    /// The distance of each sample from it; 0 for a sample that lies on it.
    lengths: Vec<f64>,
}

/// Vectors as differences of samples.
pub(crate) struct SampleCombinations {
    /// c, as columns.
    columns: Matrix,
    /// K c.
    images: Matrix,
}

impl<'a, 'b, R: Runner> GramBackend<'a, 'b, R> {
    /// Computes the matrix of exact products; one pair pass. The data are integers.
    pub(crate) fn new(
        config: &'a Config,
        decomposer: &'a Decomposer<'b, R>,
        warnings: &'a mut Vec<String>,
    ) -> Result<Self> {
        let shape = decomposer.source.shape();
        let middle = integer_origin(shape.element).expect("the route is for integers");
        let origin = vec![middle; shape.features];
        let products = products_around(&origin, decomposer.source, decomposer.runner)?;
        Ok(Self { config, decomposer, warnings, origin, products, start: None })
    }

    fn times(&self, columns: &Matrix) -> Matrix {
        self.decomposer.runner.compute(|| product(&self.products, columns))
    }

    fn mixture(&self, weights: Vec<f64>) -> AffineWeights {
        let n = weights.len();
        let column = Matrix::from_vec(n, 1, weights);
        let b = self.times(&column);
        let c: f64 = column.data().iter().zip(b.data()).map(|(a, b)| a * b).sum();
        let length = |i: usize| {
            let own = self.products[(i, i)];
            let square = own - 2.0 * b.data()[i] + c;
            if square > COINCIDENT * (own + c.abs()) { square.sqrt() } else { 0.0 }
        };
        AffineWeights { lengths: (0..n).map(length).collect(), weights: column.into_vec() }
    }

    /// Vectors of unit length out of orthogonal ones; those that are only rounding are left out.
    fn combinations(&self, columns: Matrix) -> SampleCombinations {
        let images = self.times(&columns);
        let squares: Vec<f64> = (0..columns.columns())
            .map(|j| (0..columns.rows()).map(|i| columns[(i, j)] * images[(i, j)]).sum())
            .collect();
        let longest = squares.iter().fold(0.0f64, |m, s| m.max(*s));
        let whole = squares.iter().take_while(|s| **s > SHORT * longest).count();
        let unit = |matrix: &Matrix| {
            let mut unit = matrix.first_columns(whole);
            let rows = unit.data_mut().chunks_exact_mut(whole.max(1));
            rows.for_each(|row| row.iter_mut().zip(&squares).for_each(|(x, s)| *x /= s.sqrt()));
            unit
        };
        SampleCombinations { columns: unit(&columns), images: unit(&images) }
    }
}

/// The scores of all samples from a point: K c without its mean over the weights.
fn scores(point: &AffineWeights, images: &Matrix) -> Matrix {
    let mut scores = images.clone();
    let mut at_point = vec![0.0; images.columns()];
    for (row, a) in images.data().chunks_exact(images.columns().max(1)).zip(&point.weights) {
        at_point.iter_mut().zip(row).for_each(|(sum, x)| *sum += a * x);
    }
    let rows = scores.data_mut().chunks_exact_mut(images.columns().max(1));
    rows.for_each(|row| row.iter_mut().zip(&at_point).for_each(|(x, c)| *x -= c));
    scores
}

/// c = (I - a 1') W y: the same vectors as differences of samples.
fn differences(point: &AffineWeights, weights: &[f64], y: &Matrix) -> Matrix {
    let mut columns = y.clone();
    let mut sums = vec![0.0; y.columns()];
    for (row, w) in columns.data_mut().chunks_exact_mut(y.columns().max(1)).zip(weights) {
        row.iter_mut().zip(&mut sums).for_each(|(x, sum)| {
            *x *= w;
            *sum += *x;
        });
    }
    let rows = columns.data_mut().chunks_exact_mut(y.columns().max(1));
    rows.zip(&point.weights).for_each(|(row, a)| row.iter_mut().zip(&sums).for_each(|(x, sum)| *x -= a * sum));
    columns
}

fn scale_rows(matrix: &mut Matrix, weights: &[f64]) {
    let width = matrix.columns().max(1);
    let rows = matrix.data_mut().chunks_exact_mut(width);
    rows.zip(weights).for_each(|(row, w)| row.iter_mut().for_each(|x| *x *= w));
}

/// The weight of each sample, normalized to a total of 1; 0 for inactive samples.
fn weights(around: &FitWeights<'_, AffineWeights>) -> Vec<f64> {
    let factor = |i: usize| around.factors.map_or(1.0, |factors| factors[i]);
    let active = |i: usize, length: f64| {
        around.support.is_none_or(|support| support[i]) && (length > 0.0 || around.weighting == Weighting::Uniform)
    };
    let lengths = || around.point.lengths.iter().copied().enumerate();
    let mass: f64 = lengths().filter(|&(i, length)| active(i, length)).map(|(i, _)| factor(i).powi(2)).sum();
    lengths()
        .map(|(i, length)| match around.weighting {
            _ if !active(i, length) => 0.0,
            Weighting::Uniform => factor(i) / mass.sqrt(),
            Weighting::InverseNorm => factor(i) / length / mass.sqrt(),
        })
        .collect()
}

/// W (I - 1 a') K (I - a 1') W.
struct Weighted<'a, 'b, 'c, R> {
    within: &'a GramBackend<'b, 'c, R>,
    point: &'a AffineWeights,
    weights: &'a [f64],
}

impl<R: Runner> Operator for Weighted<'_, '_, '_, R> {
    fn dimension(&self) -> usize {
        self.weights.len()
    }

    fn apply(&self, y: &Matrix) -> Result<Matrix> {
        self.within.decomposer.runner.check_cancelled()?;
        let images = self.within.times(&differences(self.point, self.weights, y));
        let mut applied = scores(self.point, &images);
        scale_rows(&mut applied, self.weights);
        Ok(applied)
    }
}

impl<R: Runner> FitBackend for GramBackend<'_, '_, R> {
    type Point = AffineWeights;
    type Vectors = SampleCombinations;

    fn outlyingness(&mut self, screen: &Outlyingness) -> Result<OutlyingnessResult> {
        let Decomposer { d, seed, runner, .. } = *self.decomposer;
        outlyingness::within(screen, d, &self.products, seed, runner)
    }

    fn mean(&mut self, support: &[bool]) -> Result<AffineWeights> {
        let weight = 1.0 / support.iter().filter(|&&k| k).count() as f64;
        Ok(self.mixture(support.iter().map(|&k| if k { weight } else { 0.0 }).collect()))
    }

    fn center(&mut self, support: &[bool]) -> Result<AffineWeights> {
        let mean = self.mean(support)?;
        if self.config.center == Center::Mean {
            return Ok(mean);
        }
        let shape = self.decomposer.source.shape();
        let start = self.start.take().unwrap_or_else(|| {
            let distances: Vec<f64> = mean.lengths.iter().zip(support).filter(|(_, k)| **k).map(|(l, _)| *l).collect();
            Start::measured(mean.weights, median(distances), self.origin[0], shape.element)
        });
        let (weights, warning) =
            spatial_median::by_gram(&self.products, Some(support), &start, self.decomposer.runner)?;
        self.warnings.extend(warning);
        self.start = Some(start.at(weights.clone()));
        Ok(self.mixture(weights))
    }

    fn solve_approx(
        &mut self,
        around: &FitWeights<'_, AffineWeights>,
        start: Option<&SampleCombinations>,
    ) -> Result<SampleCombinations> {
        let Decomposer { d, seed, runner, .. } = *self.decomposer;
        let weights = weights(around);
        let operator = Weighted { within: self, point: around.point, weights: &weights };
        // The eigenvector of a vector v of data space is its weighted scores.
        let begin = start.map(|start| {
            let mut begin = scores(around.point, &start.images);
            scale_rows(&mut begin, &weights);
            begin
        });
        let count = Width::for_components(d, weights.len()).0;
        let target = (self.decomposer.approx_tolerance(), Purpose::Approximate);
        let found = krylov::top_vectors(&operator, begin.as_ref(), (d, count), target, seed, runner)?;
        Ok(self.combinations(differences(around.point, &weights, &found)))
    }

    fn count(vectors: &SampleCombinations) -> usize {
        vectors.columns.columns()
    }

    fn distances(&mut self, point: &AffineWeights, vectors: &SampleCombinations) -> Result<SampleDistances> {
        let d = self.decomposer.d;
        let scores = scores(point, &vectors.images.first_columns(d));
        let sine = |(length, scores): (&f64, &[f64])| match *length > 0.0 {
            true => sine_outside(scores, 1.0 / length, SINE_ROUNDING),
            false => 0.0,
        };
        let sines = point.lengths.iter().zip(scores.data().chunks_exact(d)).map(sine).collect();
        Ok(SampleDistances { lengths: point.lengths.clone(), sines, scores: Vec::new() })
    }

    fn solve_certified(
        &mut self,
        around: &FitWeights<'_, AffineWeights>,
        _start: Option<&SampleCombinations>,
    ) -> Result<(Vec<f64>, Decomposed)> {
        let Decomposer { source, runner, .. } = *self.decomposer;
        let weights = Matrix::from_vec(around.point.weights.len(), 1, around.point.weights.clone());
        let center = gram::affine_combination(&self.origin, &weights, source, runner)?;
        let mut directions = WeightedRows::new(&center, around.weighting, around.support);
        if let Some(factors) = around.factors {
            directions = directions.reweighted(factors);
        }
        let mut matrix = std::mem::take(&mut self.products);
        let cosines = recenter(&mut matrix, &weights, &directions, runner).map(|(lengths, rounding)| GramMatrix {
            active: vec![true; lengths.len()],
            matrix,
            lengths: Some(lengths),
            rounding,
        });
        // If too many digits were lost, the products are computed again, relative to the center.
        let decomposed = self.decomposer.solve_certified(directions, cosines, None)?;
        Ok((center, decomposed))
    }
}
