//! A checkpoint on disk: an append-only journal of finished passes, and a snapshot of the pass in progress.
//!
//! | file | content | how it is written |
//! |---|---|---|
//! | FILE | mark, origin, total of pass 1, total of pass 2, .. | made whole, by rename; then each total is appended |
//! | FILE.pass | mark, origin, number of a pass and a part of it | whole, by rename, in place of the last one |
//!
//! All but the marks are [frames](crate::output::record) with a length and a checksum, so a total that was being appended when the
//! process or the machine stopped is seen for what it is and cut off. FILE.pass is of use only for the pass after the last
//! total of a FILE with the same origin, and is passed over otherwise; so neither file has to follow the other in time.
//!
//! # When the disk is full
//!
//! A checkpoint that cannot be begun is an error. Later the fit goes on and the owner is told: a part is tried again when
//! the next one is due; a total that cannot be kept is the end of the journal, which stays as it was.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steradian::{Error, FitIdentity, Journal, Payload, Result};

use crate::output::record::{Frame, read_frame, write_frame};
use crate::output::write::{cannot_write, write_atomic};

/// What every checkpoint of any format begins with.
const KIND: &[u8] = b"steradian checkpoint ";
/// What a journal of this format begins with.
const MARK: &[u8] = b"steradian checkpoint 1\n";
/// What the pass under way begins with.
const PART_MARK: &[u8] = b"steradian pass 1\n";

/// How long a process that was killed may take to let go of its checkpoint: it gives back its memory first.
#[cfg(target_os = "linux")]
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

type Told = Box<dyn Fn(String) + Send + Sync>;

/// A journal in a file. One process at a time may have it open.
pub struct Checkpoint {
    path: PathBuf,
    /// The head of both files.
    origin: Vec<u8>,
    every: Duration,
    told: Told,
    state: Mutex<JournalState>,
}

struct JournalState {
    file: File,
    totals: Vec<Frame>,
    /// Where the next total goes.
    end: u64,
    /// After a total that could not be kept, those behind it are of no use.
    ended: bool,
    part_failed: bool,
}

impl Checkpoint {
    /// Goes on with the checkpoint of this name, or begins one. Refuses those of other fits by what differs, and what is
    /// no checkpoint. A part is kept every so often; `told` hears what could not be kept.
    pub fn open(
        path: impl AsRef<Path>,
        origin: &FitIdentity,
        every: Duration,
        told: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let head = origin.to_text()?.into_bytes();
        // An empty file is a name that was set aside, as `mktemp` does.
        if !std::fs::metadata(&path).is_ok_and(|kind| kind.is_file() && kind.len() > 0) {
            let mut begun = io::Cursor::new(Vec::new());
            let framed = begun.write_all(MARK).and_then(|()| write_frame(&mut begun, |to| to.write_all(&head)));
            framed.map_err(|e| cannot_write(&path, &e))?;
            write_atomic(&path, begun.get_ref())?;
        }
        let file = File::options().read(true).write(true).open(&path).map_err(|e| Error::io(&path, e))?;
        lock_exclusive(&path, &file)?;
        let io = |e| Error::io(&path, e);
        let length = file.metadata().map_err(io)?.len();
        let broken = |what: &str| {
            Error::corrupt_file(&path, format!("{what}; name another file, or remove this one to begin anew"))
        };
        let mut mark = vec![0; MARK.len()];
        if read_up_to(&file, &mut mark).map_err(io)? < MARK.len() || mark != MARK {
            return Err(broken(match mark.starts_with(KIND) {
                true => "this is a checkpoint of another format than version 1",
                false => "this is no checkpoint",
            }));
        }
        let mut end = MARK.len() as u64;
        let damaged = || broken("the head of this checkpoint is damaged");
        let frame = read_frame(&file, end, length).map_err(io)?.ok_or_else(damaged)?;
        let kept = frame.content(&file).map_err(io)?;
        let kept =
            std::str::from_utf8(&kept).ok().and_then(|text| FitIdentity::from_text(text).ok()).ok_or_else(damaged)?;
        if let Some(difference) = kept.difference(origin) {
            return Err(Error::invalid_argument(format!(
                "{}: this checkpoint is of another fit: {difference}; repeat the command that began it, name another \
                 file, or remove this one to begin anew",
                path.display()
            )));
        }
        end = frame.end();
        let mut totals = Vec::new();
        while let Some(frame) = read_frame(&file, end, length).map_err(io)? {
            end = frame.end();
            totals.push(frame);
        }
        if end < length {
            file.set_len(end).map_err(io)?;
        }
        let state = Mutex::new(JournalState { file, totals, end, ended: false, part_failed: false });
        Ok(Self { path, origin: head, every, told: Box::new(told), state })
    }

    /// How many passes are over.
    pub fn passes(&self) -> usize {
        self.state().totals.len()
    }

