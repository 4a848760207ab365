//! Conversion of the library's errors to Python exceptions, with remedies in terms of the package's parameters.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, PyResult};
use steradian::Error;
use steradian::error::format_bytes;

/// The most column names that a message lists.
const LISTED_COLUMNS: usize = 5;

/// The remedy for a missing cell.
const USE_MISSING: &str = "remove or impute missing cells, or use missing=\"use\" and a method that fits the other cells of a row: \
     \"robust\", \"rows\", \"cells\", \"angular\" or \"pca\"";

/// The exception for an error: `ValueError` for arguments and data, `MemoryError` for memory, a subclass of `OSError` for files.
pub fn exception(error: Error) -> PyErr {
    match &error {
        Error::InvalidArgument { .. }
        | Error::RankTooSmall { .. }
        | Error::OverMemory { .. }
        | Error::FeatureCount { .. }
        | Error::InvalidData(_)
        | Error::NotFinite { .. }
        | Error::MissingCell { .. }
        | Error::NotNumeric { .. }
        | Error::OverDecoded { .. }
        | Error::CorruptFile { .. } => PyValueError::new_err(message(&error)),
        // The kind selects the subclass of OSError; the message keeps the path.
        Error::Io { source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        Error::OutOfMemory { .. } => PyMemoryError::new_err(message(&error)),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        // `Error` is non-exhaustive: a variant without an entry above counts as an internal error.
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// The exception for a panic. pyo3 raises `PanicException`, which `except Exception` does not catch.
pub fn internal_error(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("unknown panic").replace('\n', " ");
    PyRuntimeError::new_err(format!("internal error: {text}; please report it with the call and its data"))
}

/// Runs work without passes that may panic on its input; a panic is a `RuntimeError`.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal_error(&*panic)))
}

/// The message of an error with its remedy.
fn message(error: &Error) -> String {
    let hint = match error {
        Error::InvalidArgument { parameter, problem } => return in_python(*parameter, problem),
        Error::OverMemory { alternative: Some((solver, bytes)), .. } => {
            format!("increase memory_limit, or use solver=\"{solver}\", which needs {}", format_bytes(*bytes))
        }
        Error::OverMemory { .. } => "increase memory_limit".to_owned(),
        Error::OutOfMemory { .. } => {
            "use fewer rows, fewer threads (n_jobs), or a path to a file, which is read block by block".to_owned()
        }
        Error::NotFinite { value, .. } if value.is_nan() => USE_MISSING.to_owned(),
        Error::NotFinite { .. } => {
            "replace such cells: by NaN if they are missing, otherwise by finite numbers".to_owned()
        }
        Error::MissingCell { .. } => {
            format!("{USE_MISSING}; steradian.open(path, missing=\"drop\") skips such rows")
        }
        Error::NotNumeric { numeric, row_names, .. } => columns_hint(numeric, *row_names),
        Error::OverDecoded { .. } => "use steradian.open(path, max_decoded=...) to allow more".to_owned(),
        _ => return error.to_string(),
    };
    format!("{error}; {hint}")
}

/// A message about an argument, with the package's names of parameters and values.
fn in_python(parameter: Option<&str>, problem: &str) -> String {
    match parameter {
        Some("tolerance") => problem.replacen("the tolerance is", "tol =", 1).replacen("tolerance", "tol", 1),
        Some("pivot_search" | "exact") => problem.replacen("use successive elimination", "use exact=False", 1),
        _ => problem.to_owned(),
    }
}

/// The remedy for a column of text.
fn columns_hint(numeric: &[String], row_names: bool) -> String {
    let names = numeric.iter().take(LISTED_COLUMNS).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let more = if numeric.len() > LISTED_COLUMNS { ", ..." } else { "" };
    let labels = if row_names { "" } else { ", or row_names=True if the first column contains row labels" };
    match numeric.len() {
        0 => format!("the table has no numeric column{labels}"),
        _ => format!("use steradian.open(path, columns=[{names}{more}]){labels}"),
    }
}
