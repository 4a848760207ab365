//! Samples without some rows, and with the missing cells of a mask, converted block by block.

use std::ops::Range;
use std::sync::Arc;

use steradian::data::{Block, BlockData, BlockElement, Element, ElementType, Rows, Shape};
use steradian::{Error, Result, Source, memory};

use crate::memory::{BorrowedArray, ElementKind};

/// The rows of a source that are samples, and the mask of its missing cells.
#[derive(Clone)]
pub struct Selection {
    /// Mask of the missing cells, of the shape of the source.
    mask: Option<Arc<BorrowedArray>>,
    /// The rows of the source, in ascending order; all if it is `None`.
    rows: Option<Arc<Vec<usize>>>,
    shape: Shape,
}

impl Selection {
    /// All rows and cells of a source of this shape.
    pub fn all(shape: &Shape) -> Self {
        Self { mask: None, rows: None, shape: shape.clone() }
    }

    /// True if no row is left out and no mask was given.
    pub fn is_all(&self) -> bool {
        self.mask.is_none() && self.rows.is_none()
    }

    /// True if a mask was given.
    pub fn is_masked(&self) -> bool {
        self.mask.is_some()
    }

    /// The shape of the selected samples; with a mask their element type is a floating-point type, which has NaN.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The rows of the source, if some are left out.
    pub fn rows(&self) -> Option<&[usize]> {
        self.rows.as_ref().map(|rows| rows.as_slice())
    }

    /// The row of the source that a sample is.
    pub fn row(&self, sample: usize) -> usize {
        self.rows().and_then(|rows| rows.get(sample).copied()).unwrap_or(sample)
    }

    /// The selection with the missing cells of a boolean mask.
    ///
    /// # Errors
    /// If the mask has another shape than the samples.
    pub fn with_mask(mut self, mask: BorrowedArray) -> Result<Self> {
        let expected = [self.shape.samples, self.shape.features];
        if mask.shape() != expected || mask.kind() != ElementKind::Bool {
            return Err(Error::invalid_argument(format!(
                "missing_mask has shape {:?} but the data have shape {expected:?}; use one boolean per cell",
                mask.shape()
            )));
        }
        if matches!(self.shape.element, ElementType::U8 | ElementType::U16) {
            self.shape.element = ElementType::F32;
        }
        self.mask = Some(Arc::new(mask));
        Ok(self)
    }

    /// The selection without the samples whose indices, in ascending order, are given.
    pub fn without(mut self, excluded: &[usize]) -> Self {
        let mut excluded = excluded.iter().copied().peekable();
        let mut rows = memory::reserved(self.shape.samples);
        for sample in 0..self.shape.samples {
            if excluded.next_if(|row| *row == sample).is_none() {
                rows.push(self.row(sample));
            }
        }
        self.shape.samples = rows.len();
        self.rows = Some(Arc::new(rows));
        self
    }

    /// An error with the row of the source in place of the index of the sample.
    pub fn located(&self, error: Error) -> Error {
        match error {
            Error::NotFinite { value, row, column } => Error::NotFinite { value, row: self.row(row), column },
            other => other,
        }
    }

    /// Passes some of the samples, with NaN for missing cells, to `visit`.
    pub fn visit(
        &self,
        source: &dyn Source,
        samples: Range<usize>,
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.shape.element {
            ElementType::U8 => self.visit_as(source, samples, visit, |x| x as u8),
            ElementType::U16 => self.visit_as(source, samples, visit, |x| x as u16),
            ElementType::F32 => self.visit_as(source, samples, visit, |x| x as f32),
            ElementType::F64 => self.visit_as(source, samples, visit, |x| x),
        }
    }

    fn visit_as<T: BlockElement>(
        &self,
        source: &dyn Source,
        samples: Range<usize>,
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
        narrow: impl Fn(f64) -> T,
    ) -> Result<()> {
        let features = self.shape.features;
        let mut values = memory::filled(samples.len() * features, T::default());
        let mut rest = &mut values[..];
        for rows in self.runs(samples.clone()) {
            let (part, others) = rest.split_at_mut(rows.len() * features);
            rest = others;
            source.visit(rows.clone(), &mut |block| {
                match block.data() {
                    BlockData::U8(rows) => copy(&rows, part, &narrow),
                    BlockData::U16(rows) => copy(&rows, part, &narrow),
                    BlockData::F32(rows) => copy(&rows, part, &narrow),
                    BlockData::F64(rows) => copy(&rows, part, &narrow),
                }
                Ok(())
            })?;
            if let Some(mask) = &self.mask {
                mark_missing(mask, &rows, part, narrow(f64::NAN))?;
            }
        }
        visit(Block::new(samples.start, T::block_data(Rows::contiguous(&values, samples.len(), features)?)))
    }

    /// The rows of some samples as ranges of consecutive rows.
    fn runs(&self, samples: Range<usize>) -> Vec<Range<usize>> {
        let Some(rows) = self.rows() else { return vec![samples] };
        rows[samples].chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 1).collect()
    }
}

fn copy<S: Element, T>(rows: &Rows<'_, S>, into: &mut [T], narrow: &impl Fn(f64) -> T) {
    for (row, into) in into.chunks_mut(rows.columns().max(1)).enumerate() {
        match rows.row(row, 0, rows.columns()) {
            Some(values) => into.iter_mut().zip(values).for_each(|(x, value)| *x = narrow(value.widen())),
            None => into.iter_mut().enumerate().for_each(|(column, x)| *x = narrow(rows.get(row, column).widen())),
        }
    }
}

/// Replaces the cells that the mask marks.
fn mark_missing<T: Copy>(mask: &BorrowedArray, rows: &Range<usize>, values: &mut [T], missing: T) -> Result<()> {
    let marked = mask.rows(rows)?;
    // Bytes have any alignment and no byte order, so that they are always read in place.
    let marked = marked.typed::<u8>(ElementKind::Bool).expect("a mask of two axes is read in place")?;
    for (row, values) in values.chunks_mut(marked.columns().max(1)).enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            if marked.get(row, column) != 0 {
                *value = missing;
            }
        }
    }
    Ok(())
}
