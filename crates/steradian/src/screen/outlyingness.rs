//! The outlyingness screen (Stahel-Donoho): the largest robust z-score of each sample over many projection directions.
//!
//! | symbol | here |
//! |---|---|
//! | v, the projection direction through a pair of samples | a column of `vectors` |
//! | m(v), s(v): mean and standard deviation of the h projections with the least variance | [`LocationScale`] |
//! | o_i = max over v of abs(x_i'v - m(v)) / s(v) | `outlyingness` |
//! | t = OD^(2/3), close to normal (Wilson and Hilferty 1931) | in [`near`] |
//!
//! Stahel 1981, Donoho 1982; pairs as in ROBPCA (Hubert et al. 2005). Cost: one pass of 2 n D 32 flops per 32
//! projection directions; above [`SPREAD_SAMPLES`] samples one more over a fixed subsample of them.

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::unit_directions::unit_differences;
use crate::center::spatial_median::Start;
use crate::config::options::Weighting;
use crate::config::screen::Outlyingness;
use crate::data::block::Block;
use crate::data::source::Source;
use crate::data::view::SubsetSource;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{MaxOutlyingness, Projection, ProjectionUnits, WeightedRows, max_z_score};
use crate::kernel::operand::Precision;
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{Stream, generator, subsample};
use crate::numeric::statistics::{LocationScale, least_variance_window, shortest_window};

/// Number of projection directions per pass.
pub(crate) const GROUP: usize = 32;
/// Largest number of samples from which location and scale along a direction are computed.
pub(crate) const SPREAD_SAMPLES: usize = 20_000;
/// A scale below this fraction of the scale of the data is rounding: the samples lie on a hyperplane.
const FLAT: f64 = 1e-10;
/// The value of [`FLAT`] for projections in f32.
const SINGLE_FLAT: f64 = 1e-5;
/// Bytes of samples that are prefetched together.
const PREFETCH_BYTES: usize = 64 << 20;
/// Draws per requested direction; if too many pairs coincide, there are fewer directions.
const DRAWS: usize = 4;

/// Result of the outlyingness screen.
#[derive(Debug, Clone)]
pub(crate) struct OutlyingnessResult {
    /// The outlyingness of each sample; infinite for samples off a hyperplane that contains more than half of them.
    pub values: Vec<f64>,
    /// The warning about such a hyperplane.
    pub warning: Option<String>,
}

/// Size of the h-subset, a bare majority of the samples.
pub(crate) fn majority(n: usize, d: usize) -> usize {
    (n + d).div_ceil(2).max(d + 2).min(n)
}

/// Number of passes over all samples.
pub(crate) fn passes(screen: &Outlyingness) -> usize {
    screen.pairs.as_ref().map_or(screen.n_directions, Vec::len).div_ceil(GROUP)
}

/// The outlyingness of every sample.
pub(crate) fn outlyingness(
    screen: &Outlyingness,
    d: usize,
    source: &dyn Source,
    seed: u64,
    runner: &impl Runner,
) -> Result<OutlyingnessResult> {
    measured(screen, d, source, seed, runner, |_| {})
}

/// Projection directions with location and scale along each, from which the outlyingness of other samples is computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ProjectionStats {
    /// The point that is subtracted from samples.
    pub point: Vec<f64>,
    /// Unit vectors, as columns.
    pub vectors: Matrix,
    /// Location and scale along each column.
    pub spreads: Vec<LocationScale>,
    /// Scales up to this value count as zero.
    pub flat: f64,
}

/// The outlyingness of every sample; `keep` receives the directions, locations and scales of each group.
pub(crate) fn measured(
    screen: &Outlyingness,
    d: usize,
    source: &dyn Source,
    seed: u64,
    runner: &impl Runner,
    mut keep: impl FnMut(ProjectionStats),
) -> Result<OutlyingnessResult> {
    let shape = source.shape();
    let n = shape.samples;
    // Relative to a central point, projections keep their digits; their scale does not depend on the point.
    let start = Start::new(source, seed)?;
    let directions = WeightedRows::new(&start.point, Weighting::Uniform, None);
    let flat = start.scale * if shape.element.is_double() { FLAT } else { SINGLE_FLAT };
    let subsampled = n > SPREAD_SAMPLES;
    let subset = SubsetSource::new(source, subsample(n, SPREAD_SAMPLES, seed, Stream::Spread));
    let h = if subsampled { majority(SPREAD_SAMPLES, d) } else { majority(n, d) };
    let mut accumulator = OutlyingnessAccumulator::new(n);
    let differ = |pairs: &[[usize; 2]]| {
        prefetch_pairs(pairs, source)?;
        pairs.iter().map(|&[i, j]| Ok(!same_sample(source, i, j)?)).collect()
    };
    let pairs = directed_pairs(screen, n, seed, pairs_at_once(source), differ)?;
    for group in pairs.chunks(GROUP) {
        let vectors = unit_differences(group, source)?;
        let gather =
            Projection::new(directions.clone(), &vectors, ProjectionUnits::Original, Precision::Working, shape.element);
        let projected = runner.run(&gather, if subsampled { &subset } else { source })?.values;
        let spreads: Vec<LocationScale> = runner.compute(|| spreads(&projected, group.len(), h));
        if subsampled {
            let max_z_score = MaxOutlyingness::new(directions.clone(), &vectors, spreads.clone(), flat, shape.element);
            accumulator.add(group, &spreads, flat, runner.run(&max_z_score, source)?);
        } else {
            accumulator.add(group, &spreads, flat, of_all(&projected, &spreads, flat));
        }
        keep(ProjectionStats { point: start.point.clone(), vectors, spreads, flat });
    }
    Ok(accumulator.finish())
}

