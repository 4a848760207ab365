//! A checkpoint on disk: an append-only journal of finished passes, and a snapshot of the pass in progress.
//!
//! | file | content | written |
//! |---|---|---|
//! | FILE | magic, fit identity, total of pass 1, total of pass 2, .. | created atomically; then each total is appended |
//! | FILE.pass | magic, fit identity, index of a pass and its snapshot | atomically, in place of the previous snapshot |
//!
//! All but the magics are [records](crate::output::record) with a length and a checksum, so a total that was incomplete
//! when the process or the system stopped is detected and removed. FILE.pass is used only for the pass after the last
//! total of a FILE with the same fit identity, and ignored otherwise; so the two files need no common order of writes.
//!
//! # When the disk is full
//!
//! A checkpoint that cannot be created is an error. Later errors are warnings, and the fit continues: the next snapshot
//! is a new attempt; after a total that cannot be saved the journal is not extended, and its earlier totals remain
//! valid.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steradian::engine::{Journal, Payload};
use steradian::fit::FitIdentity;
use steradian::{Error, Result};

use crate::output::atomic_file::{cannot_write, write_atomic};
use crate::output::record::{Record, read_record, write_record};
use steradian::error::os_error_text;

/// First bytes of a checkpoint of any version.
const MAGIC_PREFIX: &[u8] = b"steradian checkpoint ";
/// First bytes of a journal of this version.
const MAGIC: &[u8] = b"steradian checkpoint 1\n";
/// First bytes of a snapshot file.
const SNAPSHOT_MAGIC: &[u8] = b"steradian pass 1\n";

/// Largest size of the record of a fit identity, in bytes. As text it needs many times its size when it is read.
const MAX_IDENTITY: u64 = 16 << 20;

/// Time to wait for the lock of a process that was killed: it releases its memory before its locks.
#[cfg(target_os = "linux")]
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

type WarningHandler = Box<dyn Fn(String) + Send + Sync>;

/// A journal in a file. Only one process at a time can have it open.
pub struct Checkpoint {
    path: PathBuf,
    /// Serialized fit identity, the first record of both files.
    identity: Vec<u8>,
    /// True if the fit that created the checkpoint read another file, of which this one seems to be a copy.
    of_another_file: bool,
    /// Minimum time between two snapshots.
    every: Duration,
    on_warning: WarningHandler,
    state: Mutex<JournalState>,
}

struct JournalState {
    file: File,
    /// Positions of the totals.
    totals: Vec<Record>,
    /// Position of the next total.
    end: u64,
    /// True after a total that could not be saved: later ones are useless without it.
    ended: bool,
    /// True if the last snapshot could not be saved.
    snapshot_failed: bool,
}

