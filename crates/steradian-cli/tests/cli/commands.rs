//! End-to-end tests of each command.

use serde_json::Value;

use crate::lab::{Lab, keys, names, npy, npy_f64, read_npy, samples, samples_npy, stderr};

const FIT_KEYS: [&str; 18] = [
    "angular_eigenvalues",
    "converged",
    "explained_variance",
    "method",
    "n_components",
    "n_features",
    "n_samples",
    "n_support",
    "parameters",
    "passes",
    "peak_memory_bytes",
    "pivot",
    "residual",
    "seconds",
    "sine_bound",
    "solver",
    "tau_min",
    "warnings",
];

fn fitted() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    lab.ok("fit x.npy -o m.safetensors -d 3");
    lab
}

#[test]
fn plan_estimates_the_cost_of_a_fit() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let plan = lab.json("plan x.npy --method tae --json");
    assert_eq!(keys(&plan), ["block_rows", "bytes_read", "passes", "peak_memory_bytes", "solver"]);
    assert!(plan["passes"].as_u64().unwrap() >= 2);
    assert!(plan["bytes_read"].as_u64().unwrap() >= 2 * 90 * 6 * 8);
    assert_ne!(plan["solver"], "auto");
    let text = lab.ok("plan x.npy --method tae");
    assert!(text.contains("peak memory") && text.contains("90 samples x 6 features"), "{text}");
    assert_eq!(lab.listing(), ["x.npy"]);
}

#[test]
fn fit_reports_in_json() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let out = lab.json("fit x.npy -o m.safetensors -d 3 --json");
    assert_eq!(keys(&out), FIT_KEYS);
    assert_eq!(out["method"], "robust");
    assert_eq!((&out["n_samples"], &out["n_features"], &out["n_components"]), (&90.into(), &6.into(), &3.into()));
    assert!((60..=90).contains(&out["n_support"].as_u64().unwrap()));
    assert_eq!((&out["pivot"], &out["tau_min"]), (&Value::Null, &Value::Null));
    assert_eq!((&out["angular_eigenvalues"], out["explained_variance"].as_array().unwrap().len()), (&Value::Null, 3));
    assert_eq!(out["converged"], true);
    assert!(out["sine_bound"].as_f64().unwrap() <= 1e-4);
    assert!(out["seconds"].as_f64().unwrap() > 0.0 && out["peak_memory_bytes"].as_u64().unwrap() > 1000);
    assert!(out["parameters"].is_object() && out["warnings"].is_array());
    assert_eq!(lab.listing(), ["m.safetensors", "x.npy"]);
}

#[test]
fn methods_differ_where_they_should() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let pca = lab.json("fit x.npy -o m --method pca --json");
    assert_eq!((&pca["angular_eigenvalues"], &pca["n_support"]), (&Value::Null, &90.into()));
    let tae =
        lab.json("fit x.npy -o m --method tae --max-angle 50 --cosine signed --ties density --recenter --exact --json");
    let (support, tau) = (tae["n_support"].as_i64().unwrap(), tae["tau_min"].as_i64().unwrap());
    assert_eq!(support, 90 - tau);
    assert!(tae["pivot"].as_i64().unwrap() < 90);
    let auto = lab.json("fit x.npy -o m --method tae --max-angle auto --json");
    assert!(auto["n_support"].as_i64().unwrap() >= 45);
    let center = lab.json("fit x.npy -o m --method ae --center median --json");
    assert_eq!(center["method"], "ae");
    assert_ne!(center["parameters"], lab.json("fit x.npy -o m --method ae --json")["parameters"]);
}

