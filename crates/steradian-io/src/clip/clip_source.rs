//! Clips as sources: u8 gray frames of one size from images, a video, a GIF or an (n, height, width) `.npy`.
//!
//! A u8 array is read in place. Other formats are decoded once into a temporary file of n x height x width bytes in the
//! temporary folder of the system, and colors, if requested, into another one of three times that size. Both together
//! are at most as large as [`ClipLimits::max_decoded`](crate::ClipLimits::max_decoded). These files
//! have no name where the system supports that, so the system removes them when the process ends, also after a crash.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use steradian::data::{Block, BlockData, ElementType, Rows, Shape};
use steradian::{Error, Result, Source};

use crate::clip::clip_options::ClipOptions;
use crate::clip::container::{Container, HEAD, SUPPORTED, container, playlist};
#[cfg(feature = "images")]
use crate::clip::gif::spool_gif;
use crate::clip::image::{Color, Image};
#[cfg(feature = "images")]
use crate::clip::image_folder::spool_folder;
use crate::clip::spool::{DecodedFrames, Spool};
#[cfg(feature = "video")]
use crate::clip::video_reader::{VideoFile, spool_video};
use crate::npy::mmap::MappedFile;
use crate::npy::npy_header::MAGIC;
use crate::npy::npy_source::{NpySource, check_rows};
#[cfg(not(all(feature = "images", feature = "video")))]
use crate::system::missing_feature::missing_feature;
use crate::system::pread::open_regular;

/// Alternative to a clip format that this build does not include.
#[cfg(not(all(feature = "images", feature = "video")))]
const OTHER_CLIP: &str = "save the frames as an (n, height, width) .npy of uint8";

/// Frames of one size with u8 gray levels.
#[derive(Debug)]
pub struct Clip {
    path: PathBuf,
    store: FrameStore,
    shape: Shape,
    /// RGB bytes of the frames, if colors were requested.
    colors: Option<MappedFile>,
    /// Number of each frame, see [`Clip::number`].
    numbers: Vec<u64>,
    /// Frames per second.
    rate: Option<f64>,
}

/// The storage of the gray levels.
#[derive(Debug)]
enum FrameStore {
    /// A u8 array and the index of the first frame in it.
    Array(NpySource, usize),
    /// A temporary file with the decoded frames.
    Decoded(MappedFile),
}

