//! Temporary files of decoded frames: gray levels in one, colors, if requested, in another.
//!
//! The files have no name where the system supports that.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use steradian::error::os_error_text;
use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::Image;
use crate::npy::mmap::MappedFile;
use crate::output::temporary::scratch_file;

/// A writer of frames of one size to temporary files.
pub(crate) struct Spool<'a> {
    path: &'a Path,
    options: &'a ClipOptions,
    /// One file per color format.
    files: Vec<BufWriter<File>>,
    size: Option<(usize, usize)>,
    numbers: Vec<u64>,
}

/// Decoded frames in temporary files.
pub(crate) struct DecodedFrames {
    /// Height and width of a frame.
    pub(crate) size: (usize, usize),
    /// Number of each frame.
    pub(crate) numbers: Vec<u64>,
    /// Gray levels, frame by frame.
    pub(crate) gray: MappedFile,
    /// RGB bytes, frame by frame, if colors were requested.
    pub(crate) colors: Option<MappedFile>,
}

impl<'a> Spool<'a> {
    /// Creates the temporary files for frames of the clip at a path.
    pub(crate) fn new(path: &'a Path, options: &'a ClipOptions) -> Result<Self> {
        let file = || scratch_file().map(|file| BufWriter::with_capacity(1 << 18, file));
        let files = options.formats().iter().map(|_| file()).collect::<std::io::Result<_>>();
        let files = files.map_err(|e| cannot_store(&e))?;
        Ok(Self { path, options, files, size: None, numbers: Vec::new() })
    }

    /// Adds a frame: one image per color format of [`ClipOptions::formats`].
    pub(crate) fn add(&mut self, images: &[Image], number: u64) -> Result<()> {
        for (image, file) in images.iter().zip(&mut self.files) {
            let size = self.options.output_dimensions(image.dimensions());
            let (height, width) = *self.size.get_or_insert(size);
            if (height, width) != size {
                return Err(Error::corrupt_file(
                    self.path,
                    format!("frame {number} is {} x {}, expected {height} x {width} (height x width)", size.0, size.1),
                ));
            }
            let written = match size == image.dimensions() {
                true => file.write_all(&image.pixels),
                false => file.write_all(&image.shrunk(size).pixels),
            };
            written.map_err(|e| cannot_store(&e))?;
        }
        self.numbers.push(number);
        Ok(())
    }

    /// Maps the files for reading; fails if there is no frame.
    pub(crate) fn finish(self) -> Result<DecodedFrames> {
        let Some(size) = self.size else {
            return Err(Error::invalid_data(format!("{}: the clip contains no frame", self.path.display())));
        };
        let pixels = (self.numbers.len() * size.0 * size.1) as u64;
        let mut mapped = self.files.into_iter().zip(self.options.formats()).map(|(file, color)| {
            let file = file.into_inner().map_err(|e| cannot_store(e.error()))?;
            MappedFile::new(self.path, file, pixels * color.channels() as u64)
        });
        let gray = mapped.next().expect("gray is always a format")?;
        Ok(DecodedFrames { size, numbers: self.numbers, gray, colors: mapped.next().transpose()? })
    }
}

fn cannot_store(error: &std::io::Error) -> Error {
    let problem = format!(
        "cannot store the decoded frames in a temporary file: {}; free disk space, set TMPDIR to another folder, or read fewer \
         or smaller frames",
        os_error_text(error)
    );
    Error::io(std::env::temp_dir(), std::io::Error::new(error.kind(), problem))
}
