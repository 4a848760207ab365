//! Ctrl-C and closed pipes.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, npy, samples_npy, stderr, uniform};

/// Data that every command takes a while for.
fn large() -> Lab {
    let lab = Lab::new();
    let (n, features) = (20_000, 2_000);
    let bytes: Vec<u8> = uniform(5, n * features).iter().map(|x| (255.0 * x) as u8).collect();
    lab.write("x.npy", npy("|u1", &[n, features], &bytes));
    lab
}

/// Starts a command and sends it Ctrl-C once `ready`; it must stop in time and leave no file.
fn interrupt(lab: &Lab, line: &str, ready: impl Fn() -> bool) {
    let before = lab.listing();
    let mut child = lab.command(line).stderr(Stdio::piped()).spawn().unwrap();
    while !ready() {
        assert!(child.try_wait().unwrap().is_none(), "{line}: ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    while child.try_wait().unwrap().is_none() && sent.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let waited = sent.elapsed();
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{line}: {}", stderr(&output));
    assert!(waited < Duration::from_secs(1), "{line}: {waited:?}");
    assert!(stderr(&output).contains("interrupted"), "{line}");
    assert_eq!(lab.listing(), before, "{line}");
}

#[test]
fn ctrl_c_ends_a_fit_and_leaves_nothing() {
    let lab = large();
    let start = Instant::now();
    interrupt(&lab, "fit x.npy -o m --method tae", || start.elapsed() > Duration::from_millis(800));
}

#[test]
fn ctrl_c_removes_a_temporary_file() {
    let lab = large();
    lab.write("part.npy", npy("|u1", &[100, 2_000], &lab.read("x.npy")[128..128 + 100 * 2_000]));
    lab.ok("fit part.npy -o m");
    let growing = || {
        let is_part = |name: &String| name.ends_with(".part");
        let size = |name: String| std::fs::metadata(lab.path(&name)).map_or(0, |file| file.len());
        lab.listing().into_iter().filter(is_part).map(size).sum::<u64>() > 0
    };
    interrupt(&lab, "reconstruct m x.npy -o r.npy", growing);
}

#[test]
fn ctrl_c_removes_temporary_masks_and_their_folder() {
    let lab = large();
    let bytes = lab.read("x.npy");
    lab.write("clip.npy", npy("|u1", &[20_000, 40, 50], &bytes[bytes.len() - 20_000 * 2_000..]));
    let growing = || {
        let masks =
            |entry: std::fs::DirEntry| std::fs::read_dir(entry.path()).is_ok_and(|mut files| files.next().is_some());
        std::fs::read_dir(lab.path("out")).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(masks)))
    };
    interrupt(&lab, "background clip.npy -o out --no-videos", growing);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 40, 6));
    lab.ok("fit x.npy -o m");
    for line in ["inspect m --json", "inspect m", "plan x.npy", "fit x.npy -o n --json", "completions bash", "--help"] {
        // The reader closes the pipe before the first byte is written.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            lab.command(line).stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{line}");
    }
    assert!(lab.listing().contains(&"n".into()), "the model was not written");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 40, 6));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        lab.command("plan x.npy").stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("standard output"));
}