#[test]
fn a_cone_that_trims_most_warns() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let output = lab.run("fit x.npy -o m --method tae --max-angle 5 --cosine signed --json");
    assert!(output.status.success());
    assert!(stderr(&output).starts_with("warning: "), "{}", stderr(&output));
    let out: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!out["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn fit_prints_a_summary() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("|u1", 90, 6));
    let text = lab.ok("fit x.npy -o m.safetensors --method tae");
    for part in [
        "tae",
        "90 samples x 6 features, uint8",
        "support",
        "converged",
        "passes",
        "wall time",
        "peak heap",
        "angular eigenvalue",
        "m.safetensors",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colors or progress bars without a terminal");
}

#[test]
fn a_center_from_a_file_is_used() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let center: Vec<f64> = (0..6).map(|j| 100.0 + f64::from(j)).collect();
    lab.write("c.npy", npy_f64(&[6], &center));
    lab.ok("fit x.npy -o m --method ae --center c.npy");
    assert_eq!(steradian::Model::from_bytes(&lab.read("m")).unwrap().subspace.center, center);
    lab.write("c.npy", npy_f64(&[5], &center[..5]));
    lab.reject(2, "fit x.npy -o n --method ae --center c.npy", &["5", "6"]);
    lab.reject(4, "fit x.npy -o n --method ae --center none.npy", &["none.npy"]);
    lab.reject(2, "fit x.npy -o n --center middle", &["spatial-median"]);
}

#[test]
fn transform_and_reconstruct_keep_type_and_shape() {
    for (descr, out) in [("|u1", "<f4"), ("<u2", "<f4"), ("<f4", "<f4"), ("<f8", "<f8")] {
        let lab = Lab::new();
        lab.write("x.npy", samples_npy(descr, 40, 6));
        lab.ok("fit x.npy -o m -d 6");
        lab.ok("transform m x.npy -o s.npy");
        lab.ok("reconstruct m x.npy -o r.npy");
        let (kind, shape, _) = read_npy(&lab.read("s.npy"));
        assert_eq!((kind.as_str(), shape.as_slice()), (out, &[40, 6][..]));
        let (kind, shape, found) = read_npy(&lab.read("r.npy"));
        assert_eq!((kind.as_str(), shape.as_slice()), (out, &[40, 6][..]));
        // d = D, so the reconstructions equal the samples.
        if descr == "<f8" {
            let worst = found.iter().zip(samples(40, 6)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-9, "{worst}");
        }
    }
}

#[test]
fn reconstructions_of_images_are_images() {
    let lab = Lab::new();
    let frames: Vec<u8> = samples(30, 12).iter().map(|&x| x as u8).collect();
    lab.write("clip.npy", npy("|u1", &[30, 3, 4], &frames));
    let out = lab.json("fit clip.npy -o m --json");
    assert_eq!((&out["n_samples"], &out["n_features"]), (&30.into(), &12.into()));
    lab.ok("reconstruct m clip.npy -o r.npy");
    lab.ok("transform m clip.npy -o s.npy --threads 1");
    assert_eq!(read_npy(&lab.read("r.npy")).1, [30, 3, 4]);
    assert_eq!(read_npy(&lab.read("s.npy")).1, [30, 2]);
}

#[test]
fn inspect_has_the_keys_of_fit() {
    let lab = fitted();
    let out = lab.json("inspect m.safetensors --json");
    for key in ["format", "seed", "shape", "certificate", "cutoffs"] {
        assert!(out.get(key).is_some(), "{key}");
    }
    let fitted = lab.json("fit x.npy -o again -d 3 --json");
    for key in FIT_KEYS.iter().filter(|key| !["peak_memory_bytes", "seconds", "warnings"].contains(key)) {
        assert_eq!(out[key], fitted[key], "{key}");
    }
    assert!(out["cutoffs_new"].as_array().unwrap().iter().all(|cutoff| cutoff.as_f64().unwrap() > 0.0));
    assert!(out["cutoffs"].as_array().unwrap().iter().all(|cutoff| cutoff.as_f64().unwrap() > 0.0));
    assert_eq!((&out["angular_eigenvalues"], out["explained_variance"].as_array().unwrap().len()), (&Value::Null, 3));
    let text = lab.ok("inspect m.safetensors");
    assert!(text.contains("robust") && text.contains("component"), "{text}");
}

