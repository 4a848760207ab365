//! Untrusted clips: lists of other files, decoders without an end, and small files of huge frames.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use steradian::{Error, Source};
use steradian_io::{Clip, ClipLimits, ClipOptions, TableOptions};

use super::{open, open_error};
use crate::common::{Folder, ffmpeg};

/// Encodes a test pattern of 20 frames.
fn pattern(path: &Path, options: &[&str]) {
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=25:duration=0.8"])
        .args(["-pix_fmt", "yuv420p"])
        .args(options)
        .arg(path)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{}", path.display());
}

fn limited(max_decoded: u64) -> ClipOptions {
    ClipOptions { limits: ClipLimits { max_decoded, ..ClipLimits::default() }, ..ClipOptions::default() }
}

/// A file with a video that is not part of the request, in two containers, and lists that name it.
fn lists(folder: &Folder) -> Vec<PathBuf> {
    pattern(&folder.path().join("secret.mkv"), &["-c:v", "ffv1"]);
    pattern(&folder.path().join("secret.ts"), &["-c:v", "mpeg2video"]);
    pattern(&folder.path().join("secret.mp4"), &["-c:v", "mpeg4"]);
    let hls = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nsecret.ts\n";
    let dash = "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
                mediaPresentationDuration=\"PT2S\" minBufferTime=\"PT1S\" \
                profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\"><Period><AdaptationSet mimeType=\"video/mp4\">\
                <Representation id=\"0\" bandwidth=\"1000\" width=\"64\" height=\"48\" codecs=\"avc1.42\">\
                <BaseURL>secret.mp4</BaseURL><SegmentBase indexRange=\"0-1\"/></Representation></AdaptationSet></Period></MPD>";
    let sdp = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n";
    vec![
        folder.file("ended.mp4", format!("{hls}#EXT-X-ENDLIST\n")),
        // Without an end, ffmpeg waits for more segments.
        folder.file("live.mp4", hls),
        folder.file("itself.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nitself.mp4\n"),
        folder.file("concat.mkv", "ffconcat version 1.0\nfile 'secret.mkv'\nfile 'secret.mkv'\n"),
        folder.file("dash.mp4", dash),
        folder.file("session.mp4", sdp),
    ]
}

#[test]
fn lists_of_other_files_are_rejected_by_name() {
    if !ffmpeg::is_available("lists_of_other_files_are_rejected_by_name") {
        return;
    }
    let folder = Folder::new();
    for list in lists(&folder) {
        let start = Instant::now();
        let error = open_error(&list, &ClipOptions::default());
        assert!(matches!(error, Error::InvalidData(_)), "{error}");
        assert!(error.to_string().contains("which names other files; pass the video itself"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5), "{error}");
        // As data, it is a table at best.
        assert!(steradian_io::open(&list, &TableOptions::default()).is_err());
    }
}

#[test]
fn a_list_that_starts_like_a_container_opens_no_other_file() {
    if !ffmpeg::is_available("a_list_that_starts_like_a_container_opens_no_other_file") {
        return;
    }
    let folder = Folder::new();
    for list in lists(&folder) {
        let text = std::fs::read(&list).unwrap();
        for start in [&b"\0\0\0\x08free"[..], b"\x1a\x45\xdf\xa3", b"OggS\0", b"\0\0\x01\xba", b"FLV\x01"] {
            let error = open_error(&folder.file("disguised.mp4", [start, &text].concat()), &ClipOptions::default());
            assert!(matches!(error, Error::CorruptFile { .. }), "{error}");
        }
    }
}

#[test]
fn names_with_a_meaning_for_ffmpeg_are_plain_names() {
    if !ffmpeg::is_available("names_with_a_meaning_for_ffmpeg_are_plain_names") {
        return;
    }
    let folder = Folder::new();
    let plain = folder.path().join("plain.mkv");
    pattern(&plain, &["-c:v", "ffv1"]);
    let expected = super::bytes(&open(&plain).unwrap());
    for name in
        ["frame%03d.mkv", "-y", "concat:a|b.mkv", "http:x.mkv", "file:x.mkv", "a*[b]?.mkv", "x,y;z.mkv", "pipe:0"]
    {
        let path = folder.path().join(name);
        std::fs::copy(&plain, &path).unwrap();
        assert!(super::bytes(&open(&path).unwrap()) == expected, "{name}");
    }
}

