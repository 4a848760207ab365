//! `outliers`: the table of flags, the printed samples and the outlier map.

use crate::lab::{Lab, read_npy, stderr};

/// Forty named rows near a line in three dimensions, and two outliers.
fn places() -> Lab {
    let lab = Lab::new();
    let mut text = String::from("name,x,y,z\n");
    for i in 0..40 {
        let t = f64::from(i) - 20.0;
        let wobble = |k: i32| 0.1 * f64::from((i * k) % 7 - 3);
        text += &format!("place{i},{},{},{}\n", t + wobble(3), 2.0 * t + wobble(5), wobble(2));
    }
    text += "Ås & co,1,2,300\n<edge>,-3,-6,-250\n";
    lab.write("places.csv", text);
    lab.ok("fit places.csv --row-names -d 1 -o places.safetensors");
    lab
}

#[test]
fn the_map_labels_the_most_extreme_samples() {
    let lab = places();
    let line = "outliers places.safetensors places.csv --row-names -o flags.csv --plot map.svg";
    let printed = lab.ok(line);
    assert!(printed.contains("40 (Ås & co)") && printed.contains("wrote map.svg"), "{printed}");
    let flags = String::from_utf8(lab.read("flags.csv")).unwrap();
    let off: Vec<&str> =
        flags.lines().filter(|line| line.ends_with("orthogonal") || line.ends_with("bad_leverage")).collect();
    assert!(off.iter().any(|line| line.starts_with("40,")) && off.iter().any(|line| line.starts_with("41,")));
    let map = String::from_utf8(lab.read("map.svg")).unwrap();
    for part in ["<svg", "Ås &amp; co", "&lt;edge&gt;", "places.csv: robust, d = 1", "orthogonal distance"] {
        assert!(map.contains(part), "{part}");
    }
    // Equal inputs give byte-identical plots.
    lab.ok(&line.replace("map.svg", "again.svg"));
    assert_eq!(lab.read("again.svg"), map.into_bytes());
    lab.ok(&line.replace("map.svg", "map.png"));
    assert!(lab.read("map.png").starts_with(b"\x89PNG"));
}

/// Rows and columns of three bad cells.
const BAD: [(usize, usize); 3] = [(7, 2), (19, 0), (33, 4)];
/// Row and column of a missing cell.
const MISSING: (usize, usize) = (11, 3);

/// Sixty named rows near a line in five dimensions, with three bad cells and a missing one; and models of two methods.
fn lines() -> Lab {
    let lab = Lab::new();
    let mut text = String::from("name,a,b,\"c, d\",e,f\n");
    for i in 0..60usize {
        let t = (i as f64 * 0.7).sin() * 10.0;
        let cell = |j: usize| {
            let wobble = 0.1 * ((i * (j + 3) * 5) % 11) as f64 - 0.5;
            match (i, j) {
                MISSING => String::new(),
                place if BAD.contains(&place) => "90".to_string(),
                _ => (t * (1.0 + j as f64 / 2.0) + wobble).to_string(),
            }
        };
        text += &format!("row{i},{}\n", (0..5).map(cell).collect::<Vec<_>>().join(","));
    }
    lab.write("t.csv", text);
    lab.ok("fit t.csv --row-names --method cells -d 1 -o cells.safetensors");
    lab.ok("fit t.csv --row-names --missing drop --method ae -d 1 -o ae.safetensors");
    lab
}

