//! A ring of chunks with a thread that reads ahead of a pass.
//!
//! A slot holds one chunk. The reader fills first what somebody waits for, then what the pass needs soonest, into slots
//! that nobody looks at and that the pass does not need as soon. So a slot is read into while others are worked on, and
//! memory is that of the slots, whatever the size of the file.

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use steradian::{Error, Result};

use crate::npy::direct_io::Buffer;
use crate::npy::read_order::Order;

thread_local! {
    /// Chunks that this thread looks at. One that holds a chunk must not wait for another thread to let go of one.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

type Load = Box<dyn Fn(usize, &mut Buffer) -> Result<()> + Send + Sync>;

/// The slots, and the thread that fills them.
pub(crate) struct Ring {
    shared: Arc<ReaderShared>,
    reader: Option<JoinHandle<()>>,
}

struct ReaderShared {
    state: Mutex<ReaderState>,
    /// A slot was filled or let go of.
    changed: Condvar,
    /// There may be something to read.
    work: Condvar,
    load: Load,
    chunk_bytes: usize,
}

struct ReaderState {
    slots: Vec<Slot>,
    order: Order,
    /// Chunks that visitors wait for, first come first served.
    waiting: Vec<usize>,
    closed: bool,
}

struct Slot {
    chunk: Option<usize>,
    content: ChunkContent,
}

enum ChunkContent {
    /// Nothing of use; the memory, once it was needed.
    Free(Option<Buffer>),
    /// The reader has it.
    Loading,
    Ready(Arc<Buffer>),
    /// For the visitor who comes for it.
    Failed(Error, Buffer),
}

impl Slot {
    fn is_idle(&self) -> bool {
        match &self.content {
            ChunkContent::Loading => false,
            ChunkContent::Ready(buffer) => Arc::strong_count(buffer) == 1,
            ChunkContent::Free(_) | ChunkContent::Failed(..) => true,
        }
    }
}

impl ReaderState {
    fn slot_of(&self, chunk: usize) -> Option<usize> {
        self.slots.iter().position(|slot| slot.chunk == Some(chunk))
    }

    /// Whether a slot may be filled with something else: nobody looks at it, nobody waits for it.
    fn may_go(&self, slot: &Slot) -> bool {
        slot.is_idle() && slot.chunk.is_none_or(|chunk| !self.waiting.contains(&chunk))
    }

    /// The slot to fill next, and with which chunk.
    fn next_read(&self) -> Option<(usize, usize)> {
        let soon = self.order.soonest(self.slots.len());
        let need = |slot: &Slot| slot.chunk.and_then(|chunk| soon.iter().position(|&soon| soon == chunk));
        let places = || (0..self.slots.len()).filter(|&place| self.may_go(&self.slots[place]));
        let missing = |chunk: &&usize| self.slot_of(**chunk).is_none();
        if let Some(&chunk) = self.waiting.iter().find(missing) {
            // What is needed last has to go when nothing else can.
            let place = places().max_by_key(|&place| need(&self.slots[place]).unwrap_or(usize::MAX));
            return place.map(|place| (place, chunk));
        }
        let &chunk = soon.iter().find(missing)?;
        let place = places().find(|&place| need(&self.slots[place]).is_none())?;
        Some((place, chunk))
    }
}

impl ReaderShared {
    fn lock(&self) -> MutexGuard<'_, ReaderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of the reader.
    fn read_ahead(&self) {
        let _end = ReaderEnd(self);
        let mut state = self.lock();
        while !state.closed {
            let Some((place, chunk)) = state.next_read() else {
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let slot = &mut state.slots[place];
            slot.chunk = Some(chunk);
            let buffer = match std::mem::replace(&mut slot.content, ChunkContent::Loading) {
                ChunkContent::Free(buffer) => buffer,
                ChunkContent::Ready(buffer) => Arc::into_inner(buffer),
                ChunkContent::Failed(_, buffer) => Some(buffer),
                ChunkContent::Loading => unreachable!("a slot that is being filled is not idle"),
            };
            drop(state);
            let mut buffer = buffer.unwrap_or_else(|| Buffer::new(self.chunk_bytes));
            let done = (self.load)(chunk, &mut buffer);
            state = self.lock();
            state.slots[place].content = match done {
                Ok(()) => ChunkContent::Ready(Arc::new(buffer)),
                Err(error) => ChunkContent::Failed(error, buffer),
            };
            self.changed.notify_all();
        }
    }
}

/// Closes the ring when the reader ends, by a panic too: no visitor waits for a chunk that no thread will read.
struct ReaderEnd<'a>(&'a ReaderShared);

impl Drop for ReaderEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

/// A chunk, looked at.
pub(crate) struct ChunkGuard<'a> {
    ring: &'a Ring,
    buffer: Option<Arc<Buffer>>,
}

impl ChunkGuard<'_> {
    /// What the chunk holds.
    pub(crate) fn piece(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| buffer.piece())
    }
}

impl Drop for ChunkGuard<'_> {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
        let state = self.ring.shared.lock();
        self.buffer = None;
        drop(state);
        self.ring.shared.work.notify_one();
        self.ring.shared.changed.notify_all();
    }
}

