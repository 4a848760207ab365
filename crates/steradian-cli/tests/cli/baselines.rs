//! Baselines: every method fits, writes and is loaded again; unsupported options are rejected.

use crate::lab::{Lab, samples_npy};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("|u1", 40, 12));
    lab
}

#[test]
fn every_baseline_fits_and_transforms() {
    let lab = lab();
    for method in ["empca", "emae", "ga", "tga", "pcp"] {
        let report = lab.json(&format!("fit x.npy -o m --method {method} -d 2 --json"));
        assert_eq!(report["method"], method);
        assert_eq!(report["solver"], serde_json::Value::Null);
        assert_eq!(report["converged"], true, "{report}");
        assert_eq!(report["n_components"], 2);
        let model = lab.json("inspect m --json");
        assert!(model["iterations"][0].as_u64().unwrap() > 0, "{model}");
        lab.ok("transform m x.npy -o scores.npy");
        let plan = lab.json(&format!("plan x.npy --method {method} -d 2 --json"));
        assert!(plan["peak_memory_bytes"].as_u64().unwrap() > 0, "{plan}");
        assert!(lab.ok(&format!("fit x.npy -o m --method {method}")).contains("converged"));
    }
}

#[test]
fn low_rank_and_sparse_parts_are_arrays() {
    let lab = lab();
    lab.ok("fit x.npy -o m --method pcp --low-rank low.npy --sparse sparse.npy");
    let report = lab.json("fit low.npy -o again --method pca --json");
    assert_eq!([&report["n_samples"], &report["n_features"]], [40, 12]);
    assert_eq!(lab.read("low.npy").len(), lab.read("sparse.npy").len());
}

#[test]
fn unsupported_options_are_rejected() {
    let lab = lab();
    lab.reject(2, "fit x.npy -o m --method pcp --memory 10K", &["needs about", "with method pcp", "10.0 KiB"]);
    lab.reject(2, "plan x.npy --method pcp --memory 10K", &["with method pcp"]);
    lab.reject(
        2,
        "fit x.npy -o m --method ae --trim 0.1",
        &["--trim applies only to --method tga, not to --method ae"],
    );
    lab.reject(2, "fit x.npy -o m --method tga --trim 0.6", &["--trim 0.6 is not in [0, 0.5]"]);
    lab.reject(2, "fit x.npy -o m --method ae --low-rank low.npy", &["--low-rank applies only to --method pcp"]);
    lab.reject(2, "fit x.npy -o m --method empca --solver gram", &["--solver", "method empca has no solver option"]);
    lab.reject(2, "fit x.npy -o m --method tga -d auto", &["-d", "requires an integer number of components"]);
    lab.reject(2, "fit x.npy -o m --method emae --scaling mad", &["does not support scaling"]);
    lab.reject(
        2,
        "fit x.npy -o m --method ga --max-angle 30",
        &["--max-angle applies only to --method tae, not to --method ga"],
    );
}
