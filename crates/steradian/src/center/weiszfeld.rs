//! Iteration for the spatial median, the point of least sum of distances: Weiszfeld's algorithm with the Vardi-Zhang
//! correction, accelerated by limited-memory BFGS.
//!
//! | symbol | here |
//! |---|---|
//! | y | the point, as coordinates or as affine weights of the samples |
//! | minus the gradient | `gradient`: the sum of unit directions from y to the samples |
//!
//! The sum of distances is convex, and smooth except at the samples. A quasi-Newton step (limited-memory BFGS, Nocedal
//! 1980) that starts from Weiszfeld's step therefore converges in narrow valleys, too. Where it increases the sum,
//! Weiszfeld's step, which never increases it, is taken instead. When the point approaches a sample, that sample is
//! tried as the solution, because the iteration converges slowly towards a sample. An evaluation is one pass over the
//! data, or none when y is weights and the Gram matrix is in memory. Then inner products in data space are computed
//! with that matrix, so every vector is stored together with its image, the product of the Gram matrix and the vector.

use std::collections::VecDeque;

use crate::error::Result;
use crate::memory::{self, CollectReserved};

/// Number of previous steps that limited-memory BFGS stores.
const MEMORY: usize = 8;
/// Largest number of samples that are tried as the solution.
const SAMPLE_TRIALS: usize = 4;
/// A sample nearer than this many step lengths may be the reason for short steps.
const NEAR_SAMPLE_STEPS: f64 = 1e3;
/// Attempts to shorten a step that increased the sum; the last attempt is Weiszfeld's step, which never increases it.
const MAX_RETREATS: usize = 3;
/// Relative increases of the sum of distances below this are rounding errors.
const ROUNDING: f64 = 1e-14;
/// Largest number of evaluations.
pub(crate) const MAX_EVALUATIONS: usize = 100;

/// A vector y and its image K y, with which inner products in data space are computed; no image for coordinates.
#[derive(Debug)]
pub(crate) struct Imaged {
    pub own: Vec<f64>,
    pub image: Option<Vec<f64>>,
}

impl Clone for Imaged {
    fn clone(&self) -> Self {
        Self { own: memory::copied(&self.own), image: self.image.as_deref().map(memory::copied) }
    }
}

impl Imaged {
    fn dot(&self, other: &Self) -> f64 {
        self.own.iter().zip(other.image.as_ref().unwrap_or(&other.own)).map(|(a, b)| a * b).sum()
    }

    fn length(&self) -> f64 {
        self.dot(self).max(0.0).sqrt()
    }

    fn add(&mut self, factor: f64, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += factor * b);
        add(&mut self.own, &other.own);
        if let (Some(to), Some(from)) = (&mut self.image, &other.image) {
            add(to, from);
        }
    }

    fn scale(&mut self, factor: f64) {
        self.own.iter_mut().chain(self.image.iter_mut().flatten()).for_each(|x| *x *= factor);
    }

    fn minus(mut self, other: &Self) -> Self {
        self.add(-1.0, other);
        self
    }
}

/// The sum of distances at a point, and its gradient.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// The point.
    pub point: Imaged,
    /// The sum of unit directions from the point to the samples that do not coincide with it.
    pub gradient: Imaged,
    /// Weiszfeld's step divided by `gradient`.
    pub per_gradient: f64,
    /// The sum of distances.
    pub lengths: f64,
    /// Number of samples that coincide with the point.
    pub coincident: u64,
    /// The nearest other sample and its distance.
    pub nearest: Option<(usize, f64)>,
}

impl Evaluation {
    /// An evaluation without the sum of distances and the nearest sample. The correction of Vardi and Zhang shortens
    /// Weiszfeld's step by the fraction min(1, coincident / norm(gradient)).
    pub(crate) fn new(point: Imaged, gradient: Imaged, inverse_distances: f64, coincident: u64) -> Self {
        let held = if coincident == 0 { 0.0 } else { (coincident as f64 / gradient.length()).min(1.0) };
        let per_gradient = if inverse_distances > 0.0 { (1.0 - held) / inverse_distances } else { 0.0 };
        Self { point, gradient, per_gradient, lengths: 0.0, coincident, nearest: None }
    }

    /// True if the point is the solution: the coincident samples outweigh the gradient of the others.
    fn is_solution(&self) -> bool {
        self.per_gradient == 0.0
    }

