//! Access to the memory of numpy arrays without the interpreter's lock; all unsafe code of this crate is here.
//!
//! # Why it is sound
//!
//! - *Lifetime*: a [`BorrowedArray`] owns a reference to its array, and the array one to its buffer. numpy does not resize
//!   an array with other references.
//! - *Bounds*: pointer, shape and strides are taken together from one array of a known type, and every index is checked
//!   against that shape.
//! - *Bit patterns*: only element types for which every bit pattern is a valid value are read.
//! - *Concurrent writes*: another Python thread may write to the array during a fit, and numpy has no lock against it. The
//!   values read are those present at that time; no bound or index depends on them. The documentation tells users not to
//!   do this.

#![allow(unsafe_code)]

use std::ops::Range;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use steradian::data::Rows;

/// The element type of a numpy array.
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
    /// The kind for numpy's type letter and item size; `None` if it is not supported.
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

    /// Bytes per element.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// An element type for which every bit pattern is a valid value.
pub trait AnyPattern: Copy {}
impl AnyPattern for u8 {}
impl AnyPattern for u16 {}
impl AnyPattern for f32 {}
impl AnyPattern for f64 {}

/// A borrowed numpy array: pointer, shape, strides in bytes, and the reference that keeps it alive.
pub struct BorrowedArray {
    _owner: Py<PyUntypedArray>,
    base: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    kind: ElementKind,
    /// True for foreign byte order.
    swapped: bool,
    /// True for a memory-mapped file, whose pages may not be resident yet.
    mapped: bool,
}

// SAFETY: the memory is only read, and it is valid while `_owner` is alive; see the head of the module.
unsafe impl Send for BorrowedArray {}
// SAFETY: as above.
unsafe impl Sync for BorrowedArray {}

impl BorrowedArray {
    /// Borrows an array; rejects unsupported element types by name.
    pub fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let dtype = array.dtype();
        let Some(kind) = ElementKind::of(dtype.kind(), dtype.itemsize()) else {
            return Err(PyTypeError::new_err(format!(
                "dtype {dtype} is not supported; convert the array to float64, float32, uint16 or uint8"
            )));
        };
        // SAFETY: the pointer is that of a live array object; its fields are read while the interpreter's lock is held.
        let base = unsafe { (*array.as_array_ptr()).fields.data.cast::<u8>() };
        Ok(Self {
            base,
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            kind,
            swapped: dtype.is_native_byteorder() == Some(false),
            mapped: is_memory_mapped(array.as_any())?,
            _owner: array.clone().unbind(),
        })
    }

    /// The shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn kind(&self) -> ElementKind {
        self.kind
    }

    /// True for foreign byte order.
    pub fn swapped(&self) -> bool {
        self.swapped
    }

    /// True if the elements can be read in place: native byte order, aligned.
    pub fn readable_in_place(&self) -> bool {
        let size = self.kind.bytes();
        !self.swapped
            && (self.base as usize).is_multiple_of(size)
            && self.strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(size))
    }

    /// A zero-copy view of the rows of a 2-D array; `None` if they cannot be read in place or have another type.
    pub fn rows<T: AnyPattern + steradian::data::Element>(
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
        // SAFETY: from its lowest to its highest element the array is within one allocation, aligned to the size of T,
        // for which every bit pattern is valid; the allocation is alive while `self` is borrowed.
        let span = unsafe {
            std::slice::from_raw_parts(self.base.offset(lowest).cast::<T>(), ((highest - lowest) / size) as usize + 1)
        };
        Some(Rows::strided(span, (-lowest / size) as usize, rows, columns, down / size, across / size))
    }

    /// Prefetches the pages of some rows of a mapped file: one `madvise` call instead of a page fault every few pages.
    pub fn prepare(&self, rows: &Range<usize>) {
        #[cfg(target_os = "linux")]
        if self.mapped && !rows.is_empty() && rows.end <= self.shape[0] && self.shape[1..].iter().all(|side| *side > 0)
        {
            let size = self.kind.bytes() as isize;
            let across: isize =
                self.shape[1..].iter().zip(&self.strides[1..]).map(|(n, s)| (*n as isize - 1) * s).sum();
            // Only consecutive rows are one range of pages.
            if self.strides[1..].iter().any(|stride| *stride < 0) || self.strides[0] < across + size {
                return;
            }
            let start = self.base as usize + rows.start * self.strides[0] as usize;
            let end = self.base as usize + (rows.end - 1) * self.strides[0] as usize + (across + size) as usize;
            // SAFETY: `sysconf` reads a constant. The range consists of pages of the array; the advice reads them and
            // changes nothing. Kernels without this advice return an error, which is ignored.
            unsafe {
                let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                let first = start / page * page;
                libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_READ);
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (rows, self.mapped);
    }

    /// Reads N bytes per index along the first axis, at fixed indices of the other axes.
    pub fn each<const N: usize>(&self, indices: Range<usize>, others: &[usize], mut visit: impl FnMut([u8; N])) {
        assert!(N == self.kind.bytes(), "elements of {} bytes read as {N}", self.kind.bytes());
        assert!(others.len() + 1 == self.shape.len(), "one index per further axis");
        assert!(indices.end <= self.shape[0], "rows {indices:?} of {}", self.shape[0]);
        assert!(others.iter().zip(&self.shape[1..]).all(|(at, side)| at < side), "{others:?} in {:?}", self.shape);
        let across: isize = others.iter().zip(&self.strides[1..]).map(|(&at, stride)| at as isize * stride).sum();
        for index in indices {
            // SAFETY: every index was checked against the shape above; bytes need no alignment.
            visit(unsafe { self.base.offset(index as isize * self.strides[0] + across).cast::<[u8; N]>().read() });
        }
    }
}

/// True if the memory of an array belongs to an `mmap.mmap`, as for `np.memmap` and its views.
fn is_memory_mapped(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let map = array.py().import("mmap")?.getattr("mmap")?;
    let mut owner = array.clone();
    // A view refers to its base; the last object of the chain owns the memory.
    while let Ok(base) = owner.getattr("base") {
        if base.is_none() {
            return Ok(false);
        }
        owner = base;
    }
    owner.is_instance(&map)
}
