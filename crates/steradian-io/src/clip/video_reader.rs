//! Video through the programs `ffprobe` and `ffmpeg`: frames come through a pipe, each with its own size.
//!
//! A frame arrives as a PGM or PPM image, so sizes need no arithmetic of ours: a turned or odd-sized video says itself what it
//! is. The number of frames that a file declares is not trusted; a video ends where the decoder ends *well*. A decoder
//! that complains, or stops far before the declared end, makes an error: a short clip must not pass for a whole one.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::{Color, Image};
use crate::clip::spool::{Spool, Spooled};

/// Containers round the number of frames; fewer than this share of it is a loss.
const DECLARED_SHARE: f64 = 0.95;
/// So many frames may be missing in any case: edit lists cut a few.
const DECLARED_SLACK: f64 = 2.0;
/// How much of a decoder's complaint is shown.
const STDERR_TAIL_BYTES: usize = 400;

/// What a file says of itself.
#[derive(Debug, Clone, Copy)]
struct Declared {
    /// Frames per second, if it says so.
    rate: Option<f64>,
    frames: Option<u64>,
}

/// A running decoder.
struct Decoder<'a> {
    path: &'a Path,
    color: Color,
    declared: Declared,
    child: Child,
    pipe: BufReader<ChildStdout>,
    complaints: JoinHandle<Vec<u8>>,
    frames: u64,
}

impl<'a> Decoder<'a> {
    /// Starts to decode a file, in gray or in colour.
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
        let pipe = BufReader::with_capacity(1 << 18, child.stdout.take().expect("it is piped"));
        let mut errors = child.stderr.take().expect("it is piped");
        // Read beside the frames: a full pipe of complaints would stop the decoder.
        let complaints = std::thread::spawn(move || {
            let mut words = Vec::new();
            let _ = errors.read_to_end(&mut words);
            words
        });
        Ok(Self { path, color, declared, child, pipe, complaints, frames: 0 })
    }

    /// What the file says of itself.
    fn declared(&self) -> Declared {
        self.declared
    }

    /// The next frame, or nothing after the last.
    fn next_frame(&mut self) -> Result<Option<Image>> {
        let image = read_pnm(&mut self.pipe, self.color).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.lost("a frame ends in its middle"),
            _ => Error::io(self.path, e),
        })?;
        self.frames += u64::from(image.is_some());
        Ok(image)
    }

    /// Ends a decoder that has given its last frame; fails unless it ended well.
    fn finish(mut self) -> Result<()> {
        // Were there more frames after all, it would wait for somebody to read them.
        drop(self.pipe);
        let status = self.child.wait().map_err(|e| Error::io(self.path, e))?;
        let words = self.complaints.join().unwrap_or_default();
        let words = stderr_tail(&words);
        let (path, frames) = (self.path, self.frames);
        if !status.success() || !words.is_empty() {
            let words = if words.is_empty() { format!("it ended with {status}") } else { words };
            return Err(damaged(path, frames, &format!("ffmpeg says: {words}")));
        }
        match self.declared.frames {
            Some(declared) if (frames as f64) < DECLARED_SHARE * declared as f64 - DECLARED_SLACK => {
                Err(damaged(path, frames, &format!("the file declares {declared}")))
            }
            _ if frames == 0 => Err(damaged(path, frames, "the video stream is empty")),
            _ => Ok(()),
        }
    }

    /// Ends a decoder of which no more frames are wanted.
    fn stop(mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.complaints.join();
    }

    fn lost(&mut self, what: &str) -> Error {
        let _ = self.child.kill();
        damaged(self.path, self.frames, what)
    }
}

/// Decodes the chosen frames of a video; also their rate per second, if the file declares one.
pub(crate) fn spool_video(path: &Path, options: &ClipOptions) -> Result<(Spooled, Option<f64>)> {
    // Gray levels are the decoder's own, whether colours are wanted or not; so there is a decoder for each.
    let start = |color: &Color| Decoder::start(path, *color);
    let mut decoders = options.views().iter().map(start).collect::<Result<Vec<_>>>()?;
    let rate = decoders[0].declared().rate.map(|rate| rate / options.every as f64);
    let mut spool = Spool::new(path, options)?;
    let mut count = 0;
    loop {
        if options.past(count) {
            decoders.into_iter().for_each(Decoder::stop);
            break;
        }
        let views = decoders.iter_mut().map(Decoder::next_frame).collect::<Result<Option<Vec<_>>>>()?;
        let Some(views) = views else {
            decoders.into_iter().try_for_each(Decoder::finish)?;
            break;
        };
        if options.takes(count) {
            spool.add(&views, count as u64)?;
        }
        count += 1;
    }
    options.require_inside(path, count)?;
    Ok((spool.finish()?, rate))
}

