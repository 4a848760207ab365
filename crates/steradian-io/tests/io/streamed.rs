//! Streamed arrays compared with mapped ones: identical numbers for any access pattern, and errors of truncated files.

use std::fs::OpenOptions;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use proptest::prelude::*;
use steradian::engine::Grid;
use steradian::{Error, Source};
use steradian_io::{NpySource, StreamedNpySource, TableOptions, open};

use crate::common::{Dice, Folder, block_numbers, dictionary, encode, npy, npy_with, numbers};

/// An array of numbers between 0 and 250, which every element type represents.
fn array(folder: &Folder, descr: &str, dimensions: &[usize], align: usize) -> std::path::PathBuf {
    let count = dimensions.iter().product::<usize>();
    let data = encode(descr, (0..count).map(|i| ((i * 31) % 251) as f64));
    folder.file("a.npy", npy_with(1, &dictionary(descr, false, dimensions), align, &data))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn numbers_are_those_of_the_mapped_file(
        descr in prop::sample::select(vec!["|u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8"]),
        // Headers of old versions have a multiple of 16 bytes; those of other programs any length.
        align in prop::sample::select(vec![64usize, 16, 1]),
        samples in 1usize..1500,
        features in 1usize..40,
        step in 1usize..700,
        more in prop::sample::select(vec![0u64, 50_000, u64::MAX]),
        threads in 1usize..4,
        hinted in any::<bool>(),
    ) {
        let folder = Folder::new();
        let path = array(&folder, descr, &[samples, features], align);
        let streamed = StreamedNpySource::open(&path).unwrap().widen(threads, more).unwrap();
        let before = streamed.buffer_bytes(threads);
        if hinted {
            streamed.advise_access(&[0..samples / 2, samples / 2..samples], threads);
        }
        prop_assert_eq!(numbers(&streamed, step).unwrap(), numbers(&NpySource::open(&path).unwrap(), step).unwrap());
        prop_assert_eq!(streamed.buffer_bytes(threads), before);
    }
}

#[test]
fn threads_at_random_positions_read_identical_numbers() {
    let folder = Folder::new();
    let (samples, features) = (6000, 500);
    let path = array(&folder, "<f4", &[samples, features], 64);
    let mapped = NpySource::open(&path).unwrap();
    for more in [0, u64::MAX] {
        let streamed = StreamedNpySource::open(&path).unwrap().widen(3, more).unwrap();
        streamed.advise_access(&[0..2048, 2048..4096, 4096..6000], 3);
        let read = |source: &dyn Source, rows: std::ops::Range<usize>| {
            let mut numbers = Vec::new();
            source.visit(rows, &mut |block| {
                block_numbers(block, &mut numbers);
                Ok(())
            })?;
            Ok::<_, Error>(numbers)
        };
        std::thread::scope(|scope| {
            for seed in 0..6 {
                let (mapped, streamed) = (&mapped, &streamed);
                scope.spawn(move || {
                    let mut dice = Dice(seed);
                    for _ in 0..60 {
                        let first = dice.below(samples);
                        let rows = first..(first + 1 + dice.below(400)).min(samples);
                        let other = dice.below(samples - 100);
                        // Two blocks at a time, as in pair passes: a thread that borrows one must not wait for itself.
                        let mut numbers = (Vec::new(), Vec::new());
                        let visited = streamed.visit(rows.clone(), &mut |block| {
                            block_numbers(block, &mut numbers.0);
                            numbers.1 = read(streamed, other..other + 100)?;
                            Ok(())
                        });
                        visited.unwrap();
                        assert_eq!(numbers.0, read(mapped, rows).unwrap());
                        assert_eq!(numbers.1, read(mapped, other..other + 100).unwrap());
                    }
                });
            }
        });
    }
}

#[test]
fn the_ring_has_the_reported_size() {
    let folder = Folder::new();
    let path = array(&folder, "|u1", &[5000, 3000], 64);
    let smallest = StreamedNpySource::open(&path).unwrap();
    let block = Grid::new(5000, 3000, 0).block_rows() * 3000;
    assert_eq!(smallest.ring(), (2, block));
    assert!(smallest.buffer_bytes(2) < 2 * block as u64 + 32_768);
    let wide = smallest.widen(2, u64::MAX).unwrap();
    let (slots, chunk) = wide.ring();
    assert!(slots == 4 && chunk > block && chunk <= 8 << 20, "{slots} {chunk}");
    assert!(wide.measure_read_rate().unwrap() > 0.0);
}

