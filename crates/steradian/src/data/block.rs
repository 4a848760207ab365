//! A block: consecutive samples, borrowed in place, in their element type and with any strides.

use super::element::{Element, ElementType};
use crate::error::{Error, Result};

/// Rows of one element type, borrowed, with strides counted in elements.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    data: &'a [T],
    offset: usize,
    rows: usize,
    columns: usize,
    row_stride: isize,
    column_stride: isize,
}

impl<'a, T: Element> Rows<'a, T> {
    /// Contiguous rows (C order).
    ///
    /// # Errors
    /// If the slice is shorter than the shape.
    pub fn contiguous(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::strided(data, 0, rows, columns, columns as isize, 1)
    }

    /// Rows with any strides; element (i, j) is `data[offset + i * row_stride + j * column_stride]`.
    ///
    /// # Errors
    /// If the shape and the strides reach beyond the slice.
    pub fn strided(
        data: &'a [T],
        offset: usize,
        rows: usize,
        columns: usize,
        row_stride: isize,
        column_stride: isize,
    ) -> Result<Self> {
        let reach = |count: usize, stride: isize| (count as i128 - 1).max(0) * stride as i128;
        let (down, across) = (reach(rows, row_stride), reach(columns, column_stride));
        let lowest = offset as i128 + down.min(0) + across.min(0);
        let highest = offset as i128 + down.max(0) + across.max(0);
        if rows > 0 && columns > 0 && (lowest < 0 || highest >= data.len() as i128) {
            return Err(Error::invalid_argument(format!(
                "{rows} x {columns} elements with strides {row_stride}, {column_stride} from element {offset} span \
                 {lowest} to {highest}, but the buffer has {}; check shape and strides",
                data.len()
            )));
        }
        Ok(Self { data, offset, rows, columns, row_stride, column_stride })
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of features.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows `start..start + count` of this array.
    pub fn select(&self, start: usize, count: usize) -> Self {
        assert!(start + count <= self.rows, "rows {start}..{} of {}", start + count, self.rows);
        let offset = if count == 0 { self.offset } else { self.index(start, 0) };
        Self { offset, rows: count, ..*self }
    }

    #[inline(always)]
    fn index(&self, row: usize, column: usize) -> usize {
        (self.offset as isize + row as isize * self.row_stride + column as isize * self.column_stride) as usize
    }

    /// Element (row, column).
    #[inline(always)]
    pub fn get(&self, row: usize, column: usize) -> T {
        self.data[self.index(row, column)]
    }

    /// Columns `from..to` of a row as a slice; `None` if its elements are not adjacent.
    #[inline(always)]
    pub fn row(&self, row: usize, from: usize, to: usize) -> Option<&'a [T]> {
        if self.column_stride != 1 {
            return None;
        }
        let start = self.index(row, from);
        Some(&self.data[start..start + (to - from)])
    }
}

/// The rows of a block, by element type.
#[derive(Debug, Clone, Copy)]
pub enum BlockData<'a> {
    /// Rows of u8.
    U8(Rows<'a, u8>),
    /// Rows of u16.
    U16(Rows<'a, u16>),
    /// Rows of f32.
    F32(Rows<'a, f32>),
    /// Rows of f64.
    F64(Rows<'a, f64>),
}

/// Evaluates one expression with `$rows` bound to the typed rows of a block.
macro_rules! each_element {
    ($block:expr, $rows:ident => $body:expr) => {
        match $block.data() {
            $crate::data::block::BlockData::U8($rows) => $body,
            $crate::data::block::BlockData::U16($rows) => $body,
            $crate::data::block::BlockData::F32($rows) => $body,
            $crate::data::block::BlockData::F64($rows) => $body,
        }
    };
}
pub(crate) use each_element;

/// Consecutive samples and the index of the first one.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    first: usize,
    data: BlockData<'a>,
}

impl<'a> Block<'a> {
    /// A block whose first row is sample `first`.
    pub fn new(first: usize, data: BlockData<'a>) -> Self {
        Self { first, data }
    }

    /// Contiguous rows of f64 values as a block that starts at sample 0.
    pub(crate) fn of_values(values: &'a [f64], rows: usize, columns: usize) -> Result<Self> {
        Ok(Self::new(0, BlockData::F64(Rows::contiguous(values, rows, columns)?)))
    }

    /// The index of the first sample.
    pub fn first(&self) -> usize {
        self.first
    }

    /// The typed rows.
    pub fn data(&self) -> BlockData<'a> {
        self.data
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        each_element!(self, rows => rows.rows())
    }

    /// The number of features.
    pub fn columns(&self) -> usize {
        each_element!(self, rows => rows.columns())
    }

    /// The column of the first missing cell of a row.
    pub fn first_missing(&self, row: usize) -> Option<usize> {
        each_element!(self, data => (0..data.columns()).find(|&column| data.get(row, column).is_missing()))
    }

    /// Copies a row into `out`, as f64 values.
    pub(crate) fn read_row(&self, row: usize, out: &mut [f64]) {
        each_element!(self, rows => match rows.row(row, 0, out.len()) {
            Some(cells) => out.iter_mut().zip(cells).for_each(|(x, cell)| *x = cell.widen()),
            None => out.iter_mut().enumerate().for_each(|(j, x)| *x = rows.get(row, j).widen()),
        });
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        match self.data {
            BlockData::U8(_) => ElementType::U8,
            BlockData::U16(_) => ElementType::U16,
            BlockData::F32(_) => ElementType::F32,
            BlockData::F64(_) => ElementType::F64,
        }
    }
}

/// An element type that blocks support.
pub trait BlockElement: Element {
    /// The rows as [`BlockData`], whose element type is known at run time.
    fn block_data(rows: Rows<'_, Self>) -> BlockData<'_>;
}

impl BlockElement for u8 {
    fn block_data(rows: Rows<'_, Self>) -> BlockData<'_> {
        BlockData::U8(rows)
    }
}

impl BlockElement for u16 {
    fn block_data(rows: Rows<'_, Self>) -> BlockData<'_> {
        BlockData::U16(rows)
    }
}

impl BlockElement for f32 {
    fn block_data(rows: Rows<'_, Self>) -> BlockData<'_> {
        BlockData::F32(rows)
    }
}

impl BlockElement for f64 {
    fn block_data(rows: Rows<'_, Self>) -> BlockData<'_> {
        BlockData::F64(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_reach_the_same_elements() {
        let data: Vec<u8> = (0..12).collect();
        let c = Rows::contiguous(&data, 3, 4).unwrap();
        let fortran = Rows::strided(&data, 0, 4, 3, 1, 4).unwrap();
        let backwards = Rows::strided(&data, 11, 3, 4, -4, -1).unwrap();
        for i in 0..3 {
            for j in 0..4 {
                assert_eq!(c.get(i, j), fortran.get(j, i));
                assert_eq!(c.get(i, j), backwards.get(2 - i, 3 - j));
            }
        }
        assert_eq!(c.select(1, 2).row(1, 1, 3), Some(&[9, 10][..]));
        assert_eq!(fortran.row(0, 0, 3), None);
    }

    #[test]
    fn a_shape_beyond_the_buffer_is_rejected() {
        let data = [0u8; 11];
        assert!(Rows::contiguous(&data, 3, 4).is_err());
        assert!(Rows::strided(&data, 2, 3, 1, -2, 1).is_err());
        assert!(Rows::strided(&data, 0, usize::MAX / 2, 3, isize::MAX / 4, 1).is_err());
    }
}
