//! A ring of chunk buffers with a read-ahead thread.
//!
//! A slot contains one chunk. The reader thread loads first the chunks that threads wait for, then those that the pass
//! needs next, into slots that no thread uses and that the pass needs later. So one slot is filled while others are in
//! use, and the memory is that of the slots, whatever the size of the file.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use steradian::memory;
use steradian::{Error, Result};

use crate::npy::direct_io::Buffer;
use crate::npy::read_order::ReadOrder;

thread_local! {
    /// Number of chunks that this thread borrows. A thread that borrows a chunk must not wait until a slot is released.
    static BORROWED: Cell<usize> = const { Cell::new(0) };
}

type Load = Box<dyn Fn(usize, &mut Buffer) -> Result<()> + Send + Sync>;

/// The slots and the reader thread that fills them.
pub(crate) struct Ring {
    shared: Arc<ReaderShared>,
    reader: Option<JoinHandle<()>>,
}

struct ReaderShared {
    state: Mutex<ReaderState>,
    /// Notified when a slot was filled or released.
    changed: Condvar,
    /// Notified when there may be a chunk to load.
    work: Condvar,
    load: Load,
    chunk_bytes: usize,
}

struct ReaderState {
    slots: Vec<Slot>,
    order: ReadOrder,
    /// Chunks that visitors wait for, in the order of the requests.
    waiting: Vec<usize>,
    /// True after the reader thread has ended or was told to end.
    closed: bool,
}

struct Slot {
    chunk: Option<usize>,
    content: ChunkContent,
}

enum ChunkContent {
    /// No chunk; the buffer, if it was allocated.
    Free(Option<Buffer>),
    /// The reader thread is loading the chunk.
    Loading,
    /// A loaded chunk.
    Ready(Arc<Buffer>),
    /// The error of a load, for the next visitor of the chunk.
    Failed(Error, Option<Buffer>),
}

impl Slot {
    /// True if the slot is neither being filled nor borrowed.
    fn is_idle(&self) -> bool {
        match &self.content {
            ChunkContent::Loading => false,
            ChunkContent::Ready(buffer) => Arc::strong_count(buffer) == 1,
            ChunkContent::Free(_) | ChunkContent::Failed(..) => true,
        }
    }
}

impl ReaderState {
    /// Index of the slot of a chunk.
    fn slot_of(&self, chunk: usize) -> Option<usize> {
        self.slots.iter().position(|slot| slot.chunk == Some(chunk))
    }

    /// True if a slot can be filled with another chunk: no thread uses it or waits for it.
    fn is_replaceable(&self, slot: &Slot) -> bool {
        slot.is_idle() && slot.chunk.is_none_or(|chunk| !self.waiting.contains(&chunk))
    }

    /// Index of the slot to fill next, and its new chunk.
    fn next_read(&self) -> Option<(usize, usize)> {
        let next = self.order.next_chunks(self.slots.len());
        let rank = |slot: &Slot| slot.chunk.and_then(|chunk| next.iter().position(|&next| next == chunk));
        let replaceable = || (0..self.slots.len()).filter(|&slot| self.is_replaceable(&self.slots[slot]));
        let missing = |chunk: &&usize| self.slot_of(**chunk).is_none();
        if let Some(&chunk) = self.waiting.iter().find(missing) {
            // Replaces the chunk that is needed last, or one that is not needed.
            let slot = replaceable().max_by_key(|&slot| rank(&self.slots[slot]).unwrap_or(usize::MAX));
            return slot.map(|slot| (slot, chunk));
        }
        let &chunk = next.iter().find(missing)?;
        let slot = replaceable().find(|&slot| rank(&self.slots[slot]).is_none())?;
        Some((slot, chunk))
    }
}

impl ReaderShared {
    fn lock(&self) -> MutexGuard<'_, ReaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Main loop of the reader thread.
    fn read_ahead(&self) {
        let _end = ReaderEnd(self);
        let mut state = self.lock();
        while !state.closed {
            let Some((index, chunk)) = state.next_read() else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let slot = &mut state.slots[index];
            slot.chunk = Some(chunk);
            let buffer = match std::mem::replace(&mut slot.content, ChunkContent::Loading) {
                ChunkContent::Free(buffer) => buffer,
                ChunkContent::Ready(buffer) => Arc::into_inner(buffer),
                ChunkContent::Failed(_, buffer) => buffer,
                ChunkContent::Loading => unreachable!("a slot that is being filled is not idle"),
            };
            drop(state);
            let content = match memory::guard(|| Ok(buffer.unwrap_or_else(|| Buffer::new(self.chunk_bytes)))) {
                Ok(mut buffer) => match (self.load)(chunk, &mut buffer) {
                    Ok(()) => ChunkContent::Ready(Arc::new(buffer)),
                    Err(error) => ChunkContent::Failed(error, Some(buffer)),
                },
                Err(error) => ChunkContent::Failed(error, None),
            };
            state = self.lock();
            state.slots[index].content = content;
            self.changed.notify_all();
        }
    }
}

