//! Checkpoints on disk: truncated or corrupt content is removed or rejected, never used.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steradian::engine::Journal;
use steradian::fit::{FileStamp, FitIdentity};
use steradian::{Config, Error, Local, Method, Model, Plan, Result, SliceSource, Solver};
use steradian_io::{Checkpoint, file_stamp};

use crate::common::Folder;

const SAMPLES: usize = 600; // three leaves
const FEATURES: usize = 3;

fn numbers() -> Vec<f64> {
    let value =
        |i: usize| (i % 13) as f64 * 0.5 + ((i * i) % 101) as f64 / 7.0 + (i % FEATURES) as f64 * (i / 50) as f64;
    (0..SAMPLES * FEATURES).map(value).collect()
}

fn config() -> Config {
    Config::new(Method::Ae, 1).with_solver(Solver::Krylov)
}

fn identity(config: &Config) -> FitIdentity {
    let data = numbers();
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    FitIdentity::new(
        &Plan::for_source(config, &source, 1).unwrap(),
        &source,
        Some(&FileStamp { bytes: 99, ..FileStamp::default() }),
    )
    .unwrap()
}

fn open(path: &Path, every: Duration) -> Result<Checkpoint> {
    Checkpoint::open(path, &identity(&config()), every, |warning| panic!("{warning}"))
}

fn fit_in(journal: Option<Arc<Checkpoint>>) -> Result<Model> {
    let data = numbers();
    let mut runner = Local::new(1)?;
    if let Some(journal) = journal {
        runner = runner.with_journal(journal);
    }
    steradian::fit(&config(), &SliceSource::new(&data, SAMPLES, FEATURES)?, &runner)
}

/// A journal that cancels the fit at the first snapshot after this number of passes.
struct CancelingJournal(Checkpoint, usize);

impl Journal for CancelingJournal {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.total(pass)
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.part(pass)
    }

    fn record_total(&self, pass: usize, content: &steradian::engine::Payload<'_>) -> Result<()> {
        self.0.record_total(pass, content)
    }

    fn record_snapshot(&self, pass: usize, content: &steradian::engine::Payload<'_>) -> Result<()> {
        self.0.record_snapshot(pass, content)?;
        if self.0.passes() == self.1 { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn every(&self) -> Duration {
        Duration::ZERO
    }
}

fn snapshot_path(path: &Path) -> PathBuf {
    path.with_extension("checkpoint.pass")
}

/// A checkpoint of a fit that was canceled during its fourth pass.
fn canceled_fit() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let data = numbers();
    let journal = CancelingJournal(open(&path, Duration::ZERO).unwrap(), 3);
    let runner = Local::new(1).unwrap().with_journal(Arc::new(journal));
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    assert!(matches!(steradian::fit(&config(), &source, &runner), Err(Error::Cancelled)));
    assert!(snapshot_path(&path).exists());
    (folder, path)
}

#[test]
fn a_canceled_fit_resumes_and_its_files_can_be_removed() {
    let (folder, path) = canceled_fit();
    let journal = Arc::new(open(&path, Duration::ZERO).unwrap());
    assert_eq!((journal.passes(), journal.has_part()), (3, true));
    let model = fit_in(Some(Arc::clone(&journal))).unwrap();
    assert!(model.to_bytes().unwrap() == fit_in(None).unwrap().to_bytes().unwrap());
    assert_eq!((journal.passes(), journal.has_part()), (model.report.passes, false));
    journal.remove().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_truncated_journal_loses_only_its_tail() {
    let (_folder, path) = canceled_fit();
    let (whole, expected) = (std::fs::read(&path).unwrap(), fit_in(None).unwrap().to_bytes().unwrap());
    let full = open(&path, Duration::ZERO).unwrap();
    let totals: Vec<Vec<u8>> = (1..=3).map(|pass| full.total(pass).unwrap().unwrap()).collect();
    drop(full);
    let sizes: Vec<usize> = totals.iter().map(|total| total.len() + 12).collect();
    let head = whole.len() - sizes.iter().sum::<usize>();
    let ends: Vec<usize> = (0..=3).map(|count| head + sizes[..count].iter().sum::<usize>()).collect();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let journal = open(&path, Duration::from_secs(9));
        if (1..head).contains(&length) {
            let message = journal.unwrap_err().to_string();
            assert!(message.contains("fit.checkpoint") && message.contains("start again"), "{length}: {message}");
            assert_eq!(std::fs::read(&path).unwrap().len(), length, "a rejected file is not changed");
            continue;
        }
        let journal = Arc::new(journal.unwrap());
        let passes = ends[1..].iter().filter(|end| **end <= length).count();
        assert_eq!(journal.passes(), passes, "{length}");
        for pass in 1..=4 {
            assert_eq!(journal.total(pass).unwrap().as_ref(), totals[..passes].get(pass - 1), "{length}");
        }
        // A complete fit is slow: only for lengths at the ends of totals, and one between.
        if ends.iter().any(|end| length.abs_diff(*end) <= 1) || length == head + 40 || length == 0 {
            assert!(fit_in(Some(journal)).unwrap().to_bytes().unwrap() == expected, "{length}");
        }
    }
}