fn damaged(path: &Path, frames: u64, why: &str) -> Error {
    Error::corrupt_file(
        path,
        format!(
            "the video could not be decoded to its end: {frames} frames came, then {why}; a part is not taken for the whole. \
             If that part is what you want, convert it first: ffmpeg -i INPUT -c:v ffv1 part.mkv"
        ),
    )
}

/// The rate and the number of frames that the file declares; fails when it is no video.
fn probe(path: &Path) -> Result<Declared> {
    let output = tool("ffprobe", path, &[])
        .args(["-select_streams", "v:0", "-show_entries", "stream=avg_frame_rate,nb_frames"])
        .args(["-of", "default=noprint_wrappers=1"])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| cannot_start("ffprobe", path, &e))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let words = stderr_tail(&output.stderr);
        return Err(Error::corrupt_file(path, format!("this is not a video that ffmpeg reads; it says: {words}")));
    }
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    if field("avg_frame_rate").is_none() {
        return Err(Error::corrupt_file(
            path,
            "the file holds no video stream; give a video, a folder of images or an .npy",
        ));
    }
    let rate = field("avg_frame_rate").and_then(|rate| {
        let (frames, seconds) = rate.split_once('/')?;
        Some(frames.parse::<f64>().ok()? / seconds.parse::<f64>().ok()?)
    });
    Ok(Declared {
        rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0),
        frames: field("nb_frames").and_then(|count| count.parse().ok()),
    })
}

/// A program of the ffmpeg family that reads this file and nothing else: no network, no other files it may name.
fn tool(program: &str, path: &Path, options: &[&str]) -> Command {
    let mut input = std::ffi::OsString::from("file:");
    input.push(path);
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error"]).args(options);
    command.args(["-protocol_whitelist", "file,pipe", "-i"]).arg(input);
    command
}

fn cannot_start(program: &str, path: &Path, error: &io::Error) -> Error {
    let why = if error.kind() == io::ErrorKind::NotFound {
        format!(
            "the program {program} is not installed, which reads video; install it with `apt install ffmpeg`, `brew install \
             ffmpeg` or `winget install ffmpeg`, or give a folder of images or an (n, height, width) .npy"
        )
    } else {
        format!("the program {program} cannot be started: {error}")
    };
    Error::io(path, io::Error::new(error.kind(), why))
}

/// The end of what a program said, on one line.
pub(crate) fn stderr_tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let joined = lines.join("; ");
    let skip = joined.chars().count().saturating_sub(STDERR_TAIL_BYTES);
    joined.chars().skip(skip).collect()
}

/// What the programs call a way to store pixels.
pub(crate) fn pixel_format(color: Color) -> &'static str {
    match color {
        Color::Gray => "gray",
        Color::Rgb => "rgb24",
    }
}

/// The next PGM or PPM image of a stream, or nothing at its end.
fn read_pnm(stream: &mut impl BufRead, color: Color) -> io::Result<Option<Image>> {
    if stream.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut words = [0usize; 3];
    let mut magic = [0; 2];
    stream.read_exact(&mut magic)?;
    for word in &mut words {
        *word = read_number(stream)?;
    }
    let [width, height, white] = words;
    let expected = if color == Color::Gray { b"P5" } else { b"P6" };
    if &magic != expected || white != 255 || width == 0 || height == 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the decoder sent something that is no such image"));
    }
    let mut pixels = vec![0; width * height * color.channels()];
    stream.read_exact(&mut pixels)?;
    Ok(Some(Image { height, width, color, pixels }))
}

/// A number between spaces; the one space after it is taken, too.
fn read_number(stream: &mut impl BufRead) -> io::Result<usize> {
    let mut number: Option<usize> = None;
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match (byte[0], number) {
            (digit @ b'0'..=b'9', _) => {
                let so_far = number.unwrap_or(0);
                number = Some((so_far * 10 + usize::from(digit - b'0')).min(1 << 20));
            }
            (b' ' | b'\n' | b'\t' | b'\r', None) => {}
            (b' ' | b'\n' | b'\t' | b'\r', Some(number)) => return Ok(number),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "a size that is no number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_say_their_size() {
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
