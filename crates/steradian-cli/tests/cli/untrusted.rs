//! Untrusted input: names that a terminal would obey, and clips that decode to more than their limit.

use std::path::PathBuf;

use crate::ffmpeg;
use crate::lab::{Lab, npy, samples, samples_npy, stderr};

/// A color, the title of the window, a forged line, a carriage return, a C1 control, and the order of letters reversed.
const EVIL: &str = "\x1b[31mred\x1b]0;title\x07\nerror: forged\rover\u{9b}2J\u{202e}gpj";

/// Characters that may not reach a terminal.
fn obeyed(text: &str) -> Vec<char> {
    let bidirectional =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|&c| (c.is_control() && c != '\n') || bidirectional(c)).collect()
}

fn assert_plain(what: &str, text: &str) {
    assert!(obeyed(text).is_empty(), "{what}: {text:?}");
    assert!(text.lines().all(|line| !line.starts_with("error: forged")), "{what}: {text:?}");
}

/// Runs the program with an argument of any characters after the words of a line.
fn run(lab: &Lab, line: &str, rest: &[&str]) -> (Option<i32>, String, String) {
    let output = lab.command(line).args(rest).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
}

#[test]
fn names_of_files_are_escaped_in_messages() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 40, 5));
    lab.write("bad.npy", "no array");
    let named = |suffix: &str| format!("{EVIL}{suffix}");
    std::fs::copy(lab.path("bad.npy"), lab.path(&named(".npy"))).unwrap();
    for (line, rest, code) in [
        ("fit", vec![named("absent.npy"), "-o".into(), "m".into()], 4),
        ("fit", vec![named(".npy"), "-o".into(), "m".into()], 3),
        ("inspect", vec![named(".npy")], 3),
        ("background", vec![named("absent.mp4"), "-o".into(), "out".into()], 4),
        ("export m", vec!["-o".into(), named(".doc")], 2),
        // Usage errors quote arguments.
        ("fit x.npy -o m", vec![named("extra")], 2),
        ("fit x.npy -o m --method", vec![named("")], 2),
        ("fit x.npy -o m", vec![format!("--solver={EVIL}")], 2),
        ("fit x.npy -o m", vec![format!("--{EVIL}")], 2),
    ] {
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let (found, out, err) = run(&lab, line, &rest);
        assert_eq!(found, Some(code), "{line}: {err}");
        assert_plain(line, &err);
        assert_plain(line, &out);
        assert!(
            err.contains("\\u{1b}[31mred") && err.contains("\\nerror: forged\\rover\\u{9b}2J\\u{202e}gpj"),
            "{err}"
        );
    }
    // Outputs are written under their names, and printed escaped.
    let model = named(".model");
    let (code, out, err) = run(&lab, "fit x.npy -o", &[&model]);
    assert_eq!(code, Some(0), "{err}");
    assert_plain("fit", &out);
    assert!(out.contains("wrote \\u{1b}[31mred") && lab.path(&model).exists(), "{out}");
    let scores = named(".scores.npy");
    let (code, out, _) = run(&lab, "transform", &[&model, "x.npy", "-o", &scores]);
    assert!(code == Some(0) && lab.path(&scores).exists());
    assert_plain("transform", &out);
}

