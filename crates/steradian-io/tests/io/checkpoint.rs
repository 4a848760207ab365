//! Checkpoints on disk: whatever is cut off or damaged is dropped or refused, and never taken for what it is not.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steradian::{Config, Error, FitIdentity, Journal, Local, Method, Model, Result, SliceSource, Solver};
use steradian_io::Checkpoint;

const SAMPLES: usize = 600; // three cells
const FEATURES: usize = 3;

fn numbers() -> Vec<f64> {
    let value =
        |i: usize| (i % 13) as f64 * 0.5 + ((i * i) % 101) as f64 / 7.0 + (i % FEATURES) as f64 * (i / 50) as f64;
    (0..SAMPLES * FEATURES).map(value).collect()
}

fn config() -> Config {
    Config { solver: Solver::Krylov, ..Config::new(Method::Ae, 1) }
}

fn origin(config: &Config) -> FitIdentity {
    let data = numbers();
    FitIdentity::new(config, Solver::Krylov, &SliceSource::new(&data, SAMPLES, FEATURES).unwrap(), Some(99)).unwrap()
}

fn open(path: &Path, every: Duration) -> Result<Checkpoint> {
    Checkpoint::open(path, &origin(&config()), every, |trouble| panic!("{trouble}"))
}

fn fit_in(journal: Option<Arc<Checkpoint>>) -> Result<Model> {
    let data = numbers();
    let mut runner = Local::new(1)?;
    if let Some(journal) = journal {
        runner = runner.with_journal(journal);
    }
    steradian::fit(&config(), &SliceSource::new(&data, SAMPLES, FEATURES)?, &runner)
}

/// A journal that stops the fit when so many passes are over and the next is begun.
struct Stopping(Checkpoint, usize);

impl Journal for Stopping {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.total(pass)
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.part(pass)
    }

    fn record_total(&self, pass: usize, content: &steradian::Payload<'_>) -> Result<()> {
        self.0.record_total(pass, content)
    }

    fn record_snapshot(&self, pass: usize, content: &steradian::Payload<'_>) -> Result<()> {
        self.0.record_snapshot(pass, content)?;
        if self.0.passes() == self.1 { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn every(&self) -> Duration {
        Duration::ZERO
    }
}

fn part_of(path: &Path) -> PathBuf {
    path.with_extension("checkpoint.pass")
}

/// A checkpoint of a fit that was stopped within its fourth pass.
fn stopped() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    let data = numbers();
    let journal = Stopping(open(&path, Duration::ZERO).unwrap(), 3);
    let runner = Local::new(1).unwrap().with_journal(Arc::new(journal));
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    assert!(matches!(steradian::fit(&config(), &source, &runner), Err(Error::Cancelled)));
    assert!(part_of(&path).exists());
    (folder, path)
}

#[test]
fn a_stopped_fit_goes_on_and_its_files_can_be_removed() {
    let (folder, path) = stopped();
    let journal = Arc::new(open(&path, Duration::ZERO).unwrap());
    assert_eq!((journal.passes(), journal.has_part()), (3, true));
    let model = fit_in(Some(Arc::clone(&journal))).unwrap();
    assert!(model.to_bytes().unwrap() == fit_in(None).unwrap().to_bytes().unwrap());
    assert_eq!((journal.passes(), journal.has_part()), (model.passes, false));
    journal.remove().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_journal_cut_anywhere_loses_its_tail_only() {
    let (_folder, path) = stopped();
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
            let said = journal.unwrap_err().to_string();
            assert!(said.contains("fit.checkpoint") && said.contains("begin anew"), "{length}: {said}");
            assert_eq!(std::fs::read(&path).unwrap().len(), length, "what is refused is left alone");
            continue;
        }
        let journal = Arc::new(journal.unwrap());
        let passes = ends[1..].iter().filter(|end| **end <= length).count();
        assert_eq!(journal.passes(), passes, "{length}");
        for pass in 1..=4 {
            assert_eq!(journal.total(pass).unwrap().as_ref(), totals[..passes].get(pass - 1), "{length}");
        }
        // A whole fit takes its time: those at the edges of totals, and one between.
        if ends.iter().any(|end| length.abs_diff(*end) <= 1) || length == head + 40 || length == 0 {
            assert!(fit_in(Some(journal)).unwrap().to_bytes().unwrap() == expected, "{length}");
        }
    }
}

