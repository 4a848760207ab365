//! A temporary folder with input files, and the program that runs in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Largest number of characters of an error, a warning or a note.
const MAX_MESSAGE: usize = 200;

/// A temporary folder and the program, run inside it.
pub struct Lab(TempDir);

impl Lab {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// The program with arguments split at spaces, not yet started.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("steradian"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    /// Runs a command; checks that each message is short.
    pub fn run(&self, line: &str) -> Output {
        let output = self.command(line).output().unwrap();
        for message in messages(&stderr(&output)) {
            let length = message.chars().count();
            assert!(length <= MAX_MESSAGE, "{line}: a message of {length} characters\n{message}");
        }
        output
    }

    /// Runs a command that must succeed; returns standard output.
    pub fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}\n{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must print one JSON object.
    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(line)).unwrap()
    }

    /// Runs a command that must fail with the exit code and every needle in the message, and must not create a file.
    pub fn reject(&self, code: i32, line: &str, needles: &[&str]) {
        let before = self.listing();
        let output = self.run(line);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{line}\n{message}");
        assert!(message.starts_with("error: "), "{line}\n{message}");
        for needle in needles {
            assert!(message.contains(needle), "{line}: no {needle:?} in\n{message}");
        }
        assert!(output.stdout.is_empty(), "{line}");
        assert_eq!(self.listing(), before, "{line} created a file");
    }

    /// Names of all files, including hidden ones.
    pub fn listing(&self) -> Vec<String> {
        names(self.0.path())
    }
}

/// Errors, warnings and notes on standard error, without their first words.
fn messages(stderr: &str) -> Vec<&str> {
    let text = |line| ["error: ", "warning: ", "note: "].iter().find_map(|kind| str::strip_prefix(line, *kind));
    stderr.lines().filter_map(text).collect()
}

/// Names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Keys of a JSON object, sorted.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// An .npy file.
pub fn npy(descr: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side},")).collect();
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sides}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(bytes);
    file
}

/// An .npy file of f64 values.
pub fn npy_f64(shape: &[usize], data: &[f64]) -> Vec<u8> {
    npy("<f8", shape, &data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
}

/// Descr, shape and numbers of an .npy file of version 1 in C order.
pub fn read_npy(bytes: &[u8]) -> (String, Vec<usize>, Vec<f64>) {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..end]).unwrap();
    let after = |key: &str| header.split(key).nth(1).unwrap().trim_start_matches([':', ' ']);
    assert!(after("'fortran_order'").starts_with("False"));
    let descr = after("'descr'").split('\'').nth(1).unwrap().to_string();
    let sides = after("'shape'").trim_start_matches('(').split(')').next().unwrap();
    let shape: Vec<usize> = sides.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    let data = &bytes[end..];
    let numbers: Vec<f64> = match descr.as_str() {
        "|u1" | "|b1" => data.iter().map(|&x| f64::from(x)).collect(),
        "<f4" => data.chunks(4).map(|x| f64::from(f32::from_le_bytes(x.try_into().unwrap()))).collect(),
        "<f8" => data.chunks(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect(),
        "<i8" => data.chunks(8).map(|x| i64::from_le_bytes(x.try_into().unwrap()) as f64).collect(),
        other => panic!("{other}"),
    };
    assert_eq!(numbers.len(), shape.iter().product::<usize>());
    (descr, shape, numbers)
}

/// Numbers in [0, 1) from a seed.
pub fn uniform(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    // The first few values are correlated with the seed.
    std::iter::repeat_with(&mut next).skip(8).take(count).collect()
}

/// A `.npy` file of uint8 samples near a few patterns, fast to generate at any size.
pub fn patterns_npy(n: usize, features: usize) -> Vec<u8> {
    let noise = uniform(4, 100_000);
    let value = |i: usize, j: usize| {
        let wave = ((j * (1 + i % 3)) % 97) as f64 * 0.8 * (1.0 + (i % 11) as f64 / 11.0);
        (20.0 + wave + 40.0 * noise[(i * 7919 + j * 31) % noise.len()]) as u8
    };
    let bytes: Vec<u8> = (0..n * features).map(|at| value(at / features, at % features)).collect();
    npy("|u1", &[n, features], &bytes)
}

/// Samples near a plane, every seventh an outlier; between 0 and 250, the range of uint8.
pub fn samples(n: usize, features: usize) -> Vec<f64> {
    let basis = uniform(1, 2 * features);
    let noise = uniform(2, n * features);
    let scores = uniform(3, 2 * n);
    let value = |i: usize, j: usize| {
        let plane = 60.0 * scores[2 * i] * basis[j] + 30.0 * scores[2 * i + 1] * basis[features + j];
        let far = if i % 7 == 3 { 90.0 * noise[(i * features + j * 5) % (n * features)] } else { 0.0 };
        60.0 + plane + far + 8.0 * noise[i * features + j]
    };
    (0..n * features).map(|at| value(at / features, at % features)).collect()
}

/// The samples as a `.npy` file of the given dtype.
pub fn samples_npy(descr: &str, n: usize, features: usize) -> Vec<u8> {
    let data = samples(n, features);
    let bytes: Vec<u8> = match descr {
        "|u1" => data.iter().map(|&x| x as u8).collect(),
        "<u2" => data.iter().flat_map(|&x| ((200.0 * x) as u16).to_le_bytes()).collect(),
        "<f4" => data.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
        _ => data.iter().flat_map(|&x| x.to_le_bytes()).collect(),
    };
    npy(descr, &[n, features], &bytes)
}
