//! Files as sources of blocks, and atomic writes of results.
//!
//! [`open`] detects the format of a file by its content and returns [`Data`], a [`steradian::Source`]: a `.npy` array
//! is memory-mapped and read in place (zero-copy), or streamed if it does not fit into memory; a table (text or
//! parquet) is streamed; a folder of images or a video is decoded once. Outputs are written atomically (temporary file,
//! then its name), so a reader never opens an incomplete file. [`check_outputs`] rejects outputs that would replace an
//! input.
//!
//! # Features
//!
//! All are on by default. Without them the crate reads and writes `.npy` arrays and compiles no codec; opening a file
//! of another format is then an error that names the feature.
//!
//! | feature | adds | crates |
//! |---|---|---|
//! | `csv` | text tables, read and written | `csv` |
//! | `parquet` | parquet tables | `parquet`, `bytes`, `flate2`, `half` |
//! | `images` | image files, folders of images, GIF | `image` |
//! | `video` | videos, by the program `ffmpeg` | none |

pub mod clip;
pub mod npy;
mod open;
mod output;
mod rows_and_cells;
mod system;
mod table;

pub use clip::image::{Color, Image};
#[cfg(feature = "video")]
pub use clip::video_writer::MovieWriter;
pub use clip::{Clip, ClipLimits, ClipOptions};
pub use npy::element::FileElement;
pub use npy::streamed::StreamedNpySource;
pub use npy::{NpySource, read_vector};
pub use open::{Data, open, open_within};
pub use output::atomic_file::{AtomicFile, commit, stage_file, write_atomic};
pub use output::check_outputs::{OutputPath, check_outputs};
pub use output::checkpoint::Checkpoint;
pub use output::created_folders::CreatedFolders;
pub use output::marker::MARKER;
pub use output::output_folder::OutputFolder;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub use output::table_writer::{TableFormat, TableNames, TableWriter};
pub use output::write::NpyWriter;
#[cfg(feature = "csv")]
pub use output::write::write_csv;
pub use rows_and_cells::DataView;
pub use system::file_stamp::file_stamp;
pub use system::memory::available as available_memory;
#[cfg(feature = "csv")]
pub use table::csv::CsvSource;
#[cfg(feature = "parquet")]
pub use table::parquet::ParquetSource;
pub use table::table_options::{Header, MissingRule, TableOptions};

/// Text tables as sources.
#[cfg(feature = "csv")]
pub mod csv {
    pub use crate::table::csv::CsvSource;
}

/// Images of a folder, in the natural order of their names.
#[cfg(feature = "images")]
pub mod frames {
    pub use crate::clip::image_folder::{image_files, number_in_name};
}

/// Settings of the allocator of the process.
pub mod heap {
    pub use crate::system::malloc::limit_malloc_retention;
}

/// Memory-mapped files that another process truncates.
pub mod mapped {
    pub use crate::system::signals::install_sigbus_handler;
}

/// Parquet tables as sources.
#[cfg(feature = "parquet")]
pub mod parquet {
    pub use crate::table::parquet::ParquetSource;
}

/// Signals that end a program, and what it removes before.
pub mod signals {
    pub use crate::output::{remove_temporary_files, wait_if_ending};
    #[cfg(unix)]
    pub use crate::system::signals::{BUS_ERROR, Signal, ignore_file_size_signal, watch};
}

/// Atomic writes: temporary files that get their names when complete.
pub mod write {
    pub use crate::output::atomic_file::{AtomicFile, commit, stage_file, write_atomic};
    pub use crate::output::write::NpyWriter;
    #[cfg(feature = "csv")]
    pub use crate::output::write::write_csv;
}
