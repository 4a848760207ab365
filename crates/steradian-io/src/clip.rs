//! A clip: frames of one size in gray bytes, from a folder of images, a video, a GIF or an (n, height, width) `.npy`.
//!
//! An array of bytes is read in place. Everything else is decoded once into a temporary file of n x height x width bytes
//! in the system's folder for such files. It has no name (where the system allows that), so it is gone with the process,
//! however that ends.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use image::AnimationDecoder;
use image::codecs::gif::GifDecoder;
use steradian::{Block, BlockData, ElementType, Error, Result, Rows, Shape, Source};

use crate::frames::{frame_numbers, image_files};
use crate::gray::GrayImage;
use crate::mapped::Mapped;
use crate::npy::{NpySource, check_rows};
use crate::npy_header::MAGIC;
use crate::positioned::open_regular;
use crate::video::Decoder;

/// Which frames of a clip are read, and at what size.
#[derive(Debug, Clone, PartialEq)]
pub struct ClipOptions {
    /// The first frame, from 0.
    pub from: usize,
    /// The frame before which to stop; the clip's end when absent.
    pub to: Option<usize>,
    /// One frame of so many.
    pub every: usize,
    /// The factor of both sides, above 0 and at most 1.
    pub scale: f64,
}

impl Default for ClipOptions {
    fn default() -> Self {
        Self { from: 0, to: None, every: 1, scale: 1.0 }
    }
}

impl ClipOptions {
    fn check(&self) -> Result<()> {
        if self.every == 0 {
            return Err(Error::asked("--every 0 reads no frame; give 1 for all frames or more"));
        }
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            return Err(Error::asked(format!("--scale {} is not above 0 and at most 1", self.scale)));
        }
        match self.to {
            Some(to) if to <= self.from => Err(Error::asked(format!(
                "--from {} --to {to} holds no frame; frames count from 0, and --to is the first that is left out",
                self.from
            ))),
            _ => Ok(()),
        }
    }

    /// Whether a frame is wanted.
    fn takes(&self, frame: usize) -> bool {
        frame >= self.from && !self.past(frame) && (frame - self.from).is_multiple_of(self.every)
    }

    /// Whether no frame from this one on is wanted.
    fn past(&self, frame: usize) -> bool {
        self.to.is_some_and(|to| frame >= to)
    }

    fn require_inside(&self, path: &Path, frames: usize) -> Result<()> {
        let beyond = |option: &str, value: usize| {
            Err(Error::asked(format!(
                "{}: {option} {value} lies outside the clip, which has {frames} frames; give at most {}",
                path.display(),
                if option == "--from" { frames.saturating_sub(1) } else { frames }
            )))
        };
        match self.to {
            _ if self.from >= frames => beyond("--from", self.from),
            Some(to) if to > frames => beyond("--to", to),
            _ => Ok(()),
        }
    }

    fn size(&self, (height, width): (usize, usize)) -> (usize, usize) {
        let scaled = |side: usize| ((side as f64 * self.scale).round() as usize).max(1);
        (scaled(height), scaled(width))
    }
}

/// Frames of one size, in gray bytes.
#[derive(Debug)]
pub struct Clip {
    path: PathBuf,
    place: Place,
    shape: Shape,
    numbers: Vec<u64>,
    rate: Option<f64>,
}

#[derive(Debug)]
enum Place {
    /// An array of bytes, from this sample on.
    Array(NpySource, usize),
    /// A temporary file.
    Decoded(Mapped),
}