impl Clip {
    /// Opens a folder of images, a video, a GIF or an array, and decodes it unless it is an array.
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
                "{}: the file is empty (0 bytes); expected a clip",
                path.display()
            )));
        }
        if head.starts_with(MAGIC) || path.extension().is_some_and(|name| name.eq_ignore_ascii_case("npy")) {
            return Self::array(path, options);
        }
        if head.starts_with(b"GIF8") {
            return Self::gif(path, options);
        }
        if is_single_image(&head) {
            return Err(Error::invalid_data(format!(
                "{}: expected a clip, got a single image; pass the folder of its frames",
                path.display()
            )));
        }
        if let Some(list) = playlist(&head) {
            return Err(Error::invalid_data(format!(
                "{}: the file is {list}, which names other files; pass the video itself",
                path.display()
            )));
        }
        let Some(container) = container(&head) else {
            return Err(Error::corrupt_file(
                path,
                format!("the file is not a video in a supported format: {SUPPORTED}"),
            ));
        };
        Self::video(path, container, options)
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
    fn video(path: &Path, container: Container, options: &ClipOptions) -> Result<Self> {
        let (frames, rate) = spool_video(VideoFile { path, container }, options)?;
        Ok(Self::decoded(path, frames, rate))
    }

    #[cfg(not(feature = "video"))]
    fn video(path: &Path, _: Container, _: &ClipOptions) -> Result<Self> {
        Err(missing_feature(path, "reading a video", "video", OTHER_CLIP))
    }

    fn array(path: &Path, options: &ClipOptions) -> Result<Self> {
        let array = NpySource::open(path)?;
        let shape = array.shape().clone();
        let (Some((height, width)), ElementType::U8) = (shape.image, shape.element) else {
            let found = match shape.image {
                None => format!("({}, {})", shape.samples, shape.features),
                Some((h, w)) => format!("({}, {h}, {w})", shape.samples),
            };
            return Err(Error::invalid_data(format!(
                "{}: a clip requires shape (frames, height, width) of uint8, got {found} of {}; scale the data to 0..255 and \
                 convert them with X.astype('uint8')",
                path.display(),
                shape.element
            )));
        };
        if options.color {
            let problem = "the array has gray levels only; pass a video or a folder of images to read colors";
            return Err(Error::invalid_parameter("color", format!("{}: {problem}", path.display())));
        }
        options.check_range(path, shape.samples)?;
        let (start, end) = (options.start, options.end.unwrap_or(shape.samples));
        if options.stride == 1 && options.output_dimensions((height, width)) == (height, width) {
            return Ok(Self {
                path: path.into(),
                store: FrameStore::Array(array, start),
                shape: Shape { samples: end - start, ..shape },
                colors: None,
                numbers: (start as u64..end as u64).collect(),
                rate: None,
            });
        }
        let mut spool = Spool::new(path, options)?;
        for frame in (start..end).filter(|&frame| options.selects(frame)) {
            array.visit(frame..frame + 1, &mut |block| {
                let BlockData::U8(rows) = block.data() else { unreachable!("the element type was checked") };
                let pixels = (0..rows.columns()).map(|pixel| rows.get(0, pixel)).collect();
                spool.add(&[Image { height, width, color: Color::Gray, pixels }], frame as u64)
            })?;
        }
        Ok(Self::decoded(path, spool.finish()?, None))
    }

    fn decoded(path: &Path, frames: DecodedFrames, rate: Option<f64>) -> Self {
        let DecodedFrames { size: (height, width), numbers, gray, colors } = frames;
        let (samples, features) = (numbers.len(), height * width);
        let shape = Shape { samples, features, element: ElementType::U8, image: Some((height, width)) };
        Self { path: path.into(), store: FrameStore::Decoded(gray), shape, colors, numbers, rate }
    }

    /// The path of the clip.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Height and width of a frame in pixels.
    pub fn dimensions(&self) -> (usize, usize) {
        self.shape.image.expect("a clip has an image size")
    }

    /// The number of a frame: the one in the name of its file, or its index in the video or array, from 0.
    pub fn number(&self, frame: usize) -> u64 {
        self.numbers[frame]
    }

    /// Frames per second, if the file declares it.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Size of the temporary files of the decoded frames in bytes; 0 if the clip is read in place.
    pub fn temporary_bytes(&self) -> u64 {
        let channels = match self.store {
            FrameStore::Array(..) => 0,
            FrameStore::Decoded(_) => {
                Color::Gray.channels() + self.colors.iter().map(|_| Color::Rgb.channels()).sum::<usize>()
            }
        };
        self.shape.bytes() * channels as u64
    }

    /// The RGB bytes of a frame, pixel by pixel; `None` unless colors were requested.
    pub fn colors(&self, frame: usize) -> Option<Vec<u8>> {
        let file = self.colors.as_ref()?;
        let bytes = self.shape.features * Color::Rgb.channels();
        let range = frame * bytes..(frame + 1) * bytes;
        let pixels = file.bytes(range.clone()).to_vec();
        file.release(range);
        Some(pixels)
    }
}

impl Source for Clip {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        check_rows(&self.path, &rows, self.shape.samples)?;
        match &self.store {
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

/// True if a file with these first bytes is a single image.
#[cfg(feature = "images")]
fn is_single_image(head: &[u8]) -> bool {
    image::guess_format(head).is_ok_and(|format| format != image::ImageFormat::Gif)
}

/// True if a file with these first bytes is a single image in a format of the feature `images`.
#[cfg(not(feature = "images"))]
fn is_single_image(head: &[u8]) -> bool {
    let known: [&[u8]; 5] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"BM", b"II*\0", b"MM\0*"];
    known.iter().any(|start| head.starts_with(start)) || matches!(head, [b'P', b'1'..=b'6', ..])
}
