//! Decoding of videos by the programs `ffprobe` and `ffmpeg`, which write frames to a pipe.
//!
//! A frame is a PGM or PPM image with its own header, so the decoder determines the size of a rotated or odd-sized
//! video. The declared number of frames is only an estimate: a video ends where the decoder exits *successfully*. A
//! decoder that prints errors, or exits long before the declared end, is an error, so that a truncated video is never
//! read as a shorter clip.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::{Color, Image};
use crate::clip::spool::{DecodedFrames, Spool};
use steradian::error::os_error_text;

/// Smallest accepted fraction of the declared number of frames, which containers round.
const MIN_DECODED_FRACTION: f64 = 0.95;
/// Number of frames that may always be missing: edit lists remove a few.
const FRAME_COUNT_SLACK: f64 = 2.0;
/// Largest number of characters of a decoder's error output in a message.
const STDERR_TAIL_CHARS: usize = 400;

/// Properties that a video file declares.
#[derive(Debug, Clone, Copy)]
struct VideoInfo {
    /// Frames per second.
    rate: Option<f64>,
    /// Number of frames.
    frames: Option<u64>,
}

/// A running decoder process.
struct Decoder<'a> {
    path: &'a Path,
    color: Color,
    declared: VideoInfo,
    child: Child,
    pipe: BufReader<ChildStdout>,
    /// Thread that collects the error output.
    errors: JoinHandle<Vec<u8>>,
    /// Number of frames so far.
    frames: u64,
}

impl<'a> Decoder<'a> {
    /// Starts the decoder of a file.
    fn start(path: &'a Path, color: Color) -> Result<Self> {
        let declared = probe(path)?;
        let mut child = tool("ffmpeg", path, &["-xerror"])
            .args(["-map", "0:v:0", "-fps_mode", "passthrough", "-pix_fmt", pixel_format(color)])
            .args(["-f", "image2pipe", "-c:v", if color == Color::Gray { "pgm" } else { "ppm" }, "pipe:1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| cannot_start("ffmpeg", path, &e))?;
        let pipe = BufReader::with_capacity(1 << 18, child.stdout.take().expect("stdout is piped"));
        let mut errors = child.stderr.take().expect("stderr is piped");
        // Read concurrently: the decoder would block on a full pipe of errors.
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            text
        });
        Ok(Self { path, color, declared, child, pipe, errors, frames: 0 })
    }

    /// The properties that the file declares.
    fn declared(&self) -> VideoInfo {
        self.declared
    }

    /// The next frame; `None` after the last one.
    fn next_frame(&mut self) -> Result<Option<Image>> {
        let image = read_pnm(&mut self.pipe, self.color).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.abort("a frame is truncated"),
            _ => Error::io(self.path, e),
        })?;
        self.frames += u64::from(image.is_some());
        Ok(image)
    }

    /// Waits for the end of a decoder after its last frame; fails unless it exited successfully.
    fn finish(mut self) -> Result<()> {
        // The decoder would block if it wrote another frame.
        drop(self.pipe);
        let status = self.child.wait().map_err(|e| Error::io(self.path, e))?;
        let errors = stderr_tail(&self.errors.join().unwrap_or_default());
        let (path, frames) = (self.path, self.frames);
        if !status.success() || !errors.is_empty() {
            let errors = if errors.is_empty() { status.to_string() } else { errors };
            return Err(incomplete(path, frames, &format!("ffmpeg failed: {errors}")));
        }
        match self.declared.frames {
            Some(declared) if (frames as f64) < MIN_DECODED_FRACTION * declared as f64 - FRAME_COUNT_SLACK => {
                Err(incomplete(path, frames, &format!("the file declares {declared} frames")))
            }
            _ if frames == 0 => Err(incomplete(path, frames, "the video stream is empty")),
            _ => Ok(()),
        }
    }

    /// Stops a decoder before its last frame.
    fn stop(mut self) {
        // Fails if the decoder has exited, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.errors.join();
    }

    fn abort(&mut self, cause: &str) -> Error {
        let _ = self.child.kill();
        incomplete(self.path, self.frames, cause)
    }
}

/// Decodes the selected frames of a video. Also returns their number per second, if the file declares a rate.
pub(crate) fn spool_video(path: &Path, options: &ClipOptions) -> Result<(DecodedFrames, Option<f64>)> {
    // One decoder per color format: gray levels then do not depend on whether colors are requested.
    let start = |color: &Color| Decoder::start(path, *color);
    let mut decoders = options.formats().iter().map(start).collect::<Result<Vec<_>>>()?;
    let rate = decoders[0].declared().rate.map(|rate| rate / options.stride as f64);
    let mut spool = Spool::new(path, options)?;
    let mut count = 0;
    loop {
        if options.is_past_end(count) {
            decoders.into_iter().for_each(Decoder::stop);
            break;
        }
        let images = decoders.iter_mut().map(Decoder::next_frame).collect::<Result<Option<Vec<_>>>>()?;
        let Some(images) = images else {
            decoders.into_iter().try_for_each(Decoder::finish)?;
            break;
        };
        if options.selects(count) {
            spool.add(&images, count as u64)?;
        }
        count += 1;
    }
    options.check_range(path, count)?;
    Ok((spool.finish()?, rate))
}

