//! Options of a table of any format: columns, row names, missing cells, header.

use std::path::Path;

use steradian::{Error, Result};

/// Treatment of missing cells: of empty cells, nulls and placeholders in the selected columns of a table, of NaN in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingRule {
    /// The first missing cell is an error.
    #[default]
    Error,
    /// Rows with a missing cell are dropped and listed.
    Drop,
    /// Missing cells are NaN in the samples.
    Use,
}

/// Treatment of the first row of a text table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// A header if one of its cells in the selected columns is neither a number nor missing, else a sample.
    #[default]
    Auto,
    /// Names of the columns.
    Yes,
    /// A sample.
    No,
}

/// Options for reading data; all but `missing` apply to tables only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableOptions {
    /// The columns to read, in this order: names if the table has a header, else indices from 0. The single word
    /// `numeric` selects every numeric column, unless a column has that name. `None` selects all columns.
    pub columns: Option<Vec<String>>,
    /// True if the first column contains row names instead of data.
    pub row_names: bool,
    /// Treatment of missing cells: empty, `NA`, `NaN`, `nan`, `N/A` or `null` in tables, NaN in arrays. With
    /// [`MissingRule::Error`] an array is not read for it: a fit reports its missing cells.
    pub missing: MissingRule,
    /// Treatment of the first row.
    pub header: Header,
}

impl TableOptions {
    /// Fails if an option is set, for data that are not a table; `kind` describes the data.
    pub(crate) fn require_unset(&self, path: &Path, kind: &str) -> Result<()> {
        let options = [
            (self.columns.is_some(), "columns", "a column selection applies"),
            (self.row_names, "row_names", "row names apply"),
            (self.header != Header::Auto, "header", "a header setting applies"),
        ];
        match options.into_iter().find(|(is_set, ..)| *is_set) {
            Some((_, parameter, subject)) => Err(Error::invalid_parameter(
                parameter,
                format!("{}: {subject} only to tables, got {kind}", path.display()),
            )),
            None => Ok(()),
        }
    }
}
