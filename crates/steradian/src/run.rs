//! The runner: it alone owns threads, progress and cancelling; folds and sources know nothing of them.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::block::Block;
use crate::error::{Error, Result};
use crate::pass::{Fold, Forest, Grid, PairFold, SharedForest};
use crate::source::Source;

/// Tells running work to stop; clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the work to stop at the next block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether stopping was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Where a pass stands.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// What the pass does.
    pub name: &'static str,
    /// The how-manieth pass of this runner, from 1.
    pub pass: usize,
    /// Bytes of samples read in this pass.
    pub bytes: u64,
    /// Bytes this pass will read.
    pub total_bytes: u64,
    /// Where an iteration stands that works in memory, between passes.
    pub iteration: Option<Iteration>,
}

/// One step of an iteration in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// The how-manieth step, from 1.
    pub step: usize,
    /// What is to become small: the change, or the relative residual.
    pub residual: f64,
    /// The rank of the low-rank part, where there is one.
    pub rank: Option<usize>,
}

type Observer = Box<dyn Fn(Progress) + Send + Sync>;

/// Runs passes: local threads are one runner, a cluster's driver another.
pub trait Runner: Sync {
    /// One pass over all samples.
    fn run<F: Fold>(&self, fold: &F, source: &dyn Source) -> Result<F::Out>;

    /// One pass over all pairs of tiles of `tile_rows` rows.
    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out>;

    /// Dense work outside any pass, on this runner's threads.
    fn compute<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R;

    /// Whether the owner asked to stop; long dense work looks here between steps.
    fn check_cancelled(&self) -> Result<()>;

    /// Passes made so far.
    fn passes(&self) -> usize;

    /// How many threads share the work.
    fn threads(&self) -> usize;
}

/// Threads of this process.
pub struct Local {
    pool: rayon::ThreadPool,
    cancel: CancelToken,
    observer: Option<Observer>,
    passes: AtomicUsize,
}

impl Local {
    /// A runner of this many threads; 0 takes one per core.
    pub fn new(threads: usize) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("steradian-{i}"))
            .build()
            .map_err(|e| Error::asked(format!("cannot start {threads} threads: {e}; ask for fewer")))?;
        Ok(Self { pool, cancel: CancelToken::default(), observer: None, passes: AtomicUsize::new(0) })
    }

    /// Stops when this token is cancelled.
    pub fn cancelled_by(mut self, token: CancelToken) -> Self {
        self.cancel = token;
        self
    }

    /// Calls `observer` after each block, from any thread.
    pub fn observed_by(mut self, observer: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    fn begin(&self, name: &'static str, total_bytes: u64) -> PassProgress<'_> {
        let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
        PassProgress { runner: self, name, pass, total_bytes, bytes: AtomicU64::new(0) }
    }

    /// Sums some cells of a grid: the part of a pass that one machine does. [`Forest::join`] brings parts together.
    pub fn run_cells<F: Fold>(
        &self,
        fold: &F,
        source: &dyn Source,
        grid: Grid,
        cells: Range<usize>,
    ) -> Result<Forest<F::Sum>> {
        let row_bytes = (source.shape().features * source.shape().element.bytes()) as u64;
        let rows: usize = cells.clone().map(|cell| grid.cell(cell).len()).sum();
        let progress = self.begin(fold.name(), rows as u64 * row_bytes);
        let forest = SharedForest::new(grid);
        let sum_cell = |cell: usize| -> Result<()> {
            let mut sum = fold.empty();
            for rows in grid.blocks(cell) {
                self.cancel.check()?;
                let bytes = rows.len() as u64 * row_bytes;
                source.visit(rows, &mut |block| fold.add(&mut sum, &block))?;
                progress.add(bytes);
            }
            forest.insert(cell, sum, fold);
            Ok(())
        };
        let lanes = if grid.large_sums() { 1 } else { self.threads() };
        source.announce(&cells.clone().map(|cell| grid.cell(cell)).collect::<Vec<_>>(), lanes);
        self.in_order(cells, lanes, sum_cell)?;
        Ok(forest.into_inner())
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
    fn in_order(&self, items: Range<usize>, lanes: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
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
            for _ in 1..lanes.min(items.len()) {
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
        let row_bytes = (shape.features * shape.element.bytes()) as u64;
        let progress = self.begin(name, shape.bytes());
        source.announce(std::slice::from_ref(&(0..shape.samples)), 1);
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
        let grid = Grid::new(shape.samples, shape.features, fold.sum_bytes());
        let forest = self.run_cells(fold, source, grid, 0..grid.cells())?;
        // Trees that are left are merged on this runner's threads, too.
        fold.finish(self.compute(|| forest.total(fold))?)
    }

    fn run_pairs<F: PairFold>(&self, fold: &F, source: &dyn Source, tile_rows: usize) -> Result<F::Out> {
        let shape = source.shape();
        let tiles = shape.samples.div_ceil(tile_rows);
        let rows = |tile: usize| tile * tile_rows..((tile + 1) * tile_rows).min(shape.samples);
        let row_bytes = (shape.features * shape.element.bytes()) as u64;
        let progress = self.begin(fold.name(), pair_bytes(shape.samples, tile_rows, row_bytes));
        // Tiles come again and again; what is near is kept anyway.
        source.announce(&[], 0);
        let out = Mutex::new(fold.empty());
        // Items number the full square row by row, so that lanes walk along a left tile; the lower half is empty.
        self.in_order(0..tiles * tiles, self.threads(), |item| {
            if item % tiles < item / tiles {
                return Ok(());
            }
            self.cancel.check()?;
            let (left, right) = (rows(item / tiles), rows(item % tiles));
            source.visit(left.clone(), &mut |a| {
                source.visit(right.clone(), &mut |b| {
                    let tile = fold.meet(&a, &b)?;
                    let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    fold.place(&mut out, left.clone(), right.clone(), tile);
                    Ok(())
                })
            })?;
            progress.add((left.len() + right.len()) as u64 * row_bytes);
            Ok(())
        })?;
        Ok(out.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
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

/// Bytes that a pair pass reads: two tiles for each pair.
pub(crate) fn pair_bytes(samples: usize, tile_rows: usize, row_bytes: u64) -> u64 {
    let tiles = samples.div_ceil(tile_rows) as u64;
    samples as u64 * row_bytes * (tiles + 1)
}
