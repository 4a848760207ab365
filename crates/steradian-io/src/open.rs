//! Opening data of any supported format, which is detected by content, not by file name.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use steradian::data::{Block, Shape};
use steradian::{Error, Result, Source};

use crate::clip::clip_limits::ClipLimits;
use crate::clip::clip_options::ClipOptions;
use crate::clip::clip_source::Clip;
use crate::clip::container::{HEAD, container};
use crate::npy::npy_header::MAGIC;
use crate::npy::npy_source::NpySource;
use crate::npy::streamed::StreamedNpySource;
use crate::rows_and_cells::DataView;
use crate::system::memory::available;
#[cfg(not(all(feature = "csv", feature = "parquet")))]
use crate::system::missing_feature::missing_feature;
use crate::system::pread::{PositionedReader, open_regular};
#[cfg(feature = "csv")]
use crate::table::csv::CsvSource;
#[cfg(feature = "parquet")]
use crate::table::parquet::ParquetSource;
use crate::table::table_options::{MissingRule, TableOptions};

/// Magic bytes of a parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";

/// Alternative to a table format that this build does not include.
#[cfg(not(all(feature = "csv", feature = "parquet")))]
const OTHER_TABLE: &str = "save the data as .npy";

/// Data of any supported format.
#[derive(Debug)]
#[non_exhaustive]
pub enum Data {
    /// A memory-mapped array.
    Npy(NpySource),
    /// A streamed array, for files that do not fit into memory.
    Streamed(StreamedNpySource),
    /// A streamed text table.
    #[cfg(feature = "csv")]
    Csv(CsvSource),
    /// A streamed parquet table.
    #[cfg(feature = "parquet")]
    Parquet(ParquetSource),
    /// The frames of a folder of images, a GIF or a video.
    Clip(Clip),
    /// Other data without some of their rows, or with a mask of missing cells.
    View(Box<DataView>),
}

impl Data {
    /// Streams an array that is larger than `memory` bytes, or than the available memory of the system if there is no
    /// limit. Other data are returned unchanged, and so are arrays in Fortran order, whose blocks are spread over the
    /// whole file. The buffers have their smallest size; see [`StreamedNpySource::widen`].
    pub fn stream_if_larger_than(self, memory: Option<u64>) -> Result<Self> {
        let array = match self {
            Self::Npy(array) => array,
            Self::View(view) => {
                return Ok(Self::View(Box::new(view.with(|data| data.stream_if_larger_than(memory))?)));
            }
            other => return Ok(other),
        };
        let fits = memory.or_else(available).is_none_or(|limit| array.shape().bytes() <= limit);
        if fits || array.is_fortran() {
            return Ok(Self::Npy(array));
        }
        Ok(Self::Streamed(StreamedNpySource::open(array.path())?))
    }

    /// Enlarges the buffers of streamed data to the best size for this number of threads, by at most `more` bytes.
    pub fn widened(self, threads: usize, more: u64) -> Result<Self> {
        match self {
            Self::Streamed(array) => Ok(Self::Streamed(array.widen(threads, more)?)),
            Self::View(view) => Ok(Self::View(Box::new(view.with(|data| data.widened(threads, more))?))),
            other => Ok(other),
        }
    }

    fn source(&self) -> &dyn Source {
        match self {
            Self::Npy(array) => array,
            Self::Streamed(array) => array,
            #[cfg(feature = "csv")]
            Self::Csv(table) => table,
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table,
            Self::Clip(clip) => clip,
            Self::View(view) => &**view,
        }
    }

    /// The streamed array that these data are, or are a view of.
    pub fn streamed(&self) -> Option<&StreamedNpySource> {
        match self {
            Self::Streamed(array) => Some(array),
            Self::View(view) => view.of().streamed(),
            _ => None,
        }
    }

