//! `shadows` on a folder of images.

use crate::lab::{Lab, keys, names};

const SIDE: usize = 24;

/// A lab with 14 images of a slope under different illumination, each with a black bar.
pub fn lab() -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("faces")).unwrap();
    for light in 0..14 {
        let (a, b) = (2.0 + light as f64 / 4.0, 6.0 - light as f64 / 3.0);
        let level = |at: usize| {
            let (x, y) = ((at % SIDE) as f64, (at / SIDE) as f64);
            let bar = (light * 5 % SIDE..light * 5 % SIDE + 3).contains(&(at % SIDE));
            if bar { 0 } else { (60.0 + a * x + b * y) as u8 }
        };
        let mut pgm = format!("P5\n{SIDE} {SIDE}\n255\n").into_bytes();
        pgm.extend((0..SIDE * SIDE).map(level));
        lab.write(&format!("faces/light{light}.pgm"), pgm);
    }
    lab
}

#[test]
fn shadows_are_filled() {
    let lab = lab();
    let text = lab.ok("shadows faces -o out -d 3");
    for part in ["14 of 24 x 24", "fill, 3 components", "report.html"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(
        names(&lab.path("out")),
        [".steradian-output", "difference", "montage.png", "relit", "report.html", "summary.json"]
    );
    assert_eq!(names(&lab.path("out/relit")).len(), 14);
    assert_eq!(names(&lab.path("out/difference"))[13], "000013.png");
    let report: serde_json::Value = serde_json::from_slice(&lab.read("out/summary.json")).unwrap();
    let expected = [
        "dark_fraction",
        "dark_lit_fraction",
        "height",
        "images",
        "lit_error",
        "method",
        "n_components",
        "seconds",
        "width",
    ];
    assert_eq!(keys(&report), expected);
    assert!(
        report["dark_lit_fraction"].as_f64().unwrap() > 0.9 && report["lit_error"].as_f64().unwrap() < 4.0,
        "{report}"
    );
    let page = String::from_utf8(lab.read("out/report.html")).unwrap();
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 14);
    assert!(!page.contains("http"));
    for method in ["pca", "ae", "tae --max-angle 80", "robust", "cells"] {
        lab.ok(&format!("shadows faces -o out -d 3 --method {method}"));
    }
    lab.reject(
        2,
        "shadows faces -o none --memory 1G",
        &["--memory applies only to --method pcp, not to --method fill"],
    );
    lab.reject(
        2,
        "shadows faces -o none --max-angle 50",
        &["--max-angle applies only to --method tae, not to --method fill"],
    );
    lab.reject(2, "shadows faces -o none --method pca -d 90", &["90"]);
    lab.reject(4, "shadows absent -o none", &["absent"]);
}

#[test]
fn images_of_pcp_are_its_low_rank_part() {
    let lab = lab();
    let report = |folder: &str| -> serde_json::Value {
        serde_json::from_slice(&lab.read(&format!("{folder}/summary.json"))).unwrap()
    };
    let text = lab.ok("shadows faces -o pcp --method pcp");
    let rank = report("pcp")["n_components"].as_u64().unwrap();
    assert!((1..14).contains(&rank) && text.contains(&format!("pcp, low-rank part of rank {rank} after ")), "{text}");
    lab.ok("shadows faces -o pca --method pca -d 3");
    let lit = |folder: &str| report(folder)["dark_lit_fraction"].as_f64().unwrap();
    assert!(lit("pcp") > lit("pca") && lit("pcp") > 0.9, "{} against {}", lit("pcp"), lit("pca"));
    lab.reject(2, "shadows faces -o none --method pcp -d 3", &["-d 3 is not supported by --method pcp"]);
    lab.reject(
        2,
        "shadows faces -o none --method pcp --memory 1K",
        &["14 images of 576 pixels", "1.0 KiB", "--method fill"],
    );
}
