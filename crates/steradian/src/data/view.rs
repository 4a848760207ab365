//! Views of sources: a subset of the samples, or every sample transformed as it is read.

use std::ops::Range;

use rayon::prelude::*;

use super::block::{Block, BlockData, Rows, each_element};
use super::element::{Element, ElementType};
use super::row_map::RowMap;
use super::source::{Shape, Source, View};
use crate::error::Result;
use crate::memory;

/// Some of the samples of a source, in a given order.
pub(crate) struct SubsetSource<'a> {
    source: &'a dyn Source,
    samples: Vec<usize>,
    shape: Shape,
}

impl<'a> SubsetSource<'a> {
    /// A view of the samples with these indices.
    pub(crate) fn new(source: &'a dyn Source, samples: Vec<usize>) -> Self {
        let shape = Shape { samples: samples.len(), ..source.shape().clone() };
        Self { source, samples, shape }
    }

}

impl Source for SubsetSource<'_> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        self.source.prefetch(&samples.iter().map(|&i| self.samples[i]).collect::<Vec<_>>())
    }

    fn view(&self) -> View<'_> {
        View::Subset(self.source, &self.samples)
    }

    fn advise_access(&self, _: &[Range<usize>], _: usize) {
        // The rows of a subset are not sequential, and the previous hint no longer applies.
        self.source.advise_access(&[], 0);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        macro_rules! visit_copied {
            ($variant:ident) => {{
                let mut data = memory::reserved(rows.len() * self.shape.features);
                for &sample in &self.samples[rows.clone()] {
                    self.source.visit(sample..sample + 1, &mut |block| {
                        if let BlockData::$variant(own) = block.data() {
                            data.extend((0..own.columns()).map(|column| own.get(0, column)));
                        }
                        Ok(())
                    })?;
                }
                let rows_of = Rows::contiguous(&data, rows.len(), self.shape.features)?;
                visit(Block::new(rows.start, BlockData::$variant(rows_of)))
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

/// A part of the data whose blocks carry the sample indices of all data: row i of the part is sample `first` + i.
pub(crate) struct OffsetSource<'a> {
    source: &'a dyn Source,
    first: usize,
    /// Index by which row 0 of the part is requested: 0, or `first`.
    origin: usize,
}

impl<'a> OffsetSource<'a> {
    /// A part whose first row is sample `first`; rows are requested by their index in the part.
    pub(crate) fn new(source: &'a dyn Source, first: usize) -> Self {
        Self { source, first, origin: 0 }
    }

    /// A part whose first row is sample `first`; rows are requested by their sample index.
    pub(crate) fn by_sample_index(source: &'a dyn Source, first: usize) -> Self {
        Self { source, first, origin: first }
    }

    fn rows_of_part(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start - self.origin..rows.end - self.origin
    }
}

impl Source for OffsetSource<'_> {
    fn view(&self) -> View<'_> {
        View::Opaque
    }

    fn shape(&self) -> &Shape {
        self.source.shape()
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.source.feature_name(feature)
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        let parts: Vec<_> = parts.iter().map(|rows| self.rows_of_part(rows)).collect();
        self.source.advise_access(&parts, n_threads);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let rows = self.rows_of_part(&rows);
        self.source.visit(rows, &mut |block| visit(Block::new(self.first + block.first(), block.data())))
    }
}

/// A function of a sample's index and values. A closure runs in this process only, a row map also in others.
pub(crate) trait RowFunction: Sync {
    /// Transforms one sample in place.
    fn map_row(&self, sample: usize, row: &mut [f64]);

    /// The form of the function that other processes can run; `None` for a closure.
    fn row_map(&self) -> Option<&RowMap<'_>> {
        None
    }
}

impl<F: Fn(usize, &mut [f64]) + Sync> RowFunction for F {
    fn map_row(&self, sample: usize, row: &mut [f64]) {
        self(sample, row);
    }
}

