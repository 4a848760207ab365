//! The outlyingness screen: how far each sample lies from the bulk along the worst of many directions.
//!
//! | symbol | here |
//! |---|---|
//! | v, the unit direction through a pair of samples | a column of `vectors` |
//! | m(v), s(v): mean and deviation of the h projections with the least variance | [`Spread`] |
//! | o_i = max over v of abs(x_i'v - m(v)) / s(v) | `outlyingness` |
//! | t = OD^(2/3), close to normal (Wilson and Hilferty 1931) | in [`near`] |
//!
//! Stahel 1981, Donoho 1982; pairs as in ROBPCA (Hubert et al. 2005). Cost: a pass of 2 n D 32 flops for every 32
//! directions; above [`SPREAD_SAMPLES`] samples another over a fixed subsample of them.

use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::block::{Block, each_element};
use crate::center::spatial_median::{Start, read_sample};
use crate::config::{Outlyingness, Weighting};
use crate::derived::Picked;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::random::{Stream, generator, subsample};
use crate::run::Runner;
use crate::source::Source;
use crate::sums::{Directions, FarthestAlong, Precision, Projection, Units};
use crate::univariate::{Spread, least_variance_window, shortest_window};

/// Directions that one pass looks along.
pub(crate) const GROUP: usize = 32;
/// Samples that location and scale along a direction come from, at most.
pub(crate) const SPREAD_SAMPLES: usize = 20_000;
/// A spread below this share of the data's own scale is rounding: the samples lie on a hyperplane.
const FLAT: f64 = 1e-10;
/// The same where samples are projected in single precision.
const SINGLE_FLAT: f64 = 1e-5;
/// Standard deviations of t that a kept sample may lie above its location.
const NEAR: f64 = 2.5;
/// Draws for each direction that is wanted, before coinciding pairs are accepted as fewer directions.
const DRAWS: usize = 4;

/// What the screen found.
#[derive(Debug, Clone)]
pub(crate) struct Outlying {
    /// The outlyingness of each sample; infinite off a hyperplane that holds more than half of them.
    pub values: Vec<f64>,
    /// What the user should know of such a hyperplane.
    pub warning: Option<String>,
}

/// How many samples start the fit: a bare majority.
pub(crate) fn majority(n: usize, d: usize) -> usize {
    (n + d).div_ceil(2).max(d + 2).min(n)
}

/// The passes over the data that the screen makes.
pub(crate) fn passes(screen: &Outlyingness) -> usize {
    screen.pairs.as_ref().map_or(screen.directions, Vec::len).div_ceil(GROUP)
}

/// The outlyingness of every sample.
pub(crate) fn outlyingness(
    screen: &Outlyingness,
    d: usize,
    source: &dyn Source,
    seed: u64,
    runner: &impl Runner,
) -> Result<Outlying> {
    measured(screen, d, source, seed, runner, |_| {})
}

/// Some directions and where the bulk lies along them: what other samples can be measured by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Gauge {
    /// Where samples are seen from.
    pub point: Vec<f64>,
    /// Unit vectors, as columns.
    pub vectors: Matrix,
    /// The bulk along each.
    pub spreads: Vec<Spread>,
    /// A spread up to this is none.
    pub flat: f64,
}

/// The outlyingness of every sample; `keep` receives what it was measured by, group after group.
pub(crate) fn measured(
    screen: &Outlyingness,
    d: usize,
    source: &dyn Source,
    seed: u64,
    runner: &impl Runner,
    mut keep: impl FnMut(Gauge),
) -> Result<Outlying> {
    let shape = source.shape();
    let n = shape.samples;
    // Seen from the middle of the data, projections keep their digits; their spread does not depend on the point.
    let start = Start::new(source, seed)?;
    let directions = Directions::new(&start.point, Weighting::Uniform, None);
    let flat = start.scale * if shape.element.is_double() { FLAT } else { SINGLE_FLAT };
    let few = n > SPREAD_SAMPLES;
    let picked = Picked::new(source, subsample(n, SPREAD_SAMPLES, seed, Stream::Spread));
    let h = if few { majority(SPREAD_SAMPLES, d) } else { majority(n, d) };
    let mut values = vec![0.0f64; n];
    let mut on_plane = None;
    let pairs = directed_pairs(screen, source, seed)?;
    for group in pairs.chunks(GROUP) {
        let vectors = unit_differences(group, source)?;
        let gather = Projection::new(directions, &vectors, Units::Data, Precision::Working, shape.element);
        let projected = runner.run(&gather, if few { &picked } else { source })?.values;
        let spreads: Vec<Spread> = runner.compute(|| spreads(&projected, group.len(), h));
        for (spread, pair) in spreads.iter().zip(group) {
            if spread.scale <= flat && on_plane.is_none() {
                on_plane = Some(*pair);
            }
        }
        let farthest = FarthestAlong::new(directions, &vectors, spreads.clone(), flat, shape.element);
        if few {
            let own = runner.run(&farthest, source)?;
            values.iter_mut().zip(own).for_each(|(o, own)| *o = o.max(own));
        } else {
            values.iter_mut().zip(projected.chunks(group.len())).for_each(|(o, y)| *o = o.max(farthest.of(y)));
        }
        drop(farthest);
        keep(Gauge { point: start.point.clone(), vectors, spreads, flat });
    }
    let warning = on_plane.map(|[i, j]| {
        let off = values.iter().filter(|o| o.is_infinite()).count();
        format!(
            "more than half of the samples ({} of {n}) lie on a hyperplane, seen along the direction through samples {i} \
             and {j}; the others are taken for outliers",
            n - off
        )
    });
    Ok(Outlying { values, warning })
}

