//! Files that another process truncates: an error between visits, an exit with one line during a visit.

use std::fs::OpenOptions;
use std::path::Path;

use steradian::{Error, Source};
use steradian_io::NpySource;
#[cfg(feature = "csv")]
use steradian_io::{CsvSource, TableOptions};

use crate::common::{Folder, npy, numbers};

fn truncate(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_truncated_mapped_file_is_an_error() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[100, 100], &[7; 10_000]));
    let source = NpySource::open(&path).unwrap();
    assert_eq!(numbers(&source, 30).unwrap().len(), 10_000);
    truncate(&path, 5000);
    let error = source.visit(0..1, &mut |_| panic!("no block may be visited")).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    let message = error.to_string();
    assert!(message.contains("had 10128 bytes") && message.contains("has 5000 now"), "{message}");
}

#[cfg(feature = "csv")]
#[test]
fn a_changed_table_is_an_error() {
    let folder = Folder::new();
    let text: String = (0..600).map(|i| format!("{},{}\n", 1000 + i, 2000 + i)).collect();
    let path = folder.file("t.csv", &text);
    let source = CsvSource::open(&path, &TableOptions::default()).unwrap();
    truncate(&path, 3000);
    let message = source.visit(0..1, &mut |_| Ok(())).unwrap_err().to_string();
    assert!(message.contains("had 6000 bytes") && message.contains("has 3000 now"), "{message}");

    // Equal length but other content: fewer rows, text, another width, a missing cell.
    for (from, to) in [("\n", "0"), ("1300", "text"), ("1300,", "13000"), ("1300", "    ")] {
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let error = numbers(&source, 100).unwrap_err();
        assert!(matches!(error, Error::CorruptFile { .. }), "{error:?}");
        assert!(error.to_string().contains("changed after the file was opened"), "{error}");
    }
    std::fs::write(&path, text).unwrap();
    assert_eq!(numbers(&source, 100).unwrap().len(), 1200);
}

/// Runs itself as a child process, whose file is truncated during a visit.
#[cfg(unix)]
#[test]
fn a_truncation_during_a_visit_ends_the_process_with_one_line() {
    const FILE: &str = "STERADIAN_TEST_TRUNCATED_FILE";
    if let Some(path) = std::env::var_os(FILE) {
        steradian_io::mapped::install_sigbus_handler();
        let source = NpySource::open(&path).unwrap();
        let read = source.visit(0..100, &mut |block| {
            truncate(Path::new(&path), 0);
            let mut numbers = Vec::new();
            crate::common::block_numbers(block, &mut numbers);
            Ok(())
        });
        unreachable!("{read:?}");
    }
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[100, 10_000], &vec![7; 1_000_000]));
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "truncated::a_truncation_during_a_visit_ends_the_process_with_one_line", "--nocapture"])
        .env(FILE, &path)
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(4), "{child:?}");
    let message = String::from_utf8(child.stderr).unwrap();
    assert!(message.contains("error: a file was truncated by another process"), "{message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
}
