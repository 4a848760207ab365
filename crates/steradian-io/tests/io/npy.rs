//! `.npy` arrays: header versions, element types and memory orders, and errors of unsupported or corrupt files.

use proptest::prelude::*;
use steradian::data::{Element, ElementType};
use steradian::{Error, Source};
use steradian_io::{NpySource, NpyWriter, read_vector};

use crate::common::{Dice, Folder, dictionary, encode, npy, npy_with, numbers};

#[test]
fn headers_of_all_versions_and_notations() {
    let folder = Folder::new();
    let data = encode("<f4", (0..6).map(f64::from));
    let notations = [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) ,\t'descr' : '=f4' , } ",
        "{'descr': '|f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3), }",
    ];
    for version in [1, 2, 3] {
        for align in [64, 16, 4] {
            for notation in notations {
                let path = folder.file("a.npy", npy_with(version, notation, align, &data));
                let source = NpySource::open(&path).unwrap_or_else(|e| panic!("{version} {notation}: {e}"));
                assert_eq!((source.shape().samples, source.shape().features), (2, 3));
                assert_eq!(source.shape().element, ElementType::F32);
                assert!(source.in_place());
                assert_eq!(numbers(&source, 1).unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
            }
        }
    }
}

#[test]
fn bytes_after_the_array_are_ignored() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[2, 2], &[1, 2, 3, 4, 99]));
    assert_eq!(numbers(&NpySource::open(path).unwrap(), 2).unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_stack_of_images_is_samples_of_pixels() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..24).collect();
    let source = NpySource::open(folder.file("a.npy", npy("|u1", false, &[2, 3, 4], &bytes))).unwrap();
    assert_eq!(source.shape().image, Some((3, 4)));
    assert_eq!(source.shape().features, 12);
    assert_eq!(numbers(&source, 2).unwrap(), bytes.iter().map(|&byte| f64::from(byte)).collect::<Vec<_>>());
}

/// The message of a file that cannot be opened, and true for invalid data, false for a corrupt file.
fn open_error(bytes: &[u8]) -> (String, bool) {
    let folder = Folder::new();
    let path = folder.file("a.npy", bytes);
    match NpySource::open(&path).expect_err("an error") {
        Error::InvalidData(message) => {
            assert!(message.contains("a.npy"), "{message}");
            (message, true)
        }
        error @ Error::CorruptFile { .. } => (error.to_string(), false),
        other => panic!("{other:?}"),
    }
}

#[test]
fn unsupported_dtypes_are_named_with_a_remedy() {
    let types = [
        ("|b1", "bool", "uint8"),
        ("|i1", "int8", "float64"),
        ("<i2", "int16", "float64"),
        ("<i4", "int32", "float64"),
        ("<i8", "int64", "X.astype('float64')"),
        (">i8", "int64", "float64"),
        ("<u4", "uint32", "float64"),
        ("<u8", "uint64", "float64"),
        ("<f2", "float16", "X.astype('float32')"),
        ("<f16", "float128", "float64"),
        ("<c8", "complex64", "X.real"),
        ("<c16", "complex128", "X.real"),
        ("|O", "object", "float64"),
        ("<U7", "string", "float64"),
        ("|S3", "string", "float64"),
        ("<M8[ns]", "datetime64", "float64"),
        ("<m8", "timedelta64", "float64"),
        ("|V8", "void", "column_stack"),
    ];
    for (descr, name, remedy) in types {
        let (message, data) = open_error(&npy(descr, false, &[1, 1], &[0; 64]));
        assert!(data && message.contains(&format!("dtype {name} is")) && message.contains(remedy), "{message}");
    }
    let structured = "{'descr': [('a', '<f8'), ('\u{fc}', '<i4', (2,))], 'fortran_order': False, 'shape': (3,), }";
    for version in [1, 2, 3] {
        let (message, data) = open_error(&npy_with(version, structured, 64, &[0; 64]));
        assert!(data && message.contains("dtype structured"), "{message}");
    }
}

