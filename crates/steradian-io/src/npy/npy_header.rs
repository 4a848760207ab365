//! The header of a `.npy` file, versions 1 to 3, read and validated.
//!
//! A header consists of a magic, a version, a length, and a Python dictionary with the keys `descr`, `fortran_order`
//! and `shape` in any order. The error of a corrupt header names the byte; the error of a valid but unsupported array
//! names a remedy. Sizes from the header are compared with the length of the file before memory is allocated.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use steradian::data::ElementType;
use steradian::{Error, Result};

use crate::system::pread::PositionedReader;
use crate::system::quote::quote;

/// First bytes of every `.npy` file.
pub(crate) const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Largest accepted length of the dictionary in bytes; numpy warns from 10 000 bytes on.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Largest number of dimensions, as in numpy.
const MAX_DIMENSIONS: usize = 64;

/// The kind of the elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// Numbers of data: uint8, uint16, float32, float64.
    Data,
    /// bool, in one byte each.
    Bool,
    /// Integers that are no data; true for signed ones.
    Integer(bool),
}

/// A validated header: the file contains all bytes of the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// The element type; of integers and bool that are no data, a type of their size.
    pub(crate) element: ElementType,
    pub(crate) kind: NumberKind,
    pub(crate) big_endian: bool,
    pub(crate) fortran: bool,
    pub(crate) dimensions: Vec<usize>,
    /// Position of the array in the file, in bytes.
    pub(crate) start: usize,
    /// Length of the array in bytes. Bytes after it are ignored, as in numpy.
    pub(crate) bytes: usize,
}

impl NpyHeader {
    /// Reads and validates the header of an open file of `file_bytes` bytes.
    pub(crate) fn read(path: &Path, file: &File, file_bytes: u64) -> Result<Self> {
        Self::read_any(path, file, file_bytes, false)
    }

    /// Reads the header of an array of any integers, bool or numbers: a mask, or indices.
    pub(crate) fn read_marks(path: &Path, file: &File, file_bytes: u64) -> Result<Self> {
        Self::read_any(path, file, file_bytes, true)
    }

    fn read_any(path: &Path, file: &File, file_bytes: u64, marks: bool) -> Result<Self> {
        let mut head = Vec::with_capacity(12);
        PositionedReader::new(file, 0).take(12).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
        let text_start = check_head(path, &head, file_bytes)?;
        let length = match text_start {
            10 => u64::from(u16::from_le_bytes([head[8], head[9]])),
            _ => u64::from(u32::from_le_bytes([head[8], head[9], head[10], head[11]])),
        };
        if length > MAX_HEADER_BYTES || text_start + length > file_bytes {
            return Err(Error::corrupt_file(
                path,
                format!(
                    "byte 8: the header claims {length} bytes, but the file has {} after byte {text_start}, and headers over \
                     {MAX_HEADER_BYTES} bytes are not supported; the file is corrupt",
                    file_bytes.saturating_sub(text_start)
                ),
            ));
        }
        let mut text = Vec::with_capacity(length as usize);
        PositionedReader::new(file, text_start).take(length).read_to_end(&mut text).map_err(|e| Error::io(path, e))?;
        if head[6] == 3
            && let Err(e) = std::str::from_utf8(&text)
        {
            let byte = text_start as usize + e.valid_up_to();
            return Err(Error::corrupt_file(
                path,
                format!("byte {byte}: the header is not UTF-8, which version 3 requires"),
            ));
        }
        let mut scan = DictParser { path, text: &text, at: 0, start: text_start, marks };
        let (dtype, fortran, dimensions) = scan.dictionary()?;
        check_length(path, dtype, fortran, dimensions, text_start + length, file_bytes)
    }

    /// The shape as numpy prints it.
    pub(crate) fn shape_text(&self) -> String {
        shape_text(&self.dimensions)
    }
}

fn shape_text<N: std::fmt::Display>(dimensions: &[N]) -> String {
    let sizes: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    if let [one] = &sizes[..] { format!("({one},)") } else { format!("({})", sizes.join(", ")) }
}

/// Checks magic and version; returns the position of the dictionary.
fn check_head(path: &Path, head: &[u8], file_bytes: u64) -> Result<u64> {
    let known = head.len().min(MAGIC.len());
    if head[..known] != MAGIC[..known] || head.is_empty() {
        return Err(Error::corrupt_file(
            path,
            "byte 0: the magic of a .npy file is missing; check that this is a .npy file",
        ));
    }
    let text_start = match head.get(6..8) {
        Some([1, 0]) => 10,
        Some([2 | 3, 0]) => 12,
        Some(version) => {
            return Err(Error::corrupt_file(
                path,
                format!(
                    "byte 6: .npy version {}.{} is not supported; expected version 1.0, 2.0 or 3.0",
                    version[0], version[1]
                ),
            ));
        }
        None => 10,
    };
    if file_bytes < text_start || (head.len() as u64) < text_start {
        return Err(Error::corrupt_file(
            path,
            format!(
                "byte {file_bytes}: the file ends inside its header, which has {text_start} bytes before the dictionary; copy the \
                 file again"
            ),
        ));
    }
    Ok(text_start)
}

