//! The allocator of the program: counts the heap, and ends the program with an error if there is no memory for a large buffer.
//!
//! Rust aborts a program whose allocation fails. Data-sized buffers of the library are reserved, and a failure is an error
//! like any other (`steradian::memory`). For all other buffers of 1 MiB or more, such as those of image encoders, this
//! file ends the program in order: with a message, its exit code, and without temporary files.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};

use peak_alloc::PeakAlloc;
use steradian::Error;

use crate::{outcome, remedy};

/// Size in bytes from which a failed allocation ends the program in order; below, Rust aborts it.
const LARGE: usize = 1 << 20;

/// The allocator that counts.
static COUNTED: PeakAlloc = PeakAlloc;

/// The allocator of the program.
pub struct Heap;

impl Heap {
    /// Largest number of bytes on the heap so far.
    pub fn peak_usage(&self) -> usize {
        COUNTED.peak_usage()
    }
}

// SAFETY: every function calls that of an allocator with the same arguments and returns its result, or does not return.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { COUNTED.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { COUNTED.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { COUNTED.realloc(old, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { COUNTED.dealloc(old, layout) }
    }
}

/// Ends the program if an allocation failed and no caller handles it.
fn checked(allocated: *mut u8, bytes: usize) -> *mut u8 {
    if allocated.is_null() && bytes >= LARGE && !steradian::memory::reserves() {
        steradian_io::signals::remove_temporary_files();
        outcome::end(4, &remedy::message(&Error::OutOfMemory { bytes: bytes as u64 }));
    }
    allocated
}
