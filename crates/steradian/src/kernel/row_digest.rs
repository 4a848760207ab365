//! The magnitude and the digest of each row of a block, for the check of the data.
//!
//! | symbol | here |
//! |---|---|
//! | e, the binary exponent of the largest cell of a row | `RowSummary::exponent` |
//! | bits of x 2^-e, cell by cell | the input of the digest |
//! | sum of the digests of all rows, modulo 2^64 | computed by the caller |
//!
//! A missing cell, NaN of any bits, has no magnitude and one fixed value in the digest.
//!
//! The digest does not depend on powers of two that multiply a row, on the element type, on the memory order, nor, as a
//! sum, on the order of the rows. Each cell is combined with a key of its column and the product of its two halves is
//! added (as in NH of Black et al. 1999, and in XXH3), which needs no product of 64 bits and runs in SIMD lanes.

use pulp::Arch;
use rayon::prelude::*;

use crate::data::block::{Block, Rows, each_element};
use crate::data::element::Element;
use crate::numeric::magnitude;

/// Independent lanes.
const LANES: usize = 8;
/// Step from a key to that of the next cell of the lane: 2^64 divided by the golden ratio, so that keys do not repeat.
const KEY_STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of the fraction of an f64.
const FRACTION_BITS: u32 = 52;

/// The bits of a missing cell in the digest. No finite cell has them: of a number that is at most the largest, the upper
/// twelve bits are never 1 after the shift.
const MISSING: u64 = 1 << FRACTION_BITS;

/// Magnitude, missing cells and digest of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowSummary {
    /// The binary exponent of the largest cell; `None` for a row without a number other than 0.
    pub exponent: Option<i32>,
    /// Number of missing cells.
    pub missing: usize,
    /// True if a cell is infinite.
    pub infinite: bool,
    pub digest: u64,
}

/// The summaries of all rows of a block, computed on the current thread pool.
pub(crate) fn summaries(block: &Block<'_>) -> Vec<RowSummary> {
    /// Rows per task.
    const TASK: usize = 16;
    (0..block.rows()).into_par_iter().with_min_len(TASK).map(|row| of_row(block, row)).collect()
}

/// The summary of one row of a block.
pub(crate) fn of_row(block: &Block<'_>, row: usize) -> RowSummary {
    each_element!(block, data => Arch::new().dispatch(
        #[inline(always)]
        || summary(&data, row)
    ))
}

/// Adds 1 to the counts of the columns whose cell of this row is missing; returns the first of them.
pub(crate) fn count_missing(block: &Block<'_>, row: usize, counts: &mut [u64]) -> Option<usize> {
    each_element!(block, data => {
        for (column, count) in counts.iter_mut().enumerate() {
            *count += u64::from(data.get(row, column).is_missing());
        }
    });
    block.first_missing(row)
}

#[inline(always)]
fn summary<T: Element>(data: &Rows<'_, T>, row: usize) -> RowSummary {
    let columns = data.columns();
    match data.row(row, 0, columns) {
        Some(cells) => of_cells(cells),
        None => of_cells(&(0..columns).map(|j| data.get(row, j)).collect::<Vec<T>>()),
    }
}

#[inline(always)]
fn of_cells<T: Element>(cells: &[T]) -> RowSummary {
    const SIGN: u64 = 1 << 63;
    let mut tops = [0.0f64; LANES];
    for group in cells.chunks(LANES) {
        for (top, x) in tops.iter_mut().zip(group) {
            let size = x.widen().abs();
            *top = if size > *top { size } else { *top };
        }
    }
    let largest = tops.iter().fold(0.0f64, |most, top| most.max(*top));
    // Subtracted from the exponent of each cell but 0.
    let shift = largest.to_bits() >> FRACTION_BITS << FRACTION_BITS;
    let mut missing = [0u64; LANES];
    let mut keys: [u64; LANES] = std::array::from_fn(|lane| mixed(lane as u64));
    let mut sums = [0u64; LANES];
    for group in cells.chunks(LANES) {
        for (((sum, key), missing), x) in sums.iter_mut().zip(&mut keys).zip(&mut missing).zip(group) {
            let bits = x.widen().to_bits();
            let absent = x.is_missing();
            *missing += u64::from(absent);
            let bits = if bits & !SIGN == 0 { 0 } else { bits.wrapping_sub(shift) };
            let bits = if absent { MISSING } else { bits };
            let keyed = bits ^ *key;
            *sum = sum.wrapping_add((keyed & 0xffff_ffff) * (keyed >> 32)).wrapping_add(bits.rotate_left(32));
            *key = key.wrapping_add(KEY_STEP);
        }
    }
    let digest = sums.iter().fold(cells.len() as u64, |all, sum| mixed(all ^ *sum));
    RowSummary {
        exponent: magnitude::exponent(largest),
        missing: missing.iter().sum::<u64>() as usize,
        infinite: largest == f64::INFINITY,
        digest,
    }
}

/// A bijection of 64 bits in which every bit of the result depends on every bit of the input (splitmix64).
pub(crate) fn mixed(x: u64) -> u64 {
    let mut z = x.wrapping_add(KEY_STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::block::BlockData;

    fn of(data: &[f64], columns: usize) -> Vec<RowSummary> {
        let rows = Rows::contiguous(data, data.len() / columns, columns).unwrap();
        summaries(&Block::new(0, BlockData::F64(rows)))
    }

    #[test]
    fn digests_depend_on_the_cells_only() {
        let (rows, columns) = (40, 37);
        let cell = |i: usize| ((i * 7919 % 251) as f64 - 125.0).trunc();
        let data: Vec<f64> = (0..rows * columns).map(cell).collect();
        let all = of(&data, columns);
        let distinct: std::collections::BTreeSet<u64> = all.iter().map(|row| row.digest).collect();
        assert_eq!(distinct.len(), rows);
        // Powers of two change the exponent only.
        let small: Vec<f64> = data.iter().map(|x| x * 2f64.powi(-300)).collect();
        for (a, b) in all.iter().zip(of(&small, columns)) {
            assert_eq!((a.digest, a.exponent.map(|e| e - 300)), (b.digest, b.exponent));
        }
        // Element type and memory order do not count.
        let single: Vec<f32> = (0..data.len()).map(|i| data[(i % rows) * columns + i / rows] as f32).collect();
        let strided = Rows::strided(&single, 0, rows, columns, 1, rows as isize).unwrap();
        assert_eq!(summaries(&Block::new(0, BlockData::F32(strided))), all);
        // Every cell counts: its last bit, its sign and its place.
        for place in [0, 5, 8, 36] {
            for change in [f64::from_bits(cell(place).to_bits() ^ 1), -cell(place), cell(place) + 1.0] {
                let mut other = data[..columns].to_vec();
                other[place] = change;
                if change != cell(place) {
                    assert_ne!(of(&other, columns)[0].digest, all[0].digest, "cell {place}: {change}");
                }
            }
        }
        let mut swapped = data[..columns].to_vec();
        swapped.swap(0, 8);
        assert_ne!(of(&swapped, columns)[0].digest, all[0].digest);
        assert_eq!(of(&[0.0, -0.0], 2)[0].exponent, None);
        // The value is fixed: start vectors, and with them results, depend on it.
        assert_eq!(of(&[1.0, -2.5, 3.0], 3)[0].digest, of(&[4.0, -10.0, 12.0], 3)[0].digest);
    }
}
