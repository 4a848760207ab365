//! The runner of a command, with its threads, progress bar and Ctrl-C handler.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use steradian::{CancelToken, Config, Error, Journal, Local, Result, Runner, Source};
use steradian_baselines::any;
use steradian_io::{Clip, ClipOptions, Data, TableOptions};

use crate::outcome;
use crate::progress::Bar;

/// Nothing is there to clean up, and no pass looks at the token: Ctrl-C ends the process.
const OPENING: u8 = 0;
/// Passes stop at the next block; a second Ctrl-C ends the process, should dense work take long.
const RUNNING: u8 = 1;
/// A file is in the making, which only an orderly end removes.
const WRITING: u8 = 2;

/// The runner of a command, watched and interruptible.
pub struct Session {
    runner: Local,
    bar: Bar,
    phase: Arc<AtomicU8>,
}

impl Session {
    /// Starts the threads and listens to Ctrl-C.
    pub fn begin(threads: usize) -> Result<Self> {
        let cancel = CancelToken::default();
        let phase = Arc::new(AtomicU8::new(RUNNING));
        let (asked, current) = (cancel.clone(), Arc::clone(&phase));
        ctrlc::set_handler(move || {
            let phase = current.load(Ordering::SeqCst);
            if phase == OPENING || (phase == RUNNING && asked.is_cancelled()) {
                std::process::exit(outcome::interrupted().into());
            }
            asked.cancel();
        })
        .map_err(|e| Error::io("Ctrl-C", std::io::Error::other(e)))?;
        let bar = Bar::new();
        let runner = Local::new(threads)?.with_cancel_token(cancel).with_progress(bar.observer());
        Ok(Self { runner, bar, phase })
    }

    /// Opens data; a table is read once from end to end, and an array that does not fit into memory is streamed.
    pub fn open(&self, path: &Path, options: &TableOptions) -> Result<Data> {
        self.open_beyond(path, options, None)?.widened(self.runner.threads(), u64::MAX)
    }

    /// Opens data for a fit: streamed when they are larger than the fit's memory, through what the fit leaves of it.
    pub fn open_for(&self, path: &Path, options: &TableOptions, config: &Config) -> Result<Data> {
        let data = self.open_beyond(path, options, config.memory_limit)?;
        let threads = self.runner.threads();
        let left = match config.memory_limit {
            Some(limit) if matches!(data, Data::Streamed(_)) => {
                limit.saturating_sub(any::plan(config, &data, threads)?.peak_memory_bytes)
            }
            _ => u64::MAX,
        };
        data.widened(threads, left)
    }

    fn open_beyond(&self, path: &Path, options: &TableOptions, memory: Option<u64>) -> Result<Data> {
        self.phase.store(OPENING, Ordering::SeqCst);
        let data = steradian_io::open(path, options).and_then(|data| data.stream_if_larger_than(memory));
        self.phase.store(RUNNING, Ordering::SeqCst);
        data
    }

    /// Opens a clip; all but arrays are decoded, into a temporary file that is gone with the process.
    pub fn open_clip(&self, path: &Path, options: &ClipOptions) -> Result<Clip> {
        self.phase.store(OPENING, Ordering::SeqCst);
        let clip = Clip::open(path, options);
        self.phase.store(RUNNING, Ordering::SeqCst);
        clip
    }

    /// From now on a file is in the making.
    pub fn begin_writing(&self) {
        self.phase.store(WRITING, Ordering::SeqCst);
    }

    /// What runs the passes.
    pub fn runner(&self) -> &Local {
        &self.runner
    }

    /// Keeps the passes to come in a journal.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.runner = self.runner.with_journal(journal);
        self
    }

    /// Prints beside the bar.
    pub fn aside(&self) -> impl Fn(&dyn Fn()) + Send + Sync + 'static {
        self.bar.aside()
    }

    /// Before files get their names: refuses when Ctrl-C came meanwhile.
    pub fn may_write(&self) -> Result<()> {
        self.begin_writing();
        self.runner.check_cancelled()
    }

    /// Ends the passes, before a file gets its name; refuses when Ctrl-C came meanwhile.
    pub fn finish(self) -> Result<()> {
        self.may_write()?;
        drop(self.bar);
        Ok(())
    }
}

/// A warning where a fit takes more than its limit because of its threads: what is allowed and which solver runs do not
/// depend on them.
pub fn memory_note(config: &Config, source: &dyn Source, threads: usize) -> Result<Option<String>> {
    let Some(limit) = config.memory_limit else { return Ok(None) };
    let peak = any::plan(config, source, threads)?.peak_memory_bytes;
    Ok((peak > limit).then(|| {
        format!(
            "the fit takes about {} on {threads} threads, more than the {} of --memory; use fewer threads, or allow more",
            steradian::format_bytes(peak),
            steradian::format_bytes(limit)
        )
    }))
}

/// What the user should know of data as they were read.
pub fn notes(data: &Data) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = data.dropped_rows().first() {
        let dropped = data.dropped_rows().len();
        notes.push(format!("{dropped} rows with missing values were left out; the first is row {first}"));
    }
    // R writes row names so; as a feature they would say something about the order of the rows.
    if data.feature_names().and_then(<[String]>::first).is_some_and(String::is_empty) {
        notes.push("the first column has no name and is read as numbers; say --row-names if it holds names".into());
    }
    notes
}
