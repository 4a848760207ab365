//! Failing system calls and signals in every command: the old output or the new one, a documented exit code, no other file.
//!
//! The shared library of `steradian-faults` makes one call of the program fail, or ends the program there: the n-th write, rename,
//! allocation and so on, for all n that a run has. `STERADIAN_FAULTS=10000` makes a campaign of that many runs and prints
//! a table (with `-- --nocapture`); without it a few hundred are drawn. `STERADIAN_FAULTS_SEED` draws others,
//! `STERADIAN_FAULTS_ONLY` selects commands and faults by a part of their names, separated by `/`, and
//! `STERADIAN_FAULTS_PROGRAM` is another build of the program.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod bench;
mod fault;
mod scenario;
mod tree;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bench::Bench;
use fault::{FAULTS, Fault, KINDS, Moment};
use scenario::{SCENARIOS, Scenario, has_ffmpeg};

/// Runs of the short form.
const SHORT: usize = 250;
/// Largest number of failures of one fault that are printed.
const PRINTED: usize = 5;

/// A generator of random integers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            list.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Number of runs, of faults that happened and of failures.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    tried: usize,
    fired: usize,
    failures: usize,
    /// Every call of the kind has failed once.
    complete: bool,
}

/// Counts by command and fault, and the failures.
#[derive(Default)]
struct Table {
    counts: BTreeMap<(usize, usize), Count>,
    /// Failures by fault.
    failures: BTreeMap<usize, Vec<String>>,
}

/// A fault with the calls that it is still to be tried at.
struct Series {
    index: usize,
    fault: &'static Fault,
    calls: Vec<u64>,
}

/// Tries faults in one command, `runs` times.
fn try_faults(scenario: &'static Scenario, faults: &[usize], runs: usize, seed: u64, table: &Mutex<Table>) {
    let bench = Bench::new(scenario);
    let position = SCENARIOS.iter().position(|other| other.name == scenario.name).unwrap();
    let mut random = Random(seed ^ ((position as u64) << 32));
    let mut series: Vec<Series> = Vec::new();
    for &index in faults {
        let fault = &FAULTS[index];
        let mut calls: Vec<u64> = match fault.moment {
            Moment::Call(kind) => {
                let count = bench.counts[KINDS.iter().position(|name| *name == kind).unwrap()];
                // One more than there are: the command then succeeds. A kind of call that the command never makes is not tried.
                if count == 0 { Vec::new() } else { (1..=count + 1).collect() }
            }
            Moment::Time | Moment::FileSize => vec![0],
        };
        random.shuffle(&mut calls);
        if !calls.is_empty() {
            series.push(Series { index, fault, calls });
        }
    }
    random.shuffle(&mut series);
    let (mut done, mut at) = (0, 0);
    while done < runs && !series.is_empty() {
        at %= series.len();
        let Series { index, fault, calls } = &mut series[at];
        let call = match fault.moment {
            Moment::Call(_) => calls.pop(),
            // Up to a tenth longer than the command takes.
            Moment::Time => Some(1 + random.below(bench.time.as_micros() as u64 * 11 / 10)),
            Moment::FileSize => {
                let bits = random.below(20);
                Some(random.below(1 << bits))
            }
        };
        let Some(call) = call else {
            table.lock().unwrap().counts.entry((position, *index)).or_default().complete = true;
            series.remove(at);
            continue;
        };
        let from_empty = random.below(2) == 0;
        let result = bench.trial(fault, call, from_empty, random.below(8) == 0);
        let mut table = table.lock().unwrap();
        let count = table.counts.entry((position, *index)).or_default();
        count.tried += 1;
        count.fired += usize::from(result.fired);
        count.failures += usize::from(!result.problems.is_empty());
        if let Some(problem) = result.problems.first() {
            let start = if from_empty { "an empty folder" } else { "former outputs" };
            let failure = format!("{}, {} at {call}, {start}: {problem}", scenario.name, fault.name);
            table.failures.entry(*index).or_default().push(failure);
        }
        (done, at) = (done + 1, at + 1);
    }
}

