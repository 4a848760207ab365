//! Text tables: the numbers of a simple parser for any block size, and errors that name the invalid cell.

use std::path::PathBuf;

use proptest::prelude::*;
use steradian::{Error, Source};
use steradian_io::{CsvSource, Header, MissingRule, TableOptions};

use crate::common::{Dice, Folder, numbers};

fn options(columns: &[&str], row_names: bool, missing: MissingRule) -> TableOptions {
    let columns = (!columns.is_empty()).then(|| columns.iter().map(ToString::to_string).collect());
    TableOptions { columns, row_names, missing, header: Header::Auto }
}

fn read(text: impl AsRef<[u8]>, options: &TableOptions) -> steradian::Result<(CsvSource, Vec<f64>, Folder)> {
    let folder = Folder::new();
    let path: PathBuf = folder.file("t.csv", text);
    let source = CsvSource::open(path, options)?;
    let numbers = numbers(&source, 100)?;
    Ok((source, numbers, folder))
}

fn open_error(text: impl AsRef<[u8]>, options: &TableOptions) -> Error {
    read(text, options).map(|(source, ..)| source).expect_err("an error")
}

#[test]
fn separators_line_ends_quotes_and_byte_order_marks() {
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
    let with = |header| TableOptions { header, ..TableOptions::default() };
    let (source, numbers, _folder) = read("1990,1991\n1,2\n", &with(Header::Yes)).unwrap();
    assert_eq!((source.feature_names().unwrap().len(), &numbers[..]), (2, &[1.0, 2.0][..]));
    assert!(matches!(open_error("a,b\n1,2\n", &with(Header::No)), Error::NotNumeric { .. }));
}

#[test]
fn columns_and_row_names() {
    let text = "name,x,y,kind\nanna,1,2,u\n\"b, b\",3,4,v\n";
    let (source, numbers, _folder) = read(text, &options(&["y", "x"], true, MissingRule::Error)).unwrap();
    assert_eq!(numbers, [2.0, 1.0, 4.0, 3.0]);
    assert_eq!(source.feature_names().unwrap(), ["y", "x"]);
    assert_eq!([source.row_name(0), source.row_name(1), source.row_name(2)], [Some("anna"), Some("b, b"), None]);
    let (source, numbers, _folder) = read("u,1,2\nv,3,4\n", &options(&["2"], true, MissingRule::Error)).unwrap();
    assert_eq!((source.row_name(1), &numbers[..]), (Some("v"), &[2.0, 4.0][..]));
    let error = open_error(text, &options(&["x", "z"], true, MissingRule::Error));
    assert!(matches!(error, Error::InvalidArgument { parameter: Some("columns"), .. }));
    assert!(error.to_string().contains("no column \"z\"; the columns are x, y, kind"), "{error}");
}

#[test]
fn numeric_selects_every_numeric_column() {
    let text = "id,x,empty,kind,y,date\n1,1.5,,u,NA,2020-01-01\n2,2.5,NA,v,4,2020-01-02\n";
    let (source, numbers, _folder) = read(text, &options(&["numeric"], false, MissingRule::Drop)).unwrap();
    assert_eq!(source.feature_names().unwrap(), ["id", "x", "y"]);
    assert_eq!((&numbers[..], source.dropped_rows()), (&[2.0, 2.5, 4.0][..], &[0][..]));
    let (source, ..) = read(text, &options(&["numeric"], true, MissingRule::Drop)).unwrap();
    assert_eq!((source.feature_names().unwrap().len(), source.row_name(0)), (2, Some("2")));
    // Without a header the columns have no names.
    let (source, numbers, _folder) = read("u,1,2\nv,3,4\n", &options(&["numeric"], false, MissingRule::Error)).unwrap();
    assert_eq!((source.feature_names().map(<[_]>::len), &numbers[..]), (Some(2), &[3.0, 4.0][..]));
    // A column of that name has precedence.
    let (_, numbers, _folder) = read("a,numeric\n1,2\n", &options(&["numeric"], false, MissingRule::Error)).unwrap();
    assert_eq!(numbers, [2.0]);
    // A column with an infinite cell is numeric, and the cell is an error.
    let error = open_error("a,b\n1,u\ninf,v\n", &options(&["numeric"], false, MissingRule::Error));
    assert!(error.to_string().contains("not finite"), "{error}");
    let error = open_error("a,b\nu,v\n", &options(&["numeric"], false, MissingRule::Error));
    assert!(error.to_string().contains("no column is numeric"), "{error}");
}

