//! Row maps: the transforms that a view applies to each sample by itself, in a form that other processes can run.

use std::borrow::Cow;

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, require_finite, require_length};
use crate::error::Result;
use crate::numeric::linalg::Matrix;
use crate::numeric::magnitude::times_power_of_two;
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
    /// Every feature times 2 to this power, exactly, for data far from 1.
    PowerOfTwo(i32),
    /// Every missing cell replaced by its feature's coordinate of a point.
    Fill(Cow<'a, [f64]>),
}

impl RowMap<'_> {
    /// Rejects a map that does not agree with the data: it may come from bytes of another process. `end` is the index after
    /// the last sample.
    pub(crate) fn check(&self, features: usize, end: usize) -> Result<()> {
        match self {
            Self::Scale(scale) => {
                require_length("the list of scales", scale.len(), features)?;
                require_finite("the list of scales", scale)?;
                match scale.iter().position(|s| *s == 0.0) {
                    Some(place) => Err(inconsistent(format!("the scale of feature {place} is 0"))),
                    None => Ok(()),
                }
            }
            Self::AbsDeviation(point) => {
                require_length("the point of deviations", point.len(), features)?;
                require_finite("the point of deviations", point)
            }
            Self::Fill(point) => {
                require_length("the point of missing cells", point.len(), features)?;
                require_finite("the point of missing cells", point)
            }
            Self::SignFlip(flips) => {
                require_length("the center", flips.center.len(), features)?;
                require_finite("the center", &flips.center)?;
                require_length("the rows of the components", flips.components.rows(), features)?;
                match flips.first.checked_add(end) {
                    Some(_) => Ok(()),
                    None => Err(inconsistent(format!("the signs start at {}", flips.first))),
                }
            }
            // No two finite f64 values differ by more than 2^2098.
            Self::PowerOfTwo(power) if power.unsigned_abs() > 2098 => {
                Err(inconsistent(format!("the data are multiplied by 2^{power}")))
            }
            Self::PowerOfTwo(_) => Ok(()),
        }
    }

    /// Maps the sample with index `sample`.
    pub(crate) fn apply(&self, sample: usize, row: &mut [f64]) {
        match self {
            Self::Scale(scale) => row.iter_mut().zip(scale.iter()).for_each(|(x, s)| *x /= s),
            Self::AbsDeviation(point) => row.iter_mut().zip(point.iter()).for_each(|(x, m)| *x = (*x - m).abs()),
            Self::Fill(point) => {
                for (x, fill) in row.iter_mut().zip(point.iter()) {
                    *x = if x.is_nan() { *fill } else { *x };
                }
            }
            Self::SignFlip(flips) => flips.apply(sample, row),
            Self::PowerOfTwo(power) => row.iter_mut().for_each(|x| *x = times_power_of_two(*x, *power)),
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
