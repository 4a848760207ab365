//! The state of a worker in a file that the driver reads: counts by target, and the input in progress, so that the input
//! that ended a worker is known.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::targets::TARGETS;

/// Counts of one target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TargetCounts {
    /// Inputs that were started.
    pub tried: u64,
    /// Inputs that were read and used.
    pub accepted: u64,
    /// Inputs that were rejected with an error.
    pub rejected: u64,
    /// Inputs that caused a panic or a signal.
    pub panics: u64,
    /// Inputs without a result within the time limit.
    pub hangs: u64,
    /// The largest memory above the size of the input, in bytes.
    pub memory: u64,
    /// Inputs with more memory than the limit.
    pub over_memory: u64,
    /// Files that were left behind.
    pub strays: u64,
}

const FIELDS: usize = 8;
const HEAD: usize = 4;
const BYTES: usize = 8 * (HEAD + FIELDS * TARGETS.len());

impl TargetCounts {
    fn fields(&self) -> [u64; FIELDS] {
        let Self { tried, accepted, rejected, panics, hangs, memory, over_memory, strays } = *self;
        [tried, accepted, rejected, panics, hangs, memory, over_memory, strays]
    }

    fn from_fields([tried, accepted, rejected, panics, hangs, memory, over_memory, strays]: [u64; FIELDS]) -> Self {
        Self { tried, accepted, rejected, panics, hangs, memory, over_memory, strays }
    }

    /// Adds the counts of another worker.
    pub fn add(&mut self, other: &Self) {
        let memory = self.memory.max(other.memory);
        let (own, others) = (self.fields(), other.fields());
        *self = Self { memory, ..Self::from_fields(std::array::from_fn(|i| own[i] + others[i])) };
    }

    /// The number of failures.
    pub fn failures(&self) -> u64 {
        self.panics + self.hangs + self.over_memory + self.strays
    }
}

/// The state of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerState {
    /// Index of the input in progress, from 1; 0 before the first.
    pub case: u64,
    /// When it was started, in milliseconds since 1970.
    pub started: u64,
    /// Index of its target.
    pub target: usize,
    /// Counts by target.
    pub counts: Vec<TargetCounts>,
}

impl WorkerState {
    /// The state before the first input.
    pub fn new() -> Self {
        Self { case: 0, started: now(), target: 0, counts: vec![TargetCounts::default(); TARGETS.len()] }
    }

    /// Writes the state and the input in progress with one call.
    pub fn write(&self, file: &File, input: &[u8], buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.clear();
        let head = [self.case, self.started, self.target as u64, input.len() as u64];
        let numbers = head.into_iter().chain(self.counts.iter().flat_map(TargetCounts::fields));
        numbers.for_each(|number| buffer.extend(number.to_le_bytes()));
        buffer.extend_from_slice(input);
        std::os::unix::fs::FileExt::write_all_at(file, buffer, 0)
    }

    /// Reads the state and the input in progress; `None` before the first write.
    pub fn read(path: &Path) -> Option<(Self, Vec<u8>)> {
        let bytes = std::fs::read(path).ok().filter(|bytes| bytes.len() >= BYTES)?;
        let numbers: Vec<u64> = bytes[..BYTES].as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
        let counts = numbers[HEAD..].as_chunks().0.iter().map(|fields| TargetCounts::from_fields(*fields)).collect();
        let end = BYTES.saturating_add(numbers[3] as usize).min(bytes.len());
        let state = Self { case: numbers[0], started: numbers[1], target: numbers[2] as usize, counts };
        Some((state, bytes[BYTES..end].to_vec()))
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
