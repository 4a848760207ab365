//! Column sums of rows in their element type, at memory bandwidth.
//!
//! Each task reads several KiB of a row at a time, which suits the hardware prefetcher: strips of 512 columns reached
//! half of the bandwidth. Four rows are added together, so that sums are loaded and stored once per four rows.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::data::block::{Block, Rows, each_element};
use crate::data::element::Element;

/// Columns per task; their u16 sums (12 KiB) fit into the L1 cache.
pub(crate) const PANEL_COLUMNS: usize = 6144;
/// Rows of u8 whose sum fits into u16.
const BYTE_ROWS: usize = 256;
/// Rows added at a time.
const ROW_GROUP: usize = 4;

/// Adds the given rows of some columns, at most [`PANEL_COLUMNS`], to `totals`.
pub(crate) fn add_columns(block: &Block<'_>, rows: &[usize], columns: Range<usize>, totals: &mut [f64]) {
    each_element!(block, data => add_typed(&data, rows, columns, totals));
}

/// Adds the numbers that are present in the given rows and columns to `totals`.
pub(crate) fn add_present(block: &Block<'_>, rows: &[usize], columns: Range<usize>, totals: &mut [f64]) {
    each_element!(block, data => {
        for &row in rows {
            for (total, column) in totals.iter_mut().zip(columns.clone()) {
                let cell = data.get(row, column);
                *total += if cell.is_missing() { 0.0 } else { cell.widen() };
            }
        }
    });
}

fn add_typed<T: Element>(data: &Rows<'_, T>, rows: &[usize], columns: Range<usize>, totals: &mut [f64]) {
    Arch::new().dispatch(AddColumns { data, rows, columns, totals });
}

struct AddColumns<'a, T> {
    data: &'a Rows<'a, T>,
    rows: &'a [usize],
    columns: Range<usize>,
    totals: &'a mut [f64],
}

impl<T: Element> WithSimd for AddColumns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let mut short = [0u16; PANEL_COLUMNS];
        let short = &mut short[..self.totals.len()];
        let Range { start, end } = self.columns;
        for group in self.rows.chunks(BYTE_ROWS) {
            for few in group.chunks(ROW_GROUP) {
                let mut rows = few.iter().map(|&row| self.data.row(row, start, end));
                match [rows.next(), rows.next(), rows.next(), rows.next()] {
                    [Some(Some(a)), Some(Some(b)), Some(Some(c)), Some(Some(d))] => {
                        let values = a.iter().zip(b).zip(c).zip(d);
                        if T::SUMS_SHORT {
                            for (t, (((a, b), c), d)) in short.iter_mut().zip(values) {
                                *t += (a.short() + b.short()) + (c.short() + d.short());
                            }
                        } else {
                            for (t, (((a, b), c), d)) in self.totals.iter_mut().zip(values) {
                                *t += (a.widen() + b.widen()) + (c.widen() + d.widen());
                            }
                        }
                    }
                    // In the same order as above, so that the sums do not depend on the layout.
                    _ if few.len() == ROW_GROUP => {
                        for (t, j) in self.totals.iter_mut().zip(start..end) {
                            let [a, b, c, d] =
                                [few[0], few[1], few[2], few[3]].map(|row| self.data.get(row, j).widen());
                            *t += (a + b) + (c + d);
                        }
                    }
                    _ => {
                        for &row in few {
                            let values = (start..end).map(|j| self.data.get(row, j).widen());
                            self.totals.iter_mut().zip(values).for_each(|(t, x)| *t += x);
                        }
                    }
                }
            }
            if T::SUMS_SHORT {
                self.totals.iter_mut().zip(short.iter_mut()).for_each(|(t, x)| *t += f64::from(std::mem::take(x)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Element>(rows: usize, features: usize, data: &[T]) {
        let contiguous = Rows::contiguous(data, rows, features).unwrap();
        let transposed: Vec<T> = (0..rows * features).map(|i| data[(i % rows) * features + i / rows]).collect();
        let strided = Rows::strided(&transposed, 0, rows, features, 1, rows as isize).unwrap();
        let some: Vec<usize> = (0..rows).filter(|i| i % 7 != 3).collect();
        for data in [contiguous, strided] {
            for columns in [0..features, features / 2..features, 0..features.min(1)] {
                let mut totals = vec![0.5; columns.len()];
                add_typed(&data, &some, columns.clone(), &mut totals);
                for (k, total) in columns.zip(totals) {
                    // Integers and quarters add up exactly.
                    assert_eq!(total, 0.5 + some.iter().map(|&i| data.get(i, k).widen()).sum::<f64>());
                }
            }
        }
    }

    #[test]
    fn sums_equal_the_reference() {
        for (rows, features) in [(0, 3), (1, 1), (1, 0), (4, 6), (5, 8), (60, 16), (256, 17), (300, 60), (512, 257)] {
            // Columns of 255 give the largest u16 sums.
            let bytes: Vec<u8> = (0..rows * features).map(|i| if i % 3 == 0 { 255 } else { (i % 256) as u8 }).collect();
            check(rows, features, &vec![255u8; rows * features]);
            check(rows, features, &bytes);
            check(rows, features, &bytes.iter().map(|&b| u16::from(b) * 257).collect::<Vec<_>>());
            check(rows, features, &bytes.iter().map(|&b| f32::from(b) / 4.0).collect::<Vec<_>>());
            check(rows, features, &bytes.iter().map(|&b| f64::from(b) / 4.0).collect::<Vec<_>>());
        }
    }
}
