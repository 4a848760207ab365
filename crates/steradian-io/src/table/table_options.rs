//! How a table is read, whatever its format: which columns are asked for, what a missing cell means, what a cell is.

use std::path::Path;

use steradian::{Error, Result};

use crate::system::quote::quote;

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

    /// Whether every column of numbers is asked for, of a table with these labels.
    pub(crate) fn only_numbers(&self, labels: &[String]) -> bool {
        self.columns.as_deref().is_some_and(|columns| columns == [NUMERIC]) && !labels.iter().any(|l| l == NUMERIC)
    }
}

/// What stands for every column of numbers.
const NUMERIC: &str = "numeric";

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

/// The places of the asked columns among the labels.
pub(crate) fn select(path: &Path, columns: &[String], labels: &[String], header: bool) -> Result<Vec<usize>> {
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
pub(crate) fn list(labels: &[String]) -> String {
    const SHOWN: usize = 30;
    let head = labels.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match labels.len().saturating_sub(SHOWN) {
        0 => head,
        more => format!("{head} and {more} more"),
    }
}

/// What to do about a column of text, given the labels of those that hold numbers.
pub(crate) fn number_remedy(numbers: &[String], row_names: bool) -> String {
    let names = if row_names { "" } else { "; --row-names says that the first column holds names" };
    match numbers.len() {
        0 => format!("no column holds numbers only{names}"),
        1 => format!("--columns numeric takes the one column of numbers: {}{names}", numbers[0]),
        count => format!("--columns numeric takes the {count} columns of numbers: {}{names}", list(numbers)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn numeric_is_a_word_unless_a_column_has_that_name() {
        let asked = |columns: &[&str]| TableOptions {
            columns: Some(columns.iter().map(ToString::to_string).collect()),
            ..TableOptions::default()
        };
        let labels = |labels: &[&str]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(asked(&["numeric"]).only_numbers(&labels(&["a", "b"])));
        assert!(!asked(&["numeric"]).only_numbers(&labels(&["a", "numeric"])));
        assert!(!asked(&["numeric", "a"]).only_numbers(&labels(&["a", "b"])));
        assert!(!TableOptions::default().only_numbers(&labels(&["a"])));
    }

    #[test]
    fn the_remedy_names_the_columns_of_numbers() {
        let many: Vec<String> = (0..33).map(|i| format!("V{i}")).collect();
        assert!(number_remedy(&many, true).ends_with("V28, V29 and 3 more"));
        assert!(number_remedy(&many[..1], false).contains("the one column of numbers: V0; --row-names"));
        assert!(number_remedy(&[], true).contains("no column holds numbers only"));
    }
}
