//! The golden cases: results of an independent f64 reference implementation.

use crate::common::{golden, relative, sine};
use serde_json::Value;
use steradian::{Config, Local, Matrix, Method, Source};
use steradian_io::NpySource;

/// An array of a case.
fn array(case: &str, name: &str) -> Matrix {
    let source = NpySource::open(golden(case).join(name)).unwrap();
    let (rows, columns) = (source.shape().samples, source.shape().features);
    let mut out = Matrix::zeros(rows, columns);
    source
        .visit(0..rows, &mut |block| {
            let steradian::data::BlockData::F64(data) = block.data() else { panic!("{name} is not float64") };
            (0..rows).for_each(|i| (0..columns).for_each(|j| out[(i, j)] = data.get(i, j)));
            Ok(())
        })
        .unwrap();
    out
}

/// The description of a case and its tolerances.
fn meta(case: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(case).join("meta.json")).unwrap()).unwrap()
}

fn config(case: &str, method: Method) -> Config {
    let meta = meta(case);
    let mut config = steradian_baselines::preset(method, meta["d"].as_u64().unwrap() as usize);
    config = config.with_parameter(steradian_baselines::TRIM, meta["config"]["trim"].as_f64().unwrap_or(0.0));
    config
}

/// The subspace of a case, whose components are columns in the file.
fn check_subspace(case: &str, config: &Config) -> steradian::Model {
    let source = NpySource::open(golden(case).join("X.npy")).unwrap();
    let model = steradian_baselines::fit(config, &source, &Local::new(2).unwrap()).unwrap();
    let off = sine(&array(case, "Q.npy").transposed(), &model.subspace.components).asin().to_degrees();
    let allowed = meta(case)["tolerance"]["angle_degrees"].as_f64().unwrap();
    assert!(off <= allowed, "{case}: off by {off:e} degrees, allowed {allowed:e}");
    model
}

#[test]
fn em_pca_equals_the_reference_at_a_tight_tolerance() {
    for case in ["40_empca", "41_empca_wide"] {
        let mut config = config(case, steradian_baselines::EMPCA);
        config = config.with_tolerance(1e-10);
        let model = check_subspace(case, &config);
        let n = model.shape.samples as f64;
        let expected = steradian_io::read_vector(golden(case).join("eig.npy")).unwrap();
        for (found, value) in model.diagnostics.explained_variance.iter().zip(expected) {
            assert!((found * (n - 1.0) / n / value - 1.0).abs() < 1e-9, "{case}: {found} {value}");
        }
    }
}

#[test]
fn grassmann_averages_equal_the_reference() {
    for case in ["42_ga", "43_tga_half", "44_tga_even", "45_tga_five_percent"] {
        let mut config = config(case, if case == "42_ga" { steradian_baselines::GA } else { steradian_baselines::TGA });
        config = config.with_tolerance(1e-10);
        check_subspace(case, &config);
    }
}

#[test]
fn the_parts_of_the_pursuit_equal_the_reference() {
    for case in ["46_pcp_wide", "47_pcp_tall"] {
        let source = NpySource::open(golden(case).join("X.npy")).unwrap();
        let found = steradian_baselines::principal_component_pursuit(
            &config(case, steradian_baselines::PCP),
            &source,
            &Local::new(2).unwrap(),
        )
        .unwrap();
        let allowed = meta(case)["tolerance"]["relative"].as_f64().unwrap();
        for (part, file) in [(&found.low_rank, "L.npy"), (&found.sparse, "S.npy")] {
            let off = relative(part.data(), array(case, file).data());
            assert!(off <= allowed, "{case} {file}: off by {off:e}, allowed {allowed:e}");
        }
        let off = sine(&array(case, "Q.npy").transposed(), &found.model.subspace.components);
        assert!(off <= allowed, "{case}: components are off by {off:e}");
        assert!(found.model.report.certificate.converged && found.model.report.certificate.residual < 1e-7);
        let steps: usize = meta(case)["note"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap();
        assert_eq!(found.model.report.iterations, [steps], "{case}: number of steps");
    }
}
