//! Samples without some rows of their table, and with the missing cells of a mask: views of the library, over arrays of numpy.

use std::ops::Range;
use std::sync::Arc;

use steradian::data::{Block, BlockData, ElementType, MaskedCells, RowSelection, Shape};
use steradian::{Error, Result, Source};

use crate::memory::{BorrowedArray, ElementKind};

/// A mask of missing cells: an array of booleans, read in place.
#[derive(Clone)]
pub struct Mask(Arc<(BorrowedArray, Shape)>);

impl Mask {
    /// The mask of an array with two axes of booleans.
    ///
    /// # Errors
    /// For an array of another kind.
    pub fn new(array: BorrowedArray) -> Result<Self> {
        let (&[samples, features], ElementKind::Bool) = (array.shape(), array.kind()) else {
            return Err(Error::invalid_parameter(
                "missing_mask",
                format!("missing_mask has shape {:?}; use one boolean per cell", array.shape()),
            ));
        };
        let shape = Shape { samples, features, element: ElementType::U8, image: None };
        Ok(Self(Arc::new((array, shape))))
    }
}

impl Source for Mask {
    fn shape(&self) -> &Shape {
        &self.0.1
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let marks = self.0.0.rows(&rows)?;
        // Bytes have any alignment and no byte order, so that they are always read in place.
        let marks = marks.typed::<u8>(ElementKind::Bool).expect("a mask has two axes of booleans")?;
        visit(Block::new(rows.start, BlockData::U8(marks)))
    }
}

/// The rows of a table that are samples, and the mask of their missing cells.
pub enum Selection<S> {
    All(S),
    Masked(MaskedCells<S, Mask>),
    Rows(RowSelection<S>),
    MaskedRows(RowSelection<MaskedCells<S, Mask>>),
}

impl<S: Source + Clone> Selection<S> {
    /// The table.
    pub fn table(&self) -> &S {
        match self {
            Self::All(table) => table,
            Self::Masked(view) => view.source(),
            Self::Rows(view) => view.source(),
            Self::MaskedRows(view) => view.source().source(),
        }
    }

    /// The selected samples.
    pub fn source(&self) -> &dyn Source {
        match self {
            Self::All(table) => table,
            Self::Masked(view) => view,
            Self::Rows(view) => view,
            Self::MaskedRows(view) => view,
        }
    }

    /// The rows of the table, if some are left out.
    pub fn rows(&self) -> Option<&[usize]> {
        match self {
            Self::All(_) | Self::Masked(_) => None,
            Self::Rows(view) => Some(view.rows()),
            Self::MaskedRows(view) => Some(view.rows()),
        }
    }

    /// The table with the missing cells of a mask.
    ///
    /// # Errors
    /// If there is a mask or a selection of rows already, and for a mask of another shape than the table.
    pub fn with_mask(&self, mask: Mask) -> Result<Self> {
        match self {
            Self::All(table) => Ok(Self::Masked(MaskedCells::new(table.clone(), mask)?)),
            _ => Err(Error::invalid_parameter(
                "missing_mask",
                "the samples have a mask of missing cells or a selection of rows already; combine the masks",
            )),
        }
    }

    /// The samples without those whose indices, in ascending order, are given.
    ///
    /// # Errors
    /// None for a selection of this process; the library checks that rows ascend.
    pub fn without(&self, excluded: &[usize]) -> Result<Self> {
        let mut excluded = excluded.iter().copied().peekable();
        let kept = (0..self.source().shape().samples).filter(|sample| excluded.next_if_eq(sample).is_none());
        let rows: Vec<usize> = kept.map(|sample| self.row(sample)).collect();
        Ok(match self {
            Self::All(_) | Self::Rows(_) => Self::Rows(RowSelection::new(self.table().clone(), rows)?),
            Self::Masked(view) => Self::MaskedRows(selected_rows(view, rows)?),
            Self::MaskedRows(view) => Self::MaskedRows(selected_rows(view.source(), rows)?),
        })
    }

    /// The row of the table that a sample is.
    fn row(&self, sample: usize) -> usize {
        self.rows().and_then(|rows| rows.get(sample).copied()).unwrap_or(sample)
    }

    /// An error with the row of the table in place of the index of the sample.
    pub fn located(&self, error: Error) -> Error {
        match error {
            Error::NotFinite { value, row, column } => Error::NotFinite { value, row: self.row(row), column },
            other => other,
        }
    }
}

/// Some rows of a table with a mask.
fn selected_rows<S: Source + Clone>(
    masked: &MaskedCells<S, Mask>,
    rows: Vec<usize>,
) -> Result<RowSelection<MaskedCells<S, Mask>>> {
    RowSelection::new(MaskedCells::new(masked.source().clone(), masked.mask().clone())?, rows)
}
