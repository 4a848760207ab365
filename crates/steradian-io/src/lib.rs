//! Files as sources of blocks, and results as whole files; one format per module.
//!
//! [`open`] looks at a file's content and returns [`Data`], a [`steradian::Source`]: a `.npy` array is mapped and read
//! in place, or streamed when it does not fit into memory; a table (text or parquet) is streamed; a folder of images or a video
//! is decoded once. Outputs go to a temporary file that takes its name only when it is complete, so a reader never meets
//! half a file.
//!
//! # Features
//!
//! All are on by default. Without them the crate reads and writes `.npy` arrays and compiles no codec; a file of a kind that
//! was left out is an error that names the feature.
//!
//! | feature | adds | crates |
//! |---|---|---|
//! | `csv` | text tables, read and written | `csv` |
//! | `parquet` | parquet tables | `parquet`, `bytes`, `half` |
//! | `images` | image files, folders of them and GIF | `image` |
//! | `video` | video through the program `ffmpeg` | none |

pub mod clip;
pub mod npy;
mod open;
mod output;
mod system;
mod table;

pub use clip::image::{Color, Image};
#[cfg(feature = "video")]
pub use clip::video_writer::MovieWriter;
pub use clip::{Clip, ClipOptions};
pub use npy::element::FileElement;
pub use npy::streamed::StreamedNpySource;
pub use npy::{NpySource, read_vector};
pub use open::{Data, open};
pub use output::checkpoint::Checkpoint;
#[cfg(feature = "csv")]
pub use output::write::write_csv;
pub use output::write::{AtomicFile, NpyWriter, StagedDir, stage_file, write_atomic};
pub use system::memory::available as available_memory;
#[cfg(feature = "csv")]
pub use table::csv::CsvSource;
#[cfg(feature = "parquet")]
pub use table::parquet::ParquetSource;
pub use table::table_options::{Missing, TableOptions};

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

/// A setting of the process's allocator.
pub mod heap {
    pub use crate::system::malloc::limit_malloc_retention;
}

/// Mapped files that another process shortens.
pub mod mapped {
    pub use crate::npy::mmap::install_sigbus_handler;
}

/// Parquet tables as sources.
#[cfg(feature = "parquet")]
pub mod parquet {
    pub use crate::table::parquet::ParquetSource;
}

/// Files that appear under their name only when they are complete.
pub mod write {
    #[cfg(feature = "csv")]
    pub use crate::output::write::write_csv;
    pub use crate::output::write::{AtomicFile, NpyWriter, StagedDir, stage_file, write_atomic};
}
