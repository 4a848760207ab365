//! The driver: starts workers in processes of their own, detects those that end or stop, and prints a table.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::state::{TargetCounts, WorkerState, now};
use crate::targets::TARGETS;

/// The longest time of one input, in milliseconds.
const HANG: u64 = 20_000;
/// Virtual memory of a worker in KiB: an input that needs more ends the worker and not the system.
const VIRTUAL_KIB: u64 = 6 << 20;

/// A run of all targets.
#[derive(Debug, Clone)]
pub struct FuzzRun {
    /// Time of the mutations.
    pub time: Duration,
    /// Number of workers.
    pub workers: usize,
    /// Seed of the first worker.
    pub seed: u64,
    /// The target; all if `None`.
    pub only: Option<String>,
    /// The folder for inputs that fail.
    pub failures: PathBuf,
}

/// Counts by target, and how the workers ended that did not end by themselves.
#[derive(Debug, Clone)]
pub struct FuzzReport {
    counts: Vec<TargetCounts>,
    deaths: Vec<String>,
}

impl FuzzReport {
    /// The number of inputs of all targets.
    pub fn tried(&self) -> u64 {
        self.counts.iter().map(|counts| counts.tried).sum()
    }

    /// The number of failures of all targets.
    pub fn failures(&self) -> u64 {
        self.counts.iter().map(TargetCounts::failures).sum()
    }

    /// The smallest number of inputs of a target.
    pub fn least_tried(&self) -> u64 {
        self.counts.iter().map(|counts| counts.tried).min().unwrap_or(0)
    }

    /// The table of `make fuzz`.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "target      tried    accepted    rejected  panics  hangs over 20 s  worst MB above input  over 256 MB  strays\n",
        );
        let mut line = |name: &str, counts: &TargetCounts| {
            let TargetCounts { tried, accepted, rejected, panics, hangs, memory, over_memory, strays } = counts;
            let megabytes = *memory as f64 / 1e6;
            let _ = writeln!(
                text,
                "{name:<10} {tried:>8} {accepted:>11} {rejected:>11} {panics:>7} {hangs:>16} {megabytes:>21.1} {over_memory:>12} {strays:>7}"
            );
        };
        let mut total = TargetCounts::default();
        for (target, counts) in TARGETS.iter().zip(&self.counts) {
            line(target.name, counts);
            total.add(counts);
        }
        line("all", &total);
        self.deaths.iter().for_each(|death| text.push_str(&format!("{death}\n")));
        text
    }
}

/// The folder of the corpus.
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a target in the corpus, by name.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(corpus_folder().join(target)).into_iter().flatten().flatten();
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, std::fs::read(entry.path()).ok()?)))
        .collect();
    inputs.sort();
    inputs
}

/// Writes the seeds of all targets to the corpus.
///
/// # Errors
/// If a file cannot be written.
pub fn write_corpus() -> io::Result<()> {
    for target in TARGETS {
        let folder = corpus_folder().join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in (target.seeds)() {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

/// Saves an input that failed, under the name of its target, the failure and its checksum.
///
/// # Errors
/// If the file cannot be written.
pub fn save_failure(folder: &Path, target: &str, kind: &str, input: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(format!("{target}-{kind}-{:08x}", crc32fast::hash(input))), input)
}

/// A worker process.
struct Running {
    child: Child,
    state: PathBuf,
    seed: u64,
}

/// Runs all workers until the time is over. `program` is the program that runs a worker for the arguments of
/// `worker_arguments`.
///
/// # Errors
/// If a worker cannot be started.
pub fn run(run: &FuzzRun, program: &Path) -> io::Result<FuzzReport> {
    let folder = tempfile::tempdir()?;
    let end = Instant::now() + run.time;
    let start = |seed: u64, replay: bool| -> io::Result<Running> {
        let state = folder.path().join(format!("state-{seed}"));
        let left = end.saturating_duration_since(Instant::now());
        let temporary = folder.path().join(format!("temporary-{seed}"));
        std::fs::create_dir_all(&temporary)?;
        let child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {VIRTUAL_KIB}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(program)
            .args(worker_arguments(seed, left, run.only.as_deref(), replay))
            .arg(&state)
            .arg(&run.failures)
            .env("TMPDIR", temporary)
            .spawn()?;
        Ok(Running { child, state, seed })
    };
    let mut workers: Vec<Running> =
        (0..run.workers as u64).map(|worker| start(run.seed + worker, worker == 0)).collect::<io::Result<_>>()?;
    let mut report = FuzzReport { counts: vec![TargetCounts::default(); TARGETS.len()], deaths: Vec::new() };
    let mut next_seed = run.seed + 1000;
    while !workers.is_empty() {
        std::thread::sleep(Duration::from_millis(50));
        let mut i = 0;
        while i < workers.len() {
            let status = workers[i].child.try_wait()?;
            let state = WorkerState::read(&workers[i].state);
            let stopped =
                state.as_ref().is_some_and(|(state, _)| state.case > 0 && now().saturating_sub(state.started) > HANG);
            if status.is_none() && !stopped {
                i += 1;
                continue;
            }
            let mut worker = workers.swap_remove(i);
            if status.is_none() {
                worker.child.kill()?;
                worker.child.wait()?;
            }
            let left_behind =
                std::fs::read_dir(folder.path().join(format!("temporary-{}", worker.seed)))?.count() as u64;
            let regular = status.is_some_and(|status| status.success());
            report.end(state, status, left_behind * u64::from(regular), &run.failures)?;
            if !regular && Instant::now() < end {
                next_seed += 1;
                workers.push(start(next_seed, false)?);
            }
        }
    }
    Ok(report)
}

/// The arguments of a worker; the file of its state and the folder for failures follow.
fn worker_arguments(seed: u64, time: Duration, only: Option<&str>, replay: bool) -> Vec<String> {
    let number = |x: u128| x.to_string();
    let replay = if replay { "replay" } else { "mutate" };
    vec!["--worker".into(), seed.to_string(), number(time.as_millis()), only.unwrap_or("all").into(), replay.into()]
}

impl FuzzReport {
    /// Adds the counts of a worker that ended, and the failure that ended it.
    fn end(
        &mut self,
        state: Option<(WorkerState, Vec<u8>)>,
        status: Option<ExitStatus>,
        left_behind: u64,
        failures: &Path,
    ) -> io::Result<()> {
        let Some((mut state, input)) = state else {
            self.deaths.push(format!("a worker ended before its first input: {status:?}"));
            self.counts[0].panics += 1;
            return Ok(());
        };
        let target = state.target.min(TARGETS.len() - 1);
        state.counts[target].strays += left_behind;
        let kind = match status {
            Some(status) if status.success() => None,
            Some(_) => Some("signal"),
            None => Some("hang"),
        };
        if let Some(kind) = kind {
            let counts = &mut state.counts[target];
            *(if kind == "hang" { &mut counts.hangs } else { &mut counts.panics }) += 1;
            self.deaths
                .push(format!("{} input {} ended its worker: {kind}, {status:?}", TARGETS[target].name, state.case));
            save_failure(failures, TARGETS[target].name, kind, &input)?;
        }
        self.counts.iter_mut().zip(&state.counts).for_each(|(sum, counts)| sum.add(counts));
        Ok(())
    }
}
