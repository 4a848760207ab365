//! The error for a file whose format this build does not include.

use std::path::Path;

use steradian::Error;

/// The error for a file that requires a feature of this crate: `what` is the subject of the message, `instead` the
/// alternative.
pub(crate) fn missing_feature(path: &Path, what: &str, feature: &str, instead: &str) -> Error {
    Error::invalid_data(format!(
        "{}: {what} requires the feature `{feature}` of steradian-io, which this build does not include; rebuild with it or \
         {instead}",
        path.display()
    ))
}