/// The largest robust z-score of each sample over some directions.
fn of_all(projected: &[f64], spreads: &[LocationScale], flat: f64) -> Vec<f64> {
    projected.chunks(spreads.len()).map(|y| max_z_score(y, spreads, flat)).collect_reserved()
}

/// The outlyingness over the directions so far, and the first pair whose direction has zero scale.
struct OutlyingnessAccumulator {
    values: Vec<f64>,
    on_plane: Option<[usize; 2]>,
}

impl OutlyingnessAccumulator {
    fn new(samples: usize) -> Self {
        Self { values: memory::filled(samples, 0.0), on_plane: None }
    }

    fn add(&mut self, pairs: &[[usize; 2]], spreads: &[LocationScale], flat: f64, max_z_score: Vec<f64>) {
        let flat_one = spreads.iter().zip(pairs).find(|(spread, _)| spread.scale <= flat);
        self.on_plane = self.on_plane.or(flat_one.map(|(_, pair)| *pair));
        self.values.iter_mut().zip(max_z_score).for_each(|(o, own)| *o = o.max(own));
    }

    fn finish(self) -> OutlyingnessResult {
        let (n, values) = (self.values.len(), self.values);
        let warning = self.on_plane.map(|[i, j]| {
            let off = values.iter().filter(|o| o.is_infinite()).count();
            format!(
                "{} of {n} samples lie on a hyperplane (projection through samples {i} and {j} has zero spread); the \
                 remaining {off} are treated as outliers",
                n - off
            )
        });
        OutlyingnessResult { values, warning }
    }
}

/// Location and scale of the `h` projections of least variance, per direction.
fn spreads(projected: &[f64], width: usize, h: usize) -> Vec<LocationScale> {
    (0..width)
        .into_par_iter()
        .map(|column| {
            let mut values = projected[column..].iter().step_by(width).copied().collect_reserved();
            values.sort_unstable_by(f64::total_cmp);
            least_variance_window(&values, h)
        })
        .collect()
}

/// Mask of the `h` least outlying samples; among equal values those with the lowest index.
pub(crate) fn least_outlying(values: &[f64], h: usize) -> Vec<bool> {
    let mut order = (0..values.len()).collect_reserved();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let mut support = memory::filled(values.len(), false);
    order[..h].iter().for_each(|&i| support[i] = true);
    support
}

/// Upper limit of the bulk of some distances, to the power of 2/3: `deviations` standard deviations above its location.
pub(crate) fn bulk_limit(distances: &[f64], h: usize, deviations: f64) -> f64 {
    let bulk = shortest_window(distances.iter().map(|od| od.powf(2.0 / 3.0)).collect_reserved(), h);
    bulk.location + deviations * bulk.scale
}

/// Pairs of samples that differ: those of `screen`, or random ones. `differ` compares up to `at_once` pairs per call.
fn directed_pairs(
    screen: &Outlyingness,
    n: usize,
    seed: u64,
    at_once: usize,
    differ: impl Fn(&[[usize; 2]]) -> Result<Vec<bool>>,
) -> Result<Vec<[usize; 2]>> {
    let (proposed, count) = match &screen.pairs {
        Some(given) => (given.clone(), given.len()),
        None => {
            let mut numbers = generator(seed, Stream::Pairs);
            let mut below = |bound: usize| (numbers.next_u64() % bound as u64) as usize;
            let mut draw = || {
                let i = below(n);
                [i, (i + 1 + below(n - 1)) % n]
            };
            ((0..DRAWS * screen.n_directions).map(|_| draw()).collect(), screen.n_directions)
        }
    };
    let mut pairs = Vec::new();
    // At most `count` pairs per call: random rows of a streamed or distributed source are expensive.
    for chunk in proposed.chunks(at_once.min(count).max(1)) {
        if pairs.len() >= count {
            break;
        }
        let different = chunk.iter().zip(differ(chunk)?).filter(|([i, j], differ)| i != j && *differ);
        pairs.extend(different.map(|(pair, _)| *pair).take(count - pairs.len()));
    }
    if pairs.is_empty() {
        return Err(Error::invalid_data(format!(
            "the samples of all {} pairs are equal, so there is no direction to find; remove duplicate samples, or use \
             the method angular",
            proposed.len()
        )));
    }
    Ok(pairs)
}

/// Number of pairs whose samples fit into [`PREFETCH_BYTES`].
fn pairs_at_once(source: &dyn Source) -> usize {
    let pair_bytes = 2 * source.shape().features * source.shape().element.bytes();
    (PREFETCH_BYTES / pair_bytes.max(1)).max(GROUP)
}

fn prefetch_pairs(pairs: &[[usize; 2]], source: &dyn Source) -> Result<()> {
    source.prefetch(pairs.as_flattened())
}

fn same_sample(source: &dyn Source, i: usize, j: usize) -> Result<bool> {
    let mut same = true;
    source.visit(i..i + 1, &mut |a| {
        source.visit(j..j + 1, &mut |b| {
            same = equal_rows(&a, &b);
            Ok(())
        })
    })?;
    Ok(same)
}

fn equal_rows(a: &Block<'_>, b: &Block<'_>) -> bool {
    let row = |block: &Block<'_>| {
        let mut row = vec![0.0; block.columns()];
        block.read_row(0, &mut row);
        row
    };
    row(a) == row(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_more_than_half() {
        assert_eq!(majority(50, 2), 26);
        assert_eq!(majority(200, 3), 102);
        assert_eq!(majority(5, 2), 4);
        assert_eq!(majority(4, 2), 4);
        assert!((3..200).all(|n| (1..5).all(|d| 2 * majority(n, d) > n || majority(n, d) == n)));
    }
}
