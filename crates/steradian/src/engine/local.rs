//! The runner on threads of this process: thread pool, grid and merge tree, progress, cancellation and checkpoints.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::fold::{Fold, PairFold};
use super::forest::Forest;
use super::grid::Grid;
use super::journal::Journal;
use super::pair_pass_state::PairPassState;
use super::pass_id::PassId;
use super::pass_recorder::PassRecorder;
use super::pass_state::{PartialLeaf, PassState};
use super::progress::{CancelToken, Iteration, Observer, Progress};
use super::runner::Runner;
use crate::data::block::Block;
use crate::data::source::{Shape, Source};
use crate::error::{Error, Result};

/// Largest number of threads of a runner.
pub const MAX_THREADS: usize = 4096;

/// The runner on threads of this process. Clones share its threads, its token and its count of passes.
#[derive(Clone)]
pub struct Local {
    pool: Arc<rayon::ThreadPool>,
    cancel: CancelToken,
    observer: Option<Observer>,
    journal: Option<Arc<dyn Journal>>,
    passes: Arc<AtomicUsize>,
}

impl Local {
    /// A runner with this many threads; 0 means one per core.
    ///
    /// # Errors
    /// For more than `MAX_THREADS` (4096) threads, and if the system cannot start them.
    pub fn new(threads: usize) -> Result<Self> {
        Ok(Self {
            pool: start_threads(threads)?,
            cancel: CancelToken::default(),
            observer: None,
            journal: None,
            passes: Arc::default(),
        })
    }

    /// This runner on at most `threads` threads: on its own ones if it has no more, else on new ones. Results do not
    /// depend on their number; the memory of a pass does.
    ///
    /// # Errors
    /// If the system cannot start the threads.
    pub fn narrowed(&self, threads: usize) -> Result<Self> {
        let pool = if threads < self.threads() { start_threads(threads.max(1))? } else { Arc::clone(&self.pool) };
        Ok(Self { pool, ..self.clone() })
    }

