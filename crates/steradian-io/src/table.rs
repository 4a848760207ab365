//! What a table's cells and columns mean: which are numbers, which are missing, which are asked for.

use std::path::Path;

use ::csv::ByteRecord;
use steradian::{Error, Result};

use crate::quote::quote;

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
    /// The columns to read, in this order: names when the table has a header, else indices from 0 in the file. `None`
    /// reads all.
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

/// What one cell is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Missing,
    /// Infinite, or too large for double precision.
    Infinite,
    Text,
}

impl Cell {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.trim_ascii();
        if matches!(bytes, b"" | b"NA" | b"NaN" | b"nan" | b"N/A" | b"null") {
            return Self::Missing;
        }
        match std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok()) {
            Some(number) if number.is_finite() => Self::Number(number),
            Some(number) if number.is_nan() => Self::Missing,
            Some(_) => Self::Infinite,
            None => Self::Text,
        }
    }
}

/// Where a table's data are: its header, its width and the columns that are read.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) header: bool,
    /// Fields of every row.
    pub(crate) width: usize,
    /// The fields that are read, in the order asked.
    pub(crate) selected: Vec<usize>,
    /// Their names, when there is a header.
    pub(crate) names: Option<Vec<String>>,
}

impl Layout {
    /// Decides from the table's first row.
    pub(crate) fn of(path: &Path, first: &ByteRecord, options: &TableOptions) -> Result<Self> {
        let width = first.len();
        let data = usize::from(options.row_names)..width;
        if data.is_empty() {
            return Err(Error::data(format!(
                "{}: the only column holds the rows' names; there is nothing to read",
                path.display()
            )));
        }
        let header = options.header.unwrap_or_else(|| has_header(first, options));
        let label = |field: usize| match header {
            true => String::from_utf8_lossy(first[field].trim_ascii()).into_owned(),
            false => field.to_string(),
        };
        let labels: Vec<String> = data.clone().map(label).collect();
        let selected = match &options.columns {
            None => data.collect(),
            Some(columns) => select(path, columns, &labels, header)?.into_iter().map(|i| i + data.start).collect(),
        };
        let mut layout = Self { header, width, selected, names: None };
        layout.names = header.then(|| layout.selected.iter().map(|&field| label(field)).collect());
        Ok(layout)
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

/// The places of the asked columns among the labels.
fn select(path: &Path, columns: &[String], labels: &[String], header: bool) -> Result<Vec<usize>> {
    let asked = |what: String| Error::asked(format!("{}: {what}", path.display()));
    if columns.is_empty() {
        return Err(asked("no column is asked for; name at least one".to_string()));
    }
    let mut selected = Vec::with_capacity(columns.len());
    for column in columns {
        let mut places = (0..labels.len()).filter(|&i| labels[i] == *column);
        let Some(place) = places.next() else {
            let kind = if header { "the columns are" } else { "there is no header, and the columns by index are" };
            let name = quote(column.as_bytes());
            return Err(asked(format!("there is no column {name}; {kind} {}", list(labels))));
        };
        if places.next().is_some() {
            return Err(asked(format!("more than one column is named {}; rename them", quote(column.as_bytes()))));
        }
        if selected.contains(&place) {
            return Err(asked(format!("column {} is asked for twice; ask once", quote(column.as_bytes()))));
        }
        selected.push(place);
    }
    Ok(selected)
}

/// A list of labels that stays readable when the table is wide.
fn list(labels: &[String]) -> String {
    const SHOWN: usize = 30;
    let head = labels.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match labels.len().saturating_sub(SHOWN) {
        0 => head,
        more => format!("{head} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(first: &[&str], columns: Option<&[&str]>, row_names: bool) -> Result<Layout> {
        let columns = columns.map(|columns| columns.iter().map(ToString::to_string).collect());
        let options = TableOptions { columns, row_names, ..TableOptions::default() };
        Layout::of(Path::new("t.csv"), &ByteRecord::from(first.to_vec()), &options)
    }

    #[test]
    fn cells() {
        for missing in ["", " ", "NA", "NaN", "nan", "N/A", "null", "-nan"] {
            assert_eq!(Cell::of(missing.as_bytes()), Cell::Missing, "{missing:?}");
        }
        for infinite in ["inf", "-Infinity", "1e999"] {
            assert_eq!(Cell::of(infinite.as_bytes()), Cell::Infinite, "{infinite:?}");
        }
        for text in ["a", "1,5", "0x10", "1 2", "none", "--1"] {
            assert_eq!(Cell::of(text.as_bytes()), Cell::Text, "{text:?}");
        }
        for (number, value) in [("1", 1.0), (" -2.5e3 ", -2500.0), (".5", 0.5), ("+7.", 7.0)] {
            assert_eq!(Cell::of(number.as_bytes()), Cell::Number(value), "{number:?}");
        }
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
