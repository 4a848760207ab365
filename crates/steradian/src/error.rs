//! Errors, by cause: the arguments of a call, the data, the content of a file, the operating system; and cancellation.
//!
//! A message states the problem with its numbers. It names parameters as this library does and no option of a program:
//! the command line and the Python package add the remedy in their own vocabulary from the fields of a variant.

use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, one variant for each cause that a caller may handle differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is out of range, or does not suit the data, the model or the method.
    #[error("{problem}")]
    InvalidArgument {
        /// The parameter, where a single one is at fault, by its name in this library.
        parameter: Option<&'static str>,
        /// The value, the values that are accepted, and what to change.
        problem: String,
    },
    /// More components were requested than the centered data have directions.
    #[error("n_components = {n_components} exceeds the rank {rank} of {of}; use at most {rank}")]
    RankTooSmall {
        /// The requested number of components.
        n_components: usize,
        /// The largest possible number of components.
        rank: usize,
        /// A description of the data of this rank.
        of: &'static str,
    },
    /// The fit needs more memory than its limit.
    #[error("the fit needs about {} with {with} but may use {}", format_bytes(*needed), format_bytes(*limit))]
    OverMemory {
        /// Bytes that the fit allocates, on one thread.
        needed: u64,
        /// The memory limit, in bytes.
        limit: u64,
        /// The solver or method of this estimate, by its name.
        with: String,
        /// A solver that needs less memory, by its name, and the bytes that it needs.
        alternative: Option<(&'static str, u64)>,
    },
    /// The system has no memory for a buffer.
    #[error("the system has no memory left for a buffer of {}", format_bytes(*bytes))]
    OutOfMemory {
        /// Bytes of the buffer that could not be allocated.
        bytes: u64,
    },
    /// The data have another number of features than the model.
    #[error("the model has {expected} features but the data have {found}; use data with the features of the fit")]
    FeatureCount {
        /// The number of features of the model.
        expected: usize,
        /// The number of features of the data.
        found: usize,
    },
    /// A cell of the data is NaN or infinite.
    #[error("the data are {value} at row {row}, column {column}")]
    NotFinite {
        /// The value of the cell.
        value: f64,
        /// The row, from 0: the earliest one with such a cell.
        row: usize,
        /// The column, from 0.
        column: usize,
    },
    /// A cell of a table is empty, a null or a placeholder such as `NA`.
    #[error("{}: {place} is missing ({text})", path.display())]
    MissingCell {
        /// The table.
        path: PathBuf,
        /// Row, line and column of the cell.
        place: String,
        /// The content of the cell.
        text: String,
    },
    /// A cell of a table is text where a number is expected.
    #[error("{}: {place} is not numeric", path.display())]
    NotNumeric {
        /// The table.
        path: PathBuf,
        /// Row, line, column and content of the cell, or the column and its type.
        place: String,
        /// The names of the numeric columns.
        numeric: Vec<String>,
        /// Whether the first column was read as row names.
        row_names: bool,
    },
    /// The data cannot be used: all rows equal, a single sample, an element type that is not supported.
    #[error("{0}")]
    InvalidData(String),
    /// The content of a file is invalid or truncated.
    #[error("{}: {what}", path.display())]
    CorruptFile {
        /// The file.
        path: PathBuf,
        /// The position and what was expected there.
        what: String,
    },
    /// The frames of a clip take more bytes, decoded, than their limit.
    #[error(
        "{}: {frames} frames are {} when decoded, which exceeds the limit of {}",
        path.display(), format_bytes(*decoded), format_bytes(*limit)
    )]
    OverDecoded {
        /// The clip.
        path: PathBuf,
        /// Number of frames that exceed the limit: those decoded so far, or those that the file declares.
        frames: u64,
        /// Their size in bytes.
        decoded: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An operation on a file failed: it does not exist, cannot be written, the disk is full.
    #[error("{}: {}", path.display(), os_error_text(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The work was canceled by the caller.
    #[error("canceled")]
    Cancelled,
}

impl Error {
    /// An [`Error::InvalidArgument`] about several parameters, or about a value that is no parameter.
    pub fn invalid_argument(problem: impl Into<String>) -> Self {
        Self::InvalidArgument { parameter: None, problem: problem.into() }
    }

    /// An [`Error::InvalidArgument`] about one parameter.
    pub fn invalid_parameter(parameter: &'static str, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { parameter: Some(parameter), problem: problem.into() }
    }

    /// An [`Error::InvalidData`].
    pub fn invalid_data(problem: impl Into<String>) -> Self {
        Self::InvalidData(problem.into())
    }

    /// An [`Error::CorruptFile`].
    pub fn corrupt_file(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::CorruptFile { path: path.into(), what: what.into() }
    }

    /// An [`Error::Io`].
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// A number of bytes with a binary unit, such as `1.5 MiB`.
pub fn format_bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// The text of an I/O error in lower case and without the number of the operating system, such as `no such file or directory`.
pub fn os_error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else { return text };
    let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_removed() {
        let system = std::fs::File::open("no/such/file").unwrap_err();
        assert!(system.to_string().contains("(os error"), "{system}");
        let text = os_error_text(&system);
        assert!(!text.contains("(os error") && text.starts_with(char::is_lowercase), "{text}");
        assert_eq!(os_error_text(&std::io::Error::other("ffmpeg failed (os error 2)")), "ffmpeg failed (os error 2)");
    }
}
