//! Records of a file, each with its length and a checksum, so that an incomplete one is detected.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | length of the content, lowest byte first; never 0 |
//! | 4 | its CRC-32 |
//! | .. | the content |
//!
//! The content is written first and the head last: until then the head is zeros, which is the head of no frame.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use crate::system::pread::At;

const HEAD: u64 = 12;
const BUFFER: usize = 1 << 18;

/// Where the content of a frame lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    start: u64,
    length: u64,
}

impl Frame {
    /// The byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The content.
    pub(crate) fn content(&self, file: &File) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length).map_err(io::Error::other)?];
        At::new(file, self.start).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Writes a frame where the file's cursor is, and leaves that behind it.
pub(crate) fn write_frame<F: Write + Seek>(
    file: &mut F,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Frame> {
    let head = file.stream_position()?;
    file.write_all(&[0; HEAD as usize])?;
    let mut to = BufWriter::with_capacity(BUFFER, Summed { to: &mut *file, length: 0, sum: crc32fast::Hasher::new() });
    write(&mut to)?;
    let Summed { length, sum, .. } = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    let frame = Frame { start: head + HEAD, length };
    file.seek(SeekFrom::Start(head))?;
    file.write_all(&[&length.to_le_bytes()[..], &sum.finalize().to_le_bytes()].concat())?;
    file.seek(SeekFrom::Start(frame.end()))?;
    Ok(frame)
}

/// The frame that begins at a byte of a file of this length; `None` where there is no whole one.
pub(crate) fn read_frame(file: &File, at: u64, file_length: u64) -> io::Result<Option<Frame>> {
    if file_length < at + HEAD {
        return Ok(None);
    }
    let mut head = [0; HEAD as usize];
    At::new(file, at).read_exact(&mut head)?;
    let (length, sum) = head.split_at(8);
    let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
    let expected = u32::from_le_bytes(sum.try_into().expect("four bytes"));
    if length == 0 || length > file_length - at - HEAD {
        return Ok(None);
    }
    let mut content = At::new(file, at + HEAD).take(length);
    let (mut sum, mut buffer) = (crc32fast::Hasher::new(), vec![0; BUFFER.min(length as usize)]);
    loop {
        match content.read(&mut buffer)? {
            0 => break,
            count => sum.update(&buffer[..count]),
        }
    }
    Ok((sum.finalize() == expected).then_some(Frame { start: at + HEAD, length }))
}

/// Counts and sums what goes through.
struct Summed<W> {
    to: W,
    length: u64,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.sum.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
