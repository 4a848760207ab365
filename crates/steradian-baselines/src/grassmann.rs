//! Grassmann averages: components as (trimmed) averages of samples whose signs are turned towards them.
//!
//! | Hauberg et al. 2014 | here |
//! |---|---|
//! | x_n, deflated | columns of `Columns` |
//! | q | `q`, unit |
//! | sign(u_n'q) norm(x_n) u_n | the sample or its opposite, whichever is nearer to q |
//! | trimmed average, P percent | `trim` from each end of every coordinate; 0.5 leaves the median |
//!
//! One component at a time: from a random start and three steps of the power method,
//! q = average of sign(x'q) x, made unit, until no coordinate moves by the tolerance or more. Then q is made orthogonal to
//! the components before it, twice, and the samples are deflated. Order statistics come by selection, not by sorting.
//! Cost of a step: 2 n D flops and D selections among n; memory n D numbers.

use steradian::linalg::Matrix;
use steradian::random::{Stream, normal_matrix};
use steradian::{Certificate, Config, ElementType, Found, Iteration, Local, Model, Result, Runner, Source};
use steradian::{assemble, center};

use crate::columns::{ColumnFloat, Columns};
use crate::count;
use crate::method::trim;
use crate::orthogonal_iteration::require_rank;

/// Steps for one component before giving up.
const MAX_STEPS: usize = 200;
/// Steps of the power method that begin a component.
const POWER_STEPS: usize = 3;
/// Jumps from the last median of a coordinate towards the next one, until they are this many ranks apart, and single steps
/// from there; beyond, selection is faster.
const JUMPS: usize = 6;
const NEAR: usize = 2;
const STEPS: usize = 6;
/// A component of which less than this is left, beside the others, was none.
const MIN_NEW_NORM: f64 = 1e-12;
/// Samples whose squares sum up to less than this share of what they did at first are used up.
const RESIDUAL_ENERGY_MIN: f64 = 1e-12;

/// Fits Grassmann averages.
pub(crate) fn fit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Model> {
    let passes_before = runner.passes();
    let (point, warning) = center::checked_center(&config.center, source, config.seed, runner)?;
    let mut averages = match source.shape().element {
        ElementType::F64 => Averages::find(Columns::<f64>::read(source, &point, runner)?, config, runner)?,
        _ => Averages::find(Columns::<f32>::read(source, &point, runner)?, config, runner)?,
    };
    let d = count(config)?;
    require_rank(averages.components.len(), d, source.shape().samples)?;
    let mut vectors = Matrix::zeros(point.len(), d);
    for (k, q) in averages.components.iter().enumerate() {
        q.iter().enumerate().for_each(|(j, x)| vectors[(j, k)] = *x);
    }
    averages.warnings.extend(warning);
    let found = Found {
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

#[derive(Default)]
struct Averages {
    components: Vec<Vec<f64>>,
    iterations: Vec<usize>,
    warnings: Vec<String>,
}

impl Averages {
    /// As many components as are wanted, or as the samples have directions.
    fn find<F: ColumnFloat>(mut z: Columns<F>, config: &Config, runner: &Local) -> Result<Self> {
        let (d, features) = (count(config)?, z.features());
        let starts = normal_matrix(d, features, config.seed, Stream::Baselines);
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
                    "component {k} still moved by {change:.1e} after {steps} steps, not {:.1e}; ask for a larger tolerance, or \
                     trim less",
                    config.tolerance
                ));
            }
            if !remove(&mut q, &found.components) {
                q.copy_from_slice(starts.row(k));
                remove(&mut q, &found.components);
            }
            let y = z.project(&q, runner);
            z.deflate(&q, &y, runner);
            found.components.push(q);
            found.iterations.push(steps);
        }
        Ok(found)
    }
}

/// The average of the samples turned towards it, unit; the steps it took and the last change.
fn average<F: ColumnFloat>(
    z: &Columns<F>,
    start: &[f64],
    config: &Config,
    runner: &Local,
) -> Result<(Vec<f64>, usize, f64)> {
    let mut q = start.to_vec();
    make_unit(&mut q);
    for _ in 0..POWER_STEPS {
        let y = z.project(&q, runner);
        q = z.each(
            #[inline(always)]
            |_, column, _| dot(column, &y),
            runner,
        );
        make_unit(&mut q);
    }
    // ConeCounts in the middle of n normal numbers are about three mean magnitudes over n apart.
    let spacings = z.each(
        #[inline(always)]
        |_, column, _| 3.0 * magnitude(column) / column.len() as f64,
        runner,
    );
    let mut guesses: Option<Vec<f64>> = None;
    let mut change = f64::INFINITY;
    for step in 1..=MAX_STEPS {
        let y = z.project(&q, runner);
        let signs: Vec<F> = y.iter().map(|y| F::narrow(sign(y.widen()))).collect();
        let guess = |j: usize| guesses.as_ref().map(|guesses| (guesses[j], spacings[j]));
        let averages = z.each(
            #[inline(always)]
            |j, column, keys| trimmed_mean(column, &signs, trim(config), guess(j), keys),
            runner,
        );
        let mut next = averages.clone();
        if make_unit(&mut next) == 0.0 {
            return Ok((q, step, 0.0));
        }
        guesses = Some(averages);
        change = q.iter().zip(&next).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()));
        q = next;
        runner.iterated("average", Iteration { step, residual: change, rank: None })?;
        if change < config.tolerance {
            return Ok((q, step, change));
        }
    }
    Ok((q, MAX_STEPS, change))
}

