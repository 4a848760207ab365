//! Decoding of videos by the programs `ffprobe` and `ffmpeg`, which write frames to a pipe.
//!
//! A frame is a PGM or PPM image with its own header, so the decoder determines the size of a rotated or odd-sized
//! video. The declared number of frames is only an estimate: a video ends where the decoder exits *successfully*. A
//! decoder that prints errors, or exits long before the declared end, is an error, so that a truncated video is never
//! read as a shorter clip. So is one that has no output for a minute, and a clip that is larger than its limit.

use std::io::{self, BufRead};
use std::path::Path;
use std::process::Command;

use steradian::{Error, Result};

use crate::clip::clip_limits::{ClipLimits, DecodedTotal, MAX_PIXELS};
use crate::clip::clip_options::ClipOptions;
use crate::clip::container::Container;
use crate::clip::decoder_process::DecoderProcess;
use crate::clip::image::{Color, Image};
use crate::clip::spool::{DecodedFrames, Spool};
use steradian::error::os_error_text;

/// Smallest accepted fraction of the declared number of frames, which containers round.
const MIN_DECODED_FRACTION: f64 = 0.95;
/// Number of frames that may always be missing: edit lists remove a few.
const FRAME_COUNT_SLACK: f64 = 2.0;
/// Largest output of `ffprobe` in bytes; the requested properties take about a hundred.
const MAX_PROBE_BYTES: usize = 1 << 20;

/// A video file and the container that its content was recognized as.
#[derive(Clone, Copy)]
pub(crate) struct VideoFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) container: Container,
}

/// Properties that a video file declares.
#[derive(Debug, Clone, Copy)]
struct VideoInfo {
    /// Frames per second.
    rate: Option<f64>,
    /// Number of frames.
    frames: Option<u64>,
    /// Number of pixels of a frame.
    pixels: Option<u64>,
}

/// A running decoder process.
struct Decoder<'a> {
    path: &'a Path,
    color: Color,
    declared: VideoInfo,
    process: DecoderProcess,
    inactivity: u64,
    /// Number of frames so far.
    frames: u64,
}

impl<'a> Decoder<'a> {
    /// Starts the decoder of a file.
    fn start(video: VideoFile<'a>, color: Color, declared: VideoInfo, limits: &ClipLimits) -> Result<Self> {
        let mut command = tool("ffmpeg", video, &["-nostdin", "-xerror"]);
        command
            .args(["-map", "0:v:0", "-an", "-sn", "-dn", "-fps_mode", "passthrough", "-pix_fmt", pixel_format(color)])
            .args(["-f", "image2pipe", "-c:v", if color == Color::Gray { "pgm" } else { "ppm" }, "pipe:1"]);
        let process = DecoderProcess::start(&mut command, limits.inactivity)
            .map_err(|e| cannot_start("ffmpeg", video.path, &e))?;
        Ok(Self { path: video.path, color, declared, process, inactivity: limits.inactivity.as_secs(), frames: 0 })
    }

    /// The next frame; `None` after the last one.
    fn next_frame(&mut self) -> Result<Option<Image>> {
        let image = read_pnm(&mut self.process, self.color).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => self.abort("a frame is truncated"),
            io::ErrorKind::InvalidData => self.abort(&e.to_string()),
            io::ErrorKind::TimedOut => {
                self.abort(&format!("then ffmpeg had no output for {} s and was stopped", self.inactivity))
            }
            _ => Error::io(self.path, e),
        })?;
        self.frames += u64::from(image.is_some());
        Ok(image)
    }

    /// Waits for the end of a decoder after its last frame; fails unless it exited successfully.
    fn finish(mut self) -> Result<()> {
        let (status, errors) = self.process.finish().map_err(|e| Error::io(self.path, e))?;
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

    fn abort(&mut self, cause: &str) -> Error {
        self.process.kill();
        incomplete(self.path, self.frames, cause)
    }
}

