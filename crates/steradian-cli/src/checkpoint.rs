//! The checkpoint of a fit: opened before the first pass, removed after the last output, and its messages.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use steradian::engine::Journal;
use steradian::fit::FitIdentity;
use steradian::{Config, Error, Plan, Result};
use steradian_baselines::fits_by_passes;
use steradian_io::{Checkpoint, Data, file_stamp};

use crate::args::FitArgs;
use crate::outcome::{CommandError, note, warn};
use crate::remedy;
use crate::session::Session;

/// The checkpoint file of a fit in progress.
pub struct FitCheckpoint {
    path: PathBuf,
    file: Arc<Checkpoint>,
    /// Warnings about writes that failed.
    failures: Arc<Mutex<Vec<String>>>,
}

impl FitCheckpoint {
    /// Rejects a checkpoint that the method does not support, before data are opened.
    pub fn check(args: &FitArgs, config: &Config) -> Result<()> {
        if args.checkpoint.is_none() {
            return Ok(());
        }
        if !fits_by_passes(config.method()) {
            return Err(Error::invalid_argument(format!(
                "--checkpoint is not supported by --method {} (it works in memory after one pass)",
                config.method().name()
            )));
        }
        Ok(())
    }

    /// Opens the checkpoint of `--checkpoint`, and prints a note if the fit resumes from it.
    pub fn begin(args: &FitArgs, plan: &Plan, data: &Data, work: &Session) -> Result<Option<Self>> {
        let Some(path) = &args.checkpoint else { return Ok(None) };
        let mut origin = FitIdentity::new(plan, data, Some(&file_stamp(&args.data)?))?;
        if let Some((rows, _)) = data.fitted_rows() {
            origin = origin.with_rows(rows);
        }
        if let Some(mask) = data.missing_mask() {
            origin = origin.with_mask(mask)?;
        }
        let (failures, aside) = (Arc::new(Mutex::new(Vec::new())), work.aside());
        let recorded = Arc::clone(&failures);
        let on_failure = move |failure: String| {
            let failure = remedy::without_error_numbers(failure);
            aside(&|| warn(&failure));
            recorded.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        };
        let file = Arc::new(Checkpoint::open(path, &origin, args.checkpoint_every, on_failure)?);
        let checkpoint = Self { path: path.clone(), file, failures };
        if checkpoint.file.passes() > 0 || checkpoint.file.has_part() {
            let message = format!("resuming from {} ({})", checkpoint.path.display(), checkpoint.content());
            work.aside()(&|| note(&message));
            if checkpoint.file.is_of_another_file() {
                let warning = format!(
                    "{} is another file than in the interrupted fit; size, time of modification and sampled rows are equal. \
                     Remove {} if its content differs",
                    args.data.display(),
                    checkpoint.path.display()
                );
                work.aside()(&|| warn(&warning));
            }
        }
        Ok(Some(checkpoint))
    }

    /// The journal that the runner records passes in.
    pub fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.file) as _
    }

    /// The number of passes in the checkpoint.
    fn content(&self) -> String {
        let partial = if self.file.has_part() { ", 1 in progress" } else { "" };
        match self.file.passes() {
            1 => format!("1 pass complete{partial}"),
            passes => format!("{passes} passes complete{partial}"),
        }
    }

    /// Adds to an error where progress was saved and how to resume.
    pub fn stop(self, error: Error) -> CommandError {
        let (path, content) = (self.path.display(), self.content());
        let hint = match error {
            Error::Cancelled => {
                return CommandError::Interrupted(format!(
                    "progress saved to {path} ({content}). Run the same command again to resume"
                ));
            }
            Error::Io { .. } => "fix the cause and run the same command again to resume",
            _ => "delete it before a fit of other data or with other options",
        };
        CommandError::FailedWithCheckpoint(error, format!("progress saved to {path} ({content}); {hint}"))
    }

    /// Removes the checkpoint after the outputs are written; returns the warnings about it.
    pub fn finish(self) -> Vec<String> {
        let mut failures = std::mem::take(&mut *self.failures.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.file.remove() {
            let failure = format!("cannot remove the checkpoint ({}); delete it manually", remedy::message(&error));
            warn(&failure);
            failures.push(failure);
        }
        failures
    }
}
