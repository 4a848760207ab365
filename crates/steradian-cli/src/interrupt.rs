//! Interruption by Ctrl-C or by a request to terminate: what ends at once, and what ends in order.

use std::sync::{Mutex, MutexGuard, PoisonError};

use steradian::engine::CancelToken;
use steradian::{Error, Result};
#[cfg(unix)]
use steradian_io::signals::{BUS_ERROR, Signal, ignore_file_size_signal, watch};

use crate::outcome;

/// The phase of a command, which decides how it can be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No pass checks the token and no output is open: a signal ends the process.
    Opening,
    /// Passes, which stop at the next block; a second signal ends the process, since a dense step may take long.
    Running,
    /// Outputs are being written: passes stop at the next block, and the command ends in order.
    Writing,
}

struct State {
    phase: Phase,
    /// The token of the runner, once there is one.
    token: Option<CancelToken>,
    /// Exit code by the first signal.
    code: Option<u8>,
}

static STATE: Mutex<State> = Mutex::new(State { phase: Phase::Opening, token: None, code: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs the handlers; called once, at the start of the program.
pub fn install() -> Result<()> {
    #[cfg(unix)]
    let installed = {
        ignore_file_size_signal();
        watch(|signal| match signal {
            Signal::Interrupt => on_interrupt(INTERRUPTED),
            Signal::Terminate => on_interrupt(TERMINATED),
            Signal::BusError => {
                steradian_io::signals::remove_temporary_files();
                outcome::end(4, BUS_ERROR)
            }
        })
    };
    #[cfg(not(unix))]
    let installed = ctrlc::set_handler(|| on_interrupt(INTERRUPTED)).map_err(std::io::Error::other);
    installed.map_err(|e| Error::io("signals", e))
}

/// The exit code of a program that a signal ended: 128 plus the number of the signal.
const INTERRUPTED: u8 = 128 + 2;
#[cfg(unix)]
const TERMINATED: u8 = 128 + 15;

fn on_interrupt(code: u8) {
    let mut state = state();
    state.code.get_or_insert(code);
    match (state.phase, &state.token) {
        (Phase::Running, Some(token)) if !token.is_cancelled() => token.cancel(),
        (Phase::Writing, Some(token)) => token.cancel(),
        // An output without passes is written at once, so the command ends as if it were not interrupted.
        (Phase::Writing, None) => {}
        // The state stays locked, so that no output is created now.
        _ => {
            steradian_io::signals::remove_temporary_files();
            outcome::end(exit_code_of(&state), outcome::INTERRUPTED)
        }
    }
}

/// Starts a phase.
pub fn enter(phase: Phase) {
    state().phase = phase;
}

/// Opens data, which no token cancels: a signal ends the process, unless outputs are being written.
pub fn while_opening<T>(open: impl FnOnce() -> T) -> T {
    let before = state().phase;
    if before == Phase::Running {
        enter(Phase::Opening);
    }
    let opened = open();
    enter(before);
    opened
}

/// The token that a signal cancels from now on.
pub fn set_token(token: CancelToken) {
    state().token = Some(token);
}

/// The exit code of an interrupted command, by the first signal.
pub fn exit_code() -> u8 {
    exit_code_of(&state())
}

fn exit_code_of(state: &State) -> u8 {
    state.code.unwrap_or(INTERRUPTED)
}