/// -1, 0 or 1.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// The mean of a column times signs, without the share `trim` at each end. A guess at it, with the distance
/// between neighbours, saves time where it is good, and changes nothing.
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
    // One or two numbers are left in the middle, or none: the median.
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

/// The key of a rank and the one before it, found from a guess; `None` where the guess is too far off.
///
/// From step to step few samples turn, so the median of a coordinate moves by some ranks at most. A few jumps by the
/// distance between neighbours come near to it, and single steps end there. Each is a loop without branches over the keys,
/// so all together take half of a selection, or less.
#[inline(always)]
fn walk<F: ColumnFloat>(
    keys: &[F::Key],
    (mut guess, mut spacing): (f64, f64),
    rank: usize,
) -> Option<(F::Key, F::Key)> {
    let below = |at: F::Key| how_many(keys, |key| key < at);
    let upto = |at: F::Key| how_many(keys, |key| key <= at);
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
    for _ in 0..JUMPS {
        if low.abs_diff(rank) <= NEAR {
            break;
        }
        let (next, before) = (guess + (rank as f64 - low as f64) * spacing, low);
        at = key(next);
        low = below(at);
        // What the jump met is a better measure of the distance than the guess was.
        spacing = if low == before { 2.0 * spacing } else { (next - guess) / (low as f64 - before as f64) };
        guess = next;
    }
    let mut high = upto(at);
    for _ in 0..STEPS {
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

/// How many keys are such.
#[inline(always)]
fn how_many<K: Copy>(keys: &[K], such: impl Fn(K) -> bool) -> usize {
    let mut count = 0u32;
    for key in keys {
        count = count.wrapping_add(u32::from(such(*key))); // a check for overflow would forbid vectors
    }
    count as usize
}

/// The mean magnitude of the numbers of a column.
#[inline(always)]
fn magnitude<F: ColumnFloat>(column: &[F]) -> f64 {
    column.iter().map(|x| x.widen().abs()).sum::<f64>() / column.len() as f64
}

#[inline(always)]
fn dot<F: ColumnFloat>(column: &[F], y: &[F]) -> f64 {
    const LANES: usize = 8; // independent sums, so that the loop vectorises and rounding errors stay small
    let mut sums = [0.0; LANES];
    for (column, y) in column.chunks(LANES).zip(y.chunks(LANES)) {
        for (sum, (x, y)) in sums.iter_mut().zip(column.iter().zip(y)) {
            *sum += x.widen() * y.widen();
        }
    }
    sums.iter().sum()
}

/// Makes a vector unit and returns its length before; zero stays zero.
fn make_unit(q: &mut [f64]) -> f64 {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        q.iter_mut().for_each(|x| *x /= length);
    }
    length
}

/// Makes a vector orthogonal to others, twice, and unit; false where nothing is left.
fn remove(q: &mut [f64], others: &[Vec<f64>]) -> bool {
    for other in others.iter().chain(others) {
        let along: f64 = q.iter().zip(other).map(|(a, b)| a * b).sum();
        q.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
    }
    make_unit(q) > MIN_NEW_NORM
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By sorting, as the formula says it.
    fn plain(values: &[f64], trim: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let cut = (n as f64 * trim + 1e-9).floor() as usize;
        let kept = if 2 * cut >= n { &sorted[(n - 1) / 2..=n / 2] } else { &sorted[cut..n - cut] };
        kept.iter().sum::<f64>() / kept.len() as f64
    }

    proptest! {
        #[test]
        fn selection_finds_what_sorting_does(
            values in proptest::collection::vec(-100.0f64..100.0, 1..70),
            trim in 0.0f64..=0.5,
            flip in any::<u64>(),
        ) {
            let signs: Vec<f64> = (0..values.len()).map(|i| [1.0, -1.0][(flip >> (i % 64)) as usize & 1]).collect();
            let turned: Vec<f64> = values.iter().zip(&signs).map(|(x, s)| x * s).collect();
            for trim in [trim, 0.5, 0.0, 0.05] {
                let expected = plain(&turned, trim);
                for guess in [None, Some(expected), Some(expected + 4.0), Some(-200.0), Some(200.0), Some(turned[0])] {
                    let guess = guess.map(|guess| (guess, 1.0));
                    let found = trimmed_mean(&values, &signs, trim, guess, &mut Vec::new());
                    prop_assert!((found - expected).abs() < 1e-9, "{found} {expected} {guess:?}");
                }
            }
        }
    }
}
