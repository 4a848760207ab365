//! Errors: of the request, of the data, of the content of a file, of the operating system; and cancellation.
//!
//! Every message says what happened with the numbers, then what to do.

use std::path::PathBuf;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, one variant for each party that can mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is wrong: a parameter out of range, data and model of different width, too little memory allowed.
    #[error("{0}")]
    InvalidArgument(String),
    /// More components were requested than the centered data have directions.
    #[error("n_components = {n_components} exceeds the rank {rank} of {of}; ask for at most {rank}")]
    RankExceeded {
        /// The requested number.
        n_components: usize,
        /// The largest number that is possible.
        rank: usize,
        /// The data of this rank, in words.
        of: &'static str,
    },
    /// The data are wrong: not finite, all rows equal, a single sample, an element type that is not read.
    #[error("{0}")]
    InvalidData(String),
    /// A file's content is broken: the path, where, and what was expected there.
    #[error("{}: {what}", path.display())]
    CorruptFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and where, in words.
        what: String,
    },
    /// The operating system refused: missing file, unwritable folder, full disk.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
    /// The work was cancelled by its owner.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// The request is wrong.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }

    /// The data are wrong.
    pub fn invalid_data(message: impl Into<String>) -> Self {
        Self::InvalidData(message.into())
    }

    /// A file's content is broken.
    pub fn corrupt_file(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::CorruptFile { path: path.into(), what: what.into() }
    }

    /// The operating system refused.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
