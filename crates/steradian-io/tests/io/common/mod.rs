//! Files with the bytes that numpy writes, sources read completely, and random numbers.

#[cfg(feature = "video")]
pub mod ffmpeg;

use std::path::{Path, PathBuf};

use steradian::Source;
use steradian::data::{Block, BlockData, Element, Rows};
use tempfile::TempDir;

/// A folder that is removed after the test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        // Overwriting in place makes some file systems flush at once, thousands of times in the larger tests.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// A `.npy` file with this dictionary, padded to a multiple of `align` as numpy does with 64 (16 in old versions).
pub fn npy_with(version: u8, dictionary: &str, align: usize, data: &[u8]) -> Vec<u8> {
    let head = if version == 1 { 10 } else { 12 };
    let mut text = dictionary.as_bytes().to_vec();
    while !(head + text.len() + 1).is_multiple_of(align) {
        text.push(b' ');
    }
    text.push(b'\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((text.len() as u16).to_le_bytes());
    } else {
        bytes.extend((text.len() as u32).to_le_bytes());
    }
    bytes.extend(text);
    bytes.extend(data);
    bytes
}

pub fn dictionary(descr: &str, fortran: bool, dimensions: &[usize]) -> String {
    let sizes: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    let sizes = if sizes.len() == 1 { format!("{},", sizes[0]) } else { sizes.join(", ") };
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({sizes}), }}")
}

/// A `.npy` file of version 1.
pub fn npy(descr: &str, fortran: bool, dimensions: &[usize], data: &[u8]) -> Vec<u8> {
    npy_with(1, &dictionary(descr, fortran, dimensions), 64, data)
}

/// The bytes of numbers in the element type and byte order of a numpy `descr`.
pub fn encode(descr: &str, numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        match descr {
            "|u1" => bytes.push(number as u8),
            "<u2" => bytes.extend((number as u16).to_le_bytes()),
            ">u2" => bytes.extend((number as u16).to_be_bytes()),
            "<f4" => bytes.extend((number as f32).to_le_bytes()),
            ">f4" => bytes.extend((number as f32).to_be_bytes()),
            "<f8" => bytes.extend(number.to_le_bytes()),
            ">f8" => bytes.extend(number.to_be_bytes()),
            _ => panic!("{descr}"),
        }
    }
    bytes
}

fn push<T: Element>(rows: Rows<'_, T>, numbers: &mut Vec<f64>) {
    for i in 0..rows.rows() {
        numbers.extend((0..rows.columns()).map(|j| rows.get(i, j).widen()));
    }
}

/// Appends the numbers of a block, row by row.
pub fn block_numbers(block: Block<'_>, numbers: &mut Vec<f64>) {
    match block.data() {
        BlockData::U8(rows) => push(rows, numbers),
        BlockData::U16(rows) => push(rows, numbers),
        BlockData::F32(rows) => push(rows, numbers),
        BlockData::F64(rows) => push(rows, numbers),
    }
}

/// All numbers of a source, read in blocks of `step` rows.
pub fn numbers(source: &dyn Source, step: usize) -> steradian::Result<Vec<f64>> {
    let (samples, mut numbers) = (source.shape().samples, Vec::new());
    for first in (0..samples).step_by(step) {
        source.visit(first..(first + step).min(samples), &mut |block| {
            assert_eq!((block.first(), block.columns()), (first, source.shape().features));
            assert_eq!(block.element(), source.shape().element);
            block_numbers(block, &mut numbers);
            Ok(())
        })?;
    }
    Ok(numbers)
}

/// A deterministic random generator (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }
}