impl RowFunction for RowMap<'_> {
    fn map_row(&self, sample: usize, row: &mut [f64]) {
        self.apply(sample, row);
    }

    fn row_map(&self) -> Option<&RowMap<'_>> {
        Some(self)
    }
}

/// Every sample of a source, transformed when it is read. The element type is f64 for f64 data, f32 for the others.
pub(crate) struct MappedSource<'a, F> {
    source: &'a dyn Source,
    shape: Shape,
    function: F,
}

impl<'a, F: RowFunction> MappedSource<'a, F> {
    /// A view that applies this function to each sample.
    pub(crate) fn new(source: &'a dyn Source, function: F) -> Self {
        let shape = Shape { element: source.shape().element.mapped(), ..source.shape().clone() };
        Self { source, shape, function }
    }
}

impl<F: RowFunction> Source for MappedSource<'_, F> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.source.feature_name(feature)
    }

    fn prefetch(&self, samples: &[usize]) -> Result<()> {
        self.source.prefetch(samples)
    }

    fn view(&self) -> View<'_> {
        match self.function.row_map() {
            Some(map) => View::Mapped(self.source, map),
            None => View::Opaque,
        }
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.source.advise_access(parts, n_threads);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let features = self.shape.features;
        self.source.visit(rows, &mut |block| {
            macro_rules! visit_mapped {
                ($variant:ident, $type:ty) => {{
                    let mut data: Vec<$type> = memory::filled(block.rows() * features, 0.0);
                    each_element!(block, own => data.par_chunks_mut(features.max(1)).enumerate().for_each_init(
                        || vec![0.0; features],
                        |values, (row, out)| {
                            values.iter_mut().enumerate().for_each(|(j, v)| *v = own.get(row, j).widen());
                            self.function.map_row(block.first() + row, values);
                            out.iter_mut().zip(values).for_each(|(out, v)| *out = *v as $type);
                        },
                    ));
                    let rows = Rows::contiguous(&data, block.rows(), features)?;
                    visit(Block::new(block.first(), BlockData::$variant(rows)))
                }};
            }
            match self.shape.element {
                ElementType::F64 => visit_mapped!(F64, f64),
                _ => visit_mapped!(F32, f32),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;
    use crate::data::source::read_sample;

    #[test]
    fn samples_are_selected_and_mapped_when_they_are_read() {
        let data: Vec<u8> = (0..12).collect();
        let source = SliceSource::new(&data, 4, 3).unwrap();
        let subset = SubsetSource::new(&source, vec![3, 1]);
        assert_eq!(subset.shape().samples, 2);
        assert_eq!(read_sample(&subset, 0).unwrap(), [9.0, 10.0, 11.0]);
        let halved = MappedSource::new(&subset, |_, row: &mut [f64]| row.iter_mut().for_each(|x| *x /= 2.0));
        assert_eq!(halved.shape().element, ElementType::F32);
        assert_eq!(read_sample(&halved, 1).unwrap(), [1.5, 2.0, 2.5]);
    }

    #[test]
    fn a_part_has_the_sample_indices_of_all_data() {
        let data: Vec<u8> = (0..12).collect();
        let part = SliceSource::new(&data, 4, 3).unwrap();
        let (by_row, by_index) = (OffsetSource::new(&part, 10), OffsetSource::by_sample_index(&part, 10));
        let read = |source: &OffsetSource<'_>, rows: Range<usize>| {
            let mut read = None;
            source
                .visit(rows, &mut |block| {
                    let mut row = vec![0.0; 3];
                    block.read_row(0, &mut row);
                    read = Some((block.first(), block.rows(), row));
                    Ok(())
                })
                .unwrap();
            read.unwrap()
        };
        assert_eq!(read(&by_row, 1..3), (11, 2, vec![3.0, 4.0, 5.0]));
        assert_eq!(read(&by_index, 11..13), (11, 2, vec![3.0, 4.0, 5.0]));
    }
}
