//! Prefetch hints for kernels that read short pieces of many rows, which the hardware prefetcher does not predict.

// A prefetch instruction takes an address and reads nothing.
#![allow(unsafe_code)]

use std::ops::Range;

use crate::data::block::Rows;
use crate::data::element::Element;

/// Bytes per cache line.
const LINE_BYTES: usize = 64;

/// Prefetches some columns of a row, if the row exists and is contiguous.
#[inline(always)]
pub(crate) fn fetch<T: Element>(data: &Rows<'_, T>, row: usize, columns: Range<usize>) {
    if row < data.rows()
        && let Some(piece) = data.row(row, columns.start, columns.end)
    {
        for line in piece.chunks(LINE_BYTES / size_of::<T>()) {
            hint(line.as_ptr());
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint<T>(address: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch affects caches only, for any address; every x86-64 CPU supports it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint<T>(_: *const T) {}
