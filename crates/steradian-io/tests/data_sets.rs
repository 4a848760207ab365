//! Classic data sets of robust statistics, read from the folder that `STERADIAN_DATA` names.

mod common;

use std::path::{Path, PathBuf};

use steradian::Source;
use steradian_io::{Data, Missing, TableOptions, open};

/// The columns of a table in which every cell is a number or missing, found by a parse of its own.
fn number_columns(text: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let mut numeric = vec![true; header.len()];
    for record in reader.records() {
        for (field, cell) in record.unwrap().iter().enumerate() {
            numeric[field] &= cell.is_empty() || cell == "NA" || cell.parse::<f64>().is_ok();
        }
    }
    header.iter().zip(numeric).skip(1).filter(|(_, numeric)| *numeric).map(|(name, _)| name.to_string()).collect()
}

/// The folder of the tables; says which test skips where it is absent.
fn tables(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("STERADIAN_DATA").map(|data| Path::new(&data).join("robuststats"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: {test} needs the folder robuststats below STERADIAN_DATA");
    }
    folder
}

fn asked(columns: &[&str], missing: Missing) -> TableOptions {
    let columns = (!columns.is_empty()).then(|| columns.iter().map(ToString::to_string).collect());
    TableOptions { columns, row_names: true, missing, ..TableOptions::default() }
}

/// The tables that the literature on outliers returns to, as one would ask for them.
#[test]
fn five_tables_as_one_would_ask_for_them() {
    let Some(folder) = tables("five_tables_as_one_would_ask_for_them") else { return };
    let wavelengths: Vec<String> = (1..=226).map(|i| format!("V{i}")).collect();
    let wavelengths: Vec<&str> = wavelengths.iter().map(String::as_str).collect();
    let cases: [(&str, &[&str], Missing, usize, usize); 6] = [
        ("robustbase__hbk.csv", &["X1", "X2", "X3"], Missing::Error, 75, 3),
        ("robustbase__milk.csv", &[], Missing::Error, 86, 8),
        ("rrcov__bus.csv", &[], Missing::Error, 218, 18),
        ("rrcov__octane.csv", &wavelengths, Missing::Error, 39, 226),
        ("robustHD__TopGear.csv", &["numeric"], Missing::Drop, 244, 13),
        ("robustHD__TopGear.csv", &["Price", "BHP", "Weight"], Missing::Drop, 263, 3),
    ];
    for (file, columns, missing, samples, features) in cases {
        let data = open(folder.join(file), &asked(columns, missing)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((data.shape().samples, data.shape().features), (samples, features), "{file}");
    }
    let cars = folder.join("robustHD__TopGear.csv");
    let message = open(&cars, &asked(&[], Missing::Drop)).unwrap_err().to_string();
    assert!(message.contains("column \"Maker\" is \"Alfa Romeo\", not a number"), "{message}");
    assert!(message.contains("--columns numeric takes the 13 columns of numbers: Price, Cylinders"), "{message}");
    let message = open(&cars, &asked(&["numeric"], Missing::Error)).unwrap_err().to_string();
    assert!(message.contains("is missing") && message.contains("--missing drop"), "{message}");
}

#[test]
fn every_classic_table_is_read() {
    let Some(folder) = tables("every_classic_table_is_read") else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|name| name != "csv") {
            continue;
        }
        let columns = number_columns(&std::fs::read_to_string(&path).unwrap());
        let options = TableOptions {
            columns: Some(columns.clone()),
            row_names: true,
            missing: Missing::Drop,
            ..TableOptions::default()
        };
        let data = open(&path, &options).unwrap_or_else(|e| panic!("{e}"));
        let shape = data.shape().clone();
        assert!(matches!(data, Data::Csv(_)));
        assert_eq!(data.feature_names().unwrap(), columns, "{}", path.display());
        let numbers = common::numbers(&data, 100).unwrap();
        assert_eq!(numbers.len(), shape.samples * columns.len());
        assert!(numbers.iter().all(|number| number.is_finite()));
        assert!((0..shape.samples).all(|i| data.row_name(i).is_some_and(|name| !name.is_empty())));
        let lines = data.dropped_rows().len() + shape.samples;
        println!("{}: {} of {lines} rows x {} columns", path.display(), shape.samples, columns.len());
        count += 1;
    }
    assert!(count > 0, "the folder robuststats holds no tables");
}
