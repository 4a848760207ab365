//! A target: how its seeds are made, how they are mutated, and how an input is used.

use std::path::{Path, PathBuf};

use steradian::{Local, Result};

use crate::dice::Dice;

/// The outcome of an input that caused neither a panic nor a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetVerdict {
    /// It was read, and all uses of it returned.
    Accepted,
    /// It was rejected with an error.
    Rejected,
}

impl TargetVerdict {
    /// Accepted for `Ok`. The message of an error is formatted, as a caller would do.
    pub fn of<T>(result: Result<T>) -> Self {
        match result {
            Ok(_) => Self::Accepted,
            Err(error) => {
                let text = error.to_string();
                assert!(!text.is_empty() && text.len() < 10_000, "a message of {} bytes", text.len());
                Self::Rejected
            }
        }
    }
}

/// One format.
pub struct Target {
    /// The name, which is also that of its folder in the corpus.
    pub name: &'static str,
    /// Valid inputs with their names, written by the program's own writers where it has one.
    pub seeds: fn() -> Vec<(String, Vec<u8>)>,
    /// A mutated input from one of some inputs.
    pub mutate: fn(&mut Dice, &[Vec<u8>]) -> Vec<u8>,
    /// Reads an input and uses what it accepts.
    pub run: fn(&Workplace, &[u8]) -> TargetVerdict,
}

/// The folder and the threads that targets use.
pub struct Workplace {
    folder: tempfile::TempDir,
    runner: Local,
}

impl Workplace {
    /// A new folder, in memory where the system has such a file system.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new() -> std::io::Result<Self> {
        let memory = Path::new("/dev/shm");
        let mut builder = tempfile::Builder::new();
        builder.prefix("steradian-fuzz-");
        let folder = if memory.is_dir() { builder.tempdir_in(memory)? } else { builder.tempdir()? };
        Ok(Self { folder, runner: Local::new(1).map_err(std::io::Error::other)? })
    }

    /// The folder that inputs are written to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The runner of passes.
    pub fn runner(&self) -> &Local {
        &self.runner
    }

    /// Writes an input to a file.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::write(&path, bytes).expect("the temporary folder is writable");
        path
    }

    /// Removes all files; the number of those that are no input.
    pub fn clear(&self) -> usize {
        let mut strays = 0;
        for entry in std::fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            strays += usize::from(!entry.file_name().to_string_lossy().starts_with("input."));
            let path = entry.path();
            let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        strays
    }
}