impl Clip {
    /// Opens a folder of images, a video, a GIF or an array; decodes all but arrays.
    pub fn open(path: impl AsRef<Path>, options: &ClipOptions) -> Result<Self> {
        let path = path.as_ref();
        options.check()?;
        if path.is_dir() {
            return Self::folder(path, options);
        }
        let (mut file, bytes) = open_regular(path)?;
        let mut head = Vec::new();
        Read::by_ref(&mut file).take(16).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        if bytes == 0 {
            return Err(Error::data(format!("{}: the file is empty (0 bytes); a clip is expected", path.display())));
        }
        if head.starts_with(MAGIC) || path.extension().is_some_and(|name| name.eq_ignore_ascii_case("npy")) {
            return Self::array(path, options);
        }
        if head.starts_with(b"GIF8") {
            return Self::gif(path, options);
        }
        let one_image = image::guess_format(&head).is_ok_and(|format| format != image::ImageFormat::Gif);
        if one_image {
            return Err(Error::data(format!(
                "{}: this is one image, and a clip has many; give the folder of its frames",
                path.display()
            )));
        }
        Self::video(path, options)
    }

    fn folder(path: &Path, options: &ClipOptions) -> Result<Self> {
        let files = image_files(path)?;
        options.require_inside(path, files.len())?;
        let numbers = frame_numbers(&files);
        let mut spool = Spool::new(path, options)?;
        let mut first: Option<(&Path, (usize, usize))> = None;
        for (frame, file) in files.iter().enumerate().filter(|(frame, _)| options.takes(*frame)) {
            let image = GrayImage::read(file)?;
            let (before, size) = *first.get_or_insert((file, image.size()));
            if size != image.size() {
                let ((h, w), (y, x)) = (size, image.size());
                return Err(Error::data(format!(
                    "{} is {h} x {w} (height x width) but {} is {y} x {x}; frames of a clip have one size",
                    before.display(),
                    file.display()
                )));
            }
            spool.add(&image, numbers[frame])?;
        }
        spool.finish(None)
    }

    fn array(path: &Path, options: &ClipOptions) -> Result<Self> {
        let array = NpySource::open(path)?;
        let shape = array.shape().clone();
        let (Some((height, width)), ElementType::U8) = (shape.image, shape.element) else {
            let what = match shape.image {
                None => format!("{} x {} numbers without an image size", shape.samples, shape.features),
                Some((h, w)) => format!("{} x {h} x {w} of {}", shape.samples, shape.element),
            };
            return Err(Error::data(format!(
                "{}: the array is {what}; a clip is (frames, height, width) of uint8: convert with X.astype('uint8') once \
                 its numbers run from 0 to 255",
                path.display()
            )));
        };
        options.require_inside(path, shape.samples)?;
        let end = options.to.unwrap_or(shape.samples);
        if options.every == 1 && options.size((height, width)) == (height, width) {
            let numbers = (options.from as u64..end as u64).collect();
            let kept = Shape { samples: end - options.from, ..shape };
            return Ok(Self {
                path: path.into(),
                place: Place::Array(array, options.from),
                shape: kept,
                numbers,
                rate: None,
            });
        }
        let mut spool = Spool::new(path, options)?;
        for frame in (options.from..end).filter(|&frame| options.takes(frame)) {
            array.visit(frame..frame + 1, &mut |block| {
                let BlockData::U8(rows) = block.data() else { unreachable!("checked above") };
                let pixels = (0..rows.columns()).map(|pixel| rows.get(0, pixel)).collect();
                spool.add(&GrayImage { height, width, pixels }, frame as u64)
            })?;
        }
        spool.finish(None)
    }

    fn gif(path: &Path, options: &ClipOptions) -> Result<Self> {
        let broken = |e: image::ImageError| Error::broken(path, format!("the GIF cannot be decoded: {e}"));
        let file = BufReader::new(File::open(path).map_err(|e| Error::io(path, e))?);
        let mut spool = Spool::new(path, options)?;
        let mut count = 0;
        for frame in GifDecoder::new(file).map_err(broken)?.into_frames() {
            let picture = frame.map_err(broken)?.into_buffer().into();
            if options.takes(count) {
                spool.add(&GrayImage::from_decoded(path, &picture)?, count as u64)?;
            }
            count += 1;
        }
        options.require_inside(path, count)?;
        spool.finish(None)
    }

