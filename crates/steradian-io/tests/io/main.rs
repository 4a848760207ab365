//! Tests of the public interface, in one test program.

mod checkpoint;
mod clip;
mod common;
#[cfg(feature = "csv")]
mod csv;
mod damaged;
#[cfg(feature = "csv")]
mod data_sets;
mod features;
mod npy;
mod open;
mod output_folder;
#[cfg(feature = "parquet")]
mod parquet;
mod rows_and_cells;
mod streamed;
mod truncated;
mod write;
