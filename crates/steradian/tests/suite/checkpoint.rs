//! Fits that are interrupted at any point and resumed from the journal: byte-identical models, and no pass is repeated.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{TestRandom, message_of, solvers, source};
use proptest::prelude::*;
use steradian::config::{Angle, Cone, Missing, PivotSearch, Scaling, Screen, Ties};
use steradian::data::{Block, Shape};
use steradian::engine::{CancelToken, Journal, Payload};
use steradian::{
    Center, ComponentCount, Config, Error, Local, Matrix, Method, Model, Result, SliceSource, Solver, Source,
};

/// The content of a journal that survives a process.
#[derive(Debug, Clone, Default)]
struct Disk {
    totals: Vec<Vec<u8>>,
    part: Option<(usize, Vec<u8>)>,
}

/// A journal in memory whose process is killed after `writes_left` writes: later writes do not reach the disk.
struct MemoryJournal {
    disk: Mutex<Disk>,
    /// The disk before each write, if it is recorded.
    history: Option<Mutex<Vec<Disk>>>,
    writes_left: AtomicUsize,
    writes: AtomicUsize,
    every: Duration,
}

impl MemoryJournal {
    fn new(disk: Disk, writes_left: usize) -> Self {
        let (writes_left, writes) = (AtomicUsize::new(writes_left), AtomicUsize::new(0));
        Self { disk: Mutex::new(disk), history: None, writes_left, writes, every: Duration::ZERO }
    }

    fn disk(&self) -> Disk {
        self.disk.lock().unwrap().clone()
    }

    fn write(&self, content: &Payload<'_>, put: impl FnOnce(&mut Disk, Vec<u8>)) -> Result<()> {
        let mut disk = self.disk.lock().unwrap();
        if self.writes_left.load(Ordering::SeqCst) == 0 {
            return Err(Error::Cancelled);
        }
        if let Some(history) = &self.history {
            history.lock().unwrap().push(disk.clone());
        }
        self.writes_left.fetch_sub(1, Ordering::SeqCst);
        self.writes.fetch_add(1, Ordering::SeqCst);
        let mut bytes = Vec::new();
        content.write_to(&mut bytes).unwrap();
        put(&mut disk, bytes);
        Ok(())
    }
}

impl Journal for MemoryJournal {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        Ok(self.disk.lock().unwrap().totals.get(pass - 1).cloned())
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        let disk = self.disk.lock().unwrap();
        Ok(disk.part.as_ref().filter(|(of, _)| *of == pass).map(|(_, bytes)| bytes.clone()))
    }

    fn record_total(&self, pass: usize, content: &Payload<'_>) -> Result<()> {
        self.write(content, |disk, bytes| {
            assert_eq!(disk.totals.len(), pass - 1, "totals are recorded in order, each once");
            disk.totals.push(bytes);
        })
    }

    fn record_snapshot(&self, pass: usize, content: &Payload<'_>) -> Result<()> {
        self.write(content, |disk, bytes| disk.part = Some((pass, bytes)))
    }

    fn every(&self) -> Duration {
        self.every
    }
}

/// A source that counts the rows it reads.
struct CountedSource<'a>(&'a dyn Source, AtomicUsize);

impl Source for CountedSource<'_> {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.1.fetch_add(rows.len(), Ordering::Relaxed);
        self.0.visit(rows, visit)
    }
}

fn fit_in(journal: &Arc<MemoryJournal>, config: &Config, source: &dyn Source, threads: usize) -> Result<Model> {
    let journal: Arc<dyn Journal> = Arc::clone(journal) as _;
    steradian::fit(config, source, &Local::new(threads)?.with_journal(journal))
}

fn uninterrupted(config: &Config, source: &dyn Source) -> Vec<u8> {
    steradian::fit(config, source, &Local::new(2).unwrap()).unwrap().to_bytes().unwrap()
}