    /// Sets the token that cancels the work of this runner.
    pub fn with_cancel_token(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Sets a function that is called after each block, on any thread.
    pub fn with_progress(mut self, observer: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Sets the journal that saves passes. A pass with a stored total returns it without reading data, and counts as a
    /// pass. A journal belongs to one fit, which must be the first work of this runner. [`Local::for_each_block`] is
    /// not saved.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The recorder of a pass, if there is a journal.
    fn recorder(&self, pass: usize, id: impl FnOnce() -> PassId) -> Option<PassRecorder<'_>> {
        Some(PassRecorder::new(&**self.journal.as_ref()?, pass, id()))
    }

    fn start(&self, name: &'static str, total_bytes: u64) -> PassProgress<'_> {
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        PassProgress { runner: self, name, pass, total_bytes, bytes: AtomicU64::new(0) }
    }

    /// Fills the accumulators of some leaves of a grid: the part of a pass that one machine runs. [`Forest::join`]
    /// joins the parts.
    ///
    /// # Errors
    /// Those of the fold and of the source, and [`Error::Cancelled`].
    pub fn run_leaves<F: Fold>(
        &self,
        fold: &F,
        source: &dyn Source,
        grid: Grid,
        leaves: Range<usize>,
    ) -> Result<Forest<F::Accumulator>> {
        let rows: usize = leaves.clone().map(|leaf| grid.leaf(leaf).len()).sum();
        let progress = self.start(F::NAME, rows as u64 * row_bytes(source.shape()));
        self.fill_leaves(fold, source, PassState::new(grid), (grid, leaves), &progress, None)
    }

    /// Fills the remaining accumulators of some leaves. With a recorder it saves snapshots, also after an error.
    fn fill_leaves<F: Fold>(
        &self,
        fold: &F,
        source: &dyn Source,
        state: PassState<F::Accumulator>,
        (grid, leaves): (Grid, Range<usize>),
        progress: &PassProgress<'_>,
        recorder: Option<&PassRecorder<'_>>,
    ) -> Result<Forest<F::Accumulator>> {
        let (remaining, row_bytes) = (state.remaining(leaves), row_bytes(source.shape()));
        let remaining_bytes = remaining.iter().map(|(_, rows)| rows.len() as u64).sum::<u64>() * row_bytes;
        progress.skip(progress.total_bytes - remaining_bytes);
        let n_threads = if grid.large_accumulators() { 1 } else { self.threads() };
        let fill_leaf = |item: usize| -> Result<()> {
            let leaf = remaining[item].0;
            let (done, mut accumulator) = state.start_leaf(leaf, fold);
            let mut stored_at = Instant::now();
            for (block, rows) in grid.blocks(leaf).enumerate().skip(done) {
                if let Err(canceled) = self.cancel.check() {
                    state.store(PartialLeaf { leaf, blocks: block, accumulator });
                    return Err(canceled);
                }
                let bytes = rows.len() as u64 * row_bytes;
                source.visit(rows, &mut |block| fold.add(&mut accumulator, &block))?;
                progress.add(bytes);
                if let Some(recorder) = recorder {
                    let own = PartialLeaf { leaf, blocks: block + 1, accumulator: &accumulator };
                    recorder.after_block(&state, own, &mut stored_at, n_threads == 1)?;
                }
            }
            state.insert(leaf, accumulator, fold);
            Ok(())
        };
        source.advise_access(&remaining.iter().map(|(_, rows)| rows.clone()).collect::<Vec<_>>(), n_threads);
        let outcome = self.in_order(0..remaining.len(), n_threads, fill_leaf);
        if let (Err(_), Some(recorder)) = (&outcome, recorder) {
            // The error of the pass is reported; one of this snapshot would hide it.
            let _ = state.snapshot(None, |snapshot| recorder.record_snapshot(snapshot));
        }
        outcome.map(|()| state.into_forest())
    }

    /// Reports one step of an iteration in memory, outside any pass; an error if the work was canceled.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn iterated(&self, name: &'static str, iteration: Iteration) -> Result<()> {
        if let Some(observer) = &self.observer {
            let pass = self.passes();
            observer(Progress { name, pass, bytes: 0, total_bytes: 0, iteration: Some(iteration) });
        }
        self.cancel.check()
    }

    /// Starts `items` in order on `n_threads` threads; if several fail, returns the error of the earliest item.
    fn in_order(&self, items: Range<usize>, n_threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let next = AtomicUsize::new(items.start);
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let failed = AtomicBool::new(false);
        let worker = || {
            while !failed.load(Ordering::Relaxed) {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= items.end {
                    return;
                }
                if let Err(error) = work(item) {
                    failed.store(true, Ordering::Relaxed);
                    let mut first = failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(at, _)| item < *at) {
                        *first = Some((item, error));
                    }
                }
            }
        };
        self.pool.scope(|scope| {
            for _ in 1..n_threads.min(items.len()) {
                scope.spawn(|_| worker());
            }
            worker();
        });
        match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Calls `work` with blocks of `block_rows` rows in order, within this runner's thread pool: for output in data
    /// order.
    ///
    /// # Errors
    /// Those of `work` and of the source, and [`Error::Cancelled`].
    pub fn for_each_block(
        &self,
        name: &'static str,
        source: &dyn Source,
        block_rows: usize,
        mut work: impl FnMut(&Block<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let shape = source.shape();
        let row_bytes = row_bytes(shape);
        let progress = self.start(name, shape.bytes());
        source.advise_access(std::slice::from_ref(&(0..shape.samples)), 1);
        self.pool.install(|| {
            for start in (0..shape.samples).step_by(block_rows.max(1)) {
                self.cancel.check()?;
                let rows = start..(start + block_rows).min(shape.samples);
                let bytes = rows.len() as u64 * row_bytes;
                source.visit(rows, &mut |block| work(&block))?;
                progress.add(bytes);
            }
            Ok(())
        })
    }
}

/// A pool of this many threads; 0 means one per core.
fn start_threads(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    if threads > MAX_THREADS {
        let problem = format!("threads = {threads} exceeds {MAX_THREADS}; use 0 for one thread per core");
        return Err(Error::invalid_parameter("threads", problem));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("steradian-{i}")).build();
    pool.map(Arc::new).map_err(|failure| {
        let count = if threads == 0 { "one thread per core".to_owned() } else { format!("{threads} threads") };
        let problem = format!("the system cannot start {count} ({failure}); use fewer");
        Error::io("threads", std::io::Error::new(std::io::ErrorKind::WouldBlock, problem))
    })
}

/// The progress of one pass.
struct PassProgress<'a> {
    runner: &'a Local,
    name: &'static str,
    pass: usize,
    total_bytes: u64,
    bytes: AtomicU64,
}

impl PassProgress<'_> {
    /// Counts bytes that need not be read, without a report.
    fn skip(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn add(&self, bytes: u64) {
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Some(observer) = &self.runner.observer {
            let (name, pass, total_bytes) = (self.name, self.pass, self.total_bytes);
            observer(Progress { name, pass, bytes, total_bytes, iteration: None });
        }
    }
}

impl Runner for Local {
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out> {
        let shape = source.shape();
        let grid = Grid::new(shape.samples, shape.features, fold.accumulator_bytes());
        let progress = self.start(F::NAME, shape.bytes());
        let recorder = self.recorder(progress.pass, || PassId::of_pass(fold, shape, grid));
        if let Some(total) = recorder.as_ref().map_or(Ok(None), PassRecorder::total)? {
            fold.check_accumulator(&total, &(0..shape.samples)).map_err(|_| corrupt_total())?;
            return self.compute(|| fold.finish(total));
        }
        let state = match recorder.as_ref().map_or(Ok(None), PassRecorder::snapshot)? {
            Some(snapshot) => PassState::resume(snapshot, grid, fold)?,
            None => PassState::new(grid),
        };
        let leaves = (grid, 0..grid.leaves());
        let forest = self.fill_leaves(fold, source, state, leaves, &progress, recorder.as_ref())?;
        // The remaining trees are merged on this runner's threads.
        let total = self.compute(|| forest.total(fold))?;
        if let Some(recorder) = &recorder {
            recorder.record_total(&total)?;
        }
        self.compute(|| fold.finish(total))
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out> {
        let shape = source.shape();
        let tiles = shape.samples.div_ceil(tile_rows);
        let rows = |tile: usize| tile * tile_rows..((tile + 1) * tile_rows).min(shape.samples);
        let row_bytes = row_bytes(shape);
        let progress = self.start(fold.name(), pair_bytes(shape.samples, tile_rows, row_bytes));
        let recorder = self.recorder(progress.pass, || PassId::of_pairs(fold, shape, tile_rows));
        if let Some(total) = recorder.as_ref().map_or(Ok(None), PassRecorder::total)? {
            fold.check_out(&total).map_err(|_| corrupt_total())?;
            return Ok(total);
        }
        let state = match recorder.as_ref().map_or(Ok(None), PassRecorder::snapshot)? {
            Some(snapshot) => {
                let state: PairPassState<F::Out> = PairPassState::resume(snapshot, tiles)?;
                fold.check_out(state.out()).map_err(|_| corrupt_total())?;
                state
            }
            None => PairPassState::new(self.compute(|| fold.empty()), tiles),
        };
        // Tiles are read repeatedly, so the source gets no hint of sequential access.
        source.advise_access(&[], 0);
        let before = state.pairs().clone();
        progress.skip(2 * (before.count() * tile_rows) as u64 * row_bytes);
        let state = Mutex::new(state);
        let lock = || state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Items are the entries of the full square row by row, so that threads share a left tile; the lower half is
        // empty.
        let done = self.in_order(0..tiles * tiles, self.threads(), |item| {
            if item % tiles < item / tiles || before.contains(item) {
                return Ok(());
            }
            self.cancel.check()?;
            let (left, right) = (rows(item / tiles), rows(item % tiles));
            source.visit(left.clone(), &mut |a| {
                source.visit(right.clone(), &mut |b| {
                    let tile = fold.compute_tile(&a, &b)?;
                    lock().place(item, |out| fold.place(out, left.clone(), right.clone(), tile));
                    Ok(())
                })
            })?;
            progress.add((left.len() + right.len()) as u64 * row_bytes);
            if let Some(recorder) = &recorder
                && let Some(permit) = recorder.permit()
            {
                recorder.record_snapshot(&*lock())?;
                permit.done();
            }
            Ok(())
        });
        if let (Err(_), Some(recorder)) = (&done, &recorder) {
            // The error of the pass is reported; one of this snapshot would hide it.
            let _ = recorder.record_snapshot(&*lock());
        }
        done?;
        let out = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_out();
        if let Some(recorder) = &recorder {
            recorder.record_total(&out)?;
        }
        Ok(out)
    }

    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }

    fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

/// The error for a stored result whose size is not that of its pass.
fn corrupt_total() -> Error {
    Error::invalid_data("checkpoint does not match this pass (results of another size); delete it and start again")
}

/// Bytes per sample.
fn row_bytes(shape: &Shape) -> u64 {
    (shape.features * shape.element.bytes()) as u64
}

/// Bytes that a pair pass reads: two tiles per pair.
pub(crate) fn pair_bytes(samples: usize, tile_rows: usize, row_bytes: u64) -> u64 {
    let tiles = samples.div_ceil(tile_rows) as u64;
    samples as u64 * row_bytes * (tiles + 1)
}