#[test]
fn every_supported_container_is_read() {
    if !ffmpeg::is_available("every_supported_container_is_read") {
        return;
    }
    let folder = Folder::new();
    let mpeg2 = ["-c:v", "mpeg2video"];
    let mpeg4 = ["-c:v", "mpeg4"];
    for (name, options) in [
        ("a.mp4", &mpeg4[..]),
        ("a.mov", &mpeg4),
        ("a.mkv", &["-c:v", "ffv1"]),
        ("a.avi", &mpeg4),
        ("a.mpg", &mpeg2),
        ("a.m2v", &mpeg2),
        ("a.ts", &mpeg2),
        ("a.m2ts", &mpeg2),
        ("a.flv", &["-c:v", "flv1"]),
        ("a.wmv", &["-c:v", "wmv2"]),
        ("a.mxf", &mpeg2),
        ("a.nut", &["-c:v", "ffv1"]),
        ("a.y4m", &[]),
    ] {
        let path = folder.path().join(name);
        pattern(&path, options);
        let frames = open(&path).unwrap_or_else(|error| panic!("{name}: {error}")).shape().samples;
        assert!((19..=21).contains(&frames), "{name}: {frames}");
    }
}

#[test]
fn a_video_larger_than_the_limit_is_rejected() {
    if !ffmpeg::is_available("a_video_larger_than_the_limit_is_rejected") {
        return;
    }
    let folder = Folder::new();
    // The first declares its number of frames, the second does not.
    for name in ["bomb.mp4", "bomb.mkv"] {
        let path = folder.path().join(name);
        let status = Command::new("ffmpeg")
            .args(["-loglevel", "error", "-y", "-f", "lavfi", "-i", "color=black:size=1920x1080:rate=25:duration=2"])
            .args(["-c:v", "mpeg4"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success());
        let error = open_error(&path, &limited(20 << 20));
        assert!(matches!(error, Error::OverDecoded { limit: 20_971_520, .. }), "{error}");
        let colored = ClipOptions { color: true, end: Some(3), ..limited(20 << 20) };
        assert!(matches!(open_error(&path, &colored), Error::OverDecoded { .. }), "{name}");
        // The limit counts frames that are not selected, and frames before they are resized.
        let sparse = ClipOptions { stride: 40, resize: 0.1, ..limited(20 << 20) };
        assert!(matches!(open_error(&path, &sparse), Error::OverDecoded { .. }), "{name}");
        let first = ClipOptions { end: Some(10), ..limited(20 << 20) };
        assert_eq!(Clip::open(&path, &first).unwrap().shape().samples, 10, "{name}: 10 frames of 2 MB fit");
    }
    let huge = folder.path().join("huge.mkv");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "lavfi", "-i", "color=black:size=8208x8208:rate=1:duration=1"])
        .args(["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"])
        .arg(&huge)
        .status()
        .unwrap();
    assert!(status.success());
    let error = open_error(&huge, &ClipOptions::default());
    assert!(matches!(error, Error::CorruptFile { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_rejected_and_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe.mp4");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let start = Instant::now();
    let error = open_error(&pipe, &ClipOptions::default());
    assert!(error.to_string().contains("a pipe or a device"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[cfg(feature = "images")]
mod images {
    use super::*;

    /// A GIF of this many frames of one pixel on a canvas of a height and width.
    fn gif(height: u16, width: u16, frames: usize) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        // Two colors, black and white.
        bytes.extend([0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
        for frame in 0..frames {
            let code = if frame % 2 == 0 { 0x44 } else { 0x4c };
            // At the origin, one by one, no local colors; then the pixel by LZW.
            bytes.extend([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, code, 1, 0]);
        }
        bytes.push(0x3b);
        bytes
    }

    #[test]
    fn a_gif_larger_than_a_limit_is_rejected() {
        let folder = Folder::new();
        assert_eq!(open(&folder.file("small.gif", gif(48, 64, 5))).unwrap().shape().samples, 5);
        // 12.9 GiB of memory for a file of 50 bytes.
        let error = open_error(&folder.file("wide.gif", gif(65_535, 65_535, 2)), &ClipOptions::default());
        let text = error.to_string();
        assert!(text.contains("65535 x 65535") && text.contains("limit of 192.0 MiB"), "{text}");
        // Many frames on a large canvas.
        let many = folder.file("many.gif", gif(1000, 1000, 200));
        let error = open_error(&many, &limited(20_000_000));
        assert!(matches!(error, Error::OverDecoded { frames: 21, decoded: 21_000_000, .. }), "{error}");
    }

    /// A PNG that declares a height and width and has no pixels.
    fn png(height: u32, width: u32, bits: u8) -> Vec<u8> {
        let mut chunk = b"IHDR".to_vec();
        chunk.extend(width.to_be_bytes());
        chunk.extend(height.to_be_bytes());
        // RGB.
        chunk.extend([bits, 2, 0, 0, 0]);
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
        bytes.extend(&chunk);
        bytes.extend(crc32(&chunk).to_be_bytes());
        for chunk in [&b"IDAT"[..], b"IEND"] {
            bytes.extend([0; 4]);
            bytes.extend(chunk);
            bytes.extend(crc32(chunk).to_be_bytes());
        }
        bytes
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
        })
    }

    /// A TIFF of 16-bit RGB that declares a height and width and has no strip.
    fn tiff(height: u32, width: u32) -> Vec<u8> {
        let entries: [(u16, u16, u32, u32); 9] = [
            (256, 4, 1, width),
            (257, 4, 1, height),
            (258, 3, 1, 16),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 1, 8),
            (277, 3, 1, 1),
            (278, 4, 1, height),
            (279, 4, 1, 8),
        ];
        let mut bytes = b"II*\0\x08\0\0\0".to_vec();
        bytes.extend((entries.len() as u16).to_le_bytes());
        for (tag, kind, count, value) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(count.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn images_of_extreme_size_are_rejected_by_their_header() {
        let bmp = |height: u32, width: u32| {
            let mut bytes = b"BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
            bytes.extend(width.to_le_bytes());
            bytes.extend(height.to_le_bytes());
            bytes.extend([1, 0, 24, 0]);
            bytes.extend([0; 24]);
            bytes
        };
        for (name, bytes) in [
            ("a.png", png(60_000, 60_000, 8)),
            ("a.png", png(1_000_000, 1_000_000, 16)),
            ("a.tif", tiff(60_000, 60_000)),
            ("a.bmp", bmp(40_000, 30_000)),
            ("a.pgm", b"P5\n60000 60000\n255\n".to_vec()),
            ("a.ppm", b"P6\n60000 60000\n65535\n".to_vec()),
            ("a.gif", gif(60_000, 60_000, 1)),
            // Within the limit, but more than a file of this size can hold.
            ("a.png", png(7_000, 7_000, 8)),
            ("a.tif", tiff(7_000, 7_000)),
        ] {
            let folder = Folder::new();
            let path = folder.file(name, &bytes);
            let error = open_error(folder.path(), &ClipOptions::default());
            assert!(matches!(error, Error::CorruptFile { .. }), "{name}: {error}");
            let text = error.to_string();
            assert!(!text.contains("--") && text.contains(path.file_name().unwrap().to_str().unwrap()), "{text}");
            assert!(
                text.contains("limit of 192.0 MiB") || text.contains("in a file of") || text.contains("imension"),
                "{text}"
            );
            assert!(steradian_io::Image::read_gray(&path).is_err());
        }
    }

    #[test]
    fn a_folder_larger_than_the_limit_is_rejected() {
        let folder = Folder::new();
        for frame in 0..5 {
            folder.file(&format!("{frame}.pgm"), [b"P5\n20 10\n255\n".to_vec(), vec![frame; 200]].concat());
        }
        assert_eq!(Clip::open(folder.path(), &limited(1000)).unwrap().shape().samples, 5);
        let error = open_error(folder.path(), &limited(999));
        assert!(matches!(error, Error::OverDecoded { frames: 5, decoded: 1000, limit: 999, .. }), "{error}");
        // Data of a fit have the same limit.
        let within = |bytes| {
            let limits = ClipLimits { max_decoded: bytes, ..ClipLimits::default() };
            steradian_io::open_within(folder.path(), &TableOptions::default(), &limits)
        };
        assert!(within(1000).is_ok() && within(999).is_err());
    }
}
