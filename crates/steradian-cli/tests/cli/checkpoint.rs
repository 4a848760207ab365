//! Checkpoints: fits that are killed, interrupted, out of disk space or without their data, then resumed; other fits' files.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, npy, patterns_npy, samples_npy, stderr, uniform};

const SAMPLES: usize = 14_000;

/// 20 MiB of data, which a fit takes a second or two for.
fn busy() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", patterns_npy(SAMPLES, 1_500));
    lab
}

/// Small data.
fn small() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f4", 3_000, 40));
    lab
}

/// Kills the fit with SIGKILL after a time; returns its output if it finished earlier.
fn kill_after(lab: &Lab, line: &str, time: Duration) -> Option<Output> {
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while start.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return Some(child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Kills a fit after some passes; its checkpoint remains. On a busy machine a fit may end before it is killed: then another
/// one is started.
fn killed(lab: &Lab, line: &str) {
    let size = || std::fs::metadata(lab.path("c")).map_or(0, |file| file.len());
    for _ in 0..20 {
        let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while size() < 3_000 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if lab.path("c").exists() {
            return;
        }
        std::fs::remove_file(lab.path("m")).unwrap();
    }
    panic!("{line}: finished 20 times before it could be killed");
}

/// Kills a fit five times after a random fraction of its time and resumes it with other numbers of threads. The model is
/// byte-identical to that of an uninterrupted fit.
fn killed_repeatedly(options: &str, every: &str, seed: u64) {
    let lab = busy();
    let line = format!("fit x.npy {options} -o m");
    let start = Instant::now();
    lab.ok(&line);
    let (expected, duration) = (lab.read("m"), start.elapsed());
    std::fs::remove_file(lab.path("m")).unwrap();
    let line = format!("{line} --checkpoint c --checkpoint-every {every}");
    let mut kills = 0;
    for delay in uniform(seed, 5) {
        let threads = 1 + kills % 3;
        let time = Duration::from_millis(20) + duration.mul_f64(0.5 * delay);
        match kill_after(&lab, &format!("{line} --threads {threads}"), time) {
            None => kills += 1,
            Some(end) => assert!(end.status.success(), "{line}\n{}", stderr(&end)),
        }
    }
    assert!(kills > 1, "{line}: finished before it could be killed");
    let output = lab.run(&line);
    let messages = stderr(&output);
    assert!(output.status.success(), "{line}\n{messages}");
    assert!(lab.read("m") == expected, "{line}, after {kills} kills");
    let left: Vec<_> = lab.listing().into_iter().filter(|name| name.starts_with('c')).collect();
    assert!(left.is_empty(), "{left:?}");
}

// One test per method, so that they run in parallel.

#[test]
fn angular_killed_repeatedly_writes_a_byte_identical_model() {
    killed_repeatedly("--method angular -d 3 --solver krylov", "0.02", 9);
}

#[test]
fn robust_killed_repeatedly_writes_a_byte_identical_model() {
    killed_repeatedly("--method robust -d 2", "0", 10);
}

#[test]
fn tae_killed_repeatedly_writes_a_byte_identical_model() {
    killed_repeatedly("--method tae -d 2 --solver scatter --exact", "0.05", 11);
}

#[test]
fn a_resumed_fit_prints_a_note() {
    let lab = busy();
    let line = "fit x.npy -o m --method angular -d 3 --solver krylov --checkpoint c --checkpoint-every 0";
    killed(&lab, line);
    let output = lab.run(line);
    let messages = stderr(&output);
    assert!(output.status.success(), "{messages}");
    assert!(messages.contains("resuming from c (") && messages.contains("complete"), "{messages}");
    let expected = lab.read("m");
    lab.ok("fit x.npy -o n --method angular -d 3 --solver krylov");
    assert!(lab.read("n") == expected);
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_progress_and_prints_how_to_resume() {
    let lab = busy();
    let line = "fit x.npy -o m --method angular -d 3 --solver krylov --checkpoint c --checkpoint-every 1000";
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while std::fs::metadata(lab.path("c")).map_or(0, |file| file.len()) < 3_000 {
        assert!(child.try_wait().unwrap().is_none(), "{line}: finished too early");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let messages = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{messages}");
    assert!(
        messages.contains("interrupted; progress saved to c (")
            && messages.contains("Run the same command again to resume"),
        "{messages}"
    );
    let output = lab.run(line);
    assert!(output.status.success() && stderr(&output).contains("resuming from c ("), "{}", stderr(&output));
    lab.ok("fit x.npy -o n --method angular -d 3 --solver krylov");
    assert!(lab.read("m") == lab.read("n"));
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
}

/// A limit on file sizes stands for a full disk, which needs no root.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_checkpoint_and_not_the_fit() {
    let lab = small();
    lab.ok("fit x.npy -o n -d 2 --method angular --solver krylov");
    let limit = lab.read("n").len() / 512 + 2; // enough for the model, but not for the journal
    let program = assert_cmd::cargo::cargo_bin!("steradian");
    let options = "fit x.npy -o m -d 2 --method angular --solver krylov --checkpoint c --checkpoint-every 0";
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {} {options} --json", program.display());
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    let messages = stderr(&output);
    assert!(output.status.success(), "{messages}");
    assert!(
        messages.contains("warning: cannot write checkpoint c (") && messages.contains("the fit continues"),
        "{messages}"
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let warned =
        report["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("cannot write checkpoint"));
    assert!(warned, "{report}");
    assert!(lab.read("m") == lab.read("n"));
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
    // A checkpoint whose head cannot be written is an error.
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {} {options}", program.display());
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("c: cannot be written"), "{}", stderr(&output));
}

/// A journal that reached the limit is still a valid checkpoint.
#[cfg(target_os = "linux")]
#[test]
fn a_fit_killed_after_the_disk_was_full_resumes() {
    let lab = busy();
    let options = "fit x.npy -o m -d 2 --method angular --solver krylov --checkpoint c --checkpoint-every 0";
    let program = assert_cmd::cargo::cargo_bin!("steradian");
    let script = format!("trap '' XFSZ; ulimit -f 200; exec {} {options}", program.display());
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Kill it at the first warning.
    let mut messages = [0; 16];
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut messages).unwrap();
    assert!(messages.starts_with(b"warning: cannot "), "{}", String::from_utf8_lossy(&messages));
    child.kill().unwrap();
    child.wait().unwrap();
    let output = lab.run(options);
    assert!(output.status.success() && stderr(&output).contains("resuming from c ("), "{}", stderr(&output));
    lab.ok("fit x.npy -o n -d 2 --method angular --solver krylov");
    assert!(lab.read("m") == lab.read("n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_remains_if_the_data_are_truncated_in_mid_pass() {
    let lab = busy();
    let original = lab.read("x.npy");
    let modified = std::fs::metadata(lab.path("x.npy")).unwrap().modified().unwrap();
    // Memory-mapped, then streamed.
    for options in ["--method angular -d 3 --solver krylov", "--method angular -d 1 --solver krylov --memory 19M"] {
        let line = format!("fit x.npy -o m {options} --threads 2 --checkpoint c --checkpoint-every 0");
        let mut child = lab.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while std::fs::metadata(lab.path("c")).map_or(0, |file| file.len()) < 14_000 {
            assert!(child.try_wait().unwrap().is_none(), "{line}: finished too early");
            std::thread::sleep(Duration::from_millis(1));
        }
        let file = std::fs::OpenOptions::new().write(true).open(lab.path("x.npy")).unwrap();
        file.set_len(original.len() as u64 / 3).unwrap();
        let output = child.wait_with_output().unwrap();
        let messages = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{line}: {messages}");
        assert!(lab.path("c").exists() && !lab.path("m").exists(), "{line}");
        lab.write("x.npy", &original);
        lab.reject(2, &line, &["c: this checkpoint is of another fit: the time of modification of the data was "]);
        // The user states that the content is the former one by restoring the time, as `cp -p` and `touch -d` do.
        let file = std::fs::OpenOptions::new().write(true).open(lab.path("x.npy")).unwrap();
        file.set_modified(modified).unwrap();
        let output = lab.run(&line);
        assert!(output.status.success() && stderr(&output).contains("resuming from c ("), "{}", stderr(&output));
        lab.ok(&format!("fit x.npy -o n {options}"));
        assert!(lab.read("m") == lab.read("n"), "{line}");
        std::fs::remove_file(lab.path("m")).unwrap();
    }
}

#[test]
fn a_checkpoint_of_another_fit_is_rejected_with_the_difference() {
    let lab = busy();
    let options = "-o m --checkpoint c --checkpoint-every 0";
    killed(&lab, &format!("fit x.npy {options} -d 2 --method angular --solver krylov"));
    let checkpoint = lab.read("c");
    let bytes = lab.read("x.npy");
    let data = &bytes[bytes.len() - SAMPLES * 1_500..];
    lab.write("short.npy", npy("|u1", &[SAMPLES - 1, 1_500], &data[..(SAMPLES - 1) * 1_500]));
    lab.write("narrow.npy", npy("|u1", &[SAMPLES, 1_499], &data[..SAMPLES * 1_499]));
    lab.write("words.npy", npy("<u2", &[SAMPLES, 1_500], &data.repeat(2)));
    let mut other = data.to_vec();
    *other.last_mut().unwrap() ^= 1;
    lab.write("other.npy", npy("|u1", &[SAMPLES, 1_500], &other));
    let same = "-d 2 --method angular --solver krylov";
    for (data, rest, difference) in [
        ("short.npy", same, "samples was 14000 and is 13999 now"),
        ("narrow.npy", same, "features was 1500 and is 1499 now"),
        ("words.npy", same, "element type was uint8 and is uint16 now"),
        ("other.npy", same, "fingerprint of sampled rows was"),
        ("x.npy", "-d 3 --method angular --solver krylov", "n_components was 2 and is 3 now"),
        ("x.npy", "-d 2 --method ae --solver krylov", "method was angular and is ae now"),
        ("x.npy", "-d 2 --method angular --solver scatter", "solver was krylov and is scatter now"),
        ("x.npy", "-d 2 --method angular --solver krylov --seed 1", "seed was 0 and is 1 now"),
        ("x.npy", "-d 2 --method angular --solver krylov --tol 1e-4", "tol was 1e-6 and is 0.0001 now"),
    ] {
        lab.reject(
            2,
            &format!("fit {data} {options} {rest}"),
            &["c: this checkpoint is of another fit: ", difference, "remove"],
        );
    }
    assert!(lab.read("c") == checkpoint, "the checkpoint was changed");
    // Threads and memory may change: results do not depend on them.
    let output = lab.run(&format!("fit x.npy {options} {same} --threads 3 --memory 500M"));
    assert!(output.status.success() && stderr(&output).contains("resuming from c ("), "{}", stderr(&output));
}

/// Interrupts a fit to a file, changes one cell of a row that is not sampled, and expects a rejection; then a copy of the
/// original file, which resumes with a warning.
fn changed_data(name: &str, original: &[u8], changed: &[u8]) {
    assert!(original.len() == changed.len() && original != changed);
    let lab = Lab::new();
    lab.write(name, original);
    let data = lab.path(name);
    let modified = std::fs::metadata(&data).unwrap().modified().unwrap();
    let line = format!("fit {name} -o m --method angular -d 2 --solver krylov --checkpoint c --checkpoint-every 0");
    killed(&lab, &line);
    let checkpoint = lab.read("c");
    std::thread::sleep(Duration::from_millis(20));
    lab.write(name, changed);
    lab.reject(2, &line, &["c: this checkpoint is of another fit: the time of modification of the data was", "remove"]);
    assert!(lab.read("c") == checkpoint, "the checkpoint was changed");
    // A copy of the original with its time. It is written while the former file exists, so that it has another inode.
    lab.write("copy", original);
    std::fs::File::options().write(true).open(lab.path("copy")).unwrap().set_modified(modified).unwrap();
    std::fs::rename(lab.path("copy"), &data).unwrap();
    let output = lab.run(&line);
    let messages = stderr(&output);
    assert!(output.status.success() && messages.contains("resuming from c ("), "{messages}");
    assert!(messages.contains(&format!("warning: {name} is another file than in the interrupted fit")), "{messages}");
    let resumed = lab.read("m");
    lab.ok(&format!("fit {name} -o n --method angular -d 2 --solver krylov"));
    assert!(lab.read("n") == resumed);
}

#[test]
fn a_checkpoint_is_not_resumed_after_an_array_changed() {
    let original = patterns_npy(SAMPLES, 1_500);
    let mut changed = original.clone();
    // Row 5 is not among the sampled rows.
    let at = original.len() - SAMPLES * 1_500 + 5 * 1_500;
    changed[at..at + 1_500].fill(255);
    changed_data("x.npy", &original, &changed);
}

#[test]
fn a_checkpoint_is_not_resumed_after_a_table_changed() {
    let numbers = uniform(8, 4_000 * 60);
    let mut rows: Vec<String> = numbers.iter().map(|x| format!("{x:.4}")).collect();
    let text = |rows: &[String]| rows.chunks(60).map(|row| row.join(",") + "\n").collect::<String>();
    let original = text(&rows);
    rows[5 * 60 + 3] = "9.9999".to_string();
    changed_data("t.csv", original.as_bytes(), text(&rows).as_bytes());
}

#[test]
fn files_that_are_not_checkpoints_are_rejected() {
    let lab = small();
    lab.write("c", "not a checkpoint");
    lab.reject(3, "fit x.npy -o m --checkpoint c", &["c: the file is not a checkpoint", "remove"]);
    lab.reject(4, "fit x.npy -o m --checkpoint no/such/folder", &["cannot be written"]);
    lab.reject(2, "fit x.npy -o m --method pcp --checkpoint d", &["--checkpoint is not supported by --method pcp"]);
    lab.reject(2, "fit x.npy -o m --checkpoint d --checkpoint-every -1", &["expected seconds >= 0"]);
    lab.reject(2, "fit x.npy -o m --checkpoint-every 3", &["--checkpoint"]);
    assert_eq!(lab.read("c"), b"not a checkpoint");
}

#[test]
fn a_checkpoint_does_not_change_the_model_of_any_method() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("|u1", 700, 12));
    for method in ["robust", "cells", "ae", "tae", "angular", "pca", "empca", "emae"] {
        lab.ok(&format!("fit x.npy -o n --method {method}"));
        lab.ok(&format!("fit x.npy -o m --method {method} --checkpoint c --checkpoint-every 0"));
        assert!(lab.read("m") == lab.read("n"), "{method}");
        assert_eq!(lab.listing(), ["m", "n", "x.npy"], "{method}");
    }
}