fn spreads(projected: &[f64], width: usize, h: usize) -> Vec<Spread> {
    (0..width)
        .into_par_iter()
        .map(|column| {
            let mut values: Vec<f64> = projected[column..].iter().step_by(width).copied().collect();
            values.sort_by(f64::total_cmp);
            least_variance_window(&values, h)
        })
        .collect()
}

/// The `h` least outlying samples; of equals the first.
pub(crate) fn least_outlying(values: &[f64], h: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
    let mut kept = vec![false; values.len()];
    order[..h].iter().for_each(|&i| kept[i] = true);
    kept
}

/// The samples whose distance is within the bulk of all, judged by the shortest window that holds `h` of them.
pub(crate) fn near(distances: &[f64], h: usize) -> Vec<bool> {
    let limit = bulk_limit(distances, h, NEAR);
    distances.iter().map(|od| od.powf(2.0 / 3.0) <= limit).collect()
}

/// The end of the bulk of some distances, to the power of 2/3: so many standard deviations above its location.
pub(crate) fn bulk_limit(distances: &[f64], h: usize, deviations: f64) -> f64 {
    let bulk = shortest_window(distances.iter().map(|od| od.powf(2.0 / 3.0)).collect(), h);
    bulk.location + deviations * bulk.scale
}

/// Pairs of samples that differ: those given, or drawn ones.
fn directed_pairs(screen: &Outlyingness, source: &dyn Source, seed: u64) -> Result<Vec<[usize; 2]>> {
    let n = source.shape().samples;
    let differ = |[i, j]: [usize; 2]| -> Result<bool> { Ok(i != j && !same_sample(source, i, j)?) };
    let mut pairs = Vec::new();
    let asked = match &screen.pairs {
        Some(given) => {
            for &pair in given {
                if differ(pair)? {
                    pairs.push(pair);
                }
            }
            given.len()
        }
        None => {
            let mut numbers = generator(seed, Stream::Pairs);
            let mut below = |bound: usize| (numbers.next_u64() % bound as u64) as usize;
            for _ in 0..DRAWS * screen.directions {
                let i = below(n);
                let pair = [i, (i + 1 + below(n - 1)) % n];
                if differ(pair)? {
                    pairs.push(pair);
                }
                if pairs.len() == screen.directions {
                    break;
                }
            }
            DRAWS * screen.directions
        }
    };
    if pairs.is_empty() {
        return Err(Error::data(format!(
            "the two samples of each of {asked} pairs are equal; there is no direction to find: remove duplicate samples, or \
             use the method angular"
        )));
    }
    Ok(pairs)
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
    let value = |block: &Block<'_>, column: usize| each_element!(block, data => data.get(0, column).widen());
    (0..a.columns()).all(|column| value(a, column) == value(b, column))
}

/// Unit vectors along the differences of pairs, as columns.
fn unit_differences(pairs: &[[usize; 2]], source: &dyn Source) -> Result<Matrix> {
    let mut vectors = Matrix::zeros(source.shape().features, pairs.len());
    for (column, &[i, j]) in pairs.iter().enumerate() {
        let (a, b) = (read_sample(source, i)?, read_sample(source, j)?);
        let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let largest = difference.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
        let length = difference.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
        difference.iter().enumerate().for_each(|(row, x)| vectors[(row, column)] = x / largest / length);
    }
    Ok(vectors)
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

    #[test]
    fn a_far_distance_is_not_near() {
        let mut distances: Vec<f64> = (0..40).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        distances.push(9.0);
        let kept = near(&distances, 21);
        assert!(kept[..40].iter().all(|&k| k) && !kept[40]);
    }
}
