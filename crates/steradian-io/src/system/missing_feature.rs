//! Error of a file whose format was left out of this build.

use std::path::Path;

use steradian::Error;

/// The error for a file that needs a feature of this crate: `what` starts the sentence, `instead` is another way.
pub(crate) fn missing_feature(path: &Path, what: &str, feature: &str, instead: &str) -> Error {
    Error::invalid_data(format!(
        "{}: {what} needs the feature `{feature}` of steradian-io, and this program was built without it; build it with \
         that feature, or {instead}",
        path.display()
    ))
}