#[test]
fn errors_of_text_cells_list_the_numeric_columns() {
    let text = "name,x,kind,y\nanna,1,u,2\nbert,3,v,4\n";
    for (options, expected_place, expected_row_names) in [
        (TableOptions::default(), "row 0 (line 2), column \"name\" (\"anna\")", false),
        (options(&["x", "kind"], true, MissingRule::Error), "row 0 (line 2), column \"kind\" (\"u\")", true),
    ] {
        let error = open_error(text, &options);
        assert!(error.to_string().ends_with(&format!("t.csv: {expected_place} is not numeric")), "{error}");
        let Error::NotNumeric { place, numeric, row_names, .. } = error else { panic!("{error:?}") };
        assert_eq!(
            (&place[..], &numeric[..], row_names),
            (expected_place, &["x", "y"].map(String::from)[..], expected_row_names)
        );
    }
}

#[test]
fn errors_of_missing_cells_name_cell_and_text() {
    let error = open_error("a,b\n1,2\n3, NA\n", &TableOptions::default());
    assert!(error.to_string().ends_with("t.csv: row 1 (line 3), column \"b\" is missing (\" NA\")"), "{error}");
    let Error::MissingCell { path, place, text } = error else { panic!("{error:?}") };
    assert!(path.ends_with("t.csv"));
    assert_eq!((&place[..], &text[..]), ("row 1 (line 3), column \"b\"", "\" NA\""));
}

#[test]
fn invalid_cells_are_named_by_row_line_and_column() {
    let plain = TableOptions::default();
    let cases = [
        ("a,b\n1,2\n3,x y\n", "row 1 (line 3), column \"b\" (\"x y\") is not numeric"),
        ("a,b\r\n1,2\r\n3,x\r\n", "row 1 (line 3), column \"b\""),
        ("a,b\r\n\r\n1,2\r\n\r\n\r\n3,x\r\n", "row 1 (line 6), column \"b\""),
        ("\n\na,b\n1,\n", "row 0 (line 4), column \"b\" is missing (\"\")"),
        ("a,b\n1,NA\n", "is missing (\"NA\")"),
        ("1,2\n3,nan\n", "row 1 (line 2), column 1 is missing (\"nan\")"),
        ("a,b\n1,inf\n", "column \"b\" (\"inf\") is not finite"),
        ("a,b\n1,-1e999\n", "not finite"),
        ("a;b\n1;2,5\n", "write decimals with a point"),
        ("a,b\n\"one\ntwo\",2\n", "row 0 (line 2), column \"a\" (\"one\\ntwo\")"),
    ];
    for (text, words) in cases {
        let error = open_error(text, &plain);
        let is_expected = match words {
            words if words.contains("is missing") => matches!(error, Error::MissingCell { .. }),
            words if words.contains("finite") || words.contains("point") => matches!(error, Error::InvalidData(_)),
            _ => matches!(error, Error::NotNumeric { .. }),
        };
        assert!(is_expected, "{text:?}: {error:?}");
        assert!(error.to_string().contains(words), "{text:?}: {error}");
        assert!(error.to_string().contains("t.csv"), "{error}");
    }
    // If rows with missing cells are dropped, text is still an error, also next to a missing cell.
    let error = open_error("a,b\n,x\n1,2\n", &options(&[], false, MissingRule::Drop));
    assert!(error.to_string().contains("column \"b\" (\"x\") is not numeric"), "{error}");
    let long = open_error(format!("a,b\n1,{}\n", "z".repeat(100_000)), &plain).to_string();
    assert!(long.len() < 300, "{}", long.len());
}

#[test]
fn corrupt_tables_are_named_by_line() {
    let plain = TableOptions::default();
    for (text, words) in [
        ("a,b\n1,2\n3\n", "line 3: expected 2 fields as in the first row, got 1"),
        ("a,b\n1,2,3\n", "line 2: expected 2 fields as in the first row, got 3"),
        ("a,b\r\n1,2\r\n3\r\n", "line 3: expected 2 fields"),
        ("a,b\n1,2\n\"3,4\n5,6\n", "line 3"),
    ] {
        let error = open_error(text, &plain);
        assert!(matches!(error, Error::CorruptFile { .. }), "{text:?}: {error:?}");
        assert!(error.to_string().contains(words), "{text:?}: {error}");
    }
    // An unclosed quote in a column that is not selected hides rows; it is an error, too.
    let error = open_error("a,b\n1,u\n3,\"v\n5,w\n", &options(&["a"], false, MissingRule::Error));
    assert!(error.to_string().contains("line 3: unclosed quote"), "{error}");
}

#[test]
fn tables_without_rows() {
    let plain = TableOptions::default();
    for (text, words) in [("", "contains no rows"), ("\n\n", "contains no rows"), ("a,b\n", "a header and no data row")]
    {
        let error = open_error(text, &plain);
        assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains(words), "{text:?}: {error}");
    }
    let error = open_error("a,b\n1,\n,2\n", &options(&[], false, MissingRule::Drop));
    assert!(error.to_string().contains("every row (2 of 2) has a missing cell"), "{error}");
}