/// Decodes the selected frames of a video. Also returns their number per second, if the file declares a rate.
pub(crate) fn spool_video(video: VideoFile<'_>, options: &ClipOptions) -> Result<(DecodedFrames, Option<f64>)> {
    let (path, limits) = (video.path, &options.limits);
    let declared = probe(video, limits)?;
    let channels: usize = options.formats().iter().map(|color| color.channels()).sum();
    if let (Some(frames), Some(pixels)) = (declared.frames, declared.pixels) {
        // Rejected here where the file admits it, without decoding up to the limit.
        let frames = options.end.map_or(frames, |end| frames.min(end as u64));
        DecodedTotal::new(path, limits).add(frames, frames.saturating_mul(pixels).saturating_mul(channels as u64))?;
    }
    // One decoder per color format: gray levels then do not depend on whether colors are requested.
    let start = |color: &Color| Decoder::start(video, *color, declared, limits);
    let mut decoders = options.formats().iter().map(start).collect::<Result<Vec<_>>>()?;
    let rate = declared.rate.map(|rate| rate / options.stride as f64);
    let mut spool = Spool::new(path, options)?;
    let mut total = DecodedTotal::new(path, limits);
    let mut count = 0;
    // Decoders are killed on drop, also by an error.
    while !options.is_past_end(count) {
        let images = decoders.iter_mut().map(Decoder::next_frame).collect::<Result<Option<Vec<_>>>>()?;
        let Some(images) = images else {
            decoders.into_iter().try_for_each(Decoder::finish)?;
            break;
        };
        total.add(1, images.iter().map(|image| image.pixels.len() as u64).sum())?;
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
            "cannot decode the video completely: got {frames} frames, {cause}; convert this part with \
             `ffmpeg -i INPUT -c:v ffv1 part.mkv`"
        ),
    )
}

/// Reads the declared properties of a video; fails if the file is not a video.
fn probe(video: VideoFile<'_>, limits: &ClipLimits) -> Result<VideoInfo> {
    let path = video.path;
    let mut command = tool("ffprobe", video, &[]);
    command
        .args(["-select_streams", "v:0", "-show_entries", "stream=avg_frame_rate,nb_frames,width,height"])
        .args(["-of", "default=noprint_wrappers=1"]);
    let mut process =
        DecoderProcess::start(&mut command, limits.inactivity).map_err(|e| cannot_start("ffprobe", path, &e))?;
    let output = process.read_all(MAX_PROBE_BYTES).map_err(|e| match e.kind() {
        io::ErrorKind::TimedOut => {
            let seconds = limits.inactivity.as_secs();
            Error::corrupt_file(path, format!("ffprobe did not finish within {seconds} s and was stopped"))
        }
        io::ErrorKind::FileTooLarge => Error::corrupt_file(path, format!("ffprobe printed {e}")),
        _ => Error::io(path, e),
    })?;
    let (status, errors) = process.finish().map_err(|e| Error::io(path, e))?;
    if !status.success() {
        return Err(Error::corrupt_file(path, format!("ffmpeg cannot read {}: {errors}", video.container.name)));
    }
    let text = String::from_utf8_lossy(&output);
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
    let number = |name: &str| field(name).and_then(|number| number.parse::<u64>().ok());
    Ok(VideoInfo {
        rate: rate.filter(|rate| rate.is_finite() && *rate > 0.0),
        frames: number("nb_frames"),
        pixels: number("width").and_then(|width| number("height")?.checked_mul(width)),
    })
}

/// A command of the ffmpeg family that reads this file with the demuxer of its container, and may open no other file, no
/// address and no other format.
fn tool(program: &str, video: VideoFile<'_>, options: &[&str]) -> Command {
    // The prefix: without it, a name such as `concat:a|b` or `-y` would have a meaning.
    let mut input = std::ffi::OsString::from("file:");
    input.push(video.path);
    let Container { demuxer, options: of_demuxer, .. } = video.container;
    let mut command = Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error"]).args(options);
    command.args(["-protocol_whitelist", "file", "-format_whitelist", demuxer]).args(of_demuxer);
    command.args(["-max_pixels", &MAX_PIXELS.to_string(), "-f", demuxer, "-i"]).arg(input);
    command
}

