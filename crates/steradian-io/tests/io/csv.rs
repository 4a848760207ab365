//! Tables: the same numbers as a plain parse, at any block, and a named place for every cell that is wrong.

use std::path::PathBuf;

use proptest::prelude::*;
use steradian::{Error, Source};
use steradian_io::{CsvSource, Missing, TableOptions};

use crate::common::{Dice, Folder, numbers};

fn options(columns: &[&str], row_names: bool, missing: Missing) -> TableOptions {
    let columns = (!columns.is_empty()).then(|| columns.iter().map(ToString::to_string).collect());
    TableOptions { columns, row_names, missing, header: None }
}

fn read(text: impl AsRef<[u8]>, options: &TableOptions) -> steradian::Result<(CsvSource, Vec<f64>, Folder)> {
    let folder = Folder::new();
    let path: PathBuf = folder.file("t.csv", text);
    let source = CsvSource::open(path, options)?;
    let numbers = numbers(&source, 100)?;
    Ok((source, numbers, folder))
}

fn refused(text: impl AsRef<[u8]>, options: &TableOptions) -> Error {
    read(text, options).map(|(source, ..)| source).expect_err("refused")
}

#[test]
fn the_spellings_of_a_table() {
    let plain = TableOptions::default();
    let texts: [&[u8]; 12] = [
        b"a,b\n1,2\n3,4\n",
        b"a,b\r\n1,2\r\n3,4\r\n",
        b"\xef\xbb\xbfa,b\n1,2\n3,4",
        b"\xef\xbb\xbf\"a\",\"b\"\r\n1,2\r\n3,4",
        b"a;b\n1;2\n3;4\n",
        b"a\tb\n1\t2\n3\t4\n",
        b"\n\na,b\n\n1,2\n\n3,4\n\n",
        b"a,b\n 1 , 2.0\n3e0,+4.\n",
        b"\"a\",\"b\"\n\"1\",\"2\"\n3,\"4\"\n",
        b"a,\"b\"\r\n1,\"2\"\r\n\r\n3,4",
        b" a , b \n1,2\n3,4\n",
        b"\"a\"\t\"b\"\r\n1\t2\r\n3\t4\r\n",
    ];
    for text in texts {
        let shown = String::from_utf8_lossy(text);
        let (source, numbers, _folder) = read(text, &plain).unwrap_or_else(|e| panic!("{shown:?}: {e}"));
        assert_eq!(numbers, [1.0, 2.0, 3.0, 4.0], "{shown:?}");
        assert_eq!(source.feature_names().unwrap(), ["a", "b"], "{shown:?}");
    }
    let (source, numbers, _folder) = read(b"1,2\n3,4\n", &plain).unwrap();
    assert_eq!((source.feature_names(), &numbers[..]), (None, &[1.0, 2.0, 3.0, 4.0][..]));
    // A comma inside quotes does not decide the separator.
    let (source, ..) = read("\"a,b,c\";d\n1;2\n", &plain).unwrap();
    assert_eq!(source.feature_names().unwrap(), ["a,b,c", "d"]);
}

#[test]
fn a_header_can_be_forced() {
    let with = |header| TableOptions { header: Some(header), ..TableOptions::default() };
    let (source, numbers, _folder) = read("1990,1991\n1,2\n", &with(true)).unwrap();
    assert_eq!((source.feature_names().unwrap().len(), &numbers[..]), (2, &[1.0, 2.0][..]));
    assert!(matches!(refused("a,b\n1,2\n", &with(false)), Error::InvalidData(_)));
}

#[test]
fn columns_and_row_names() {
    let text = "name,x,y,kind\nanna,1,2,u\n\"b, b\",3,4,v\n";
    let (source, numbers, _folder) = read(text, &options(&["y", "x"], true, Missing::Error)).unwrap();
    assert_eq!(numbers, [2.0, 1.0, 4.0, 3.0]);
    assert_eq!(source.feature_names().unwrap(), ["y", "x"]);
    assert_eq!([source.row_name(0), source.row_name(1), source.row_name(2)], [Some("anna"), Some("b, b"), None]);
    let (source, numbers, _folder) = read("u,1,2\nv,3,4\n", &options(&["2"], true, Missing::Error)).unwrap();
    assert_eq!((source.row_name(1), &numbers[..]), (Some("v"), &[2.0, 4.0][..]));
    let error = refused(text, &options(&["x", "z"], true, Missing::Error));
    assert!(matches!(error, Error::InvalidArgument { .. }));
    assert!(error.to_string().contains("no column \"z\"; the columns are x, y, kind"), "{error}");
}

