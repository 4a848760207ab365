//! A view of some rows of a source, in their order: without rows that were dropped or excluded.

use std::ops::Range;

use super::block::{Block, BlockData, Rows};
use super::element::ElementType;
use super::source::{Shape, Source, View};
use crate::error::{Error, Result};
use crate::memory;

/// Rows of the largest block.
const BLOCK_ROWS: usize = 256;

/// Some rows of a source that the view owns, in ascending order.
#[derive(Debug)]
pub struct RowSelection<S> {
    source: S,
    rows: Vec<usize>,
    shape: Shape,
}

impl<S: Source> RowSelection<S> {
    /// A view of the rows with these indices.
    ///
    /// # Errors
    /// For indices that are not ascending, or beyond the last row.
    pub fn new(source: S, rows: Vec<usize>) -> Result<Self> {
        let samples = source.shape().samples;
        if let Some(pair) = rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Error::invalid_argument(format!("row {} is selected after row {}", pair[1], pair[0])));
        }
        if let Some(last) = rows.last().filter(|last| **last >= samples) {
            return Err(Error::invalid_argument(format!("row {last} is selected, but the data have {samples} rows")));
        }
        let shape = Shape { samples: rows.len(), ..source.shape().clone() };
        Ok(Self { source, rows, shape })
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The indices of the rows.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The source and the indices of the rows.
    pub fn into_parts(self) -> (S, Vec<usize>) {
        (self.source, self.rows)
    }
}

/// The consecutive rows among some ascending ones.
fn runs(rows: &[usize]) -> impl Iterator<Item = Range<usize>> {
    rows.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[0] + run.len())
}

impl<S: Source> Source for RowSelection<S> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn view(&self) -> View<'_> {
        View::Subset(&self.source, &self.rows)
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        self.source.prefetch(&samples.iter().map(|&i| self.rows[i]).collect::<Vec<_>>())
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        let of = |part: &Range<usize>| match &self.rows[part.clone()] {
            [first, .., last] => *first..last + 1,
            [only] => *only..only + 1,
            [] => 0..0,
        };
        self.source.advise_access(&parts.iter().map(of).collect::<Vec<_>>(), n_threads);
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        let Shape { samples, features, element, .. } = self.shape;
        let block = samples.min(BLOCK_ROWS) * features * element.bytes();
        self.source.buffer_bytes(threads) + (threads * block) as u64
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let selected = &self.rows[rows.clone()];
        let mut consecutive = runs(selected);
        if let (Some(run), None) = (consecutive.next(), consecutive.next()) {
            return self.source.visit(run, &mut |block| visit(Block::new(rows.start, block.data())));
        }
        macro_rules! visit_copied {
            ($variant:ident) => {{
                let mut data = memory::reserved(rows.len() * self.shape.features);
                for run in runs(selected) {
                    self.source.visit(run, &mut |block| {
                        if let BlockData::$variant(own) = block.data() {
                            for row in 0..own.rows() {
                                match own.row(row, 0, own.columns()) {
                                    Some(cells) => data.extend_from_slice(cells),
                                    None => data.extend((0..own.columns()).map(|column| own.get(row, column))),
                                }
                            }
                        }
                        Ok(())
                    })?;
                }
                let copied = Rows::contiguous(&data, rows.len(), self.shape.features)?;
                visit(Block::new(rows.start, BlockData::$variant(copied)))
            }};
        }
        match self.shape.element {
            ElementType::U8 => visit_copied!(U8),
            ElementType::U16 => visit_copied!(U16),
            ElementType::F32 => visit_copied!(F32),
            ElementType::F64 => visit_copied!(F64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;

    #[test]
    fn blocks_have_the_selected_rows() {
        let data: Vec<u16> = (0..40).collect();
        let rows = vec![1, 2, 3, 7, 9, 12, 13, 19];
        let view = RowSelection::new(SliceSource::new(&data, 20, 2).unwrap(), rows.clone()).unwrap();
        assert_eq!(view.shape().samples, 8);
        for start in 0..8 {
            for end in start..=8 {
                let mut found = Vec::new();
                view.visit(start..end, &mut |block| {
                    assert_eq!((block.first(), block.rows()), (start, end - start));
                    let mut row = [0.0; 2];
                    for i in 0..block.rows() {
                        block.read_row(i, &mut row);
                        found.extend(row.map(|x| x as usize));
                    }
                    Ok(())
                })
                .unwrap();
                let expected: Vec<usize> = rows[start..end].iter().flat_map(|i| [2 * i, 2 * i + 1]).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn rows_must_ascend_and_exist() {
        let data = [0.0f32; 6];
        for rows in [vec![1, 1], vec![2, 0], vec![0, 3]] {
            assert!(RowSelection::new(SliceSource::new(&data, 3, 2).unwrap(), rows).is_err());
        }
    }
}