impl Ring {
    /// A ring of `slots` chunks of at most `chunk_bytes`, which `load` fills; memory is taken when it is first needed.
    pub(crate) fn new(
        slots: usize,
        chunk_bytes: usize,
        chunk_rows: usize,
        load: impl Fn(usize, &mut Buffer) -> Result<()> + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let slots = (0..slots).map(|_| Slot { chunk: None, content: ChunkContent::Free(None) }).collect();
        let state = ReaderState { slots, order: Order::new(chunk_rows), waiting: Vec::new(), closed: false };
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

    /// A pass begins; see [`steradian::Source::advise_access`].
    pub(crate) fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.shared.lock().order.advise_access(parts, n_threads);
        self.shared.work.notify_one();
    }

    /// Whether the pass has said that it will visit these rows.
    pub(crate) fn foresees(&self, rows: &Range<usize>) -> bool {
        self.shared.lock().order.foresees(rows)
    }

    /// The pass is done with these rows.
    pub(crate) fn visited(&self, rows: &Range<usize>) {
        self.shared.lock().order.visited(rows);
        self.shared.work.notify_one();
    }

    /// A chunk, waited for if need be. Nothing for a thread that holds a chunk already while all others are held, too:
    /// it could wait for itself. `None` also if the reader has panicked: the visitor then reads its rows itself.
    pub(crate) fn lend(&self, chunk: usize) -> Result<Option<ChunkGuard<'_>>> {
        let nested = HELD.get() > 0;
        let mut state = self.shared.lock();
        state.waiting.push(chunk);
        self.shared.work.notify_one();
        let found = loop {
            if let Some(place) = state.slot_of(chunk) {
                let slot = &mut state.slots[place];
                if let ChunkContent::Ready(buffer) = &slot.content {
                    break Ok(Some(Arc::clone(buffer)));
                }
                if let ChunkContent::Failed(..) = &slot.content {
                    slot.chunk = None;
                    if let ChunkContent::Failed(error, buffer) =
                        std::mem::replace(&mut slot.content, ChunkContent::Free(None))
                    {
                        slot.content = ChunkContent::Free(Some(buffer));
                        break Err(error);
                    }
                }
            } else if nested
                && !state.slots.iter().any(|s| matches!(s.content, ChunkContent::Loading) || state.may_go(s))
            {
                break Ok(None);
            }
            if state.closed {
                break Ok(None);
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        if let Some(place) = state.waiting.iter().position(|&waited| waited == chunk) {
            state.waiting.remove(place);
        }
        if found.is_err() {
            // The slot is free now. Other visitors may wait for the same chunk or for a slot, and the reader may have
            // found no work while the slot was taken.
            self.shared.work.notify_one();
        }
        drop(state);
        Ok(found?.map(|buffer| {
            HELD.set(HELD.get() + 1);
            ChunkGuard { ring: self, buffer: Some(buffer) }
        }))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
        if let Some(reader) = self.reader.take() {
            // It ends after the read that is in progress. After a panic, visitors read their rows themselves.
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::*;

    /// The time after which a visitor counts as hung; no visitor takes that long.
    const WATCHDOG: Duration = Duration::from_secs(60);

    /// Starts a thread that requests a chunk and sends the outcome: whether it was lent, or the error.
    fn visitor(ring: &Arc<Ring>, chunk: usize, outcomes: &Sender<(usize, Result<bool>)>) {
        let (ring, outcomes) = (Arc::clone(ring), outcomes.clone());
        std::thread::spawn(move || {
            let lent = ring.lend(chunk).map(|lent| lent.is_some());
            let _ = outcomes.send((chunk, lent));
        });
    }

    /// Returns when this many visitors wait. The lock is free then, so each of them sleeps.
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
    fn each_visitor_of_a_chunk_that_cannot_be_read_gets_an_error() {
        let (ring, gate) = ring_without_chunk_1();
        let (sender, outcomes) = channel();
        (0..3).for_each(|_| visitor(&ring, 1, &sender));
        until_waiting(&ring, 3);
        drop(gate);
        for visitor in 0..3 {
            let (_, lent) = outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 3 returned"));
            assert!(lent.unwrap_err().to_string().contains("cannot be read"));
        }
        assert!(ring.shared.lock().waiting.is_empty());
    }

    #[test]
    fn the_slot_of_a_failed_read_goes_to_the_next_visitor() {
        let (ring, gate) = ring_without_chunk_1();
        let (sender, outcomes) = channel();
        // One slot is in use during the whole test.
        let held = ring.lend(0).unwrap();
        visitor(&ring, 1, &sender);
        until_waiting(&ring, 1);
        visitor(&ring, 2, &sender);
        until_waiting(&ring, 2);
        drop(gate);
        let mut lent = Vec::new();
        for visitor in 0..2 {
            let (chunk, outcome) =
                outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 2 returned"));
            lent.push((chunk, outcome.ok()));
        }
        lent.sort_unstable();
        assert_eq!(lent, [(1, None), (2, Some(true))]);
        assert!(held.is_some());
    }

    #[test]
    fn a_reader_that_panics_holds_no_visitor_up() {
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
            let (_, lent) = outcomes.recv_timeout(WATCHDOG).unwrap_or_else(|_| panic!("{visitor} of 2 returned"));
            assert!(!lent.unwrap(), "there is nothing to lend");
        }
        // Later visitors do not wait either.
        visitor(&ring, 3, &sender);
        assert!(!outcomes.recv_timeout(WATCHDOG).expect("the visitor returns").1.unwrap());
    }
}
