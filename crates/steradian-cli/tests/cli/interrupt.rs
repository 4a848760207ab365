//! Signals and closed pipes.
#![cfg(target_os = "linux")]

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::lab::{Lab, names, npy, samples_npy, stderr, uniform};

/// Samples that every command takes a while for: 20 000 x 2 000, uint8.
fn many_samples() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| uniform(5, 20_000 * 2_000).iter().map(|x| (255.0 * x) as u8).collect())
}

/// The samples as a table.
fn large() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", npy("|u1", &[20_000, 2_000], many_samples()));
    lab
}

/// The signals that interrupt a command, with their exit codes.
const SIGNALS: [(&str, i32); 2] = [("INT", 130), ("TERM", 143)];

/// Starts a command and sends it a signal once `ready`, which gets its process number. Returns its output and the time
/// that it took to end.
fn signal(lab: &Lab, line: &str, signal: &str, ready: impl Fn(u32) -> bool) -> (Output, Duration) {
    disturb(lab, line, ready, |process| {
        let arguments = [format!("-{signal}"), process.to_string()];
        assert!(Command::new("kill").args(arguments).status().unwrap().success());
    })
}

/// Starts a command and calls `act` once `ready`; both get its process number. Returns its output and the time that it
/// took to end after that.
fn disturb(lab: &Lab, line: &str, ready: impl Fn(u32) -> bool, act: impl Fn(u32)) -> (Output, Duration) {
    let mut child = lab.command(line).stderr(Stdio::piped()).spawn().unwrap();
    while !ready(child.id()) {
        assert!(child.try_wait().unwrap().is_none(), "{line}: ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = Instant::now();
    act(child.id());
    while child.try_wait().unwrap().is_none() && sent.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let waited = sent.elapsed();
    let _ = child.kill();
    (child.wait_with_output().unwrap(), waited)
}

/// Interrupts a command by each signal; it must stop in time and leave no file.
fn interrupt(lab: &Lab, line: &str, ready: impl Fn(u32) -> bool) {
    for (name, code) in SIGNALS {
        let before = lab.listing();
        let (output, waited) = signal(lab, line, name, &ready);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
        assert!(waited < Duration::from_secs(1), "{line}: {waited:?}");
        assert!(stderr(&output).contains("interrupted"), "{line}");
        assert_eq!(lab.listing(), before, "{line}");
    }
}

/// True if a process has its handler of `SIGTERM`; until then the signal ends it as any other program.
fn handles_signals(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & (1 << 14) != 0)
}

/// True if a process writes to a file without a name in the folder of the lab.
fn writes_unnamed_file(lab: &Lab, process: u32) -> bool {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    open.flatten().any(|entry| {
        let within =
            std::fs::read_link(entry.path()).is_ok_and(|path| path.starts_with(lab.path("").canonicalize().unwrap()));
        within && std::fs::metadata(entry.path()).is_ok_and(|file| file.nlink() == 0 && file.len() > 0)
    })
}

/// True if a temporary folder of the lab has a file.
fn writes_folder(lab: &Lab) -> bool {
    let is_own = |name: &String| name.starts_with(".steradian-") && lab.path(name).is_dir();
    lab.listing().iter().filter(|name| is_own(name)).any(|name| !names(&lab.path(name)).is_empty())
}

#[test]
fn a_signal_ends_a_fit_and_leaves_nothing() {
    let lab = large();
    for (name, code) in SIGNALS {
        for wait in [0, 800] {
            let (before, start) = (lab.listing(), Instant::now());
            let ready = |process| handles_signals(process) && start.elapsed() > Duration::from_millis(wait);
            let (output, waited) = signal(&lab, "fit x.npy -o m --method tae", name, ready);
            assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
            assert!(waited < Duration::from_secs(1) && stderr(&output).contains("interrupted"), "{waited:?}");
            assert_eq!(lab.listing(), before);
        }
    }
}

#[test]
fn a_signal_ends_the_demo_without_its_folder() {
    let lab = Lab::new();
    for (name, code) in SIGNALS {
        let start = Instant::now();
        let ready = |process| handles_signals(process) && start.elapsed() > Duration::from_millis(500);
        let (output, _) = signal(&lab, "demo -o deep/out", name, ready);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(lab.listing(), [""; 0]);
    }
}

/// A model of the large data, which takes a while to apply.
fn large_with_model() -> Lab {
    let lab = large();
    lab.write("part.npy", npy("|u1", &[100, 2_000], &many_samples()[..100 * 2_000]));
    lab.ok("fit part.npy -o m");
    lab
}

#[test]
fn a_signal_removes_a_temporary_file() {
    let lab = large_with_model();
    interrupt(&lab, "reconstruct m x.npy -o r.npy", |process| writes_unnamed_file(&lab, process));
}

/// The samples as a clip.
fn large_clip() -> Lab {
    let lab = Lab::new();
    lab.write("clip.npy", npy("|u1", &[20_000, 40, 50], many_samples()));
    lab
}

#[test]
fn a_signal_removes_the_temporary_folder_of_a_clip() {
    let lab = large_clip();
    interrupt(&lab, "background clip.npy -o out --no-videos", |_| writes_folder(&lab));
}

#[test]
fn a_bus_error_leaves_nothing() {
    let lab = large_clip();
    let before = lab.listing();
    let (output, _) = signal(&lab, "background clip.npy -o out --no-videos", "BUS", |_| writes_folder(&lab));
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("error: a file was truncated by another process"), "{}", stderr(&output));
    assert_eq!(lab.listing(), before);
}

#[test]
fn truncation_of_a_clip_while_it_is_read_leaves_nothing() {
    let lab = large_clip();
    let before = lab.listing();
    let truncate = |_| std::fs::File::options().write(true).open(lab.path("clip.npy")).unwrap().set_len(4096).unwrap();
    let (output, _) = disturb(&lab, "background clip.npy -o out --no-videos", |_| writes_folder(&lab), truncate);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    // Access to a page beyond the end raises a signal; the next block finds the length changed. Either may be first.
    let reported = ["error: a file was truncated by another process", "error: clip.npy: the file had 40000128 bytes"];
    assert!(reported.iter().any(|text| stderr(&output).starts_with(text)), "{}", stderr(&output));
    assert_eq!(lab.listing(), before);
}

#[test]
fn a_kill_leaves_at_most_one_file_which_the_next_run_removes() {
    let lab = large_with_model();
    let before = lab.listing();
    let (output, _) =
        signal(&lab, "reconstruct m x.npy -o r.npy", "KILL", |process| writes_unnamed_file(&lab, process));
    assert_eq!(output.status.code(), None);
    assert_eq!(lab.listing(), before, "a file without a name leaves nothing");

    let lab = large_clip();
    let before = lab.listing();
    let own = || lab.listing().into_iter().filter(|name| name.starts_with(".steradian-")).collect::<Vec<_>>();
    for _ in 0..2 {
        signal(&lab, "background clip.npy -o out --no-videos", "KILL", |_| writes_folder(&lab));
        assert_eq!((lab.listing().len(), own().len()), (before.len() + 1, 1), "{:?}", lab.listing());
    }
    lab.ok("background clip.npy -o out --no-videos --end 4 -d 1 --method pca");
    assert_eq!(own(), [""; 0]);
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
