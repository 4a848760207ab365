//! The golden cases: results of an independent f64 reference implementation.

use crate::common::{difference, fit, golden, read_npy};
use serde_json::Value;
use steradian::config::{Angle, Cone, Cosine, Screen};
use steradian::{Center, Config, Error, Method, Solver, Source};
use steradian_io::NpySource;

/// The cases of this crate: AE and TAE.
const CASES: [&str; 15] = [
    "01_ae_n_gt_D",
    "02_ae_n_lt_D",
    "03_ae_d_eq_rank",
    "04_ae_zero_rows",
    "05_tae_tied_tau",
    "06_tae_boundary_60deg",
    "07_tae_abs_eta60",
    "08_tae_signed_eta60",
    "09_tae_recentre",
    "11_ae_f32_input",
    "12_ae_u8_video",
    "16_ae_spatial_median",
    "19_ae_huge_outlier",
    "21_ae_table1_seed0",
    "25_ae_near_zero_rows",
];

fn meta(case: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(case).join("meta.json")).unwrap()).unwrap()
}

/// The configuration that a case describes.
fn config_of(meta: &Value) -> Config {
    let options = &meta["config"];
    let method = if meta["algo"] == "tae" { Method::Tae } else { Method::Ae };
    let mut config = Config::new(method, meta["d"].as_u64().unwrap() as usize);
    config = config.with_center(match options["center"].as_str().unwrap() {
        "mean" => Center::Mean,
        "median" => Center::Median,
        "spatial_median" => Center::SpatialMedian,
        "none" => Center::None,
        other => panic!("center {other}"),
    });
    if method == Method::Tae {
        config = config.with_screen(Screen::Cone(Cone {
            max_angle: Angle::Degrees(options["eta_deg"].as_f64().unwrap()),
            cosine: if options["mode"] == "signed" { Cosine::Signed } else { Cosine::Abs },
            recenter: options["recenter"].as_bool().unwrap_or(false),
            ..Cone::default()
        }));
    }
    config
}

fn check(case: &str, solver: Solver) {
    let meta = meta(case);
    let folder = golden(case);
    let mut config = config_of(&meta);
    config = config.with_solver(solver);
    if solver == Solver::Krylov {
        config = config.with_tolerance(1e-14); // the cases require 1e-12 in every value, more than the default tolerance
    }
    let source = NpySource::open(folder.join("X.npy")).unwrap();
    let model = fit(&config, &source, 2).unwrap_or_else(|e| panic!("{case}: {e}"));
    let near = |what: &str, found: &[f64], file: &str| {
        let (_, expected) = read_npy(&folder.join(file));
        let tolerance = meta["tolerance"][what]["abs"].as_f64().unwrap();
        let off = difference(found, &expected);
        assert!(off <= tolerance, "{case} {}: {what} is off by {off:e}, allowed {tolerance:e}", solver.name());
    };
    near("mean", &model.subspace.center, "mean.npy");
    let (shape, q) = read_npy(&folder.join("Q.npy"));
    let found: Vec<f64> =
        (0..shape[0] * shape[1]).map(|i| model.subspace.components[(i % shape[1], i / shape[1])]).collect();
    let off = difference(&found, &q);
    let tolerance = meta["tolerance"]["Q"]["abs"].as_f64().unwrap();
    assert!(off <= tolerance, "{case} {}: components are off by {off:e}, allowed {tolerance:e}", solver.name());
    if folder.join("eig.npy").exists() {
        near("eig", model.subspace.angular_eigenvalues.as_ref().unwrap(), "eig.npy");
    }
    let scores = model.transform(&source, &steradian::Local::new(2).unwrap()).unwrap();
    near("transform", scores.data(), "transform.npy");
    let mut reconstruction = Vec::new();
    source
        .visit(0..source.shape().samples, &mut |block| {
            reconstruction = model.reconstruct_block(&block)?;
            Ok(())
        })
        .unwrap();
    near("recon", &reconstruction, "recon.npy");
    let support: Vec<f64> = model.report.support.iter().map(|&k| f64::from(u8::from(k))).collect();
    assert_eq!(support, read_npy(&folder.join("kept.npy")).1, "{case} {}: support", solver.name());
    if let Some(cone) = &model.report.cone {
        let tau: Vec<f64> = cone.tau.iter().map(|&t| t as f64).collect();
        assert_eq!(tau, read_npy(&folder.join("tau.npy")).1, "{case}: tau");
        assert_eq!(cone.pivot as u64, meta["pivot"].as_u64().unwrap(), "{case}: pivot");
        assert_eq!(cone.tau_min(), meta["tau_min"].as_i64().unwrap(), "{case}: tau_min");
    }
}

#[test]
fn every_case_by_every_solver() {
    for case in CASES {
        for solver in [Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov] {
            // The Gram matrix of 4200 samples of 3 features tests nothing that smaller cases do not.
            if case.starts_with("21") && solver == Solver::Gram {
                continue;
            }
            check(case, solver);
        }
    }
}

#[test]
fn the_error_cases_fail_with_the_expected_error() {
    let attempt = |case: &str, d: usize| {
        let source = NpySource::open(golden(case).join("X.npy")).unwrap();
        fit(&Config::new(Method::Ae, d), &source, 1).expect_err(case)
    };
    assert!(matches!(attempt("90_err_all_identical", 1), Error::InvalidData(m) if m.contains("equal to the center")));
    assert!(matches!(attempt("91_n1", 1), Error::InvalidData(m) if m.contains("single sample")));
    assert!(matches!(attempt("92_nan", 1), Error::NotFinite { .. }));
    assert!(
        matches!(attempt("93_d_too_large", 4), Error::InvalidArgument { problem: m, .. } if m.contains("n_components = 4 exceeds"))
    );
}
