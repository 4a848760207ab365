//! The random generator: counter-based, so that a random number depends on seed, stream and index only.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::linalg::Matrix;
use crate::memory::{self, CollectReserved};

/// The purpose of random numbers; each has its own stream.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// The start block of the Krylov solver.
    Krylov = 1,
    /// The samples that start the spatial median.
    Subsample = 2,
    /// The pairs of samples that define projection directions.
    Pairs = 3,
    /// The samples for location and scale along a projection direction.
    Spread = 4,
    /// The signs of parallel analysis.
    Signs = 5,
    /// The start of the iterations of baselines.
    Baselines = 6,
    /// The anchors for the comparison of pivot candidates.
    Anchors = 7,
    /// The samples for robust variances of scores.
    Scores = 8,
    /// The samples for statistics of features.
    Statistics = 9,
    /// The samples whose digest identifies data.
    Fingerprint = 10,
    /// The rows of the sample that a search for a subspace works on.
    Sample = 11,
    /// The subsets that start the minimum covariance determinant.
    Subsets = 12,
    /// The signs that the number of components is counted against.
    CellSigns = 13,
}

/// The generator of a stream.
pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream as u64);
    generator
}

/// Random numbers per block; blocks are independent, so that threads can draw them in parallel.
const BLOCK: usize = 1 << 15;

/// A matrix of standard normal values, drawn on the current thread pool.
pub fn normal_matrix(rows: usize, columns: usize, seed: u64, stream: Stream) -> Matrix {
    let mut data = memory::filled(rows * columns, 0.0);
    data.par_chunks_mut(BLOCK).enumerate().for_each(|(block, numbers)| {
        let mut generator = generator(seed, stream);
        // Far more words than a block can use.
        generator.set_word_pos((block as u128) << 32);
        numbers.iter_mut().for_each(|x| *x = StandardNormal.sample(&mut generator));
    });
    Matrix::from_vec(rows, columns, data)
}

/// `count` different indices below `n`, ascending (all of them when `count >= n`).
pub(crate) fn subsample(n: usize, count: usize, seed: u64, stream: Stream) -> Vec<usize> {
    draw(n, count, generator(seed, stream))
}

/// Subsample number `time` of many, each independent of the others.
pub(crate) fn nth_subsample(n: usize, count: usize, seed: u64, stream: Stream, time: usize) -> Vec<usize> {
    let mut generator = generator(seed, stream);
    // Far more words than a subsample can use.
    generator.set_word_pos((time as u128) << 40);
    draw(n, count, generator)
}

/// A random subset of the samples of a pass. Membership of a sample depends on its index only, so that it is identical
/// for any number of threads, any partition of the data and after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomSubset {
    seed: u64,
    stream: u64,
    /// Samples whose random number is below this are members; `None` means all samples.
    limit: Option<u64>,
}

impl RandomSubset {
    /// All samples.
    pub fn all() -> Self {
        Self { seed: 0, stream: 0, limit: None }
    }

    /// About `most` of `samples`, or all if there are no more; the standard deviation of the size is at most
    /// `sqrt(most)`.
    pub fn about(most: usize, samples: usize, seed: u64, stream: Stream) -> Self {
        let fraction = most as f64 / samples.max(1) as f64;
        let limit = (most < samples).then_some((fraction * 2f64.powi(64)) as u64);
        Self { seed, stream: stream as u64, limit }
    }

    /// True if all samples are members.
    pub fn is_all(&self) -> bool {
        self.limit.is_none()
    }

    /// Membership of samples `first..first + count`.
    pub(crate) fn members(&self, first: usize, count: usize) -> Vec<bool> {
        let Some(limit) = self.limit else { return vec![true; count] };
        let mut generator = ChaCha8Rng::seed_from_u64(self.seed);
        generator.set_stream(self.stream);
        // Two words per sample.
        generator.set_word_pos(2 * first as u128);
        (0..count).map(|_| generator.next_u64() < limit).collect()
    }
}

fn draw(n: usize, count: usize, mut generator: ChaCha8Rng) -> Vec<usize> {
    if count >= n {
        return (0..n).collect_reserved();
    }
    // Floyd's algorithm: every subset is equally likely, and memory is proportional to the subset.
    let mut chosen = std::collections::BTreeSet::new();
    for top in n - count..n {
        let pick = (generator.next_u64() % (top as u64 + 1)) as usize;
        if !chosen.insert(pick) {
            chosen.insert(top);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subsample_has_different_members_and_depends_on_the_seed() {
        let a = subsample(1000, 100, 7, Stream::Subsample);
        assert_eq!(a.len(), 100);
        assert!(a.windows(2).all(|w| w[0] < w[1]) && a[99] < 1000);
        assert_eq!(a, subsample(1000, 100, 7, Stream::Subsample));
        assert_ne!(a, subsample(1000, 100, 8, Stream::Subsample));
        assert_eq!(subsample(3, 9, 0, Stream::Subsample), [0, 1, 2]);
    }

    #[test]
    fn a_random_subset_is_the_same_in_parts_and_follows_no_period() {
        let subset = RandomSubset::about(10_000, 40_000, 3, Stream::Scores);
        let whole = subset.members(0, 40_000);
        let parts: Vec<bool> = [0..17, 17..4096, 4096..40_000]
            .into_iter()
            .flat_map(|part| subset.members(part.start, part.len()))
            .collect();
        assert_eq!(whole, parts);
        for period in [2, 3, 4, 7] {
            for phase in 0..period {
                let own = whole.iter().skip(phase).step_by(period);
                let (members, all) = own.fold((0, 0), |(m, n), member| (m + usize::from(*member), n + 1));
                let expected = f64::from(all) / 4.0;
                assert!((members as f64 - expected).abs() < 5.0 * expected.sqrt(), "{members} of {all}");
            }
        }
        assert_ne!(whole, RandomSubset::about(10_000, 40_000, 4, Stream::Scores).members(0, 40_000));
        assert!(RandomSubset::about(5, 5, 0, Stream::Scores).is_all());
        assert_eq!(RandomSubset::all().members(7, 3), [true; 3]);
    }
}
