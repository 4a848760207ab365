//! A short run of all targets, and the state of the corpus.

use std::path::Path;
use std::time::Duration;

use steradian_fuzz::driver::{FuzzRun, corpus, run};
use steradian_fuzz::{TARGETS, TargetVerdict, Workplace};

/// Time of the mutations of all targets.
const SECONDS: u64 = 9;

#[test]
fn the_corpus_is_small_and_every_seed_is_accepted() {
    let place = Workplace::new().unwrap();
    let mut total = 0;
    for target in &TARGETS {
        let inputs = corpus(target.name);
        assert!(!inputs.is_empty(), "{}: no corpus", target.name);
        for (name, bytes) in &inputs {
            assert!(bytes.len() < 4096, "{}/{name}: {} bytes", target.name, bytes.len());
            total += bytes.len();
        }
        for (name, bytes) in (target.seeds)() {
            let stored = inputs.iter().find(|(other, _)| *other == name);
            assert!(stored.is_some(), "{}/{name} is missing; run the driver with --write-corpus", target.name);
            assert_eq!((target.run)(&place, &bytes), TargetVerdict::Accepted, "{}/{name}", target.name);
            assert_eq!(place.clear(), 0, "{}/{name} leaves files", target.name);
        }
    }
    assert!(total < 200 << 10, "{total} bytes");
}

#[test]
fn a_short_run_finds_no_failure() {
    let failures = tempfile::tempdir().unwrap();
    let plan = FuzzRun {
        time: Duration::from_secs(SECONDS),
        workers: 1,
        seed: 20_261_118,
        only: None,
        failures: failures.path().join("failures"),
    };
    let report = run(&plan, Path::new(env!("CARGO_BIN_EXE_steradian-fuzz"))).unwrap();
    let table = report.table();
    assert_eq!(report.failures(), 0, "\n{table}");
    assert!(report.least_tried() >= 50, "\n{table}");
}
