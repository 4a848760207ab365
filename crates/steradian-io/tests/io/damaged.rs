//! 10 000 corrupt `.npy` files: the reader neither panics nor allocates much memory for any of them.

use peak_alloc::PeakAlloc;
use steradian_io::{Data, TableOptions, open, read_vector};

use crate::common::{Dice, Folder, dictionary, npy_with, numbers};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const CASES: usize = 10_000;
const ALLOWED: usize = 64 << 20;

fn splice(bytes: &mut Vec<u8>, at: usize, count: usize, with: &[u8]) {
    let at = at.min(bytes.len());
    let end = (at + count).min(bytes.len());
    bytes.splice(at..end, with.iter().copied());
}

fn damage(dice: &mut Dice, bytes: &mut Vec<u8>) {
    const PIECES: [&[u8]; 16] = [
        b"18446744073709551615",
        b"99999999999999999999999999",
        b"4294967296",
        b"(1099511627776, 1099511627776)",
        b"(0, 9223372036854775807)",
        b"-1",
        b"((((((((((((((((",
        b"[('a', '<f8')]",
        b"'|O'",
        b"'<f16'",
        b"True",
        b"None",
        b"'shape': (1,), ",
        b"}",
        b"'",
        b"\xff\xff\xff\xff",
    ];
    // Most changes are in the header.
    let reach = if dice.below(4) == 0 { bytes.len() } else { bytes.len().min(140) };
    for _ in 0..=dice.below(3) {
        let at = dice.below(reach.max(1));
        match dice.below(6) {
            0 => bytes.truncate(dice.below(bytes.len() + 1)),
            1 => splice(bytes, at, dice.below(4), PIECES[dice.below(PIECES.len())]),
            2 => splice(bytes, at, dice.below(8), b""),
            3 => {
                let length = (dice.roll() as u32).to_le_bytes();
                splice(bytes, 8, 4, &length);
            }
            4 => {
                // A number in the header gains or loses a digit.
                let digits: Vec<usize> = (0..bytes.len().min(140)).filter(|&i| bytes[i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let digit = [b'0' + dice.below(10) as u8];
                    splice(bytes, digits[dice.below(digits.len())], dice.below(2), &digit);
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice.roll() as u8;
                }
            }
        }
    }
}

/// Runs itself as a child process: the peak memory is measured per process, in which no other test may run.
#[test]
fn ten_thousand_corrupt_headers() {
    const CHILD: &str = "STERADIAN_TEST_CORRUPT_HEADERS";
    if std::env::var_os(CHILD).is_some() {
        return read_corrupt_headers();
    }
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "damaged::ten_thousand_corrupt_headers", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && printed.contains("1 passed"), "{child:?}");
}

fn read_corrupt_headers() {
    let folder = Folder::new();
    let mut dice = Dice(20_260_401);
    let (mut read, mut rejected) = (0, 0);
    for case in 0..CASES {
        let descr = ["|u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8"][dice.below(7)];
        let dimensions = [&[40, 7][..], &[6, 5, 4], &[300], &[2, 2, 2, 2]][dice.below(4).min(dice.below(4))];
        let size = dimensions.iter().product::<usize>() * descr[2..].parse::<usize>().unwrap();
        let data: Vec<u8> = (0..size).map(|_| dice.roll() as u8).collect();
        let align = [64, 16, 1][dice.below(3)];
        let text = dictionary(descr, dice.below(2) == 0, dimensions);
        let mut bytes = npy_with(1 + dice.below(3) as u8, &text, align, &data);
        damage(&mut dice, &mut bytes);
        let path = folder.file("a.npy", &bytes);

        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let result = open(&path, &TableOptions::default()).and_then(|source| {
            if let Data::Npy(_) = source {
                // The file contains all bytes of a shape that passed the checks.
                numbers(&source, 1000)?;
            }
            Ok(())
        });
        let vector = read_vector(&path);
        let peak = ALLOCATOR.peak_usage().saturating_sub(before);
        assert!(peak <= bytes.len() + ALLOWED, "case {case}: {peak} bytes for a file of {}", bytes.len());
        for error in [result.as_ref().err(), vector.as_ref().err()].into_iter().flatten() {
            let message = error.to_string();
            assert!(message.contains("a.npy") && message.len() < 2000, "case {case}: {message}");
        }
        *(if result.is_ok() { &mut read } else { &mut rejected }) += 1;
    }
    // A change of numbers only leaves a valid file; the test requires many cases of both outcomes.
    assert!(read > CASES / 50 && rejected > CASES / 2, "{read} read, {rejected} rejected");
}
