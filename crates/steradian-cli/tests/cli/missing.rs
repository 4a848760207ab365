//! Missing cells, masks of missing cells and excluded rows on the command line.

use serde_json::Value;

use crate::lab::{Lab, npy, npy_f64, read_npy, uniform};

const ROWS: usize = 60;

/// A table of four features near a line; every seventh row has an empty cell.
fn table() -> Lab {
    let lab = Lab::new();
    let noise = uniform(3, ROWS * 4);
    let mut text = String::from("a,b,c,d\n");
    for i in 0..ROWS {
        let t = i as f64 - 30.0;
        let cell = |j: usize| match (i % 7 == 3 && j == i % 4, noise[4 * i + j]) {
            (true, _) => ["", "NA", "null", "NaN"][j].to_owned(),
            (_, noise) => (t * (1.0 + j as f64) + noise).to_string(),
        };
        text += &format!("{}\n", (0..4).map(cell).collect::<Vec<_>>().join(","));
    }
    lab.write("t.csv", text);
    lab
}

fn n_samples(found: &Value) -> u64 {
    found["n_samples"].as_u64().unwrap()
}

#[test]
fn the_method_decides_the_treatment_of_missing_cells() {
    let lab = table();
    let used = lab.json("fit t.csv --method angular -d 1 -o a --json");
    assert_eq!((n_samples(&used), &used["parameters"]["missing"]), (60, &Value::from("use")));
    let dropped = lab.json("fit t.csv --method angular --missing drop -d 1 -o b --json");
    assert_eq!((n_samples(&dropped), &dropped["parameters"]["missing"]), (51, &Value::from("error")));
    assert!(
        dropped["warnings"][0].as_str().unwrap().contains("9 rows with missing cells were dropped; the first is row 3")
    );
    lab.reject(3, "fit t.csv --method angular --missing error -o c", &["row 3", "--missing drop", "--missing use"]);
    lab.reject(3, "fit t.csv --method ae -o c", &["row 3", "--missing drop"]);
    lab.reject(2, "fit t.csv --method ae --missing use -o c", &["--missing use is not supported by method ae"]);
    lab.reject(2, "fit t.csv --method ga --missing use -o c", &["--missing use is not supported by method ga"]);
    assert_eq!(n_samples(&lab.json("fit t.csv --method ae --missing drop -o c --json")), 51);
    // The components of the used and of the complete rows agree.
    for model in ["a", "b"] {
        lab.ok(&format!("export {model} -o {model}.npy"));
    }
    let [a, b] = ["a.npy", "b.npy"].map(|name| read_npy(&lab.read(name)).2);
    let cosine: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
    assert!(cosine.abs() > 0.999, "{cosine}");
}

#[test]
fn arrays_have_the_same_rules_as_tables() {
    let lab = Lab::new();
    let mut data = uniform(5, 40 * 3);
    data[3 * 17 + 1] = f64::NAN;
    lab.write("x.npy", npy_f64(&[40, 3], &data));
    let without: Vec<f64> = data.chunks(3).filter(|row| !row[1].is_nan()).flatten().copied().collect();
    lab.write("y.npy", npy_f64(&[39, 3], &without));
    assert_eq!(n_samples(&lab.json("fit x.npy --method angular -d 1 -o a --json")), 40);
    lab.reject(3, "fit x.npy --method ae -o m", &["NaN at row 17, column 1", "--missing drop"]);
    lab.ok("fit x.npy --method ae --missing drop -o m");
    lab.ok("fit y.npy --method ae -o n");
    assert_eq!(lab.read("m"), lab.read("n"));
    for command in ["transform m", "reconstruct m"] {
        lab.reject(3, &format!("{command} x.npy -o s.npy"), &["row 17, column 1"]);
        lab.ok(&format!("{command} x.npy --missing drop -o s.npy"));
        lab.ok(&format!("{command} y.npy -o t.npy"));
        assert_eq!(lab.read("s.npy"), lab.read("t.npy"));
    }
    lab.reject(3, "outliers m x.npy", &["row 17, column 1"]);
    assert!(lab.ok("outliers m x.npy --missing drop").contains("39 samples"));
    data[5] = f64::INFINITY;
    lab.write("x.npy", npy_f64(&[40, 3], &data));
    lab.reject(3, "fit x.npy --method angular -o i", &["inf at row 1, column 2", "correct the cell"]);
}