    fn plain_step(&self) -> Imaged {
        let mut step = self.gradient.clone();
        step.scale(self.per_gradient);
        step
    }
}

/// The sum of distances to the samples, as a function of a point in some representation.
pub(crate) trait WeiszfeldProblem {
    /// The sum of distances and its gradient at `y`.
    fn evaluate(&mut self, y: &[f64]) -> Result<Evaluation>;

    /// A sample in the representation of y.
    fn sample(&mut self, index: usize) -> Result<Vec<f64>>;
}

/// Minimizes the sum of distances from `start` until a step is shorter than `tolerance`, in data units. Returns the
/// point, and true if the iteration converged within [`MAX_EVALUATIONS`].
pub(crate) fn minimize(
    problem: &mut impl WeiszfeldProblem,
    start: Vec<f64>,
    tolerance: f64,
) -> Result<(Vec<f64>, bool)> {
    let mut y = start;
    let mut best: Option<Evaluation> = None;
    let mut retreats = 0;
    let mut curvature = Curvature::default();
    let mut tried: Vec<usize> = Vec::new();
    for evaluation in 1..=MAX_EVALUATIONS {
        let e = problem.evaluate(&y)?;
        if e.is_solution() {
            return Ok((y, true));
        }
        if let Some(base) = best.take() {
            if base.coincident + e.coincident == 0 {
                curvature.update(e.point.clone().minus(&base.point), base.gradient.clone().minus(&e.gradient));
            }
            // A step that increased the sum has updated the curvature: the next step from this base is shorter.
            if retreats < MAX_RETREATS && e.lengths > base.lengths * (1.0 + ROUNDING) {
                retreats += 1;
                let plain = retreats == MAX_RETREATS || base.coincident > 0;
                let step = if plain { base.plain_step() } else { curvature.step(&base) };
                y = sum(&base.point.own, &step.own);
                best = Some(base);
                continue;
            }
        }
        retreats = 0;
        let plain = e.plain_step();
        let plain_length = plain.length();
        let step = if e.coincident == 0 { curvature.step(&e) } else { plain };
        let reach = step.length().max(plain_length);
        // Near a sample every step is short, because that sample outweighs the others: the sample is tried instead.
        let beside = e.nearest.filter(|(_, distance)| *distance < NEAR_SAMPLE_STEPS * plain_length);
        if reach <= tolerance && beside.is_none() {
            return Ok((sum(&y, &step.own), true));
        }
        if let Some((sample, distance)) = e.nearest
            && (reach <= tolerance
                || evaluation > 3
                    && distance < 2.0 * reach.max(5.0 * plain_length)
                    && tried.len() < SAMPLE_TRIALS
                    && !tried.contains(&sample))
        {
            tried.push(sample);
            let candidate = problem.sample(sample)?;
            let there = problem.evaluate(&candidate)?;
            if there.is_solution() {
                return Ok((candidate, true));
            }
            if reach <= tolerance {
                y = sum(&candidate, &there.plain_step().own);
                curvature = Curvature::default();
                continue;
            }
        }
        y = sum(&y, &step.own);
        best = Some(e);
    }
    Ok((y, false))
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect_reserved()
}

/// Curvature of the sum of distances, estimated from the last steps.
#[derive(Default)]
struct Curvature {
    pairs: VecDeque<(Imaged, Imaged, f64)>, // step, decrease of the gradient, their inner product
}

impl Curvature {
    fn update(&mut self, step: Imaged, fall: Imaged) {
        let product = step.dot(&fall);
        if product <= f64::EPSILON * step.length() * fall.length() {
            return;
        }
        if self.pairs.len() == MEMORY {
            self.pairs.pop_front();
        }
        self.pairs.push_back((step, fall, product));
    }

    /// The quasi-Newton step: the inverse Hessian times the gradient, by the two-loop recursion.
    fn step(&self, e: &Evaluation) -> Imaged {
        let mut q = e.gradient.clone();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for (step, fall, product) in self.pairs.iter().rev() {
            let alpha = q.dot(step) / product;
            q.add(-alpha, fall);
            alphas.push(alpha);
        }
        let first = match self.pairs.back() {
            Some((_, fall, product)) => product / fall.dot(fall),
            None => e.per_gradient,
        };
        q.scale(first);
        for ((step, fall, product), alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = q.dot(fall) / product;
            q.add(alpha - beta, step);
        }
        q
    }
}
