//! Model files of format 1: `tests/data/format1` has files of the program that wrote them, with its scores and flags.

use serde_json::Value;
use steradian::model::CutoffKind;
use steradian::{Local, Model, SliceSource};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/format1/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn floats(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn files_of_format_1_give_the_same_scores_and_are_written_as_format_2() {
    let expected: Value = serde_json::from_slice(&file("expected.json")).unwrap();
    let size = |name: &str| expected[name].as_u64().unwrap() as usize;
    let data = floats(&expected["data"]);
    let source = SliceSource::new(&data, size("samples"), size("features")).unwrap();
    let runner = Local::new(1).unwrap();
    let models = expected["models"].as_object().unwrap();
    assert_eq!(models.len(), 8);
    for (name, expected) in models {
        let bytes = file(&format!("{name}.safetensors"));
        assert!(String::from_utf8_lossy(&bytes).contains("format\\\":1"), "{name}");
        let model = Model::from_bytes(&bytes).unwrap();
        let scores = model.transform(&source, &runner).unwrap();
        for (found, expected) in scores.data().iter().zip(floats(&expected["scores"])) {
            assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{name}: {found} and {expected}");
        }
        let flags: Vec<&str> = model.diagnose(&source, &runner, CutoffKind::New).unwrap().iter().map(|d| d.flag.name()).collect();
        assert_eq!(
            flags,
            expected["flags"].as_array().unwrap().iter().map(|f| f.as_str().unwrap()).collect::<Vec<_>>()
        );

        let rewritten = model.to_bytes().unwrap();
        assert_eq!(model.metadata()["format"], 2, "{name}");
        assert!(Model::from_bytes(&rewritten).unwrap().to_bytes().unwrap() == rewritten, "{name}");
        let text = String::from_utf8_lossy(&rewritten);
        for former in ["\"kept\"", "\"shares\"", "\"variances\"", "chosen", "n_kept", "angle_auto\\\":", "counting"] {
            let current = former.starts_with("angle") && text.contains("max_angle_auto");
            assert!(current || !text.contains(former), "{name}: {former}");
        }
    }
}
