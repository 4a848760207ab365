//! Parquet tables: numeric types, column selection, nulls, compression, and errors.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
#[cfg(feature = "csv")]
use proptest::prelude::*;
use steradian::data::ElementType;
use steradian::{Error, Source};
#[cfg(feature = "csv")]
use steradian_io::CsvSource;
use steradian_io::{Data, Header, MissingRule, ParquetSource, TableOptions, open};

use crate::common::{Dice, Folder, numbers};

/// The cells of a column; `None` is a null.
enum Column {
    Bool(Vec<Option<bool>>),
    I32(Vec<Option<i32>>),
    I64(Vec<Option<i64>>),
    F32(Vec<Option<f32>>),
    F64(Vec<Option<f64>>),
    Text(Vec<Option<&'static str>>),
    Fixed(Vec<Option<Vec<u8>>>),
}

use Column::{Bool, F32, F64, Fixed, I32, I64, Text};

impl Column {
    fn write(&self, mut writer: SerializedColumnWriter<'_>) {
        fn split<T: Clone>(cells: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
            (cells.iter().flatten().cloned().collect(), cells.iter().map(|cell| i16::from(cell.is_some())).collect())
        }
        macro_rules! batch {
            ($type:ty, $cells:expr) => {{
                let (values, levels) = split($cells);
                writer.typed::<$type>().write_batch(&values, Some(&levels), None).unwrap();
            }};
        }
        match self {
            Bool(cells) => batch!(BoolType, cells),
            I32(cells) => batch!(Int32Type, cells),
            I64(cells) => batch!(Int64Type, cells),
            F32(cells) => batch!(FloatType, cells),
            F64(cells) => batch!(DoubleType, cells),
            Text(cells) => {
                let cells: Vec<_> = cells.iter().map(|cell| cell.map(ByteArray::from)).collect();
                batch!(ByteArrayType, &cells);
            }
            Fixed(cells) => {
                let cells: Vec<_> = cells.iter().map(|cell| cell.clone().map(FixedLenByteArray::from)).collect();
                batch!(FixedLenByteArrayType, &cells);
            }
        }
        writer.close().unwrap();
    }
}

/// Writes a table with these fields, all optional, in row groups.
fn table(folder: &Folder, fields: &[&str], groups: &[Vec<Column>], compression: Compression) -> PathBuf {
    let path = folder.path().join("t.parquet");
    let fields: String = fields.iter().map(|field| format!("optional {field}; ")).collect();
    let schema = Arc::new(parse_message_type(&format!("message t {{ {fields} }}")).unwrap());
    let properties = WriterProperties::builder().set_compression(compression).set_data_page_row_count_limit(50);
    let properties = Arc::new(properties.set_write_batch_size(10).build());
    let mut file = SerializedFileWriter::new(File::create(&path).unwrap(), schema, properties).unwrap();
    for columns in groups {
        let mut group = file.next_row_group().unwrap();
        for column in columns {
            column.write(group.next_column().unwrap().unwrap());
        }
        group.close().unwrap();
    }
    file.close().unwrap();
    path
}

fn plain(folder: &Folder, fields: &[&str], columns: Vec<Column>) -> PathBuf {
    table(folder, fields, &[columns], Compression::UNCOMPRESSED)
}

fn options(columns: &[&str], row_names: bool, missing: MissingRule) -> TableOptions {
    let columns = (!columns.is_empty()).then(|| columns.iter().map(ToString::to_string).collect());
    TableOptions { columns, row_names, missing, header: Header::Auto }
}

/// A table of cars with names, numbers and a date.
fn cars(folder: &Folder) -> PathBuf {
    let fields = ["binary name (STRING)", "double price", "int32 built (DATE)", "int64 seats", "binary fuel (STRING)"];
    plain(
        folder,
        &fields,
        vec![
            Text(vec![Some("mini"), Some("golf"), None]),
            F64(vec![Some(1.5), None, Some(3.5)]),
            I32(vec![Some(1), Some(2), Some(3)]),
            I64(vec![Some(4), Some(5), Some(2)]),
            Text(vec![Some("petrol"), Some("diesel"), None]),
        ],
    )
}

#[test]
fn every_numeric_type() {
    let folder = Folder::new();
    let fields = [
        "boolean flag",
        "int32 small (INTEGER(8, true))",
        "int32 unsigned (INTEGER(32, false))",
        "int64 large (INTEGER(64, false))",
        "int32 price (DECIMAL(9, 2))",
        "int64 sum (DECIMAL(18, 3))",
        "fixed_len_byte_array(3) wide (DECIMAL(6, 1))",
        "fixed_len_byte_array(2) half (FLOAT16)",
        "float single",
        "double double",
    ];
    let path = plain(
        &folder,
        &fields,
        vec![
            Bool(vec![Some(true), Some(false)]),
            I32(vec![Some(-128), Some(127)]),
            I32(vec![Some(-1), Some(1)]),
            I64(vec![Some(-1), Some(1)]),
            I32(vec![Some(-1234), Some(99)]),
            I64(vec![Some(1_500), Some(-1)]),
            Fixed(vec![Some(vec![0xff, 0xff, 0x9c]), Some(vec![0, 0, 100])]),
            Fixed(vec![Some(vec![0x00, 0x3e]), Some(vec![0x00, 0xc0])]),
            F32(vec![Some(0.1), Some(-2.5)]),
            F64(vec![Some(0.1), Some(1e300)]),
        ],
    );
    let source = ParquetSource::open(&path, &TableOptions::default()).unwrap();
    let (u32_max, u64_max) = (f64::from(u32::MAX), u64::MAX as f64);
    let expected = [
        [1.0, -128.0, u32_max, u64_max, -12.34, 1.5, -10.0, 1.5, f64::from(0.1f32), 0.1],
        [0.0, 127.0, 1.0, 1.0, 0.99, -0.001, 10.0, -2.0, -2.5, 1e300],
    ];
    assert_eq!(numbers(&source, 1).unwrap(), expected.concat());
    assert_eq!(source.shape().element, ElementType::F64);
    assert_eq!(source.feature_names().len(), 10);
    // The element type is f32 if all selected columns have at most 32 bits.
    let source = ParquetSource::open(&path, &options(&["single", "half"], false, MissingRule::Error)).unwrap();
    assert_eq!(source.shape().element, ElementType::F32);
    assert_eq!(numbers(&source, 2).unwrap(), [f64::from(0.1f32), 1.5, -2.5, -2.0]);
}

#[test]
fn columns_row_names_and_nulls() {
    let folder = Folder::new();
    let path = cars(&folder);
    let source = ParquetSource::open(&path, &options(&["seats", "price"], true, MissingRule::Drop)).unwrap();
    assert_eq!(source.feature_names(), ["seats", "price"]);
    assert_eq!(numbers(&source, 5).unwrap(), [4.0, 1.5, 2.0, 3.5]);
    assert_eq!((source.dropped_rows(), source.table_row(1)), (&[1][..], 2));
    assert_eq!([source.row_name(0), source.row_name(1), source.row_name(2)], [Some("mini"), Some(""), None]);
    let source = ParquetSource::open(&path, &options(&["numeric"], false, MissingRule::Drop)).unwrap();
    assert_eq!(source.feature_names(), ["price", "seats"]);
    // Row names may be numbers.
    let path = plain(&folder, &["int64 id", "double x"], vec![I64(vec![Some(7)]), F64(vec![Some(1.0)])]);
    let source = ParquetSource::open(&path, &options(&[], true, MissingRule::Error)).unwrap();
    assert_eq!((source.row_name(0), source.feature_names()), (Some("7"), &["x".to_string()][..]));
    // An index column of pandas is data only if it is selected by name.
    let fields = ["double x", "int64 __index_level_0__"];
    let path = plain(&folder, &fields, vec![F64(vec![Some(1.0)]), I64(vec![Some(7)])]);
    let names = |columns: &[&str]| {
        let source = ParquetSource::open(&path, &options(columns, false, MissingRule::Error)).unwrap();
        source.feature_names().to_vec()
    };
    assert_eq!((names(&[]).len(), names(&["numeric"]).len(), names(&["__index_level_0__"]).len()), (1, 1, 1));
}

#[test]
fn errors_name_columns_and_cells() {
    let folder = Folder::new();
    let path = cars(&folder);
    let open_error = |options: &TableOptions| open(&path, options).unwrap_err();
    for (columns, with_row_names, expected) in [
        (&[][..], false, "column \"name\" (text, first of 3 such columns)"),
        (&[], true, "column \"built\" (a date, first of 2 such columns)"),
        (&["price", "fuel"], false, "column \"fuel\" (text)"),
    ] {
        let error = open_error(&options(columns, with_row_names, MissingRule::Error));
        assert!(error.to_string().ends_with(&format!("t.parquet: {expected} is not numeric")), "{error}");
        let Error::NotNumeric { place, numeric, row_names, .. } = error else { panic!("{error:?}") };
        assert_eq!((&place[..], row_names), (expected, with_row_names));
        assert_eq!(numeric, ["price", "seats"]);
    }
    let error = open_error(&options(&["price"], false, MissingRule::Error));
    assert!(error.to_string().ends_with("t.parquet: row 1, column \"price\" is missing (null or NaN)"), "{error}");
    let Error::MissingCell { place, text, .. } = error else { panic!("{error:?}") };
    assert_eq!((&place[..], &text[..]), ("row 1, column \"price\"", "null or NaN"));
    let error = open_error(&options(&["cost"], false, MissingRule::Error));
    assert!(matches!(error, Error::InvalidArgument { parameter: Some("columns"), .. }), "{error:?}");
    assert!(error.to_string().contains("the columns are name, price, built, seats, fuel"), "{error}");
    let error = open_error(&TableOptions { header: Header::Yes, ..options(&["price"], false, MissingRule::Drop) });
    assert!(matches!(error, Error::InvalidArgument { parameter: Some("header"), .. }), "{error:?}");

    let cells = |cells: Vec<Option<f64>>| plain(&folder, &["double x"], vec![F64(cells)]);
    let message = |path: &PathBuf, missing| open(path, &options(&[], false, missing)).unwrap_err().to_string();
    let infinite = cells(vec![Some(1.0), Some(f64::NEG_INFINITY)]);
    assert!(message(&infinite, MissingRule::Drop).contains("row 1, column \"x\" is not finite"));
    let missing = cells(vec![None, Some(f64::NAN)]);
    assert!(message(&missing, MissingRule::Drop).contains("every row (2 of 2) has a missing cell"));
    assert!(message(&missing, MissingRule::Error).contains("row 0, column \"x\" is missing"));
    assert!(message(&cells(vec![]), MissingRule::Error).contains("no data row"));
    let only = plain(&folder, &["binary a (STRING)"], vec![Text(vec![Some("u")])]);
    let error = open(&only, &options(&[], false, MissingRule::Error)).unwrap_err();
    assert!(matches!(&error, Error::NotNumeric { numeric, .. } if numeric.is_empty()), "{error:?}");
    let error = open(&only, &options(&["numeric"], false, MissingRule::Error)).unwrap_err();
    assert!(matches!(&error, Error::InvalidData(problem) if problem.contains("no column is numeric")), "{error:?}");
    let nested = "message t { required group a { required double b; } required double c; }";
    let schema = Arc::new(parse_message_type(nested).unwrap());
    let mut file = SerializedFileWriter::new(File::create(&only).unwrap(), schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<DoubleType>().write_batch(&[1.0], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    assert!(message(&only, MissingRule::Error).contains("column \"a.b\" (nested) is not numeric"));
}

#[test]
fn every_supported_compression() {
    let folder = Folder::new();
    let columns = || vec![vec![F64((0..300).map(|i| Some(f64::from(i % 7))).collect())]];
    let expected: Vec<f64> = (0..300).map(|i| f64::from(i % 7)).collect();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        let path = table(&folder, &["double x"], &columns(), compression);
        let data = open(&path, &TableOptions::default()).unwrap_or_else(|e| panic!("{compression}: {e}"));
        assert!(matches!(data, Data::Parquet(_)));
        assert_eq!(numbers(&data, 70).unwrap(), expected, "{compression}");
    }
}

/// A changed or missing byte is an error or gives other numbers, never a panic, a hang or a value that is not finite.
#[test]
fn corrupt_files_do_not_panic() {
    let folder = Folder::new();
    let cells = || vec![F64((0..60).map(|i| (i % 9 != 0).then_some(f64::from(i))).collect())];
    let path = table(&folder, &["double x"], &[cells(), cells()], Compression::SNAPPY);
    let whole = std::fs::read(&path).unwrap();
    let mut dice = Dice(5);
    let mut damaged: Vec<Vec<u8>> = (0..whole.len()).step_by(7).map(|end| whole[..end].to_vec()).collect();
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        for _ in 0..=dice.below(3) {
            let place = 4 + dice.below(whole.len() - 4);
            bytes[place] = dice.roll() as u8;
        }
        damaged.push(bytes);
    }
    let options = options(&[], false, MissingRule::Drop);
    let mut rejected = 0;
    for bytes in damaged {
        match ParquetSource::open(folder.file("d.parquet", bytes), &options).and_then(|source| numbers(&source, 50)) {
            Ok(numbers) => assert!(numbers.iter().all(|number| number.is_finite())),
            Err(_) => rejected += 1,
        }
    }
    assert!(rejected > 300, "{rejected}");
    let error = ParquetSource::open(folder.file("d.parquet", &whole[..whole.len() - 9]), &options).unwrap_err();
    assert!(matches!(error, Error::CorruptFile { .. }) && error.to_string().contains("write it again"), "{error}");
}

#[test]
fn a_file_that_grows_is_an_error() {
    let folder = Folder::new();
    let path = plain(&folder, &["double x"], vec![F64(vec![Some(1.0), Some(2.0)])]);
    let source = ParquetSource::open(&path, &TableOptions::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    let error = numbers(&source, 1).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("bytes when it was opened"), "{error}");
}

#[cfg(feature = "csv")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A table as text and as parquet gives identical samples, names and dropped rows.
    #[test]
    fn text_and_parquet_give_identical_samples(
        groups in prop::collection::vec(1usize..300, 1..5), missing in 0usize..4, step in 1usize..400, seed: u64,
    ) {
        let mut dice = Dice(seed);
        let mut text = "id,x,y\n".to_string();
        let mut parts = Vec::new();
        let mut row = 0i64;
        for &rows in &groups {
            let (mut ids, mut xs, mut ys) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..rows {
                let mut cell = || (dice.below(10) >= missing).then(|| dice.below(100_000) as f64 / 64.0);
                let (x, y) = (cell(), cell());
                let shown = |cell: Option<f64>| cell.map_or("NA".to_string(), |cell| format!("{cell:?}"));
                text += &format!("{row},{},{}\n", shown(x), shown(y));
                ids.push(Some(row));
                xs.push(x);
                ys.push(y);
                row += 1;
            }
            parts.push(vec![I64(ids), F64(xs), F64(ys)]);
        }
        let folder = Folder::new();
        let path = table(&folder, &["int64 id", "double x", "double y"], &parts, Compression::SNAPPY);
        let options = options(&["y", "x"], true, MissingRule::Drop);
        let csv = CsvSource::open(folder.file("t.csv", text), &options);
        let parquet = ParquetSource::open(path, &options);
        let (Ok(csv), Ok(parquet)) = (&csv, &parquet) else {
            prop_assert!(csv.is_err() && parquet.is_err());
            return Ok(());
        };
        let using = TableOptions { missing: MissingRule::Use, ..options.clone() };
        let all = [
            numbers(&CsvSource::open(folder.path().join("t.csv"), &using).unwrap(), step).unwrap(),
            numbers(&ParquetSource::open(folder.path().join("t.parquet"), &using).unwrap(), step).unwrap(),
        ];
        prop_assert_eq!(all[0].len(), 2 * row as usize);
        prop_assert!(all[0].iter().zip(&all[1]).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())));
        prop_assert_eq!(all[0].iter().any(|x| x.is_nan()), !csv.dropped_rows().is_empty());
        prop_assert_eq!(csv.shape(), parquet.shape());
        prop_assert_eq!(csv.dropped_rows(), parquet.dropped_rows());
        prop_assert_eq!(numbers(csv, step).unwrap(), numbers(parquet, step).unwrap());
        for sample in 0..csv.shape().samples {
            prop_assert_eq!(csv.row_name(sample), parquet.row_name(sample));
            prop_assert_eq!(csv.table_row(sample), parquet.table_row(sample));
        }
    }
}

