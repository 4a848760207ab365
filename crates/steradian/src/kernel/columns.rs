//! Column sums of rows in their own type, at the speed of memory.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::block::Rows;
use crate::element::Element;

/// Rows of u8 whose sum fits into sixteen bits.
const BYTE_ROWS: usize = 256;

/// Adds the given rows of some columns to `totals`.
pub(crate) fn add_columns<T: Element>(data: &Rows<'_, T>, rows: &[usize], columns: Range<usize>, totals: &mut [f64]) {
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
        let mut short = [0u16; super::panel::COLUMNS];
        for group in self.rows.chunks(BYTE_ROWS) {
            if T::SUMS_SHORT {
                short.fill(0);
            }
            for &row in group {
                match self.data.row(row, self.columns.start, self.columns.end) {
                    Some(row) if T::SUMS_SHORT => short.iter_mut().zip(row).for_each(|(t, x)| *t += x.short()),
                    Some(row) => self.totals.iter_mut().zip(row).for_each(|(t, x)| *t += x.widen()),
                    None => {
                        let values = self.columns.clone().map(|j| self.data.get(row, j).widen());
                        self.totals.iter_mut().zip(values).for_each(|(t, x)| *t += x);
                    }
                }
            }
            if T::SUMS_SHORT {
                self.totals.iter_mut().zip(&short).for_each(|(t, x)| *t += f64::from(*x));
            }
        }
    }
}
