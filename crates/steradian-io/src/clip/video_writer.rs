//! Writer of videos by the program `ffmpeg`; a video gets its name when complete.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use steradian::{Error, Result};

use crate::clip::decoder_process::stderr_tail;
use crate::clip::image::Color;
use crate::clip::video_reader::pixel_format;
use crate::output::atomic_file::{AtomicFile, cannot_write};
use steradian::error::os_error_text;

/// A video (`.mp4`) that is being written.
#[derive(Debug)]
pub struct MovieWriter {
    /// The file that `ffmpeg` writes; `None` after `finish`.
    file: Option<AtomicFile>,
    child: Child,
    /// Thread that collects the error output.
    errors: Option<JoinHandle<Vec<u8>>>,
}

impl MovieWriter {
    /// True if the program `ffmpeg` is installed.
    ///
    /// # Errors
    /// If the system cannot start a process now.
    pub fn available() -> Result<bool> {
        let mut command = Command::new("ffmpeg");
        command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) => Ok(status.success()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
                Ok(false)
            }
            Err(error) => Err(Error::io("ffmpeg", error)),
        }
    }

    /// Starts a video of frames of this height and width with `rate` frames per second. An odd side is padded by one
    /// black row or column, since players require even sides.
    pub fn create(path: impl AsRef<Path>, (height, width): (usize, usize), rate: f64, color: Color) -> Result<Self> {
        Self::begin(AtomicFile::create(path)?, (height, width), rate, color)
    }

    /// Starts a video whose content goes to a new file.
    pub fn begin(file: AtomicFile, (height, width): (usize, usize), rate: f64, color: Color) -> Result<Self> {
        let failed = |e: io::Error| cannot_write(file.path(), &e);
        let (handle, name) = file.handle();
        let mut command = Command::new("ffmpeg");
        // A Ctrl-C of the terminal reaches this program only, which then stops the encoder.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .args(["-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", pixel_format(color)])
            .args(["-s", &format!("{width}x{height}"), "-r", &format!("{rate:.3}"), "-i", "pipe:0"])
            .args([
                "-vf",
                "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                "-pix_fmt",
                "yuv420p",
                "-movflags",
                "+faststart",
                "-f",
                "mp4",
            ])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped());
        match name {
            Some(name) => command.arg(name).stdout(Stdio::null()),
            // A file without a name is the standard output of the encoder, which opens it anew by this path: it seeks in
            // the file and reads it again.
            None => command.arg("/proc/self/fd/1").stdout(handle.try_clone().map_err(failed)?),
        };
        let mut child = command.spawn().map_err(failed)?;
        let mut errors = child.stderr.take().expect("stderr is piped");
        let read_errors = move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            text
        };
        let errors = match std::thread::Builder::new().spawn(read_errors) {
            Ok(errors) => errors,
            Err(error) => {
                // Without the thread the encoder could block on a full pipe of errors.
                let _ = child.kill().and_then(|()| child.wait());
                return Err(failed(error));
            }
        };
        Ok(Self { file: Some(file), child, errors: Some(errors) })
    }

    /// Adds a frame.
    pub fn add(&mut self, pixels: &[u8]) -> Result<()> {
        let pipe = self.child.stdin.as_mut().expect("stdin is open until `complete`");
        match pipe.write_all(pixels) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(&os_error_text(&error))),
        }
    }

    /// Finishes the encoding. No frame can be added afterwards, and the remaining rename needs no disk space.
    pub fn complete(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(|e| cannot_write(self.path(), &e))?;
        if !status.success() {
            return Err(self.failed(&format!("ffmpeg failed: {status}")));
        }
        Ok(())
    }

    /// Finishes the encoding and puts the video into place.
    pub fn finish(mut self) -> Result<()> {
        self.complete()?;
        self.file.take().expect("only `finish` takes it").finish()
    }

    fn path(&self) -> &Path {
        self.file.as_ref().map_or(Path::new(""), AtomicFile::path)
    }

    fn failed(&mut self, cause: &str) -> Error {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let errors = self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let errors = stderr_tail(&errors);
        cannot_write(self.path(), &io::Error::other(if errors.is_empty() { cause.to_string() } else { errors }))
    }
}

impl Drop for MovieWriter {
    fn drop(&mut self) {
        // Stops the encoder of a video that was not finished; the encoder of a finished one has exited.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