/// Kills a fit after `writes` writes and resumes it on another number of threads. True if it was killed before it
/// finished.
fn killed_and_resumed(config: &Config, source: &dyn Source, writes: usize, expected: &[u8]) -> bool {
    let first = Arc::new(MemoryJournal::new(Disk::default(), writes));
    let killed = fit_in(&first, config, source, 1 + writes % 3);
    if let Ok(model) = killed {
        assert!(model.to_bytes().unwrap() == expected, "{config:?}, never killed");
        return false;
    }
    let second = Arc::new(MemoryJournal::new(first.disk(), usize::MAX));
    let model = fit_in(&second, config, source, 1 + (writes + 1) % 3).unwrap();
    assert!(model.to_bytes().unwrap() == expected, "{config:?}, killed after {writes} writes");
    true
}

/// Every method with every solver, and the options that change the passes of a fit.
fn configs() -> Vec<Config> {
    let mut configs = Vec::new();
    for solver in [Solver::Scatter, Solver::Gram, Solver::Krylov] {
        for method in [Method::Ae, Method::Tae, Method::Angular, Method::Pca] {
            configs.push(Config::new(method, 2).with_solver(solver));
        }
    }
    let cone = Cone { max_angle: Angle::Auto, ties: Ties::Density, recenter: true, ..Cone::default() };
    configs.push(Config::new(Method::Tae, 2).with_screen(Screen::Cone(cone)));
    configs.extend([Method::Robust, Method::Cells, Method::Rows].map(|method| Config::new(method, 2)));
    configs.push(Config::new(Method::Robust, 2).with_scaling(Scaling::Mad));
    configs.push(Config::new(Method::Ae, 1).with_center(Center::Median));
    configs.push(Config::new(Method::Ae, ComponentCount::VarianceFraction(0.7)));
    configs
}

#[test]
fn a_fit_killed_after_any_write_has_the_same_bytes() {
    let x = TestRandom::new(5).samples(300, 4, 3); // two leaves, the last of 44 rows
    for config in configs() {
        let expected = uninterrupted(&config, &source(&x));
        let whole =
            MemoryJournal { history: Some(Mutex::default()), ..MemoryJournal::new(Disk::default(), usize::MAX) };
        let whole = Arc::new(whole);
        assert!(fit_in(&whole, &config, &source(&x), 1).unwrap().to_bytes().unwrap() == expected, "{config:?}");
        let disks = whole.history.as_ref().unwrap().lock().unwrap();
        assert!(disks.len() > 5, "{config:?}: {} writes", disks.len());
        for (writes, disk) in disks.iter().enumerate() {
            let model =
                fit_in(&Arc::new(MemoryJournal::new(disk.clone(), usize::MAX)), &config, &source(&x), 1).unwrap();
            assert!(model.to_bytes().unwrap() == expected, "{config:?}, killed after {writes} writes");
        }
    }
}

#[test]
fn long_fits_killed_after_some_writes_have_the_same_bytes() {
    let x = TestRandom::new(6).samples(300, 5, 2);
    let cells = Config::new(Method::Cells, 2);
    let auto = Config::new(Method::Robust, ComponentCount::Auto);
    for config in [cells, auto] {
        let expected = uninterrupted(&config, &source(&x));
        let mut writes = 1;
        while killed_and_resumed(&config, &source(&x), writes, &expected) {
            writes += writes / 4 + 1;
        }
        // Few passes: the search is in memory.
        assert!(writes > 4, "{config:?}: {writes} writes");
    }
}

/// Rows beyond those of the search: passes over all rows, with missing cells.
#[test]
fn robust_fits_of_many_rows_killed_after_any_write_have_the_same_bytes() {
    let mut x = TestRandom::new(13).samples(1700, 5, 2);
    x.data_mut().iter_mut().step_by(17).for_each(|x| *x = f64::NAN);
    for method in [Method::Robust, Method::Cells, Method::Rows] {
        let config = Config::new(method, 2);
        let expected = uninterrupted(&config, &source(&x));
        let mut writes = 0;
        while killed_and_resumed(&config, &source(&x), writes, &expected) {
            writes += writes / 4 + 1;
        }
        assert!(writes > 10, "{config:?}: {writes} writes");
    }
}