#[test]
fn arrays_are_streamed_only_if_they_exceed_the_memory_limit() {
    let folder = Folder::new();
    let path = array(&folder, "|u1", &[100, 1000], 64);
    let opened =
        |memory| format!("{:?}", open(&path, &TableOptions::default()).unwrap().stream_if_larger_than(memory).unwrap());
    assert!(opened(None).starts_with("Npy"));
    assert!(opened(Some(100_000)).starts_with("Npy"));
    assert!(opened(Some(99_999)).starts_with("Streamed"));
    let fortran = folder.file("f.npy", npy("|u1", true, &[100, 1000], &[7; 100_000]));
    let data = open(&fortran, &TableOptions::default()).unwrap().stream_if_larger_than(Some(10)).unwrap();
    assert!(format!("{data:?}").starts_with("Npy"));
    let message = StreamedNpySource::open(&fortran).unwrap_err().to_string();
    assert!(message.contains("Fortran") && message.contains("ascontiguousarray"), "{message}");
}

#[test]
fn a_truncation_during_a_pass_is_an_error_with_the_byte() {
    let folder = Folder::new();
    let path = array(&folder, "|u1", &[4096, 4096], 64);
    let streamed = StreamedNpySource::open(&path).unwrap();
    streamed.advise_access(std::slice::from_ref(&(0..4096)), 1);
    let truncated = AtomicBool::new(false);
    let mut failure = None;
    for first in (0..4096).step_by(256) {
        let visited = streamed.visit(first..first + 256, &mut |_| {
            if first == 512 && !truncated.swap(true, Ordering::Relaxed) {
                OpenOptions::new().write(true).open(&path).unwrap().set_len(9_000_000).unwrap();
            }
            Ok(())
        });
        if let Err(error) = visited {
            failure = Some((first, error));
            break;
        }
    }
    let (first, error) = failure.expect("the file ends before the pass does");
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert_eq!(first, (9_000_000 - 128) / 4096 / 256 * 256, "earlier rows are still readable");
    let message = error.to_string();
    for hint in ["a.npy", "ends at byte 9000000", "had 16777344 bytes", "has 9000000 now", "run again"] {
        assert!(message.contains(hint), "no {hint:?} in {message}");
    }
    // A second visit is an error, too, not an old chunk and not a hang.
    assert!(streamed.visit(first..first + 256, &mut |_| Ok(())).is_err());
}

/// All threads that wait for one chunk of a truncated file return.
#[test]
fn a_truncated_file_is_an_error_for_each_thread() {
    const THREADS: usize = 4;
    // Only a hanging thread takes this long.
    const WATCHDOG: Duration = Duration::from_secs(120);
    let folder = Folder::new();
    let (samples, part) = (4096, 4096 / THREADS);
    let path = array(&folder, "|u1", &[samples, 512], 64);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let bytes = file.metadata().unwrap().len();
    for repetition in 0..20 {
        file.set_len(bytes).unwrap();
        let streamed = Arc::new(StreamedNpySource::open(&path).unwrap().widen(THREADS, u64::MAX).unwrap());
        assert_eq!(streamed.ring().1, samples * 512, "all rows are in one chunk");
        // Without its last byte: the read fails as late as possible, so that the other threads wait for it.
        file.set_len(bytes - 1).unwrap();
        let parts: Vec<_> = (0..THREADS).map(|thread| thread * part..(thread + 1) * part).collect();
        streamed.advise_access(&parts, THREADS);
        let (sender, outcomes) = mpsc::channel();
        let start = Arc::new(Barrier::new(THREADS));
        for rows in parts {
            let (streamed, sender, start) = (Arc::clone(&streamed), sender.clone(), Arc::clone(&start));
            // Not scoped: a scope would wait for hanging threads.
            std::thread::spawn(move || {
                start.wait();
                let _ = sender.send(streamed.visit(rows, &mut |_| Ok(())));
            });
        }
        for returned in 0..THREADS {
            match outcomes.recv_timeout(WATCHDOG) {
                Ok(outcome) => assert!(matches!(outcome, Err(Error::Io { .. })), "{outcome:?}"),
                Err(_) => panic!("repetition {repetition}: {returned} of {THREADS} threads returned"),
            }
        }
    }
}
