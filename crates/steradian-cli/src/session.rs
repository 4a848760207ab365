//! The session of a command: its runner, progress bar and Ctrl-C handler, and how it opens data.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use steradian::engine::{CancelToken, Journal, Runner};
use steradian::{Config, Error, Local, Plan, Result};
use steradian_baselines::any;
use steradian_io::{Clip, ClipOptions, Data, TableOptions};

use crate::outcome;
use crate::progress::Bar;

/// Phase in which no pass checks the token and no file is open for writing: Ctrl-C ends the process.
const OPENING: u8 = 0;
/// Phase of passes, which stop at the next block; a second Ctrl-C ends the process, since a dense step may take long.
const RUNNING: u8 = 1;
/// Phase in which a temporary file exists, which only an orderly exit removes.
const WRITING: u8 = 2;

/// The runner of a command, with progress and interruption.
pub struct Session {
    runner: Local,
    bar: Bar,
    phase: Arc<AtomicU8>,
}

impl Session {
    /// Starts the threads and installs the Ctrl-C handler.
    pub fn begin(threads: usize) -> Result<Self> {
        let cancel = CancelToken::default();
        let phase = Arc::new(AtomicU8::new(RUNNING));
        let (token, current) = (cancel.clone(), Arc::clone(&phase));
        ctrlc::set_handler(move || {
            let phase = current.load(Ordering::SeqCst);
            if phase == OPENING || (phase == RUNNING && token.is_cancelled()) {
                std::process::exit(outcome::interrupted().into());
            }
            token.cancel();
        })
        .map_err(|e| Error::io("Ctrl-C", std::io::Error::other(e)))?;
        let bar = Bar::new();
        let runner = Local::new(threads)?.with_cancel_token(cancel).with_progress(bar.observer());
        Ok(Self { runner, bar, phase })
    }

    /// Opens data; a table is read once, and an array that does not fit into memory is streamed.
    pub fn open(&self, path: &Path, options: &TableOptions) -> Result<Data> {
        self.open_beyond(path, options, None)?.widened(self.runner.threads(), u64::MAX)
    }

    /// Opens data for a fit: an array larger than the memory limit is streamed, with buffers in the memory that the fit does
    /// not need.
    pub fn open_for(&self, path: &Path, options: &TableOptions, config: &Config) -> Result<(Data, Plan)> {
        let data = self.open_beyond(path, options, config.memory_limit())?;
        let threads = self.runner.threads();
        let left = match config.memory_limit() {
            // Buffers for reading ahead take what the fit leaves of the limit.
            Some(limit) if matches!(data, Data::Streamed(_)) => {
                limit.saturating_sub(any::plan(config, &data, threads)?.peak_memory_bytes)
            }
            _ => u64::MAX,
        };
        let data = data.widened(threads, left)?;
        let plan = any::plan(config, &data, threads)?;
        Ok((data, plan))
    }

    fn open_beyond(&self, path: &Path, options: &TableOptions, memory: Option<u64>) -> Result<Data> {
        self.phase.store(OPENING, Ordering::SeqCst);
        let data = steradian_io::open(path, options).and_then(|data| data.stream_if_larger_than(memory));
        self.phase.store(RUNNING, Ordering::SeqCst);
        data
    }

    /// Opens a clip; every format except arrays is decoded to a temporary file that is removed with the process.
    pub fn open_clip(&self, path: &Path, options: &ClipOptions) -> Result<Clip> {
        self.phase.store(OPENING, Ordering::SeqCst);
        let clip = Clip::open(path, options);
        self.phase.store(RUNNING, Ordering::SeqCst);
        clip
    }

    /// Starts the phase in which a temporary file exists.
    pub fn begin_writing(&self) {
        self.phase.store(WRITING, Ordering::SeqCst);
    }

    /// The runner of the passes.
    pub fn runner(&self) -> &Local {
        &self.runner
    }

    /// Records the following passes in a journal.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.runner = self.runner.with_journal(journal);
        self
    }

    /// A function that prints without disturbing the progress bar.
    pub fn aside(&self) -> impl Fn(&dyn Fn()) + Send + Sync + 'static {
        self.bar.aside()
    }

    /// Fails if the command was interrupted; called before files are renamed into place.
    pub fn may_write(&self) -> Result<()> {
        self.begin_writing();
        self.runner.check_cancelled()
    }

    /// Ends the session; fails if the command was interrupted. Called before files are renamed into place.
    pub fn finish(self) -> Result<()> {
        self.may_write()?;
        drop(self.bar);
        Ok(())
    }
}

/// A warning if the fit exceeds its memory limit because of the number of threads. The limit check and the choice of the
/// solver assume a fixed number of threads, so that results do not depend on it.
pub fn memory_note(plan: &Plan, threads: usize) -> Option<String> {
    let (limit, peak) = (plan.request.config().memory_limit()?, plan.peak_memory_bytes);
    (peak > limit).then(|| {
        format!(
            "the fit needs about {} on {threads} threads, which exceeds --memory {}; use fewer --threads or allow more",
            steradian::error::format_bytes(peak),
            steradian::error::format_bytes(limit)
        )
    })
}

/// Warnings about the data: dropped rows, a first column without a name.
pub fn notes(data: &Data) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = data.dropped_rows().first() {
        let dropped = data.dropped_rows().len();
        notes.push(format!("{dropped} rows with missing cells were dropped; the first is row {first}"));
    }
    // R writes row names under an empty column name; as a feature they would encode the order of the rows.
    if data.feature_names().and_then(<[String]>::first).is_some_and(String::is_empty) {
        notes.push(
            "the first column has an empty name and is treated as a feature; pass --row-names if it contains row labels"
                .into(),
        );
    }
    notes
}
