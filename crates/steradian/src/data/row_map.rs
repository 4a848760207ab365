//! Row maps: the transforms that a view applies to each sample by itself, in a form that other processes can run.

use std::borrow::Cow;

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::numeric::linalg::Matrix;
use crate::numeric::random::{Stream, generator};

/// A transform of each sample by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum RowMap<'a> {
    /// Each feature divided by its scale.
    Scale(Cow<'a, [f64]>),
    /// The absolute deviation of each feature from a point.
    AbsDeviation(Cow<'a, [f64]>),
    /// Directions whose entries have random signs, for parallel analysis.
    SignFlip(SignFlips<'a>),
}

impl RowMap<'_> {
    /// Maps the sample with index `sample`.
    pub(crate) fn apply(&self, sample: usize, row: &mut [f64]) {
        match self {
            Self::Scale(scale) => row.iter_mut().zip(scale.iter()).for_each(|(x, s)| *x /= s),
            Self::AbsDeviation(point) => row.iter_mut().zip(point.iter()).for_each(|(x, m)| *x = (*x - m).abs()),
            Self::SignFlip(flips) => flips.apply(sample, row),
        }
    }
}

/// Directions about a center without their part along some components, each entry with a random sign.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SignFlips<'a> {
    pub(crate) center: Cow<'a, [f64]>,
    /// Orthonormal columns, D x k.
    pub(crate) components: Cow<'a, Matrix>,
    pub(crate) seed: u64,
    /// Index of the first sample's signs in the random stream; each sample of each draw has its own.
    pub(crate) first: usize,
}

impl SignFlips<'_> {
    fn apply(&self, sample: usize, row: &mut [f64]) {
        self.deflate(row);
        let mut signs = generator(self.seed, Stream::Signs);
        signs.set_word_pos(((self.first + sample) as u128) << 32);
        for cells in row.chunks_mut(64) {
            let mut bits = signs.next_u64();
            for x in cells {
                *x = if bits & 1 == 1 { -*x } else { *x };
                bits >>= 1;
            }
        }
    }

    /// Replaces a sample by its direction without the part along the components.
    fn deflate(&self, row: &mut [f64]) {
        row.iter_mut().zip(self.center.iter()).for_each(|(x, c)| *x -= c);
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            return;
        }
        row.iter_mut().for_each(|x| *x /= norm);
        let components = &self.components;
        for k in 0..components.columns() {
            let score: f64 = row.iter().enumerate().map(|(j, x)| x * components[(j, k)]).sum();
            row.iter_mut().enumerate().for_each(|(j, x)| *x -= score * components[(j, k)]);
        }
    }
}