/// Closes the ring when the reader thread ends, also by a panic, so that no visitor waits for a chunk that is never
/// loaded.
struct ReaderEnd<'a>(&'a ReaderShared);

impl Drop for ReaderEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

/// A borrowed chunk; its slot is not reused before the guard is dropped.
pub(crate) struct ChunkGuard<'a> {
    ring: &'a Ring,
    buffer: Option<Arc<Buffer>>,
}

impl ChunkGuard<'_> {
    /// The bytes of the chunk.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| buffer.bytes())
    }
}

impl Drop for ChunkGuard<'_> {
    fn drop(&mut self) {
        BORROWED.set(BORROWED.get() - 1);
        let state = self.ring.shared.lock();
        self.buffer = None;
        drop(state);
        self.ring.shared.work.notify_one();
        self.ring.shared.changed.notify_all();
    }
}

impl Ring {
    /// A ring of `slots` chunks of at most `chunk_bytes`, which `load` fills; buffers are allocated on first use.
    pub(crate) fn new(
        slots: usize,
        chunk_bytes: usize,
        chunk_rows: usize,
        load: impl Fn(usize, &mut Buffer) -> Result<()> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let slots = (0..slots).map(|_| Slot { chunk: None, content: ChunkContent::Free(None) }).collect();
        let state = ReaderState { slots, order: ReadOrder::new(chunk_rows), waiting: Vec::new(), closed: false };
        let shared = Arc::new(ReaderShared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            work: Condvar::new(),
            load: Box::new(load),
            chunk_bytes,
        });
        let own = Arc::clone(&shared);
        let reader = std::thread::Builder::new().name("steradian-reader".into()).spawn(move || own.read_ahead())?;
        Ok(Self { shared, reader: Some(reader) })
    }

    /// Starts a pass; see [`steradian::Source::advise_access`].
    pub(crate) fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.shared.lock().order.advise_access(parts, n_threads);
        self.shared.work.notify_one();
    }

    /// True if the pass will visit these rows in one of its ranges.
    pub(crate) fn includes(&self, rows: &Range<usize>) -> bool {
        self.shared.lock().order.includes(rows)
    }

    /// Marks rows of the pass as visited.
    pub(crate) fn visited(&self, rows: &Range<usize>) {
        self.shared.lock().order.visited(rows);
        self.shared.work.notify_one();
    }

    /// Borrows a chunk and waits until it is loaded. `None` for a thread that already borrows a chunk while all other
    /// slots are in use, since it could wait for itself, and after a panic of the reader thread: the visitor then reads
    /// its rows itself.
    pub(crate) fn borrow(&self, chunk: usize) -> Result<Option<ChunkGuard<'_>>> {
        let nested = BORROWED.get() > 0;
        let mut state = self.shared.lock();
        state.waiting.push(chunk);
        self.shared.work.notify_one();
        let chunk_buffer = loop {
            if let Some(index) = state.slot_of(chunk) {
                let slot = &mut state.slots[index];
                if let ChunkContent::Ready(buffer) = &slot.content {
                    break Ok(Some(Arc::clone(buffer)));
                }
                if let ChunkContent::Failed(..) = &slot.content {
                    slot.chunk = None;
                    if let ChunkContent::Failed(error, buffer) =
                        std::mem::replace(&mut slot.content, ChunkContent::Free(None))
                    {
                        slot.content = ChunkContent::Free(buffer);
                        break Err(error);
                    }
                }
            } else if nested
                && !state.slots.iter().any(|s| matches!(s.content, ChunkContent::Loading) || state.is_replaceable(s))
            {
                break Ok(None);
            }
            if state.closed {
                break Ok(None);
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        if let Some(index) = state.waiting.iter().position(|&waited| waited == chunk) {
            state.waiting.remove(index);
        }
        if chunk_buffer.is_err() {
            // The slot is free now. Other visitors may wait for the same chunk or for a slot, and the reader thread may
            // have found no work while the slot was in use.
            self.shared.work.notify_one();
        }
        drop(state);
        Ok(chunk_buffer?.map(|buffer| {
            BORROWED.set(BORROWED.get() + 1);
            ChunkGuard { ring: self, buffer: Some(buffer) }
        }))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
        if let Some(reader) = self.reader.take() {
            // The thread ends after the load in progress. After a panic, visitors read their rows themselves.
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::*;

    /// Time after which a visitor counts as hung.
    const WATCHDOG: Duration = Duration::from_secs(60);

    /// Starts a thread that requests a chunk and sends the outcome: true if it was borrowed, or the error.
    fn visitor(ring: &Arc<Ring>, chunk: usize, outcomes: &Sender<(usize, Result<bool>)>) {
        let (ring, outcomes) = (Arc::clone(ring), outcomes.clone());
        std::thread::spawn(move || {
            let borrowed = ring.borrow(chunk).map(|guard| guard.is_some());
            let _ = outcomes.send((chunk, borrowed));
        });
    }

    /// Returns when this many visitors wait. The lock is free then, so each of them is blocked.
    fn until_waiting(ring: &Ring, visitors: usize) {
        while ring.shared.lock().waiting.len() < visitors {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A ring of two slots. Chunk 1 cannot be read, and the read fails only after the sender is dropped.
    fn ring_without_chunk_1() -> (Arc<Ring>, Sender<()>) {
        let (gate, closed): (_, Receiver<()>) = channel();
        let closed = Mutex::new(closed);
        let load = move |chunk: usize, _: &mut Buffer| {
            if chunk != 1 {
                return Ok(());
            }
            let _ = closed.lock().unwrap().recv();
            Err(Error::invalid_data("chunk 1 cannot be read"))
        };
        (Arc::new(Ring::new(2, 16, 1, load).unwrap()), gate)
    }

    #[test]
    fn each_visitor_of_an_unreadable_chunk_gets_an_error() {
        let (ring, gate) = ring_without_chunk_1();
        let (sender, outcomes) = channel();
        (0..3).for_each(|_| visitor(&ring, 1, &sender));
        until_waiting(&ring, 3);
        drop(gate);
        for visitor in 0..3 {
            let (_, borrowed) = outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 3 returned"));
            assert!(borrowed.unwrap_err().to_string().contains("cannot be read"));
        }
        assert!(ring.shared.lock().waiting.is_empty());
    }

    #[test]
    fn the_slot_of_a_failed_read_goes_to_the_next_visitor() {
        let (ring, gate) = ring_without_chunk_1();
        let (sender, outcomes) = channel();
        // One slot is in use during the whole test.
        let guard = ring.borrow(0).unwrap();
        visitor(&ring, 1, &sender);
        until_waiting(&ring, 1);
        visitor(&ring, 2, &sender);
        until_waiting(&ring, 2);
        drop(gate);
        let mut outcomes_by_chunk = Vec::new();
        for visitor in 0..2 {
            let (chunk, outcome) =
                outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 2 returned"));
            outcomes_by_chunk.push((chunk, outcome.ok()));
        }
        outcomes_by_chunk.sort_unstable();
        assert_eq!(outcomes_by_chunk, [(1, None), (2, Some(true))]);
        assert!(guard.is_some());
    }

    #[test]
    fn a_reader_that_panics_blocks_no_visitor() {
        let (gate, closed): (_, Receiver<()>) = channel();
        let closed = Mutex::new(closed);
        let load = move |_: usize, _: &mut Buffer| {
            let _ = closed.lock().unwrap().recv();
            panic!("on purpose")
        };
        let ring = Arc::new(Ring::new(2, 16, 1, load).unwrap());
        let (sender, outcomes) = channel();
        // The chunk that is being read, and one that would be read next.
        visitor(&ring, 1, &sender);
        visitor(&ring, 2, &sender);
        until_waiting(&ring, 2);
        drop(gate);
        for visitor in 0..2 {
            let (_, borrowed) = outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 2 returned"));
            assert!(!borrowed.unwrap(), "no chunk was loaded");
        }
        // Later visitors do not wait either.
        visitor(&ring, 3, &sender);
        assert!(!outcomes.recv_timeout(WATCHDOG).expect("the visitor returns").1.unwrap());
    }
}
