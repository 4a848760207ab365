//! Grassmann averages: components as (trimmed) averages of samples with aligned signs.
//!
//! | Hauberg et al. 2014 | here |
//! |---|---|
//! | x_n, deflated | columns of `Columns` |
//! | q | `q`, unit |
//! | sign(u_n'q) norm(x_n) u_n | the sample or its negative, whichever is closer to q |
//! | trimmed average, P percent | fraction `trim` removed at each end of every feature; 0.5 gives the median |
//!
//! Components are computed one at a time. The iteration starts from a random vector and three steps of the power
//! method, and repeats q = average of sign(x'q) x, normalized, until no coordinate changes by the tolerance or more.
//! Then q is orthogonalized twice against the previous components, and the samples are deflated. Order statistics are
//! selected without sorting. Cost per step: 2 n D flops and D selections among n values; memory: n D values.

use steradian::center::{self, Finite};
use steradian::data::ElementType;
use steradian::engine::{Iteration, Runner};
use steradian::fit::FittedSubspace;
use steradian::fit::assemble;
use steradian::linalg::Matrix;
use steradian::memory::CollectReserved;
use steradian::model::Certificate;
use steradian::random::{Stream, normal_matrix};
use steradian::{Config, Local, Model, Result};

use crate::columns::{ColumnFloat, Columns};
use crate::count;
use crate::method::trim;
use crate::orthogonal_iteration::require_rank;

/// Largest number of steps per component.
const MAX_STEPS: usize = 200;
/// Number of steps of the power method before the first average of a component.
const POWER_STEPS: usize = 3;
/// Largest number of jumps from the last median of a feature towards the next one; with more jumps selection is faster.
const MAX_JUMPS: usize = 6;
/// Difference in ranks below which single steps follow the jumps.
const STEP_RANKS: usize = 2;
/// Largest number of single steps.
const MAX_SINGLE_STEPS: usize = 6;
/// A component whose norm outside the span of the previous ones is at most this is rounding.
const MIN_NEW_NORM: f64 = 1e-12;
/// Fraction of the initial sum of squares at which the deflated samples have no further direction.
const RESIDUAL_ENERGY_MIN: f64 = 1e-12;

/// Fits Grassmann averages.
pub(crate) fn fit(config: &Config, data: &Finite<'_>, runner: &Local) -> Result<Model> {
    let (source, passes_before) = (data.source, runner.passes());
    let (point, warning) = center::by_passes(config.center(), data, config.seed(), runner)?;
    let seed = data.start_seed(config.seed());
    let mut averages = match source.shape().element {
        ElementType::F64 => Averages::find(Columns::<f64>::read(source, &point, runner)?, config, seed, runner)?,
        _ => Averages::find(Columns::<f32>::read(source, &point, runner)?, config, seed, runner)?,
    };
    let d = count(config)?;
    require_rank(averages.components.len(), d, source.shape().samples)?;
    let mut vectors = Matrix::zeros(point.len(), d);
    for (k, q) in averages.components.iter().enumerate() {
        q.iter().enumerate().for_each(|(j, x)| vectors[(j, k)] = *x);
    }
    averages.warnings.extend(warning);
    let found = FittedSubspace {
        center: point,
        vectors,
        eigenvalues: None,
        certificate: Certificate {
            residual: f64::NAN,
            sine_bound: f64::NAN,
            converged: averages.iterations.iter().all(|steps| *steps < MAX_STEPS),
        },
        iterations: averages.iterations,
        warnings: averages.warnings,
    };
    assemble(config, found, passes_before, source, runner)
}

/// Components with the number of steps of each, and warnings.
#[derive(Default)]
struct Averages {
    components: Vec<Vec<f64>>,
    iterations: Vec<usize>,
    warnings: Vec<String>,
}

impl Averages {
    /// The requested number of components, or fewer if the rank of the samples is lower.
    fn find<F: ColumnFloat>(mut z: Columns<F>, config: &Config, seed: u64, runner: &Local) -> Result<Self> {
        let (d, features) = (count(config)?, z.features());
        let starts = normal_matrix(d, features, seed, Stream::Baselines);
        let squares = |z: &Columns<F>| {
            let of = |_, column: &[F], _: &mut Vec<F::Key>| column.iter().map(|x| x.widen().powi(2)).sum();
            z.each(of, runner).iter().sum::<f64>()
        };
        let all = squares(&z);
        let mut found = Self::default();
        for k in 0..d {
            if squares(&z) <= RESIDUAL_ENERGY_MIN * all {
                return Ok(found);
            }
            let (mut q, steps, change) = average(&z, starts.row(k), config, runner)?;
            if steps == MAX_STEPS {
                found.warnings.push(format!(
                    "not converged: component {k} changed by {change:.1e} > tolerance {:.1e} in iteration {steps}; \
                     increase the tolerance or reduce trim",
                    config.tolerance()
                ));
            }
            if !orthogonalize(&mut q, &found.components) {
                q.copy_from_slice(starts.row(k));
                orthogonalize(&mut q, &found.components);
            }
            let y = z.project(&q, runner);
            z.deflate(&q, &y, runner);
            found.components.push(q);
            found.iterations.push(steps);
        }
        Ok(found)
    }
}

