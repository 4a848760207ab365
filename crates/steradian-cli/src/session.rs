//! The session of a command: its runner and progress bar, the phases of an interruption, and how it opens data.

use std::path::Path;
use std::sync::Arc;

use steradian::engine::{CancelToken, Journal, Runner};
use steradian::{Config, Local, Plan, Result};
use steradian_baselines::any;
use steradian_io::{Clip, ClipLimits, ClipOptions, Data, MissingRule, TableOptions};

use crate::args::SelectionArgs;
use crate::interrupt::{self, Phase};
use crate::progress::Bar;

/// The runner of a command, with progress and interruption.
pub struct Session {
    runner: Local,
    bar: Bar,
}

impl Session {
    /// Starts the threads. From now on, a signal cancels the passes.
    pub fn begin(threads: usize) -> Result<Self> {
        let cancel = CancelToken::default();
        interrupt::set_token(cancel.clone());
        interrupt::enter(Phase::Running);
        let bar = Bar::new();
        let runner = Local::new(threads)?.with_cancel_token(cancel).with_progress(bar.observer());
        Ok(Self { runner, bar })
    }

    /// Opens data; a table is read once, and an array that does not fit into memory is streamed.
    pub fn open(&self, path: &Path, options: &TableOptions, limits: &ClipLimits) -> Result<Data> {
        let data = self.open_beyond(path, options, limits, None)?.widened(self.runner.threads(), u64::MAX)?;
        Ok(if options.missing == MissingRule::Error { data.rejecting_missing_cells() } else { data })
    }

    /// Opens data for a fit, without the rows and cells that take no part: an array larger than the memory limit is streamed,
    /// with buffers in the memory that the fit does not need.
    pub fn open_for(
        &self,
        path: &Path,
        options: &TableOptions,
        selection: &SelectionArgs,
        limits: &ClipLimits,
        config: &Config,
    ) -> Result<(Data, Plan)> {
        let data = self.open_selected(path, options, selection, limits, config.memory_limit())?;
        let threads = self.runner.threads();
        let left = match config.memory_limit() {
            // Buffers for reading ahead take what the fit leaves of the limit.
            Some(limit) if data.streamed().is_some() => {
                limit.saturating_sub(any::plan(config, &data, threads)?.peak_memory_bytes)
            }
            _ => u64::MAX,
        };
        let data = data.widened(threads, left)?;
        let plan = any::plan(config, &data, threads)?;
        Ok((data, plan))
    }

    /// Opens data, marks cells as missing, drops rows with missing cells if requested, then leaves out excluded rows.
    fn open_selected(
        &self,
        path: &Path,
        options: &TableOptions,
        selection: &SelectionArgs,
        limits: &ClipLimits,
        memory: Option<u64>,
    ) -> Result<Data> {
        let data = match &selection.missing_mask {
            None => self.open_beyond(path, options, limits, memory)?,
            Some(mask) => {
                // The mask has all rows of the data, and rows are dropped by the mask, too.
                let drops = options.missing == MissingRule::Drop;
                let missing = if drops { MissingRule::Use } else { options.missing };
                let all = TableOptions { missing, ..options.clone() };
                let data = self.open_beyond(path, &all, limits, memory)?.with_missing_mask(mask)?;
                if drops { interrupt::while_opening(|| data.without_incomplete_rows())? } else { data }
            }
        };
        selection.exclude.iter().try_fold(data, |data, list| data.without_rows(list))
    }

    fn open_beyond(
        &self,
        path: &Path,
        options: &TableOptions,
        limits: &ClipLimits,
        memory: Option<u64>,
    ) -> Result<Data> {
        interrupt::while_opening(|| {
            steradian_io::open_within(path, options, limits).and_then(|data| data.stream_if_larger_than(memory))
        })
    }

    /// Opens a clip; every format except arrays is decoded to a temporary file that is removed with the process.
    pub fn open_clip(&self, path: &Path, options: &ClipOptions) -> Result<Clip> {
        interrupt::while_opening(|| Clip::open(path, options))
    }

    /// Starts the phase in which outputs are written.
    pub fn begin_writing(&self) {
        interrupt::enter(Phase::Writing);
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

/// A warning if the fit uses fewer threads than the command has, so that its memory stays within the limit.
pub fn memory_note(plan: &Plan, threads: usize) -> Option<String> {
    let limit = plan.request.config().memory_limit()?;
    (plan.threads < threads).then(|| {
        format!(
            "the fit uses {} of {threads} threads, to stay within --memory {}",
            plan.threads,
            steradian::error::format_bytes(limit)
        )
    })
}

/// Warnings about the data: dropped rows, a first column without a name, a first row that may be a header.
pub fn notes(data: &Data) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = data.dropped_rows().first() {
        let dropped = data.dropped_rows().len();
        notes.push(format!("{dropped} rows with missing cells were dropped; the first is row {first}"));
    }
    if let Some([first, last]) = data.number_header() {
        notes.push(format!(
            "the first row is read as a sample, but its cells go steadily from {first} to {last}, unlike most other rows; pass \
             --header yes if it holds the names of the columns, such as wavelengths, or --header no"
        ));
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
