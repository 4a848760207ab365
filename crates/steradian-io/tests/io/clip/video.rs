//! Clips in videos, which the program ffmpeg encodes and decodes.

use std::path::PathBuf;
use std::process::Command;

use steradian::{Error, Source};
use steradian_io::{Clip, ClipOptions, TableOptions};

#[cfg(feature = "images")]
use super::images::{IN_COLOR, save_colored};
use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, open_error};
use crate::common::{Folder, ffmpeg};

/// Encodes frames as a video.
fn encode(folder: &Folder, name: &str, data: &[u8], arguments: &[&str]) -> PathBuf {
    let raw = folder.file("raw.gray", data);
    let path = folder.path().join(name);
    let size = format!("{WIDTH}x{HEIGHT}");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-r", "10", "-s", &size, "-i"])
        .arg(raw)
        .args(arguments)
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    path
}

#[test]
fn a_lossless_video_has_the_encoded_frames() {
    if !ffmpeg::is_available("a_lossless_video_has_the_encoded_frames") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(30));
    let path = encode(&folder, "clip.mkv", &data, &["-c:v", "ffv1"]);
    let clip = open(&path).unwrap();
    assert_eq!((clip.shape().samples, clip.dimensions(), clip.rate()), (30, (HEIGHT, WIDTH), Some(10.0)));
    assert_eq!(bytes(&clip), data);
    let part =
        Clip::open(&path, &ClipOptions { start: 4, end: Some(10), stride: 3, ..ClipOptions::default() }).unwrap();
    assert_eq!(
        (bytes(&part), part.number(1)),
        ([&data[4 * PIXELS..5 * PIXELS], &data[7 * PIXELS..8 * PIXELS]].concat(), 7)
    );
    let beyond = open_error(&path, &ClipOptions { end: Some(31), ..ClipOptions::default() });
    assert!(beyond.to_string().contains("which has 30 frames"), "{beyond}");
    let single = encode(&folder, "one.mkv", &data[..PIXELS], &["-c:v", "ffv1"]);
    assert_eq!(open(&single).unwrap().shape().samples, 1);
    // Opened as data, it has the same number of samples.
    let opened = steradian_io::open(&path, &TableOptions::default()).unwrap();
    assert_eq!(opened.shape().samples, 30);
}

#[cfg(feature = "images")]
#[test]
fn a_lossless_video_has_the_encoded_colors() {
    if !ffmpeg::is_available("a_lossless_video_has_the_encoded_colors") {
        return;
    }
    let folder = Folder::new();
    let frames = save_colored(&folder, 5);
    let video = folder.path().join("clip.mkv");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-i"])
        .arg(folder.path().join("%d.png"))
        .args(["-c:v", "ffv1", "-pix_fmt", "bgr0"])
        .arg(&video)
        .status()
        .unwrap();
    assert!(status.success());
    let (plain, clip) = (open(&video).unwrap(), Clip::open(&video, &IN_COLOR).unwrap());
    assert_eq!(bytes(&clip), bytes(&plain));
    for (i, frame) in frames.iter().enumerate() {
        assert_eq!(clip.colors(i).as_ref(), Some(frame), "frame {i}");
    }
    let part = Clip::open(&video, &ClipOptions { start: 1, end: Some(4), stride: 2, ..IN_COLOR }).unwrap();
    assert_eq!((part.shape().samples, part.colors(1).as_ref()), (2, Some(&frames[3])));
}

#[test]
fn a_rotated_video_is_read_upright() {
    if !ffmpeg::is_available("a_rotated_video_is_read_upright") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(4));
    let landscape =
        encode(&folder, "landscape.mp4", &data, &["-c:v", "mpeg4", "-pix_fmt", "yuv420p", "-vf", "scale=32:20"]);
    let rotated = folder.path().join("rotated.mp4");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-i"])
        .arg(&landscape)
        .args(["-c", "copy", "-metadata:s:v:0", "rotate=90"])
        .arg(&rotated)
        .status()
        .unwrap();
    assert!(status.success());
    let side_data = Command::new("ffprobe").args(["-v", "error", "-show_streams"]).arg(&rotated).output().unwrap();
    if !String::from_utf8_lossy(&side_data.stdout).contains("rotation=") {
        println!(
            "skipped: a_rotated_video_is_read_upright: this ffmpeg cannot write the rotation of a video by copying it"
        );
        return;
    }
    assert_eq!(open(&landscape).unwrap().dimensions(), (20, 32));
    assert_eq!(open(&rotated).unwrap().dimensions(), (32, 20));
}

#[test]
fn a_truncated_video_is_an_error_and_never_a_short_clip() {
    if !ffmpeg::is_available("a_truncated_video_is_an_error_and_never_a_short_clip") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(120));
    let text = folder.file("text.mp4", "this is not a video\n".repeat(50));
    let error = open_error(&text, &ClipOptions::default());
    assert!(
        matches!(error, Error::CorruptFile { .. })
            && error.to_string().contains("the file is not a video in a supported format: MP4,"),
        "{error}"
    );
    let mp4 = ["-c:v", "mpeg4", "-q:v", "2", "-movflags", "+faststart"];
    for (name, arguments) in [
        ("clip.mp4", &mp4[..]),
        ("late.mp4", &["-c:v", "mpeg4"]),
        ("clip.mkv", &["-c:v", "ffv1"]),
        ("clip.avi", &["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]),
    ] {
        let whole = encode(&folder, name, &data, arguments);
        assert_eq!(open(&whole).unwrap().shape().samples, 120, "{name}");
        let content = std::fs::read(&whole).unwrap();
        for tenths in [9, 6, 3] {
            let short = folder.file(&format!("short-{name}"), &content[..content.len() * tenths / 10]);
            let error = open_error(&short, &ClipOptions::default());
            assert!(matches!(error, Error::CorruptFile { .. }), "{name} at {tenths}0 %: {error}");
        }
    }
    let sound = folder.path().join("sound.mkv");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=1"])
        .arg(&sound)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(open_error(&sound, &ClipOptions::default()).to_string().contains("no video stream"));
}