/// The message of a file that must be rejected as corrupt.
fn reject_bomb(path: &std::path::Path, options: &TableOptions) -> String {
    let error = ParquetSource::open(path, options).unwrap_err();
    assert!(matches!(error, Error::CorruptFile { .. }), "{error}");
    error.to_string()
}

/// Writes one column of f64 values, `count` times this part of it.
fn column_of(folder: &Folder, part: &[f64], count: usize, compression: Compression, dictionary: bool) -> PathBuf {
    let path = folder.path().join("bomb.parquet");
    let schema = Arc::new(parse_message_type("message t { required double a; }").unwrap());
    let properties = WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary);
    let properties = properties.set_data_page_size_limit(usize::MAX).set_data_page_row_count_limit(1 << 20);
    let properties = Arc::new(properties.set_write_batch_size(1 << 20).build());
    let mut file = SerializedFileWriter::new(File::create(&path).unwrap(), schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    for _ in 0..count {
        column.typed::<DoubleType>().write_batch(part, None, None).unwrap();
    }
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    path
}

/// The file with the size of its first data page in the page header, decompressed, replaced by a varint of equal length.
fn with_page_size(path: &std::path::Path, bytes: u64, varint: &[u8]) -> Vec<u8> {
    let mut number = bytes << 1;
    let mut size = Vec::new();
    while number >= 0x80 {
        size.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    size.push(number as u8);
    assert_eq!(size.len(), varint.len());
    let mut file = std::fs::read(path).unwrap();
    // Type 0, then the size.
    let header = [&[0x15, 0, 0x15][..], &size].concat();
    let at = file.windows(header.len()).position(|part| part == header).expect("a page of this size") + 3;
    file[at..at + size.len()].copy_from_slice(varint);
    file
}

#[test]
fn a_page_that_decompresses_to_much_more_is_rejected_before_it_is() {
    let folder = Folder::new();
    let part = vec![1.0; 1 << 17];
    for compression in [Compression::SNAPPY, Compression::LZ4_RAW, Compression::ZSTD(ZstdLevel::default())] {
        let path = column_of(&folder, &part, 1, compression, false);
        assert_eq!(ParquetSource::open(&path, &TableOptions::default()).unwrap().shape().samples, 1 << 17);
        // 128 MiB less a byte instead of 1 MiB.
        let bomb = with_page_size(&path, 1 << 20, &[0xfe, 0xff, 0xff, 0x7f]);
        let message = reject_bomb(&folder.file("bomb.parquet", bomb), &TableOptions::default());
        assert!(message.contains("declares 128.0 MiB, more than the limit of 64.0 MiB"), "{message}");
    }
}

#[test]
fn rows_that_the_size_of_the_file_does_not_justify_are_rejected() {
    let folder = Folder::new();
    let path = column_of(&folder, &vec![1.0; 1 << 20], 40, Compression::UNCOMPRESSED, true);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < 60_000, "{bytes}");
    let message = reject_bomb(&path, &TableOptions::default());
    assert!(message.contains("declares 41943040 rows x 1 columns, 320.0 MiB when decoded"), "{message}");
    // The same ratio is accepted for a small table.
    let path = column_of(&folder, &vec![1.0; 1 << 20], 4, Compression::UNCOMPRESSED, true);
    assert_eq!(ParquetSource::open(&path, &TableOptions::default()).unwrap().shape().samples, 4 << 20);
}

