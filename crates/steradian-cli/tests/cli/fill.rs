//! `fill`: tables and arrays with expected values in place of missing and bad cells.

use crate::lab::{Lab, npy, read_npy, samples_npy, stderr};

const ROWS: usize = 80;
const FEATURES: usize = 5;

/// The value of a cell: a line in five dimensions with small deviations.
fn truth(i: usize, j: usize) -> f64 {
    let wobble = 0.05 * ((i * (j + 3) * 7) % 13) as f64 - 0.3;
    (i as f64 * 0.7).sin() * 10.0 * (1.0 + j as f64 / 2.0) + wobble
}

/// True for each eleventh cell.
fn is_missing(i: usize, j: usize) -> bool {
    (i * FEATURES + j) % 11 == 3
}

/// True for two cells.
fn is_bad(i: usize, j: usize) -> bool {
    [(21, 2), (51, 4)].contains(&(i, j))
}

fn cell(i: usize, j: usize) -> f64 {
    match (i, j) {
        _ if is_missing(i, j) => f64::NAN,
        _ if is_bad(i, j) => 150.0,
        _ => truth(i, j),
    }
}

/// The cells as a table with row names and as arrays, and models of both.
fn lab() -> Lab {
    let lab = Lab::new();
    let mut table = String::from("maker,a,\"b, c\",d,e,f\n");
    for i in 0..ROWS {
        let text = |x: f64| if x.is_nan() { "NA".to_string() } else { x.to_string() };
        let cells: Vec<String> = (0..FEATURES).map(|j| text(cell(i, j))).collect();
        table += &format!("\"row {i}, née\",{}\n", cells.join(","));
    }
    lab.write("t.csv", table);
    let cells = || (0..ROWS * FEATURES).map(|at| cell(at / FEATURES, at % FEATURES));
    lab.write("x.npy", npy("<f8", &[ROWS, FEATURES], &cells().flat_map(f64::to_le_bytes).collect::<Vec<_>>()));
    lab.write(
        "s.npy",
        npy("<f4", &[ROWS, 1, FEATURES], &cells().flat_map(|x| (x as f32).to_le_bytes()).collect::<Vec<_>>()),
    );
    lab.ok("fit t.csv --row-names -d 1 --method cells -o m");
    lab.ok("fit x.npy -d 1 --method cells -o n");
    lab
}

