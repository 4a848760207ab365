//! A clip: frames of one size in gray bytes, from a folder of images, a video, a GIF or an (n, height, width) `.npy`.
//!
//! An array of bytes is read in place. Everything else is decoded once into a temporary file of n x height x width bytes
//! in the system's folder for such files, and where colours are asked for, these into another of three times that size.
//! Such a file has no name (where the system allows that), so it is gone with the process, however that ends.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use steradian::{Block, BlockData, ElementType, Error, Result, Rows, Shape, Source};

use crate::clip::clip_options::ClipOptions;
#[cfg(feature = "images")]
use crate::clip::gif::spool_gif;
use crate::clip::image::{Color, Image};
#[cfg(feature = "images")]
use crate::clip::image_folder::spool_folder;
use crate::clip::spool::{Spool, Spooled};
#[cfg(feature = "video")]
use crate::clip::video_reader::spool_video;
use crate::npy::mmap::Mapped;
use crate::npy::npy_header::MAGIC;
use crate::npy::npy_source::{NpySource, check_rows};
#[cfg(not(all(feature = "images", feature = "video")))]
use crate::system::missing_feature::missing_feature;
use crate::system::pread::open_regular;

/// Bytes of a file that show its format.
const HEAD: u64 = 16;
/// Remedy for a clip in a format that was left out of this build.
#[cfg(not(all(feature = "images", feature = "video")))]
const OTHER_CLIP: &str = "save the frames as an (n, height, width) .npy of uint8";

/// Frames of one size, in gray bytes.
#[derive(Debug)]
pub struct Clip {
    path: PathBuf,
    place: FrameStore,
    shape: Shape,
    colors: Option<Mapped>,
    numbers: Vec<u64>,
    rate: Option<f64>,
}

