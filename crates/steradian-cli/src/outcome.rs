//! Outcomes of a command: exit codes, and the one place where errors are printed.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done, or the reader of our output has closed it |
//! | 2 | asked wrong |
//! | 3 | bad data or a broken file |
//! | 4 | i/o |
//! | 130 | interrupted |

use std::io::Write;
use std::process::ExitCode;

use steradian::Error;

/// Why a command stopped before its end.
#[derive(Debug)]
pub enum CommandError {
    /// It failed.
    Failed(Error),
    /// It failed, and something is left: what to do with it.
    FailedWithCheckpoint(Error, String),
    /// Ctrl-C ended it, and something is left to go on from: how.
    Interrupted(String),
    /// Nobody reads the output any more; `head` does so.
    ClosedPipe,
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What every command returns.
pub type Outcome<T = ()> = Result<T, CommandError>;

/// The exit code of a finished command; says on standard error what went wrong.
pub fn exit(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) | Err(CommandError::ClosedPipe) => ExitCode::SUCCESS,
        Err(CommandError::Failed(Error::Cancelled)) => ExitCode::from(interrupted()),
        Err(CommandError::Interrupted(how)) => {
            print_message("error", &format!("interrupted; {how}"));
            ExitCode::from(INTERRUPTED)
        }
        Err(CommandError::Failed(error)) => {
            print_message("error", &error);
            ExitCode::from(code(&error))
        }
        Err(CommandError::FailedWithCheckpoint(error, left)) => {
            print_message("error", &error);
            note(&left);
            ExitCode::from(code(&error))
        }
    }
}

/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Says that Ctrl-C ended the work; the exit code for it.
pub fn interrupted() -> u8 {
    print_message("error", &"interrupted; nothing was written");
    INTERRUPTED
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
        | Error::CorruptFile { .. } => 3,
        Error::Io { .. } => 4,
        Error::Cancelled => INTERRUPTED,
        // The library may gain kinds of errors; until they have a code of their own they count as bad data.
        _ => 3,
    }
}

/// Prints a warning on standard error.
pub fn warn(message: &str) {
    print_message("warning", &message);
}

/// Says on standard error what is good to know.
pub fn note(message: &str) {
    print_message("note", &message);
}

fn print_message(kind: &str, message: &dyn std::fmt::Display) {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "{kind}: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_code() {
        let io = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(code(&Error::invalid_argument("d")), 2);
        assert_eq!(code(&Error::invalid_data("NaN")), 3);
        assert_eq!(code(&Error::corrupt_file("x.npy", "short")), 3);
        assert_eq!(code(&Error::io("x.npy", io)), 4);
        assert_eq!(code(&Error::Cancelled), 130);
    }
}
