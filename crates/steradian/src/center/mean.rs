//! The mean of the samples, and the check of the data at the start of a fit.

use std::sync::Arc;

use crate::config::options::Missing;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{ColumnMeans, DataCheck, MissingCells};
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

/// The mean of the numbers of each feature; 0 for a feature without any. Cost: one pass.
///
/// # Errors
/// For an infinite cell, for sums that overflow, and errors of the source.
pub(crate) fn of_present(source: &dyn Source, runner: &impl Runner) -> Result<Vec<f64>> {
    runner
        .run(&DataCheck::new(source.shape().features, Missing::Use), source)?
        .mean
        .ok_or_else(|| Error::invalid_data("column sums overflow f64; scale the data to below 1e300 in magnitude"))
}

/// Data whose numbers are all finite: their mean where the check has computed it, their magnitudes and their digest, and
/// their missing cells, which are NaN. Passes that are not written for missing cells need [`Finite::require_complete`].
pub struct Finite<'a> {
    /// The data.
    pub source: &'a dyn Source,
    /// The mean of the numbers of each feature, 0 for a feature without any; `None` for integers and if a sum overflows.
    pub(crate) mean: Option<Vec<f64>>,
    /// The missing cells, which are NaN.
    pub missing: Arc<MissingCells>,
    /// Magnitudes of floating-point data; empty for integers.
    pub(crate) magnitudes: Magnitudes,
    digest: u64,
}

impl<'a> Finite<'a> {
    /// Checks that no cell is infinite, nor missing unless that is permitted. Cost: one pass for floating-point data; a few
    /// rows of integers.
    ///
    /// # Errors
    /// For a cell that is infinite or missing, for data without any number, and errors of the source.
    pub fn check(source: &'a dyn Source, missing: Missing, runner: &impl Runner) -> Result<Self> {
        if !source.shape().element.is_float() {
            return Ok(Self { digest: sampled_digest(source)?, ..Self::unread(source, 0) });
        }
        let shape = source.shape();
        let found = runner.run(&DataCheck::new(shape.features, missing), source)?;
        if found.missing.empty_rows() == shape.samples as u64 {
            return Err(Error::invalid_data(format!(
                "all {} cells of the data are missing ({} samples x {} features); use data with numbers",
                found.missing.total(),
                shape.samples,
                shape.features
            )));
        }
        let missing = Arc::new(found.missing);
        Ok(Self { source, mean: found.mean, missing, magnitudes: found.magnitudes, digest: found.digest })
    }

    fn unread(source: &'a dyn Source, digest: u64) -> Self {
        Self { source, mean: None, missing: Arc::default(), magnitudes: Magnitudes::default(), digest }
    }

    /// A view of these data whose numbers are finite by construction and whose missing cells are the same; it is not read.
    pub(crate) fn view<'b>(&self, source: &'b dyn Source) -> Finite<'b> {
        Finite { missing: Arc::clone(&self.missing), ..Finite::unread(source, self.digest) }
    }

    /// A view of these data in which missing cells have values; it is not read.
    pub(crate) fn filled_view<'b>(&self, source: &'b dyn Source) -> Finite<'b> {
        Finite::unread(source, self.digest)
    }

    /// Rejects data with missing cells: passes that are not written for them would return NaN.
    ///
    /// # Errors
    /// For a missing cell.
    pub fn require_complete(&self) -> Result<()> {
        match self.missing.first() {
            Some((row, column)) => Err(Error::NotFinite { value: f64::NAN, row, column }),
            None => Ok(()),
        }
    }

    /// Warnings that name features and rows without any number, which take no part in a fit.
    pub(crate) fn missing_warnings(&self) -> Vec<String> {
        let (missing, samples) = (&self.missing, self.source.shape().samples);
        let mut warnings = Vec::new();
        let features: Vec<usize> = missing.empty_features(samples).collect();
        let name =
            |&j: &usize| self.source.feature_name(j).map_or_else(|| j.to_string(), |name| format!("{j} ({name})"));
        if !features.is_empty() {
            warnings.push(format!(
                "{} of {} features have no number, and loadings of 0: {}",
                features.len(),
                self.source.shape().features,
                listed(features.iter().take(LISTED).map(name).collect(), features.len())
            ));
        }
        let rows = missing.empty_rows();
        if rows > 0 {
            let first = missing.first_empty_rows().iter().map(usize::to_string).collect();
            warnings.push(format!(
                "{rows} of {samples} rows have no number, and take no part in the fit: {}",
                listed(first, rows as usize)
            ));
        }
        warnings
    }

    /// The seed of the start vectors of an iteration. It depends on the data, so that no data can be made beforehand that
    /// are orthogonal to the start vectors of a known seed; it does not depend on the order of the rows, on threads and
    /// partitions, nor on powers of two that multiply the data.
    pub fn start_seed(&self, seed: u64) -> u64 {
        row_digest::mixed(seed ^ row_digest::mixed(self.digest))
    }
}

/// Largest number of features in a warning.
const LISTED: usize = 5;

/// The first of `count` names, and dots if there are more.
fn listed(first: Vec<String>, count: usize) -> String {
    let more = if count > first.len() { ", .." } else { "" };
    format!("{}{more}", first.join(", "))
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
