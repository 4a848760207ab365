//! Baselines through the program: every method fits, writes and is read again; what does not go together is refused.

use crate::lab::{Lab, samples_npy};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("|u1", 40, 12));
    lab
}

#[test]
fn every_baseline_fits_and_is_used() {
    let lab = lab();
    for method in ["empca", "emae", "ga", "tga", "pcp"] {
        let told = lab.json(&format!("fit x.npy -o m --method {method} -d 2 --json"));
        assert_eq!(told["method"], method);
        assert_eq!(told["solver"], serde_json::Value::Null);
        assert_eq!(told["converged"], true, "{told}");
        assert_eq!(told["n_components"], 2);
        let shown = lab.json("inspect m --json");
        assert!(shown["iterations"][0].as_u64().unwrap() > 0, "{shown}");
        lab.ok("transform m x.npy -o scores.npy");
        let plan = lab.json(&format!("plan x.npy --method {method} -d 2 --json"));
        assert!(plan["peak_memory_bytes"].as_u64().unwrap() > 0, "{plan}");
        assert!(lab.ok(&format!("fit x.npy -o m --method {method}")).contains("converged"));
    }
}

#[test]
fn the_parts_of_the_pursuit_are_arrays() {
    let lab = lab();
    lab.ok("fit x.npy -o m --method pcp --low-rank low.npy --sparse sparse.npy");
    let told = lab.json("fit low.npy -o again --method pca --json");
    assert_eq!([&told["n_samples"], &told["n_features"]], [40, 12]);
    assert_eq!(lab.read("low.npy").len(), lab.read("sparse.npy").len());
}

#[test]
fn what_does_not_go_together_is_refused() {
    let lab = lab();
    lab.refuse(2, "fit x.npy -o m --method pcp --memory 10K", &["pcp needs about", "10.0 KiB"]);
    lab.refuse(2, "plan x.npy --method pcp --memory 10K", &["pcp needs about"]);
    lab.refuse(2, "fit x.npy -o m --method ae --trim 0.1", &["--trim", "--method tga"]);
    lab.refuse(2, "fit x.npy -o m --method tga --trim 0.6", &["trim = 0.6"]);
    lab.refuse(2, "fit x.npy -o m --method ae --low-rank low.npy", &["--low-rank", "--method pcp"]);
    lab.refuse(2, "fit x.npy -o m --method empca --solver gram", &["leave the solver out"]);
    lab.refuse(2, "fit x.npy -o m --method tga -d auto", &["neither a share nor auto"]);
    lab.refuse(2, "fit x.npy -o m --method emae --scale mad", &["leave scale"]);
    lab.refuse(2, "fit x.npy -o m --method ga --angle 30", &["--angle", "--method tae"]);
}