impl Checkpoint {
    /// Opens the checkpoint at a path, or creates it. Fails if the file is a checkpoint of another fit, with the first
    /// difference, or not a checkpoint. Snapshots are saved at most once per `every`; `on_warning` receives a message
    /// if a total or the first of several successive snapshots cannot be saved.
    pub fn open(
        path: impl AsRef<Path>,
        identity: &FitIdentity,
        every: Duration,
        on_warning: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let text = identity.to_text()?.into_bytes();
        // An empty file, as `mktemp` creates it, counts as absent.
        if !std::fs::metadata(&path).is_ok_and(|kind| kind.is_file() && kind.len() > 0) {
            let mut journal = io::Cursor::new(Vec::new());
            let written = journal.write_all(MAGIC).and_then(|()| write_record(&mut journal, |to| to.write_all(&text)));
            written.map_err(|e| cannot_write(&path, &e))?;
            write_atomic(&path, journal.get_ref())?;
        }
        let file = File::options().read(true).write(true).open(&path).map_err(|e| Error::io(&path, e))?;
        lock_exclusive(&path, &file)?;
        let io = |e| Error::io(&path, e);
        let length = file.metadata().map_err(io)?.len();
        let corrupt = |what: &str| {
            Error::corrupt_file(&path, format!("{what}; name another file, or remove this one to start again"))
        };
        let mut magic = vec![0; MAGIC.len()];
        if read_up_to(&file, &mut magic).map_err(io)? < MAGIC.len() || magic != MAGIC {
            return Err(corrupt(match magic.starts_with(MAGIC_PREFIX) {
                true => "checkpoint version is not supported, expected version 1",
                false => "the file is not a checkpoint",
            }));
        }
        let mut end = MAGIC.len() as u64;
        let damaged = || corrupt("the head of the checkpoint is corrupt");
        let record = read_record(&file, end, length).map_err(io)?.ok_or_else(damaged)?;
        if record.end() - end > MAX_IDENTITY {
            return Err(damaged());
        }
        let text = record.content(&file).map_err(io)?;
        let saved =
            std::str::from_utf8(&text).ok().and_then(|text| FitIdentity::from_text(text).ok()).ok_or_else(damaged)?;
        if let Some(difference) = saved.difference(identity) {
            return Err(Error::invalid_argument(format!(
                "{}: this checkpoint is of another fit: {difference}; repeat its command, name another file, or remove \
                 this one",
                path.display()
            )));
        }
        end = record.end();
        let mut totals = Vec::new();
        while let Some(record) = read_record(&file, end, length).map_err(io)? {
            end = record.end();
            totals.push(record);
        }
        if end < length {
            file.set_len(end).map_err(io)?;
        }
        let state = Mutex::new(JournalState { file, totals, end, ended: false, snapshot_failed: false });
        let of_another_file = saved.is_of_another_file(identity);
        Ok(Self { path, identity: text, of_another_file, every, on_warning: Box::new(on_warning), state })
    }

    /// True if the checkpoint was created for another file of the same size, time of modification and sampled rows, as a
    /// copy has them.
    pub fn is_of_another_file(&self) -> bool {
        self.of_another_file
    }

    /// Number of finished passes.
    pub fn passes(&self) -> usize {
        self.state().totals.len()
    }

    /// True if there is a snapshot of the pass after the finished ones.
    pub fn has_part(&self) -> bool {
        self.read_snapshot(self.passes() + 1).is_some()
    }