#[test]
fn names_of_columns_and_rows_are_escaped_in_tables_and_kept_in_files() {
    let lab = Lab::new();
    let data = samples(60, 4);
    let quoted = format!("\"{EVIL}\"");
    let mut table = format!("row,{quoted},b,c,d\n");
    for (i, row) in data.chunks(4).enumerate() {
        // The last rows are outliers in the column with the name.
        let first = if i > 56 { 1e4 * row[0] } else { row[0] };
        table += &format!("\"{i}{EVIL}\",{first},{},{},{}\n", row[1], row[2], row[3]);
    }
    lab.write("t.csv", &table);
    let (code, _, err) = run(&lab, "fit t.csv -o m --row-names", &[]);
    assert_eq!(code, Some(0), "{err}");
    let (code, out, err) = run(&lab, "outliers m t.csv --row-names -o flags.csv --plot map.svg", &[]);
    assert_eq!(code, Some(0), "{err}");
    assert_plain("outliers", &out);
    assert!(out.contains("\\u{1b}[31mred") && out.contains("\\nerror: forged"), "{out}");
    // Errors that quote cells and columns.
    lab.write("text.csv", format!("{quoted},b\n1,2\n\"{EVIL}\",4\n"));
    lab.write("missing.csv", format!("{quoted},b\n1,2\n,4\n"));
    for (name, line) in [("text.csv", ""), ("missing.csv", ""), ("text.csv", "--columns none")] {
        let (code, out, err) = run(&lab, &format!("fit {name} -o n {line}"), &[]);
        assert!(matches!(code, Some(2 | 3)), "{err}");
        assert_plain(name, &(out + &err));
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // A model may have any text.
    let (_, out, _) = run(&lab, "inspect m", &[]);
    assert_plain("inspect", &out);
    // JSON uses its own escapes, and a program reads the name unchanged.
    let (_, out, _) = run(&lab, "inspect m --json", &[]);
    assert_plain("inspect --json", &out);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    if let Some(names) = object["feature_names"].as_array() {
        assert_eq!(names[0], EVIL);
    }
}

/// Frames of a height and width as a folder of PGM images.
fn folder_of_frames(lab: &Lab, name: &str, count: u8) -> PathBuf {
    let folder = lab.path(name);
    std::fs::create_dir(&folder).unwrap();
    for frame in 0..count {
        let pixels: Vec<u8> =
            (0..32u32 * 24).map(|at| (at * 7 % 200) as u8 + 3 * (frame % 8) + (at as u8 & frame)).collect();
        std::fs::write(folder.join(format!("{frame}.pgm")), [b"P5\n32 24\n255\n".to_vec(), pixels].concat()).unwrap();
    }
    folder
}

#[test]
fn every_command_that_decodes_has_the_limit() {
    let lab = Lab::new();
    folder_of_frames(&lab, "frames", 20);
    lab.ok("fit frames -o m");
    for line in [
        "plan frames",
        "fit frames -o n",
        "transform m frames -o s.npy",
        "reconstruct m frames -o r.npy",
        "outliers m frames -o f.csv",
        "background frames -o out --no-videos",
        "shadows frames -o out -d 2",
    ] {
        let problem =
            "20 frames are 15.0 KiB when decoded, which exceeds the limit of 15.0 KiB; allow more with --max-decoded";
        lab.reject(3, &format!("{line} --max-decoded 15359"), &["frames: ", problem]);
    }
    lab.ok("fit frames -o n --max-decoded 15360");
    assert!(lab.read("m") == lab.read("n"));
    let help = lab.ok("fit --help");
    assert!(help.contains("--max-decoded <SIZE>") && help.contains("[default: 16G]"), "{help}");
    // Arrays are not decoded.
    lab.write("clip.npy", npy("|u1", &[2, 4, 4], &(0..32).collect::<Vec<u8>>()));
    lab.ok("fit clip.npy -o n -d 1 --method pca --max-decoded 1");
}

#[test]
fn a_playlist_decodes_no_other_file() {
    if !ffmpeg::is_available("a_playlist_decodes_no_other_file") {
        return;
    }
    let lab = Lab::new();
    let made = std::process::Command::new("ffmpeg")
        .args([
            "-loglevel",
            "error",
            "-f",
            "lavfi",
            "-i",
            "testsrc=size=64x48:rate=25:duration=1",
            "-c:v",
            "mpeg2video",
        ])
        .arg(lab.path("secret.ts"))
        .status();
    assert!(made.unwrap().success());
    let segments = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nsecret.ts\n";
    lab.write("ended.mp4", format!("{segments}#EXT-X-ENDLIST\n"));
    lab.write("live.mp4", segments);
    lab.write("concat.mp4", "ffconcat version 1.0\nfile secret.ts\n");
    for (name, kind) in
        [("ended.mp4", "HLS playlist"), ("live.mp4", "HLS playlist"), ("concat.mp4", "ffconcat playlist")]
    {
        lab.reject(3, &format!("background {name} -o out --no-videos"), &[kind, "which names other files"]);
        lab.reject(3, &format!("shadows {name} -o out"), &[kind]);
    }
    // Names with a meaning for ffmpeg, without a folder before them.
    for name in ["concat:a.mp4", "http:a.mp4", "%03d.mp4", "file:a.mp4"] {
        std::fs::copy(lab.path("secret.ts"), lab.path(name)).unwrap();
        assert!(lab.ok(&format!("plan {name} --json")).contains("solver"), "{name}");
    }
}
