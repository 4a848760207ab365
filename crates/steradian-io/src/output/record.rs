//! Records of a file, each with its length and a checksum, so that an incomplete one is detected.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | length of the content, little-endian; never 0 |
//! | 4 | CRC-32 of the content, little-endian |
//! | .. | the content |
//!
//! The content is written first and the head last: until then the head is zero, which is not a valid head.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use crate::system::pread::PositionedReader;

/// Size of the head in bytes.
const HEAD: u64 = 12;
/// Size of the buffers for reading and writing, in bytes.
const BUFFER: usize = 1 << 18;

/// Position of the content of a record in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    start: u64,
    length: u64,
}

impl Record {
    /// The byte after the record.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Reads the content.
    pub(crate) fn content(&self, file: &File) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        PositionedReader::new(file, self.start).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Writes a record at the cursor of the file and moves the cursor to its end.
pub(crate) fn write_record<F: Write + Seek>(
    file: &mut F,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Record> {
    let head = file.stream_position()?;
    file.write_all(&[0; HEAD as usize])?;
    let mut to = BufWriter::with_capacity(
        BUFFER,
        ChecksumWriter { inner: &mut *file, length: 0, checksum: crc32fast::Hasher::new() },
    );
    write(&mut to)?;
    let ChecksumWriter { length, checksum, .. } = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    let record = Record { start: head + HEAD, length };
    file.seek(SeekFrom::Start(head))?;
    file.write_all(&[&length.to_le_bytes()[..], &checksum.finalize().to_le_bytes()].concat())?;
    file.seek(SeekFrom::Start(record.end()))?;
    Ok(record)
}

/// The record at a byte of a file of this length; `None` if it is incomplete or its checksum differs.
pub(crate) fn read_record(file: &File, at: u64, file_length: u64) -> io::Result<Option<Record>> {
    if file_length < at + HEAD {
        return Ok(None);
    }
    let mut head = [0; HEAD as usize];
    PositionedReader::new(file, at).read_exact(&mut head)?;
    let (length, checksum) = head.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let expected = u32::from_le_bytes(checksum.try_into().expect("four bytes"));
    if length == 0 || length > file_length - at - HEAD {
        return Ok(None);
    }
    let mut content = PositionedReader::new(file, at + HEAD).take(length);
    let (mut checksum, mut buffer) = (crc32fast::Hasher::new(), vec![0; BUFFER.min(length as usize)]);
    loop {
        match content.read(&mut buffer)? {
            0 => break,
            count => checksum.update(&buffer[..count]),
        }
    }
    Ok((checksum.finalize() == expected).then_some(Record { start: at + HEAD, length }))
}

/// A writer that computes the length and the checksum of the written bytes.
struct ChecksumWriter<W> {
    inner: W,
    length: u64,
    checksum: crc32fast::Hasher,
}

impl<W: Write> Write for ChecksumWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.checksum.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
