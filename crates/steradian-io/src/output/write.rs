//! Atomic writes of results: to a temporary file in the same folder, renamed into place when complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[cfg(feature = "csv")]
use steradian::Matrix;
use steradian::{ElementType, Error, Result};
use tempfile::TempPath;

use crate::npy::element::FileElement;
use crate::npy::npy_header::MAGIC;

/// A file in the making: what is written appears under its name at [`AtomicFile::finish`], and nowhere if that is
/// never called.
///
/// An existing file is replaced in one step; a link keeps being a link.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: PathBuf,
    /// Removes the temporary file unless it has got its name.
    temporary: TempPath,
    file: BufWriter<File>,
}

impl AtomicFile {
    /// Starts a file; the folder must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let target = match std::fs::metadata(&path) {
            Ok(kind) if kind.is_file() => std::fs::canonicalize(&path).map_err(|e| Error::io(&path, e))?,
            // Renaming onto a device would replace the device.
            Ok(kind) => {
                let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
                let why = format!("this is {what}; outputs are written whole under a name of their own: name a file");
                return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, why)));
            }
            Err(_) => path.clone(),
        };
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // `create_new` rather than the crate's own way, so that a result gets the permissions any new file would.
        let (file, temporary) = tempfile::Builder::new()
            .prefix(".steradian-")
            .suffix(".part")
            .make_in(folder, |name| File::create_new(name))
            .map_err(|e| cannot_write(&path, &e))?
            .into_parts();
        Ok(Self { path, target, temporary, file: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Brings everything to the disk; from then on only the name is missing, which takes no room.
    pub fn complete(&mut self) -> Result<()> {
        let brought = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        brought.map_err(|e| cannot_write(&self.path, &e))
    }

    /// Brings everything to the disk, then gives the file its name.
    pub fn finish(mut self) -> Result<()> {
        self.complete()?;
        let Self { path, target, temporary, file } = self;
        drop(file);
        temporary.persist(&target).map_err(|e| cannot_write(&path, &e.error))?;
        // The new name too should survive a power cut. Some file systems cannot do this for folders; the file is there.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            let folder = if folder == Path::new("") { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// Writes all bytes; unlike the method of [`Write`], its error names the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| cannot_write(&self.path, &e))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let why = format!("cannot be written: {error}; check that its folder exists, is writable and has room");
    Error::io(path, io::Error::new(error.kind(), why))
}

/// A folder of files in the making: it takes its name at [`StagedDir::finish`], in place of an earlier one.
#[derive(Debug)]
pub struct StagedDir {
    target: PathBuf,
    temporary: tempfile::TempDir,
}

impl StagedDir {
    /// Starts a folder; the one above it must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let target = path.as_ref().to_path_buf();
        let above = target.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
        let make = tempfile::Builder::new().prefix(".steradian-").suffix(".part").tempdir_in(above);
        let temporary = make.map_err(|e| cannot_write(&target, &e))?;
        Ok(Self { target, temporary })
    }

    /// Writes one file.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let written = std::fs::write(self.temporary.path().join(name), bytes);
        written.map_err(|e| cannot_write(&self.target.join(name), &e))
    }

    /// Gives the folder its name. An earlier folder of that name is removed with all that is in it.
    pub fn finish(self) -> Result<()> {
        let failed = |e: io::Error| cannot_write(&self.target, &e);
        if self.target.is_dir() {
            std::fs::remove_dir_all(&self.target).map_err(failed)?;
        }
        #[cfg(unix)]
        {
            // A temporary folder is its owner's alone; a result is for whom any new folder would be.
            use std::os::unix::fs::PermissionsExt;
            let like = self.target.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
            let mode = std::fs::metadata(like).map_err(failed)?.permissions().mode() & 0o777 | 0o700;
            std::fs::set_permissions(self.temporary.path(), std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        }
        std::fs::rename(self.temporary.path(), &self.target).map_err(failed)?;
        // What is renamed is not there to be removed.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// Writes a `.npy` array of known shape and type, some rows at a time.
#[derive(Debug)]
pub struct NpyWriter {
    file: AtomicFile,
    element: ElementType,
    rows: usize,
    row_length: usize,
    /// Numbers written so far.
    written: usize,
    bytes: Vec<u8>,
}

impl NpyWriter {
    /// Starts an array of this shape, whose first number counts its rows.
    pub fn create(path: impl AsRef<Path>, element: ElementType, shape: &[usize]) -> Result<Self> {
        let path = path.as_ref();
        let Some((&rows, sizes)) = shape.split_first() else {
            return Err(Error::invalid_argument(format!("{}: an array needs at least one dimension", path.display())));
        };
        let row_length = sizes.iter().try_fold(1usize, |length, &size| length.checked_mul(size));
        let Some(row_length) = row_length.filter(|&length| length.checked_mul(rows).is_some()) else {
            return Err(Error::invalid_argument(format!(
                "{}: shape {shape:?} has more elements than fit",
                path.display()
            )));
        };
        let descr = match element {
            ElementType::U8 => u8::DESCR,
            ElementType::U16 => u16::DESCR,
            ElementType::F32 => f32::DESCR,
            ElementType::F64 => f64::DESCR,
        };
        let mut file = AtomicFile::create(path)?;
        file.append(&header(descr, shape))?;
        Ok(Self { file, element, rows, row_length, written: 0, bytes: Vec::new() })
    }

    /// Appends whole rows, one after the other; numbers of another type become the nearest of the array's.
    pub fn write<T: FileElement>(&mut self, rows: &[T]) -> Result<()> {
        let left = self.rows * self.row_length - self.written;
        let whole = if self.row_length == 0 { rows.is_empty() } else { rows.len().is_multiple_of(self.row_length) };
        if !whole || rows.len() > left {
            return Err(Error::invalid_argument(format!(
                "{}: {} numbers do not fit as rows of {}, of which {} are left to write",
                self.file.path.display(),
                rows.len(),
                self.row_length,
                left.checked_div(self.row_length).unwrap_or(0)
            )));
        }
        for part in rows.chunks(1 << 14) {
            match self.element {
                ElementType::U8 => encode::<T, u8>(part, &mut self.bytes),
                ElementType::U16 => encode::<T, u16>(part, &mut self.bytes),
                ElementType::F32 => encode::<T, f32>(part, &mut self.bytes),
                ElementType::F64 => encode::<T, f64>(part, &mut self.bytes),
            }
            self.file.append(&self.bytes)?;
        }
        self.written += rows.len();
        Ok(())
    }

    /// Gives the array its name, if all of its rows are there.
    pub fn finish(self) -> Result<()> {
        if self.written != self.rows * self.row_length {
            return Err(Error::invalid_argument(format!(
                "{}: {} of {} rows were written, so nothing is kept",
                self.file.path.display(),
                self.written.checked_div(self.row_length).unwrap_or(0),
                self.rows
            )));
        }
        self.file.finish()
    }
}

/// Numbers as the bytes of another type. Through double precision, which holds every number of every type.
fn encode<From: FileElement, To: FileElement>(numbers: &[From], bytes: &mut Vec<u8>) {
    bytes.resize(numbers.len() * size_of::<To>(), 0);
    for (bytes, number) in bytes.chunks_exact_mut(size_of::<To>()).zip(numbers) {
        To::narrow(number.widen()).encode(bytes);
    }
}

/// A version 1 header as numpy writes it: padded with spaces so that the data start on a multiple of 64.
fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if shape.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let padding = (64 - (10 + text.len() + 1) % 64) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}

/// Writes a small file in one go.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    stage_file(path, bytes)?.finish()
}

/// Writes a small file that is complete but for its name: several of them can be finished together, once none can fail for
/// lack of room.
pub fn stage_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.append(bytes)?;
    file.complete()?;
    Ok(file)
}

/// Writes a matrix as a table. Numbers are as short as they can be and still read back the same.
#[cfg(feature = "csv")]
pub fn write_csv(path: impl AsRef<Path>, header: Option<&[String]>, matrix: &Matrix) -> Result<()> {
    let (path, columns) = (path.as_ref(), matrix.columns());
    if let Some(names) = header.filter(|names| names.len() != columns) {
        let (path, count) = (path.display(), names.len());
        return Err(Error::invalid_argument(format!("{path}: {count} names do not head a table of {columns} columns")));
    }
    let mut table = ::csv::Writer::from_writer(AtomicFile::create(path)?);
    let failed = |e: ::csv::Error| cannot_write(path, &io::Error::other(e));
    if let Some(names) = header {
        table.write_record(names).map_err(failed)?;
    }
    for row in 0..matrix.rows() {
        table.write_record(matrix.row(row).iter().map(|number| format!("{number:?}"))).map_err(failed)?;
    }
    table.into_inner().map_err(|e| cannot_write(path, e.error()))?.finish()
}