/// Compares shape and element type with the length of the file.
fn check_length(
    path: &Path,
    (element, kind, big_endian): Dtype,
    fortran: bool,
    dimensions: Vec<u64>,
    start: u64,
    file_bytes: u64,
) -> Result<NpyHeader> {
    let present = file_bytes.saturating_sub(start);
    let expected = dimensions.iter().try_fold(element.bytes() as u64, |bytes, &size| bytes.checked_mul(size));
    let sizes: Option<Vec<usize>> = dimensions.iter().map(|&size| usize::try_from(size).ok()).collect();
    match (expected, sizes) {
        (Some(bytes), Some(dimensions)) if bytes <= present => Ok(NpyHeader {
            element,
            kind,
            big_endian,
            fortran,
            dimensions,
            start: start as usize,
            bytes: bytes as usize,
        }),
        _ => {
            let shape = shape_text(&dimensions);
            let needed = expected.map_or_else(|| "more than 2^64".to_string(), |bytes| bytes.to_string());
            Err(Error::corrupt_file(
                path,
                format!(
                    "byte {start}: shape {shape} of {element} needs {needed} bytes, but {present} are there; the file is truncated or \
                     its header is corrupt: copy it again"
                ),
            ))
        }
    }
}

/// Element type, kind and byte order (true for big-endian).
type Dtype = (ElementType, NumberKind, bool);

/// The dtype of a string; `None` if the string is not a dtype. With `marks`, bool and integers are accepted.
fn dtype(path: &Path, descr: &str, marks: bool) -> Option<Result<Dtype>> {
    let (order, plain) = match descr.chars().next()? {
        order @ ('<' | '>' | '=' | '|') => (order, &descr[1..]),
        _ => ('=', descr),
    };
    let big_endian = order == '>' || (order != '<' && cfg!(target_endian = "big"));
    let (element, kind) = match plain {
        "u1" => (ElementType::U8, NumberKind::Data),
        "u2" => (ElementType::U16, NumberKind::Data),
        "f4" => (ElementType::F32, NumberKind::Data),
        "f8" => (ElementType::F64, NumberKind::Data),
        "b1" if marks => (ElementType::U8, NumberKind::Bool),
        "i1" if marks => (ElementType::U8, NumberKind::Integer(true)),
        "i2" if marks => (ElementType::U16, NumberKind::Integer(true)),
        "i4" if marks => (ElementType::F32, NumberKind::Integer(true)),
        "i8" if marks => (ElementType::F64, NumberKind::Integer(true)),
        "u4" if marks => (ElementType::F32, NumberKind::Integer(false)),
        "u8" if marks => (ElementType::F64, NumberKind::Integer(false)),
        _ => return unsupported_dtype(plain).map(|(name, remedy)| Err(unsupported(path, &name, remedy))),
    };
    Some(Ok((element, kind, big_endian)))
}

/// Name and remedy of a numpy dtype that is not supported.
fn unsupported_dtype(plain: &str) -> Option<(String, &'static str)> {
    const TO_FLOAT64: &str = "convert it with X.astype('float64')";
    let kind = plain.chars().next()?;
    let size = &plain[kind.len_utf8()..];
    let bits = |name: &str, known: &[u32]| {
        size.parse().ok().filter(|bytes| known.contains(bytes)).map(|bytes| format!("{name}{}", 8 * bytes))
    };
    Some(match kind {
        'b' if size == "1" => ("bool".to_string(), "convert it with X.astype('uint8')"),
        'i' => (bits("int", &[1, 2, 4, 8])?, TO_FLOAT64),
        'u' => (bits("uint", &[4, 8])?, TO_FLOAT64),
        'f' if size == "2" => ("float16".to_string(), "convert it with X.astype('float32')"),
        'f' => (bits("float", &[12, 16])?, TO_FLOAT64),
        'c' => (bits("complex", &[8, 16, 24, 32])?, "take its real part, X.real, or its modulus, abs(X)"),
        'O' => ("object".to_string(), TO_FLOAT64),
        'S' | 'a' | 'U' => ("string".to_string(), TO_FLOAT64),
        'M' => ("datetime64".to_string(), TO_FLOAT64),
        'm' => ("timedelta64".to_string(), TO_FLOAT64),
        'V' => ("void".to_string(), STRUCTURED_REMEDY),
        _ => return None,
    })
}

const STRUCTURED_REMEDY: &str = "stack its fields into columns, np.column_stack([X[name] for name in X.dtype.names])";

