//! Missing cells of arrays and tables, masks of missing cells, and excluded rows.

use std::path::PathBuf;

use proptest::prelude::*;
use steradian::data::ElementType;
use steradian::{Error, Result, Source};
use steradian_io::{Data, MissingRule, TableOptions, open};

use crate::common::{Dice, Folder, encode, npy, numbers};

fn with(missing: MissingRule) -> TableOptions {
    TableOptions { missing, ..TableOptions::default() }
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The numbers of data, with one bit pattern for NaN.
fn cells(data: &Data, step: usize) -> Vec<u64> {
    bits(&numbers(data, step).unwrap().into_iter().map(|x| if x.is_nan() { f64::NAN } else { x }).collect::<Vec<_>>())
}

/// A usage error about a parameter; its message.
fn usage(result: Result<Data>, parameter: &str) -> String {
    match result.unwrap_err() {
        Error::InvalidArgument { parameter: Some(found), problem } if found == parameter => problem,
        other => panic!("{other:?}"),
    }
}

/// An array of 6 rows x 2 of some type; cell (i, j) is 2 i + j.
fn array(folder: &Folder, descr: &str) -> PathBuf {
    folder.file("x.npy", npy(descr, false, &[6, 2], &encode(descr, (0..12).map(f64::from))))
}

#[test]
fn rows_of_arrays_with_missing_cells_are_dropped_on_request() {
    let folder = Folder::new();
    let mut data: Vec<f64> = (0..12).map(f64::from).collect();
    data[3] = f64::NAN;
    data[8] = -f64::NAN;
    for (descr, fortran) in [("<f8", false), (">f8", false), ("<f4", false), ("<f8", true)] {
        let stored = if fortran { (0..12).map(|i| data[i % 6 * 2 + i / 6]).collect() } else { data.clone() };
        let path = folder.file("x.npy", npy(descr, fortran, &[6, 2], &encode(descr, stored)));
        for rule in [MissingRule::Use, MissingRule::Error] {
            let all = open(&path, &with(rule)).unwrap();
            assert_eq!(cells(&all, 4), bits(&data.iter().map(|x| x.abs()).collect::<Vec<_>>()));
        }
        let dropped = open(&path, &with(MissingRule::Drop)).unwrap();
        assert_eq!(dropped.dropped_rows(), [1, 4]);
        assert_eq!((0..4).map(|i| dropped.table_row(i)).collect::<Vec<_>>(), [0, 2, 3, 5]);
        for step in [1, 3, 4] {
            assert_eq!(numbers(&dropped, step).unwrap(), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
        }
        let strict = open(&path, &with(MissingRule::Use)).unwrap().rejecting_missing_cells();
        let error = numbers(&strict, 2).unwrap_err();
        assert!(matches!(error, Error::NotFinite { row: 1, column: 1, .. }), "{error}");
    }
    let path = folder.file("x.npy", npy("<f8", false, &[2, 1], &encode("<f8", [f64::NAN, f64::NAN])));
    let error = open(&path, &with(MissingRule::Drop)).unwrap_err().to_string();
    assert!(error.contains("every row (2 of 2) has a missing cell"), "{error}");
}

#[test]
fn masks_mark_missing_cells() {
    let folder = Folder::new();
    let marks = [0u8, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0];
    let expected: Vec<f64> = (0..12).map(|i| if marks[i] == 1 { f64::NAN } else { i as f64 }).collect();
    let transposed: Vec<u8> = (0..12).map(|i| marks[i % 6 * 2 + i / 6]).collect();
    for (descr, element) in
        [("|u1", ElementType::F32), ("<u2", ElementType::F32), (">f4", ElementType::F32), ("<f8", ElementType::F64)]
    {
        let path = array(&folder, descr);
        for (of_mask, fortran, marks) in
            [("|b1", false, &marks[..]), ("|u1", false, &marks), ("|b1", true, &transposed)]
        {
            let mask = folder.file("m.npy", npy(of_mask, fortran, &[6, 2], marks));
            let data = open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(&mask).unwrap();
            assert_eq!(data.shape().element, element);
            for step in [1, 4, 6] {
                assert_eq!(cells(&data, step), bits(&expected));
            }
            assert_eq!(numbers(data.missing_mask().unwrap(), 6).unwrap(), marks_of(&marks_in_rows(marks, fortran)));
            let dropped = data.without_incomplete_rows().unwrap();
            assert_eq!(dropped.dropped_rows(), [1, 3, 4]);
            assert_eq!(numbers(&dropped, 2).unwrap(), [0.0, 1.0, 4.0, 5.0, 10.0, 11.0]);
        }
    }
}

fn marks_in_rows(marks: &[u8], fortran: bool) -> Vec<u8> {
    if fortran { (0..12).map(|i| marks[i % 2 * 6 + i / 2]).collect() } else { marks.to_vec() }
}

fn marks_of(marks: &[u8]) -> Vec<f64> {
    marks.iter().map(|m| f64::from(*m)).collect()
}

#[test]
fn images_have_masks_of_images_or_of_features() {
    let folder = Folder::new();
    let path = folder.file("x.npy", npy("|u1", false, &[2, 3, 4], &[7; 24]));
    for dimensions in [&[2usize, 3, 4][..], &[2, 12]] {
        let mask = folder.file("m.npy", npy("|b1", false, dimensions, &[1; 24]));
        let data = open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(mask).unwrap();
        assert_eq!(data.shape().image, Some((3, 4)));
        assert!(numbers(&data, 1).unwrap().iter().all(|x| x.is_nan()));
    }
    let mask = folder.file("m.npy", npy("|b1", false, &[2, 4, 3], &[1; 24]));
    let said = usage(open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(mask), "missing_mask");
    assert!(said.contains("shape (2, 4, 3) but the data have the shape (2, 3, 4)"), "{said}");
}

#[test]
fn masks_of_other_shapes_and_types_are_usage_errors() {
    let folder = Folder::new();
    let path = array(&folder, "<f4");
    let masked = |descr: &str, dimensions: &[usize], bytes: &[u8]| {
        let mask = folder.file("m.npy", npy(descr, false, dimensions, bytes));
        usage(open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(mask), "missing_mask")
    };
    assert!(masked("|b1", &[2, 6], &[0; 12]).contains("shape (2, 6) but the data have the shape (6, 2)"));
    assert!(masked("|b1", &[12], &[0; 12]).contains("shape (12,) but the data have the shape (6, 2)"));
    assert!(masked("|b1", &[6, 2, 1], &[0; 12]).contains("shape (6, 2, 1)"));
    for (descr, bytes) in [("<f4", 48), ("<i8", 96), ("|i1", 12)] {
        assert!(masked(descr, &[6, 2], &vec![0; bytes]).contains("neither of bool nor of uint8"));
    }
    let mask = folder.file("m.npy", npy("|u1", false, &[6, 2], &[0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0]));
    let data = open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(mask).unwrap();
    let error = numbers(&data, 6).unwrap_err().to_string();
    assert!(error.contains("the mask is 255 at row 2, column 1"), "{error}");
    let error =
        open(&path, &with(MissingRule::Use)).unwrap().with_missing_mask(folder.path().join("none")).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

#[test]
fn excluded_rows_are_left_out() {
    let folder = Folder::new();
    let path = array(&folder, "<u2");
    let lists = [
        ("|b1", vec![6usize], vec![0u8, 1, 0, 0, 1, 1]),
        ("<i8", vec![3], [4i64, 1, 5].iter().flat_map(|i| i.to_le_bytes()).collect()),
        (">i4", vec![3], [4i32, 1, 5].iter().flat_map(|i| i.to_be_bytes()).collect()),
        ("|u1", vec![3], vec![5, 4, 1]),
        ("<u8", vec![3], [1u64, 4, 5].iter().flat_map(|i| i.to_le_bytes()).collect()),
    ];
    for (descr, dimensions, bytes) in lists {
        let list = folder.file("r.npy", npy(descr, false, &dimensions, &bytes));
        let data = open(&path, &with(MissingRule::Use)).unwrap().without_rows(&list).unwrap();
        assert_eq!(numbers(&data, 2).unwrap(), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0], "{descr}");
        assert_eq!(data.fitted_rows().unwrap(), (&[0, 2, 3][..], 6));
        assert_eq!((data.table_row(2), data.dropped_rows().len()), (3, 0));
        let streamed = data.stream_if_larger_than(Some(1)).unwrap().widened(2, 1 << 20).unwrap();
        assert!(streamed.streamed().is_some());
        assert_eq!(numbers(&streamed, 3).unwrap(), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0]);
    }
    let none = folder.file("r.npy", npy("<i8", false, &[0], &[]));
    let data = open(&path, &with(MissingRule::Use)).unwrap().without_rows(none).unwrap();
    assert_eq!(data.fitted_rows().unwrap().0.len(), 6);
}

#[test]
fn lists_of_rows_that_do_not_suit_the_data_are_usage_errors() {
    let folder = Folder::new();
    let path = array(&folder, "<f8");
    let listed = |descr: &str, dimensions: &[usize], bytes: Vec<u8>| {
        let list = folder.file("r.npy", npy(descr, false, dimensions, &bytes));
        usage(open(&path, &with(MissingRule::Use)).unwrap().without_rows(list), "exclude")
    };
    let indices = |rows: &[i64]| rows.iter().flat_map(|i| i.to_le_bytes()).collect::<Vec<u8>>();
    assert!(listed("<i8", &[2], indices(&[0, 6])).contains("index 6 is not a row of data with 6 rows"));
    assert!(listed("<i8", &[1], indices(&[-1])).contains("index -1 is not a row"));
    assert!(listed("<i8", &[3], indices(&[4, 1, 4])).contains("row 4 is listed twice"));
    assert!(listed("<i8", &[7], indices(&[0, 1, 2, 3, 4, 5, 6])).contains("7 indices for data with 6 rows"));
    assert!(listed("<i8", &[6], indices(&[0, 1, 2, 3, 4, 5])).contains("all 6 rows are excluded"));
    assert!(listed("|b1", &[6], vec![1; 6]).contains("all 6 rows are excluded"));
    assert!(listed("|b1", &[5], vec![1; 5]).contains("5 bools for data with 6 rows"));
    assert!(listed("|b1", &[6, 1], vec![1; 6]).contains("shape (6, 1); expected a vector of 6 bools"));
    assert!(listed("<f8", &[1], vec![0; 8]).contains("dtype float64; expected bool or integers"));
}

#[cfg(feature = "csv")]
#[test]
fn tables_use_drop_or_reject_missing_cells() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "x,y\n1,2\n,4\n5,NA\nnan,null\n9,10\n");
    let used = open(&path, &with(MissingRule::Use)).unwrap();
    let nan = f64::NAN;
    let expected = [1.0, 2.0, nan, 4.0, 5.0, nan, nan, nan, 9.0, 10.0];
    for step in [1, 2, 5] {
        assert_eq!(cells(&used, step), bits(&expected));
    }
    assert!(used.dropped_rows().is_empty());
    // Rows are counted in the file when some were dropped.
    let list = folder.file("r.npy", npy("|b1", false, &[5], &[1, 0, 0, 0, 0]));
    let dropped = open(&path, &with(MissingRule::Drop)).unwrap().without_rows(&list).unwrap();
    assert_eq!((numbers(&dropped, 1).unwrap(), dropped.dropped_rows()), (vec![9.0, 10.0], &[1, 2, 3][..]));
    assert_eq!((dropped.table_row(0), dropped.fitted_rows().unwrap()), (4, (&[1][..], 2)));
    let error = open(&path, &with(MissingRule::Error)).unwrap_err();
    assert!(matches!(error, Error::MissingCell { .. }), "{error}");
    for rule in [MissingRule::Use, MissingRule::Drop] {
        let error = open(folder.file("t.csv", "x,y\n1,2\n,inf\n"), &with(rule)).unwrap_err().to_string();
        assert!(error.contains("row 1 (line 3), column \"y\""), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn views_have_the_rows_and_cells_of_the_array(
        seed: u64, samples in 2usize..700, step in 1usize..300, streams: bool, masked: bool, rate in 2usize..40,
    ) {
        let (folder, mut dice) = (Folder::new(), Dice(seed));
        let features = 3;
        let mut data: Vec<f64> = (0..samples * features).map(|i| i as f64).collect();
        let mut marks = vec![0u8; data.len()];
        for (x, mark) in data.iter_mut().zip(&mut marks) {
            if dice.below(rate) == 0 { *x = f64::NAN }
            if masked && dice.below(rate) == 0 { *mark = 1 }
        }
        let excluded: Vec<u8> = (0..samples).map(|i| u8::from(i > 0 && dice.below(3) == 0)).collect();
        data[..features].fill(1.0);
        marks[..features].fill(0);
        let path = folder.file("x.npy", npy("<f8", false, &[samples, features], &encode("<f8", data.clone())));
        let mask = folder.file("m.npy", npy("|b1", false, &[samples, features], &marks));
        let list = folder.file("r.npy", npy("|b1", false, &[samples], &excluded));
        let mut opened = open(&path, &with(MissingRule::Use)).unwrap();
        if streams { opened = opened.stream_if_larger_than(Some(1)).unwrap() }
        if masked { opened = opened.with_missing_mask(&mask).unwrap() }
        let seen: Vec<f64> = data.iter().zip(&marks).map(|(x, m)| if *m == 1 { f64::NAN } else { *x }).collect();
        prop_assert_eq!(cells(&opened, step), bits(&seen));
        let opened = opened.without_incomplete_rows().unwrap().without_rows(&list).unwrap();
        let row = |i: usize| &seen[i * features..(i + 1) * features];
        let complete = |i: &usize| row(*i).iter().all(|x| !x.is_nan());
        let kept: Vec<usize> = (0..samples).filter(complete).filter(|i| excluded[*i] == 0).collect();
        let expected: Vec<f64> = kept.iter().flat_map(|i| row(*i).to_vec()).collect();
        let opened = opened.widened(2, 1 << 20).unwrap();
        opened.advise_access(&[0..kept.len() / 2, kept.len() / 2..kept.len()], 2);
        prop_assert_eq!(numbers(&opened, step).unwrap(), expected);
        for (sample, row) in kept.iter().enumerate() {
            prop_assert_eq!(opened.table_row(sample), *row);
        }
        let incomplete: Vec<usize> = (0..samples).filter(|i| !complete(i)).collect();
        prop_assert_eq!(opened.dropped_rows(), &incomplete[..]);
    }
}
