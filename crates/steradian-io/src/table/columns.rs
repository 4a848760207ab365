//! Columns of a table of any format: selection by label, and messages that list labels.

use std::path::Path;

use steradian::{Error, Result};

use crate::system::quote::quote;
use crate::table::table_options::TableOptions;

/// Word that stands for every column of numbers.
const NUMERIC: &str = "numeric";

impl TableOptions {
    /// Whether the options select every column of numbers, of a table with these labels.
    pub(crate) fn only_numbers(&self, labels: &[String]) -> bool {
        self.columns.as_deref().is_some_and(|columns| columns == [NUMERIC]) && !labels.iter().any(|l| l == NUMERIC)
    }
}

/// The places of the asked columns among the labels.
pub(crate) fn select(path: &Path, columns: &[String], labels: &[String], header: bool) -> Result<Vec<usize>> {
    let asked = |what: String| Error::invalid_argument(format!("{}: {what}", path.display()));
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
