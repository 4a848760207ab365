//! A program of the ffmpeg family as a child process: its output with a time limit, its last errors, and its end.
//!
//! The output is read by a thread, so that a program that stops writing is an error after a time and not a wait without
//! end. The process is killed and reaped whenever the value is dropped.

use std::io::{self, BufRead, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Bytes per chunk of output.
const CHUNK: usize = 1 << 18;
/// Number of chunks that wait for the reader.
const CHUNKS: usize = 4;
/// Number of last bytes of the error output that are retained.
const ERROR_BYTES: usize = 8 << 10;
/// Time between two checks whether the process has ended.
const POLL: Duration = Duration::from_millis(5);

/// A running program whose output is read.
pub(crate) struct DecoderProcess {
    child: Child,
    /// Chunks of the output; disconnected at its end.
    output: Receiver<io::Result<Vec<u8>>>,
    /// The last bytes of the error output, sent at its end.
    errors: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    /// Number of bytes of the chunk that were consumed.
    used: usize,
    inactivity: Duration,
}

impl DecoderProcess {
    /// Starts a program. A read fails with the kind `TimedOut` if there is no output for `inactivity`.
    pub(crate) fn start(command: &mut Command, inactivity: Duration) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (mut stdout, mut stderr) =
            (child.stdout.take().expect("stdout is piped"), child.stderr.take().expect("stderr is piped"));
        let (send, output) = sync_channel(CHUNKS);
        let (send_errors, errors) = sync_channel(1);
        // From here on, a drop ends the program.
        let process = Self { child, output, errors, chunk: Vec::new(), used: 0, inactivity };
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        thread("ffmpeg-output").spawn(move || {
            loop {
                let mut chunk = vec![0; CHUNK];
                let read = stdout.read(&mut chunk);
                let ended = !matches!(read, Ok(1..));
                chunk.truncate(*read.as_ref().unwrap_or(&0));
                // An empty chunk would be the end; a send fails if the reader is gone.
                if matches!(read, Ok(0)) || send.send(read.map(|_| chunk)).is_err() || ended {
                    return;
                }
            }
        })?;
        thread("ffmpeg-errors").spawn(move || {
            // Read to the end, since the program would block on a full pipe; only the last bytes are retained.
            let (mut last, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stderr.read(&mut part) {
                last.extend_from_slice(&part[..count]);
                let excess = last.len().saturating_sub(ERROR_BYTES);
                last.drain(..excess);
            }
            let _ = send_errors.send(last);
        })?;
        Ok(process)
    }

    /// All output, at most `limit` bytes of it; fails with the kind `TimedOut` if the program does not end in time.
    pub(crate) fn read_all(&mut self, limit: usize) -> io::Result<Vec<u8>> {
        let start = Instant::now();
        let mut all = Vec::new();
        loop {
            let chunk = self.fill_buf()?;
            if chunk.is_empty() {
                return Ok(all);
            }
            let count = chunk.len();
            if all.len() + count > limit {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes of output")));
            }
            all.extend_from_slice(chunk);
            self.consume(count);
            if start.elapsed() > self.inactivity {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Waits for the end of the program and returns its status and the end of its error output. A program that does not
    /// exit in time, although its output has ended, is killed; its status then says so.
    pub(crate) fn finish(&mut self) -> io::Result<(ExitStatus, String)> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if start.elapsed() > self.inactivity {
                self.child.kill()?;
                break self.child.wait()?;
            }
            std::thread::sleep(POLL);
        };
        Ok((status, self.last_errors()))
    }

    /// Kills the program and returns the end of its error output.
    pub(crate) fn kill(&mut self) -> String {
        // Both fail if the process has been reaped, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.last_errors()
    }

    /// The end of the error output, on one line. A process that the program left behind may hold the pipe open, so this does
    /// not wait long.
    fn last_errors(&self) -> String {
        const GRACE_PERIOD: Duration = Duration::from_secs(1);
        stderr_tail(&self.errors.recv_timeout(GRACE_PERIOD).unwrap_or_default())
    }
}

impl Read for DecoderProcess {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for DecoderProcess {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.used == self.chunk.len() {
            self.used = 0;
            self.chunk = match self.output.recv_timeout(self.inactivity) {
                Ok(chunk) => chunk?,
                Err(RecvTimeoutError::Disconnected) => Vec::new(),
                Err(RecvTimeoutError::Timeout) => {
                    self.chunk.clear();
                    return Err(io::ErrorKind::TimedOut.into());
                }
            };
        }
        Ok(&self.chunk[self.used..])
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
    }
}

impl Drop for DecoderProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Largest number of characters of a program's error output in a message.
const STDERR_TAIL_CHARS: usize = 160;

/// The end of the error output of a program, on one line.
pub(crate) fn stderr_tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines.join("; ");
    let skip = joined.chars().count().saturating_sub(STDERR_TAIL_CHARS);
    joined.chars().skip(skip).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(300);

    fn shell(script: &str) -> DecoderProcess {
        DecoderProcess::start(Command::new("sh").args(["-c", script]), SHORT).unwrap()
    }

    /// True if a process with this id exists, as a zombie or not.
    fn exists(id: u32) -> bool {
        std::path::Path::new(&format!("/proc/{id}")).exists()
    }

    #[test]
    fn output_and_errors_are_read_to_the_end() {
        let mut process = shell("head -c 3000000 /dev/zero; echo one >&2; head -c 100000 /dev/zero >&2; echo last >&2");
        assert_eq!(process.read_all(1 << 22).unwrap().len(), 3_000_000);
        let (status, errors) = process.finish().unwrap();
        assert!(status.success() && errors.ends_with("last") && errors.len() <= 2000, "{errors}");
    }

    #[test]
    fn a_program_that_stops_writing_is_stopped_and_reaped() {
        let mut process = shell("echo start; exec sleep 1000");
        let id = process.child.id();
        let start = Instant::now();
        assert_eq!(process.read_all(100).unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(process);
        assert!(start.elapsed() >= SHORT && start.elapsed() < 20 * SHORT, "{:?}", start.elapsed());
        assert!(!cfg!(target_os = "linux") || !exists(id));
        // The output has ended, but the program has not.
        let mut process = shell("exec 1>&- 2>&-; exec sleep 1000");
        assert_eq!(process.read_all(100).unwrap(), b"");
        let (status, _) = process.finish().unwrap();
        assert!(!status.success());
    }

    #[test]
    fn output_without_an_end_is_bounded() {
        let mut process = shell("exec cat /dev/zero");
        assert_eq!(process.read_all(1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        // Output that trickles is bounded by the time.
        let mut process = shell("while :; do echo x; sleep 0.05; done");
        assert_eq!(process.read_all(1 << 20).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
