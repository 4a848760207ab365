//! The order in which a pass needs the chunks of a file, for reading ahead of it.

use std::ops::Range;

/// Parts of the rows, each visited front to back; threads take the next part when they are done with one.
#[derive(Debug)]
pub(crate) struct Order {
    chunk_rows: usize,
    /// What is left of the parts that are not finished, in the order in which they are begun.
    parts: Vec<Range<usize>>,
    /// How many parts are worked on at once.
    n_threads: usize,
}

impl Order {
    /// Nothing is foreseen, of chunks of this many rows.
    pub(crate) fn new(chunk_rows: usize) -> Self {
        Self { chunk_rows, parts: Vec::new(), n_threads: 0 }
    }

    /// A new pass, which forgets the one before.
    pub(crate) fn advise_access(&mut self, parts: &[Range<usize>], n_threads: usize) {
        self.parts = parts.iter().filter(|part| !part.is_empty()).cloned().collect();
        self.n_threads = n_threads.max(1);
    }

    /// Whether a pass has said that it will visit these rows.
    pub(crate) fn foresees(&self, rows: &Range<usize>) -> bool {
        self.parts.iter().any(|part| part.start <= rows.start && rows.end <= part.end)
    }

    /// These rows are done with.
    pub(crate) fn visited(&mut self, rows: &Range<usize>) {
        if let Some(place) = self.parts.iter().position(|part| part.start == rows.start) {
            self.parts[place].start = rows.end;
            if self.parts[place].is_empty() {
                self.parts.remove(place);
            }
        }
    }

    /// The chunks that are needed soonest, at most `count` of them.
    pub(crate) fn soonest(&self, count: usize) -> Vec<usize> {
        let (active, later) = self.parts.split_at(self.n_threads.min(self.parts.len()));
        let mut chunks = Vec::with_capacity(count);
        let mut take = |chunk: usize| {
            if chunks.len() < count && !chunks.contains(&chunk) {
                chunks.push(chunk);
            }
            chunks.len() < count
        };
        let chunks_of = |part: &Range<usize>| part.start / self.chunk_rows..part.end.div_ceil(self.chunk_rows);
        // Threads go on at about one speed: first chunk of each, second of each, and so on.
        let deepest = active.iter().map(|part| chunks_of(part).len()).max().unwrap_or(0);
        for depth in 0..deepest.min(count) {
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
    fn one_thread_reads_on_and_into_the_next_part() {
        let mut order = Order::new(10);
        order.advise_access(&[0..40, 40..65], 1);
        assert_eq!(order.soonest(3), [0, 1, 2]);
        (0..4).for_each(|block| order.visited(&(block * 5..block * 5 + 5)));
        assert_eq!(order.soonest(3), [2, 3, 4]);
        (4..8).for_each(|block| order.visited(&(block * 5..block * 5 + 5)));
        assert_eq!(order.soonest(9), [4, 5, 6]);
        order.advise_access(&[], 0);
        assert!(order.soonest(3).is_empty());
    }

    #[test]
    fn two_threads_take_turns_and_share_a_chunk() {
        let mut order = Order::new(10);
        order.advise_access(&[0..30, 30..60, 60..90], 2);
        assert_eq!(order.soonest(4), [0, 3, 1, 4]);
        order.visited(&(0..30));
        assert_eq!(order.soonest(4), [3, 6, 4, 7]);
        order.advise_access(&[0..5, 5..10, 10..15, 15..20], 2);
        assert_eq!(order.soonest(4), [0, 1]);
        assert!(order.foresees(&(5..7)) && !order.foresees(&(3..6)));
    }
}