    /// The names of the features, if the format has them.
    pub fn feature_names(&self) -> Option<&[String]> {
        match self {
            Self::Npy(_) | Self::Streamed(_) | Self::Clip(_) => None,
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.feature_names(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => Some(table.feature_names()),
            Self::View(view) => view.of().feature_names(),
        }
    }

    /// The name of a sample, if the format has row names.
    pub fn row_name(&self, sample: usize) -> Option<&str> {
        // Unused in a build without tables.
        let _ = sample;
        match self {
            Self::Npy(_) | Self::Streamed(_) | Self::Clip(_) => None,
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.row_name(sample),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.row_name(sample),
            Self::View(view) => view.of().row_name(view.sample(sample)),
        }
    }

    /// The header of the row names, if the format has row names; empty if the table has no header.
    pub fn row_names_header(&self) -> Option<&str> {
        match self {
            Self::Npy(_) | Self::Streamed(_) | Self::Clip(_) => None,
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.row_names_header(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.row_names_header(),
            Self::View(view) => view.of().row_names_header(),
        }
    }

    /// Values of the first and the last column of the first row of a text table, if that was taken for a sample but looks
    /// like a header of numbers, such as wavelengths.
    pub fn number_header(&self) -> Option<[f64; 2]> {
        match self {
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.number_header(),
            Self::View(view) => view.of().number_header(),
            _ => None,
        }
    }

    /// True for a text table.
    pub fn is_text(&self) -> bool {
        match self {
            #[cfg(feature = "csv")]
            Self::Csv(_) => true,
            Self::View(view) => view.of().is_text(),
            _ => false,
        }
    }

    /// Index of the row of a sample in the file, from 0; it differs from the index of the sample after dropped rows.
    pub fn table_row(&self, sample: usize) -> usize {
        match self {
            Self::Npy(_) | Self::Streamed(_) | Self::Clip(_) => sample,
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.table_row(sample),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.table_row(sample),
            Self::View(view) => view.of().table_row(view.sample(sample)),
        }
    }

    /// The rows of the file that were dropped because of a missing cell, from 0, in order.
    pub fn dropped_rows(&self) -> &[usize] {
        match self {
            Self::Npy(_) | Self::Streamed(_) | Self::Clip(_) => &[],
            #[cfg(feature = "csv")]
            Self::Csv(table) => table.dropped_rows(),
            #[cfg(feature = "parquet")]
            Self::Parquet(table) => table.dropped_rows(),
            Self::View(view) => match &**view {
                DataView::Complete(_, dropped) => dropped,
                other => other.of().dropped_rows(),
            },
        }
    }
}

impl Source for Data {
    fn shape(&self) -> &Shape {
        self.source().shape()
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.feature_names().map(|names| names[feature].clone())
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        self.source().advise_access(parts, n_threads);
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        self.source().buffer_bytes(threads)
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.source().visit(rows, visit)
    }
}

/// Opens a `.npy` array, a table (`.csv` or `.parquet`), a folder of images or a video, within the default limits of
/// decoding. Options of tables are rejected
/// for other formats.
pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Data> {
    open_within(path, options, &ClipLimits::default())
}

/// Opens data as [`open`] does; the limits apply to images and videos.
pub fn open_within(path: impl AsRef<Path>, options: &TableOptions, limits: &ClipLimits) -> Result<Data> {
    let path = path.as_ref();
    let frames = ClipOptions { limits: *limits, ..ClipOptions::default() };
    let reject = |problem: &str| Err(Error::invalid_data(format!("{}: {problem}", path.display())));
    if path.is_dir() {
        options.require_unset(path, "a folder")?;
        return Ok(Data::Clip(Clip::open(path, &frames)?));
    }
    let (file, bytes) = open_regular(path)?;
    let mut head = Vec::new();
    PositionedReader::new(&file, 0).take(HEAD).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
    if head.is_empty() {
        return reject("the file is empty (0 bytes); expected a .npy array or a table");
    }
    // The header reader reports a corrupt magic, and unknown content in a file with the suffix .npy.
    let array = head[0] == MAGIC[0] || head.get(1..6) == Some(&MAGIC[1..]);
    let named_array = path.extension().is_some_and(|name| name.eq_ignore_ascii_case("npy"));
    let parquet = head.starts_with(PARQUET_MAGIC);
    let video = video_format(&head);
    if array || (named_array && !parquet && video.is_none() && unsupported_format(&head, bytes).is_none()) {
        options.require_unset(path, "a .npy array")?;
        let array = Data::Npy(NpySource::open(path)?);
        return match options.missing {
            MissingRule::Drop => array.without_incomplete_rows(),
            MissingRule::Error | MissingRule::Use => Ok(array),
        };
    }
    if parquet {
        return open_parquet(path, options);
    }
    if let Some(format) = video {
        options.require_unset(path, format)?;
        return Ok(Data::Clip(Clip::open(path, &frames)?));
    }
    if let Some(problem) = unsupported_format(&head, bytes) {
        return reject(&problem);
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return reject("UTF-16 text is not supported; save the table as UTF-8");
    }
    if head.contains(&0) {
        return reject("the file is neither a .npy array nor text; save the data as .npy, .parquet or .csv");
    }
    open_csv(path, options)
}

#[cfg(feature = "csv")]
fn open_csv(path: &Path, options: &TableOptions) -> Result<Data> {
    Ok(Data::Csv(CsvSource::open(path, options)?))
}

#[cfg(not(feature = "csv"))]
fn open_csv(path: &Path, _: &TableOptions) -> Result<Data> {
    Err(missing_feature(path, "reading a text table", "csv", OTHER_TABLE))
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path, options: &TableOptions) -> Result<Data> {
    Ok(Data::Parquet(ParquetSource::open(path, options)?))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path, _: &TableOptions) -> Result<Data> {
    Err(missing_feature(path, "reading a parquet table", "parquet", OTHER_TABLE))
}

/// Name of the video or GIF format of a file with these first bytes, if it is one.
fn video_format(head: &[u8]) -> Option<&'static str> {
    let gif = head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a");
    if gif { Some("a GIF") } else { container(head).map(|container| container.name) }
}

/// Problem and remedy of a file in a known format that is not supported.
fn unsupported_format(head: &[u8], bytes: u64) -> Option<String> {
    let at = |start: usize, magic: &[u8]| head.get(start..).is_some_and(|rest| rest.starts_with(magic));
    let archive = [
        (&b"\x1f\x8b"[..], "gzip"),
        (b"PK\x03\x04", "zip (.npz, spreadsheet)"),
        (b"PK\x05\x06", "empty zip"),
        (b"\x28\xb5\x2f\xfd", "zstandard"),
        (b"\xfd7zXZ\0", "xz"),
    ];
    let table = [
        (&b"PARE"[..], "encrypted parquet"),
        (b"ARROW1", "Arrow"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"MATLAB 5.0 MAT-file", "MATLAB"),
        (b"SQLite format 3\0", "SQLite"),
    ];
    let image = [
        (&b"\x89PNG\r\n\x1a\n"[..], "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
    ];
    let find = |list: &[(&[u8], &'static str)]| list.iter().find(|(magic, _)| at(0, magic)).map(|&(_, name)| name);
    if let Some(name) = find(&archive) {
        return Some(format!("{name} archives are not supported; extract the .npy or .csv file first"));
    }
    if let Some(name) = find(&table) {
        return Some(format!("{name} files are not supported; convert the data to .npy, .parquet or .csv"));
    }
    let other_image = match () {
        () if at(0, b"BM") && at(6, &[0; 4]) => Some("a BMP image"),
        () if at(0, b"RIFF") && at(8, b"WEBP") => Some("a WebP image"),
        () if is_pnm(head) => Some("a PNM image"),
        () => None,
    };
    if let Some(name) = find(&image).or(other_image) {
        return Some(format!("{name} is only one sample; pass the folder that contains all images"));
    }
    let model = head.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    if at(8, b"{") && model.is_some_and(|length| (2..=bytes.saturating_sub(8)).contains(&length)) {
        return Some("this is a safetensors file, as models are, not data; give the data here".to_string());
    }
    None
}

/// True for PNM images: P1 to P6, then width and height on one line, which distinguishes them from a table with a
/// column of that name.
fn is_pnm(head: &[u8]) -> bool {
    let [b'P', b'1'..=b'6', b'\n' | b'\r' | b' ', rest @ ..] = head else {
        return false;
    };
    let lines = rest.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"#"));
    let sizes = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty()).unwrap_or_default();
    sizes.contains(&b' ') && sizes.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ')
}
