//! Signals that end a program: a thread receives them, so that the program can end in order.
//!
//! Handlers of signals may do almost nothing. Those of this file write one byte into a pipe, and a thread that reads the
//! pipe calls an ordinary function.

#![allow(unsafe_code)]

/// The message for a mapped file that was truncated while it was read.
#[cfg(unix)]
pub const BUS_ERROR: &str = "a file was truncated by another process while it was read, or its disk failed; run again when \
     the file is complete";

/// A signal that ends the program.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`, by Ctrl-C.
    Interrupt,
    /// `SIGTERM`, the request of another process.
    Terminate,
    /// `SIGBUS`: a mapped file was truncated. The thread that read it stays stopped, so the process must end.
    BusError,
}

#[cfg(unix)]
mod unix {
    use std::io::{self, PipeWriter, Read};
    use std::os::fd::{AsRawFd, RawFd};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::{BUS_ERROR, Signal};

    /// The writing end of the pipe; -1 before [`watch`].
    static PIPE: AtomicI32 = AtomicI32::new(-1);
    /// Keeps the writing end open.
    static WRITER: OnceLock<PipeWriter> = OnceLock::new();

    /// Calls a function for each `SIGINT`, `SIGTERM` and `SIGBUS`, in a thread of its own.
    ///
    /// Call it once, at the start of a program, never in a library.
    pub fn watch(mut on_signal: impl FnMut(Signal) + Send + 'static) -> io::Result<()> {
        let (mut reader, writer) = io::pipe()?;
        let descriptor: RawFd = writer.as_raw_fd();
        WRITER.set(writer).map_err(|_| io::Error::other("signals are watched already"))?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut byte = [0];
            while reader.read_exact(&mut byte).is_ok() {
                on_signal(match libc::c_int::from(byte[0]) {
                    libc::SIGINT => Signal::Interrupt,
                    libc::SIGTERM => Signal::Terminate,
                    _ => Signal::BusError,
                });
            }
        })?;
        PIPE.store(descriptor, Ordering::SeqCst);
        install(libc::SIGINT, forward as *const () as usize, libc::SA_RESTART);
        install(libc::SIGTERM, forward as *const () as usize, libc::SA_RESTART);
        install_sigbus_handler();
        Ok(())
    }

    /// Ignores `SIGXFSZ`, so that a write beyond the limit of file sizes is an ordinary error (`EFBIG`). Programs that
    /// this one starts ignore it, too.
    pub fn ignore_file_size_signal() {
        // SAFETY: ignoring a signal installs no handler.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// Installs a handler for `SIGBUS`: the process exits with one line and exit code 4 if a mapped file is truncated
    /// while it is read. After [`watch`] its function is called instead.
    ///
    /// Call it at the start of a program, never in a library.
    pub fn install_sigbus_handler() {
        let flags = libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_SIGINFO;
        install(libc::SIGBUS, on_bus_error as *const () as usize, flags);
    }

    /// Installs a handler: [`forward`], or [`on_bus_error`] with the flag `SA_SIGINFO`.
    fn install(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) {
        // SAFETY: `action` is a plain C struct for which zero bytes are a valid value; the callers pass a handler of
        // the form that the flags name, and it calls only async-signal-safe functions.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler;
            action.sa_flags = flags;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }

    extern "C" fn forward(signal: libc::c_int) {
        let byte = signal as u8;
        // SAFETY: `write` is async-signal-safe, the byte lives until it returns, and the descriptor is never closed.
        unsafe { libc::write(PIPE.load(Ordering::SeqCst), (&raw const byte).cast(), 1) };
    }

    extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        if PIPE.load(Ordering::SeqCst) >= 0 {
            forward(signal);
            // SAFETY: with `SA_SIGINFO` the system passes a valid pointer.
            if unsafe { (*info).si_code } <= 0 {
                // Another process sent the signal: this thread has no failed access and may hold locks.
                return;
            }
            loop {
                // SAFETY: `pause` is async-signal-safe. This thread cannot continue; the function of `watch` ends the
                // process.
                unsafe { libc::pause() };
            }
        }
        // SAFETY: `write` and `_exit` are async-signal-safe, and the texts are constants of their own lengths.
        unsafe {
            for text in ["error: ", BUS_ERROR, "\n"] {
                libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
            }
            libc::_exit(4);
        }
    }
}

#[cfg(unix)]
pub use unix::{ignore_file_size_signal, install_sigbus_handler, watch};

/// Systems without signals raise none for a truncated file.
#[cfg(not(unix))]
pub fn install_sigbus_handler() {}
