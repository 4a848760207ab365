//! Basics that every format uses: positioned reads, resolved paths, stamps of files, memory of the system, the allocator,
//! signals, file content in messages.

pub(crate) mod file_stamp;
pub(crate) mod image_name;
pub(crate) mod malloc;
pub(crate) mod memory;
#[cfg(not(all(feature = "csv", feature = "parquet", feature = "images", feature = "video")))]
pub(crate) mod missing_feature;
pub(crate) mod pread;
pub(crate) mod quote;
pub(crate) mod resolve;
pub(crate) mod signals;
