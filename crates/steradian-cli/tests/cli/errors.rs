//! Errors: exit codes, messages, and that no file is created.

use crate::lab::{Lab, npy, npy_f64, samples, samples_npy};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 40, 6));
    lab
}

#[test]
fn usage_errors() {
    let lab = lab();
    lab.reject(2, "fit x.npy -o m --colour red", &["--colour"]);
    lab.reject(2, "fit x.npy -o m --method robpca", &["angular"]);
    lab.reject(2, "fit x.npy -o m -d 0", &["error: -d 0; use at least 1\n"]);
    lab.reject(2, "fit x.npy -o m -d 7", &["error: -d 7 exceeds", "use at most 6\n"]);
    lab.reject(2, "plan x.npy -d 7", &["error: -d 7 exceeds", "use at most 6\n"]);
    for wrong in ["1.5", "two"] {
        lab.reject(
            2,
            &format!("fit x.npy -o m -d {wrong}"),
            &["expected an integer >= 1, a variance fraction in (0, 1), or `auto`"],
        );
    }
    lab.reject(
        2,
        "fit x.npy -o m --method ae --n-directions 20",
        &["--n-directions applies only to --method robust, cells and rows"],
    );
    lab.reject(2, "fit x.npy -o m --n-directions 0", &["--n-directions 0; use at least 1"]);
    for angle in ["0", "-5", "90.5", "nan"] {
        lab.reject(
            2,
            &format!("fit x.npy -o m --method tae --max-angle {angle}"),
            &["error: --max-angle", "at most 90"],
        );
    }
    for tolerance in ["0", "-1", "1.5"] {
        lab.reject(2, &format!("fit x.npy -o m --tol {tolerance}"), &["error: --tol: "]);
    }
    for memory in ["lots", "1.5G"] {
        lab.reject(2, &format!("fit x.npy -o m --memory {memory}"), &["500M"]);
    }
}

#[test]
fn cone_options_need_a_cone() {
    let lab = lab();
    for option in ["--max-angle 30", "--cosine abs", "--ties index", "--recenter", "--exact"] {
        for method in ["ae", "angular", "robust", "pca", "empca"] {
            let name = option.split(' ').next().unwrap();
            let message = format!("{name} applies only to --method tae, not to --method {method}");
            lab.reject(2, &format!("fit x.npy -o m --method {method} {option}"), &[&message]);
        }
    }
}

#[test]
fn over_the_memory_limit() {
    let lab = lab();
    lab.reject(2, "fit x.npy -o m --memory 1K", &["1.0 KiB", "allow more with --memory"]);
    lab.reject(2, "plan x.npy --memory 1K", &["1.0 KiB"]);
    lab.ok("fit x.npy -o m --memory 1G");
}

#[test]
fn feature_count_mismatch() {
    let lab = lab();
    lab.ok("fit x.npy -o m");
    lab.write("narrow.npy", samples_npy("<f8", 40, 5));
    lab.reject(2, "transform m narrow.npy -o s.npy", &["6 features", "5", "--columns"]);
    lab.reject(2, "reconstruct m narrow.npy -o s.npy", &["6", "5"]);
}

#[test]
fn cells_that_are_not_finite() {
    let lab = lab();
    lab.ok("fit x.npy -o m");
    for bad in [f64::NAN, f64::INFINITY] {
        let mut data = samples(40, 6);
        data[17 * 6 + 4] = bad;
        data[30 * 6 + 1] = bad;
        lab.write("bad.npy", npy_f64(&[40, 6], &data));
        for method in ["ae", "tae"] {
            lab.reject(3, &format!("fit bad.npy -o n --method {method}"), &["row 17", "column 4;"]);
        }
        // Missing cells are used by the other methods, infinite ones by none.
        for line in [
            "fit bad.npy -o n --method angular",
            "fit bad.npy -o n --method pca",
            "fit bad.npy -o n",
            "transform m bad.npy -o s.npy",
            "reconstruct m bad.npy -o s.npy",
        ] {
            if bad.is_nan() {
                lab.ok(line);
            } else {
                lab.reject(3, line, &["row 17", "column 4"]);
            }
        }
    }
}

#[test]
fn data_without_directions() {
    let lab = Lab::new();
    lab.write("equal.npy", npy_f64(&[9, 4], &[2.5; 36]));
    lab.write("one.npy", npy_f64(&[1, 4], &[1.0, 2.0, 3.0, 4.0]));
    lab.write("none.npy", npy_f64(&[0, 4], &[]));
    for method in ["ae", "tae", "angular", "pca"] {
        lab.reject(3, &format!("fit equal.npy -o m -d 1 --method {method}"), &[]);
        lab.reject(3, &format!("fit one.npy -o m -d 1 --method {method}"), &["single"]);
    }
    lab.reject(3, "fit none.npy -o m -d 1", &["(0, 4)"]);
}