    /// Removes the files of the checkpoint.
    pub fn remove(&self) -> Result<()> {
        for path in Self::paths(&self.path).into_iter().rev() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io(path, error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The files of a checkpoint at a path: the journal, the snapshot and the temporary file of the snapshot.
    pub fn paths(path: impl AsRef<Path>) -> [PathBuf; 3] {
        ["", ".pass", ".pass.new"].map(|ending| {
            let mut name = path.as_ref().as_os_str().to_owned();
            name.push(ending);
            name.into()
        })
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Path of the snapshot.
    fn snapshot_path(&self) -> PathBuf {
        let [_, snapshot, _] = Self::paths(&self.path);
        snapshot
    }

    fn append(&self, state: &mut JournalState, content: &Payload<'_>) -> io::Result<()> {
        let mut file = &state.file;
        file.seek(SeekFrom::Start(state.end))?;
        let written = write_record(&mut file, |to| content.write_to(to)).and_then(|record| {
            file.sync_data()?;
            Ok(record)
        });
        match written {
            Ok(record) => {
                state.end = record.end();
                state.totals.push(record);
                Ok(())
            }
            Err(error) => {
                // If this fails, too, the next start removes the incomplete record.
                let _ = state.file.set_len(state.end);
                Err(error)
            }
        }
    }

    fn write_snapshot(&self, pass: usize, content: &Payload<'_>) -> io::Result<()> {
        let [_, snapshot, new] = Self::paths(&self.path);
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(SNAPSHOT_MAGIC)?;
            write_record(&mut file, |to| to.write_all(&self.identity))?;
            write_record(&mut file, |to| {
                to.write_all(&(pass as u64).to_le_bytes())?;
                content.write_to(to)
            })?;
            file.sync_data()?;
            std::fs::rename(&new, snapshot)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    /// The snapshot of a pass; `None` if the file is absent, corrupt, or of another fit or pass.
    fn read_snapshot(&self, pass: usize) -> Option<Vec<u8>> {
        let file = File::open(self.snapshot_path()).ok()?;
        let length = file.metadata().ok()?.len();
        let mut magic = vec![0; SNAPSHOT_MAGIC.len()];
        read_up_to(&file, &mut magic).ok()?;
        let identity = read_record(&file, SNAPSHOT_MAGIC.len() as u64, length).ok()??;
        if magic != SNAPSHOT_MAGIC || identity.content(&file).ok()? != self.identity {
            return None;
        }
        let mut content = read_record(&file, identity.end(), length).ok()??.content(&file).ok()?;
        let number = content.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))?;
        (number == pass as u64).then(|| content.split_off(8))
    }
}

impl Journal for Checkpoint {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        let state = self.state();
        let Some(record) = state.totals.get(pass - 1) else { return Ok(None) };
        record.content(&state.file).map(Some).map_err(|e| Error::io(&self.path, e))
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        Ok(self.read_snapshot(pass))
    }

    fn record_total(&self, _: usize, content: &Payload<'_>) -> Result<()> {
        let mut state = self.state();
        if state.ended {
            return Ok(());
        }
        match self.append(&mut state, content) {
            // The total replaces the snapshot of the same pass.
            Ok(()) => drop(std::fs::remove_file(self.snapshot_path())),
            Err(error) => {
                state.ended = true;
                (self.on_warning)(format!(
                    "cannot write checkpoint {} ({}); the fit continues, and after an interruption it resumes after pass {}",
                    self.path.display(),
                    os_error_text(&error),
                    state.totals.len()
                ));
            }
        }
        Ok(())
    }

    fn record_snapshot(&self, pass: usize, content: &Payload<'_>) -> Result<()> {
        let mut state = self.state();
        if state.ended {
            return Ok(());
        }
        match self.write_snapshot(pass, content) {
            Ok(()) => state.snapshot_failed = false,
            Err(error) if !state.snapshot_failed => {
                state.snapshot_failed = true;
                (self.on_warning)(format!(
                    "cannot write checkpoint {} ({}); the fit continues and retries later",
                    self.snapshot_path().display(),
                    os_error_text(&error)
                ));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn every(&self) -> Duration {
        self.every
    }
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoint").field("path", &self.path).field("passes", &self.passes()).finish_non_exhaustive()
    }
}

/// Reads from the start of a file until the buffer is full or the file ends; returns the number of bytes.
fn read_up_to(mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    use std::io::Read;
    file.seek(SeekFrom::Start(0))?;
    let mut done = 0;
    while done < buffer.len() {
        match file.read(&mut buffer[done..])? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

/// Locks the file for this process, as far as the system supports it; the lock ends with the process.
fn lock_exclusive(path: &Path, file: &File) -> Result<()> {
    let reject = || -> Result<()> {
        Err(Error::invalid_argument(format!(
            "{}: another fit is writing this checkpoint; wait until it finishes, or name another file",
            path.display()
        )))
    };
    #[cfg(target_os = "linux")]
    {
        // Other errors are of network file systems without locks.
        let is_locked = || {
            let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
            rustix::fs::flock(file, exclusive) == Err(rustix::io::Errno::WOULDBLOCK)
        };
        let start = std::time::Instant::now();
        while is_locked() {
            if start.elapsed() > LOCK_TIMEOUT {
                return reject();
            }
            std::thread::sleep(LOCK_TIMEOUT / 100);
        }
    }
    #[cfg(unix)]
    {
        // Two fits that started at once have created one file each; the fit whose file was renamed last continues.
        use std::os::unix::fs::MetadataExt;
        let (own, named) = (file.metadata(), std::fs::metadata(path));
        let same = own.is_ok_and(|own| named.is_ok_and(|named| (own.dev(), own.ino()) == (named.dev(), named.ino())));
        if !same {
            return reject();
        }
    }
    #[cfg(not(unix))]
    let _ = (file, &reject);
    Ok(())
}