#[test]
fn numeric_takes_every_column_of_numbers() {
    let text = "id,x,empty,kind,y,date\n1,1.5,,u,NA,2020-01-01\n2,2.5,NA,v,4,2020-01-02\n";
    let (source, numbers, _folder) = read(text, &options(&["numeric"], false, Missing::Drop)).unwrap();
    assert_eq!(source.feature_names().unwrap(), ["id", "x", "y"]);
    assert_eq!((&numbers[..], source.dropped_rows()), (&[2.0, 2.5, 4.0][..], &[0][..]));
    let (source, ..) = read(text, &options(&["numeric"], true, Missing::Drop)).unwrap();
    assert_eq!((source.feature_names().unwrap().len(), source.row_name(0)), (2, Some("2")));
    // Without a header the columns have no names.
    let (source, numbers, _folder) = read("u,1,2\nv,3,4\n", &options(&["numeric"], false, Missing::Error)).unwrap();
    assert_eq!((source.feature_names().map(<[_]>::len), &numbers[..]), (Some(2), &[3.0, 4.0][..]));
    // A column of that name is meant when there is one.
    let (_, numbers, _folder) = read("a,numeric\n1,2\n", &options(&["numeric"], false, Missing::Error)).unwrap();
    assert_eq!(numbers, [2.0]);
    // What is not finite is still said rather than passed over.
    let error = refused("a,b\n1,u\ninf,v\n", &options(&["numeric"], false, Missing::Error));
    assert!(error.to_string().contains("not finite"), "{error}");
    let error = refused("a,b\nu,v\n", &options(&["numeric"], false, Missing::Error));
    assert!(error.to_string().contains("no column holds numbers only"), "{error}");
}

#[test]
fn text_is_answered_with_the_columns_of_numbers() {
    let text = "name,x,kind,y\nanna,1,u,2\nbert,3,v,4\n";
    let message = refused(text, &TableOptions::default()).to_string();
    let wanted = "row 0 (line 2), column \"name\" is \"anna\", not a number; --columns numeric takes the 2 columns of \
                  numbers: x, y; --row-names says that the first column holds names";
    assert!(message.ends_with(wanted), "{message}");
    let message = refused(text, &options(&["x", "kind"], true, Missing::Error)).to_string();
    assert!(message.ends_with("takes the 2 columns of numbers: x, y"), "{message}");
}

#[test]
fn cells_that_are_wrong_are_named_by_row_line_and_column() {
    let plain = TableOptions::default();
    let cases = [
        ("a,b\n1,2\n3,x y\n", "row 1 (line 3), column \"b\" is \"x y\", not a number"),
        ("a,b\r\n1,2\r\n3,x\r\n", "row 1 (line 3), column \"b\""),
        ("a,b\r\n\r\n1,2\r\n\r\n\r\n3,x\r\n", "row 1 (line 6), column \"b\""),
        ("\n\na,b\n1,\n", "row 0 (line 4), column \"b\" is missing (\"\")"),
        ("a,b\n1,NA\n", "--missing drop"),
        ("1,2\n3,nan\n", "row 1 (line 2), column 1 is missing (\"nan\")"),
        ("a,b\n1,inf\n", "column \"b\" is \"inf\", which is not finite"),
        ("a,b\n1,-1e999\n", "not finite"),
        ("a;b\n1;2,5\n", "write decimals with a point"),
        ("a,b\n\"one\ntwo\",2\n", "row 0 (line 2), column \"a\" is \"one\\ntwo\""),
    ];
    for (text, words) in cases {
        let error = refused(text, &plain);
        assert!(matches!(error, Error::InvalidData(_)), "{text:?}: {error:?}");
        assert!(error.to_string().contains(words), "{text:?}: {error}");
        assert!(error.to_string().contains("t.csv"), "{error}");
    }
    // Where rows may be dropped, text is still an error, also beside a missing cell.
    let error = refused("a,b\n,x\n1,2\n", &options(&[], false, Missing::Drop));
    assert!(error.to_string().contains("column \"b\" is \"x\""), "{error}");
    let long = refused(format!("a,b\n1,{}\n", "z".repeat(100_000)), &plain).to_string();
    assert!(long.len() < 300, "{}", long.len());
}

#[test]
fn broken_tables_are_named_by_line() {
    let plain = TableOptions::default();
    for (text, words) in [
        ("a,b\n1,2\n3\n", "line 3: 1 fields where the first row has 2"),
        ("a,b\n1,2,3\n", "line 2: 3 fields"),
        ("a,b\r\n1,2\r\n3\r\n", "line 3: 1 fields"),
        ("a,b\n1,2\n\"3,4\n5,6\n", "line 3"),
    ] {
        let error = refused(text, &plain);
        assert!(matches!(error, Error::CorruptFile { .. }), "{text:?}: {error:?}");
        assert!(error.to_string().contains(words), "{text:?}: {error}");
    }
    // A quote left open in a column that is not read swallows rows; that too is seen.
    let error = refused("a,b\n1,u\n3,\"v\n5,w\n", &options(&["a"], false, Missing::Error));
    assert!(error.to_string().contains("line 3: a quote is opened and never closed"), "{error}");
}