#[test]
fn corrupt_files() {
    let lab = lab();
    let good = lab.read("x.npy");
    lab.write("dtype.npy", npy("<c16", &[2, 2], &[0; 64]));
    lab.write("object.npy", npy("|O", &[2, 2], &[0; 32]));
    lab.write("short.npy", &good[..good.len() - 100]);
    lab.write("header.npy", &good[..40]);
    lab.write("empty.npy", b"");
    lab.write("lying.npy", npy("<f8", &[usize::MAX / 2, 9], &[0; 64]));
    lab.write("flat.npy", npy_f64(&[12], &[1.0; 12]));
    lab.write("words.csv", "a,b\n1,2\n3,four\n");
    for file in
        ["dtype.npy", "object.npy", "short.npy", "header.npy", "empty.npy", "lying.npy", "flat.npy", "words.csv"]
    {
        lab.reject(3, &format!("fit {file} -o m -d 1"), &[]);
        lab.reject(3, &format!("plan {file} -d 1"), &[]);
    }
    lab.reject(3, "fit dtype.npy -o m", &["complex128"]);
}

#[test]
fn corrupt_models() {
    let lab = lab();
    lab.ok("fit x.npy -o m");
    let good = lab.read("m");
    lab.write("short", &good[..good.len() - 8]);
    lab.write("noise", b"this is no model");
    for file in ["short", "noise", "x.npy"] {
        lab.reject(3, &format!("inspect {file}"), &[file]);
        lab.reject(3, &format!("transform {file} x.npy -o s.npy"), &[file]);
        lab.reject(3, &format!("export {file} -o q.csv"), &[file]);
    }
}

/// A model file in which one piece of the header was replaced, with the length of the header.
fn with_header(model: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&model[8..8 + length]).unwrap();
    assert!(header.contains(from), "{from} in {header}");
    let header = header.replacen(from, to, 1);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &model[8 + length..]].concat()
}

#[test]
fn tampered_models() {
    let lab = lab();
    lab.ok("fit x.npy -o m -d 2 --method tae");
    let good = lab.read("m");
    for (from, to, words) in [
        (r#"\"image_size\":null"#, r#"\"image_size\":[2,2]"#, "2 x 2"),
        (r#"\"tol\":"#, r#"\"tol\":-"#, "tol"),
        (r#"\"n_components\":2"#, r#"\"n_components\":0"#, "components"),
        (r#"\"pivot\":"#, r#"\"pivot\":9"#, "pivot"),
    ] {
        lab.write("bad", with_header(&good, from, to));
        lab.reject(3, "inspect bad", &["bad", words]);
        lab.reject(3, "transform bad x.npy -o s.npy", &["bad", words]);
        lab.reject(3, "outliers bad x.npy -o o.csv", &["bad", words]);
    }
}

#[test]
fn a_tiny_cutoff_does_not_fill_the_memory_of_a_plot() {
    let lab = Lab::new();
    let line: Vec<f64> = (0..40).flat_map(|i| [f64::from(i) - 19.5, 0.0]).collect();
    lab.write("line.npy", npy_f64(&[40, 2], &line));
    lab.ok("fit line.npy -o m -d 1 --method pca");
    let mut model = lab.read("m");
    let length = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&model[8..8 + length]).unwrap();
    let at = 8 + length + header["cutoffs"]["data_offsets"][0].as_u64().unwrap() as usize;
    model[at..at + 16].copy_from_slice(&[f64::from_bits(1).to_le_bytes(); 2].concat());
    lab.write("tiny", &model);
    // All samples are at the center, so that the cutoff alone determines the axes.
    lab.write("zero.npy", npy_f64(&[3, 2], &[0.0; 6]));
    for plot in ["a.svg", "a.png"] {
        lab.ok(&format!("outliers tiny zero.npy -o o.csv --plot {plot}"));
        assert!(lab.read(plot).len() < 1 << 20);
    }
}

#[test]
fn io_errors() {
    let lab = lab();
    lab.ok("fit x.npy -o m");
    lab.reject(4, "fit missing.npy -o n", &["error: missing.npy: no such file or directory\n"]);
    lab.reject(4, "plan missing.npy", &["missing.npy"]);
    lab.reject(4, "inspect missing", &["missing"]);
    lab.reject(4, "fit x.npy -o no/folder/m", &["no/folder/m"]);
    lab.reject(4, "transform m x.npy -o no/folder/s.npy", &["no/folder"]);
    lab.reject(4, "reconstruct m x.npy -o no/folder/s.npy", &["no/folder"]);
    lab.reject(4, "export m -o no/folder/q.csv", &["no/folder"]);
    lab.reject(4, "fit x.npy -o .", &["folder"]);
    lab.reject(4, "demo -o x.npy", &["x.npy"]);
    lab.reject(4, "manpages -o x.npy", &["x.npy"]);
}

#[test]
fn an_unwritable_output_is_reported_before_the_fit() {
    let lab = lab();
    // The data are missing as well, but the output is checked first.
    lab.reject(4, "fit missing.npy -o no/folder/m", &["no/folder/m"]);
}

#[test]
fn a_failed_fit_leaves_the_old_model() {
    let lab = lab();
    lab.ok("fit x.npy -o m");
    let before = lab.read("m");
    lab.reject(2, "fit x.npy -o m -d 7", &[]);
    lab.write("equal.npy", npy_f64(&[9, 4], &[2.5; 36]));
    lab.reject(3, "fit equal.npy -o m", &[]);
    assert_eq!(lab.read("m"), before);
}
