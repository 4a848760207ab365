//! Classic data sets of robust statistics, read from the folder that `STERADIAN_DATA` names.

mod common;

use std::path::Path;

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

#[test]
fn every_classic_table_is_read() {
    let folder = std::env::var_os("STERADIAN_DATA").map(|data| Path::new(&data).join("robuststats"));
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
        println!("skipped: every_classic_table_is_read needs the folder robuststats below STERADIAN_DATA");
        return;
    };
    let mut tables = 0;
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
        tables += 1;
    }
    assert!(tables > 0, "the folder robuststats holds no tables");
}
