//! Basics that every format uses: positioned reads, memory of the system, the allocator, file content in messages.

pub(crate) mod malloc;
pub(crate) mod memory;
pub(crate) mod pread;
pub(crate) mod quote;