    fn video(path: &Path, options: &ClipOptions) -> Result<Self> {
        let mut decoder = Decoder::start(path)?;
        let rate = decoder.declared().rate.map(|rate| rate / options.every as f64);
        let mut spool = Spool::new(path, options)?;
        let mut count = 0;
        loop {
            if options.past(count) {
                decoder.stop();
                break;
            }
            let Some(image) = decoder.next_frame()? else {
                decoder.finish()?;
                break;
            };
            if options.takes(count) {
                spool.add(&image, count as u64)?;
            }
            count += 1;
        }
        options.require_inside(path, count)?;
        spool.finish(rate)
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Height and width of a frame.
    pub fn size(&self) -> (usize, usize) {
        self.shape.image.expect("a clip has an image size")
    }

    /// The number that a frame carries: that of its file, or its index in the video or array, from 0.
    pub fn number(&self, frame: usize) -> u64 {
        self.numbers[frame]
    }

    /// Frames per second, if the file says so.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Bytes of the temporary file that the clip was decoded into; 0 when it is read in place.
    pub fn temporary_bytes(&self) -> u64 {
        match self.place {
            Place::Array(..) => 0,
            Place::Decoded(_) => self.shape.bytes(),
        }
    }
}

impl Source for Clip {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        match &self.place {
            Place::Array(array, first) => array
                .visit(first + rows.start..first + rows.end, &mut |block| visit(Block::new(rows.start, block.data()))),
            Place::Decoded(file) => {
                let frame = self.shape.features;
                let bytes = rows.start * frame..rows.end * frame;
                file.prepare(bytes.clone());
                let data = Rows::contiguous(file.bytes(bytes.clone()), rows.len(), frame)?;
                visit(Block::new(rows.start, BlockData::U8(data)))?;
                file.release(bytes);
                Ok(())
            }
        }
    }
}

/// Frames on their way into a temporary file.
struct Spool<'a> {
    path: &'a Path,
    options: &'a ClipOptions,
    file: BufWriter<File>,
    size: Option<(usize, usize)>,
    numbers: Vec<u64>,
}

impl<'a> Spool<'a> {
    fn new(path: &'a Path, options: &'a ClipOptions) -> Result<Self> {
        let file = tempfile::tempfile().map_err(|e| no_room(&e))?;
        Ok(Self { path, options, file: BufWriter::with_capacity(1 << 20, file), size: None, numbers: Vec::new() })
    }

    fn add(&mut self, image: &GrayImage, number: u64) -> Result<()> {
        let size = self.options.size(image.size());
        if *self.size.get_or_insert(size) != size {
            return Err(Error::broken(self.path, format!("frame {number} has another size than those before it")));
        }
        self.numbers.push(number);
        self.file.write_all(&image.shrunk(size).pixels).map_err(|e| no_room(&e))
    }

    fn finish(self, rate: Option<f64>) -> Result<Clip> {
        let Some((height, width)) = self.size else {
            return Err(Error::data(format!("{}: the clip holds no frame", self.path.display())));
        };
        let (samples, features) = (self.numbers.len(), height * width);
        let shape = Shape { samples, features, element: ElementType::U8, image: Some((height, width)) };
        let file = self.file.into_inner().map_err(|e| no_room(e.error()))?;
        let mapped = Mapped::new(self.path, file, shape.bytes())?;
        Ok(Clip { path: self.path.into(), place: Place::Decoded(mapped), shape, numbers: self.numbers, rate })
    }
}

fn no_room(error: &std::io::Error) -> Error {
    let why = format!(
        "the frames cannot be kept in a temporary file here: {error}; make room, choose another folder by TMPDIR, or read less \
         with --every, --to or --scale"
    );
    Error::io(std::env::temp_dir(), std::io::Error::new(error.kind(), why))
}