#[test]
fn loadings_have_the_names_of_the_features() {
    let lab = Lab::new();
    let rows: String = samples(60, 3).chunks(3).map(|row| format!("{},{},{}\n", row[0], row[1], row[2])).collect();
    lab.write("cars.csv", format!("price,\"power, hp\",weight\n{rows}"));
    lab.ok("fit cars.csv -o m -d 2 --method pca");
    lab.ok("export m -o q.csv");
    let text = String::from_utf8(lab.read("q.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("price,\"power, hp\",weight"));
    assert_eq!(text.lines().count(), 3);
    let model = steradian::Model::from_bytes(&lab.read("m")).unwrap();
    let text = lab.ok("inspect m");
    let row = |name: &str| -> Vec<f64> {
        let line = text.lines().rfind(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line.trim_start()[name.len()..].split_whitespace().map(|x| x.parse().unwrap()).collect()
    };
    for (feature, name) in ["price", "power, hp", "weight"].into_iter().enumerate() {
        let expected = [0, 1].map(|k| model.subspace.components.row(k)[feature]);
        let found = row(name);
        assert!(found.len() == 2 && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 6e-5), "{name}: {found:?}");
    }
    // The importance of components: standard deviation, variance, its fraction and the running sum.
    let (variances, total) = (&model.diagnostics.explained_variance, model.diagnostics.total_variance.unwrap());
    let second = row("1 ");
    let expected = [variances[1].sqrt(), variances[1], variances[1] / total, (variances[0] + variances[1]) / total];
    assert_eq!(second.len(), 4, "{text}");
    assert!(second.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-3), "{second:?} {expected:?}");
    assert!(text.contains("60 of 60") && text.contains("cutoffs of new samples"), "{text}");
    // Of many features, those with the largest loadings.
    lab.write("wide.npy", samples_npy("<f8", 60, 50));
    lab.ok("fit wide.npy -o wide -d 2 --method pca");
    let text = lab.ok("inspect wide");
    assert!(text.contains("40 of 50 features and 2 of 2 components; `steradian export` writes all"), "{text}");
}

#[test]
fn components_are_ordered_by_variance_on_request() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let out = lab.json("fit x.npy -o m -d 3 --method angular --order variance --json");
    assert_eq!(out["parameters"]["order"], "variance");
    let variances: Vec<f64> =
        out["explained_variance"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert!(variances.is_sorted_by(|a, b| a >= b), "{variances:?}");
    let default = lab.json("fit x.npy -o n -d 3 --method angular --json");
    assert!(default["parameters"].get("order").is_none());
    lab.reject(
        2,
        "fit x.npy -o n --method pca --order variance",
        &["--order variance applies to", "angular, ae or tae"],
    );
}

