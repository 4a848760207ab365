//! The point of least sum of distances: Weiszfeld's iteration with the Vardi-Zhang correction, accelerated.
//!
//! | symbol | here |
//! |---|---|
//! | y | the point, as coordinates or as weights of samples |
//! | T(y) | `y + step` |
//!
//! Each step is the next point of a descent; Anderson mixing of the last few steps (Walker and Ni 2011) jumps ahead,
//! and is taken back when the sum of distances rises. When the point approaches a sample, that sample is tried, since
//! the iteration would only creep towards it. An evaluation is one pass over the data, or none when y is weights and
//! the n x n matrix is there.

use crate::error::Result;
use crate::linalg::{Matrix, symmetric_eigen};

/// Steps that are mixed.
const MEMORY: usize = 6;
/// Samples that are tried as the answer.
const SAMPLE_TRIALS: usize = 4;
/// Evaluations before giving up.
pub(crate) const MAX_EVALUATIONS: usize = 100;

/// What the samples do to a point.
pub(crate) struct Evaluation {
    /// T(y) - y.
    pub step: Vec<f64>,
    /// Its length in data units.
    pub step_length: f64,
    /// The sum of distances.
    pub lengths: f64,
    /// The samples on the point outweigh the pull of the others: it is the answer.
    pub settled: bool,
    /// The nearest other sample and its distance.
    pub nearest: Option<(usize, f64)>,
}

/// A point in some representation, and what samples do to it.
pub(crate) trait Pulled {
    /// What the samples do to `y`.
    fn evaluate(&mut self, y: &[f64]) -> Result<Evaluation>;

    /// A sample in the representation of y.
    fn sample(&mut self, index: usize) -> Result<Vec<f64>>;
}

/// Vardi and Zhang's correction: how much of Weiszfeld's step remains when `coincident` samples lie on the point and
/// the others pull with a total of `pull_length` unit vectors. 0 means that the point is the answer.
pub(crate) fn remaining_step(coincident: u64, pull_length: f64) -> f64 {
    if coincident == 0 {
        return 1.0;
    }
    if pull_length == 0.0 { 0.0 } else { (1.0 - coincident as f64 / pull_length).max(0.0) }
}

/// Minimises the sum of distances from `start` until a step is shorter than `tolerance`, in data units.
/// Returns the point and whether that happened within [`MAX_EVALUATIONS`].
pub(crate) fn minimise(pulled: &mut impl Pulled, start: Vec<f64>, tolerance: f64) -> Result<(Vec<f64>, bool)> {
    let mut y = start;
    let mut best: Option<(f64, Vec<f64>)> = None; // the least sum of distances, and the plain step from there
    let mut history = History::default();
    let mut tried: Vec<usize> = Vec::new();
    for evaluation in 1..=MAX_EVALUATIONS {
        let e = pulled.evaluate(&y)?;
        if e.settled {
            return Ok((y, true));
        }
        if e.step_length <= tolerance {
            return Ok((sum(&y, &e.step), true));
        }
        if let Some((least, plain)) = &best
            && e.lengths > *least
            && !history.is_empty()
        {
            y = plain.clone();
            history = History::default();
            continue;
        }
        if let Some((sample, distance)) = e.nearest
            && evaluation > 3
            && distance < 10.0 * e.step_length
            && tried.len() < SAMPLE_TRIALS
            && !tried.contains(&sample)
        {
            tried.push(sample);
            let candidate = pulled.sample(sample)?;
            if pulled.evaluate(&candidate)?.settled {
                return Ok((candidate, true));
            }
        }
        let plain = sum(&y, &e.step);
        let next = history.mix(&y, &e.step)?;
        best = Some((e.lengths, plain));
        y = next;
    }
    Ok((y, false))
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The last points and steps, for Anderson mixing.
#[derive(Default)]
struct History {
    last: Option<(Vec<f64>, Vec<f64>)>,
    differences: std::collections::VecDeque<(Vec<f64>, Vec<f64>)>, // of steps, and of T
}

impl History {
    fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Remembers y and its step, and returns the mixed next point.
    fn mix(&mut self, y: &[f64], step: &[f64]) -> Result<Vec<f64>> {
        if let Some((y_last, step_last)) = self.last.take() {
            let by_step: Vec<f64> = step.iter().zip(&step_last).map(|(a, b)| a - b).collect();
            let by_t = by_step.iter().zip(y.iter().zip(&y_last)).map(|(s, (a, b))| s + a - b).collect();
            if self.differences.len() == MEMORY {
                self.differences.pop_front();
            }
            self.differences.push_back((by_step, by_t));
        }
        self.last = Some((y.to_vec(), step.to_vec()));
        let mut next = sum(y, step);
        for (gamma, (_, by_t)) in self.least_squares(step)?.into_iter().zip(&self.differences) {
            next.iter_mut().zip(by_t).for_each(|(x, t)| *x -= gamma * t);
        }
        Ok(next)
    }

    /// The mixture of step differences that is nearest to the step; directions of little weight are left out.
    fn least_squares(&self, step: &[f64]) -> Result<Vec<f64>> {
        let m = self.differences.len();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let lengths: Vec<f64> = self.differences.iter().map(|(f, _)| dot(f, f).sqrt()).collect();
        if m == 0 || lengths.iter().any(|l| !l.is_normal()) {
            return Ok(vec![0.0; m]);
        }
        let mut gram = Matrix::zeros(m, m);
        for i in 0..m {
            for j in 0..m {
                gram[(i, j)] = dot(&self.differences[i].0, &self.differences[j].0) / lengths[i] / lengths[j];
            }
        }
        let right: Vec<f64> = (0..m).map(|i| dot(&self.differences[i].0, step) / lengths[i]).collect();
        let (values, vectors) = symmetric_eigen(&gram)?;
        let mut gamma = vec![0.0; m];
        for k in (0..m).filter(|&k| values[k] > 1e-12 * values[0]) {
            let along: f64 = (0..m).map(|i| vectors[(i, k)] * right[i]).sum::<f64>() / values[k];
            (0..m).for_each(|i| gamma[i] += vectors[(i, k)] * along / lengths[i]);
        }
        Ok(gamma)
    }
}