/// Fields of the data rows of a table with quotes around the first one.
fn rows(text: &str) -> Vec<(String, Vec<f64>)> {
    let row = |line: &str| {
        let (name, cells) = line[1..].split_once("\",").unwrap();
        (name.to_owned(), cells.split(',').map(|x| x.parse().unwrap()).collect())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn a_table_keeps_its_names_and_its_other_cells() {
    let lab = lab();
    let printed = lab.ok("fill m t.csv --row-names -o full.csv --mask mask.npy");
    let missing = (0..ROWS * FEATURES).filter(|at| is_missing(at / FEATURES, at % FEATURES)).count();
    assert!(printed.contains(&format!("80 x 5; {missing} missing cells of 400 replaced")), "{printed}");
    let text = String::from_utf8(lab.read("full.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("maker,a,\"b, c\",d,e,f"));
    let full = rows(&text);
    assert_eq!(full.len(), ROWS);
    let (descr, shape, mask) = read_npy(&lab.read("mask.npy"));
    assert_eq!((descr.as_str(), shape.as_slice()), ("|b1", &[ROWS, FEATURES][..]));
    for (i, (name, cells)) in full.iter().enumerate() {
        assert_eq!(name, &format!("row {i}, née"));
        for (j, x) in cells.iter().enumerate() {
            assert_eq!(mask[i * FEATURES + j] == 1.0, is_missing(i, j), "row {i}, column {j}");
            if is_missing(i, j) {
                assert!((x - truth(i, j)).abs() < 2.0, "row {i}, column {j}: {x}, truth {}", truth(i, j));
            } else {
                assert_eq!(*x, cell(i, j), "row {i}, column {j}");
            }
        }
    }
    // Without the option of row names the first column is no number.
    lab.reject(3, "fill m t.csv -o again.csv", &["row 0", "column \"maker\""]);
}

#[test]
fn bad_cells_are_replaced_on_request() {
    let lab = lab();
    let printed = lab.ok("fill m t.csv --row-names -o full.csv --bad-cells --mask mask.npy");
    assert!(printed.contains("bad cells of 400 replaced"), "{printed}");
    let full = rows(&String::from_utf8(lab.read("full.csv")).unwrap());
    let (_, _, mask) = read_npy(&lab.read("mask.npy"));
    for (i, j) in [(21, 2), (51, 4)] {
        assert_eq!(mask[i * FEATURES + j], 1.0);
        assert!((full[i].1[j] - truth(i, j)).abs() < 2.0, "row {i}: {}", full[i].1[j]);
    }
    let changed = mask.iter().filter(|&&m| m == 1.0).count();
    let missing = (0..ROWS * FEATURES).filter(|at| is_missing(at / FEATURES, at % FEATURES)).count();
    assert!((missing + 2..missing + 20).contains(&changed), "{changed}");
    for (i, (_, cells)) in full.iter().enumerate() {
        for (j, x) in cells.iter().enumerate() {
            assert!(mask[i * FEATURES + j] == 1.0 || *x == cell(i, j));
        }
    }
    lab.ok("fit t.csv --row-names --missing drop --method ae -d 1 -o ae");
    lab.reject(
        2,
        "fill ae t.csv --row-names -o no.csv --bad-cells",
        &["--bad-cells requires a model of", "got one of ae"],
    );
}

#[test]
fn parquet_holds_the_same_table() {
    let lab = lab();
    lab.ok("fill m t.csv --row-names -o full.csv");
    lab.ok("fill m t.csv --row-names -o full.parquet");
    // Nothing is missing any more, so that the second run changes the format alone.
    let printed = lab.ok("fill m full.parquet --row-names -o again.csv");
    assert!(printed.contains("0 missing cells of 400 replaced"), "{printed}");
    assert!(lab.read("again.csv") == lab.read("full.csv"));
    // An array has the names of the model.
    lab.ok("fill m x.npy -o named.csv");
    assert!(lab.read("named.csv").starts_with(b"a,\"b, c\",d,e,f\n"));
    lab.ok("fill n x.npy -o unnamed.csv");
    let first = String::from_utf8(lab.read("unnamed.csv")).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(first.split(',').next().unwrap().parse::<f64>().unwrap(), cell(0, 0));
}

#[test]
fn arrays_keep_shape_and_type() {
    let lab = lab();
    lab.ok("fill n x.npy -o full.npy");
    let (descr, shape, full) = read_npy(&lab.read("full.npy"));
    assert_eq!((descr.as_str(), shape.as_slice()), ("<f8", &[ROWS, FEATURES][..]));
    assert!(full.iter().enumerate().all(|(at, x)| {
        let (i, j) = (at / FEATURES, at % FEATURES);
        if is_missing(i, j) { (x - truth(i, j)).abs() < 2.0 } else { *x == cell(i, j) }
    }));
    lab.ok("fill n s.npy -o images.npy --mask mask.npy");
    let (descr, shape, images) = read_npy(&lab.read("images.npy"));
    assert_eq!((descr.as_str(), shape.as_slice()), ("<f4", &[ROWS, 1, FEATURES][..]));
    assert!(images.iter().zip(&full).all(|(a, b)| (a - b).abs() < 1e-3));
    assert_eq!(read_npy(&lab.read("mask.npy")).1, [ROWS, 1, FEATURES]);
    for descr in ["|u1", "<u2"] {
        lab.write("u.npy", samples_npy(descr, 60, 4));
        lab.ok("fit u.npy -o u -d 1");
        let printed = lab.ok("fill u u.npy -o same.npy");
        assert!(printed.contains("60 x 4; 0 missing cells of 240 replaced"), "{printed}");
        let numbers = |name: &str| {
            let bytes = lab.read(name);
            bytes[bytes.len() - 240 * if descr == "|u1" { 1 } else { 2 }..].to_vec()
        };
        assert!(
            numbers("same.npy") == numbers("u.npy") && lab.read("same.npy").windows(3).any(|w| w == descr.as_bytes())
        );
        lab.ok("fill u u.npy -o clean.npy --bad-cells");
        assert_eq!(read_npy(&lab.read("clean.npy")).0, "<f4");
    }
}

#[test]
fn a_row_without_a_number_is_filled_with_the_center_and_named() {
    let lab = lab();
    lab.write("empty.csv", "maker,a,\"b, c\",d,e,f\nnone,,,,,\nsome,1,1.5,2,2.5,3\n");
    let output = lab.run("fill m empty.csv --row-names -o full.csv");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("row 0 has no number; its cells are the center of the model"),
        "{}",
        stderr(&output)
    );
    let model = steradian::Model::from_bytes(&lab.read("m")).unwrap();
    let text = String::from_utf8(lab.read("full.csv")).unwrap();
    let cells: Vec<f64> = text.lines().nth(1).unwrap().split(',').skip(1).map(|x| x.parse().unwrap()).collect();
    for (x, center) in cells.iter().zip(&model.subspace.center) {
        assert!((x - center).abs() < 1.0, "{cells:?} {:?}", model.subspace.center);
    }
}

#[test]
fn outputs_are_written_together_or_not_at_all() {
    let lab = lab();
    lab.reject(4, "fill n x.npy -o full.npy --mask nowhere/mask.npy", &["nowhere"]);
    lab.reject(2, "fill n x.npy -o full.txt", &["full.txt", ".csv, .npy or .parquet"]);
    lab.reject(2, "fill n x.npy -o full.npy --mask mask.csv", &["mask.csv", ".npy"]);
    lab.reject(2, "fill n s.npy -o s.npy", &["also the input"]);
    lab.write("narrow.npy", samples_npy("<f8", 20, 4));
    lab.reject(2, "fill n narrow.npy -o full.npy", &["5 features"]);
}
