//! Containers of video by their first bytes, and the one demuxer of ffmpeg that may read each.
//!
//! ffmpeg would probe the content itself, and some of its formats are lists of other files or addresses: playlists (HLS,
//! DASH, ffconcat), session descriptions, image patterns. Here the content must be one of a few containers that hold their
//! frames, and ffmpeg is told to use the demuxer of that container and no other.

/// A container of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Container {
    /// Name in messages, with its article.
    pub(crate) name: &'static str,
    /// Name of the demuxer of ffmpeg.
    pub(crate) demuxer: &'static str,
    /// Options of the demuxer, in pairs of name and value.
    pub(crate) options: &'static [&'static str],
}

impl Container {
    const fn new(name: &'static str, demuxer: &'static str) -> Self {
        Self { name, demuxer, options: &[] }
    }
}

/// The defaults of ffmpeg, stated since they matter: tracks in other files are not opened.
const NO_REFERENCES: &[&str] = &["-enable_drefs", "0", "-use_absolute_path", "0"];

const MP4: Container = Container { name: "an MP4 or QuickTime video", demuxer: "mov", options: NO_REFERENCES };
const MATROSKA: Container = Container::new("a Matroska or WebM video", "matroska");
const AVI: Container = Container::new("an AVI video", "avi");
const MPEG_PROGRAM: Container = Container::new("an MPEG video", "mpeg");
const MPEG_ELEMENTARY: Container = Container::new("an MPEG video", "mpegvideo");
const MPEG_TRANSPORT: Container = Container::new("an MPEG transport stream", "mpegts");
const FLASH: Container = Container::new("a Flash video", "flv");
const OGG: Container = Container::new("an Ogg video", "ogg");
const ASF: Container = Container::new("a Windows Media video", "asf");
const MXF: Container = Container::new("an MXF video", "mxf");
const NUT: Container = Container::new("a NUT video", "nut");
const IVF: Container = Container::new("an IVF video", "ivf");
const Y4M: Container = Container::new("a YUV4MPEG video", "yuv4mpegpipe");
const H264: Container = Container::new("an H.264 stream", "h264");
const HEVC: Container = Container::new("an H.265 stream", "hevc");
const MPEG4: Container = Container::new("an MPEG-4 stream", "m4v");

/// Names of the supported containers, for messages.
pub(crate) const SUPPORTED: &str =
    "MP4, QuickTime, Matroska, WebM, AVI, MPEG, Ogg, Flash, Windows Media, MXF, NUT, IVF or Y4M";

/// Number of first bytes of a file that identify its container.
pub(crate) const HEAD: u64 = 4096;

