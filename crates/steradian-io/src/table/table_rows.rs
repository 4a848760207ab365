//! The rows of a table that became samples, and their names.

use std::path::Path;

use steradian::{Error, Result};

/// The rows of a table: which became samples, which were dropped, and the names of the samples.
#[derive(Debug, Default)]
pub(crate) struct TableRows {
    samples: usize,
    /// The dropped rows, from 0 after the header, in order.
    dropped: Vec<usize>,
    /// The concatenated names: one string needs less memory than one per row.
    names: String,
    /// The end of each name in `names`; empty if the table has no row names.
    ends: Vec<usize>,
}

impl TableRows {
    /// Index of the next row: the number of rows so far, dropped ones included.
    pub(crate) fn next_row(&self) -> usize {
        self.samples + self.dropped.len()
    }

    /// Number of samples so far.
    pub(crate) fn samples(&self) -> usize {
        self.samples
    }

    /// Adds the next row as a sample.
    pub(crate) fn add_sample(&mut self) {
        self.samples += 1;
    }

    /// Sets the name of the last sample.
    pub(crate) fn set_name(&mut self, name: &str) {
        self.names.push_str(name);
        self.ends.push(self.names.len());
    }

    /// Drops the next row.
    pub(crate) fn drop_row(&mut self) {
        self.dropped.push(self.next_row());
    }

    /// Total size of the names in bytes.
    #[cfg(feature = "parquet")]
    pub(crate) fn name_bytes(&self) -> usize {
        self.names.len()
    }

    /// The dropped rows, in order.
    pub(crate) fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// Index of the row of a sample.
    pub(crate) fn table_row(&self, sample: usize) -> usize {
        // Before the k-th dropped row there are `row - k` samples, a count that does not decrease with k.
        let (mut low, mut high) = (0, self.dropped.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.dropped[middle] - middle <= sample { low = middle + 1 } else { high = middle }
        }
        sample + low
    }

    /// The name of a sample, if the table has row names.
    pub(crate) fn row_name(&self, sample: usize) -> Option<&str> {
        let end = *self.ends.get(sample)?;
        let start = if sample == 0 { 0 } else { self.ends[sample - 1] };
        Some(&self.names[start..end])
    }

    /// Fails if there is no sample.
    pub(crate) fn check_any(&self, path: &Path) -> Result<()> {
        let path = path.display();
        match (self.samples, self.dropped.len()) {
            (0, 0) => Err(Error::invalid_data(format!("{path}: the table has a header and no data row"))),
            (0, rows) => Err(Error::invalid_data(format!(
                "{path}: every row ({rows} of {rows}) has a missing cell; select fewer columns"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_and_rows_are_matched() {
        let mut rows = TableRows::default();
        for is_sample in [false, true, true, false, false, true] {
            if is_sample {
                rows.add_sample();
                rows.set_name(&format!("r{}", rows.next_row() - 1));
            } else {
                rows.drop_row();
            }
        }
        assert_eq!((rows.samples(), rows.dropped()), (3, &[0, 3, 4][..]));
        assert_eq!([0, 1, 2].map(|sample| rows.table_row(sample)), [1, 2, 5]);
        assert_eq!([0, 2, 3].map(|sample| rows.row_name(sample)), [Some("r1"), Some("r5"), None]);
    }
}