#[test]
fn shapes_that_are_not_samples_are_rejected() {
    for (shape, words) in [
        (&[][..], "shape () has 0 dimensions"),
        (&[5], "shape (5,) has 1 dimension"),
        (&[2, 3, 4, 5], "shape (2, 3, 4, 5) has 4 dimensions"),
        (&[0, 3], "shape (0, 3) has no elements"),
        (&[3, 0], "shape (3, 0) has no elements"),
        (&[3, 0, usize::MAX / 2], "shape"),
    ] {
        let (message, _) = open_error(&npy("|u1", false, shape, &[0; 120]));
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn errors_of_corrupt_headers_name_the_byte() {
    let whole = |text: &str| npy_with(1, text, 64, &[0; 64]);
    let mut magic = npy("<f8", false, &[2, 2], &[0; 32]);
    magic[3] = b'X';
    let mut version = npy("<f8", false, &[2, 2], &[0; 32]);
    version[6] = 9;
    let mut long = npy_with(2, &dictionary("<f8", false, &[2, 2]), 64, &[0; 32]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (magic, "byte 0: the magic"),
        (version, "byte 6: .npy version 9.0"),
        (long, "byte 8: the header claims 4294967295 bytes"),
        (b"\x93NUM".to_vec(), "byte 4: the file ends inside its header"),
        (b"\x93NUMPY\x01\0".to_vec(), "byte 8: the file ends inside its header"),
        (b"\x93NUMPY\x01\0\x76\0{'descr'".to_vec(), "claims 118 bytes, but the file has 8"),
        (npy("<f8", false, &[2, 2], &[0; 31]), "(2, 2) of float64 needs 32 bytes, but 31 are there"),
        (npy("<f8", false, &[usize::MAX, 9], &[0; 32]), "needs more than 2^64 bytes, but 32 are there"),
        (
            whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, -2), }"),
            "byte 64: a size in 'shape' is negative",
        ),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 99999999999999999999), }"), "exceeds 2^64"),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2.0), }"), "expected ')'"),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 'a'), }"), "not an integer"),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2), }"), "tuple"),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': [2, 2], }"), "tuple"),
        (whole("{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 2), }"), "True or False"),
        (whole("{'descr': '<q8', 'fortran_order': False, 'shape': (2, 2), }"), "byte 20: dtype \"<q8\" is unknown"),
        (whole("{'descr': '', 'fortran_order': False, 'shape': (2, 2), }"), "is unknown"),
        (whole("{'descr': '\u{e9}8', 'fortran_order': False, 'shape': (2, 2), }"), "is unknown"),
        (whole("{'descr': 8, 'fortran_order': False, 'shape': (2, 2), }"), "string in quotes"),
        (whole("{'descr': '<f8', 'fortran_order': False, }"), "no key 'shape'"),
        (whole("{'descr': '<f8', 'descr': '<f8', 'shape': (2, 2), }"), "duplicate key"),
        (
            whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'x': 1}"),
            "key \"x\" of the header is not one of",
        ),
        (
            whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } 7"),
            "unexpected text after the dictionary",
        ),
        (whole("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2"), "the end of the header"),
        (whole("{'descr: <f8"), "not closed"),
        (whole(&format!("{{'shape': ({}), }}", "1, ".repeat(65))), "more than 64 dimensions"),
        (npy_with(1, &format!("{{'shape': {}", "(".repeat(60_000)), 64, b""), "not an integer"),
    ];
    for (bytes, words) in cases {
        let (message, data) = open_error(&bytes);
        assert!(!data && message.contains(words), "{words}: {message}");
    }
    let mut not_text = npy_with(3, &dictionary("<f8", false, &[2, 2]), 64, &[0; 32]);
    not_text[15] = 0xff;
    assert!(open_error(&not_text).0.contains("byte 15: the header is not UTF-8"));
}

#[test]
fn files_that_cannot_be_opened_are_io_errors() {
    let folder = Folder::new();
    for path in [folder.path().join("none.npy"), folder.path().to_path_buf()] {
        assert!(matches!(NpySource::open(&path), Err(Error::Io { .. })));
        assert!(matches!(read_vector(&path), Err(Error::Io { .. })));
    }
}

#[test]
fn rows_after_the_end_are_rejected() {
    let folder = Folder::new();
    let source = NpySource::open(folder.file("a.npy", npy("|u1", false, &[2, 2], &[0; 4]))).unwrap();
    assert!(matches!(source.visit(1..3, &mut |_| Ok(())), Err(Error::InvalidArgument { .. })));
    let mut rows = None;
    let mut count = |block: steradian::data::Block<'_>| {
        rows = Some(block.rows());
        Ok(())
    };
    source.visit(2..2, &mut count).unwrap();
    assert_eq!(rows, Some(0));
}

