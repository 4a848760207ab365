//! A streamed `.npy` array: chunks of complete blocks in a ring of buffers that are read ahead of the pass.
//!
//! Data and blocks are those of the mapped file: a chunk has a power of two of the blocks of a pass, so each block is
//! in one chunk. Rows that are outside the hinted ranges and are a small part of a chunk, and rows of several chunks,
//! are read separately.

use std::mem::size_of;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use steradian::data::{Block, ElementType, Rows, Shape};
use steradian::engine::Grid;
use steradian::{Error, Result, Source};

use crate::npy::direct_io::{Buffer, DirectFile};
use crate::npy::element::FileElement;
use crate::npy::mmap::as_elements;
use crate::npy::npy_header::NpyHeader;
use crate::npy::npy_source::{check_rows, sample_shape};
use crate::npy::read_ahead::Ring;
use crate::system::pread::open_regular;

/// Largest size of a chunk in bytes, unless a block is larger.
const CHUNK_BYTES: usize = 8 << 20;
/// Smallest number of slots: one chunk is in use while the next one is read.
const MIN_SLOTS: usize = 2;
/// Largest number of slots in addition to one per thread.
const AHEAD: usize = 2;
/// Size in bytes below which rows are always read with their chunk: their neighbors are needed soon.
const SEPARATE_READ_BYTES: usize = 64 << 10;
/// Bytes that a measurement of the read rate reads at most.
const MEASURED_BYTES: u64 = 256 << 20;
/// Time after which a measurement of the read rate stops, in seconds.
const MEASURED_SECONDS: f64 = 0.5;

/// A 2-D or 3-D array in C order in a `.npy` file, streamed.
pub struct StreamedNpySource {
    path: PathBuf,
    shape: Shape,
    file: Arc<DirectFile>,
    layout: ChunkLayout,
    ring: Ring,
    slots: usize,
}

/// Position of the rows in the file, and their division into chunks.
#[derive(Debug, Clone)]
struct ChunkLayout {
    start: u64,
    row_bytes: usize,
    samples: usize,
    element_bytes: usize,
    swap: bool,
    chunk_rows: usize,
}

impl ChunkLayout {
    /// Bytes of the file with these rows.
    fn bytes(&self, rows: &Range<usize>) -> Range<u64> {
        let at = |row: usize| self.start + row as u64 * self.row_bytes as u64;
        at(rows.start)..at(rows.end)
    }

    /// Rows of a chunk.
    fn rows_of(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk_rows..((chunk + 1) * self.chunk_rows).min(self.samples)
    }

    /// Size of a chunk in bytes.
    fn chunk_bytes(&self) -> usize {
        self.chunk_rows.min(self.samples) * self.row_bytes
    }

    /// Reads rows into a buffer, aligned and in native byte order.
    fn load(&self, file: &DirectFile, rows: &Range<usize>, buffer: &mut Buffer) -> Result<()> {
        file.read(self.bytes(rows), buffer)?;
        buffer.align(self.element_bytes, self.swap);
        Ok(())
    }
}