/// The units of the data are found in the first pass, which the journal has.
#[test]
fn a_fit_of_tiny_numbers_resumes_in_their_units() {
    let mut x = TestRandom::new(7).samples(300, 4, 2);
    x.data_mut().iter_mut().for_each(|v| *v *= 2f64.powi(-400));
    for method in [Method::Pca, Method::Robust] {
        let config = Config::new(method, 2).with_solver(*solvers(method).last().unwrap());
        let expected = uninterrupted(&config, &source(&x));
        let mut writes = 1;
        while killed_and_resumed(&config, &source(&x), writes, &expected) {
            writes += writes / 4 + 1;
        }
        assert!(writes > 4, "{config:?}: {writes} writes");
    }
}

#[test]
fn a_fit_killed_after_every_single_write_finishes() {
    let x = TestRandom::new(7).samples(600, 5, 2);
    for config in [Config::new(Method::Angular, 2), Config::new(Method::Tae, 2).with_solver(Solver::Krylov)] {
        let expected = uninterrupted(&config, &source(&x));
        let (mut disk, mut starts) = (Disk::default(), 0);
        let model = loop {
            let journal = Arc::new(MemoryJournal::new(disk, 1));
            let end = fit_in(&journal, &config, &source(&x), 1);
            disk = journal.disk();
            starts += 1;
            assert!(starts < 1000, "no progress at pass {}", disk.totals.len());
            if let Ok(model) = end {
                break model;
            }
        };
        assert!(model.to_bytes().unwrap() == expected, "{config:?}");
        assert!(starts > 10, "{config:?}: {starts} starts");
    }
}

/// Accumulators of several blocks per leaf, small and large ones, and a pair pass of several tiles.
#[test]
fn passes_resume_within_leaves_and_between_tiles() {
    let tall = TestRandom::new(8).samples(17_000, 3, 2); // leaves of two blocks
    let wide = TestRandom::new(9).samples(1_100, 400, 3); // accumulators of 1.3 MB: two leaves of up to 4 blocks
    let pairs = TestRandom::new(10).samples(1_300, 7, 3); // three tiles of 512 rows
    let exact = Screen::Cone(Cone { pivot_search: PivotSearch::Exact, ..Cone::default() });
    for (x, config) in [
        (&tall, Config::new(Method::Ae, 1).with_solver(Solver::Scatter)),
        (&wide, Config::new(Method::Ae, 2).with_solver(Solver::Scatter)),
        (&pairs, Config::new(Method::Tae, 2).with_solver(Solver::Krylov).with_screen(exact)),
    ] {
        let expected = uninterrupted(&config, &source(x));
        let whole = CountedSource(&source(x), AtomicUsize::new(0));
        let journal = Arc::new(MemoryJournal::new(Disk::default(), usize::MAX));
        fit_in(&journal, &config, &whole, 1).unwrap();
        let (writes, rows) = (journal.writes.load(Ordering::SeqCst), whole.1.load(Ordering::SeqCst));
        for killed in (0..writes).step_by(1 + writes / 40) {
            // Several threads may record fewer snapshots, and so finish before they are killed.
            killed_and_resumed(&config, &source(x), killed, &expected);
            // On one thread, only the block or the pair of tiles whose snapshot was not yet recorded is read twice.
            let counted = CountedSource(&source(x), AtomicUsize::new(0));
            let first = Arc::new(MemoryJournal::new(Disk::default(), killed));
            fit_in(&first, &config, &counted, 1).unwrap_err();
            fit_in(&Arc::new(MemoryJournal::new(first.disk(), usize::MAX)), &config, &counted, 1).unwrap();
            let twice = counted.1.load(Ordering::SeqCst) - rows;
            assert!(twice <= 1024, "{config:?}: {twice} rows read twice when killed after {killed} of {writes} writes");
        }
    }
}

