//! Decoded pieces of a file that threads share: each is decoded once while it is in use, and the last few are kept.
//!
//! A cursor stands where a piece ended, so that the next one goes on from there instead of starting over. Threads at
//! far places of a file have a cursor each. What a piece holds does not depend on who decodes it or from where.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use steradian::Result;

/// A place in the sequence of pieces where decoding can go on.
#[derive(Debug)]
pub(crate) struct Cursor<C> {
    /// The piece that comes next.
    pub(crate) next: usize,
    /// What it takes to decode it.
    pub(crate) state: C,
}

/// The pieces of one file.
#[derive(Debug)]
pub(crate) struct DecodeCache<P, C> {
    shared: Mutex<CacheShared<P, C>>,
    /// Some piece has been decoded, or given up.
    done: Condvar,
    kept_pieces: usize,
    kept_cursors: usize,
}

#[derive(Debug)]
struct CacheShared<P, C> {
    /// Used last comes last.
    pieces: VecDeque<(usize, Arc<P>)>,
    cursors: VecDeque<Cursor<C>>,
    under_way: Vec<usize>,
}

impl<P, C> DecodeCache<P, C> {
    /// Keeps at most so many pieces and cursors.
    pub(crate) fn new(kept_pieces: usize, kept_cursors: usize) -> Self {
        let shared = CacheShared { pieces: VecDeque::new(), cursors: VecDeque::new(), under_way: Vec::new() };
        Self { shared: Mutex::new(shared), done: Condvar::new(), kept_pieces, kept_cursors }
    }

    /// How many pieces are kept, at most.
    pub(crate) fn kept_pieces(&self) -> usize {
        self.kept_pieces
    }

    /// A piece, decoded by `decode` unless it is there. That is given the cursor which stands at the piece, if one
    /// does, and may return one for the piece after it.
    pub(crate) fn get(&self, index: usize, decode: impl FnOnce(Option<C>) -> Result<(P, Option<C>)>) -> Result<Arc<P>> {
        let mut shared = self.lock();
        while shared.under_way.contains(&index) {
            shared = self.done.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(place) = shared.pieces.iter().position(|(kept, _)| *kept == index) {
            let found = shared.pieces.remove(place).expect("the place is within");
            let piece = Arc::clone(&found.1);
            shared.pieces.push_back(found);
            return Ok(piece);
        }
        let place = shared.cursors.iter().position(|cursor| cursor.next == index);
        let cursor = place.and_then(|place| shared.cursors.remove(place));
        shared.under_way.push(index);
        drop(shared);

        let _turn = DecodePermit { pieces: self, index };
        let (piece, cursor) = decode(cursor.map(|cursor| cursor.state))?;
        let piece = Arc::new(piece);
        let mut shared = self.lock();
        shared.pieces.push_back((index, Arc::clone(&piece)));
        while shared.pieces.len() > self.kept_pieces {
            shared.pieces.pop_front();
        }
        shared.cursors.extend(cursor.map(|state| Cursor { next: index + 1, state }));
        while shared.cursors.len() > self.kept_cursors {
            shared.cursors.pop_front();
        }
        drop(shared);
        Ok(piece)
    }

    /// A thread that panicked has left nothing half done in here: the lock is never held while decoding.
    fn lock(&self) -> MutexGuard<'_, CacheShared<P, C>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A piece under way; whoever waits for it goes on when this ends, however it ends.
struct DecodePermit<'a, P, C> {
    pieces: &'a DecodeCache<P, C>,
    index: usize,
}

impl<P, C> Drop for DecodePermit<'_, P, C> {
    fn drop(&mut self) {
        self.pieces.lock().under_way.retain(|&index| index != self.index);
        self.pieces.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use steradian::Error;

    use super::*;

    /// Pieces that hold ten times their index, and cursors that hold the index they stand at.
    fn get(pieces: &DecodeCache<usize, usize>, index: usize, decoded: &AtomicUsize) -> (usize, Option<usize>) {
        let mut from = None;
        let piece = pieces.get(index, |cursor| {
            from = cursor;
            decoded.fetch_add(1, Ordering::SeqCst);
            Ok((10 * index, Some(index + 1)))
        });
        (*piece.unwrap(), from)
    }

    #[test]
    fn the_last_pieces_are_kept_and_cursors_go_on() {
        let (pieces, decoded) = (DecodeCache::new(2, 2), AtomicUsize::new(0));
        assert_eq!(get(&pieces, 0, &decoded), (0, None));
        assert_eq!(get(&pieces, 1, &decoded), (10, Some(1)));
        assert_eq!(get(&pieces, 7, &decoded), (70, None));
        assert_eq!(get(&pieces, 1, &decoded), (10, None));
        assert_eq!(decoded.load(Ordering::SeqCst), 3, "1 was kept");
        // Two far places go on side by side.
        assert_eq!(get(&pieces, 2, &decoded), (20, Some(2)));
        assert_eq!(get(&pieces, 8, &decoded), (80, Some(8)));
        // The oldest is gone.
        assert_eq!(get(&pieces, 0, &decoded), (0, None));
        assert_eq!(decoded.load(Ordering::SeqCst), 6);
    }

    #[test]
    fn threads_that_want_one_piece_decode_it_once() {
        let (pieces, decoded) = (DecodeCache::new(4, 1), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for index in 0..4 {
                        assert_eq!(get(&pieces, index, &decoded).0, 10 * index);
                    }
                });
            }
        });
        assert_eq!(decoded.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn a_failure_does_not_hold_others_up() {
        let (pieces, decoded) = (DecodeCache::new(1, 1), AtomicUsize::new(0));
        assert!(pieces.get(3, |_| Err(Error::invalid_data("bad"))).is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = pieces.get(3, |_| panic!("on purpose"));
        }));
        assert!(panicked.is_err());
        assert_eq!(get(&pieces, 3, &decoded).0, 30);
    }
}
