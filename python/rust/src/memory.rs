//! Access to the memory of numpy arrays without the interpreter's lock; all unsafe code of this crate is here.
//!
//! # Why it is sound
//!
//! - *Lifetime*: a [`BorrowedArray`] owns a reference to its array, and the array one to its buffer. numpy does not resize
//!   an array that has a weak reference, not even with `refcheck=False`, so a [`BorrowedArray`] also owns weak references
//!   to its array and to the arrays that it is a view of. (An exported buffer does not prevent a resize.)
//! - *Bounds*: pointer, shape and strides are taken together from one array of a known type, and every index is checked
//!   against that shape.
//! - *Bit patterns*: only element types for which every bit pattern is a valid value are read.
//! - *Concurrent writes*: another Python thread may write to the array during a fit, and numpy has no lock against it. The
//!   values read are those present at that time; no bound or index depends on them. The documentation tells users not to
//!   do this.
//! - *Mapped files*: access to a page after the end of a truncated file raises `SIGBUS`, which terminates the process. On
//!   Linux, rows of a mapped file are therefore copied by the kernel (`process_vm_readv`), which returns an error instead,
//!   and the length of the file is compared after the copy. Where the system call is not permitted, rows are read in place.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::PathBuf;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use steradian::data::{Element, Rows};
use steradian::{Error, Result};

/// Most remote segments of one call of `process_vm_readv` (IOV_MAX of Linux).
#[cfg(target_os = "linux")]
const SEGMENTS: usize = 1024;

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

/// Elements in memory: address of the first, shape, and strides in bytes.
#[derive(Clone)]
struct Layout {
    base: *const u8,
    shape: Vec<usize>,
    strides: Vec<isize>,
    kind: ElementKind,
    /// True for foreign byte order.
    swapped: bool,
}

/// A borrowed numpy array, and the references that keep it alive and in place.
pub struct BorrowedArray {
    _owner: Py<PyUntypedArray>,
    _unresizable: Vec<Py<PyWeakrefReference>>,
    layout: Layout,
    /// The mapped file that holds the elements.
    file: Option<MappedArrayFile>,
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
        // The references come first: from here on the buffer stays in place.
        let (unresizable, file) = hold_owners(array.as_any())?;
        // SAFETY: the pointer is that of a live array object; its fields are read while the interpreter's lock is held.
        let base = unsafe { (*array.as_array_ptr()).fields.data.cast::<u8>() };
        let layout = Layout {
            base,
            shape: array.shape().to_vec(),
            strides: array.strides().to_vec(),
            kind,
            swapped: dtype.is_native_byteorder() == Some(false),
        };
        Ok(Self { _owner: array.clone().unbind(), _unresizable: unresizable, layout, file })
    }

    /// The shape of the array.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The element type.
    pub fn kind(&self) -> ElementKind {
        self.layout.kind
    }

    /// True for elements of a mapped file, whose rows are copied block by block.
    pub fn mapped(&self) -> bool {
        self.file.is_some()
    }

    /// True if the elements can be read in place: native byte order, aligned.
    pub fn readable_in_place(&self) -> bool {
        self.layout.readable_in_place()
    }

    /// Some rows: in place, or for a mapped file a checked copy.
    ///
    /// # Errors
    /// If a mapped file is shorter than its mapping.
    pub fn rows(&self, rows: &Range<usize>) -> Result<ArrayRows<'_>> {
        assert!(
            rows.start <= rows.end && rows.end <= self.layout.shape[0],
            "rows {rows:?} of {}",
            self.layout.shape[0]
        );
        let mut part = self.layout.clone();
        part.shape[0] = rows.len();
        if !part.is_empty() {
            // SAFETY: the first of these rows is within the array, since there is one and the range was checked.
            part.base = unsafe { part.base.offset(rows.start as isize * part.strides[0]) };
        }
        let copied = match &self.file {
            Some(file) if !part.is_empty() => file.copy(&part)?,
            _ => None,
        };
        let (layout, copy) = copied.map_or((part, None), |(layout, copy)| (layout, Some(copy)));
        Ok(ArrayRows { layout, _copy: copy, _array: PhantomData })
    }
}

/// Consecutive rows of an array.
pub struct ArrayRows<'a> {
    layout: Layout,
    /// The memory of the layout, unless it is that of the array.
    _copy: Option<Vec<u64>>,
    _array: PhantomData<&'a BorrowedArray>,
}

