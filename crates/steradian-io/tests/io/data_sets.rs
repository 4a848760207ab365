//! Classic data sets of robust statistics, from the folder in `STERADIAN_DATA`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use steradian::{Error, Source};
use steradian_io::{Data, MissingRule, TableOptions, open};

use crate::common::{Folder, numbers};

/// The numeric columns of a table and the number of rows without a missing cell in them, by an independent parser.
fn numeric_columns(text: &str) -> (Vec<String>, usize) {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let records: Vec<_> = reader.records().map(|record| record.unwrap()).collect();
    let is_missing = |cell: &str| cell.is_empty() || cell == "NA";
    let numeric: Vec<usize> = (1..header.len())
        .filter(|&j| records.iter().all(|record| is_missing(&record[j]) || record[j].parse::<f64>().is_ok()))
        .collect();
    let complete = records.iter().filter(|record| numeric.iter().all(|&j| !is_missing(&record[j]))).count();
    (numeric.iter().map(|&j| header[j].to_string()).collect(), complete)
}

/// Names of the tables below the folder `robuststats`.
const TABLES: [&str; 15] = [
    "cellWise__data_philips.csv",
    "robustHD__TopGear.csv",
    "robustbase__bushfire.csv",
    "robustbase__hbk.csv",
    "robustbase__milk.csv",
    "robustbase__pulpfiber.csv",
    "robustbase__radarImage.csv",
    "robustbase__wood.csv",
    "rrcov__Cars.csv",
    "rrcov__bus.csv",
    "rrcov__diabetes.csv",
    "rrcov__fish.csv",
    "rrcov__octane.csv",
    "rrcov__salmon.csv",
    "rrcov__un86.csv",
];

/// The folder of the tables, or the reason to skip: there is no data folder. If there is one, a missing table fails the
/// test that reads it.
fn tables_in(data: Option<&OsStr>) -> Result<PathBuf, String> {
    let Some(data) = data.filter(|data| !data.is_empty()) else {
        return Err("STERADIAN_DATA is not set".to_string());
    };
    if !Path::new(data).is_dir() {
        return Err(format!("STERADIAN_DATA names {}, which is not a folder", Path::new(data).display()));
    }
    Ok(Path::new(data).join("robuststats"))
}

/// The folder of the tables; prints the reason if a test is skipped.
fn tables(test: &str) -> Option<PathBuf> {
    let folder = tables_in(std::env::var_os("STERADIAN_DATA").as_deref());
    folder.inspect_err(|reason| println!("skipped: {test}: {reason}")).ok()
}

/// Only an absent data folder skips a test; an absent table in a data folder fails it.
#[test]
fn an_absent_table_in_a_data_folder_does_not_skip() {
    let folder = Folder::new();
    assert!(tables_in(None).is_err());
    assert!(tables_in(Some(OsStr::new(""))).is_err());
    assert!(tables_in(Some(folder.path().join("none").as_os_str())).unwrap_err().contains("none"));
    assert_eq!(tables_in(Some(folder.path().as_os_str())), Ok(folder.path().join("robuststats")));
}

fn options(columns: &[&str], missing: MissingRule) -> TableOptions {
    let columns = (!columns.is_empty()).then(|| columns.iter().map(ToString::to_string).collect());
    TableOptions { columns, row_names: true, missing, ..TableOptions::default() }
}

/// The tables of the literature on outliers, with their usual options.
#[test]
fn five_tables_with_their_usual_options() {
    let Some(folder) = tables("five_tables_with_their_usual_options") else { return };
    let wavelengths: Vec<String> = (1..=226).map(|i| format!("V{i}")).collect();
    let wavelengths: Vec<&str> = wavelengths.iter().map(String::as_str).collect();
    let cases: [(&str, &[&str], MissingRule, usize, usize); 6] = [
        ("robustbase__hbk.csv", &["X1", "X2", "X3"], MissingRule::Error, 75, 3),
        ("robustbase__milk.csv", &[], MissingRule::Error, 86, 8),
        ("rrcov__bus.csv", &[], MissingRule::Error, 218, 18),
        ("rrcov__octane.csv", &wavelengths, MissingRule::Error, 39, 226),
        ("robustHD__TopGear.csv", &["numeric"], MissingRule::Drop, 244, 13),
        ("robustHD__TopGear.csv", &["Price", "BHP", "Weight"], MissingRule::Drop, 263, 3),
    ];
    for (file, columns, missing, samples, features) in cases {
        let data = open(folder.join(file), &options(columns, missing)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((data.shape().samples, data.shape().features), (samples, features), "{file}");
    }
    let cars = folder.join("robustHD__TopGear.csv");
    let error = open(&cars, &options(&[], MissingRule::Drop)).unwrap_err();
    let Error::NotNumeric { place, numeric, row_names, .. } = &error else { panic!("{error:?}") };
    assert!(place.ends_with("column \"Maker\" (\"Alfa Romeo\")"), "{place}");
    assert_eq!(
        (numeric.len(), &numeric[..2], *row_names),
        (13, &["Price".to_string(), "Cylinders".to_string()][..], true)
    );
    let error = open(&cars, &options(&["numeric"], MissingRule::Error)).unwrap_err();
    assert!(matches!(error, Error::MissingCell { .. }), "{error:?}");
}

#[test]
fn every_classic_table_is_read() {
    let Some(folder) = tables("every_classic_table_is_read") else { return };
    for name in TABLES {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (columns, complete) = numeric_columns(&text);
        let options = TableOptions {
            columns: Some(columns.clone()),
            row_names: true,
            missing: MissingRule::Drop,
            ..TableOptions::default()
        };
        let data = open(&path, &options).unwrap_or_else(|e| panic!("{e}"));
        let shape = data.shape().clone();
        assert!(matches!(data, Data::Csv(_)));
        assert_eq!(data.feature_names().unwrap(), columns, "{}", path.display());
        assert_eq!(shape.samples, complete, "{name}");
        let numbers = numbers(&data, 100).unwrap();
        assert_eq!(numbers.len(), shape.samples * columns.len());
        assert!(numbers.iter().all(|number| number.is_finite()));
        assert!((0..shape.samples).all(|i| data.row_name(i).is_some_and(|name| !name.is_empty())));
        let lines = data.dropped_rows().len() + shape.samples;
        println!("{}: {} of {lines} rows x {} columns", path.display(), shape.samples, columns.len());
    }
}
