//! A worker: mutates and runs inputs of all targets in turn for some time, and records its state after each.

use std::collections::BTreeSet;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;

use crate::dice::Dice;
use crate::driver::{corpus, save_failure};
use crate::state::{WorkerState, now};
use crate::target::{TargetVerdict, Workplace};
use crate::targets::TARGETS;

/// The counting allocator, which a program that runs workers sets as its global one.
pub static HEAP: PeakAlloc = PeakAlloc;

/// The largest heap above the size of an input, in bytes.
pub const MEMORY_LIMIT: usize = 256 << 20;

/// The work of one process.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    /// Seed of the mutations.
    pub seed: u64,
    /// Time for all targets.
    pub time: Duration,
    /// The target; all if `None`.
    pub only: Option<String>,
    /// The file of the state.
    pub state: PathBuf,
    /// The folder for inputs that fail.
    pub failures: PathBuf,
    /// True if the corpus is run first.
    pub replay: bool,
}

/// Runs inputs until the time is over.
///
/// # Errors
/// If the state cannot be written.
pub fn work(work: &WorkerPlan) -> std::io::Result<()> {
    print_panics_once();
    let place = Workplace::new()?;
    let mut session = Inputs {
        state: WorkerState::new(),
        file: File::options().create(true).truncate(false).write(true).open(&work.state)?,
        buffer: Vec::new(),
        failures: &work.failures,
        place,
    };
    let chosen = |name: &str| work.only.as_ref().is_none_or(|only| only == name);
    let targets: Vec<usize> = (0..TARGETS.len()).filter(|&i| chosen(TARGETS[i].name)).collect();
    let inputs: Vec<Vec<Vec<u8>>> = TARGETS
        .iter()
        .map(|target| {
            corpus(target.name)
                .into_iter()
                .map(|(_, bytes)| bytes)
                .chain((target.seeds)().into_iter().map(|seed| seed.1))
                .collect()
        })
        .collect();
    if work.replay {
        for &target in &targets {
            for input in &inputs[target] {
                session.run(target, input)?;
            }
        }
    }
    let mut dice = Dice::new(work.seed);
    let start = Instant::now();
    // Every target gets the same time, in several turns, so that an end before the time covers all.
    let turn =
        (work.time / (4 * targets.len().max(1) as u32)).clamp(Duration::from_millis(100), Duration::from_secs(5));
    while start.elapsed() < work.time {
        for &target in &targets {
            let begin = Instant::now();
            while begin.elapsed() < turn && start.elapsed() < work.time {
                let input = (TARGETS[target].mutate)(&mut dice, &inputs[target]);
                session.run(target, &input)?;
            }
        }
    }
    session.record(&[])
}

/// Prints the message of the first panic at each place. Readers turn panics of other libraries into errors, so that a run
/// has thousands that are no failure.
fn print_panics_once() {
    let places = Mutex::new(BTreeSet::new());
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        if places.lock().unwrap_or_else(PoisonError::into_inner).insert(place) {
            eprintln!("{panic}");
        }
    }));
}

struct Inputs<'a> {
    state: WorkerState,
    file: File,
    buffer: Vec<u8>,
    failures: &'a Path,
    place: Workplace,
}

impl Inputs<'_> {
    fn record(&mut self, input: &[u8]) -> std::io::Result<()> {
        self.state.write(&self.file, input, &mut self.buffer)
    }

    fn run(&mut self, target: usize, input: &[u8]) -> std::io::Result<()> {
        (self.state.case, self.state.started, self.state.target) = (self.state.case + 1, now(), target);
        self.state.counts[target].tried += 1;
        self.record(input)?;
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let verdict = catch_unwind(AssertUnwindSafe(|| (TARGETS[target].run)(&self.place, input)));
        let memory = HEAP.peak_usage().saturating_sub(before).saturating_sub(input.len());
        let strays = self.place.clear();
        let counts = &mut self.state.counts[target];
        counts.memory = counts.memory.max(memory as u64);
        counts.strays += strays as u64;
        let failure = match verdict {
            Ok(verdict) => {
                *(if verdict == TargetVerdict::Accepted { &mut counts.accepted } else { &mut counts.rejected }) += 1;
                match (memory > MEMORY_LIMIT, strays > 0) {
                    (true, _) => Some("memory"),
                    (_, true) => Some("stray"),
                    _ => None,
                }
            }
            Err(_) => {
                counts.panics += 1;
                Some("panic")
            }
        };
        counts.over_memory += u64::from(memory > MEMORY_LIMIT);
        match failure {
            Some(kind) => save_failure(self.failures, TARGETS[target].name, kind, input),
            None => Ok(()),
        }
    }
}
