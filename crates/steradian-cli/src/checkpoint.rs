//! The checkpoint of a fit: opened before the first pass, removed after the last file, explained in between.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use steradian::{Config, Error, FitIdentity, Journal, Result, Runner};
use steradian_baselines::{any, fits_by_passes};
use steradian_io::{Checkpoint, Data};

use crate::args::FitArgs;
use crate::outcome::{CommandError, note, warn};
use crate::session::Session;

/// A checkpoint that a fit is kept in.
pub struct FitCheckpoint {
    path: PathBuf,
    file: Arc<Checkpoint>,
    /// What could not be kept, as it was said on the way.
    troubles: Arc<Mutex<Vec<String>>>,
}

impl FitCheckpoint {
    /// Refuses what no checkpoint can be kept of, before data are opened.
    pub fn check(args: &FitArgs, config: &Config) -> Result<()> {
        let Some(path) = &args.checkpoint else { return Ok(()) };
        if !fits_by_passes(config.method) {
            return Err(Error::invalid_argument(format!(
                "--checkpoint keeps passes over the data, and --method {} makes one and then works in memory; leave \
                 --checkpoint out",
                config.method.name()
            )));
        }
        let outputs = [Some(&args.output), args.low_rank.as_ref(), args.sparse.as_ref()];
        if outputs.into_iter().flatten().any(|output| same_file(output, path)) {
            return Err(Error::invalid_argument(format!(
                "{} is named as checkpoint and as output; the checkpoint is removed at the end: name another file",
                path.display()
            )));
        }
        Ok(())
    }

    /// Opens the checkpoint that was asked for, and says what is in it.
    pub fn begin(args: &FitArgs, config: &Config, data: &Data, work: &Session) -> Result<Option<Self>> {
        let Some(path) = &args.checkpoint else { return Ok(None) };
        let solver = any::plan(config, data, work.runner().threads())?.solver;
        let file_bytes = std::fs::metadata(&args.data).ok().filter(|kind| kind.is_file()).map(|kind| kind.len());
        let origin = FitIdentity::new(config, solver, data, file_bytes)?;
        let (troubles, aside) = (Arc::new(Mutex::new(Vec::new())), work.aside());
        let heard = Arc::clone(&troubles);
        let told = move |trouble: String| {
            aside(&|| warn(&trouble));
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(trouble);
        };
        let file = Arc::new(Checkpoint::open(path, &origin, args.checkpoint_every, told)?);
        let kept = Self { path: path.clone(), file, troubles };
        if kept.file.passes() > 0 || kept.file.has_part() {
            work.aside()(&|| note(&format!("going on from {}: {}", kept.path.display(), kept.content())));
        }
        Ok(Some(kept))
    }

    /// What the runner keeps passes in.
    pub fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.file) as _
    }

    fn content(&self) -> String {
        let begun = if self.file.has_part() { ", and one is begun" } else { "" };
        match self.file.passes() {
            1 => format!("1 pass is done{begun}"),
            passes => format!("{passes} passes are done{begun}"),
        }
    }

    /// After an error: how to go on.
    pub fn stop(self, error: Error) -> CommandError {
        let (path, content) = (self.path.display(), self.content());
        let how = match error {
            Error::Cancelled => {
                return CommandError::Interrupted(format!(
                    "{path} is kept ({content}): the same command goes on from there"
                ));
            }
            Error::Io { .. } => "once the cause is mended, the same command goes on from there",
            _ => "remove it before a fit of other data or with other options",
        };
        CommandError::FailedWithCheckpoint(error, format!("{path} is kept ({content}); {how}"))
    }

    /// Removes the checkpoint of a fit whose outputs are written; what went wrong with it.
    pub fn finish(self) -> Vec<String> {
        let mut troubles = std::mem::take(&mut *self.troubles.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.file.remove() {
            let trouble = format!("the model is written, but its checkpoint could not be removed: {error}");
            warn(&trouble);
            troubles.push(trouble);
        }
        troubles
    }
}

/// Whether two names are of one file, there or not.
fn same_file(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).ok();
    a == b || whole(a).is_some_and(|a| Some(a) == whole(b))
}
