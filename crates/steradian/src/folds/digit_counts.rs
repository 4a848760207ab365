//! Histograms of one digit of the sort keys of some columns: an exact order statistic by a few passes.
//!
//! Numbers become integers that sort alike, and their digits of eight bits are settled from the top: a pass counts the
//! next digit among the numbers that share the digits settled so far. u8 needs one pass, u16 two, f32 four, f64 eight.
//! The two middle ranks are followed at once, so that the median of an even number of samples is exact too.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::block::{Block, each_element};
use crate::data::element::{Element, ElementType};
use crate::engine::fold::Fold;
use crate::error::Result;

/// Values of one digit.
pub(crate) const DIGITS: usize = 256;
/// Bytes of the counts of one column.
pub(crate) const COLUMN_BYTES: usize = 2 * DIGITS * size_of::<u32>();
/// Columns that one task counts.
const STRIP: usize = 64;

/// Counts a digit in some columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DigitCounts<'a> {
    columns: Range<usize>,
    shift: u32,
    prefixes: Cow<'a, [[u64; 2]]>,
    kept: Option<Cow<'a, [bool]>>,
}

impl<'a> DigitCounts<'a> {
    /// Counts digit number `digit` from the top, among numbers whose higher digits are the column's `prefixes`; where
    /// `kept` is given, only in its samples.
    pub fn new(
        element: ElementType,
        columns: Range<usize>,
        digit: usize,
        prefixes: &'a [[u64; 2]],
        kept: Option<&'a [bool]>,
    ) -> Self {
        assert_eq!(prefixes.len(), columns.len(), "one pair of prefixes for each column");
        let shift = 8 * (element.bytes() - 1 - digit) as u32;
        Self { columns, shift, prefixes: Cow::Borrowed(prefixes), kept: kept.map(Cow::Borrowed) }
    }
}

impl Fold for DigitCounts<'_> {
    const NAME: &'static str = "median";

    /// For each column the counts under the lower rank's prefix, then those under the upper one's.
    type Sum = Vec<u32>;
    type Out = Vec<u32>;

    fn sum_bytes(&self) -> usize {
        self.columns.len() * COLUMN_BYTES
    }

    fn empty(&self) -> Vec<u32> {
        vec![0; self.columns.len() * 2 * DIGITS]
    }

    fn add(&self, sum: &mut Vec<u32>, block: &Block<'_>) -> Result<()> {
        // A shift by the whole width is the empty prefix; `checked_shr` says so instead of wrapping.
        let prefix = |key: u64| key.checked_shr(self.shift + 8).unwrap_or(0);
        each_element!(block, data => {
            sum.par_chunks_mut(STRIP * 2 * DIGITS).enumerate().for_each(|(strip, counts)| {
                let width = counts.len() / (2 * DIGITS);
                let start = strip * STRIP;
                for row in (0..data.rows()).filter(|row| self.kept.as_ref().is_none_or(|kept| kept[block.first() + row])) {
                    for j in 0..width {
                        let key = data.get(row, self.columns.start + start + j).sort_key();
                        let digit = (key >> self.shift) as usize & (DIGITS - 1);
                        let [low, high] = self.prefixes[start + j];
                        let counts = &mut counts[j * 2 * DIGITS..(j + 1) * 2 * DIGITS];
                        counts[digit] += u32::from(prefix(key) == low);
                        counts[DIGITS + digit] += u32::from(prefix(key) == high);
                    }
                }
            });
        });
        Ok(())
    }

    fn merge(&self, mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
        left.iter_mut().zip(right).for_each(|(sum, count)| *sum += count);
        left
    }

    fn finish(&self, sum: Vec<u32>) -> Result<Vec<u32>> {
        Ok(sum)
    }
}
