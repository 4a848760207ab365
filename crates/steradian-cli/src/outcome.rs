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
pub enum Stop {
    /// It failed.
    Failed(Error),
    /// It failed, and something is left: what to do with it.
    FailedLeaving(Error, String),
    /// Ctrl-C ended it, and something is left to go on from: how.
    Interrupted(String),
    /// Nobody reads the output any more; `head` does so.
    ClosedPipe,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What every command returns.
pub type Outcome<T = ()> = Result<T, Stop>;

/// The exit code of a finished command; says on standard error what went wrong.
pub fn exit(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) | Err(Stop::ClosedPipe) => ExitCode::SUCCESS,
        Err(Stop::Failed(Error::Cancelled)) => ExitCode::from(interrupted()),
        Err(Stop::Interrupted(how)) => {
            complain("error", &format!("interrupted; {how}"));
            ExitCode::from(INTERRUPTED)
        }
        Err(Stop::Failed(error)) => {
            complain("error", &error);
            ExitCode::from(code(&error))
        }
        Err(Stop::FailedLeaving(error, left)) => {
            complain("error", &error);
            note(&left);
            ExitCode::from(code(&error))
        }
    }
}

/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Says that Ctrl-C ended the work; the exit code for it.
pub fn interrupted() -> u8 {
    complain("error", &"interrupted; nothing was written");
    INTERRUPTED
}

fn code(error: &Error) -> u8 {
    match error {
        Error::Asked(_) | Error::RankExceeded { .. } => 2,
        Error::Data(_) | Error::Broken { .. } => 3,
        Error::Io { .. } => 4,
        Error::Cancelled => INTERRUPTED,
        // The library may gain kinds of errors; until they have a code of their own they count as bad data.
        _ => 3,
    }
}

/// Prints a warning on standard error.
pub fn warn(message: &str) {
    complain("warning", &message);
}

/// Says on standard error what is good to know.
pub fn note(message: &str) {
    complain("note", &message);
}

fn complain(kind: &str, message: &dyn std::fmt::Display) {
    // A closed standard error leaves nobody to tell.
    let _ = writeln!(std::io::stderr(), "{kind}: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_error_has_its_code() {
        let io = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(code(&Error::asked("d")), 2);
        assert_eq!(code(&Error::data("NaN")), 3);
        assert_eq!(code(&Error::broken("x.npy", "short")), 3);
        assert_eq!(code(&Error::io("x.npy", io)), 4);
        assert_eq!(code(&Error::Cancelled), 130);
    }
}
