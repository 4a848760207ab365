//! Views of sources: a subset of the samples, or every sample transformed as it is read.

use std::ops::Range;

use rayon::prelude::*;

use super::block::{Block, BlockData, Rows, each_element};
use super::element::{Element, ElementType};
use super::row_map::RowMap;
use super::source::{Shape, Source, View};
use crate::error::Result;
use crate::numeric::random::{Stream, subsample};

/// Some of the samples of a source, in a given order.
pub(crate) struct SubsetSource<'a> {
    source: &'a dyn Source,
    samples: Vec<usize>,
    shape: Shape,
}

impl<'a> SubsetSource<'a> {
    /// These samples.
    pub(crate) fn new(source: &'a dyn Source, samples: Vec<usize>) -> Self {
        let shape = Shape { samples: samples.len(), ..source.shape().clone() };
        Self { source, samples, shape }
    }

    /// At most `most` of the samples that `kept` names (of all when it is not given), drawn at random by a fixed seed: evenly
    /// spread ones would all fall on one phase of a period in the data.
    pub(crate) fn at_most(source: &'a dyn Source, kept: Option<&[bool]>, most: usize) -> Self {
        let members: Vec<usize> = (0..source.shape().samples).filter(|&i| kept.is_none_or(|kept| kept[i])).collect();
        let drawn = subsample(members.len(), most, 0, Stream::Statistics);
        Self::new(source, drawn.into_iter().map(|i| members[i]).collect())
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
        // Where the picked rows lie is not foreseen, and what was foreseen before is over.
        self.source.advise_access(&[], 0);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        macro_rules! gathered {
            ($variant:ident) => {{
                let mut data = Vec::with_capacity(rows.len() * self.shape.features);
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
            ElementType::U8 => gathered!(U8),
            ElementType::U16 => gathered!(U16),
            ElementType::F32 => gathered!(F32),
            ElementType::F64 => gathered!(F64),
        }
    }
}

/// A part of the data, numbered from its place in the whole: row i is sample number `first` + i.
pub(crate) struct OffsetSource<'a> {
    source: &'a dyn Source,
    first: usize,
}

impl<'a> OffsetSource<'a> {
    /// A part whose first sample is number `first` of all.
    pub(crate) fn new(source: &'a dyn Source, first: usize) -> Self {
        Self { source, first }
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
        self.source.advise_access(parts, n_threads);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.source.visit(rows, &mut |block| visit(Block::new(self.first + block.first(), block.data())))
    }
}

/// A part of the data that is asked for by the numbers that its rows have in the whole.
pub(crate) struct GlobalIndexSource<'a> {
    source: &'a dyn Source,
    first: usize,
}

impl<'a> GlobalIndexSource<'a> {
    /// A part whose first sample is number `first` of all.
    pub(crate) fn new(source: &'a dyn Source, first: usize) -> Self {
        Self { source, first }
    }

    fn own(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start - self.first..rows.end - self.first
    }
}

impl Source for GlobalIndexSource<'_> {
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
        self.source.advise_access(&parts.iter().map(|rows| self.own(rows)).collect::<Vec<_>>(), n_threads);
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let own = self.own(&rows);
        self.source.visit(own, &mut |block| visit(Block::new(self.first + block.first(), block.data())))
    }
}

/// A function of a sample's number and values. Closures exist in this process only, row maps in others, too.
pub(crate) trait RowFunction: Sync {
    /// Maps one sample in place.
    fn map_row(&self, sample: usize, row: &mut [f64]);

    /// The function in the form that other processes can run; a closure has none.
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

/// Every sample of a source mapped by itself. Floating point comes out: f64 for f64 data, f32 for the others.
pub(crate) struct MappedSource<'a, F> {
    source: &'a dyn Source,
    shape: Shape,
    function: F,
}

impl<'a, F: RowFunction> MappedSource<'a, F> {
    /// Maps each sample where it is read.
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
            macro_rules! changed {
                ($variant:ident, $type:ty) => {{
                    let mut data: Vec<$type> = vec![0.0; block.rows() * features];
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
                ElementType::F64 => changed!(F64, f64),
                _ => changed!(F32, f32),
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
    fn samples_are_picked_and_changed_where_they_are_read() {
        let data: Vec<u8> = (0..12).collect();
        let memory = SliceSource::new(&data, 4, 3).unwrap();
        let picked = SubsetSource::new(&memory, vec![3, 1]);
        assert_eq!(picked.shape().samples, 2);
        assert_eq!(read_sample(&picked, 0).unwrap(), [9.0, 10.0, 11.0]);
        let halved = MappedSource::new(&picked, |_, row: &mut [f64]| row.iter_mut().for_each(|x| *x /= 2.0));
        assert_eq!(halved.shape().element, ElementType::F32);
        assert_eq!(read_sample(&halved, 1).unwrap(), [1.5, 2.0, 2.5]);
        let all = SubsetSource::at_most(&memory, Some(&[true, false, true, true]), 3);
        assert_eq!(all.samples, [0, 2, 3]);
    }

    #[test]
    fn a_few_of_many_samples_follow_no_period() {
        let data = vec![0u8; 9000];
        let memory = SliceSource::new(&data, 9000, 1).unwrap();
        let kept: Vec<bool> = (0..9000).map(|i| i >= 808).collect();
        for (kept, members, first) in [(None, 9000, 0), (Some(&kept[..]), 8192, 808)] {
            let picked = SubsetSource::at_most(&memory, kept, 2048).samples;
            assert_eq!(picked.len(), 2048);
            assert!(picked.is_sorted() && picked[0] >= first);
            for period in [2, 3, 4] {
                for phase in 0..period {
                    let own = picked.iter().filter(|&&i| i % period == phase).count();
                    let expected = 2048 / period;
                    assert!(own.abs_diff(expected) < 150, "{own} of {members} in phase {phase} of {period}");
                }
            }
        }
    }
}
