//! Basics that every format uses: positioned reads, memory of the system, the allocator, file content in messages.

pub(crate) mod malloc;
pub(crate) mod memory;
#[cfg(not(all(feature = "csv", feature = "parquet", feature = "images", feature = "video")))]
pub(crate) mod missing_feature;
pub(crate) mod pread;
pub(crate) mod quote;
