//! Checksums of samples: 64 bits of all values in order, for data that are read repeatedly and must not change.
//!
//! Shape, element type and every bit of every value enter the checksum; the memory layout does not. It detects accidents, not
//! attacks: four lanes of one multiplication per 8 bytes, so that it costs little beside a pass.

use std::ops::Range;

use steradian::data::{BlockData, Element, Rows, Shape};
use steradian::{Result, Source};

/// Rows per visit.
const ROWS: usize = 256;
/// Independent sums, so that multiplications overlap.
const LANES: usize = 4;
/// Odd multiplier, 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of all rows, in order.
pub fn checksum(source: &dyn Source) -> Result<u64> {
    let &Shape { samples, features, element, .. } = source.shape();
    let mut sum = Checksum { sums: [1, 2, 3, 4] };
    sum.add(&[samples as u64, features as u64, element.bytes() as u64]);
    let mut words = Vec::with_capacity(features);
    for first in (0..samples).step_by(ROWS) {
        let rows = first..(first + ROWS).min(samples);
        source.visit(rows, &mut |block| {
            match block.data() {
                BlockData::U8(rows) => sum.add_rows(&rows, &mut words, u64::from),
                BlockData::U16(rows) => sum.add_rows(&rows, &mut words, u64::from),
                BlockData::F32(rows) => sum.add_rows(&rows, &mut words, |x| u64::from(x.to_bits())),
                BlockData::F64(rows) => sum.add_rows(&rows, &mut words, f64::to_bits),
            }
            Ok(())
        })?;
    }
    Ok(sum.finish())
}

struct Checksum {
    sums: [u64; LANES],
}

impl Checksum {
    fn add_rows<T: Element>(&mut self, rows: &Rows<'_, T>, words: &mut Vec<u64>, bits: impl Fn(T) -> u64) {
        let columns = rows.columns();
        for row in 0..rows.rows() {
            words.clear();
            match rows.row(row, 0, columns) {
                Some(values) => pack(values.iter().copied(), values.len(), words, &bits),
                None => pack((0..columns).map(|column| rows.get(row, column)), columns, words, &bits),
            }
            self.add(words);
        }
    }

    fn add(&mut self, words: &[u64]) {
        for words in words.chunks(LANES) {
            for (lane, word) in self.sums.iter_mut().zip(words) {
                *lane = (*lane ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
            }
        }
    }

    fn finish(self) -> u64 {
        self.sums.iter().fold(0, |sum, lane| {
            let mixed = (sum ^ lane).wrapping_mul(MULTIPLIER);
            mixed ^ (mixed >> 32)
        })
    }
}

/// Appends the bits of values, as many per word as fit.
fn pack<T>(values: impl Iterator<Item = T>, count: usize, words: &mut Vec<u64>, bits: impl Fn(T) -> u64) {
    let per_word = 8 / size_of::<T>();
    let width = 64 / per_word as u32;
    let mut values = values;
    let each: Range<usize> = 0..count.div_ceil(per_word);
    words.extend(each.map(|_| {
        values
            .by_ref()
            .take(per_word)
            .map(&bits)
            .fold(0, |word: u64, value| word.checked_shl(width).unwrap_or(0) | value)
    }));
}
