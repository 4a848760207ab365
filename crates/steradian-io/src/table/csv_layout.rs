//! The layout of a text table, detected from its first row: header, width and selected columns.

use std::ops::Range;
use std::path::Path;

use ::csv::ByteRecord;
use steradian::{Error, Result};

use crate::system::quote::quote;
use crate::table::cell::Cell;
use crate::table::columns::select;
use crate::table::table_options::{Header, TableOptions};

/// The layout of a text table.
#[derive(Debug, Clone)]
pub(crate) struct CsvLayout {
    /// True if the first row is a header.
    pub(crate) header: bool,
    /// Number of fields per row.
    pub(crate) width: usize,
    /// Indices of the selected fields, in the order of the selection.
    pub(crate) selected: Vec<usize>,
    /// Names of the selected fields, if there is a header.
    pub(crate) names: Option<Vec<String>>,
    /// True if every numeric column is selected; `selected` contains all columns until these are known.
    pub(crate) selects_numeric: bool,
    /// Label of each field, row names included: its name, or its index if there is no header.
    labels: Vec<String>,
    row_names: bool,
}

impl CsvLayout {
    /// Detects the layout from the first row.
    pub(crate) fn of(path: &Path, first: &ByteRecord, options: &TableOptions) -> Result<Self> {
        let width = first.len();
        let data = usize::from(options.row_names)..width;
        if data.is_empty() {
            return Err(Error::invalid_data(format!(
                "{}: the table has no data column: its only column contains the row names",
                path.display()
            )));
        }
        let header = match options.header {
            Header::Auto => has_header(first, options),
            Header::Yes => true,
            Header::No => false,
        };
        let label = |field: usize| match header {
            true => String::from_utf8_lossy(first[field].trim_ascii()).into_owned(),
            false => field.to_string(),
        };
        let labels: Vec<String> = (0..width).map(label).collect();
        let data_labels = &labels[data.start..];
        let selects_numeric = options.selects_numeric(data_labels);
        let selected = match &options.columns {
            Some(columns) if !selects_numeric => {
                select(path, columns, data_labels, header)?.into_iter().map(|i| i + data.start).collect()
            }
            _ => data.collect(),
        };
        let mut layout =
            Self { header, width, selected, names: None, selects_numeric, labels, row_names: options.row_names };
        layout.name_selected();
        Ok(layout)
    }

    fn name_selected(&mut self) {
        self.names = self.header.then(|| self.selected.iter().map(|&field| self.labels[field].clone()).collect());
    }

    /// Selects the numeric fields, which are known after a pass over the table.
    pub(crate) fn select_numeric(&mut self, path: &Path, numeric: Vec<usize>) -> Result<()> {
        if numeric.is_empty() {
            return Err(Error::invalid_data(format!("{}: no column is numeric", path.display())));
        }
        self.selected = numeric;
        self.name_selected();
        Ok(())
    }

    /// The fields with data: all but the row names.
    pub(crate) fn data(&self) -> Range<usize> {
        usize::from(self.row_names)..self.width
    }

    /// The header of the row names, if there are row names; empty if there is no header.
    pub(crate) fn row_names_header(&self) -> Option<&str> {
        self.row_names.then(|| if self.header { self.labels[0].as_str() } else { "" })
    }

    /// The [`Error::NotNumeric`] of a cell, given the numeric fields.
    pub(crate) fn not_numeric(&self, path: &Path, place: String, numeric: &[usize]) -> Error {
        Error::NotNumeric {
            path: path.to_path_buf(),
            place,
            numeric: numeric.iter().map(|&field| self.labels[field].clone()).collect(),
            row_names: self.row_names,
        }
    }

    /// The label of the selected column at an index, for messages.
    pub(crate) fn column(&self, index: usize) -> String {
        match &self.names {
            Some(names) => quote(names[index].as_bytes()),
            None => self.selected[index].to_string(),
        }
    }
}

/// True if the first row is a header.
fn has_header(first: &ByteRecord, options: &TableOptions) -> bool {
    let data = usize::from(options.row_names);
    let text = |field: usize| Cell::of(&first[field]) == Cell::Text;
    let any_text = (data..first.len()).any(text);
    let Some(columns) = &options.columns else {
        return any_text;
    };
    let named = |column: &String| first.iter().skip(data).any(|cell| cell.trim_ascii() == column.as_bytes());
    if any_text && columns.iter().all(named) {
        return true;
    }
    // The selected names are not in the first row. If they are indices of numeric cells, it is a data row.
    let is_numeric_index = |column: &String| {
        column.parse::<usize>().is_ok_and(|field| (data..first.len()).contains(&field) && !text(field))
    };
    any_text && !columns.iter().all(is_numeric_index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(first: &[&str], columns: Option<&[&str]>, row_names: bool) -> Result<CsvLayout> {
        let columns = columns.map(|columns| columns.iter().map(ToString::to_string).collect());
        let options = TableOptions { columns, row_names, ..TableOptions::default() };
        CsvLayout::of(Path::new("t.csv"), &ByteRecord::from(first.to_vec()), &options)
    }

    #[test]
    fn a_first_row_with_text_in_a_data_column_is_a_header() {
        let header = |first: &[&str], columns, row_names| layout(first, columns, row_names).unwrap().header;
        assert!(header(&["", "x", "y"], None, false));
        assert!(!header(&["1", "2"], None, false));
        assert!(!header(&["NA", "2"], None, false));
        assert!(!header(&["Afghanistan", "2"], None, true));
        assert!(header(&["name", "1", "2"], Some(&["2", "1"]), false));
        assert!(!header(&["setosa", "5.1", "3.5"], Some(&["1", "2"]), false));
        assert_eq!(layout(&["name", "a", "b"], Some(&["b", "a"]), true).unwrap().selected, [2, 1]);
        assert_eq!(layout(&["x", "5", "6"], Some(&["2"]), true).unwrap().selected, [2]);
    }

    #[test]
    fn errors_about_columns_list_the_columns() {
        let message = |columns: &[&str]| layout(&["a", "b", "b"], Some(columns), false).unwrap_err().to_string();
        assert_eq!(message(&["c"]), "t.csv: there is no column \"c\"; the columns are a, b, b");
        assert!(message(&["a", "a"]).contains("twice"));
        assert!(message(&["b"]).contains("more than one column"));
        assert!(message(&[]).contains("at least one"));
        let by_index = layout(&["n", "1", "2"], Some(&["0"]), true).unwrap_err().to_string();
        assert!(by_index.contains("no column \"0\""), "{by_index}");
        assert!(layout(&["n"], None, true).is_err());
    }
}
