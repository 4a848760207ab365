//! A source over a faer matrix of any strides.

use std::ops::Range;

use faer::MatRef;

use super::block::{Block, BlockElement, Rows};
use super::source::{Shape, Source};
use crate::error::Result;

/// A source over a faer matrix. Blocks of at most a few hundred rows are copied one at a time: faer gives no safe access to
/// the memory of a whole matrix.
#[derive(Debug, Clone)]
pub struct FaerSource<'a, T> {
    matrix: MatRef<'a, T>,
    shape: Shape,
}

impl<'a, T: BlockElement> FaerSource<'a, T> {
    /// A source over this matrix; its rows are the samples.
    pub fn new(matrix: MatRef<'a, T>) -> Self {
        let shape = Shape { samples: matrix.nrows(), features: matrix.ncols(), element: T::TYPE, image: None };
        Self { matrix, shape }
    }
}

impl<T: BlockElement> Source for FaerSource<'_, T> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let (first, count, features) = (rows.start, rows.len(), self.shape.features);
        let mut copy = Vec::with_capacity(count * features);
        for row in rows {
            copy.extend((0..features).map(|column| self.matrix[(row, column)]));
        }
        visit(Block::new(first, T::block_data(Rows::contiguous(&copy, count, features)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;

    #[test]
    fn rows_of_any_strides_have_the_values_of_the_matrix() {
        let matrix = Mat::from_fn(6, 4, |i, j| (10 * i + j) as f64);
        for view in [matrix.as_ref(), matrix.as_ref().reverse_rows(), matrix.transpose()] {
            let source = FaerSource::new(view);
            let mut row = vec![0.0; view.ncols()];
            let read = &mut |block: Block<'_>| {
                assert_eq!((block.first(), block.rows()), (1, 3));
                for i in 0..3 {
                    block.read_row(i, &mut row);
                    assert!((0..view.ncols()).all(|j| row[j] == view[(1 + i, j)]));
                }
                Ok(())
            };
            source.visit(1..4, read).unwrap();
        }
    }
}
