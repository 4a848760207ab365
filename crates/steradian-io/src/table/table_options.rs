//! Options of a table of any format: columns, row names, missing cells, header.

/// What to do with a row that has a missing cell in a column that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// The first missing cell is an error.
    #[default]
    Error,
    /// Such rows are left out, and counted.
    Drop,
}

/// How to read a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableOptions {
    /// The columns to read, in this order: names when the table has a header, else indices from 0 in the file. The one
    /// word `numeric` stands for every column of numbers, unless a column has that name. `None` reads all.
    pub columns: Option<Vec<String>>,
    /// Whether the first column holds the rows' names rather than data.
    pub row_names: bool,
    /// What to do with missing cells: empty, `NA`, `NaN`, `nan`, `N/A` or `null`.
    pub missing: Missing,
    /// Whether the first row is a header; `None` looks: it is one if a cell to be read there is neither a number nor
    /// missing.
    pub header: Option<bool>,
}

impl TableOptions {
    /// The command-line name of an option that is set, if any is.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let set = [
            (self.columns.is_some(), "--columns"),
            (self.row_names, "--row-names"),
            (self.missing != Missing::Error, "--missing drop"),
            (self.header.is_some(), "a header option"),
        ];
        set.into_iter().find_map(|(is_set, name)| is_set.then_some(name))
    }
}
