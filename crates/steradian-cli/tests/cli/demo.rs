//! The demo: its files, the table of four methods and the report.

use crate::lab::{Lab, names, read_npy};

#[test]
fn demo_writes_all_files() {
    let lab = Lab::new();
    let text = lab.ok("demo -o out");
    for part in ["PCA", "AE", "TAE (signed)", "scene", "dB", "background/report.html", "scene.npy"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let mut expected = vec![
        ".steradian-output",
        "background",
        "people",
        "empty_room.png",
        "frame_120.png",
        "frame_200.png",
        "methods.json",
        "report.html",
        "scene.npy",
    ];
    let parts = ["ae", "pca", "scene", "tae"].map(|key| {
        [".safetensors", "_background.png", "_frame_120.png", "_frame_200.png"].map(|end| format!("{key}{end}"))
    });
    expected.extend(parts.iter().flatten().map(String::as_str));
    expected.sort_unstable();
    assert_eq!(names(&lab.path("out")), expected);

    let (kind, shape, _) = read_npy(&lab.read("out/scene.npy"));
    assert_eq!((kind.as_str(), shape.as_slice()), ("|u1", &[240, 96, 128][..]));
    let report = String::from_utf8(lab.read("out/report.html")).unwrap();
    assert_eq!(report.matches("data:image/png;base64,").count(), 5 + 2 * 4);
    assert!(!report.contains("http"), "the report has a URL");
    for png in names(&lab.path("out")).iter().filter(|name| name.ends_with(".png")) {
        assert_eq!(&lab.read(&format!("out/{png}"))[..8], b"\x89PNG\r\n\x1a\n", "{png}");
    }

    let methods: serde_json::Value = serde_json::from_slice(&lab.read("out/methods.json")).unwrap();
    let psnr =
        |key: &str| methods.as_array().unwrap().iter().find(|m| m["key"] == key).unwrap()["psnr"].as_f64().unwrap();
    assert!(psnr("scene") > psnr("pca") + 6.0, "{methods}");

    // Fits of the written clip give byte-identical models.
    lab.ok("fit out/scene.npy -o ae --method ae");
    assert_eq!(lab.read("ae"), lab.read("out/ae.safetensors"));
    lab.ok("inspect out/tae.safetensors");
}