/// The container of a file with these first bytes, if it is a supported one.
pub(crate) fn container(head: &[u8]) -> Option<Container> {
    let at = |start: usize, magic: &[u8]| head.get(start..).is_some_and(|rest| rest.starts_with(magic));
    match () {
        () if is_quicktime(head) => Some(MP4),
        () if at(0, b"\x1a\x45\xdf\xa3") => Some(MATROSKA),
        () if at(0, b"RIFF") && at(8, b"AVI ") => Some(AVI),
        () if at(0, b"\0\0\x01\xba") => Some(MPEG_PROGRAM),
        () if at(0, b"\0\0\x01\xb3") => Some(MPEG_ELEMENTARY),
        () if is_transport_stream(head) => Some(MPEG_TRANSPORT),
        () if at(0, b"FLV\x01") => Some(FLASH),
        () if at(0, b"OggS\0") => Some(OGG),
        () if at(0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11") => Some(ASF),
        () if at(0, b"\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02") => Some(MXF),
        () if at(0, b"nut/multimedia container\0") => Some(NUT),
        () if at(0, b"DKIF\0\0") => Some(IVF),
        () if at(0, b"YUV4MPEG2 ") => Some(Y4M),
        () => elementary_stream(head),
    }
}

/// True for a QuickTime atom at the start; its length before the name is not text.
fn is_quicktime(head: &[u8]) -> bool {
    const FIRST_ATOMS: [&[u8]; 7] = [b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"];
    let (Some(length), Some(atom)) = (head.get(..4), head.get(4..8)) else { return false };
    let text = length.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    FIRST_ATOMS.contains(&atom) && !text
}

/// True if every packet of 188 bytes, or of 192 with a time stamp, starts with the synchronization byte.
fn is_transport_stream(head: &[u8]) -> bool {
    const PACKETS: usize = 5;
    let synchronized = |first: usize, packet: usize| {
        (0..PACKETS).all(|i| head.get(first + i * packet) == Some(&0x47))
            // The letter G is that byte, too; text has no zeros.
            && head.contains(&0)
    };
    synchronized(0, 188) || synchronized(4, 192)
}

/// The coding of a stream without a container: its first unit is a header.
fn elementary_stream(head: &[u8]) -> Option<Container> {
    let unit = head.strip_prefix(b"\0\0\0\x01").or_else(|| head.strip_prefix(b"\0\0\x01"))?;
    match *unit {
        // An access unit delimiter or a sequence parameter set.
        [first, ..] if matches!(first & 0x9f, 7 | 9) => Some(H264),
        // A video parameter set or an access unit delimiter, of layer 0.
        [0x40 | 0x46, 1, ..] => Some(HEVC),
        [0xb0, ..] => Some(MPEG4),
        _ => None,
    }
}

/// Name of the list of other files or addresses that a file with these first bytes is, if it is one.
pub(crate) fn playlist(head: &[u8]) -> Option<&'static str> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let starts = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    let contains = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    match () {
        () if starts("#EXTM3U") => Some("an M3U or HLS playlist"),
        () if starts("ffconcat version") => Some("an ffconcat playlist"),
        () if starts("<MPD") || (starts("<?xml") && contains(b"<MPD")) => Some("a DASH manifest"),
        () if starts("<ASX") => Some("an ASX playlist"),
        () if starts("[playlist]") || starts("[Reference]") => Some("a playlist"),
        () if starts("v=0") && contains(b"\nm=") => Some("a session description (SDP)"),
        () if starts("RTSPtext") => Some("a playlist"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_recognized_by_content() {
        let demuxer = |head: &[u8]| container(head).map(|found| found.demuxer);
        let mut packets = vec![0; 1000];
        packets.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
        for (head, expected) in [
            (&b"\0\0\0\x18ftypmp42"[..], "mov"),
            (b"\0\0\0\x01mdat\0\0\0\0", "mov"),
            (b"\x2b\x80\0\0mdat", "mov"),
            (b"\x1a\x45\xdf\xa3\x01", "matroska"),
            (b"RIFF\x10\0\0\0AVI LIST", "avi"),
            (b"\0\0\x01\xba\x44", "mpeg"),
            (b"\0\0\x01\xb3\x44", "mpegvideo"),
            (&packets, "mpegts"),
            (b"FLV\x01\x05", "flv"),
            (b"OggS\0\x02", "ogg"),
            (b"YUV4MPEG2 W64 H48 F25:1\n", "yuv4mpegpipe"),
            (b"DKIF\0\0\x20\0VP80", "ivf"),
            (b"\0\0\0\x01\x67\x64", "h264"),
            (b"\0\0\0\x01\x09\xf0", "h264"),
            (b"\0\0\0\x01\x40\x01\x0c", "hevc"),
            (b"\0\0\x01\xb0\x01", "m4v"),
        ] {
            assert_eq!(demuxer(head), Some(expected), "{head:?}");
        }
        let letters = vec![b'G'; 1000];
        for head in [&b""[..], b"G", b"RIFF\x10\0\0\0WAVE", b"1,2\n3,4\n", b"wxyzmdat,b\n", b"a,b,ftyp\n", &letters] {
            assert_eq!(container(head), None, "{head:?}");
        }
    }

    #[test]
    fn lists_of_other_files_are_named() {
        for head in [
            "#EXTM3U\n#EXT-X-TARGETDURATION:1\n",
            "\u{feff}#EXTM3U\n",
            "ffconcat version 1.0\nfile 'a.mkv'\n",
            "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\">",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
            "[playlist]\nFile1=a.avi\n",
        ] {
            assert!(playlist(head.as_bytes()).is_some() && container(head.as_bytes()).is_none(), "{head}");
        }
        for head in ["v=0,1\n", "a,b\n1,2\n", "<?xml version=\"1.0\"?><svg>", ""] {
            assert_eq!(playlist(head.as_bytes()), None, "{head}");
        }
    }
}
