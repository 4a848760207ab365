//! A source over an `ndarray` view of any strides.

use std::ops::Range;

use ndarray::{ArrayView2, s};

use super::block::{Block, BlockElement, Rows};
use super::source::{Shape, Source};
use crate::error::Result;

/// A source over an `ndarray` view. A view without gaps in memory (C order, Fortran order, reversed axes) is read in place
/// (zero-copy); blocks of other views are copied one at a time.
#[derive(Debug, Clone)]
pub struct NdArraySource<'a, T> {
    view: ArrayView2<'a, T>,
    shape: Shape,
}

impl<'a, T: BlockElement> NdArraySource<'a, T> {
    /// A source over this view; its rows are the samples.
    pub fn new(view: ArrayView2<'a, T>) -> Self {
        let (samples, features) = view.dim();
        Self { view, shape: Shape { samples, features, element: T::TYPE, image: None } }
    }

    /// The whole view in place; `None` if its elements have gaps between them.
    fn in_place(&self) -> Option<Rows<'_, T>> {
        let data = self.view.as_slice_memory_order()?;
        let (strides, (samples, features)) = (self.view.strides(), self.view.dim());
        // The slice starts at the lowest address, which is not element (0, 0) where a stride is negative.
        let before = |stride: isize, count: usize| stride.min(0).unsigned_abs() * count.saturating_sub(1);
        let offset = before(strides[0], samples) + before(strides[1], features);
        Rows::strided(data, offset, samples, features, strides[0], strides[1]).ok()
    }
}

impl<T: BlockElement> Source for NdArraySource<'_, T> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let (first, count) = (rows.start, rows.len());
        if let Some(all) = self.in_place() {
            return visit(Block::new(first, T::block_data(all.select(first, count))));
        }
        let copy: Vec<T> = self.view.slice(s![rows, ..]).iter().copied().collect();
        visit(Block::new(first, T::block_data(Rows::contiguous(&copy, count, self.shape.features)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn values(source: &dyn Source) -> Vec<f64> {
        let mut values = Vec::new();
        let rows = source.shape().samples;
        for start in (0..rows).step_by(2) {
            let read = &mut |block: Block<'_>| {
                assert_eq!(block.first(), start);
                let mut row = vec![0.0; source.shape().features];
                (0..block.rows()).for_each(|i| {
                    block.read_row(i, &mut row);
                    values.extend_from_slice(&row);
                });
                Ok(())
            };
            source.visit(start..(start + 2).min(rows), read).unwrap();
        }
        values
    }

    #[test]
    fn every_layout_has_the_values_of_its_view() {
        let c = Array2::from_shape_fn((7, 5), |(i, j)| (10 * i + j) as f32);
        let fortran = c.t().as_standard_layout().into_owned();
        let views = [
            c.view(),
            fortran.t(),
            c.slice(s![..;-1, ..]),
            c.slice(s![.., ..;-1]),
            fortran.t().slice_move(s![..;-1, ..;-1]),
            c.slice(s![..;2, 1..4]),
            c.slice(s![1..6, ..;2]),
        ];
        for (k, view) in views.into_iter().enumerate() {
            let expected: Vec<f64> = view.iter().map(|x| f64::from(*x)).collect();
            let source = NdArraySource::new(view);
            assert_eq!(source.in_place().is_some(), k < 5, "view {k}");
            assert_eq!(values(&source), expected, "view {k}");
        }
    }
}
