//! Histograms of one digit of the sort keys of some columns, for exact order statistics (radix selection).
//!
//! Values are mapped to integers of the same order, whose 8-bit digits are determined from the top: a pass counts the
//! next digit of the values with the prefix found so far. u8 needs one pass, u16 two, f32 four, f64 eight. Each pass
//! counts for both middle ranks, so that the median of an even number of samples is exact, too. Missing cells do not count.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, require_length, require_samples};
use crate::data::block::Block;
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::digit_counts::{DIGITS, count_digits};
use crate::memory;

/// Bytes of the counts of one column.
pub(crate) const COLUMN_BYTES: usize = 2 * DIGITS * size_of::<u32>();
/// Columns per task.
const STRIP: usize = 64;

/// The fold that counts one digit in some columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DigitCounts<'a> {
    columns: Range<usize>,
    shift: u32,
    prefixes: Cow<'a, [[u64; 2]]>,
    support: Option<Cow<'a, [bool]>>,
}

impl<'a> DigitCounts<'a> {
    /// Counts of digit `digit` (0 is the highest) of the values whose higher digits are one of the column's `prefixes`,
    /// over the samples of the support (all if `None`).
    pub fn new(
        element: ElementType,
        columns: Range<usize>,
        digit: usize,
        prefixes: &'a [[u64; 2]],
        support: Option<&'a [bool]>,
    ) -> Self {
        assert_eq!(prefixes.len(), columns.len(), "one pair of prefixes per column");
        let shift = 8 * (element.bytes() - 1 - digit) as u32;
        Self { columns, shift, prefixes: Cow::Borrowed(prefixes), support: support.map(Cow::Borrowed) }
    }
}

impl Fold for DigitCounts<'_> {
    const NAME: &'static str = "median";

    /// For each column the counts with the prefix of the lower rank, then those with the prefix of the upper rank.
    type Accumulator = Vec<u32>;
    type Out = Vec<u32>;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        let (columns, features) = (&self.columns, shape.features);
        if columns.is_empty() || columns.end > features {
            return Err(inconsistent(format!("it counts columns {columns:?} of {features}")));
        }
        if !self.shift.is_multiple_of(8) || self.shift as usize >= 8 * shape.element.bytes() {
            return Err(inconsistent(format!("it counts the bits from {} of {}", self.shift, shape.element.name())));
        }
        require_length("the list of prefixes", self.prefixes.len(), columns.len())?;
        self.support.as_ref().map_or(Ok(()), |support| require_samples("the support", support.len(), samples))
    }

    fn check_accumulator(&self, accumulator: &Vec<u32>, samples: &Range<usize>) -> Result<()> {
        require_length("the list of counts", accumulator.len(), self.columns.len().saturating_mul(2 * DIGITS))?;
        let total = |counts: &[u32]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        match accumulator.chunks_exact(DIGITS).map(total).max() {
            Some(most) if most > samples.len() as u64 => {
                Err(inconsistent(format!("it counts {most} of {} samples", samples.len())))
            }
            _ => Ok(()),
        }
    }

    fn accumulator_bytes(&self) -> usize {
        self.columns.len() * COLUMN_BYTES
    }

    fn empty(&self) -> Vec<u32> {
        memory::filled(self.columns.len() * 2 * DIGITS, 0)
    }

    fn add(&self, accumulator: &mut Vec<u32>, block: &Block<'_>) -> Result<()> {
        accumulator.par_chunks_mut(STRIP * 2 * DIGITS).enumerate().for_each(|(strip, counts)| {
            let columns = strip * STRIP..strip * STRIP + counts.len() / (2 * DIGITS);
            let own = self.columns.start + columns.start..self.columns.start + columns.end;
            let in_support = |row: &usize| self.support.as_ref().is_none_or(|support| support[block.first() + row]);
            let rows = (0..block.rows()).filter(in_support);
            count_digits(block, rows, own, self.shift, &self.prefixes[columns], counts);
        });
        Ok(())
    }

    fn merge(&self, mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
        left.iter_mut().zip(right).for_each(|(sum, count)| *sum += count);
        left
    }

    fn finish(&self, total: Vec<u32>) -> Result<Vec<u32>> {
        Ok(total)
    }
}
