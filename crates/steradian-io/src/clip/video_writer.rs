//! Writer of videos by the program `ffmpeg`; a video is renamed into place when complete.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use steradian::{Error, Result};
use tempfile::TempPath;

use crate::clip::image::Color;
use crate::clip::video_reader::{pixel_format, stderr_tail};
use crate::output::write::cannot_write;
use steradian::error::os_error_text;

/// A video (`.mp4`) that is being written.
#[derive(Debug)]
pub struct MovieWriter {
    path: PathBuf,
    /// The temporary file, removed unless it is renamed into place.
    temporary: Option<TempPath>,
    child: Child,
    /// Thread that collects the error output.
    errors: Option<JoinHandle<Vec<u8>>>,
}

impl MovieWriter {
    /// True if the program `ffmpeg` can be run.
    pub fn available() -> bool {
        let mut command = Command::new("ffmpeg");
        command.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Starts a video of frames of this height and width with `rate` frames per second. An odd side is padded by one
    /// black row or column, since players require even sides.
    pub fn create(path: impl AsRef<Path>, (height, width): (usize, usize), rate: f64, color: Color) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new()
            .prefix(".steradian-")
            .suffix(".part")
            .make_in(folder, |name| File::create_new(name))
            .map_err(|e| cannot_write(&path, &e))?
            .into_temp_path();
        let mut child = Command::new("ffmpeg")
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
            .arg(&temporary)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| cannot_write(&path, &e))?;
        let mut errors = child.stderr.take().expect("stderr is piped");
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            text
        });
        Ok(Self { path, temporary: Some(temporary), child, errors: Some(errors) })
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
        let status = self.child.wait().map_err(|e| cannot_write(&self.path, &e))?;
        if !status.success() {
            return Err(self.failed(&format!("ffmpeg failed: {status}")));
        }
        Ok(())
    }

    /// Finishes the encoding and renames the video into place.
    pub fn finish(mut self) -> Result<()> {
        self.complete()?;
        let temporary = self.temporary.take().expect("only `finish` takes it");
        temporary.persist(&self.path).map_err(|e| cannot_write(&self.path, &e.error))
    }

    fn failed(&mut self, cause: &str) -> Error {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let errors = self.errors.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let errors = stderr_tail(&errors);
        cannot_write(&self.path, &io::Error::other(if errors.is_empty() { cause.to_string() } else { errors }))
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
