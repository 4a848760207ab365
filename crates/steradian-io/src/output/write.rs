//! Atomic writes of results: temporary files in the same folder, renamed into place when complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[cfg(feature = "csv")]
use steradian::Matrix;
use steradian::data::ElementType;
use steradian::{Error, Result};
use tempfile::TempPath;

use crate::npy::element::FileElement;
use crate::npy::npy_header::MAGIC;
use steradian::error::os_error_text;

/// A file that is written atomically: [`AtomicFile::finish`] renames it into place; dropping it before removes it.
///
/// An existing file is replaced atomically. If the path is a symbolic link, the target of the link is replaced.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    target: PathBuf,
    /// The temporary file, removed unless it is renamed into place.
    temporary: TempPath,
    file: BufWriter<File>,
}

impl AtomicFile {
    /// Creates the temporary file; the folder must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let target = match std::fs::metadata(&path) {
            Ok(kind) if kind.is_file() => std::fs::canonicalize(&path).map_err(|e| Error::io(&path, e))?,
            // A rename would replace the device itself.
            Ok(kind) => {
                let what = if kind.is_dir() { "a folder" } else { "a device or a pipe" };
                let problem = format!("cannot write to {what}; pass the path of a file");
                return Err(Error::io(path, io::Error::new(io::ErrorKind::InvalidInput, problem)));
            }
            Err(_) => path.clone(),
        };
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // `create_new` instead of the default of `tempfile`, so that a result has the permissions of any new file.
        let (file, temporary) = tempfile::Builder::new()
            .prefix(".steradian-")
            .suffix(".part")
            .make_in(folder, |name| File::create_new(name))
            .map_err(|e| cannot_write(&path, &e))?
            .into_parts();
        Ok(Self { path, target, temporary, file: BufWriter::with_capacity(1 << 18, file) })
    }

    /// Flushes and syncs the content to disk. The remaining rename needs no disk space.
    pub fn complete(&mut self) -> Result<()> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|e| cannot_write(&self.path, &e))
    }

    /// Syncs the content to disk, then renames the file into place.
    pub fn finish(mut self) -> Result<()> {
        self.complete()?;
        let Self { path, target, temporary, file } = self;
        drop(file);
        temporary.persist(&target).map_err(|e| cannot_write(&path, &e.error))?;
        // Makes the rename durable. Some file systems cannot sync folders; the content is on disk in any case.
        #[cfg(unix)]
        if let Some(folder) = target.parent() {
            let folder = if folder == Path::new("") { Path::new(".") } else { folder };
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    /// Writes all bytes; unlike with [`Write::write_all`], the error names the file.
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

/// The [`Error::Io`] of a file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let problem = format!(
        "cannot be written: {}; check that its folder exists, is writable and has free space",
        os_error_text(error)
    );
    Error::io(path, io::Error::new(error.kind(), problem))
}

/// A folder that is written under a temporary name: [`StagedDir::finish`] renames it into place and replaces an
/// existing one.
#[derive(Debug)]
pub struct StagedDir {
    target: PathBuf,
    temporary: tempfile::TempDir,
}

