//! The order in which a pass needs the chunks of a file, for read-ahead.

use std::ops::Range;

/// Row ranges of a pass: each is visited sequentially, and a thread that finishes one takes the next.
#[derive(Debug)]
pub(crate) struct ReadOrder {
    chunk_rows: usize,
    /// Remaining rows of the unfinished ranges, in the order in which these are started.
    parts: Vec<Range<usize>>,
    /// Number of ranges that are visited concurrently.
    n_threads: usize,
}

impl ReadOrder {
    /// An order without a pass, for chunks of this many rows.
    pub(crate) fn new(chunk_rows: usize) -> Self {
        Self { chunk_rows, parts: Vec::new(), n_threads: 0 }
    }

    /// Starts a new pass; see [`steradian::Source::advise_access`].
    pub(crate) fn advise_access(&mut self, parts: &[Range<usize>], n_threads: usize) {
        self.parts = parts.iter().filter(|part| !part.is_empty()).cloned().collect();
        self.n_threads = n_threads.max(1);
    }

    /// True if these rows are within one of the ranges of the pass.
    pub(crate) fn includes(&self, rows: &Range<usize>) -> bool {
        self.parts.iter().any(|part| part.start <= rows.start && rows.end <= part.end)
    }

    /// Removes visited rows from their range.
    pub(crate) fn visited(&mut self, rows: &Range<usize>) {
        if let Some(index) = self.parts.iter().position(|part| part.start == rows.start) {
            self.parts[index].start = rows.end;
            if self.parts[index].is_empty() {
                self.parts.remove(index);
            }
        }
    }

    /// The next chunks that the pass needs, at most `count`, in order.
    pub(crate) fn next_chunks(&self, count: usize) -> Vec<usize> {
        let (active, later) = self.parts.split_at(self.n_threads.min(self.parts.len()));
        let mut chunks = Vec::with_capacity(count);
        let mut take = |chunk: usize| {
            if chunks.len() < count && !chunks.contains(&chunk) {
                chunks.push(chunk);
            }
            chunks.len() < count
        };
        let chunks_of = |part: &Range<usize>| part.start / self.chunk_rows..part.end.div_ceil(self.chunk_rows);
        // Threads proceed at about the same speed: first chunk of each, second of each, and so on.
        let max_depth = active.iter().map(|part| chunks_of(part).len()).max().unwrap_or(0);
        for depth in 0..max_depth.min(count) {
            for chunk in active.iter().filter_map(|part| chunks_of(part).nth(depth)) {
                take(chunk);
            }
        }
        for part in later {
            if !chunks_of(part).take(count).all(&mut take) {
                break;
            }
        }
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_needs_chunks_in_sequence() {
        let mut order = ReadOrder::new(10);
        order.advise_access(&[0..40, 40..65], 1);
        assert_eq!(order.next_chunks(3), [0, 1, 2]);
        (0..4).for_each(|block| order.visited(&(block * 5..block * 5 + 5)));
        assert_eq!(order.next_chunks(3), [2, 3, 4]);
        (4..8).for_each(|block| order.visited(&(block * 5..block * 5 + 5)));
        assert_eq!(order.next_chunks(9), [4, 5, 6]);
        order.advise_access(&[], 0);
        assert!(order.next_chunks(3).is_empty());
    }

    #[test]
    fn two_threads_alternate_and_share_a_chunk() {
        let mut order = ReadOrder::new(10);
        order.advise_access(&[0..30, 30..60, 60..90], 2);
        assert_eq!(order.next_chunks(4), [0, 3, 1, 4]);
        order.visited(&(0..30));
        assert_eq!(order.next_chunks(4), [3, 6, 4, 7]);
        order.advise_access(&[0..5, 5..10, 10..15, 15..20], 2);
        assert_eq!(order.next_chunks(4), [0, 1]);
        assert!(order.includes(&(5..7)) && !order.includes(&(3..6)));
    }
}
