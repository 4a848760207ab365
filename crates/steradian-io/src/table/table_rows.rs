//! The rows of a table that became samples, and their names.

use std::path::Path;

use steradian::{Error, Result};

/// The rows that were left out, and the names of those that were not.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    kept: usize,
    /// The rows left out, counted from 0 after the header.
    dropped: Vec<usize>,
    /// The names one after the other in one string, for tables with many rows.
    names: String,
    /// Where each name ends; empty when the table has no row names.
    ends: Vec<usize>,
}

impl KeptRows {
    /// How many rows there are so far, kept or not: the index of the next one.
    pub(crate) fn next_row(&self) -> usize {
        self.kept + self.dropped.len()
    }

    /// How many rows are kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// The next row is kept.
    pub(crate) fn keep(&mut self) {
        self.kept += 1;
    }

    /// The name of the row that was kept last.
    pub(crate) fn name(&mut self, name: &str) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
    }

    /// The next row is left out.
    pub(crate) fn drop_row(&mut self) {
        self.dropped.push(self.next_row());
    }

    /// The rows left out, in order.
    pub(crate) fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// The row of the table that a sample is.
    pub(crate) fn table_row(&self, sample: usize) -> usize {
        // Before dropped row number k there are `row - k` kept ones, a count that grows with k.
        let (mut low, mut high) = (0, self.dropped.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.dropped[middle] - middle <= sample { low = middle + 1 } else { high = middle }
        }
        sample + low
    }

    /// The name of a sample, when the table has row names.
    pub(crate) fn row_name(&self, sample: usize) -> Option<&str> {
        let end = *self.ends.get(sample)?;
        let start = if sample == 0 { 0 } else { self.ends[sample - 1] };
        Some(&self.names[start..end])
    }

    /// Fails when no row is left.
    pub(crate) fn check_any(&self, path: &Path) -> Result<()> {
        let path = path.display();
        match (self.kept, self.dropped.len()) {
            (0, 0) => Err(Error::invalid_data(format!("{path}: there is a header and no row of data"))),
            (0, rows) => Err(Error::invalid_data(format!(
                "{path}: each of the {rows} rows has a missing cell, so none is left; read fewer columns with --columns"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_know_their_rows() {
        let mut rows = KeptRows::default();
        for keep in [false, true, true, false, false, true] {
            if keep {
                rows.keep();
                rows.name(&format!("r{}", rows.next_row() - 1));
            } else {
                rows.drop_row();
            }
        }
        assert_eq!((rows.kept(), rows.dropped()), (3, &[0, 3, 4][..]));
        assert_eq!([0, 1, 2].map(|sample| rows.table_row(sample)), [1, 2, 5]);
        assert_eq!([0, 2, 3].map(|sample| rows.row_name(sample)), [Some("r1"), Some("r5"), None]);
    }
}
