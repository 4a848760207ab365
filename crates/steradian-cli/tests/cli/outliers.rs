//! `outliers`: the table of flags, the printed samples and the outlier map.

use crate::lab::{Lab, stderr};

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

#[test]
fn bad_cells_are_marked_in_the_mask() {
    let lab = Lab::new();
    let bad = [(7usize, 2usize), (19, 0), (33, 4)];
    let mut text = String::from("a,b,c,d,e\n");
    for i in 0..60usize {
        let t = (i as f64 * 0.7).sin() * 10.0;
        let cell = |j: usize| {
            let wobble = 0.1 * ((i * (j + 3) * 5) % 11) as f64 - 0.5;
            if bad.contains(&(i, j)) { 90.0 } else { t * (1.0 + j as f64 / 2.0) + wobble }
        };
        text += &format!("{}\n", (0..5).map(|j| cell(j).to_string()).collect::<Vec<_>>().join(","));
    }
    lab.write("t.csv", text);
    lab.ok("fit t.csv --method cells -d 1 -o cells.safetensors");
    let printed = lab.ok("outliers cells.safetensors t.csv --cells mask.npy");
    assert!(printed.contains("wrote mask.npy"), "{printed}");
    let file = lab.read("mask.npy");
    let mask = &file[file.len() - 300..];
    for (i, j) in bad {
        assert_eq!(mask[i * 5 + j], 1, "row {i}, column {j}");
    }
    assert!(mask.iter().all(|&m| m <= 1) && mask.iter().filter(|&&m| m == 1).count() < 10, "{mask:?}");
    lab.ok("fit t.csv -d 1 -o robust.safetensors");
    lab.reject(
        2,
        "outliers robust.safetensors t.csv --cells m.npy",
        &["--cells requires a model fitted with --method cells, got robust"],
    );
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