/// The average of the samples with aligned signs, normalized; the number of steps and the last change.
fn average<F: ColumnFloat>(
    z: &Columns<F>,
    start: &[f64],
    config: &Config,
    runner: &Local,
) -> Result<(Vec<f64>, usize, f64)> {
    let mut q = start.to_vec();
    normalize(&mut q);
    for _ in 0..POWER_STEPS {
        let y = z.project(&q, runner);
        q = z.each(
            #[inline(always)]
            |_, column, _| dot(column, &y),
            runner,
        );
        normalize(&mut q);
    }
    // Neighboring order statistics in the middle of n normal values are about three mean magnitudes over n apart.
    let spacings = z.each(
        #[inline(always)]
        |_, column, _| 3.0 * magnitude(column) / column.len() as f64,
        runner,
    );
    let mut guesses: Option<Vec<f64>> = None;
    let mut change = f64::INFINITY;
    for step in 1..=MAX_STEPS {
        let y = z.project(&q, runner);
        let signs = y.iter().map(|y| F::narrow(sign(y.widen()))).collect_reserved();
        let guess = |j: usize| guesses.as_ref().map(|guesses| (guesses[j], spacings[j]));
        let averages = z.each(
            #[inline(always)]
            |j, column, keys| trimmed_mean(column, &signs, trim(config), guess(j), keys),
            runner,
        );
        let mut next = averages.clone();
        if normalize(&mut next) == 0.0 {
            return Ok((q, step, 0.0));
        }
        guesses = Some(averages);
        change = q.iter().zip(&next).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()));
        q = next;
        runner.iterated("average", Iteration { step, residual: change, rank: None })?;
        if change < config.tolerance() {
            return Ok((q, step, change));
        }
    }
    Ok((q, MAX_STEPS, change))
}

/// -1, 0 or 1.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// The mean of a column times signs, without the fraction `trim` at each end. A guess of the mean and the spacing of
/// neighboring values reduce the time, not the result.
#[inline(always)]
fn trimmed_mean<F: ColumnFloat>(
    column: &[F],
    signs: &[F],
    trim: f64,
    guess: Option<(f64, f64)>,
    keys: &mut Vec<F::Key>,
) -> f64 {
    let n = column.len();
    let cut = (n as f64 * trim + 1e-9).floor() as usize;
    if cut == 0 {
        return dot(column, signs) / n as f64;
    }
    keys.clear();
    keys.extend(column.iter().zip(signs).map(|(x, s)| x.signed_key(*s)));
    // At most two values remain: the median.
    if 2 * cut + 2 >= n {
        let walked = guess.and_then(|guess| walk::<F>(keys, guess, n / 2));
        let (low, high) = walked.unwrap_or_else(|| {
            let (below, high, _) = keys.select_nth_unstable(n / 2);
            (below.iter().max().copied().unwrap_or(*high), *high)
        });
        return if n.is_multiple_of(2) { 0.5 * (F::of_key(low) + F::of_key(high)) } else { F::of_key(high) };
    }
    let (_, _, above) = keys.select_nth_unstable(cut - 1);
    let (between, last, _) = above.select_nth_unstable(n - 2 * cut - 1);
    let sum = between.iter().map(|key| F::of_key(*key)).sum::<f64>() + F::of_key(*last);
    sum / (n - 2 * cut) as f64
}