#[test]
fn export_writes_components() {
    let lab = fitted();
    lab.ok("export m.safetensors -o q.npy");
    lab.ok("export m.safetensors -o q.csv");
    let (kind, shape, q) = read_npy(&lab.read("q.npy"));
    assert_eq!((kind.as_str(), shape.as_slice()), ("<f8", &[3, 6][..]));
    let model = steradian::Model::from_bytes(&lab.read("m.safetensors")).unwrap();
    assert_eq!(q, model.subspace.components.data());
    let text = String::from_utf8(lab.read("q.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("f0,f1,f2,f3,f4,f5"));
    let numbers: Vec<f64> = lines.flat_map(|line| line.split(',').map(|x| x.parse().unwrap())).collect();
    assert_eq!(numbers, q, "the text round-trips exactly");
    lab.reject(2, "export m.safetensors -o q.txt", &[".csv", ".npy"]);
}

#[test]
fn a_header_of_numbers_is_read_on_request() {
    let lab = Lab::new();
    let rows: String = samples(40, 3).chunks(3).map(|row| format!("{},{},{}\n", row[0], row[1], row[2])).collect();
    lab.write("named.csv", format!("1100,1102,1104\n{rows}"));
    lab.write("unnamed.csv", &rows);
    lab.ok("fit unnamed.csv -o expected -d 1");
    let samples = |line: &str| lab.json(line)["n_samples"].clone();
    assert_eq!(samples("fit named.csv -o auto -d 1 --json"), 41);
    assert_eq!(samples("fit named.csv -o no -d 1 --header no --json"), 41);
    assert_eq!(samples("fit named.csv -o yes -d 1 --header yes --json"), 40);
    let components = |name: &str| steradian::Model::from_bytes(&lab.read(name)).unwrap().subspace.components;
    assert_eq!(components("yes").data(), components("expected").data());
    // A first row of equal steps, unlike most others, is named.
    let output = lab.run("fit named.csv -o auto -d 1");
    let note = "the first row is read as a sample, but its cells go steadily from 1100 to 1104";
    assert!(stderr(&output).contains(note) && stderr(&output).contains("--header yes"), "{}", stderr(&output));
    for line in
        ["fit named.csv -o no -d 1 --header no", "fit named.csv -o y -d 1 --header yes", "fit unnamed.csv -o u -d 1"]
    {
        assert!(!stderr(&lab.run(line)).contains("steadily"), "{line}");
    }
    lab.ok("outliers yes named.csv --header yes --columns 1100,1102,1104");
    lab.write("x.npy", samples_npy("<f8", 40, 3));
    lab.reject(2, "fit x.npy -o m --header yes", &["--header", "only to tables"]);
}

#[test]
fn tables_are_read() {
    let lab = Lab::new();
    let data = samples(40, 3);
    let mut text = "name,a,b,c\n".to_string();
    for (i, row) in data.chunks(3).enumerate() {
        text += &format!("row{i},{},{},{}\n", row[0], row[1], row[2]);
    }
    lab.write("x.csv", &text);
    lab.write("x.npy", npy_f64(&[40, 3], &data));
    lab.ok("fit x.csv --row-names -o a");
    lab.ok("fit x.npy -o b");
    lab.write("plain.csv", text.split_once('\n').expect("a header").1);
    lab.ok("fit plain.csv --row-names -o p");
    assert_eq!(lab.read("p"), lab.read("b"), "equal samples give equal models");
    lab.ok("export a -o a.npy");
    lab.ok("export b -o b.npy");
    assert_eq!(lab.read("a.npy"), lab.read("b.npy"), "names change no number");
    lab.write("other.csv", text.replacen("a,b,c", "a,c,b", 1));
    lab.reject(2, "transform a other.csv --row-names -o s.npy", &["feature 1", "\"c\"", "\"b\"", "in their order"]);
    lab.reject(2, "outliers a other.csv --row-names -o o.csv", &["feature 1", "\"c\"", "\"b\""]);
    assert_eq!(lab.json("fit x.csv --columns c,a -o c --json")["n_features"], 2);
    lab.ok("transform a x.csv --row-names -o s.npy");
    assert_eq!(read_npy(&lab.read("s.npy")).1, [40, 2]);
    lab.write("gap.csv", format!("{text}last,1,,3\n"));
    lab.reject(3, "fit gap.csv --row-names --missing error -o d", &["row 40", "--missing drop", "--missing use"]);
    assert_eq!(lab.json("fit gap.csv --row-names --missing drop -o d --json")["n_samples"], 40);
}

#[test]
fn completions_and_manual_pages_exist() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(lab.ok(&format!("completions {shell}")).contains("reconstruct"), "{shell}");
    }
    lab.ok("manpages -o man/man1");
    let pages = names(&lab.path("man/man1"));
    assert!(pages.contains(&"steradian.1".into()) && pages.contains(&"steradian-fit.1".into()), "{pages:?}");
    assert!(String::from_utf8(lab.read("man/man1/steradian-fit.1")).unwrap().contains("safetensors"));
}

#[test]
fn help_shows_defaults_and_examples() {
    let lab = Lab::new();
    assert!(lab.ok("--version").starts_with("steradian "));
    for command in [
        "demo",
        "plan",
        "fit",
        "transform",
        "reconstruct",
        "fill",
        "outliers",
        "background",
        "shadows",
        "inspect",
        "export",
        "completions",
        "manpages",
    ] {
        let text = lab.ok(&format!("{command} --help"));
        assert!(text.contains("Example:") || text.contains("Examples:"), "{command}");
    }
    let text = lab.ok("fit --help");
    let defaults = [
        "[default: robust]",
        "[default: 2]",
        "[default: auto]",
        "[default: use for robust, cells,",
        "[default: angular]",
        "[default: 60]",
    ];
    for default in defaults {
        assert!(text.contains(default), "{default}\n{text}");
    }
}
