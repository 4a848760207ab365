//! Formats are detected by content, and unsupported ones are rejected with an error that names the format.

use steradian::Error;
#[cfg(feature = "csv")]
use steradian::Source;
use steradian_io::{Data, Header, MissingRule, TableOptions, open};

use crate::common::{Folder, npy, numbers};

#[test]
fn content_decides_not_the_name() {
    let folder = Folder::new();
    let array = npy("|u1", false, &[2, 2], &[1, 2, 3, 4]);
    let plain = TableOptions::default();
    for name in ["a.npy", "a.csv", "a"] {
        let data = open(folder.file(name, &array), &plain).unwrap();
        assert!(matches!(data, Data::Npy(_)));
        assert_eq!(numbers(&data, 2).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!((data.feature_names(), data.row_name(0), data.table_row(1)), (None, None, 1));
        assert!(data.dropped_rows().is_empty());
    }
}

#[cfg(feature = "csv")]
#[test]
fn a_table_of_any_name_is_text() {
    let folder = Folder::new();
    let plain = TableOptions::default();
    for name in ["t.csv", "t.txt", "t"] {
        let options = TableOptions { row_names: true, missing: MissingRule::Drop, ..TableOptions::default() };
        let data = open(folder.file(name, "n,x\nu,\nv,2\n"), &options).unwrap();
        assert!(matches!(data, Data::Csv(_)));
        assert_eq!(data.shape().samples, 1);
        assert_eq!(data.feature_names().unwrap(), ["x"]);
        assert_eq!((data.row_name(0), data.table_row(0), data.dropped_rows()), (Some("v"), 1, &[0][..]));
    }
    // Tables whose first bytes resemble another format.
    for text in ["BMI,GIF\n1,2\n", "P5,P6\n1,2\n", "P1\n5\n", "RIFF\n1\n", "PARK,b\n1,2\n"] {
        assert!(matches!(open(folder.file("t", text), &plain), Ok(Data::Csv(_))), "{text}");
    }
}

#[test]
fn unsupported_formats_are_rejected_by_name() {
    let folder = Folder::new();
    let mut model = 64u64.to_le_bytes().to_vec();
    model.extend(b"{\"center\":");
    model.resize(100, b' ');
    let cases: Vec<(&[u8], &str)> = vec![
        (b"PARE\x15\x04", "encrypted parquet files are not supported; convert the data to .npy, .parquet or .csv"),
        (b"ARROW1\0\0", "Arrow files are not supported"),
        (b"\x89HDF\r\n\x1a\n\0", "HDF5 files are not supported"),
        (b"\x1f\x8b\x08\0", "gzip archives are not supported; extract"),
        (b"PK\x03\x04\x14\0", ".npz"),
        (b"\x89PNG\r\n\x1a\n\0", "a PNG image is only one sample; pass the folder"),
        (b"\xff\xd8\xff\xe0\0", "JPEG image"),
        (b"BM\x36\0\0\0\0\0\0\0\x36", "BMP image"),
        (b"P5\n# made by hand\n192 168\n255\n\x01\x02", "PNM image"),
        (b"P6 192 168 255\n\x01\x02", "PNM image"),
        (&model, "safetensors file"),
        (b"\xff\xfea\0,\0", "UTF-16"),
        (b"1,2\n\0\0\0", "neither a .npy array nor text"),
        (b"", "is empty (0 bytes)"),
    ];
    for (bytes, words) in cases {
        for name in ["data", "data.npy", "data.csv"] {
            let error = open(folder.file(name, bytes), &TableOptions::default()).unwrap_err();
            // A file named .npy with unknown content is a corrupt .npy.
            if name == "data.npy" && matches!(error, Error::CorruptFile { .. }) {
                assert!(error.to_string().contains("byte 0"), "{error}");
                continue;
            }
            assert!(matches!(error, Error::InvalidData(_)), "{error:?}");
            assert!(error.to_string().contains(words) && error.to_string().contains(name), "{error}");
        }
    }
    #[cfg(feature = "images")]
    {
        let error = open(folder.path(), &TableOptions::default()).unwrap_err();
        assert!(
            matches!(error, Error::InvalidData(_))
                && error.to_string().contains("contains no images (and 3 other entries)"),
            "{error}"
        );
    }
    let error = open(folder.path().join("none"), &TableOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
}

#[test]
fn an_array_rejects_the_options_of_tables() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[2, 2], &[1, 2, 3, 4]));
    let plain = TableOptions::default();
    for (options, name, words) in [
        (TableOptions { columns: Some(vec!["x".to_string()]), ..plain.clone() }, "columns", "a column selection"),
        (TableOptions { row_names: true, ..plain.clone() }, "row_names", "row names"),
        (TableOptions { header: Header::Yes, ..plain.clone() }, "header", "a header setting"),
    ] {
        let error = open(&path, &options).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { parameter, .. } if parameter == Some(name)), "{error:?}");
        assert!(error.to_string().contains(words) && error.to_string().contains("got a .npy array"), "{error}");
    }
}
