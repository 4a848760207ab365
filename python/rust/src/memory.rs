//! The memory of numpy arrays, read without the interpreter; all unsafe code of this crate is here.
//!
//! # Why it is sound
//!
//! - *Alive*: whoever holds a [`BorrowedArray`] holds a reference to its array, and the array one to its buffer. numpy refuses
//!   to resize an array that others refer to.
//! - *In bounds*: pointer, shape and strides are taken together from one array whose type is known, and every index is
//!   checked against that shape.
//! - *Any bits*: only types of which every bit pattern is a value are read.
//! - *Shared*: another thread of Python may write to the array meanwhile. numpy has no lock that would stop it. The
//!   numbers read then are those found at the time; nothing else depends on them, and the documentation asks not to
//!   do it.

#![allow(unsafe_code)]

use std::ops::Range;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use steradian::Rows;

/// What the bytes of one number mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl ElementKind {
    /// By numpy's letter and size, where it is one of ours.
    fn of(letter: u8, bytes: usize) -> Option<Self> {
        Some(match (letter, bytes) {
            (b'b', 1) => Self::Bool,
            (b'i', 1) => Self::I8,
            (b'u', 1) => Self::U8,
            (b'i', 2) => Self::I16,
            (b'u', 2) => Self::U16,
            (b'i', 4) => Self::I32,
            (b'u', 4) => Self::U32,
            (b'i', 8) => Self::I64,
            (b'u', 8) => Self::U64,
            (b'f', 2) => Self::F16,
            (b'f', 4) => Self::F32,
            (b'f', 8) => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// Numbers of which every bit pattern is a value.
pub trait AnyPattern: Copy {}
impl AnyPattern for u8 {}
impl AnyPattern for u16 {}
impl AnyPattern for f32 {}
impl AnyPattern for f64 {}

/// An array that Python lends: where it lies, its shape, its strides in bytes, and the reference that keeps it there.
pub struct BorrowedArray {
    _owner: Py<PyUntypedArray>,
    base: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    kind: ElementKind,
    /// Whether its numbers have the other byte order.
    swapped: bool,
    /// Whether it lies in a mapped file, whose pages may not be there yet.
    mapped: bool,
}

// SAFETY: the memory is only read, and stays in place while the owner is referred to; see the module's head.
unsafe impl Send for BorrowedArray {}
// SAFETY: as above.
unsafe impl Sync for BorrowedArray {}

impl BorrowedArray {
    /// Takes note of an array; refuses element types that are not numbers, by name.
    pub fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let dtype = array.dtype();
        let Some(kind) = ElementKind::of(dtype.kind(), dtype.itemsize()) else {
            return Err(PyTypeError::new_err(format!(
                "arrays of {dtype} are not read; convert to float64, float32, uint16 or uint8"
            )));
        };
        // SAFETY: the pointer is that of a live array object; its fields are read while we hold the interpreter.
        let base = unsafe { (*array.as_array_ptr()).fields.data.cast::<u8>() };
        Ok(Self {
            base,
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            kind,
            swapped: dtype.is_native_byteorder() == Some(false),
            mapped: lies_in_a_map(array.as_any())?,
            _owner: array.clone().unbind(),
        })
    }

    /// The sides of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// What its numbers are.
    pub fn kind(&self) -> ElementKind {
        self.kind
    }

    /// Whether its numbers have the other byte order.
    pub fn swapped(&self) -> bool {
        self.swapped
    }

    /// Whether its numbers can be used where they lie: this machine's byte order, on multiples of their size.
    pub fn readable_in_place(&self) -> bool {
        let size = self.kind.bytes();
        !self.swapped
            && (self.base as usize).is_multiple_of(size)
            && self.strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(size))
    }

    /// Rows of a 2-D array where they lie; `None` when they cannot be used there or are of another type.
    pub fn rows<T: AnyPattern + steradian::Element>(
        &self,
        kind: ElementKind,
    ) -> Option<steradian::Result<Rows<'_, T>>> {
        let (&[rows, columns], &[down, across]) = (&self.shape[..], &self.strides[..]) else {
            return None;
        };
        if self.kind != kind || size_of::<T>() != kind.bytes() || !self.readable_in_place() {
            return None;
        }
        if rows == 0 || columns == 0 {
            return Some(Rows::contiguous(&[], rows, columns));
        }
        let size = size_of::<T>() as isize;
        let reach = [(rows - 1) as isize * down, (columns - 1) as isize * across];
        let (lowest, highest) =
            (reach.iter().map(|r| r.min(&0)).sum::<isize>(), reach.iter().map(|r| r.max(&0)).sum::<isize>());
        // SAFETY: from its lowest to its highest element the array lies within one allocation, on multiples of the
        // size of T, of which every bit pattern is a value; it stays there while `self` is borrowed.
        let span = unsafe {
            std::slice::from_raw_parts(self.base.offset(lowest).cast::<T>(), ((highest - lowest) / size) as usize + 1)
        };
        Some(Rows::strided(span, (-lowest / size) as usize, rows, columns, down / size, across / size))
    }

    /// Says that some rows are about to be read: one call maps the pages of a file, instead of a fault for every few.
    pub fn prepare(&self, rows: &Range<usize>) {
        #[cfg(target_os = "linux")]
        if self.mapped && !rows.is_empty() && rows.end <= self.shape[0] && self.shape[1..].iter().all(|side| *side > 0)
        {
            let size = self.kind.bytes() as isize;
            let across: isize =
                self.shape[1..].iter().zip(&self.strides[1..]).map(|(n, s)| (*n as isize - 1) * s).sum();
            // Only rows that lie one after the other are a range worth asking for.
            if self.strides[1..].iter().any(|stride| *stride < 0) || self.strides[0] < across + size {
                return;
            }
            let start = self.base as usize + rows.start * self.strides[0] as usize;
            let end = self.base as usize + (rows.end - 1) * self.strides[0] as usize + (across + size) as usize;
            // SAFETY: `sysconf` reads a constant. The advice is about pages of the array, from the one that its first
            // byte lies on; it reads them and changes nothing. Systems that do not know it decline.
            unsafe {
                let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                let first = start / page * page;
                libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_READ);
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (rows, self.mapped);
    }

    /// Reads N bytes for each of the given places along the first axis, at a fixed place of the others.
    pub fn each<const N: usize>(&self, places: Range<usize>, others: &[usize], mut visit: impl FnMut([u8; N])) {
        assert!(N == self.kind.bytes(), "numbers of {} bytes are not read as {N}", self.kind.bytes());
        assert!(others.len() + 1 == self.shape.len(), "one place for each further axis");
        assert!(places.end <= self.shape[0], "rows {places:?} of {}", self.shape[0]);
        assert!(others.iter().zip(&self.shape[1..]).all(|(at, side)| at < side), "{others:?} in {:?}", self.shape);
        let across: isize = others.iter().zip(&self.strides[1..]).map(|(&at, stride)| at as isize * stride).sum();
        for place in places {
            // SAFETY: every index was checked against the shape above; bytes need no alignment.
            visit(unsafe { self.base.offset(place as isize * self.strides[0] + across).cast::<[u8; N]>().read() });
        }
    }
}

/// Whether the memory of an array belongs to an `mmap.mmap`, as that of `np.memmap` and its views does.
fn lies_in_a_map(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let map = array.py().import("mmap")?.getattr("mmap")?;
    let mut owner = array.clone();
    // A view refers to its base; the chain ends at what owns the memory.
    while let Ok(base) = owner.getattr("base") {
        if base.is_none() {
            return Ok(false);
        }
        owner = base;
    }
    owner.is_instance(&map)
}
