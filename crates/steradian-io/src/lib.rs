//! Files as sources of blocks, and results as whole files; one format per module.
//!
//! [`open`] looks at a file's content and returns [`Data`], a [`steradian::Source`]: a `.npy` array is mapped and read
//! in place, or streamed when it does not fit into memory; a table (text or parquet) is streamed; a folder of images or a video
//! is decoded once. Outputs go to a temporary file that takes its name only when it is complete, so a reader never meets
//! half a file.

mod checkpoint;
pub mod clip;
pub mod csv;
mod csv_layout;
mod csv_records;
mod direct;
mod file_element;
mod frame;
pub mod frames;
pub mod heap;
mod kept_rows;
pub mod mapped;
mod movie;
pub mod npy;
mod npy_header;
mod open;
mod order;
pub mod parquet;
mod parquet_columns;
mod parquet_file;
mod picture;
mod pieces;
mod positioned;
mod quote;
mod ring;
mod room;
mod spool;
mod streamed;
mod table;
mod video;
pub mod write;

pub use crate::checkpoint::Checkpoint;
pub use crate::clip::{Clip, ClipOptions};
pub use crate::csv::CsvSource;
pub use crate::parquet::ParquetSource;
pub use file_element::FileElement;
pub use movie::MovieWriter;
pub use npy::{NpySource, read_vector};
pub use open::{Data, open};
pub use picture::{Color, Picture};
pub use room::available as available_memory;
pub use streamed::StreamedNpy;
pub use table::{Missing, TableOptions};
pub use write::{NpyWriter, OutputFile, WholeFolder, write_csv, write_nameless, write_whole};
