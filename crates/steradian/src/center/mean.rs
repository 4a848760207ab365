//! The mean of the samples, and the check of the data at the start of a fit.

use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{ColumnMeans, DataCheck};
use crate::kernel::row_digest;
use crate::numeric::magnitude::Magnitudes;

/// Bytes of integer data that are read for their digest; of more data, [`DIGEST_ROWS`] rows are read.
const DIGEST_BYTES: u64 = 1 << 20;
/// Rows in the digest of many integer data: the first, the last, and others evenly between them.
const DIGEST_ROWS: usize = 64;

/// The mean of all samples, or of those in `support`. Cost: one pass.
pub(crate) fn mean(source: &dyn Source, support: Option<&[bool]>, runner: &impl Runner) -> Result<Vec<f64>> {
    runner.run(&ColumnMeans::new(source.shape().features, support), source)
}

/// Data whose cells are all finite: their mean where the check has computed it, their magnitudes and their digest.
pub struct Finite<'a> {
    /// The data.
    pub source: &'a dyn Source,
    pub(crate) mean: Option<Vec<f64>>,
    /// Magnitudes of floating-point data; empty for integers.
    pub(crate) magnitudes: Magnitudes,
    digest: u64,
}

impl<'a> Finite<'a> {
    /// Checks that all cells are finite. Cost: one pass for floating-point data; a few rows of integers.
    ///
    /// # Errors
    /// For a cell that is not finite, and errors of the source.
    pub fn check(source: &'a dyn Source, runner: &impl Runner) -> Result<Self> {
        if !source.shape().element.is_float() {
            return Ok(Self { source, mean: None, magnitudes: Magnitudes::default(), digest: sampled_digest(source)? });
        }
        let found = runner.run(&DataCheck::new(source.shape().features), source)?;
        Ok(Self { source, mean: found.mean, magnitudes: found.magnitudes, digest: found.digest })
    }

    /// A view of these data that is finite by construction; it is not read.
    pub(crate) fn view<'b>(&self, source: &'b dyn Source) -> Finite<'b> {
        Finite { source, mean: None, magnitudes: Magnitudes::default(), digest: self.digest }
    }

    /// The seed of the start vectors of an iteration. It depends on the data, so that no data can be made beforehand that
    /// are orthogonal to the start vectors of a known seed; it does not depend on the order of the rows, on threads and
    /// partitions, nor on powers of two that multiply the data.
    pub fn start_seed(&self, seed: u64) -> u64 {
        row_digest::mixed(seed ^ row_digest::mixed(self.digest))
    }
}

/// The digest of integer data, which need no check: of all rows if they are small, else of [`DIGEST_ROWS`] rows.
fn sampled_digest(source: &dyn Source) -> Result<u64> {
    let shape = source.shape();
    let count = if shape.bytes() <= DIGEST_BYTES { shape.samples } else { shape.samples.min(DIGEST_ROWS) };
    let rows: Vec<usize> = (0..count).map(|i| i * (shape.samples - 1) / (count - 1).max(1)).collect();
    source.prefetch(&rows)?;
    source.advise_access(&[], 0);
    let mut digest = 0u64;
    for row in rows {
        source.visit(row..row + 1, &mut |block| {
            digest = digest.wrapping_add(row_digest::of_row(&block, 0).digest);
            Ok(())
        })?;
    }
    Ok(digest)
}