#[derive(Debug)]
enum FrameStore {
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
        Read::by_ref(&mut file).take(HEAD).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        if bytes == 0 {
            return Err(Error::invalid_data(format!(
                "{}: the file is empty (0 bytes); a clip is expected",
                path.display()
            )));
        }
        if head.starts_with(MAGIC) || path.extension().is_some_and(|name| name.eq_ignore_ascii_case("npy")) {
            return Self::array(path, options);
        }
        if head.starts_with(b"GIF8") {
            return Self::gif(path, options);
        }
        if is_one_image(&head) {
            return Err(Error::invalid_data(format!(
                "{}: this is one image, and a clip has many; give the folder of its frames",
                path.display()
            )));
        }
        Self::video(path, options)
    }

    #[cfg(feature = "images")]
    fn folder(path: &Path, options: &ClipOptions) -> Result<Self> {
        Ok(Self::decoded(path, spool_folder(path, options)?, None))
    }

    #[cfg(not(feature = "images"))]
    fn folder(path: &Path, _: &ClipOptions) -> Result<Self> {
        Err(missing_feature(path, "reading a folder of images", "images", OTHER_CLIP))
    }

    #[cfg(feature = "images")]
    fn gif(path: &Path, options: &ClipOptions) -> Result<Self> {
        Ok(Self::decoded(path, spool_gif(path, options)?, None))
    }

    #[cfg(not(feature = "images"))]
    fn gif(path: &Path, _: &ClipOptions) -> Result<Self> {
        Err(missing_feature(path, "reading a GIF", "images", OTHER_CLIP))
    }

    #[cfg(feature = "video")]
    fn video(path: &Path, options: &ClipOptions) -> Result<Self> {
        let (kept, rate) = spool_video(path, options)?;
        Ok(Self::decoded(path, kept, rate))
    }

    #[cfg(not(feature = "video"))]
    fn video(path: &Path, _: &ClipOptions) -> Result<Self> {
        Err(missing_feature(path, "reading a video", "video", OTHER_CLIP))
    }

    fn array(path: &Path, options: &ClipOptions) -> Result<Self> {
        let array = NpySource::open(path)?;
        let shape = array.shape().clone();
        let (Some((height, width)), ElementType::U8) = (shape.image, shape.element) else {
            let what = match shape.image {
                None => format!("{} x {} numbers without an image size", shape.samples, shape.features),
                Some((h, w)) => format!("{} x {h} x {w} of {}", shape.samples, shape.element),
            };
            return Err(Error::invalid_data(format!(
                "{}: the array is {what}; a clip is (frames, height, width) of uint8: convert with X.astype('uint8') once \
                 its numbers run from 0 to 255",
                path.display()
            )));
        };
        if options.color {
            return Err(Error::invalid_argument(format!(
                "{}: the array holds gray levels, so there are no colours to keep; leave --color out, or give a video or a folder of \
                 images",
                path.display()
            )));
        }
        options.require_inside(path, shape.samples)?;
        let end = options.to.unwrap_or(shape.samples);
        if options.every == 1 && options.size((height, width)) == (height, width) {
            let numbers = (options.from as u64..end as u64).collect();
            let kept = Shape { samples: end - options.from, ..shape };
            return Ok(Self {
                path: path.into(),
                place: FrameStore::Array(array, options.from),
                shape: kept,
                colors: None,
                numbers,
                rate: None,
            });
        }
        let mut spool = Spool::new(path, options)?;
        for frame in (options.from..end).filter(|&frame| options.takes(frame)) {
            array.visit(frame..frame + 1, &mut |block| {
                let BlockData::U8(rows) = block.data() else { unreachable!("checked above") };
                let pixels = (0..rows.columns()).map(|pixel| rows.get(0, pixel)).collect();
                spool.add(&[Image { height, width, color: Color::Gray, pixels }], frame as u64)
            })?;
        }
        Ok(Self::decoded(path, spool.finish()?, None))
    }

    fn decoded(path: &Path, kept: Spooled, rate: Option<f64>) -> Self {
        let Spooled { size: (height, width), numbers, gray, colors } = kept;
        let (samples, features) = (numbers.len(), height * width);
        let shape = Shape { samples, features, element: ElementType::U8, image: Some((height, width)) };
        Self { path: path.into(), place: FrameStore::Decoded(gray), shape, colors, numbers, rate }
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

    /// Bytes of the temporary files that the clip was decoded into; 0 when it is read in place.
    pub fn temporary_bytes(&self) -> u64 {
        let views = match self.place {
            FrameStore::Array(..) => 0,
            FrameStore::Decoded(_) => {
                Color::Gray.channels() + self.colors.iter().map(|_| Color::Rgb.channels()).sum::<usize>()
            }
        };
        self.shape.bytes() * views as u64
    }

    /// A frame in colour, if colours were asked for: red, green and blue of one pixel after the other.
    pub fn colors(&self, frame: usize) -> Option<Vec<u8>> {
        let file = self.colors.as_ref()?;
        let bytes = self.shape.features * Color::Rgb.channels();
        let place = frame * bytes..(frame + 1) * bytes;
        let pixels = file.bytes(place.clone()).to_vec();
        file.release(place);
        Some(pixels)
    }
}

impl Source for Clip {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        match &self.place {
            FrameStore::Array(array, first) => array
                .visit(first + rows.start..first + rows.end, &mut |block| visit(Block::new(rows.start, block.data()))),
            FrameStore::Decoded(file) => {
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

/// Whether a file that begins with these bytes is a single image.
#[cfg(feature = "images")]
fn is_one_image(head: &[u8]) -> bool {
    image::guess_format(head).is_ok_and(|format| format != image::ImageFormat::Gif)
}

/// Whether a file that begins with these bytes is a single image, of the formats that the feature `images` reads.
#[cfg(not(feature = "images"))]
fn is_one_image(head: &[u8]) -> bool {
    let known: [&[u8]; 5] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"II*\0", b"MM\0*"];
    known.iter().any(|start| head.starts_with(start)) || matches!(head, [b'P', b'1'..=b'6', ..])
}
