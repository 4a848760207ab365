//! The writer of videos through the program `ffmpeg`; the file is renamed into place when complete.

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

/// A video in the making (`.mp4`).
#[derive(Debug)]
pub struct MovieWriter {
    path: PathBuf,
    /// Removes the temporary file unless it has got its name.
    temporary: Option<TempPath>,
    child: Child,
    complaints: Option<JoinHandle<Vec<u8>>>,
}

impl MovieWriter {
    /// Whether this machine can make videos.
    pub fn available() -> bool {
        let mut ask = Command::new("ffmpeg");
        ask.arg("-version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ask.status().is_ok_and(|status| status.success())
    }

    /// Starts a video of frames of this height and width at a rate of frames a second. Sides become even, as players want them:
    /// a last column or row is black.
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
        let mut errors = child.stderr.take().expect("it is piped");
        let complaints = std::thread::spawn(move || {
            let mut words = Vec::new();
            let _ = errors.read_to_end(&mut words);
            words
        });
        Ok(Self { path, temporary: Some(temporary), child, complaints: Some(complaints) })
    }

    /// Adds a frame.
    pub fn add(&mut self, pixels: &[u8]) -> Result<()> {
        let pipe = self.child.stdin.as_mut().expect("it is open until the end");
        match pipe.write_all(pixels) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(&error.to_string())),
        }
    }

    /// Ends the video, to which nothing can be added any more; from then on only the name is missing, which takes no room.
    pub fn complete(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait().map_err(|e| cannot_write(&self.path, &e))?;
        if !status.success() {
            return Err(self.failed(&format!("ffmpeg ended with {status}")));
        }
        Ok(())
    }

    /// Ends the video and gives it its name.
    pub fn finish(mut self) -> Result<()> {
        self.complete()?;
        let written = self.temporary.take().expect("it is there until the end");
        written.persist(&self.path).map_err(|e| cannot_write(&self.path, &e.error))
    }

    fn failed(&mut self, what: &str) -> Error {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        let words = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let words = stderr_tail(&words);
        cannot_write(&self.path, &io::Error::other(if words.is_empty() { what.to_string() } else { words }))
    }
}

impl Drop for MovieWriter {
    fn drop(&mut self) {
        // A video that is not finished is not wanted; one that is has no child any more.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