#[test]
fn vectors_of_every_type() {
    let folder = Folder::new();
    for descr in ["|u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8"] {
        let path = folder.file("v.npy", npy(descr, false, &[3], &encode(descr, [1.0, 2.0, 200.0])));
        assert_eq!(read_vector(path).unwrap(), [1.0, 2.0, 200.0]);
    }
    let bad = folder.file("v.npy", npy("<f8", false, &[2], &encode("<f8", [1.0, f64::NAN])));
    assert!(read_vector(bad).unwrap_err().to_string().contains("element 1 is NaN"));
    let matrix = folder.file("v.npy", npy("<f8", false, &[1, 2], &[0; 16]));
    assert!(read_vector(matrix).unwrap_err().to_string().contains("x.ravel()"));
}

/// Index of element (i, y, x) in an (n, h, w) array.
fn index_of(fortran: bool, [n, h, w]: [usize; 3], [i, y, x]: [usize; 3]) -> usize {
    if fortran { i + n * (y + h * x) } else { (i * h + y) * w + x }
}

proptest! {
    /// Element type, memory order, byte order and alignment do not change the data.
    #[test]
    fn the_layout_does_not_change_the_data(
        n in 1usize..40, h in 1usize..6, w in 1usize..6, flat: bool, fortran: bool, which in 0usize..7, align in 0usize..3,
        step in 1usize..50, seed: u64,
    ) {
        let descr = ["|u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8"][which];
        let mut dice = Dice(seed);
        let expected: Vec<f64> = (0..n * h * w).map(|_| dice.below(256) as f64).collect();
        let h = if flat { 1 } else { h };
        let expected = &expected[..n * h * w];
        let mut stored = vec![0.0; expected.len()];
        for i in 0..n {
            for y in 0..h {
                for x in 0..w {
                    stored[index_of(fortran, [n, h, w], [i, y, x])] = expected[(i * h + y) * w + x];
                }
            }
        }
        let dimensions = if flat { vec![n, w] } else { vec![n, h, w] };
        let align = [64, 16, 1][align];
        let dictionary = dictionary(descr, fortran, &dimensions);
        let folder = Folder::new();
        let path = folder.file("a.npy", npy_with(1 + seed as u8 % 3, &dictionary, align, &encode(descr, stored)));
        let source = NpySource::open(path).unwrap();
        if align == 64 && !descr.starts_with('>') && (flat || !fortran) {
            prop_assert!(source.in_place());
        }
        prop_assert_eq!(source.shape().image, (!flat).then_some((h, w)));
        prop_assert_eq!(numbers(&source, step).unwrap(), expected);
    }
}

proptest! {
    // Fewer cases than usual: every file is synced to disk.
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Arrays that are written in several calls are read back bitwise identical.
    #[test]
    fn written_then_read(n in 1usize..30, features in 1usize..7, step in 1usize..9, seed: u64) {
        let mut dice = Dice(seed);
        let bits: Vec<u64> = (0..n * features).map(|_| dice.roll()).collect();
        let folder = Folder::new();
        macro_rules! round_trip {
            ($type:ty, $make:expr) => {
                let data: Vec<$type> = bits.iter().map($make).collect();
                let path = folder.path().join("a.npy");
                let mut writer = NpyWriter::create(&path, <$type as Element>::TYPE, &[n, features]).unwrap();
                for part in data.chunks(step * features) {
                    writer.write(part).unwrap();
                }
                writer.finish().unwrap();
                let source = NpySource::open(&path).unwrap();
                prop_assert!(source.in_place());
                let read = numbers(&source, 1 + n / 2).unwrap();
                let same = read.iter().zip(&data).all(|(a, b)| a.to_bits() == f64::from(*b).to_bits());
                prop_assert!(same && read.len() == data.len());
            };
        }
        round_trip!(u8, |&bits| bits as u8);
        round_trip!(u16, |&bits| bits as u16);
        round_trip!(f32, |&bits| bits as u32 as f32 / 7.0);
        round_trip!(f64, |&bits| f64::from_bits(bits & !(0x7ff << 52) | (bits % 0x7ff) << 52));
    }
}