#[test]
fn bad_and_missing_cells_are_listed_with_their_expected_values() {
    let lab = lines();
    let printed = lab.ok("outliers cells.safetensors t.csv --row-names --cells cells.csv");
    assert!(printed.contains("300 cells: ") && printed.contains("1 missing"), "{printed}");
    assert!(printed.contains("wrote cells.csv") && printed.contains("cutoffs of new samples"), "{printed}");
    let text = String::from_utf8(lab.read("cells.csv")).unwrap();
    let mut rows = text.lines();
    assert_eq!(rows.next(), Some("sample,feature,value,expected,residual_sd,flag"));
    let rows: Vec<&str> = rows.collect();
    assert!((4..12).contains(&rows.len()), "{text}");
    let names = ["a", "b", "\"c, d\"", "e", "f"];
    let numbers =
        |row: &str, start: &str| -> Vec<f64> { row[start.len()..].split(',').filter_map(|x| x.parse().ok()).collect() };
    for (i, j) in BAD {
        let start = format!("{i},{},90.0,", names[j]);
        let row = rows.iter().find(|row| row.starts_with(&start)).unwrap_or_else(|| panic!("{start}\n{text}"));
        let found = numbers(row, &start);
        let truth = (i as f64 * 0.7).sin() * 10.0 * (1.0 + j as f64 / 2.0);
        assert!((found[0] - truth).abs() < 2.0 && found[1] > 10.0 && row.ends_with(",bad"), "{row}, truth {truth}");
    }
    let (i, j) = MISSING;
    let start = format!("{i},{},,", names[j]);
    let row = rows.iter().find(|row| row.starts_with(&start)).unwrap_or_else(|| panic!("{start}\n{text}"));
    let truth = (i as f64 * 0.7).sin() * 10.0 * (1.0 + j as f64 / 2.0);
    assert!((numbers(row, &start)[0] - truth).abs() < 2.0 && row.ends_with(",,missing"), "{row}, truth {truth}");
    // In data order.
    let samples: Vec<usize> = rows.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(samples.is_sorted());
}

#[test]
fn bad_cells_are_marked_in_the_mask() {
    let lab = lines();
    let printed = lab.ok("outliers cells.safetensors t.csv --row-names --cells mask.npy");
    assert!(printed.contains("wrote mask.npy"), "{printed}");
    let (descr, shape, mask) = read_npy(&lab.read("mask.npy"));
    assert_eq!((descr.as_str(), shape.as_slice()), ("|b1", &[60, 5][..]));
    for (i, j) in BAD {
        assert_eq!(mask[i * 5 + j], 1.0, "row {i}, column {j}");
    }
    assert_eq!(mask[MISSING.0 * 5 + MISSING.1], 0.0);
    assert!(mask.iter().filter(|&&m| m == 1.0).count() < 12, "{mask:?}");
    for option in ["--cells m.npy", "--cells m.csv", "--cell-map m.png"] {
        let needle = format!(
            "{} requires a model of --method robust, cells or rows, got one of ae",
            &option[..option.len() - 6]
        );
        lab.reject(2, &format!("outliers ae.safetensors t.csv --row-names --missing drop {option}"), &[&needle]);
    }
    lab.reject(2, "outliers cells.safetensors t.csv --row-names --cells m.txt", &["m.txt", ".csv or .npy"]);
}

#[test]
fn cutoffs_are_those_of_new_samples_or_of_the_fit() {
    let lab = lines();
    let new = lab.json("outliers cells.safetensors t.csv --row-names --json");
    let own = lab.json("outliers cells.safetensors t.csv --row-names --training --json");
    assert_eq!((&new["cutoff_kind"], &own["cutoff_kind"]), (&"new".into(), &"training".into()));
    let model = lab.json("inspect cells.safetensors --json");
    assert_eq!((&new["cutoffs"], &own["cutoffs"]), (&model["cutoffs_new"], &model["cutoffs"]));
    assert_ne!(new["cutoffs"], own["cutoffs"]);
    assert_eq!((&new["n_missing_cells"], &own["n_missing_cells"]), (&1.into(), &1.into()));
    assert!((3..12).contains(&new["n_bad_cells"].as_u64().unwrap()), "{new}");
    let ae = lab.json("outliers ae.safetensors t.csv --row-names --missing drop --json");
    assert!(ae["n_bad_cells"].is_null() && ae["n_missing_cells"].is_null());
    let text = String::from_utf8(lab.read("t.csv")).unwrap();
    lab.write("fewer.csv", text.lines().take(51).collect::<Vec<_>>().join("\n"));
    lab.ok("outliers cells.safetensors fewer.csv --row-names");
    lab.reject(
        2,
        "outliers cells.safetensors fewer.csv --row-names --training",
        &["--training", "60 samples", "the data have 50"],
    );
}