    /// Whether a part of the pass after those is there.
    pub fn has_part(&self) -> bool {
        self.read_part(self.passes() + 1).is_some()
    }

    /// Removes the checkpoint, when the fit is over.
    pub fn remove(&self) -> Result<()> {
        for path in [self.part_path(".new"), self.part_path(""), self.path.clone()] {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io(path, error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file of the pass under way, and the name under which it is written.
    fn part_path(&self, more: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".pass");
        name.push(more);
        name.into()
    }

    fn append(&self, state: &mut JournalState, content: &Payload<'_>) -> io::Result<()> {
        let mut file = &state.file;
        file.seek(SeekFrom::Start(state.end))?;
        let written = write_frame(&mut file, |to| content.write_to(to)).and_then(|frame| {
            file.sync_data()?;
            Ok(frame)
        });
        match written {
            Ok(frame) => {
                state.end = frame.end();
                state.totals.push(frame);
                Ok(())
            }
            Err(error) => {
                // Should this fail too, the next start cuts off what is no frame.
                let _ = state.file.set_len(state.end);
                Err(error)
            }
        }
    }

    fn write_part(&self, pass: usize, content: &Payload<'_>) -> io::Result<()> {
        let new = self.part_path(".new");
        let written = File::create(&new).and_then(|mut file| {
            file.write_all(PART_MARK)?;
            write_frame(&mut file, |to| to.write_all(&self.origin))?;
            write_frame(&mut file, |to| {
                to.write_all(&(pass as u64).to_le_bytes())?;
                content.write_to(to)
            })?;
            file.sync_data()?;
            std::fs::rename(&new, self.part_path(""))
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    /// What is kept of a pass; nothing where the file is absent, damaged, or of another fit or pass.
    fn read_part(&self, pass: usize) -> Option<Vec<u8>> {
        let file = File::open(self.part_path("")).ok()?;
        let length = file.metadata().ok()?.len();
        let mut mark = vec![0; PART_MARK.len()];
        read_up_to(&file, &mut mark).ok()?;
        let origin = read_frame(&file, PART_MARK.len() as u64, length).ok()??;
        if mark != PART_MARK || origin.content(&file).ok()? != self.origin {
            return None;
        }
        let mut content = read_frame(&file, origin.end(), length).ok()??.content(&file).ok()?;
        let number = content.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))?;
        (number == pass as u64).then(|| content.split_off(8))
    }
}

impl Journal for Checkpoint {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        let state = self.state();
        let Some(frame) = state.totals.get(pass - 1) else { return Ok(None) };
        frame.content(&state.file).map(Some).map_err(|e| Error::io(&self.path, e))
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        Ok(self.read_part(pass))
    }

    fn record_total(&self, _: usize, content: &Payload<'_>) -> Result<()> {
        let mut state = self.state();
        if state.ended {
            return Ok(());
        }
        match self.append(&mut state, content) {
            // The total says more than the part.
            Ok(()) => drop(std::fs::remove_file(self.part_path(""))),
            Err(error) => {
                state.ended = true;
                (self.told)(format!(
                    "{}; the fit goes on, but should it be stopped, it goes on from the end of pass {}",
                    cannot_write(&self.path, &error),
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
        match self.write_part(pass, content) {
            Ok(()) => state.part_failed = false,
            Err(error) if !state.part_failed => {
                state.part_failed = true;
                let trouble = cannot_write(&self.part_path(""), &error);
                (self.told)(format!("{trouble}; the fit goes on, and the checkpoint is tried again later"));
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

/// Reads from the beginning of a file, as much as there is.
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

/// Makes this process the only one with the file open, as far as the system can; a process that is gone lets go of it.
fn lock_exclusive(path: &Path, file: &File) -> Result<()> {
    let refuse = || -> Result<()> {
        Err(Error::invalid_argument(format!(
            "{}: another fit is writing this checkpoint; wait until it is over, or name another file",
            path.display()
        )))
    };
    #[cfg(target_os = "linux")]
    {
        // Other answers are of network file systems that know no locks.
        let taken = || {
            let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
            rustix::fs::flock(file, exclusive) == Err(rustix::io::Errno::WOULDBLOCK)
        };
        let start = std::time::Instant::now();
        while taken() {
            if start.elapsed() > LOCK_TIMEOUT {
                return refuse();
            }
            std::thread::sleep(LOCK_TIMEOUT / 100);
        }
    }
    #[cfg(unix)]
    {
        // Two fits that began at one moment have each made a file; the one whose file has the name goes on.
        use std::os::unix::fs::MetadataExt;
        let (own, named) = (file.metadata(), std::fs::metadata(path));
        let same = own.is_ok_and(|own| named.is_ok_and(|named| (own.dev(), own.ino()) == (named.dev(), named.ino())));
        if !same {
            return refuse();
        }
    }
    #[cfg(not(unix))]
    let _ = (file, &refuse);
    Ok(())
}
