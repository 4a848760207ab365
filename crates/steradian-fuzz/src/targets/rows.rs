//! Reading all rows of a source, as a pass does.

use steradian::data::{BlockData, Element, Rows};
use steradian::{Result, Source};
use steradian_io::{MissingRule, TableOptions};

use crate::target::TargetVerdict;

/// Rows per visit: less than a small file has, so that blocks start at several rows.
const STEP: usize = 3;
/// Visits at most: a small file may declare many rows without cells.
const VISITS: usize = 10_000;

fn total<T: Element>(rows: &Rows<'_, T>) -> f64 {
    let row = |i: usize| (0..rows.columns()).map(|j| rows.get(i, j).widen()).sum::<f64>();
    (0..rows.rows()).map(row).sum()
}

/// Reads all rows, some at a time.
pub fn read_all(source: &dyn Source) -> Result<f64> {
    let shape = source.shape().clone();
    let mut sum = 0.0;
    for start in (0..shape.samples).step_by(STEP).take(VISITS) {
        source.visit(start..(start + STEP).min(shape.samples), &mut |block| {
            assert!(block.columns() == shape.features, "{} columns of {}", block.columns(), shape.features);
            sum += match block.data() {
                BlockData::U8(rows) => total(&rows),
                BlockData::U16(rows) => total(&rows),
                BlockData::F32(rows) => total(&rows),
                BlockData::F64(rows) => total(&rows),
            };
            Ok(())
        })?;
    }
    Ok(sum)
}

/// Reads a table with its numbers alone, and with row names and missing cells; accepted if one of them is.
pub fn with_options(read: impl Fn(&TableOptions) -> Result<f64>) -> TargetVerdict {
    let named = TableOptions { row_names: true, missing: MissingRule::Drop, ..TableOptions::default() };
    let verdicts = [TableOptions::default(), named].map(|options| TargetVerdict::of(read(&options)));
    if verdicts.contains(&TargetVerdict::Accepted) { TargetVerdict::Accepted } else { TargetVerdict::Rejected }
}