#[test]
fn a_cancelled_fit_saves_the_accumulators_of_all_threads() {
    let x = TestRandom::new(11).samples(40_000, 4, 2); // 40 leaves of four blocks
    let config = Config::new(Method::Ae, 2).with_solver(Solver::Scatter);
    let expected = uninterrupted(&config, &source(&x));
    for threads in [1, 3] {
        let token = CancelToken::default();
        let (stop, blocks) = (token.clone(), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&blocks);
        let every = Duration::from_secs(3600);
        let recorded = Arc::new(MemoryJournal { every, ..MemoryJournal::new(Disk::default(), usize::MAX) });
        let journal: Arc<dyn Journal> = Arc::clone(&recorded) as _;
        let runner =
            Local::new(threads).unwrap().with_cancel_token(token).with_journal(journal).with_progress(move |_| {
                if counter.fetch_add(1, Ordering::SeqCst) + 1 == 90 {
                    stop.cancel();
                }
            });
        assert!(matches!(steradian::fit(&config, &source(&x), &runner), Err(Error::Cancelled)));
        // No snapshot was due for an hour, and still no block is read again: the 89 blocks before the cancellation are
        // saved.
        let read = CountedSource(&source(&x), AtomicUsize::new(0));
        let disk = recorded.disk();
        assert_eq!(disk.totals.len(), 0);
        let resumed = Arc::new(MemoryJournal::new(disk, usize::MAX));
        let model = fit_in(&resumed, &config, &read, 2).unwrap();
        assert!(model.to_bytes().unwrap() == expected);
        let whole = CountedSource(&source(&x), AtomicUsize::new(0));
        fit_in(&Arc::new(MemoryJournal::new(Disk::default(), usize::MAX)), &config, &whole, 2).unwrap();
        let saved = whole.1.load(Ordering::SeqCst) - read.1.load(Ordering::SeqCst);
        assert!(saved >= 89 * 256, "{threads} threads: {saved} rows");
    }
}

#[test]
fn a_journal_of_another_fit_is_rejected() {
    let x = TestRandom::new(12).samples(300, 5, 2);
    let journal_of = |config: &Config, x: &Matrix| {
        let journal = Arc::new(MemoryJournal::new(Disk::default(), usize::MAX));
        fit_in(&journal, config, &source(x), 1).unwrap();
        journal.disk()
    };
    let rejected = |disk: Disk, config: &Config, x: &Matrix, hint: &str| {
        let journal = Arc::new(MemoryJournal::new(disk, usize::MAX));
        let message = message_of(&fit_in(&journal, config, &source(x), 1).unwrap_err());
        assert!(message.contains(hint) && message.contains("checkpoint"), "{message}");
    };
    let config = |method| Config::new(method, 2).with_solver(Solver::Krylov).with_missing(Missing::Error);
    let disk = journal_of(&config(Method::Ae), &x);
    rejected(disk.clone(), &config(Method::Pca), &x, "checkpoint pass 2 (\"operator\"");
    rejected(disk.clone(), &config(Method::Angular), &x, ", expected \"");
    let shorter = TestRandom::new(12).samples(299, 5, 2);
    rejected(disk.clone(), &config(Method::Ae), &shorter, "300 x 5 float64, expected");
    // Bytes that are not a journal, and a truncated total.
    for bytes in [vec![], vec![255; 40], disk.totals[0][..disk.totals[0].len() - 1].to_vec()] {
        let disk = Disk { totals: vec![bytes.clone()], part: None };
        rejected(disk, &config(Method::Ae), &x, "");
        rejected(Disk { totals: Vec::new(), part: Some((1, bytes)) }, &config(Method::Ae), &x, "");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_shape_killed_anywhere_has_the_same_bytes(
        n in 30usize..1500,
        features in 2usize..9,
        which in 0usize..19,
        bytes in any::<bool>(),
        fraction in 0.0f64..1.0,
    ) {
        let x = TestRandom::new(n as u64).samples(n, features, 2);
        let integers: Vec<u8> = x.data().iter().map(|v| (v * 6.0 + 128.0).clamp(0.0, 255.0) as u8).collect();
        let as_bytes = SliceSource::new(&integers, n, features).unwrap();
        let as_f64 = source(&x);
        let data: &dyn Source = if bytes { &as_bytes } else { &as_f64 };
        let config = &configs()[which];
        let journal = Arc::new(MemoryJournal::new(Disk::default(), usize::MAX));
        let expected = uninterrupted(config, data);
        let recorded = fit_in(&journal, config, data, 3).unwrap();
        prop_assert!(recorded.to_bytes().unwrap() == expected);
        let writes = journal.writes.load(Ordering::SeqCst);
        killed_and_resumed(config, data, (fraction * writes as f64) as usize, &expected);
    }
}