impl ArrayRows<'_> {
    /// The shape; the first axis has these rows only.
    pub fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    /// The element type.
    pub fn kind(&self) -> ElementKind {
        self.layout.kind
    }

    /// True for foreign byte order.
    pub fn swapped(&self) -> bool {
        self.layout.swapped
    }

    /// A zero-copy view of the rows of a 2-D array; `None` if they cannot be read in place or have another type.
    pub fn typed<T: AnyPattern + Element>(&self, kind: ElementKind) -> Option<Result<Rows<'_, T>>> {
        let Layout { base, shape, strides, .. } = &self.layout;
        let (&[rows, columns], &[down, across]) = (&shape[..], &strides[..]) else {
            return None;
        };
        if self.layout.kind != kind || size_of::<T>() != kind.bytes() || !self.layout.readable_in_place() {
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
            std::slice::from_raw_parts(base.offset(lowest).cast::<T>(), ((highest - lowest) / size) as usize + 1)
        };
        Some(Rows::strided(span, (-lowest / size) as usize, rows, columns, down / size, across / size))
    }

    /// Reads N bytes per index along the first axis, at fixed indices of the other axes.
    pub fn each<const N: usize>(&self, indices: Range<usize>, others: &[usize], mut visit: impl FnMut([u8; N])) {
        let Layout { base, shape, strides, kind, .. } = &self.layout;
        assert!(N == kind.bytes(), "elements of {} bytes read as {N}", kind.bytes());
        assert!(others.len() + 1 == shape.len(), "one index per further axis");
        assert!(indices.end <= shape[0], "rows {indices:?} of {}", shape[0]);
        assert!(others.iter().zip(&shape[1..]).all(|(at, side)| at < side), "{others:?} in {shape:?}");
        let across: isize = others.iter().zip(&strides[1..]).map(|(&at, stride)| at as isize * stride).sum();
        for index in indices {
            // SAFETY: every index was checked against the shape above; bytes need no alignment.
            visit(unsafe { base.offset(index as isize * strides[0] + across).cast::<[u8; N]>().read() });
        }
    }
}

impl Layout {
    fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    fn readable_in_place(&self) -> bool {
        let size = self.kind.bytes();
        !self.swapped
            && (self.base as usize).is_multiple_of(size)
            && self.strides.iter().all(|stride| stride.unsigned_abs().is_multiple_of(size))
    }

    /// The elements in segments: the layout of consecutive segments in other memory, which starts at byte 0, the address
    /// of each segment, and the bytes of one. A segment holds the elements along the axis with the smallest stride.
    fn segments(&self) -> (Self, Vec<usize>, usize) {
        let axes = 0..self.shape.len();
        let inner =
            axes.clone().min_by_key(|&axis| (self.shape[axis] == 1, self.strides[axis].unsigned_abs())).unwrap_or(0);
        let reach = (self.shape[inner] - 1) * self.strides[inner].unsigned_abs();
        let bytes = reach + self.kind.bytes();
        // The lowest address of a segment is that of its last element if the stride is negative.
        let before = if self.strides[inner] < 0 { reach } else { 0 };
        let others: Vec<usize> = axes.filter(|&axis| axis != inner).collect();
        let mut starts = vec![(self.base as usize).wrapping_sub(before)];
        let mut strides = self.strides.clone();
        let mut below = bytes;
        for &axis in others.iter().rev() {
            strides[axis] = below as isize;
            below *= self.shape[axis];
        }
        for &axis in &others {
            let stride = self.strides[axis];
            let steps = 0..self.shape[axis];
            starts = starts
                .iter()
                .flat_map(|start| steps.clone().map(move |i| start.wrapping_add_signed(i as isize * stride)))
                .collect();
        }
        (Self { base: before as *const u8, strides, ..self.clone() }, starts, bytes)
    }
}

/// The file of an array that is a view of an `mmap.mmap`, as `np.memmap` is.
struct MappedArrayFile {
    /// The open file and the length that its mapping needs; `None` if the array does not know its file.
    checked: Option<(File, u64)>,
    path: PathBuf,
}

impl MappedArrayFile {
    /// The file of `map`, the mapping that `array` is the first view of.
    fn new(array: &Bound<'_, PyAny>, map: &Bound<'_, PyAny>) -> PyResult<Self> {
        let unknown = Self { checked: None, path: PathBuf::from("the mapped file of the array") };
        let attribute = |name: &str| array.getattr(name).ok().filter(|value| !value.is_none());
        let (Some(path), Some(offset)) = (attribute("filename"), attribute("offset")) else { return Ok(unknown) };
        let (Ok(path), Ok(offset)) = (path.extract::<PathBuf>(), offset.extract::<u64>()) else { return Ok(unknown) };
        // A mapping starts at a multiple of the granularity.
        let granularity: u64 = array.py().import("mmap")?.getattr("ALLOCATIONGRANULARITY")?.extract()?;
        let needed = offset - offset % granularity + map.len()? as u64;
        let file = File::open(&path).ok();
        // The path may be that of another file by now.
        let size: u64 = map.call_method0("size")?.extract()?;
        let own = file.filter(|file| file.metadata().is_ok_and(|found| found.is_file() && found.len() == size));
        Ok(Self { checked: own.map(|file| (file, needed)), path })
    }