#[test]
fn every_corrupt_byte_is_detected() {
    // Every fifth byte, which takes seconds instead of half a minute.
    let (_folder, path) = canceled_fit();
    let whole = std::fs::read(&path).unwrap();
    let full = open(&path, Duration::ZERO).unwrap();
    let totals: Vec<Vec<u8>> = (1..=3).map(|pass| full.total(pass).unwrap().unwrap()).collect();
    let part = full.part(4).unwrap().unwrap();
    drop(full);
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        if let Ok(journal) = open(&path, Duration::ZERO) {
            assert!(journal.passes() < 3, "byte {at}");
            for (pass, total) in totals[..journal.passes()].iter().enumerate() {
                assert!(journal.total(pass + 1).unwrap().as_ref() == Some(total), "byte {at}");
            }
        }
    }
    std::fs::write(&path, &whole).unwrap();
    let whole = std::fs::read(snapshot_path(&path)).unwrap();
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(snapshot_path(&path), damaged).unwrap();
        assert!(!open(&path, Duration::ZERO).unwrap().has_part(), "byte {at}");
        std::fs::write(snapshot_path(&path), &whole[..at]).unwrap();
        assert!(!open(&path, Duration::ZERO).unwrap().has_part(), "truncated at {at}");
    }
    std::fs::write(snapshot_path(&path), &whole).unwrap();
    assert_eq!(open(&path, Duration::ZERO).unwrap().part(4).unwrap(), Some(part));
}

#[test]
fn a_snapshot_of_another_fit_is_ignored() {
    let (_folder, path) = canceled_fit();
    std::fs::remove_file(&path).unwrap();
    let other = config().with_seed(5);
    let journal = Checkpoint::open(&path, &identity(&other), Duration::ZERO, |_| {}).unwrap();
    assert!(snapshot_path(&path).exists());
    assert_eq!((journal.passes(), journal.part(1).unwrap(), journal.part(4).unwrap()), (0, None, None));
}

#[test]
fn the_difference_to_another_fit_is_named() {
    let (_folder, path) = canceled_fit();
    let text = identity(&config()).to_text().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(version));
    let older = FitIdentity::from_text(&text.replace(version, "0.0.9")).unwrap();
    for (now, words) in [
        (older, format!("version of steradian was {version} and is 0.0.9 now")),
        (identity(&config().with_n_components(2)), "n_components was 1 and is 2 now".to_owned()),
        (identity(&config().with_tolerance(1e-3)), "tol was ".to_owned()),
    ] {
        let before = std::fs::read(&path).unwrap();
        let error = Checkpoint::open(&path, &now, Duration::ZERO, |_| {}).unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument { problem, .. } if problem.contains(&words)), "{error}");
        assert!(std::fs::read(&path).unwrap() == before);
    }
}

#[test]
fn a_file_that_is_not_a_checkpoint_is_rejected_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for (bytes, words) in [
        (&b"a,b\n1,2\n3,4\n5,6\n7,8\n9,10\n"[..], "not a checkpoint"),
        (b"s", "not a checkpoint"),
        (b"steradian checkpoint 2\n0123456789", "checkpoint version is not supported"),
        (b"steradian checkpoint 1\n0123456789", "is corrupt"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = open(&path, Duration::ZERO).unwrap_err();
        assert!(matches!(error, Error::CorruptFile { .. }) && error.to_string().contains(words), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
    assert!(matches!(open(folder.path(), Duration::ZERO), Err(Error::Io { .. })), "a folder");
    assert!(matches!(open(&folder.path().join("no/such"), Duration::ZERO), Err(Error::Io { .. })));
}

#[cfg(target_os = "linux")]
#[test]
fn one_fit_at_a_time() {
    let (_folder, path) = canceled_fit();
    let first = open(&path, Duration::ZERO).unwrap();
    let error = open(&path, Duration::ZERO).unwrap_err();
    assert!(
        matches!(&error, Error::InvalidArgument { problem, .. } if problem.contains("another fit is writing")),
        "{error}"
    );
    drop(first);
    open(&path, Duration::ZERO).unwrap();
}

#[test]
fn a_failed_snapshot_is_reported_once_and_retried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    // A folder at the path of the temporary file.
    let blocker = folder.path().join("fit.checkpoint.pass.new");
    std::fs::create_dir(&blocker).unwrap();
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&warnings);
    let on_warning = move |warning| received.lock().unwrap().push(warning);
    let journal = Arc::new(Checkpoint::open(&path, &identity(&config()), Duration::ZERO, on_warning).unwrap());
    let model = fit_in(Some(Arc::clone(&journal))).unwrap();
    assert_eq!(journal.passes(), model.report.passes, "totals are saved nevertheless");
    let warnings = warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("cannot write checkpoint "), "{warnings:?}");
    assert!(warnings[0].contains("fit.checkpoint.pass (") && warnings[0].contains("the fit continues"), "{warnings:?}");
    assert!(!warnings[0].contains("os error"), "{warnings:?}");
}

#[test]
fn the_stamp_of_a_folder_is_that_of_its_images() {
    let folder = Folder::new();
    let image = folder.file("1.pgm", b"P5\n2 1\n255\nab");
    folder.file("2.pgm", b"P5\n2 1\n255\ncd");
    let stamp = || file_stamp(folder.path()).unwrap();
    let first = stamp();
    assert!(first.listing.is_some() && first.bytes == 26 && first.modified.is_none(), "{first:?}");
    // A checkpoint in the folder grows during the fit.
    folder.file("c", b"a checkpoint");
    assert_eq!(stamp(), first);
    let time = std::fs::metadata(&image).unwrap().modified().unwrap() + Duration::from_nanos(1000);
    std::fs::File::options().write(true).open(&image).unwrap().set_modified(time).unwrap();
    assert_ne!(stamp().listing, first.listing);
}
