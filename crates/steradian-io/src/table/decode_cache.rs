//! A cache of decoded chunks of a file that threads share: concurrent requests decode a chunk once.
//!
//! A cursor is the decoder state at the end of a chunk: the next chunk continues from it instead of decoding its row
//! group from the start. Threads at distant positions of a file use one cursor each. The content of a chunk does not
//! depend on the thread or the cursor that decoded it.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use steradian::Result;

/// A decoder state between two chunks.
#[derive(Debug)]
pub(crate) struct Cursor<C> {
    /// Index of the next chunk.
    pub(crate) next: usize,
    /// Decoder state at its start.
    pub(crate) state: C,
}

/// A cache of the chunks of one file, least recently used first out.
#[derive(Debug)]
pub(crate) struct DecodeCache<P, C> {
    shared: Mutex<CacheShared<P, C>>,
    /// Notified when the decoding of a chunk ends, successfully or not.
    done: Condvar,
    max_chunks: usize,
    max_cursors: usize,
}

#[derive(Debug)]
struct CacheShared<P, C> {
    /// Index and content; the most recently used chunk is the last.
    chunks: VecDeque<(usize, Arc<P>)>,
    cursors: VecDeque<Cursor<C>>,
    /// Indices of the chunks that are being decoded.
    in_progress: Vec<usize>,
}

impl<P, C> DecodeCache<P, C> {
    /// An empty cache for at most this many chunks and cursors.
    pub(crate) fn new(max_chunks: usize, max_cursors: usize) -> Self {
        let shared = CacheShared { chunks: VecDeque::new(), cursors: VecDeque::new(), in_progress: Vec::new() };
        Self { shared: Mutex::new(shared), done: Condvar::new(), max_chunks, max_cursors }
    }

    /// Largest number of chunks in the cache.
    pub(crate) fn max_chunks(&self) -> usize {
        self.max_chunks
    }

    /// A chunk, decoded by `decode` unless it is in the cache. `decode` receives the cursor at the start of the chunk,
    /// if there is one, and may return a cursor for the next chunk.
    pub(crate) fn get(&self, index: usize, decode: impl FnOnce(Option<C>) -> Result<(P, Option<C>)>) -> Result<Arc<P>> {
        let mut shared = self.lock();
        while shared.in_progress.contains(&index) {
            shared = self.done.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(position) = shared.chunks.iter().position(|(cached, _)| *cached == index) {
            let entry = shared.chunks.remove(position).expect("the position is in range");
            let chunk = Arc::clone(&entry.1);
            shared.chunks.push_back(entry);
            return Ok(chunk);
        }
        let position = shared.cursors.iter().position(|cursor| cursor.next == index);
        let cursor = position.and_then(|position| shared.cursors.remove(position));
        shared.in_progress.push(index);
        drop(shared);

        let _permit = DecodePermit { cache: self, index };
        let (chunk, cursor) = decode(cursor.map(|cursor| cursor.state))?;
        let chunk = Arc::new(chunk);
        let mut shared = self.lock();
        shared.chunks.push_back((index, Arc::clone(&chunk)));
        while shared.chunks.len() > self.max_chunks {
            shared.chunks.pop_front();
        }
        shared.cursors.extend(cursor.map(|state| Cursor { next: index + 1, state }));
        while shared.cursors.len() > self.max_cursors {
            shared.cursors.pop_front();
        }
        drop(shared);
        Ok(chunk)
    }

    /// Locks the cache. A poisoned lock is usable: no thread holds it while it decodes, so the state is consistent.
    fn lock(&self) -> MutexGuard<'_, CacheShared<P, C>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A chunk that is being decoded. Dropping it wakes the waiting threads, also after an error or a panic.
struct DecodePermit<'a, P, C> {
    cache: &'a DecodeCache<P, C>,
    index: usize,
}

impl<P, C> Drop for DecodePermit<'_, P, C> {
    fn drop(&mut self) {
        self.cache.lock().in_progress.retain(|&index| index != self.index);
        self.cache.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use steradian::Error;

    use super::*;

    /// Gets a chunk, whose content is 10 times its index, and the cursor passed to `decode`, whose state is an index.
    fn get(cache: &DecodeCache<usize, usize>, index: usize, decoded: &AtomicUsize) -> (usize, Option<usize>) {
        let mut from = None;
        let chunk = cache.get(index, |cursor| {
            from = cursor;
            decoded.fetch_add(1, Ordering::SeqCst);
            Ok((10 * index, Some(index + 1)))
        });
        (*chunk.unwrap(), from)
    }

    #[test]
    fn recent_chunks_are_cached_and_cursors_are_reused() {
        let (cache, decoded) = (DecodeCache::new(2, 2), AtomicUsize::new(0));
        assert_eq!(get(&cache, 0, &decoded), (0, None));
        assert_eq!(get(&cache, 1, &decoded), (10, Some(1)));
        assert_eq!(get(&cache, 7, &decoded), (70, None));
        assert_eq!(get(&cache, 1, &decoded), (10, None));
        assert_eq!(decoded.load(Ordering::SeqCst), 3, "chunk 1 is in the cache");
        // Cursors at two distant positions.
        assert_eq!(get(&cache, 2, &decoded), (20, Some(2)));
        assert_eq!(get(&cache, 8, &decoded), (80, Some(8)));
        // The least recently used chunk was removed.
        assert_eq!(get(&cache, 0, &decoded), (0, None));
        assert_eq!(decoded.load(Ordering::SeqCst), 6);
    }

    #[test]
    fn threads_that_request_one_chunk_decode_it_once() {
        let (cache, decoded) = (DecodeCache::new(4, 1), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for index in 0..4 {
                        assert_eq!(get(&cache, index, &decoded).0, 10 * index);
                    }
                });
            }
        });
        assert_eq!(decoded.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn a_failure_does_not_block_other_threads() {
        let (cache, decoded) = (DecodeCache::new(1, 1), AtomicUsize::new(0));
        assert!(cache.get(3, |_| Err(Error::invalid_data("bad"))).is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = cache.get(3, |_| panic!("on purpose"));
        }));
        assert!(panicked.is_err());
        assert_eq!(get(&cache, 3, &decoded).0, 30);
    }
}