/// The [`Error::CorruptFile`] of a video that was not decoded completely.
fn incomplete(path: &Path, frames: u64, cause: &str) -> Error {
    Error::corrupt_file(
        path,
        format!(
            "cannot decode the video completely: got {frames} frames, {cause}; to use this part, convert it first with \
             `ffmpeg -i INPUT -c:v ffv1 part.mkv`"
        ),
    )
}

/// Reads the declared properties of a video; fails if the file is not a video.
fn probe(path: &Path) -> Result<VideoInfo> {
    let output = tool("ffprobe", path, &[])
        .args(["-select_streams", "v:0", "-show_entries", "stream=avg_frame_rate,nb_frames"])
        .args(["-of", "default=noprint_wrappers=1"])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| cannot_start("ffprobe", path, &e))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = stderr_tail(&output.stderr);
        return Err(Error::corrupt_file(path, format!("ffmpeg does not recognize the file as a video: {errors}")));
    }
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    if field("avg_frame_rate").is_none() {
        return Err(Error::corrupt_file(
            path,
            "the file has no video stream; pass a video, a folder of images or a .npy array",
        ));
    }
    let rate = field("avg_frame_rate").and_then(|rate| {
        let (frames, seconds) = rate.split_once('/')?;
        Some(frames.parse::<f64>().ok()? / seconds.parse::<f64>().ok()?)
    });
    Ok(VideoInfo {
        rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0),
        frames: field("nb_frames").and_then(|count| count.parse().ok()),
    })
}

/// A command of the ffmpeg family that may read files but not the network, with this file as input.
fn tool(program: &str, path: &Path, options: &[&str]) -> Command {
    let mut input = std::ffi::OsString::from("file:");
    input.push(path);
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error"]).args(options);
    command.args(["-protocol_whitelist", "file,pipe", "-i"]).arg(input);
    command
}

fn cannot_start(program: &str, path: &Path, error: &io::Error) -> Error {
    let problem = if error.kind() == io::ErrorKind::NotFound {
        format!(
            "the program {program} is not installed, which reads video; install it with `apt install ffmpeg`, `brew install \
             ffmpeg` or `winget install ffmpeg`, or give a folder of images or an (n, height, width) .npy"
        )
    } else {
        format!("cannot start the program {program}: {}", os_error_text(error))
    };
    Error::io(path, io::Error::new(error.kind(), problem))
}

/// The end of the error output of a program, on one line.
pub(crate) fn stderr_tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines.join("; ");
    let skip = joined.chars().count().saturating_sub(STDERR_TAIL_CHARS);
    joined.chars().skip(skip).collect()
}

/// The ffmpeg name of a color format.
pub(crate) fn pixel_format(color: Color) -> &'static str {
    match color {
        Color::Gray => "gray",
        Color::Rgb => "rgb24",
    }
}

/// Reads the next PGM or PPM image of a stream; `None` at its end.
fn read_pnm(stream: &mut impl BufRead, color: Color) -> io::Result<Option<Image>> {
    if stream.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut fields = [0usize; 3];
    let mut magic = [0; 2];
    stream.read_exact(&mut magic)?;
    for field in &mut fields {
        *field = read_number(stream)?;
    }
    let [width, height, white] = fields;
    let expected = if color == Color::Gray { b"P5" } else { b"P6" };
    if &magic != expected || white != 255 || width == 0 || height == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "expected a PGM or PPM image from the decoder"));
    }
    let mut pixels = vec![0; width * height * color.channels()];
    stream.read_exact(&mut pixels)?;
    Ok(Some(Image { height, width, color, pixels }))
}

/// Reads a number and the whitespace character after it.
fn read_number(stream: &mut impl BufRead) -> io::Result<usize> {
    let mut number: Option<usize> = None;
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match (byte[0], number) {
            (digit @ b'0'..=b'9', _) => {
                let value = number.unwrap_or(0);
                number = Some((value * 10 + usize::from(digit - b'0')).min(1 << 20));
            }
            (b' ' | b'\n' | b'\t' | b'\r', None) => {}
            (b' ' | b'\n' | b'\t' | b'\r', Some(number)) => return Ok(number),
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "expected an integer in the header of an image",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_with_headers_are_read_from_a_stream() {
        let mut stream: &[u8] = b"P5\n3 2\n255\nabcdefP5\n1 1\n255\n\nP5\n2 2\n255\nxyz";
        let mut next = || read_pnm(&mut stream, Color::Gray);
        let first = next().unwrap().unwrap();
        assert_eq!((first.size(), first.pixels.as_slice()), ((2, 3), &b"abcdef"[..]));
        assert_eq!(next().unwrap().unwrap().pixels, b"\n");
        assert_eq!(next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(read_pnm(&mut &b""[..], Color::Gray).unwrap().is_none());
        let colored = b"P6\n1 1\n255\nabc";
        assert_eq!(read_pnm(&mut &colored[..], Color::Rgb).unwrap().unwrap().pixels, b"abc");
        assert_eq!(read_pnm(&mut &colored[..], Color::Gray).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
