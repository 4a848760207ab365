//! Golden cases of the library, run through the program.

use std::path::PathBuf;

use serde_json::Value;
use steradian::Model;

use crate::lab::{Lab, names, read_npy};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../steradian/tests/golden")
}

/// A reference case.
struct Case {
    path: PathBuf,
    meta: Value,
}

impl Case {
    fn array(&self, name: &str) -> Vec<f64> {
        read_npy(&std::fs::read(self.path.join(format!("{name}.npy"))).unwrap()).2
    }

    fn check(&self, name: &str, found: &[f64], expected: &[f64]) {
        let within = self.meta["tolerance"][name]["abs"].as_f64().unwrap();
        assert_eq!(found.len(), expected.len(), "{} {name}", self.meta["name"]);
        let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= within, "{} {name}: off by {worst:e}, allowed {within:e}", self.meta["name"]);
    }

    fn options(&self) -> String {
        let config = &self.meta["config"];
        let center = config["center"].as_str().unwrap().replace('_', "-");
        let mut line =
            format!("--method {} -d {} --center {center}", self.meta["algo"].as_str().unwrap(), self.meta["d"]);
        if let Some(angle) = config["eta_deg"].as_f64() {
            line += &format!(" --max-angle {angle} --cosine {}", config["mode"].as_str().unwrap());
        }
        if config["recenter"] == true {
            line += " --recenter";
        }
        line
    }
}

fn cases() -> Vec<Case> {
    let read = |name: String| {
        let path = folder().join(name);
        let meta = serde_json::from_slice(&std::fs::read(path.join("meta.json")).unwrap()).unwrap();
        Case { path, meta }
    };
    names(&folder()).into_iter().filter(|name| folder().join(name).is_dir()).map(read).collect()
}

#[test]
fn every_case_through_every_solver() {
    let cases: Vec<Case> = cases().into_iter().filter(|c| c.meta["algo"] == "ae" || c.meta["algo"] == "tae").collect();
    assert!(cases.len() >= 15);
    for case in &cases {
        let lab = Lab::new();
        lab.write("x.npy", std::fs::read(case.path.join("X.npy")).unwrap());
        for solver in ["auto", "scatter", "gram", "krylov"] {
            // The Gram matrix of the one large case takes a minute and tests nothing new.
            if solver == "gram" && case.meta["n"].as_u64().unwrap() > 1000 {
                continue;
            }
            let out = lab.json(&format!("fit x.npy -o m {} --solver {solver} --tol 1e-10 --json", case.options()));
            let model = Model::from_bytes(&lab.read("m")).unwrap();
            case.check("mean", &model.subspace.center, &case.array("mean"));
            case.check("Q", model.subspace.components.transposed().data(), &case.array("Q"));
            case.check("eig", model.subspace.angular_eigenvalues.as_ref().unwrap(), &case.array("eig"));
            let support: Vec<f64> = model.report.support.iter().map(|&k| f64::from(u8::from(k))).collect();
            assert_eq!(support, case.array("kept"), "{}", case.meta["name"]);
            if let Some(cone) = &model.report.cone {
                let tau: Vec<f64> = cone.tau.iter().map(|&tau| tau as f64).collect();
                assert_eq!(tau, case.array("tau"), "{}", case.meta["name"]);
                assert_eq!((&out["pivot"], &out["tau_min"]), (&case.meta["pivot"], &case.meta["tau_min"]));
            }
            lab.ok("transform m x.npy -o s.npy");
            lab.ok("reconstruct m x.npy -o r.npy");
            case.check("transform", &read_npy(&lab.read("s.npy")).2, &case.array("transform"));
            case.check("recon", &read_npy(&lab.read("r.npy")).2, &case.array("recon"));
        }
    }
}

#[test]
fn tables_give_equal_results() {
    let mut count = 0;
    for case in cases().iter().filter(|case| case.path.join("X.csv").exists()) {
        let lab = Lab::new();
        lab.write("x.csv", std::fs::read(case.path.join("X.csv")).unwrap());
        lab.ok(&format!("fit x.csv -o m {}", case.options()));
        let model = Model::from_bytes(&lab.read("m")).unwrap();
        case.check("mean", &model.subspace.center, &case.array("mean"));
        case.check("eig", model.subspace.angular_eigenvalues.as_ref().unwrap(), &case.array("eig"));
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn errors_are_errors() {
    for (name, code) in [("90_err_all_identical", 3), ("91_n1", 3), ("92_nan", 3), ("93_d_too_large", 2)] {
        let lab = Lab::new();
        lab.write("x.npy", std::fs::read(folder().join(name).join("X.npy")).unwrap());
        let d = if code == 2 { 4 } else { 1 };
        lab.reject(code, &format!("fit x.npy -o m --method ae -d {d}"), &[]);
    }
}