#[test]
fn a_mask_marks_cells_of_bytes() {
    let lab = Lab::new();
    let (n, features) = (50, 6);
    let bytes: Vec<u8> = uniform(6, n * features).into_iter().map(|x| (250.0 * x) as u8).collect();
    lab.write("x.npy", npy("|u1", &[n, features], &bytes));
    let mut marks = vec![0u8; n * features];
    (0..marks.len()).filter(|i| i % 11 == 4).for_each(|i| marks[i] = 1);
    lab.write("mask.npy", npy("|b1", &[n, features], &marks));
    let holes = bytes.iter().zip(&marks).map(|(x, m)| if *m == 1 { f32::NAN } else { f32::from(*x) });
    let single: Vec<u8> = holes.flat_map(f32::to_le_bytes).collect();
    lab.write("holes.npy", npy("<f4", &[n, features], &single));
    lab.ok("fit x.npy --missing-mask mask.npy --method angular -o m");
    lab.ok("fit holes.npy --method angular -o h");
    assert_eq!(lab.read("m"), lab.read("h"));
    assert!(lab.ok("plan x.npy --missing-mask mask.npy --method angular").contains("float32"));
    let dropped = lab.json("fit x.npy --missing-mask mask.npy --missing drop --method ae -o d --json");
    let complete = marks.chunks(features).filter(|row| row.iter().all(|m| *m == 0)).count();
    assert_eq!(n_samples(&dropped), complete as u64);
    lab.reject(3, "fit x.npy --missing-mask mask.npy --method ae -o e", &["NaN at row 0, column 4"]);
    lab.write("wide.npy", npy("|b1", &[features, n], &marks));
    lab.reject(2, "fit x.npy --missing-mask wide.npy --method angular -o e", &["--missing-mask", "(6, 50)", "(50, 6)"]);
    lab.reject(2, "plan x.npy --missing-mask wide.npy --method angular", &["--missing-mask"]);
    lab.reject(2, "fit x.npy --missing-mask mask.npy --method angular -o mask.npy", &["mask.npy"]);
    lab.reject(4, "fit x.npy --missing-mask none.npy --method angular -o e", &["none.npy: no such file"]);
}

#[test]
fn excluded_rows_count_in_the_support_only() {
    let lab = Lab::new();
    let n = 45;
    let data = uniform(8, n * 4);
    lab.write("x.npy", npy_f64(&[n, 4], &data));
    let excluded = [2usize, 3, 30, 44];
    let rest: Vec<f64> =
        (0..n).filter(|i| !excluded.contains(i)).flat_map(|i| data[4 * i..4 * i + 4].to_vec()).collect();
    lab.write("rest.npy", npy_f64(&[n - 4, 4], &rest));
    let indices: Vec<u8> = excluded.iter().rev().flat_map(|i| (*i as i64).to_le_bytes()).collect();
    lab.write("rows.npy", npy("<i8", &[4], &indices));
    let bools: Vec<u8> = (0..n).map(|i| u8::from(excluded.contains(&i))).collect();
    lab.write("bools.npy", npy("|b1", &[n], &bools));
    for method in ["tae", "robust", "angular", "pca"] {
        let of_rest = lab.json(&format!("fit rest.npy --method {method} -o r --json"));
        let found = lab.json(&format!("fit x.npy --exclude rows.npy --method {method} -o m --json"));
        lab.ok(&format!("fit x.npy --exclude bools.npy --method {method} -o b"));
        assert_eq!(lab.read("m"), lab.read("b"));
        assert_eq!((n_samples(&found), &found["n_support"]), (45, &of_rest["n_support"]), "{method}");
        for key in ["explained_variance", "sine_bound", "passes", "tau_min"] {
            assert_eq!(found[key], of_rest[key], "{method} {key}");
        }
        let place = |pivot: &Value| pivot.as_u64().map(|p| (0..n).filter(|i| !excluded.contains(i)).nth(p as usize));
        assert_eq!(found["pivot"].as_u64().map(|p| Some(p as usize)), place(&of_rest["pivot"]), "{method}");
        lab.ok("export m -o m.npy");
        lab.ok("export r -o r.npy");
        assert_eq!(lab.read("m.npy"), lab.read("r.npy"), "{method}");
        // The model is read again, and is used on all rows.
        assert_eq!(n_samples(&lab.json("outliers m x.npy --json")), 45);
    }
    assert!(lab.ok("plan x.npy --exclude rows.npy").contains("41 samples x 4 features"));
    lab.write("bad.npy", npy("<i8", &[1], &45i64.to_le_bytes()));
    lab.reject(2, "fit x.npy --exclude bad.npy -o e", &["--exclude: bad.npy: index 45", "45 rows"]);
    lab.write("bad.npy", npy("|b1", &[n], &[1; 45]));
    lab.reject(2, "fit x.npy --exclude bad.npy -o e", &["all 45 rows are excluded"]);
    lab.reject(2, "fit x.npy --exclude rows.npy -o rows.npy", &["rows.npy"]);
}