impl StagedDir {
    /// Creates the temporary folder; the parent folder must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let target = path.as_ref().to_path_buf();
        let parent = target.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        let created = tempfile::Builder::new().prefix(".steradian-").suffix(".part").tempdir_in(parent);
        let temporary = created.map_err(|e| cannot_write(&target, &e))?;
        Ok(Self { target, temporary })
    }

    /// Writes a file into the folder.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let written = std::fs::write(self.temporary.path().join(name), bytes);
        written.map_err(|e| cannot_write(&self.target.join(name), &e))
    }

    /// Renames the folder into place. An existing folder of that name is removed with its content.
    pub fn finish(self) -> Result<()> {
        let failed = |e: io::Error| cannot_write(&self.target, &e);
        if self.target.is_dir() {
            std::fs::remove_dir_all(&self.target).map_err(failed)?;
        }
        #[cfg(unix)]
        {
            // A temporary folder is private to its owner; a result has the permissions of its parent folder.
            use std::os::unix::fs::PermissionsExt;
            let parent = self.target.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
            let mode = std::fs::metadata(parent).map_err(failed)?.permissions().mode() & 0o777 | 0o700;
            std::fs::set_permissions(self.temporary.path(), std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        }
        std::fs::rename(self.temporary.path(), &self.target).map_err(failed)?;
        // The temporary path no longer exists, so nothing is left to remove.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// A writer of a `.npy` array of known shape and element type, which is passed in several calls.
#[derive(Debug)]
pub struct NpyWriter {
    file: AtomicFile,
    element: ElementType,
    rows: usize,
    /// Number of elements per row.
    row_length: usize,
    /// Number of elements written so far.
    written: usize,
    bytes: Vec<u8>,
}

impl NpyWriter {
    /// Starts an array of this shape, whose first dimension is the number of rows.
    pub fn create(path: impl AsRef<Path>, element: ElementType, shape: &[usize]) -> Result<Self> {
        let path = path.as_ref();
        let Some((&rows, sizes)) = shape.split_first() else {
            return Err(Error::invalid_argument(format!(
                "{}: an array requires at least one dimension",
                path.display()
            )));
        };
        let row_length = sizes.iter().try_fold(1usize, |length, &size| length.checked_mul(size));
        let Some(row_length) = row_length.filter(|&length| length.checked_mul(rows).is_some()) else {
            return Err(Error::invalid_argument(format!(
                "{}: the number of elements of shape {shape:?} exceeds 2^{}",
                path.display(),
                usize::BITS
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

    /// Appends complete rows; elements are rounded to the nearest value of the element type of the array.
    pub fn write<T: FileElement>(&mut self, rows: &[T]) -> Result<()> {
        let remaining = self.rows * self.row_length - self.written;
        let complete = if self.row_length == 0 { rows.is_empty() } else { rows.len().is_multiple_of(self.row_length) };
        if !complete || rows.len() > remaining {
            return Err(Error::invalid_argument(format!(
                "{}: expected complete rows of {} elements, at most {}, got {} elements",
                self.file.path.display(),
                self.row_length,
                remaining.checked_div(self.row_length).unwrap_or(0),
                rows.len()
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

    /// Renames the array into place; fails if rows are missing.
    pub fn finish(self) -> Result<()> {
        if self.written != self.rows * self.row_length {
            return Err(Error::invalid_argument(format!(
                "{}: the array is incomplete, {} of {} rows were written",
                self.file.path.display(),
                self.written.checked_div(self.row_length).unwrap_or(0),
                self.rows
            )));
        }
        self.file.finish()
    }
}

/// Converts elements to the bytes of another type, by f64, which represents every value of every element type.
fn encode<From: FileElement, To: FileElement>(numbers: &[From], bytes: &mut Vec<u8>) {
    bytes.resize(numbers.len() * size_of::<To>(), 0);
    for (bytes, number) in bytes.chunks_exact_mut(size_of::<To>()).zip(numbers) {
        To::narrow(number.widen()).encode(bytes);
    }
}

/// A version 1 header as numpy writes it: padded with spaces so that the data start at a multiple of 64 bytes.
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

/// Writes a file atomically.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    stage_file(path, bytes)?.finish()
}

/// Writes and syncs a file under a temporary name; [`AtomicFile::finish`] renames it into place. Several files can be
/// staged first and then finished without failing for lack of disk space.
pub fn stage_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    file.append(bytes)?;
    file.complete()?;
    Ok(file)
}

/// Writes a matrix as a text table. Numbers have the fewest digits that are read back to the same f64.
#[cfg(feature = "csv")]
pub fn write_csv(path: impl AsRef<Path>, header: Option<&[String]>, matrix: &Matrix) -> Result<()> {
    let (path, columns) = (path.as_ref(), matrix.columns());
    if let Some(names) = header.filter(|names| names.len() != columns) {
        let (path, count) = (path.display(), names.len());
        return Err(Error::invalid_argument(format!("{path}: expected {columns} column names, got {count}")));
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