#[test]
fn tables_without_rows() {
    let plain = TableOptions::default();
    for (text, words) in [("", "holds no rows"), ("\n\n", "holds no rows"), ("a,b\n", "a header and no row")] {
        let error = refused(text, &plain);
        assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains(words), "{text:?}: {error}");
    }
    let error = refused("a,b\n1,\n,2\n", &options(&[], false, Missing::Drop));
    assert!(error.to_string().contains("each of the 2 rows has a missing cell"), "{error}");
}

/// A quote left open must not draw a large file into memory: the row is given up at its limit.
#[test]
fn an_endless_row_is_given_up() {
    let mut text = b"a,b\n1,\"".to_vec();
    text.resize(66 << 20, b'\n');
    let error = refused(text, &options(&["a"], false, Missing::Error));
    assert!(error.to_string().contains("line 2: a row of over"), "{error}");
}

#[test]
fn blocks_around_the_notes_of_where_rows_start() {
    for rows in [1, 255, 256, 257, 511, 512, 513] {
        for end in ["\n", "\r\n"] {
            let text: String = (0..rows).map(|i| format!("{i},{}{end}", 2 * i)).collect();
            let folder = Folder::new();
            let source = CsvSource::open(folder.file("t.csv", text), &TableOptions::default()).unwrap();
            assert_eq!(source.shape().samples, rows);
            for range in [0..rows, rows - 1..rows, rows / 2..rows, rows..rows, 254..258, 255..256, 256..257, 500..513] {
                let range = range.start.min(rows)..range.end.min(rows);
                let mut seen = Vec::new();
                let mut keep = |block: steradian::Block<'_>| {
                    crate::common::block_numbers(block, &mut seen);
                    Ok(())
                };
                source.visit(range.clone(), &mut keep).unwrap();
                let wanted: Vec<f64> = range.flat_map(|i| [i as f64, 2.0 * i as f64]).collect();
                assert_eq!(seen, wanted, "{rows} rows");
            }
            assert!(matches!(source.visit(0..rows + 1, &mut |_| Ok(())), Err(Error::InvalidArgument { .. })));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rows with holes, blank lines and text columns, against a parse that keeps everything in memory.
    #[test]
    fn the_same_as_a_plain_parse(
        rows in 1usize..1100, holes in 0usize..5, step in 1usize..600, crlf: bool, header: bool, seed: u64,
    ) {
        let mut dice = Dice(seed);
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = if header { format!("id,x,note,y{end}") } else { String::new() };
        let (mut wanted, mut kept, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..rows {
            let cells = [f64::from_bits(dice.roll() >> 2), dice.below(1000) as f64 / 8.0];
            let hole = dice.below(10) < holes;
            let first = if hole { "NA".to_string() } else { format!("{:?}", cells[0]) };
            let note = ["", "\"a, b\"", "\"line\nbreak\"", "\"say \"\"so\"\"\"", "plain"][dice.below(5)];
            text += &format!("r{row},{first},{note},{:?}{end}", cells[1]);
            if dice.below(20) == 0 {
                text += end;
            }
            if hole {
                dropped.push(row);
            } else {
                wanted.extend(cells);
                kept.push(row);
            }
        }
        let columns = if header { ["x", "y"] } else { ["1", "3"] };
        let folder = Folder::new();
        let path = folder.file("t.csv", &text);
        let opened = CsvSource::open(&path, &options(&columns, true, Missing::Drop));
        if kept.is_empty() {
            prop_assert!(opened.is_err());
            return Ok(());
        }
        let source = opened.unwrap();
        prop_assert_eq!(source.shape().samples, kept.len());
        prop_assert_eq!(source.dropped_rows(), &dropped[..]);
        for (sample, &row) in kept.iter().enumerate() {
            let name = format!("r{row}");
            prop_assert_eq!(source.table_row(sample), row);
            prop_assert_eq!(source.row_name(sample), Some(&name[..]));
        }
        prop_assert_eq!(numbers(&source, step).unwrap(), wanted);
        let strict = CsvSource::open(&path, &options(&columns, true, Missing::Error));
        match dropped.first() {
            None => prop_assert!(strict.is_ok()),
            Some(row) => {
                let place = format!("row {row} (line ");
                prop_assert!(strict.unwrap_err().to_string().contains(&place));
            }
        }
    }
}
