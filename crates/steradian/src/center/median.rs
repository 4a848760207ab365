//! The exact median of each feature by radix selection: one digit of eight bits per pass.
//!
//! Columns are processed in slabs whose digit counts fit into [`SLAB_BYTES`]. A pass over a slab reads its columns
//! only, so [`passes`] passes read as many bytes as [`passes`] / slabs full passes.

use crate::data::element::{Element, ElementType};
use crate::data::source::{Shape, Source};
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{COLUMN_BYTES, DIGITS, DigitCounts};

/// Bytes of the digit counts of one slab of columns.
pub(crate) const SLAB_BYTES: usize = 8 << 20;
const SLAB_COLUMNS: usize = SLAB_BYTES / COLUMN_BYTES;

/// The number of passes for data of this shape: digits times slabs.
pub(crate) fn passes(shape: &Shape) -> usize {
    shape.element.bytes() * shape.features.div_ceil(SLAB_COLUMNS)
}

/// The median of each feature over the numbers of all samples, or of those in `support`; 0 for a feature without any.
/// Cost: [`passes`] passes.
pub(crate) fn median(source: &dyn Source, support: Option<&[bool]>, runner: &impl Runner) -> Result<Vec<f64>> {
    let shape = source.shape();
    let count = support.map_or(shape.samples, |support| support.iter().filter(|&&k| k).count());
    if count == 0 {
        return Err(Error::invalid_data("the median of no sample is undefined; use more samples"));
    }
    let mut median = Vec::with_capacity(shape.features);
    for start in (0..shape.features).step_by(SLAB_COLUMNS) {
        let columns = start..(start + SLAB_COLUMNS).min(shape.features);
        let mut ranks: Vec<Option<[u64; 2]>> = vec![None; columns.len()];
        let mut keys = vec![[0u64; 2]; columns.len()];
        for digit in 0..shape.element.bytes() {
            let counts =
                runner.run(&DigitCounts::new(shape.element, columns.clone(), digit, &keys, support), source)?;
            for ((key, rank), counts) in keys.iter_mut().zip(&mut ranks).zip(counts.chunks(2 * DIGITS)) {
                if digit == 0 {
                    // Every number has the empty prefix. For an odd number of them both ranks are equal.
                    let present: u64 = counts[..DIGITS].iter().map(|count| u64::from(*count)).sum();
                    *rank = (present > 0).then(|| [(present - 1) / 2, present / 2]);
                }
                let Some(rank) = rank else { continue };
                for (side, counts) in counts.chunks(DIGITS).enumerate() {
                    let next = select_digit(counts, &mut rank[side])?;
                    key[side] = key[side] << 8 | next;
                }
            }
        }
        median.extend(keys.iter().zip(&ranks).map(|(key, rank)| {
            let [low, high] = key.map(|key| value_of(shape.element, key));
            if rank.is_some() { low + (high - low) / 2.0 } else { 0.0 }
        }));
    }
    Ok(median)
}

/// The digit of the value with this rank. `rank` becomes the rank among the values with that digit.
fn select_digit(counts: &[u32], rank: &mut u64) -> Result<u64> {
    for (digit, &count) in counts.iter().enumerate() {
        if *rank < u64::from(count) {
            return Ok(digit as u64);
        }
        *rank -= u64::from(count);
    }
    // The counts of a column sum to the number of its values with the digits found before, unless values have changed.
    Err(Error::invalid_data(
        "the data changed during the fit: two passes read other values; fit data that do not change",
    ))
}

fn value_of(element: ElementType, key: u64) -> f64 {
    match element {
        ElementType::U8 => u8::from_sort_key(key),
        ElementType::U16 => u16::from_sort_key(key),
        ElementType::F32 => f32::from_sort_key(key),
        ElementType::F64 => f64::from_sort_key(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;
    use crate::engine::local::Local;
    use proptest::prelude::*;

    fn sorted_median(mut column: Vec<f64>) -> f64 {
        column.sort_by(f64::total_cmp);
        let n = column.len();
        (column[(n - 1) / 2] + column[n / 2]) / 2.0
    }

    proptest! {
        #[test]
        fn equals_sorting(n in 1usize..40, data in proptest::collection::vec(-1e3f64..1e3, 40 * 3)) {
            let runner = Local::new(2).unwrap();
            let data = &data[..n * 3];
            let column = |j: usize| data[j..].iter().step_by(3);
            let found = median(&SliceSource::new(data, n, 3).unwrap(), None, &runner).unwrap();
            let single: Vec<f32> = data.iter().map(|&x| x as f32).collect();
            let found32 = median(&SliceSource::new(&single, n, 3).unwrap(), None, &runner).unwrap();
            let bytes: Vec<u8> = data.iter().map(|&x| x as i32 as u8).collect();
            let found8 = median(&SliceSource::new(&bytes, n, 3).unwrap(), None, &runner).unwrap();
            for j in 0..3 {
                prop_assert!((found[j] - sorted_median(column(j).copied().collect())).abs() <= 1e-12);
                prop_assert_eq!(found32[j], sorted_median(column(j).map(|&x| f64::from(x as f32)).collect()));
                prop_assert_eq!(found8[j], sorted_median(column(j).map(|&x| f64::from(x as i32 as u8)).collect()));
            }
        }
    }
}