#[test]
fn the_cell_map_shows_the_worst_rows_with_their_names() {
    let lab = lines();
    let line = "outliers cells.safetensors t.csv --row-names --cell-map";
    lab.ok(&format!("{line} worst.svg --cell-map-rows 5"));
    let map = String::from_utf8(lab.read("worst.svg")).unwrap();
    for part in
        ["t.csv: cells, d = 1", "the 5 worst of 60 rows", ">row7<", ">row19<", ">row33<", ">c, d<", "missing cells"]
    {
        assert!(map.contains(part), "{part}");
    }
    assert_eq!((0..60).filter(|i| map.contains(&format!(">row{i}<"))).count(), 5);
    lab.ok(&format!("{line} all.svg --cell-map-rows data"));
    let map = String::from_utf8(lab.read("all.svg")).unwrap();
    assert!(map.contains("60 rows in data order") && map.contains(">row0<") && map.contains(">row59<"));
    let place = |name: &str| map.find(&format!(">{name}<")).unwrap();
    assert!(place("row0") < place("row1") && place("row1") < place("row59"));
    // The default shows all rows, since there is space for their names.
    lab.ok(&format!("{line} default.svg"));
    assert!(String::from_utf8(lab.read("default.svg")).unwrap().contains("60 rows, worst first"));
    lab.ok(&format!("{line} default.png --threads 1"));
    lab.ok(&format!("{line} again.png --threads 3"));
    assert!(lab.read("default.png").starts_with(b"\x89PNG") && lab.read("again.png") == lab.read("default.png"));
    lab.reject(2, &format!("{line} map.pdf"), &["map.pdf", ".png or .svg"]);
    lab.reject(2, &format!("{line} map.png --cell-map-rows 0"), &["worst, data"]);
    lab.reject(2, "outliers cells.safetensors t.csv --row-names --cell-map-rows 3", &["--cell-map"]);
}

#[test]
fn unsupported_plot_formats_are_rejected_first() {
    let lab = places();
    let line = "outliers places.safetensors places.csv --row-names --plot";
    lab.reject(2, &format!("{line} map.pdf"), &["map.pdf", ".png or .svg"]);
    lab.reject(4, &format!("{line} nowhere/map.png"), &["nowhere"]);
}

#[test]
fn a_first_column_without_a_name_warns() {
    let lab = Lab::new();
    lab.write("r.csv", ",x,y\n1,1.0,2.1\n2,2.0,3.9\n3,3.0,6.2\n4,4.5,8.8\n5,5.0,10.1\n");
    let output = lab.run("fit r.csv --method pca -d 1 -o r.safetensors");
    assert!(output.status.success() && stderr(&output).contains("pass --row-names"), "{}", stderr(&output));
    let output = lab.run("fit r.csv --row-names --method pca -d 1 -o r.safetensors");
    assert!(!stderr(&output).contains("--row-names"), "{}", stderr(&output));
}

#[test]
fn all_numeric_columns() {
    let lab = Lab::new();
    let mut text = String::from("maker,price,fuel,weight,built\n");
    for i in 0..30 {
        let price = if i == 4 { "NA".to_string() } else { format!("{}", 10 + i * i % 17) };
        text += &format!("m{i},{price},petrol,{},2020-01-{:02}\n", 900 + 13 * (i * 7 % 11), i + 1);
    }
    lab.write("cars.csv", text);
    lab.reject(3, "fit cars.csv -d 1 -o m.safetensors", &["column \"maker\"", "--columns numeric", "price, weight"]);
    let line = "fit cars.csv --columns numeric --missing drop --method pca -d 1 -o m.safetensors --json";
    let report = lab.json(line);
    assert_eq!((&report["n_samples"], &report["n_features"]), (&29.into(), &2.into()));
}
