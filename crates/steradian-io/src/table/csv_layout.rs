//! Where a text table's data are, as its first row tells: its header, its width and the columns that are read.

use std::ops::Range;
use std::path::Path;

use ::csv::ByteRecord;
use steradian::{Error, Result};

use crate::system::quote::quote;
use crate::table::cell::Cell;
use crate::table::columns::{number_remedy, select};
use crate::table::table_options::TableOptions;

/// Where a table's data are: its header, its width and the columns that are read.
#[derive(Debug, Clone)]
pub(crate) struct CsvLayout {
    pub(crate) header: bool,
    /// Fields of every row.
    pub(crate) width: usize,
    /// The fields that are read, in the order asked.
    pub(crate) selected: Vec<usize>,
    /// Their names, when there is a header.
    pub(crate) names: Option<Vec<String>>,
    /// Whether every column of numbers is asked for; until they are known, `selected` holds all columns.
    pub(crate) only_numbers: bool,
    /// What each field is called, row names included: its name, or its index where there is no header.
    labels: Vec<String>,
    row_names: bool,
}

impl CsvLayout {
    /// Decides from the table's first row.
    pub(crate) fn of(path: &Path, first: &ByteRecord, options: &TableOptions) -> Result<Self> {
        let width = first.len();
        let data = usize::from(options.row_names)..width;
        if data.is_empty() {
            return Err(Error::invalid_data(format!(
                "{}: the only column holds the rows' names; there is nothing to read",
                path.display()
            )));
        }
        let header = options.header.unwrap_or_else(|| has_header(first, options));
        let label = |field: usize| match header {
            true => String::from_utf8_lossy(first[field].trim_ascii()).into_owned(),
            false => field.to_string(),
        };
        let labels: Vec<String> = (0..width).map(label).collect();
        let of_data = &labels[data.start..];
        let only_numbers = options.only_numbers(of_data);
        let selected = match &options.columns {
            Some(columns) if !only_numbers => {
                select(path, columns, of_data, header)?.into_iter().map(|i| i + data.start).collect()
            }
            _ => data.collect(),
        };
        let mut layout =
            Self { header, width, selected, names: None, only_numbers, labels, row_names: options.row_names };
        layout.name_selected();
        Ok(layout)
    }

    fn name_selected(&mut self) {
        self.names = self.header.then(|| self.selected.iter().map(|&field| self.labels[field].clone()).collect());
    }

    /// Reads the columns of numbers, now that they are known.
    pub(crate) fn select_numbers(&mut self, path: &Path, numbers: Vec<usize>) -> Result<()> {
        if numbers.is_empty() {
            return Err(Error::invalid_data(format!(
                "{}: no column holds numbers only, so none is left",
                path.display()
            )));
        }
        self.selected = numbers;
        self.name_selected();
        Ok(())
    }

    /// The fields that hold data rather than names.
    pub(crate) fn data(&self) -> Range<usize> {
        usize::from(self.row_names)..self.width
    }

    /// What to do about text, given the fields that hold numbers.
    pub(crate) fn number_remedy(&self, numbers: &[usize]) -> String {
        let labels: Vec<String> = numbers.iter().map(|&field| self.labels[field].clone()).collect();
        number_remedy(&labels, self.row_names)
    }

    /// The name of the column at a place in the selection, for messages.
    pub(crate) fn column(&self, place: usize) -> String {
        match &self.names {
            Some(names) => quote(names[place].as_bytes()),
            None => self.selected[place].to_string(),
        }
    }
}

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
    // The names asked for are not in the first row. If they are indices of numbers, it is a row like the others.
    let index_of_number = |column: &String| {
        column.parse::<usize>().is_ok_and(|field| (data..first.len()).contains(&field) && !text(field))
    };
    any_text && !columns.iter().all(index_of_number)
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
    fn a_header_is_a_row_with_text_where_data_would_be() {
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
    fn wrong_columns_are_answered_with_the_right_ones() {
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
