//! Buffers of the size of the data: their memory is reserved first, and a failure becomes [`Error::OutOfMemory`].
//!
//! An allocation that fails aborts the process in Rust, and with it the interpreter of a Python user. The functions of
//! this file reserve memory by `try_reserve_exact`. On failure they unwind with a value of their own, which [`guard`]
//! turns into an error at the entry points of the library. So functions that only compute need no `Result`, and locks,
//! temporary files and other threads are left as after any error. Buffers below 1 MiB may use plain vectors.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::error::{Error, Result};

thread_local! {
    static RESERVES: Cell<bool> = const { Cell::new(false) };
}

/// True while this thread reserves memory by a function of this file, which handles a failure itself. For allocators of
/// programs that end the process on other failures.
pub fn reserves() -> bool {
    RESERVES.get()
}

/// Calls a function that reserves memory; returns true if it succeeds.
fn reserve_by<E>(reserve: impl FnOnce() -> std::result::Result<(), E>) -> bool {
    RESERVES.set(true);
    let reserved = reserve();
    RESERVES.set(false);
    reserved.is_ok()
}

/// The value that unwinds: the number of bytes that could not be reserved.
struct AllocationFailure(u64);

/// Runs `work`; an allocation of this file that fails in it, on any thread that it waits for, is its error.
///
/// # Errors
/// Those of `work`, and [`Error::OutOfMemory`].
pub fn guard<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => match panic.downcast::<AllocationFailure>() {
            Ok(failure) => Err(Error::OutOfMemory { bytes: failure.0 }),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// An empty vector with room for `length` elements.
pub fn reserved<T>(length: usize) -> Vec<T> {
    let mut vector = Vec::new();
    reserve(&mut vector, length);
    vector
}

/// Makes room for exactly `more` further elements.
pub fn reserve<T>(vector: &mut Vec<T>, more: usize) {
    if !reserve_by(|| vector.try_reserve_exact(more)) {
        fail(vector.len().saturating_add(more).saturating_mul(size_of::<T>()));
    }
}

/// Makes room for at least `more` further elements; repeated calls take time proportional to the elements.
pub fn reserve_more<T>(vector: &mut Vec<T>, more: usize) {
    if !reserve_by(|| vector.try_reserve(more)) {
        fail(vector.len().saturating_add(more).saturating_mul(size_of::<T>()));
    }
}

/// `length` copies of a value.
pub fn filled<T: Clone>(length: usize, value: T) -> Vec<T> {
    let mut vector = reserved(length);
    vector.resize(length, value);
    vector
}

/// A copy of a slice.
pub fn copied<T: Clone>(slice: &[T]) -> Vec<T> {
    let mut vector = reserved(slice.len());
    vector.extend_from_slice(slice);
    vector
}

/// Iterators whose items are collected into reserved memory.
pub trait CollectReserved: Iterator + Sized {
    /// The items as a vector, with room for the largest number of items that the iterator announces.
    fn collect_reserved(self) -> Vec<Self::Item> {
        let (least, most) = self.size_hint();
        let mut vector = reserved(most.unwrap_or(least));
        vector.extend(self);
        vector
    }
}

impl<I: Iterator> CollectReserved for I {}

/// Appends a vector, with room for exactly its elements; an empty vector is replaced without a copy.
pub fn append<T>(vector: &mut Vec<T>, mut other: Vec<T>) {
    if vector.is_empty() {
        *vector = other;
        return;
    }
    reserve(vector, other.len());
    vector.append(&mut other);
}

/// Unwinds to the nearest [`guard`]: this many bytes cannot be allocated.
pub(crate) fn fail(bytes: usize) -> ! {
    resume_unwind(Box::new(AllocationFailure(bytes as u64)))
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn a_failed_reservation_is_an_error() {
        let error = guard(|| Ok(filled(1 << 60, 0u8))).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { bytes } if bytes == 1 << 60), "{error}");
        let error = guard(|| Ok(reserved::<f64>(usize::MAX))).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { bytes: u64::MAX }), "{error}");
    }

    #[test]
    fn a_failure_on_another_thread_is_an_error() {
        let runner = crate::Local::new(3).unwrap();
        let work =
            || (0..100).into_par_iter().map(|i| filled(if i == 57 { 1 << 60 } else { 1 }, i).len()).sum::<usize>();
        let error = guard(|| Ok(crate::engine::runner::Runner::compute(&runner, work))).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }

    #[test]
    fn vectors_have_their_elements() {
        assert_eq!(filled(3, 7), [7, 7, 7]);
        assert_eq!(copied(&[1, 2]), [1, 2]);
        assert_eq!((0..9).filter(|i| i % 4 == 0).collect_reserved(), [0, 4, 8]);
        let mut vector = vec![1];
        append(&mut vector, vec![2, 3]);
        assert_eq!((vector.capacity(), vector), (3, vec![1, 2, 3]));
    }

    #[test]
    #[should_panic(expected = "other")]
    fn other_panics_pass() {
        let _ = guard::<()>(|| panic!("other"));
    }
}
