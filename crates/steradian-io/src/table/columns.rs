//! Columns of a table of any format: selection by label, and messages that list labels.

use std::path::Path;

use steradian::{Error, Result};

use crate::system::quote::quote;
use crate::table::table_options::TableOptions;

/// Label that selects every numeric column.
const NUMERIC: &str = "numeric";

impl TableOptions {
    /// True if the options select every numeric column of a table with these labels.
    pub(crate) fn selects_numeric(&self, labels: &[String]) -> bool {
        self.columns.as_deref().is_some_and(|columns| columns == [NUMERIC]) && !labels.iter().any(|l| l == NUMERIC)
    }
}

/// Indices of the selected columns among the labels.
pub(crate) fn select(path: &Path, columns: &[String], labels: &[String], header: bool) -> Result<Vec<usize>> {
    let invalid = |problem: String| Error::invalid_parameter("columns", format!("{}: {problem}", path.display()));
    if columns.is_empty() {
        return Err(invalid("the list of columns is empty; name at least one".to_string()));
    }
    let mut selected = Vec::with_capacity(columns.len());
    for column in columns {
        let name = quote(column.as_bytes());
        let mut indices = (0..labels.len()).filter(|&i| labels[i] == *column);
        let Some(index) = indices.next() else {
            let kind = if header { "the columns are" } else { "there is no header, and the column indices are" };
            return Err(invalid(format!("there is no column {name}; {kind} {}", list(labels))));
        };
        if indices.next().is_some() {
            return Err(invalid(format!("more than one column is named {name}; rename them")));
        }
        if selected.contains(&index) {
            return Err(invalid(format!("column {name} is selected twice; name it once")));
        }
        selected.push(index);
    }
    Ok(selected)
}

/// The labels with commas between them, at most 30 of them.
fn list(labels: &[String]) -> String {
    const MAX_LISTED: usize = 30;
    let head = labels.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match labels.len().saturating_sub(MAX_LISTED) {
        0 => head,
        more => format!("{head} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_selects_all_numeric_columns_unless_a_column_has_that_name() {
        let with_columns = |columns: &[&str]| TableOptions {
            columns: Some(columns.iter().map(ToString::to_string).collect()),
            ..TableOptions::default()
        };
        let labels = |labels: &[&str]| labels.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(with_columns(&["numeric"]).selects_numeric(&labels(&["a", "b"])));
        assert!(!with_columns(&["numeric"]).selects_numeric(&labels(&["a", "numeric"])));
        assert!(!with_columns(&["numeric", "a"]).selects_numeric(&labels(&["a", "b"])));
        assert!(!TableOptions::default().selects_numeric(&labels(&["a"])));
    }

    #[test]
    fn long_lists_of_labels_are_truncated() {
        let many: Vec<String> = (0..33).map(|i| format!("V{i}")).collect();
        assert!(list(&many).ends_with("V28, V29 and 3 more"));
        assert_eq!(list(&many[..2]), "V0, V1");
    }
}
