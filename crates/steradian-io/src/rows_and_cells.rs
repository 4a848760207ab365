//! Data without some of their rows, or with a mask of missing cells: views of data of any format.

use std::ops::Range;
use std::path::Path;

use steradian::data::{Block, MaskedCells, RowSelection, Shape};
use steradian::{Error, Result, Source};

use crate::npy::npy_source::NpySource;
use crate::npy::row_list::read_row_list;
use crate::open::Data;

/// Rows that are read at a time when missing cells are looked for.
const SCAN_ROWS: usize = 256;

/// A view of data.
#[derive(Debug)]
#[non_exhaustive]
pub enum DataView {
    /// Cells that a mask marks are missing.
    Masked(MaskedCells<Data, NpySource>),
    /// Rows with a missing cell are dropped; with the dropped rows, by their place in the file.
    Complete(RowSelection<Data>, Vec<usize>),
    /// Some rows take no part in a fit.
    Selected(RowSelection<Data>),
    /// A missing cell is an error.
    Strict(Data),
}

impl DataView {
    /// The data of the view.
    pub(crate) fn of(&self) -> &Data {
        match self {
            Self::Masked(view) => view.source(),
            Self::Complete(view, _) | Self::Selected(view) => view.source(),
            Self::Strict(data) => data,
        }
    }

    /// This view of data of another form: streamed, or with other buffers.
    pub(crate) fn with(self, change: impl FnOnce(Data) -> Result<Data>) -> Result<Self> {
        Ok(match self {
            Self::Masked(view) => {
                let (data, mask) = view.into_parts();
                Self::Masked(MaskedCells::new(change(data)?, mask)?)
            }
            Self::Complete(view, dropped) => {
                let (data, rows) = view.into_parts();
                Self::Complete(RowSelection::new(change(data)?, rows)?, dropped)
            }
            Self::Selected(view) => {
                let (data, rows) = view.into_parts();
                Self::Selected(RowSelection::new(change(data)?, rows)?)
            }
            Self::Strict(data) => Self::Strict(change(data)?),
        })
    }

    /// The index that a sample has in the data of the view.
    pub(crate) fn sample(&self, sample: usize) -> usize {
        match self {
            Self::Masked(_) | Self::Strict(_) => sample,
            Self::Complete(view, _) | Self::Selected(view) => view.rows()[sample],
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Self::Masked(view) => view,
            Self::Complete(view, _) | Self::Selected(view) => view,
            Self::Strict(data) => data,
        }
    }
}

impl Source for DataView {
    fn shape(&self) -> &Shape {
        self.source().shape()
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.source().advise_access(parts, n_threads);
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        self.source().buffer_bytes(threads)
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let Self::Strict(data) = self else { return self.source().visit(rows, visit) };
        data.visit(rows, &mut |block| match missing_cells(&block).next() {
            Some((row, column)) => Err(Error::NotFinite { value: f64::NAN, row: block.first() + row, column }),
            None => visit(block),
        })
    }
}

/// The first missing cell of each row of a block that has one: row and column.
fn missing_cells<'a>(block: &'a Block<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    (0..block.rows()).filter_map(|row| block.first_missing(row).map(|column| (row, column)))
}

impl Data {
    /// These data with the cells missing that a mask marks: a `.npy` array of bool, or of uint8 with 0 and 1, with one value
    /// per cell. It is memory-mapped and read block by block.
    ///
    /// # Errors
    /// For a mask of another shape or element type, and if the file cannot be read.
    pub fn with_missing_mask(self, mask: impl AsRef<Path>) -> Result<Self> {
        let mask = NpySource::open_mask(mask.as_ref(), self.shape())?;
        Ok(Self::View(Box::new(DataView::Masked(MaskedCells::new(self, mask)?))))
    }

    /// These data without the rows that have a missing cell. Floating-point data are read once.
    ///
    /// # Errors
    /// If every row has a missing cell, and errors of the source.
    pub fn without_incomplete_rows(self) -> Result<Self> {
        let samples = self.shape().samples;
        if !self.shape().element.is_float() {
            return Ok(self);
        }
        let mut incomplete = Vec::new();
        self.advise_access(std::slice::from_ref(&(0..samples)), 1);
        for start in (0..samples).step_by(SCAN_ROWS) {
            self.visit(start..samples.min(start + SCAN_ROWS), &mut |block| {
                incomplete.extend(missing_cells(&block).map(|(row, _)| block.first() + row));
                Ok(())
            })?;
        }
        if incomplete.is_empty() {
            return Ok(self);
        }
        if incomplete.len() == samples {
            return Err(Error::invalid_data(format!(
                "every row ({samples} of {samples}) has a missing cell; use fewer features"
            )));
        }
        let mut dropped: Vec<usize> = incomplete.iter().map(|row| self.table_row(*row)).collect();
        dropped.extend(self.dropped_rows());
        dropped.sort_unstable();
        let rows = others(samples, |row| incomplete.binary_search(&row).is_ok());
        Ok(Self::View(Box::new(DataView::Complete(RowSelection::new(self, rows)?, dropped))))
    }

    /// These data without the rows in a list, which take no part in a fit: a `.npy` vector of bool with one value per row of
    /// the file, true for an excluded row, or of the indices of such rows.
    ///
    /// # Errors
    /// For a vector of another length, indices out of range or that occur twice, if no row is left, and if the file cannot be
    /// read.
    pub fn without_rows(self, list: impl AsRef<Path>) -> Result<Self> {
        let (list, samples) = (list.as_ref(), self.shape().samples);
        let of_file = samples + self.dropped_rows().len();
        let excluded = read_row_list(list, of_file, "exclude")?;
        let rows = others(samples, |row| excluded[self.table_row(row)]);
        if rows.is_empty() {
            let problem = format!("{}: all {samples} rows are excluded; leave some for the fit", list.display());
            return Err(Error::invalid_parameter("exclude", problem));
        }
        Ok(Self::View(Box::new(DataView::Selected(RowSelection::new(self, rows)?))))
    }

    /// These data with an error for a missing cell of an array, at the first one.
    #[must_use]
    pub fn rejecting_missing_cells(self) -> Self {
        if !self.shape().element.is_float() {
            return self;
        }
        Self::View(Box::new(DataView::Strict(self)))
    }

    /// The mask of missing cells, if these data have one.
    pub fn missing_mask(&self) -> Option<&dyn Source> {
        match self {
            Self::View(view) => match &**view {
                DataView::Masked(masked) => Some(masked.mask()),
                other => other.of().missing_mask(),
            },
            _ => None,
        }
    }

    /// The rows that take part in a fit and the number of all rows, if some are excluded.
    pub fn fitted_rows(&self) -> Option<(&[usize], usize)> {
        match self {
            Self::View(view) => match &**view {
                DataView::Selected(selected) => Some((selected.rows(), selected.source().shape().samples)),
                other => other.of().fitted_rows(),
            },
            _ => None,
        }
    }
}

/// The rows that are not left out, in order.
fn others(samples: usize, left_out: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..samples).filter(|row| !left_out(*row)).collect()
}
