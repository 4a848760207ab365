//! Errors of the library as exceptions of Python.

use std::io;

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use steradian::Error;

/// The exception for an error: `ValueError` for what was asked or given, `OSError` and its kin for files.
pub fn exception(error: Error) -> PyErr {
    match error {
        Error::InvalidArgument { .. }
        | Error::RankTooSmall { .. }
        | Error::OverMemory { .. }
        | Error::FeatureCount { .. }
        | Error::InvalidData(_)
        | Error::NotFinite { .. }
        | Error::MissingCell { .. }
        | Error::NotNumeric { .. }
        | Error::CorruptFile { .. } => PyValueError::new_err(error.to_string()),
        // The kind decides which child of OSError it becomes; the message keeps the path.
        Error::Io { ref source, .. } => io::Error::new(source.kind(), error.to_string()).into(),
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        // The library may gain kinds of errors; they are nobody's fault until they have a place here.
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}