impl std::fmt::Debug for StreamedNpySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamedNpySource")
            .field("path", &self.path)
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl StreamedNpySource {
    /// Opens a file with the smallest ring of buffers; [`StreamedNpySource::widen`] enlarges it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let header = NpyHeader::read(path, &file, bytes)?;
        let shape = sample_shape(path, &header)?;
        if header.fortran {
            return Err(Error::invalid_argument(format!(
                "{}: cannot stream an array in Fortran order; save np.ascontiguousarray(X)",
                path.display()
            )));
        }
        let element_bytes = shape.element.bytes();
        let layout = ChunkLayout {
            start: header.start as u64,
            row_bytes: shape.features * element_bytes,
            samples: shape.samples,
            element_bytes,
            swap: element_bytes > 1 && header.big_endian != cfg!(target_endian = "big"),
            chunk_rows: Grid::new(shape.samples, shape.features, 0).block_rows(),
        };
        let file = Arc::new(DirectFile::new(path, file, bytes));
        let ring = start_ring(path, &file, &layout, MIN_SLOTS)?;
        Ok(Self { path: path.to_path_buf(), shape, file, layout, ring, slots: MIN_SLOTS })
    }

    /// Enlarges the ring to the best size for this number of threads, by at most `more` bytes.
    pub fn widen(mut self, threads: usize, more: u64) -> Result<Self> {
        let limit = self.buffer_bytes(threads).saturating_add(more);
        let slots = threads + AHEAD;
        let ring_bytes = |layout: &ChunkLayout, slots: usize| (slots * Buffer::bytes_for(layout.chunk_bytes())) as u64;
        loop {
            let mut larger = self.layout.clone();
            larger.chunk_rows *= 2;
            let helps = larger.chunk_bytes() <= CHUNK_BYTES && larger.chunk_rows < 2 * self.shape.samples;
            if !helps || ring_bytes(&larger, slots) > limit {
                break;
            }
            self.layout = larger;
        }
        let affordable = (limit / ring_bytes(&self.layout, 1)).min(slots as u64) as usize;
        self.slots = affordable.max(MIN_SLOTS);
        self.ring = start_ring(&self.path, &self.file, &self.layout, self.slots)?;
        Ok(self)
    }

    /// True if reads bypass the page cache (direct I/O).
    pub fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// Number of chunks in the ring, and the size of a chunk in bytes.
    pub fn ring(&self) -> (usize, usize) {
        (self.slots, self.layout.chunk_bytes())
    }

    /// Read rate in bytes per second, measured at positions all over the file for at most about 0.5 s.
    pub fn measure_read_rate(&self) -> Result<f64> {
        let mut buffer = Buffer::new(self.layout.chunk_bytes());
        let chunks = self.shape.samples.div_ceil(self.layout.chunk_rows);
        let reads = (MEASURED_BYTES as usize).div_ceil(self.layout.chunk_bytes()).clamp(1, chunks);
        let (start, mut bytes) = (Instant::now(), 0);
        for read in 0..reads {
            let rows = self.layout.rows_of(read * chunks / reads);
            self.layout.load(&self.file, &rows, &mut buffer)?;
            bytes += rows.len() * self.layout.row_bytes;
            if start.elapsed().as_secs_f64() > MEASURED_SECONDS {
                break;
            }
        }
        Ok(bytes as f64 / start.elapsed().as_secs_f64())
    }

    /// Passes rows, given as bytes, to `visit` as elements of type `T`.
    fn visit_as<T: FileElement>(
        &self,
        rows: &Range<usize>,
        bytes: &[u8],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert_eq!(size_of::<T>(), self.layout.element_bytes);
        let elements = as_elements::<T>(bytes).expect("buffers are aligned");
        let block = Rows::contiguous(elements, rows.len(), self.shape.features)?;
        visit(Block::new(rows.start, T::block_data(block)))
    }

    /// Passes rows, given as bytes, to `visit`.
    fn visit_bytes(
        &self,
        rows: &Range<usize>,
        bytes: &[u8],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.shape.element {
            ElementType::U8 => self.visit_as::<u8>(rows, bytes, visit),
            ElementType::U16 => self.visit_as::<u16>(rows, bytes, visit),
            ElementType::F32 => self.visit_as::<f32>(rows, bytes, visit),
            ElementType::F64 => self.visit_as::<f64>(rows, bytes, visit),
        }
    }
}

/// Starts a ring with its reader thread.
fn start_ring(path: &Path, file: &Arc<DirectFile>, layout: &ChunkLayout, slots: usize) -> Result<Ring> {
    let (file, own) = (Arc::clone(file), layout.clone());
    let load = move |chunk: usize, buffer: &mut Buffer| own.load(&file, &own.rows_of(chunk), buffer);
    Ring::new(slots, layout.chunk_bytes(), layout.chunk_rows, load).map_err(|e| Error::io(path, e))
}

impl Source for StreamedNpySource {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.ring.advise_access(parts, n_threads);
    }

    fn buffer_bytes(&self, _threads: usize) -> u64 {
        (self.slots * Buffer::bytes_for(self.layout.chunk_bytes())) as u64
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        let layout = &self.layout;
        let chunk = rows.start / layout.chunk_rows;
        let own = layout.rows_of(chunk);
        let bytes = rows.len() * layout.row_bytes;
        let separate = (SEPARATE_READ_BYTES..layout.chunk_bytes() / 4).contains(&bytes) && !self.ring.includes(&rows);
        let guard = if rows.end <= own.end && !separate { self.ring.borrow(chunk)? } else { None };
        match guard {
            Some(guard) => {
                let start = (rows.start - own.start) * layout.row_bytes;
                self.visit_bytes(&rows, &guard.bytes()[start..start + bytes], visit)?;
            }
            None => {
                let mut buffer = Buffer::new(bytes);
                layout.load(&self.file, &rows, &mut buffer)?;
                self.visit_bytes(&rows, buffer.bytes(), visit)?;
            }
        }
        self.ring.visited(&rows);
        Ok(())
    }
}
