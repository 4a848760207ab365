//! Outcomes of a command: exit codes, and the only place that prints errors, warnings and notes.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | success, or the reader of the output closed the pipe |
//! | 2 | usage error |
//! | 3 | invalid data or corrupt file |
//! | 4 | I/O error, or no memory left |
//! | 5 | internal error: a panic |
//! | 130 | interrupted by `SIGINT` (Ctrl-C) |
//! | 143 | terminated by `SIGTERM` |

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use steradian::Error;

use crate::args::Cli;
use crate::interrupt;
use crate::remedy;
use crate::terminal;

/// The reason why a command stopped early.
#[derive(Debug)]
pub enum CommandError {
    /// An error.
    Failed(Error),
    /// An error after a checkpoint was saved, and a note on the checkpoint.
    FailedWithCheckpoint(Error, String),
    /// An interruption after a checkpoint was saved, and the way to resume.
    Interrupted(String),
    /// The reader closed the pipe of the output, as `head` does.
    ClosedPipe,
    /// A panic: its message and its place.
    Internal(String),
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The result of a command.
pub type CommandResult<T = ()> = Result<T, CommandError>;

/// Runs a command; memory that the system does not have is an error of the command.
pub fn guarded(command: impl FnOnce() -> CommandResult) -> CommandResult {
    steradian::memory::guard(|| Ok(command()))?
}

/// The exit code of a finished command; prints the error, if any, on standard error.
pub fn exit(outcome: CommandResult) -> ExitCode {
    // A signal may end the process now; its message and exit code are the ones to report.
    steradian_io::signals::wait_if_ending();
    match outcome {
        Ok(()) | Err(CommandError::ClosedPipe) => ExitCode::SUCCESS,
        Err(CommandError::Failed(error @ Error::Cancelled)) => {
            print_message("error", &INTERRUPTED);
            ExitCode::from(code(&error))
        }
        Err(CommandError::Interrupted(how)) => {
            print_message("error", &format!("interrupted; {how}"));
            ExitCode::from(code(&Error::Cancelled))
        }
        Err(CommandError::Internal(panic)) => {
            print_message("error", &format!("internal error: {panic}; please report it with the command and its data"));
            ExitCode::from(INTERNAL)
        }
        Err(CommandError::Failed(error)) => {
            print_message("error", &remedy::message(&error));
            ExitCode::from(code(&error))
        }
        Err(CommandError::FailedWithCheckpoint(error, left)) => {
            print_message("error", &remedy::message(&error));
            note(&left);
            ExitCode::from(code(&error))
        }
    }
}

/// The exit code of an internal error.
const INTERNAL: u8 = 5;

/// The message of a command that was interrupted.
pub const INTERRUPTED: &str = "interrupted; nothing was written";

/// Prints an error and ends the process at once.
pub fn end(code: u8, message: &str) -> ! {
    print_message("error", &message);
    std::process::exit(code.into())
}

fn code(error: &Error) -> u8 {
    match error {
        Error::InvalidArgument { .. }
        | Error::RankTooSmall { .. }
        | Error::OverMemory { .. }
        | Error::FeatureCount { .. } => 2,
        Error::InvalidData(_)
        | Error::NotFinite { .. }
        | Error::MissingCell { .. }
        | Error::NotNumeric { .. }
        | Error::OverDecoded { .. }
        | Error::CorruptFile { .. } => 3,
        Error::Io { .. } | Error::OutOfMemory { .. } => 4,
        Error::Cancelled => interrupt::exit_code(),
        // `Error` is non-exhaustive: a variant without a code of its own counts as invalid data.
        _ => 3,
    }
}

/// Prints a warning on standard error.
pub fn warn(message: &str) {
    print_message("warning", &message);
}

/// Prints a note on standard error.
pub fn note(message: &str) {
    print_message("note", &message);
}

fn print_message(kind: &str, message: &dyn std::fmt::Display) {
    // Nothing can be reported if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{kind}: {}", terminal::line(&message.to_string()));
}

/// Prints the help, or an error of the arguments, and returns the exit code.
pub fn usage(error: &clap::Error) -> ExitCode {
    match error.use_stderr() {
        true => {
            // An error quotes arguments, which may be names of files. Escaped arguments give the same error with their
            // escaped forms in it; in the text of the error, line breaks of an argument could not be told from its own.
            let arguments = std::env::args_os().map(|word| terminal::line(&word.to_string_lossy()).into_owned());
            let escaped = Cli::try_parse_from(arguments).err();
            let text = escaped.as_ref().unwrap_or(error).render().to_string();
            drop(write!(std::io::stderr(), "{}", terminal::lines(&text)));
        }
        false => drop(error.print()),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_exit_code() {
        let io = std::io::Error::from(std::io::ErrorKind::NotFound);
        let over = Error::OverMemory { needed: 2, limit: 1, with: "the gram solver".into(), alternative: None };
        let missing = Error::MissingCell { path: "t.csv".into(), place: "row 1".into(), text: "NA".into() };
        let not_numeric =
            Error::NotNumeric { path: "t.csv".into(), place: "row 1".into(), numeric: Vec::new(), row_names: false };
        for (error, expected) in [
            (Error::invalid_argument("d"), 2),
            (Error::invalid_parameter("n_components", "d"), 2),
            (Error::RankTooSmall { n_components: 7, rank: 6, of: "the centered data" }, 2),
            (over, 2),
            (Error::FeatureCount { expected: 6, found: 5 }, 2),
            (Error::NotFinite { value: f64::NAN, row: 0, column: 0 }, 3),
            (missing, 3),
            (not_numeric, 3),
            (Error::invalid_data("equal rows"), 3),
            (Error::corrupt_file("x.npy", "short"), 3),
            (Error::io("x.npy", io), 4),
            (Error::OutOfMemory { bytes: 1 << 30 }, 4),
            (Error::Cancelled, 130),
        ] {
            assert_eq!(code(&error), expected, "{error}");
        }
    }
}
