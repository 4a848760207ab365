//! Exact products of u8 in portable code: the fallback for CPUs without the vector instructions, and the reference of
//! tests.

use super::tile::{COLUMNS, Strip, Tile, WORDS, Word};

/// The tile with two values minus 128 per word, as i16.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

/// Writes values minus 128 as i16, followed by zeros. The order within a word does not matter, because it is the same
/// on both sides.
#[inline(always)]
pub(crate) fn centered(bytes: &[u8], words: &mut [Word; WORDS]) {
    let values: &mut [i16] = pulp::bytemuck::cast_slice_mut(words);
    let (own, rest) = values.split_at_mut(bytes.len());
    own.iter_mut().zip(bytes).for_each(|(to, x)| *to = i16::from(*x) - 128);
    rest.fill(0);
}

impl Tile for Scalar {
    const NUMBERS: usize = 2;
    const ROWS: usize = 6;

    fn left(self, bytes: &[u8], words: &mut [Word; WORDS]) -> i32 {
        centered(bytes, words);
        0
    }

    fn right(self, rows: [&[u8]; COLUMNS], strip: &mut Strip) {
        let mut words = [0; WORDS];
        for (place, row) in rows.into_iter().enumerate() {
            centered(row, &mut words);
            strip.0.iter_mut().zip(words).for_each(|(to, word)| to[place] = word);
        }
    }

    fn add(self, a: &[[Word; WORDS]], b: &Strip, words: usize, sums: &mut [i32], stride: usize) {
        let halves = |pair: Word| (pair >> 16, i32::from(pair as i16));
        for (a, sums) in a.iter().zip(sums.chunks_mut(stride)) {
            for (pair, b) in a.iter().zip(&b.0).take(words) {
                let (high, low) = halves(*pair);
                for (sum, pair) in sums.iter_mut().zip(b) {
                    let other = halves(*pair);
                    *sum += high * other.0 + low * other.1;
                }
            }
        }
    }
}
