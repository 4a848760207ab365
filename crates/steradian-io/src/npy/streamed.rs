//! A `.npy` array that is streamed: chunks of whole blocks go through a ring of a few, read ahead of the pass.
//!
//! The numbers are those of the mapped file, and so are the blocks: a chunk is a power of two of the blocks of a pass, so
//! no block lies in two chunks. Rows that nobody announced and that are a small part of a chunk, and blocks across
//! chunks, are read on their own.

use std::mem::size_of;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use steradian::{Block, ElementType, Error, Grid, Result, Rows, Shape, Source};

use crate::npy::direct_io::{Buffer, DirectFile};
use crate::npy::element::FileElement;
use crate::npy::mmap::as_numbers;
use crate::npy::npy_header::NpyHeader;
use crate::npy::npy_source::{check_rows, sample_shape};
use crate::npy::read_ahead::Ring;
use crate::system::pread::open_regular;

/// Chunks become no larger than this, unless a block is.
const CHUNK_BYTES: usize = 8 << 20;
/// Chunks at least: one is worked on while the next is read.
const LEAST_SLOTS: usize = 2;
/// Chunks beyond those that threads work on, at most.
const AHEAD: usize = 2;
/// A lone row of fewer bytes is read with its chunk: its neighbours come soon.
const LONE_BYTES: usize = 64 << 10;
/// A measurement of the disk reads this much, and stops after this time.
const MEASURED_BYTES: u64 = 256 << 20;
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

/// Where rows lie in the file, and how they are cut into chunks.
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
    fn bytes(&self, rows: &Range<usize>) -> Range<u64> {
        let at = |row: usize| self.start + row as u64 * self.row_bytes as u64;
        at(rows.start)..at(rows.end)
    }

    fn rows_of(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk_rows..((chunk + 1) * self.chunk_rows).min(self.samples)
    }

    fn chunk_bytes(&self) -> usize {
        self.chunk_rows.min(self.samples) * self.row_bytes
    }

    fn load(&self, file: &DirectFile, rows: &Range<usize>, buffer: &mut Buffer) -> Result<()> {
        file.read(self.bytes(rows), buffer)?;
        buffer.settle(self.element_bytes, self.swap);
        Ok(())
    }
}

impl std::fmt::Debug for StreamedNpySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamedNpy").field("path", &self.path).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl StreamedNpySource {
    /// Opens a file with the smallest ring that works; [`StreamedNpySource::widen`] makes it better.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (file, bytes) = open_regular(path)?;
        let header = NpyHeader::read(path, &file, bytes)?;
        let shape = sample_shape(path, &header)?;
        if header.fortran {
            return Err(Error::invalid_argument(format!(
                "{}: an array in Fortran order cannot be streamed by rows; save np.ascontiguousarray(X)",
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
        let ring = start(path, &file, &layout, LEAST_SLOTS)?;
        Ok(Self { path: path.to_path_buf(), shape, file, layout, ring, slots: LEAST_SLOTS })
    }

    /// Makes the ring as large as helps this many threads, within `more` bytes beyond what it has.
    pub fn widen(mut self, threads: usize, more: u64) -> Result<Self> {
        let room = self.buffer_bytes(threads).saturating_add(more);
        let wanted = threads + AHEAD;
        let ring_bytes = |layout: &ChunkLayout, slots: usize| (slots * Buffer::bytes_for(layout.chunk_bytes())) as u64;
        loop {
            let mut larger = self.layout.clone();
            larger.chunk_rows *= 2;
            let helps = larger.chunk_bytes() <= CHUNK_BYTES && larger.chunk_rows < 2 * self.shape.samples;
            if !helps || ring_bytes(&larger, wanted) > room {
                break;
            }
            self.layout = larger;
        }
        let affordable = (room / ring_bytes(&self.layout, 1)).min(wanted as u64) as usize;
        self.slots = affordable.max(LEAST_SLOTS);
        self.ring = start(&self.path, &self.file, &self.layout, self.slots)?;
        Ok(self)
    }

    /// Whether reads go past the system's cache.
    pub fn is_direct(&self) -> bool {
        self.file.is_direct()
    }

    /// How many chunks the ring has, and the bytes of one.
    pub fn ring(&self) -> (usize, usize) {
        (self.slots, self.layout.chunk_bytes())
    }

    /// Bytes that a second reads, by a short trial at places all over the file.
    pub fn measure_read_rate(&self) -> Result<f64> {
        let mut buffer = Buffer::new(self.layout.chunk_bytes());
        let chunks = self.shape.samples.div_ceil(self.layout.chunk_rows);
        let trials = (MEASURED_BYTES as usize).div_ceil(self.layout.chunk_bytes()).clamp(1, chunks);
        let (begin, mut bytes) = (Instant::now(), 0);
        for trial in 0..trials {
            let rows = self.layout.rows_of(trial * chunks / trials);
            self.layout.load(&self.file, &rows, &mut buffer)?;
            bytes += rows.len() * self.layout.row_bytes;
            if begin.elapsed().as_secs_f64() > MEASURED_SECONDS {
                break;
            }
        }
        Ok(bytes as f64 / begin.elapsed().as_secs_f64())
    }

    fn lend<T: FileElement>(
        &self,
        rows: &Range<usize>,
        bytes: &[u8],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert_eq!(size_of::<T>(), self.layout.element_bytes);
        let numbers = as_numbers::<T>(bytes).expect("a piece is settled on a multiple of its numbers' size");
        let block = Rows::contiguous(numbers, rows.len(), self.shape.features)?;
        visit(Block::new(rows.start, T::block_data(block)))
    }

    fn lend_bytes(
        &self,
        rows: &Range<usize>,
        bytes: &[u8],
        visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
    ) -> Result<()> {
        match self.shape.element {
            ElementType::U8 => self.lend::<u8>(rows, bytes, visit),
            ElementType::U16 => self.lend::<u16>(rows, bytes, visit),
            ElementType::F32 => self.lend::<f32>(rows, bytes, visit),
            ElementType::F64 => self.lend::<f64>(rows, bytes, visit),
        }
    }
}

fn start(path: &Path, file: &Arc<DirectFile>, layout: &ChunkLayout, slots: usize) -> Result<Ring> {
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
        let lone = (LONE_BYTES..layout.chunk_bytes() / 4).contains(&bytes) && !self.ring.foresees(&rows);
        let lent = if rows.end <= own.end && !lone { self.ring.lend(chunk)? } else { None };
        match lent {
            Some(lent) => {
                let start = (rows.start - own.start) * layout.row_bytes;
                self.lend_bytes(&rows, &lent.piece()[start..start + bytes], visit)?;
            }
            None => {
                let mut buffer = Buffer::new(bytes);
                layout.load(&self.file, &rows, &mut buffer)?;
                self.lend_bytes(&rows, buffer.piece(), visit)?;
            }
        }
        self.ring.visited(&rows);
        Ok(())
    }
}
