//! Temporary files of decoded frames, which have no name where the system allows that: gray levels in one,
//! colors, where they are wanted, in another.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image::Image;
use crate::npy::mmap::Mapped;

/// Frames of one size that are being kept.
pub(crate) struct Spool<'a> {
    path: &'a Path,
    options: &'a ClipOptions,
    /// One for each way in which a frame is kept.
    files: Vec<BufWriter<File>>,
    size: Option<(usize, usize)>,
    numbers: Vec<u64>,
}

/// Frames that were kept.
pub(crate) struct Spooled {
    /// Height and width of each.
    pub(crate) size: (usize, usize),
    /// The number of each.
    pub(crate) numbers: Vec<u64>,
    /// Their gray levels.
    pub(crate) gray: Mapped,
    /// Their colours.
    pub(crate) colors: Option<Mapped>,
}

impl<'a> Spool<'a> {
    /// For frames of the clip at this path.
    pub(crate) fn new(path: &'a Path, options: &'a ClipOptions) -> Result<Self> {
        let file = || tempfile::tempfile().map(|file| BufWriter::with_capacity(1 << 20, file));
        let files = options.views().iter().map(|_| file()).collect::<std::io::Result<_>>().map_err(|e| no_room(&e))?;
        Ok(Self { path, options, files, size: None, numbers: Vec::new() })
    }

    /// Adds a frame, in each of the [`ClipOptions::views`].
    pub(crate) fn add(&mut self, views: &[Image], number: u64) -> Result<()> {
        for (picture, file) in views.iter().zip(&mut self.files) {
            let size = self.options.size(picture.size());
            if *self.size.get_or_insert(size) != size {
                return Err(Error::corrupt_file(
                    self.path,
                    format!("frame {number} has another size than those before it"),
                ));
            }
            file.write_all(&picture.shrunk(size).pixels).map_err(|e| no_room(&e))?;
        }
        self.numbers.push(number);
        Ok(())
    }

    /// All of them, ready to be read.
    pub(crate) fn finish(self) -> Result<Spooled> {
        let Some(size) = self.size else {
            return Err(Error::invalid_data(format!("{}: the clip holds no frame", self.path.display())));
        };
        let pixels = (self.numbers.len() * size.0 * size.1) as u64;
        let mut kept = self.files.into_iter().zip(self.options.views()).map(|(file, color)| {
            let file = file.into_inner().map_err(|e| no_room(e.error()))?;
            Mapped::new(self.path, file, pixels * color.channels() as u64)
        });
        let gray = kept.next().expect("gray is always kept")?;
        Ok(Spooled { size, numbers: self.numbers, gray, colors: kept.next().transpose()? })
    }
}

fn no_room(error: &std::io::Error) -> Error {
    let why = format!(
        "the frames cannot be kept in a temporary file here: {error}; make room, choose another folder by TMPDIR, or read less \
         with --every, --to or --scale"
    );
    Error::io(std::env::temp_dir(), std::io::Error::new(error.kind(), why))
}