fn unsupported(path: &Path, name: &str, remedy: &str) -> Error {
    Error::invalid_data(format!(
        "{}: dtype {name} is not read (uint8, uint16, float32 and float64 are); {remedy}",
        path.display()
    ))
}

/// A parser of the dictionary.
struct DictParser<'a> {
    path: &'a Path,
    text: &'a [u8],
    /// Current position in `text`.
    at: usize,
    /// Position of the dictionary in the file.
    start: u64,
    /// True if bool and integers are accepted.
    marks: bool,
}

type Entries = (Dtype, bool, Vec<u64>);

impl DictParser<'_> {
    fn dictionary(&mut self) -> Result<Entries> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key_at = self.at;
            let key = self.string()?;
            self.expect(b':')?;
            let is_duplicate = match &key[..] {
                b"descr" => descr.replace(self.descr()?).is_some(),
                b"fortran_order" => fortran.replace(self.boolean()?).is_some(),
                b"shape" => shape.replace(self.sizes()?).is_some(),
                _ => {
                    self.at = key_at;
                    return Err(self.fail(format!(
                        "key {} of the header is not one of 'descr', 'fortran_order' and 'shape'",
                        quote(&key)
                    )));
                }
            };
            if is_duplicate {
                self.at = key_at;
                return Err(self.fail(format!("duplicate key {} in the header", quote(&key))));
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err(self.fail("unexpected text after the dictionary of the header"));
        }
        let missing = |key: &str| self.fail(format!("the header has no key '{key}'"));
        Ok((
            descr.ok_or_else(|| missing("descr"))?,
            fortran.ok_or_else(|| missing("fortran_order"))?,
            shape.ok_or_else(|| missing("shape"))?,
        ))
    }

    fn descr(&mut self) -> Result<Dtype> {
        // A list is a structured dtype, a tuple a dtype with a shape; both have several numbers per element.
        if matches!(self.peek(), Some(b'[' | b'(')) {
            return Err(unsupported(self.path, "structured", STRUCTURED_REMEDY));
        }
        let at = self.at;
        let name = self.string()?;
        let parsed = std::str::from_utf8(&name).ok().and_then(|name| dtype(self.path, name, self.marks));
        parsed.unwrap_or_else(|| {
            self.at = at;
            Err(self.fail(format!("dtype {} is unknown", quote(&name))))
        })
    }

    fn boolean(&mut self) -> Result<bool> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fail("'fortran_order' must be True or False"))
    }

    /// A tuple of sizes; as in Python, a single size requires a comma.
    fn sizes(&mut self) -> Result<Vec<u64>> {
        if !self.take(b'(') {
            return Err(self.fail("'shape' must be a tuple of sizes"));
        }
        let mut sizes = Vec::new();
        while !self.take(b')') {
            if sizes.len() == MAX_DIMENSIONS {
                return Err(self.fail(format!("'shape' has more than {MAX_DIMENSIONS} dimensions")));
            }
            sizes.push(self.dimension()?);
            if !self.take(b',') {
                if sizes.len() == 1 {
                    return Err(self.fail("'shape' must be a tuple of sizes; a tuple of one size ends in ',)'"));
                }
                self.expect(b')')?;
                break;
            }
        }
        Ok(sizes)
    }

    fn dimension(&mut self) -> Result<u64> {
        let first = self.peek();
        if first == Some(b'-') {
            return Err(self.fail("a size in 'shape' is negative"));
        }
        let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(self.fail("a size in 'shape' is not an integer"));
        }
        let number = &self.text[self.at..self.at + digits];
        let size = number.iter().try_fold(0u64, |size, digit| {
            size.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0')))
        });
        let Some(size) = size else {
            return Err(self.fail(format!("size {} in 'shape' exceeds 2^64", quote(number).replace('"', ""))));
        };
        self.at += digits;
        // Python 2 wrote long integers as 3L.
        if self.text.get(self.at) == Some(&b'L') {
            self.at += 1;
        }
        Ok(size)
    }

    /// A string in single or double quotes; keys and dtypes have no escapes.
    fn string(&mut self) -> Result<Vec<u8>> {
        let Some(mark @ (b'\'' | b'"')) = self.peek() else {
            return Err(self.fail("expected a string in quotes"));
        };
        let rest = &self.text[self.at + 1..];
        let Some(end) = rest.iter().position(|&byte| byte == mark) else {
            return Err(self.fail("a string is not closed"));
        };
        self.at += end + 2;
        Ok(rest[..end].to_vec())
    }

    /// The next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) {
            return Ok(());
        }
        let found = self.text.get(self.at).map_or("the end of the header".to_string(), |&byte| quote(&[byte]));
        Err(self.fail(format!("expected '{}' in the header, got {found}", byte as char)))
    }

    fn fail(&self, what: impl std::fmt::Display) -> Error {
        Error::corrupt_file(self.path, format!("byte {}: {what}", self.start + self.at as u64))
    }
}
