//! Iteration for the spatial median, the point of least sum of distances: Weiszfeld's with the Vardi-Zhang correction,
//! accelerated.
//!
//! | symbol | here |
//! |---|---|
//! | y | the point, as coordinates or as weights of samples |
//! | minus the gradient | `pull`: the sum of unit directions from y to the samples |
//!
//! The sum of distances is convex, and smooth away from samples, so a quasi-Newton step (limited-memory BFGS, Nocedal
//! 1980) with Weiszfeld's step as its first guess gets through narrow valleys; where it raises the sum, Weiszfeld's own
//! step, which never does, takes its place. When the point approaches a sample, that sample is tried, since the
//! iteration would only creep towards it. An evaluation is one pass over the data, or none when y is weights and the
//! n x n matrix is there; then inner products in data space go through that matrix, so that every vector carries its
//! image (itself when y is coordinates).

use std::collections::VecDeque;

use crate::error::Result;

/// Steps that shape the next one.
const MEMORY: usize = 8;
/// Samples that are tried as the answer.
const SAMPLE_TRIALS: usize = 4;
/// A sample nearer than this many steps may be what makes the steps short.
const BESIDE: f64 = 1e3;
/// Attempts to shorten a step that raised the sum; the last is Weiszfeld's own, which never does.
const RETREATS: usize = 3;
/// Rises of the sum of distances below this share are rounding.
const ROUNDING: f64 = 1e-14;
/// Evaluations before giving up.
pub(crate) const MAX_EVALUATIONS: usize = 100;

/// A vector of the representation, and what inner products are taken with: itself where there is no image.
#[derive(Debug, Clone)]
pub(crate) struct Imaged {
    pub own: Vec<f64>,
    pub image: Option<Vec<f64>>,
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

/// What the samples do to a point.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// The point.
    pub point: Imaged,
    /// The sum of unit directions to the samples that do not lie on it.
    pub pull: Imaged,
    /// Weiszfeld's step is this much of the pull.
    pub per_pull: f64,
    /// The sum of distances.
    pub lengths: f64,
    /// Samples on the point.
    pub coincident: u64,
    /// The nearest other sample and its distance.
    pub nearest: Option<(usize, f64)>,
}

impl Evaluation {
    /// Vardi and Zhang's correction shortens Weiszfeld's step by what the samples on the point hold back.
    pub(crate) fn new(point: Imaged, pull: Imaged, inverse_lengths: f64, coincident: u64) -> Self {
        let held = if coincident == 0 { 0.0 } else { (coincident as f64 / pull.length()).min(1.0) };
        let per_pull = if inverse_lengths > 0.0 { (1.0 - held) / inverse_lengths } else { 0.0 };
        Self { point, pull, per_pull, lengths: 0.0, coincident, nearest: None }
    }

    /// The samples on the point outweigh the pull of the others: it is the answer.
    fn settled(&self) -> bool {
        self.per_pull == 0.0
    }

    fn plain_step(&self) -> Imaged {
        let mut step = self.pull.clone();
        step.scale(self.per_pull);
        step
    }
}

/// A point in some representation, and what samples do to it.
pub(crate) trait WeiszfeldProblem {
    /// What the samples do to `y`.
    fn evaluate(&mut self, y: &[f64]) -> Result<Evaluation>;

    /// A sample in the representation of y.
    fn sample(&mut self, index: usize) -> Result<Vec<f64>>;
}

/// Minimises the sum of distances from `start` until a step is shorter than `tolerance`, in data units.
/// Returns the point and whether that happened within [`MAX_EVALUATIONS`].
pub(crate) fn minimise(
    pulled: &mut impl WeiszfeldProblem,
    start: Vec<f64>,
    tolerance: f64,
) -> Result<(Vec<f64>, bool)> {
    let mut y = start;
    let mut best: Option<Evaluation> = None;
    let mut retreats = 0;
    let mut curvature = Curvature::default();
    let mut tried: Vec<usize> = Vec::new();
    for evaluation in 1..=MAX_EVALUATIONS {
        let e = pulled.evaluate(&y)?;
        if e.settled() {
            return Ok((y, true));
        }
        if let Some(base) = best.take() {
            if base.coincident + e.coincident == 0 {
                curvature.learn(e.point.clone().minus(&base.point), base.pull.clone().minus(&e.pull));
            }
            // A step too far taught how the sum bends there: the next guess from the same point is shorter.
            if retreats < RETREATS && e.lengths > base.lengths * (1.0 + ROUNDING) {
                retreats += 1;
                let plain = retreats == RETREATS || base.coincident > 0;
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
        // Beside a sample every step is short, since that sample outweighs the others: the sample itself decides.
        let beside = e.nearest.filter(|(_, distance)| *distance < BESIDE * plain_length);
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
            let candidate = pulled.sample(sample)?;
            let there = pulled.evaluate(&candidate)?;
            if there.settled() {
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
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// What the last steps told about the curvature.
#[derive(Default)]
struct Curvature {
    pairs: VecDeque<(Imaged, Imaged, f64)>, // step, fall of the pull, their product
}

impl Curvature {
    fn learn(&mut self, step: Imaged, fall: Imaged) {
        let product = step.dot(&fall);
        if product <= f64::EPSILON * step.length() * fall.length() {
            return;
        }
        if self.pairs.len() == MEMORY {
            self.pairs.pop_front();
        }
        self.pairs.push_back((step, fall, product));
    }

    /// The quasi-Newton step along the pull: the two-loop recursion.
    fn step(&self, e: &Evaluation) -> Imaged {
        let mut q = e.pull.clone();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for (step, fall, product) in self.pairs.iter().rev() {
            let alpha = q.dot(step) / product;
            q.add(-alpha, fall);
            alphas.push(alpha);
        }
        let first = match self.pairs.back() {
            Some((_, fall, product)) => product / fall.dot(fall),
            None => e.per_pull,
        };
        q.scale(first);
        for ((step, fall, product), alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = q.dot(fall) / product;
            q.add(alpha - beta, step);
        }
        q
    }
}