/// The key of a rank and the key before it, found from a guess; `None` if the guess is too far off.
///
/// Few samples change their sign between two steps, so the median of a feature moves by a few ranks at most. A few
/// jumps by the spacing of neighboring values approach it, and single steps reach it. Each jump or step is a loop
/// without branches over the keys; together they take at most half the time of a selection.
#[inline(always)]
fn walk<F: ColumnFloat>(
    keys: &[F::Key],
    (mut guess, mut spacing): (f64, f64),
    rank: usize,
) -> Option<(F::Key, F::Key)> {
    let below = |at: F::Key| count_keys(keys, |key| key < at);
    let upto = |at: F::Key| count_keys(keys, |key| key <= at);
    let before = |at: F::Key| {
        let mut largest = F::LOWEST;
        for key in keys {
            largest = largest.max(if *key < at { *key } else { F::LOWEST });
        }
        largest
    };
    let after = |at: F::Key| {
        let mut least = F::HIGHEST;
        for key in keys {
            least = least.min(if *key > at { *key } else { F::HIGHEST });
        }
        least
    };
    let key = |x: f64| F::narrow(x).signed_key(F::narrow(1.0));
    let mut at = key(guess);
    let mut low = below(at);
    for _ in 0..MAX_JUMPS {
        if low.abs_diff(rank) <= STEP_RANKS {
            break;
        }
        let (next, before) = (guess + (rank as f64 - low as f64) * spacing, low);
        at = key(next);
        low = below(at);
        // The jump gives a better estimate of the spacing.
        spacing = if low == before { 2.0 * spacing } else { (next - guess) / (low as f64 - before as f64) };
        guess = next;
    }
    let mut high = upto(at);
    for _ in 0..MAX_SINGLE_STEPS {
        if rank < low {
            at = before(at);
            (high, low) = (low, below(at));
        } else if rank >= high {
            at = after(at);
            (low, high) = (high, upto(at));
        } else {
            return Some((if rank > low { at } else { before(at) }, at));
        }
    }
    None
}

/// Number of keys that satisfy a predicate.
#[inline(always)]
fn count_keys<K: Copy>(keys: &[K], predicate: impl Fn(K) -> bool) -> usize {
    let mut count = 0u32;
    for key in keys {
        count = count.wrapping_add(u32::from(predicate(*key))); // an overflow check would prevent vectorization
    }
    count as usize
}

/// The mean absolute value of a column.
#[inline(always)]
fn magnitude<F: ColumnFloat>(column: &[F]) -> f64 {
    column.iter().map(|x| x.widen().abs()).sum::<f64>() / column.len() as f64
}

#[inline(always)]
fn dot<F: ColumnFloat>(column: &[F], y: &[F]) -> f64 {
    const LANES: usize = 8; // independent sums: the loop vectorizes and rounding errors stay small
    let mut sums = [0.0; LANES];
    for (column, y) in column.chunks(LANES).zip(y.chunks(LANES)) {
        for (sum, (x, y)) in sums.iter_mut().zip(column.iter().zip(y)) {
            *sum += x.widen() * y.widen();
        }
    }
    sums.iter().sum()
}

/// Normalizes a vector and returns its previous norm; zero stays zero.
fn normalize(q: &mut [f64]) -> f64 {
    // Squares of coordinates far from 1 overflow or underflow.
    let largest = q.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    q.iter_mut().for_each(|x| *x /= largest);
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.iter_mut().for_each(|x| *x /= norm);
    largest * norm
}

/// Orthogonalizes a vector twice against others and normalizes it; false if only rounding remains.
fn orthogonalize(q: &mut [f64], others: &[Vec<f64>]) -> bool {
    for other in others.iter().chain(others) {
        let along: f64 = q.iter().zip(other).map(|(a, b)| a * b).sum();
        q.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
    }
    normalize(q) > MIN_NEW_NORM
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The trimmed mean by sorting.
    fn by_sorting(values: &[f64], trim: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let cut = (n as f64 * trim + 1e-9).floor() as usize;
        let middle = if 2 * cut >= n { &sorted[(n - 1) / 2..=n / 2] } else { &sorted[cut..n - cut] };
        middle.iter().sum::<f64>() / middle.len() as f64
    }

    proptest! {
        #[test]
        fn selection_equals_sorting(
            values in proptest::collection::vec(-100.0f64..100.0, 1..70),
            trim in 0.0f64..=0.5,
            flip in any::<u64>(),
        ) {
            let signs: Vec<f64> = (0..values.len()).map(|i| [1.0, -1.0][(flip >> (i % 64)) as usize & 1]).collect();
            let signed: Vec<f64> = values.iter().zip(&signs).map(|(x, s)| x * s).collect();
            for trim in [trim, 0.5, 0.0, 0.05] {
                let expected = by_sorting(&signed, trim);
                for guess in [None, Some(expected), Some(expected + 4.0), Some(-200.0), Some(200.0), Some(signed[0])] {
                    let guess = guess.map(|guess| (guess, 1.0));
                    let found = trimmed_mean(&values, &signs, trim, guess, &mut Vec::new());
                    prop_assert!((found - expected).abs() < 1e-9, "{found} {expected} {guess:?}");
                }
            }
        }
    }
}
