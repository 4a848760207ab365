//! Clips in videos, which the program ffmpeg makes and reads.

use std::path::PathBuf;
use std::process::Command;

use steradian::{Error, Source};
use steradian_io::{Clip, ClipOptions, TableOptions};

#[cfg(feature = "images")]
use super::images::{IN_COLOR, save_colored};
use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, refused};
use crate::common::{Folder, ffmpeg};

/// A video of these frames.
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
fn a_lossless_video_is_its_frames() {
    if !ffmpeg::is_there("a_lossless_video_is_its_frames") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(30));
    let path = encode(&folder, "clip.mkv", &data, &["-c:v", "ffv1"]);
    let clip = open(&path).unwrap();
    assert_eq!((clip.shape().samples, clip.size(), clip.rate()), (30, (HEIGHT, WIDTH), Some(10.0)));
    assert_eq!(bytes(&clip), data);
    let part = Clip::open(&path, &ClipOptions { from: 4, to: Some(10), every: 3, ..ClipOptions::default() }).unwrap();
    assert_eq!(
        (bytes(&part), part.number(1)),
        ([&data[4 * PIXELS..5 * PIXELS], &data[7 * PIXELS..8 * PIXELS]].concat(), 7)
    );
    let beyond = refused(&path, &ClipOptions { to: Some(31), ..ClipOptions::default() });
    assert!(beyond.to_string().contains("which has 30 frames"), "{beyond}");
    let single = encode(&folder, "one.mkv", &data[..PIXELS], &["-c:v", "ffv1"]);
    assert_eq!(open(&single).unwrap().shape().samples, 1);
    // Opened as data of any kind, it is the same samples.
    let opened = steradian_io::open(&path, &TableOptions::default()).unwrap();
    assert_eq!(opened.shape().samples, 30);
}

#[cfg(feature = "images")]
#[test]
fn a_lossless_video_is_its_colours() {
    if !ffmpeg::is_there("a_lossless_video_is_its_colours") {
        return;
    }
    let folder = Folder::new();
    let shots = save_colored(&folder, 5);
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
    for (i, shot) in shots.iter().enumerate() {
        assert_eq!(clip.colors(i).as_ref(), Some(shot), "frame {i}");
    }
    let part = Clip::open(&video, &ClipOptions { from: 1, to: Some(4), every: 2, ..IN_COLOR }).unwrap();
    assert_eq!((part.shape().samples, part.colors(1).as_ref()), (2, Some(&shots[3])));
}

#[test]
fn a_turned_video_stands_upright() {
    if !ffmpeg::is_there("a_turned_video_stands_upright") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(4));
    let lying = encode(&folder, "lying.mp4", &data, &["-c:v", "mpeg4", "-pix_fmt", "yuv420p", "-vf", "scale=32:20"]);
    let turned = folder.path().join("turned.mp4");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-i"])
        .arg(&lying)
        .args(["-c", "copy", "-metadata:s:v:0", "rotate=90"])
        .arg(&turned)
        .status()
        .unwrap();
    assert!(status.success());
    let side_data = Command::new("ffprobe").args(["-v", "error", "-show_streams"]).arg(&turned).output().unwrap();
    if !String::from_utf8_lossy(&side_data.stdout).contains("rotation=") {
        println!(
            "skipped: a_turned_video_stands_upright: this ffmpeg cannot write the rotation of a video by copying it"
        );
        return;
    }
    assert_eq!(open(&lying).unwrap().size(), (20, 32));
    assert_eq!(open(&turned).unwrap().size(), (32, 20));
}

#[test]
fn a_damaged_video_is_an_error_and_never_a_short_clip() {
    if !ffmpeg::is_there("a_damaged_video_is_an_error_and_never_a_short_clip") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(120));
    let text = folder.file("text.mp4", "this is not a video\n".repeat(50));
    let error = refused(&text, &ClipOptions::default());
    assert!(
        matches!(error, Error::CorruptFile { .. }) && error.to_string().contains("not a video that ffmpeg reads"),
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
        for share in [9, 6, 3] {
            let short = folder.file(&format!("short-{name}"), &content[..content.len() * share / 10]);
            let error = refused(&short, &ClipOptions::default());
            assert!(matches!(error, Error::CorruptFile { .. }), "{name} at {share}0 %: {error}");
        }
    }
    let sound = folder.path().join("sound.wav");
    let made = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=1"])
        .arg(&sound)
        .status()
        .unwrap();
    assert!(made.success());
    assert!(refused(&sound, &ClipOptions::default()).to_string().contains("no video stream"));
}