/// Runs all commands, with several threads.
fn campaign(runs: usize, short: bool) -> Table {
    let only = std::env::var("STERADIAN_FAULTS_ONLY").unwrap_or_default();
    let (only_command, only_fault) = only.split_once('/').unwrap_or((&only, ""));
    let seed = std::env::var("STERADIAN_FAULTS_SEED").map_or(16, |seed| seed.parse().unwrap());
    let weight = |scenario: &Scenario| if short { scenario.short_weight } else { scenario.weight };
    let mut chosen: Vec<_> = SCENARIOS.iter().filter(|s| weight(s) > 0 && s.name.contains(only_command)).collect();
    if !has_ffmpeg() {
        println!("skipped: commands on videos require ffmpeg");
        chosen.retain(|scenario| !scenario.needs_ffmpeg());
    }
    let faults: Vec<usize> = (0..FAULTS.len()).filter(|&i| FAULTS[i].name.contains(only_fault)).collect();
    let total: usize = chosen.iter().map(|scenario| weight(scenario)).sum();
    let (table, next) = (Mutex::new(Table::default()), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(scenario) = chosen.get(next.fetch_add(1, Ordering::SeqCst)) {
                    try_faults(scenario, &faults, (runs * weight(scenario)).div_ceil(total), seed, &table);
                }
            });
        }
    });
    table.into_inner().unwrap()
}

/// The table as text: a line per command with the runs of each fault, then totals.
fn text(table: &Table) -> String {
    let mut text = String::new();
    let mut total = Count::default();
    for (fault, kind) in FAULTS.iter().enumerate() {
        text += &format!("F{fault:02} {}\n", kind.name);
    }
    text += "\nruns per fault; a star if every call of its kind was tried, failures after a slash\n";
    for (command, scenario) in SCENARIOS.iter().enumerate() {
        let counts: Vec<_> = table.counts.range((command, 0)..(command + 1, 0)).collect();
        if counts.is_empty() {
            continue;
        }
        let cells = counts.iter().map(|((_, fault), count)| {
            let complete = if count.complete { "*" } else { "" };
            let failures = if count.failures > 0 { format!("/{}", count.failures) } else { String::new() };
            format!("F{fault:02}:{}{complete}{failures}", count.tried)
        });
        text += &format!("{:26} {}\n", scenario.name, cells.collect::<Vec<_>>().join(" "));
        for (_, count) in counts {
            total.tried += count.tried;
            total.fired += count.fired;
            total.failures += count.failures;
        }
    }
    text += "\nfault                               runs  happened  failures\n";
    for (fault, kind) in FAULTS.iter().enumerate() {
        let counts = || table.counts.iter().filter(|((_, at), _)| *at == fault).map(|(_, count)| count);
        let [tried, fired, failures] = [
            counts().map(|c| c.tried).sum::<usize>(),
            counts().map(|c| c.fired).sum(),
            counts().map(|c| c.failures).sum(),
        ];
        text += &format!("{:34} {tried:5} {fired:9} {failures:9}\n", kind.name);
    }
    text + &format!("{:34} {:5} {:9} {:9}\n", "all", total.tried, total.fired, total.failures)
}

#[test]
fn every_command_keeps_the_old_output_or_writes_the_new_one() {
    let runs =
        std::env::var("STERADIAN_FAULTS").ok().map(|runs| runs.parse().expect("STERADIAN_FAULTS is a number of runs"));
    let table = campaign(runs.unwrap_or(SHORT), runs.is_none());
    println!("{}", text(&table));
    for failure in table.failures.values().flat_map(|failures| failures.iter().take(PRINTED)) {
        println!("{failure}\n");
    }
    let failures: usize = table.failures.values().map(Vec::len).sum();
    assert_eq!(failures, 0, "failures");
    let fired: usize = table.counts.values().map(|count| count.fired).sum();
    assert!(fired > 0, "no fault happened");
}
