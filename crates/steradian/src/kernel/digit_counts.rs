//! Histograms of one digit of the sort keys of cells, column by column.

use std::ops::Range;

use crate::data::block::{Block, each_element};
use crate::data::element::Element;

/// Number of values of a digit, which is one byte of a key.
pub(crate) const DIGITS: usize = 256;

/// Counts, for each column and each of its two prefixes, the digits at `shift` of the keys that start with the prefix.
/// Missing cells are not counted.
/// `counts` has [`DIGITS`] entries per prefix of each column.
pub(crate) fn count_digits(
    block: &Block<'_>,
    rows: impl Iterator<Item = usize>,
    columns: Range<usize>,
    shift: u32,
    prefixes: &[[u64; 2]],
    counts: &mut [u32],
) {
    // A shift by the full width gives the empty prefix; `>>` would panic or wrap.
    let prefix = |key: u64| key.checked_shr(shift + 8).unwrap_or(0);
    each_element!(block, data => {
        for row in rows {
            let columns = columns.clone().zip(prefixes).zip(counts.as_chunks_mut::<{ 2 * DIGITS }>().0);
            for ((column, [low, high]), counts) in columns {
                let cell = data.get(row, column);
                if cell.is_missing() {
                    continue;
                }
                let key = cell.sort_key();
                let digit = (key >> shift) as usize & (DIGITS - 1);
                counts[digit] += u32::from(prefix(key) == *low);
                counts[DIGITS + digit] += u32::from(prefix(key) == *high);
            }
        }
    });
}
