//! Disks that are full or cannot be written: a clear error, and nothing half-written.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::background::{self, FRAMES};
use crate::ffmpeg;
use crate::lab::{Lab, names, stderr};
use crate::shadows;

/// How a command ended on a small disk.
struct Ended {
    code: i32,
    said: String,
    /// All that is on the disk afterwards.
    left: Vec<String>,
}

impl Ended {
    fn refused(&self) -> bool {
        assert!(self.code == 0 || self.code == 4, "{} {}", self.code, self.said);
        self.code == 4
    }
}

/// Runs a command with a disk of its own mounted on the folder `disk`, which nobody else sees and which is gone with the
/// command. Nothing where this system does not let us mount one.
fn on_disk(lab: &Lab, options: &str, line: &str) -> Option<Ended> {
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
        Ok(output) if output.status.code() != Some(99) && !stderr(&output).starts_with("unshare:") => Some(Ended {
            code: output.status.code().unwrap(),
            said: stderr(&output),
            left: String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect(),
        }),
        _ => None,
    }
}

fn skipped(test: &str) {
    println!("skipped: {test} needs to mount a disk of its own (unshare --user --mount)");
}

/// Runs a command on larger and larger disks until it succeeds: before that it is refused, and leaves nothing. What was said.
fn until_it_fits(lab: &Lab, test: &str, line: &str, step: usize) -> Vec<String> {
    let mut refusals = Vec::new();
    for pages in (1..400).step_by(step) {
        let Some(ended) = on_disk(lab, &format!("size={}k", 4 * pages), line) else {
            skipped(test);
            return refusals;
        };
        if !ended.refused() {
            assert!(!refusals.is_empty(), "{line}: the first disk is too large for this test");
            assert!(ended.left.iter().any(|file| file.ends_with("summary.json")), "{:?}", ended.left);
            return refusals;
        }
        assert_eq!(ended.left, [""; 0], "{line} on {pages} pages: {}", ended.said);
        assert!(ended.said.starts_with("error: ") && ended.said.contains("has room"), "{}", ended.said);
        refusals.push(ended.said);
    }
    panic!("{line}: no disk is large enough");
}

#[test]
fn a_full_disk_leaves_nothing_of_a_clip() {
    let (lab, _) = background::lab();
    let line = "background clip.npy -o disk/deep/out --no-videos";
    let refusals = until_it_fits(&lab, "a_full_disk_leaves_nothing_of_a_clip", line, 3);
    // The disk was full at the first outputs, and at the last.
    for part in ["masks/", "report.html"] {
        assert!(refusals.is_empty() || refusals.iter().any(|said| said.contains(part)), "{part} in {refusals:?}");
    }
}

#[test]
fn a_full_disk_leaves_nothing_of_videos() {
    if ffmpeg::is_there("a_full_disk_leaves_nothing_of_videos") {
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
fn a_disk_that_may_only_be_read_is_noticed_before_the_work() {
    let (lab, _) = background::lab();
    for line in ["background absent.npy -o disk/out", "shadows absent -o disk/out", "fit absent.npy -o disk/model"] {
        let Some(ended) = on_disk(&lab, "ro", line) else {
            return skipped("a_disk_that_may_only_be_read_is_noticed_before_the_work");
        };
        assert!(ended.refused() && ended.said.contains("disk/"), "{line}: {}", ended.said);
        assert!(ended.said.contains("Read-only"), "{line}: {}", ended.said);
    }
}

#[test]
fn files_that_grow_too_large_are_an_error() {
    let (lab, _) = background::lab();
    // Ignored, the signal of the limit becomes an error of the write, as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f $BLOCKS; exec \"$0\" \"$@\"";
    for (blocks, line, part) in [
        (8, "background clip.npy -o out --no-videos", "model.safetensors"),
        (8, "reconstruct model clip.npy -o r.npy", "r.npy"),
        // Decoded frames are kept in a temporary file; 40 frames are 30 KB.
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
        assert_eq!(names(&lab.path("")), before, "{line} left something behind");
    }
    assert_eq!(names(&lab.path("frames")).len(), FRAMES);
}