#[test]
fn a_damaged_byte_is_noticed_wherever_it_is() {
    // Every fifth byte, which takes seconds rather than half a minute.
    let (_folder, path) = stopped();
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
    let whole = std::fs::read(part_of(&path)).unwrap();
    for at in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(part_of(&path), damaged).unwrap();
        assert!(!open(&path, Duration::ZERO).unwrap().has_part(), "byte {at}");
        std::fs::write(part_of(&path), &whole[..at]).unwrap();
        assert!(!open(&path, Duration::ZERO).unwrap().has_part(), "cut at {at}");
    }
    std::fs::write(part_of(&path), &whole).unwrap();
    assert_eq!(open(&path, Duration::ZERO).unwrap().part(4).unwrap(), Some(part));
}

#[test]
fn a_part_of_another_fit_is_passed_over() {
    let (_folder, path) = stopped();
    std::fs::remove_file(&path).unwrap();
    let other = Config { seed: 5, ..config() };
    let journal = Checkpoint::open(&path, &origin(&other), Duration::ZERO, |_| {}).unwrap();
    assert!(part_of(&path).exists());
    assert_eq!((journal.passes(), journal.part(1).unwrap(), journal.part(4).unwrap()), (0, None, None));
}

#[test]
fn what_differs_is_named() {
    let (_folder, path) = stopped();
    let text = origin(&config()).to_text().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(version));
    let older = FitIdentity::from_text(&text.replace(version, "0.0.9")).unwrap();
    for (now, words) in [
        (older, format!("version of steradian was {version} and is 0.0.9 now")),
        (origin(&Config::new(Method::Ae, 2)), "n_components was 1 and is 2 now".to_owned()),
        (origin(&Config { tolerance: 1e-3, ..config() }), "tol was ".to_owned()),
    ] {
        let before = std::fs::read(&path).unwrap();
        let error = Checkpoint::open(&path, &now, Duration::ZERO, |_| {}).unwrap_err();
        assert!(matches!(&error, Error::InvalidArgument { problem: said, .. } if said.contains(&words)), "{error}");
        assert!(std::fs::read(&path).unwrap() == before);
    }
}

#[test]
fn what_is_no_checkpoint_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    for (bytes, words) in [
        (&b"a,b\n1,2\n3,4\n5,6\n7,8\n9,10\n"[..], "no checkpoint"),
        (b"s", "no checkpoint"),
        (b"steradian checkpoint 2\n0123456789", "another format"),
        (b"steradian checkpoint 1\n0123456789", "damaged"),
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
    let (_folder, path) = stopped();
    let first = open(&path, Duration::ZERO).unwrap();
    let error = open(&path, Duration::ZERO).unwrap_err();
    assert!(
        matches!(&error, Error::InvalidArgument { problem: said, .. } if said.contains("another fit is writing")),
        "{error}"
    );
    drop(first);
    open(&path, Duration::ZERO).unwrap();
}

#[test]
fn a_part_that_cannot_be_kept_is_told_once_and_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    // A folder in the place of the file in the making.
    let place = folder.path().join("fit.checkpoint.pass.new");
    std::fs::create_dir(&place).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let hear = move |trouble| heard.lock().unwrap().push(trouble);
    let journal = Arc::new(Checkpoint::open(&path, &origin(&config()), Duration::ZERO, hear).unwrap());
    let model = fit_in(Some(Arc::clone(&journal))).unwrap();
    assert_eq!(journal.passes(), model.passes, "totals are kept all the same");
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("fit.checkpoint.pass") && told[0].contains("the fit goes on"), "{told:?}");
}