/// An unclosed quote does not load a large file into memory: rows have a largest length.
#[test]
fn a_row_that_is_too_long_is_an_error() {
    let mut text = b"a,b\n1,\"".to_vec();
    text.resize(18 << 20, b'\n');
    let error = open_error(text, &options(&["a"], false, MissingRule::Error));
    assert!(error.to_string().contains("line 2: row exceeds"), "{error}");
}

#[test]
fn blocks_around_recorded_starts() {
    for rows in [1, 255, 256, 257, 511, 512, 513] {
        for end in ["\n", "\r\n"] {
            let text: String = (0..rows).map(|i| format!("{i},{}{end}", 2 * i)).collect();
            let folder = Folder::new();
            let source = CsvSource::open(folder.file("t.csv", text), &TableOptions::default()).unwrap();
            assert_eq!(source.shape().samples, rows);
            for range in [0..rows, rows - 1..rows, rows / 2..rows, rows..rows, 254..258, 255..256, 256..257, 500..513] {
                let range = range.start.min(rows)..range.end.min(rows);
                let mut numbers = Vec::new();
                let mut collect = |block: steradian::data::Block<'_>| {
                    crate::common::block_numbers(block, &mut numbers);
                    Ok(())
                };
                source.visit(range.clone(), &mut collect).unwrap();
                let expected: Vec<f64> = range.flat_map(|i| [i as f64, 2.0 * i as f64]).collect();
                assert_eq!(numbers, expected, "{rows} rows");
            }
            assert!(matches!(source.visit(0..rows + 1, &mut |_| Ok(())), Err(Error::InvalidArgument { .. })));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Rows with missing cells, blank lines and text columns, compared with a parser in memory.
    #[test]
    fn numbers_are_those_of_a_simple_parser(
        rows in 1usize..1100, missing in 0usize..5, step in 1usize..600, crlf: bool, header: bool, seed: u64,
    ) {
        let mut dice = Dice(seed);
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = if header { format!("id,x,note,y{end}") } else { String::new() };
        let (mut expected, mut complete, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..rows {
            let cells = [f64::from_bits(dice.roll() >> 2), dice.below(1000) as f64 / 8.0];
            let is_missing = dice.below(10) < missing;
            let first = if is_missing { "NA".to_string() } else { format!("{:?}", cells[0]) };
            let note = ["", "\"a, b\"", "\"line\nbreak\"", "\"say \"\"so\"\"\"", "plain"][dice.below(5)];
            text += &format!("r{row},{first},{note},{:?}{end}", cells[1]);
            if dice.below(20) == 0 {
                text += end;
            }
            if is_missing {
                dropped.push(row);
            } else {
                expected.extend(cells);
                complete.push(row);
            }
        }
        let columns = if header { ["x", "y"] } else { ["1", "3"] };
        let folder = Folder::new();
        let path = folder.file("t.csv", &text);
        let opened = CsvSource::open(&path, &options(&columns, true, MissingRule::Drop));
        if complete.is_empty() {
            prop_assert!(opened.is_err());
            return Ok(());
        }
        let source = opened.unwrap();
        prop_assert_eq!(source.shape().samples, complete.len());
        prop_assert_eq!(source.dropped_rows(), &dropped[..]);
        for (sample, &row) in complete.iter().enumerate() {
            let name = format!("r{row}");
            prop_assert_eq!(source.table_row(sample), row);
            prop_assert_eq!(source.row_name(sample), Some(&name[..]));
        }
        prop_assert_eq!(numbers(&source, step).unwrap(), &expected[..]);
        let used = CsvSource::open(&path, &options(&columns, true, MissingRule::Use)).unwrap();
        let all = numbers(&used, step).unwrap();
        prop_assert_eq!(used.shape().samples, complete.len() + dropped.len());
        for (sample, cells) in all.chunks(2).enumerate() {
            prop_assert_eq!(cells[0].is_nan(), dropped.contains(&sample));
            prop_assert!(cells[1].is_finite());
        }
        prop_assert_eq!(complete.iter().flat_map(|&row| all[2 * row..2 * row + 2].to_vec()).collect::<Vec<_>>(), expected);
        let strict = CsvSource::open(&path, &options(&columns, true, MissingRule::Error));
        match dropped.first() {
            None => prop_assert!(strict.is_ok()),
            Some(row) => {
                let place = format!("row {row} (line ");
                prop_assert!(strict.unwrap_err().to_string().contains(&place));
            }
        }
    }
}

#[test]
fn a_row_of_too_many_fields_is_rejected() {
    let folder = Folder::new();
    let path = folder.file("long.csv", [vec![b','; 1 << 20], b"\n".to_vec()].concat());
    let error = CsvSource::open(&path, &TableOptions::default()).unwrap_err();
    assert!(matches!(error, Error::CorruptFile { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("line 1: row has 1048577 fields, more than the limit of 1048576"), "{text}");
}
