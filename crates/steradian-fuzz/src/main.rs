//! The driver of the fuzz targets: `steradian-fuzz --seconds 600 [--target NAME] [--workers N] [--seed N]`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use steradian_fuzz::driver::{FuzzRun, run, write_corpus};
use steradian_fuzz::worker::{WorkerPlan, work};
use steradian_fuzz::{TARGETS, Workplace};

#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

const USAGE: &str = "usage: steradian-fuzz [--seconds N] [--target NAME] [--workers N] [--seed N] [--failures FOLDER]
       steradian-fuzz --write-corpus
       steradian-fuzz --replay TARGET FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["--worker", seed, time, only, replay, state, failures] => {
            start_worker(seed, time, only, replay, state, failures)
        }
        ["--write-corpus"] => write_corpus().map(|()| true).map_err(|e| e.to_string()),
        ["--replay", target, file] => replay(target, file),
        _ => start_driver(&words),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not an integer"))
}

fn start_worker(seed: &str, time: &str, only: &str, replay: &str, state: &str, failures: &str) -> Result<bool, String> {
    let plan = WorkerPlan {
        seed: number(seed)?,
        time: Duration::from_millis(number(time)?),
        only: (only != "all").then(|| only.to_owned()),
        state: state.into(),
        failures: failures.into(),
        replay: replay == "replay",
    };
    work(&plan).map(|()| true).map_err(|e| e.to_string())
}

/// Runs one input in this process, so that the message of a panic is seen.
fn replay(target: &str, file: &str) -> Result<bool, String> {
    let target = TARGETS.iter().find(|own| own.name == target).ok_or_else(|| format!("no target {target:?}"))?;
    let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let place = Workplace::new().map_err(|e| e.to_string())?;
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let verdict = (target.run)(&place, &bytes);
    let memory = HEAP.peak_usage().saturating_sub(before).saturating_sub(bytes.len());
    println!("{verdict:?}, {memory} bytes above the input, {} strays", place.clear());
    Ok(true)
}

fn start_driver(words: &[&str]) -> Result<bool, String> {
    let mut plan = FuzzRun {
        time: Duration::from_secs(60),
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        seed: 1,
        only: None,
        failures: PathBuf::from("fuzz/failures"),
    };
    for pair in words.chunks(2) {
        match *pair {
            ["--seconds", value] => plan.time = Duration::from_secs(number(value)?),
            ["--workers", value] => plan.workers = number(value)?.clamp(1, 256) as usize,
            ["--seed", value] => plan.seed = number(value)?,
            ["--failures", value] => plan.failures = value.into(),
            ["--target", value] if TARGETS.iter().any(|target| target.name == value) => plan.only = Some(value.into()),
            _ => return Err(format!("unknown arguments {pair:?}")),
        }
    }
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let report = run(&plan, &program).map_err(|e| e.to_string())?;
    print!("{}", report.table());
    println!("{} inputs, {} failures", report.tried(), report.failures());
    if report.failures() > 0 {
        println!("failing inputs: {}; one of them by itself: --replay TARGET FILE", plan.failures.display());
    }
    Ok(report.failures() == 0)
}
