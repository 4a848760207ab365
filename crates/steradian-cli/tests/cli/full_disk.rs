//! Full and read-only disks: an error message and no partial output.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::background::{self, FRAMES};
use crate::ffmpeg;
use crate::lab::{Lab, names, samples_npy, stderr};
use crate::shadows;

/// Result of a command on a small disk.
struct DiskRun {
    code: i32,
    message: String,
    /// Files on the disk afterwards.
    left: Vec<String>,
}

impl DiskRun {
    fn failed(&self) -> bool {
        assert!(self.code == 0 || self.code == 4, "{} {}", self.code, self.message);
        self.code == 4
    }
}

/// Runs a command with a private tmpfs mounted on the folder `disk`. `None` if the system does not permit the mount.
fn on_disk(lab: &Lab, options: &str, line: &str) -> Option<DiskRun> {
    let mounted = "mount -t tmpfs -o $MOUNT none disk || exit 99; \"$0\" \"$@\" >/dev/null; code=$?; find disk -mindepth 1; exit $code";
    let program = lab.command(line);
    std::fs::create_dir_all(lab.path("disk")).unwrap();
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mounted])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(lab.path(""))
        .env("MOUNT", options)
        .output();
    match output {
        Ok(output) if output.status.code() != Some(99) && !stderr(&output).starts_with("unshare:") => Some(DiskRun {
            code: output.status.code().unwrap(),
            message: stderr(&output),
            left: String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect(),
        }),
        _ => None,
    }
}

fn skipped(test: &str) {
    println!("skipped: {test} requires a private mount (unshare --user --mount)");
}

/// Runs a command on disks of increasing size until it succeeds; before that it fails and leaves no file. Returns the error
/// messages.
fn until_it_fits(lab: &Lab, test: &str, line: &str, step: usize) -> Vec<String> {
    let mut messages = Vec::new();
    for pages in (1..400).step_by(step) {
        let Some(run) = on_disk(lab, &format!("size={}k", 4 * pages), line) else {
            skipped(test);
            return messages;
        };
        if !run.failed() {
            assert!(!messages.is_empty(), "{line}: the first disk is too large for this test");
            assert!(run.left.iter().any(|file| file.ends_with("summary.json")), "{:?}", run.left);
            return messages;
        }
        assert_eq!(run.left, [""; 0], "{line} on {pages} pages: {}", run.message);
        assert!(run.message.starts_with("error: ") && run.message.contains("has free space"), "{}", run.message);
        messages.push(run.message);
    }
    panic!("{line}: no disk is large enough");
}

#[test]
fn a_full_disk_leaves_nothing_of_a_clip() {
    let (lab, _) = background::lab();
    let line = "background clip.npy -o disk/deep/out --no-videos";
    let messages = until_it_fits(&lab, "a_full_disk_leaves_nothing_of_a_clip", line, 3);
    // Both the first and the last outputs hit the limit.
    for part in ["masks/", "report.html"] {
        assert!(messages.is_empty() || messages.iter().any(|message| message.contains(part)), "{part} in {messages:?}");
    }
}

#[test]
fn a_full_disk_leaves_nothing_of_videos() {
    if ffmpeg::is_available("a_full_disk_leaves_nothing_of_videos") {
        let (lab, _) = background::lab();
        until_it_fits(&lab, "a_full_disk_leaves_nothing_of_videos", "background clip.npy -o disk/out", 17);
    }
}

#[test]
fn a_full_disk_leaves_nothing_of_faces() {
    let lab = shadows::lab();
    until_it_fits(&lab, "a_full_disk_leaves_nothing_of_faces", "shadows faces -o disk/out -d 3", 5);
}

#[test]
fn a_full_disk_leaves_both_outputs_or_none() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 150, 6));
    lab.ok("fit x.npy -o m");
    let line = "outliers m x.npy -o disk/flags.csv --plot disk/map.svg";
    // One page is the folder itself; the table takes three and the map more.
    for pages in 2..30 {
        let Some(run) = on_disk(&lab, &format!("size={}k", 4 * pages), line) else {
            return skipped("a_full_disk_leaves_both_outputs_or_none");
        };
        if !run.failed() {
            assert_eq!(run.left.len(), 2, "{:?}", run.left);
            assert!(pages > 5, "the table alone fits on no smaller disk");
            return;
        }
        assert_eq!(run.left, [""; 0], "{pages} pages: {}", run.message);
    }
    panic!("no disk is large enough");
}

#[test]
fn a_read_only_disk_is_reported_before_the_fit() {
    let (lab, _) = background::lab();
    for line in ["background absent.npy -o disk/out", "shadows absent -o disk/out", "fit absent.npy -o disk/model"] {
        let Some(run) = on_disk(&lab, "ro", line) else {
            return skipped("a_read_only_disk_is_reported_before_the_fit");
        };
        assert!(run.failed() && run.message.contains("disk/"), "{line}: {}", run.message);
        assert!(run.message.to_lowercase().contains("read-only"), "{line}: {}", run.message);
    }
}

#[test]
fn the_file_size_limit_is_an_error() {
    let (lab, _) = background::lab();
    // The program ignores the signal of the limit, so that the write fails as on a full disk.
    let limited = "ulimit -f $BLOCKS; exec \"$0\" \"$@\"";
    for (blocks, line, part) in [
        (8, "background clip.npy -o out --no-videos", "model.safetensors"),
        (8, "reconstruct model clip.npy -o r.npy", "r.npy"),
        // Frames are decoded to a temporary file; 40 frames are 30 KB.
        (16, "background frames -o out --no-videos", "TMPDIR"),
    ] {
        lab.ok("fit clip.npy -o model");
        let (before, program) = (names(&lab.path("")), lab.command(line));
        let output = Command::new("sh")
            .args(["-c", limited])
            .arg(program.get_program())
            .args(program.get_args())
            .current_dir(lab.path(""))
            .env("BLOCKS", blocks.to_string())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(4), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(part) && stderr(&output).contains("too large"), "{line}: {}", stderr(&output));
        assert_eq!(names(&lab.path("")), before, "{line} created a file");
    }
    assert_eq!(names(&lab.path("frames")).len(), FRAMES);
}