fn cannot_start(program: &str, path: &Path, error: &io::Error) -> Error {
    let problem = if error.kind() == io::ErrorKind::NotFound {
        format!(
            "the program {program} is not installed, which reads video; `apt install ffmpeg`, or convert the video to a \
             folder of images or an (n, height, width) .npy"
        )
    } else {
        format!("cannot start the program {program}: {}", os_error_text(error))
    };
    Error::io(path, io::Error::new(error.kind(), problem))
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
    // Both are at most 2^20, so the product cannot overflow.
    if width as u64 * height as u64 > MAX_PIXELS as u64 {
        let problem = format!("a frame of {height} x {width} (height x width) exceeds {MAX_PIXELS} pixels");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
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
        assert_eq!((first.dimensions(), first.pixels.as_slice()), ((2, 3), &b"abcdef"[..]));
        assert_eq!(next().unwrap().unwrap().pixels, b"\n");
        assert_eq!(next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(read_pnm(&mut &b""[..], Color::Gray).unwrap().is_none());
        let colored = b"P6\n1 1\n255\nabc";
        assert_eq!(read_pnm(&mut &colored[..], Color::Rgb).unwrap().unwrap().pixels, b"abc");
        assert_eq!(read_pnm(&mut &colored[..], Color::Gray).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let huge = b"P5\n1000000 1000000\n255\nabc";
        let error = read_pnm(&mut &huge[..], Color::Gray).unwrap_err();
        assert!(error.to_string().contains("1000000 x 1000000 (height x width) exceeds 67108864 pixels"), "{error}");
    }

    /// A video behind a named pipe whose writer sends the first `sent` bytes and then nothing, for real programs to wait for.
    #[cfg(unix)]
    fn with_stalled(sent: impl Fn(usize) -> usize, test: impl FnOnce(VideoFile<'_>)) {
        use std::io::Write;

        if !crate::clip::video_writer::MovieWriter::available().unwrap() {
            println!("skipped: a stalled video requires the program ffmpeg (make ffmpeg installs it)");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (video, pipe) = (folder.path().join("a.mkv"), folder.path().join("pipe.mkv"));
        let made = Command::new("ffmpeg")
            .args([
                "-loglevel",
                "error",
                "-f",
                "lavfi",
                "-i",
                "testsrc=size=640x480:rate=25:duration=4",
                "-c:v",
                "mjpeg",
            ])
            .arg(&video)
            .status();
        assert!(made.unwrap().success());
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let content = std::fs::read(&video).unwrap();
        let head = content[..sent(content.len())].to_vec();
        let (writer_pipe, (done, wait)) = (pipe.clone(), std::sync::mpsc::channel::<()>());
        let writer = std::thread::spawn(move || {
            let mut to = std::fs::File::options().write(true).open(writer_pipe).unwrap();
            // Fails when the reader is killed.
            let _ = to.write_all(&head);
            let _ = wait.recv();
        });
        test(VideoFile { path: &pipe, container: crate::clip::container::container(&content).unwrap() });
        drop(done);
        writer.join().unwrap();
    }

    #[cfg(unix)]
    const SHORT: ClipLimits =
        ClipLimits { max_decoded: ClipLimits::MAX_DECODED, inactivity: std::time::Duration::from_secs(2) };

    #[cfg(unix)]
    #[test]
    fn a_stalled_decoder_is_stopped() {
        with_stalled(
            |length| length / 2,
            |video| {
                let declared = VideoInfo { rate: None, frames: None, pixels: None };
                let mut decoder = Decoder::start(video, Color::Gray, declared, &SHORT).unwrap();
                let error = loop {
                    match decoder.next_frame() {
                        Ok(frame) => assert!(frame.is_some(), "the pipe has no end"),
                        Err(error) => break error,
                    }
                };
                assert!(decoder.frames > 10, "{}", decoder.frames);
                assert!(matches!(error, Error::CorruptFile { .. }));
                assert!(error.to_string().contains("ffmpeg had no output for 2 s and was stopped"), "{error}");
            },
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_stalled_probe_is_stopped() {
        with_stalled(
            |_| 100,
            |video| {
                let error = probe(video, &SHORT).unwrap_err();
                assert!(error.to_string().contains("ffprobe did not finish within 2 s and was stopped"), "{error}");
            },
        );
    }
}