    /// A copy of elements and their layout in it; `None` where the system does not copy.
    fn copy(&self, layout: &Layout) -> Result<Option<(Layout, Vec<u64>)>> {
        self.prepare(layout);
        let copied = checked_copy(layout).map_err(|error| Error::io(&self.path, error))?;
        // Bytes between the new end of a file and the end of its page are zero and raise no signal.
        if let Some((file, needed)) = &self.checked {
            let now = file.metadata().map_err(|error| Error::io(&self.path, error))?.len();
            if now < *needed {
                let why = format!(
                    "the mapping of the file has {needed} bytes but the file has {now} now; \
                     fit again when no other process writes it"
                );
                return Err(Error::io(&self.path, io::Error::new(io::ErrorKind::UnexpectedEof, why)));
            }
        }
        Ok(copied)
    }

    /// Prefetches the pages of consecutive rows: one `madvise` call instead of a page fault every few pages.
    fn prepare(&self, layout: &Layout) {
        #[cfg(target_os = "linux")]
        {
            let Layout { base, shape, strides, kind, .. } = layout;
            let size = kind.bytes() as isize;
            let across: isize = shape[1..].iter().zip(&strides[1..]).map(|(n, s)| (*n as isize - 1) * s).sum();
            // Only consecutive rows are one range of pages.
            if strides[1..].iter().any(|stride| *stride < 0) || strides[0] < across + size {
                return;
            }
            let start = *base as usize;
            let end = start + (shape[0] - 1) * strides[0] as usize + (across + size) as usize;
            // SAFETY: `sysconf` reads a constant. The range consists of pages of the array; the advice reads them and
            // changes nothing. An error, also that of a truncated file, is found by the copy.
            unsafe {
                let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                let first = start / page * page;
                libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_POPULATE_READ);
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = layout;
    }
}

/// Elements copied by the kernel, which reports missing pages as an error; `None` where this is not permitted.
#[cfg(target_os = "linux")]
fn checked_copy(layout: &Layout) -> io::Result<Option<(Layout, Vec<u64>)>> {
    let (mut place, starts, bytes) = layout.segments();
    let mut copy = steradian::memory::filled((starts.len() * bytes).div_ceil(8), 0_u64);
    let mut done = 0;
    for batch in starts.chunks(SEGMENTS) {
        let remote: Vec<libc::iovec> =
            batch.iter().map(|&start| libc::iovec { iov_base: start as *mut libc::c_void, iov_len: bytes }).collect();
        let expected = batch.len() * bytes;
        // SAFETY: the destination is `expected` bytes of `copy` from byte `done` on; the sources are those of an array
        // that is alive, and an address without a page is an error of the call. The call only writes to the destination.
        let count = unsafe {
            let local = libc::iovec { iov_base: copy.as_mut_ptr().cast::<u8>().add(done).cast(), iov_len: expected };
            libc::process_vm_readv(libc::getpid(), &local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0)
        };
        if count != expected as isize {
            let error = io::Error::last_os_error();
            if count < 0 && matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) {
                return Ok(None);
            }
            let why = "the mapped file was truncated while it was read; fit again when no other process writes it";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        done += expected;
    }
    // SAFETY: the layout of the segments has the distance of its first element from the start of the copy as its base.
    place.base = unsafe { copy.as_ptr().cast::<u8>().add(place.base as usize) };
    Ok(Some((place, copy)))
}

#[cfg(not(target_os = "linux"))]
fn checked_copy(_: &Layout) -> io::Result<Option<(Layout, Vec<u64>)>> {
    Ok(None)
}

/// Weak references to an array and to all arrays that it is a view of, and the mapped file that owns the memory, if one does.
fn hold_owners(array: &Bound<'_, PyAny>) -> PyResult<(Vec<Py<PyWeakrefReference>>, Option<MappedArrayFile>)> {
    let map = array.py().import("mmap")?.getattr("mmap")?;
    let mut held = Vec::new();
    let mut owner = array.clone();
    // A view refers to its base; the last object of the chain owns the memory.
    loop {
        if owner.is_instance_of::<PyUntypedArray>() {
            held.push(PyWeakrefReference::new(&owner)?.unbind());
        }
        // A `memoryview` between an array and its memory refers to it as `obj`.
        let base = owner.getattr("base").or_else(|_| owner.getattr("obj"));
        let Some(base) = base.ok().filter(|base| !base.is_none()) else {
            return Ok((held, None));
        };
        if base.is_instance(&map)? {
            return Ok((held, Some(MappedArrayFile::new(&owner, &base)?)));
        }
        owner = base;
    }
}