#[test]
fn long_row_names_in_a_dictionary_are_rejected() {
    let folder = Folder::new();
    let path = folder.path().join("names.parquet");
    let schema = parse_message_type("message t { required byte_array name (UTF8); required double a; }").unwrap();
    let properties = Arc::new(WriterProperties::builder().set_dictionary_page_size_limit(8 << 20).build());
    let mut file = SerializedFileWriter::new(File::create(&path).unwrap(), Arc::new(schema), properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    let name = ByteArray::from("x".repeat(1 << 20).as_str());
    let mut column = group.next_column().unwrap().unwrap();
    for _ in 0..10 {
        column.typed::<ByteArrayType>().write_batch(&vec![name.clone(); 100], None, None).unwrap();
    }
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
    column.typed::<DoubleType>().write_batch(&numbers, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    // A gigabyte of names.
    let message = reject_bomb(&path, &TableOptions { row_names: true, ..TableOptions::default() });
    assert!(message.contains("1000 row names take 1048576000 bytes"), "{message}");
}

#[test]
fn counts_in_page_headers_that_contradict_the_page_are_rejected() {
    let folder = Folder::new();
    let gzip = Compression::GZIP(GzipLevel::default());
    for compression in [Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default()), gzip] {
        let path = column_of(&folder, &[1.0; 1000], 1, compression, true);
        let mut file = std::fs::read(&path).unwrap();
        // The dictionary page: type 2, 8 bytes; later in its header the structure 7, whose first field is the count.
        let at = file.windows(4).position(|head| head == [0x15, 4, 0x15, 16]).unwrap();
        let count = at + file[at..].windows(3).position(|head| head == [0x4c, 0x15, 2]).unwrap() + 2;
        // 63 values in 8 bytes.
        file[count] = 126;
        let message = reject_bomb(&folder.file("many.parquet", &file), &TableOptions::default());
        assert!(message.contains("a dictionary of 8 bytes declares 63 values"), "{message}");
    }
    // Random numbers, which take 72 kB, in a page that declares 16 bytes.
    let mut dice = Dice(5);
    let random: Vec<f64> = (0..9000).map(|_| dice.roll() as f64 / dice.roll() as f64).collect();
    let path = column_of(&folder, &random, 1, gzip, false);
    let less = with_page_size(&path, 72_000, &[0xa0, 0x80, 0]);
    let message = reject_bomb(&folder.file("less.parquet", less), &TableOptions::default());
    assert!(message.contains("a page declares 16 bytes and decompresses to more"), "{message}");
}
