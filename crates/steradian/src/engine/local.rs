//! The runner on threads of this process: thread pool, grid and merge tree, progress, cancelling and checkpoints.

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

/// Threads of this process.
pub struct Local {
    pool: rayon::ThreadPool,
    cancel: CancelToken,
    observer: Option<Observer>,
    journal: Option<Arc<dyn Journal>>,
    passes: AtomicUsize,
}

impl Local {
    /// A runner of this many threads; 0 takes one per core.
    pub fn new(threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("steradian-{i}"))
            .build()
            .map_err(|e| Error::invalid_argument(format!("cannot start {threads} threads: {e}; ask for fewer")))?;
        Ok(Self { pool, cancel: CancelToken::default(), observer: None, journal: None, passes: AtomicUsize::new(0) })
    }

    /// Stops when this token is cancelled.
    pub fn with_cancel_token(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Calls `observer` after each block, from any thread.
    pub fn with_progress(mut self, observer: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Keeps passes in a journal, and takes from it those that are there: they count as passes and read nothing. A journal
    /// is that of one fit, the first work of this runner. Passes that hand out blocks in order are not kept.
    pub fn with_journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The place of a pass in the journal, where there is one.
    fn keeping(&self, pass: usize, label: impl FnOnce() -> PassId) -> Option<PassRecorder<'_>> {
        Some(PassRecorder::new(&**self.journal.as_ref()?, pass, label()))
    }

    fn begin(&self, name: &'static str, total_bytes: u64) -> PassProgress<'_> {
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        PassProgress { runner: self, name, pass, total_bytes, bytes: AtomicU64::new(0) }
    }

    /// Sums some cells of a grid: the part of a pass that one machine does. [`Forest::join`] brings parts together.
    pub fn run_leaves<F: Fold>(
        &self,
        fold: &F,
        source: &dyn Source,
        grid: Grid,
        leaves: Range<usize>,
    ) -> Result<Forest<F::Accumulator>> {
        let rows: usize = leaves.clone().map(|leaf| grid.leaf(leaf).len()).sum();
        let progress = self.begin(F::NAME, rows as u64 * row_bytes(source.shape()));
        self.sum_leaves_of(fold, source, PassState::new(grid), (grid, leaves), &progress, None)
    }

    /// Sums what is left of some cells; keeps the pass on the way if that is wanted, and when it is stopped.
    fn sum_leaves_of<F: Fold>(
        &self,
        fold: &F,
        source: &dyn Source,
        underway: PassState<F::Accumulator>,
        (grid, leaves): (Grid, Range<usize>),
        progress: &PassProgress<'_>,
        keeping: Option<&PassRecorder<'_>>,
    ) -> Result<Forest<F::Accumulator>> {
        let (left, row_bytes) = (underway.left(leaves), row_bytes(source.shape()));
        let left_bytes = left.iter().map(|(_, rows)| rows.len() as u64).sum::<u64>() * row_bytes;
        progress.skip(progress.total_bytes - left_bytes);
        let n_threads = if grid.large_accumulators() { 1 } else { self.threads() };
        let sum_cell = |item: usize| -> Result<()> {
            let leaf = left[item].0;
            let (done, mut sum) = underway.begin(leaf, fold);
            let mut noted = Instant::now();
            for (block, rows) in grid.blocks(leaf).enumerate().skip(done) {
                if let Err(stop) = self.cancel.check() {
                    underway.note(PartialLeaf { leaf, blocks: block, sum });
                    return Err(stop);
                }
                let bytes = rows.len() as u64 * row_bytes;
                source.visit(rows, &mut |block| fold.add(&mut sum, &block))?;
                progress.add(bytes);
                if let Some(keeping) = keeping {
                    let own = PartialLeaf { leaf, blocks: block + 1, sum: &sum };
                    keeping.after_block(&underway, own, &mut noted, n_threads == 1)?;
                }
            }
            underway.insert(leaf, sum, fold);
            Ok(())
        };
        source.advise_access(&left.iter().map(|(_, rows)| rows.clone()).collect::<Vec<_>>(), n_threads);
        let summed = self.in_order(0..left.len(), n_threads, sum_cell);
        if let (Err(_), Some(keeping)) = (&summed, keeping) {
            // Why the pass stopped matters more than whether that could be kept.
            let _ = underway.show(None, |pass| keeping.record_snapshot(pass));
        }
        summed.map(|()| underway.into_forest())
    }

    /// Says where an iteration in memory stands, which is no pass; refuses to go on when stopping was asked for.
    pub fn iterated(&self, name: &'static str, iteration: Iteration) -> Result<()> {
        if let Some(observer) = &self.observer {
            let pass = self.passes();
            observer(Progress { name, pass, bytes: 0, total_bytes: 0, iteration: Some(iteration) });
        }
        self.cancel.check()
    }

    /// Works through `items` in order on some lanes; the error of the earliest item wins, whoever meets it first.
    fn in_order(&self, items: Range<usize>, n_threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let next = AtomicUsize::new(items.start);
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let failed = AtomicBool::new(false);
        let lane = || {
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
                scope.spawn(|_| lane());
            }
            lane();
        });
        match failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Hands blocks of `rows` to `work` one after the other, on this runner's threads: for outputs in data order.
    pub fn for_each_block(
        &self,
        name: &'static str,
        source: &dyn Source,
        block_rows: usize,
        mut work: impl FnMut(&Block<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let shape = source.shape();
        let row_bytes = row_bytes(shape);
        let progress = self.begin(name, shape.bytes());
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

struct PassProgress<'a> {
    runner: &'a Local,
    name: &'static str,
    pass: usize,
    total_bytes: u64,
    bytes: AtomicU64,
}

impl PassProgress<'_> {
    /// Leaves out what is there already.
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
        let progress = self.begin(F::NAME, shape.bytes());
        let keeping = self.keeping(progress.pass, || PassId::of_pass(fold, shape, grid));
        if let Some(total) = keeping.as_ref().map_or(Ok(None), PassRecorder::total)? {
            return fold.finish(total);
        }
        let underway = match keeping.as_ref().map_or(Ok(None), PassRecorder::part)? {
            Some(kept) => PassState::resume(kept, grid)?,
            None => PassState::new(grid),
        };
        let leaves = (grid, 0..grid.leaves());
        let forest = self.sum_leaves_of(fold, source, underway, leaves, &progress, keeping.as_ref())?;
        // Trees that are left are merged on this runner's threads, too.
        let total = self.compute(|| forest.total(fold))?;
        if let Some(keeping) = &keeping {
            keeping.record_total(&total)?;
        }
        fold.finish(total)
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out> {
        let shape = source.shape();
        let tiles = shape.samples.div_ceil(tile_rows);
        let rows = |tile: usize| tile * tile_rows..((tile + 1) * tile_rows).min(shape.samples);
        let row_bytes = row_bytes(shape);
        let progress = self.begin(fold.name(), pair_bytes(shape.samples, tile_rows, row_bytes));
        let keeping = self.keeping(progress.pass, || PassId::of_pairs(fold, shape, tile_rows));
        if let Some(total) = keeping.as_ref().map_or(Ok(None), PassRecorder::total)? {
            return Ok(total);
        }
        let met = match keeping.as_ref().map_or(Ok(None), PassRecorder::part)? {
            Some(kept) => PairPassState::resume(kept, tiles)?,
            None => PairPassState::new(fold.empty(), tiles),
        };
        // Tiles come again and again; what is near is kept anyway.
        source.advise_access(&[], 0);
        let before = met.pairs().clone();
        progress.skip(2 * (before.count() * tile_rows) as u64 * row_bytes);
        let met = Mutex::new(met);
        let lock = || met.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Items number the full square row by row, so that lanes walk along a left tile; the lower half is empty.
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
            if let Some(keeping) = &keeping
                && let Some(turn) = keeping.turn()
            {
                keeping.record_snapshot(&*lock())?;
                turn.done();
            }
            Ok(())
        });
        if let (Err(_), Some(keeping)) = (&done, &keeping) {
            // As above.
            let _ = keeping.record_snapshot(&*lock());
        }
        done?;
        let out = met.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_out();
        if let Some(keeping) = &keeping {
            keeping.record_total(&out)?;
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

/// Bytes of one sample.
fn row_bytes(shape: &Shape) -> u64 {
    (shape.features * shape.element.bytes()) as u64
}

/// Bytes that a pair pass reads: two tiles for each pair.
pub(crate) fn pair_bytes(samples: usize, tile_rows: usize, row_bytes: u64) -> u64 {
    let tiles = samples.div_ceil(tile_rows) as u64;
    samples as u64 * row_bytes * (tiles + 1)
}
