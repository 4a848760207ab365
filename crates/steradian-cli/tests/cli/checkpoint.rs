//! Fits that are stopped and go on: killed, interrupted, on a full disk, on data that vanish; and checkpoints of other fits.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, npy, patterns_npy, samples_npy, stderr, uniform};

const SAMPLES: usize = 14_000;

/// 20 MiB that keep a fit busy for a second or two.
fn busy() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", patterns_npy(SAMPLES, 1_500));
    lab
}

/// Small data with their own model.
fn small() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f4", 3_000, 40));
    lab
}

/// Kills the fit with SIGKILL after this time; its end if it was faster.
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

/// Leaves a checkpoint of a fit that was killed when some passes were over.
fn killed(lab: &Lab, line: &str) {
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let size = || std::fs::metadata(lab.path("c")).map_or(0, |file| file.len());
    while size() < 3_000 {
        assert!(child.try_wait().unwrap().is_none(), "{line}: over before it could be killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lab.path("c").exists());
}

/// Five times killed after a random share of its time and started again on other threads; then the bytes of an undisturbed fit.
fn killed_again_and_again(options: &str, every: &str, seed: u64) {
    let lab = busy();
    let line = format!("fit x.npy {options} -o m");
    let start = Instant::now();
    lab.ok(&line);
    let (expected, whole) = (lab.read("m"), start.elapsed());
    std::fs::remove_file(lab.path("m")).unwrap();
    let line = format!("{line} --checkpoint c --checkpoint-every {every}");
    let mut deaths = 0;
    for delay in uniform(seed, 5) {
        let threads = 1 + deaths % 3;
        let time = Duration::from_millis(20) + whole.mul_f64(0.5 * delay);
        match kill_after(&lab, &format!("{line} --threads {threads}"), time) {
            None => deaths += 1,
            Some(end) => assert!(end.status.success(), "{line}\n{}", stderr(&end)),
        }
    }
    assert!(deaths > 1, "{line}: it was over before it could be killed");
    let output = lab.run(&line);
    let said = stderr(&output);
    assert!(output.status.success(), "{line}\n{said}");
    assert!(lab.read("m") == expected, "{line}, after {deaths} deaths");
    let left: Vec<_> = lab.listing().into_iter().filter(|name| name.starts_with('c')).collect();
    assert!(left.is_empty(), "{left:?}");
}

// One test each, so that they run side by side.

#[test]
fn angular_killed_again_and_again_writes_the_bytes_of_an_undisturbed_fit() {
    killed_again_and_again("--method angular -d 3 --solver krylov", "0.02", 9);
}

#[test]
fn robust_killed_again_and_again_writes_the_bytes_of_an_undisturbed_fit() {
    killed_again_and_again("--method robust -d 2 --solver krylov", "0", 10);
}

#[test]
fn tae_killed_again_and_again_writes_the_bytes_of_an_undisturbed_fit() {
    killed_again_and_again("--method tae -d 2 --solver scatter --exact", "0.05", 11);
}

#[test]
fn a_fit_that_goes_on_says_so_and_reads_less() {
    let lab = busy();
    let line = "fit x.npy -o m --method angular -d 3 --solver krylov --checkpoint c --checkpoint-every 0";
    killed(&lab, line);
    let output = lab.run(line);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("going on from c: ") && said.contains("done"), "{said}");
    let expected = lab.read("m");
    lab.ok("fit x.npy -o n --method angular -d 3 --solver krylov");
    assert!(lab.read("n") == expected);
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_checkpoint_and_says_how_to_go_on() {
    let lab = busy();
    let line = "fit x.npy -o m --method robust -d 3 --solver krylov --checkpoint c --checkpoint-every 1000";
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while std::fs::metadata(lab.path("c")).map_or(0, |file| file.len()) < 3_000 {
        assert!(child.try_wait().unwrap().is_none(), "{line}: over too soon");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted; c is kept") && said.contains("the same command goes on"), "{said}");
    let output = lab.run(line);
    assert!(output.status.success() && stderr(&output).contains("going on from c"), "{}", stderr(&output));
    lab.ok("fit x.npy -o n --method robust -d 3 --solver krylov");
    assert!(lab.read("m") == lab.read("n"));
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
}

/// A limit on the size of files is as near to a full disk as a test gets without being root.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_checkpoint_and_not_the_fit() {
    let lab = small();
    lab.ok("fit x.npy -o n -d 2 --method robust --solver krylov");
    let limit = lab.read("n").len() / 512 + 2; // the model fits, but the journal has many times its size
    let program = assert_cmd::cargo::cargo_bin!("steradian");
    let options = "fit x.npy -o m -d 2 --method robust --solver krylov --checkpoint c --checkpoint-every 0";
    let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {} {options} --json", program.display());
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("warning: c: cannot be written") && said.contains("the fit goes on"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let warned =
        report["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("cannot be written"));
    assert!(warned, "{report}");
    assert!(lab.read("m") == lab.read("n"));
    assert_eq!(lab.listing(), ["m", "n", "x.npy"]);
    // Where even the head does not fit, nothing is begun.
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {} {options}", program.display());
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(lab.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("c: cannot be written"), "{}", stderr(&output));
}

/// The journal of a fit that met a limit is a checkpoint like any other.
#[cfg(target_os = "linux")]
#[test]
fn a_fit_killed_after_the_disk_was_full_goes_on_from_what_was_kept() {
    let lab = busy();
    let options = "fit x.npy -o m -d 2 --method robust --solver krylov --checkpoint c --checkpoint-every 0";
    let program = assert_cmd::cargo::cargo_bin!("steradian");
    let script = format!("trap '' XFSZ; ulimit -f 200; exec {} {options}", program.display());
    let mut child = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(lab.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first word of trouble is the time to kill it.
    let mut said = [0; 16];
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    assert!(said.starts_with(b"warning: c"), "{}", String::from_utf8_lossy(&said));
    child.kill().unwrap();
    child.wait().unwrap();
    let output = lab.run(options);
    assert!(output.status.success() && stderr(&output).contains("going on from c"), "{}", stderr(&output));
    lab.ok("fit x.npy -o n -d 2 --method robust --solver krylov");
    assert!(lab.read("m") == lab.read("n"));
}

#[cfg(target_os = "linux")]
#[test]
fn data_that_vanish_in_mid_pass_leave_the_checkpoint() {
    let lab = busy();
    let whole = lab.read("x.npy");
    // Mapped, and streamed.
    for options in ["--method robust -d 3 --solver krylov", "--method angular -d 1 --solver krylov --memory 19M"] {
        let line = format!("fit x.npy -o m {options} --threads 2 --checkpoint c --checkpoint-every 0");
        let mut child = lab.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while std::fs::metadata(lab.path("c")).map_or(0, |file| file.len()) < 14_000 {
            assert!(child.try_wait().unwrap().is_none(), "{line}: over too soon");
            std::thread::sleep(Duration::from_millis(1));
        }
        let file = std::fs::OpenOptions::new().write(true).open(lab.path("x.npy")).unwrap();
        file.set_len(whole.len() as u64 / 3).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{line}: {said}");
        assert!(lab.path("c").exists() && !lab.path("m").exists(), "{line}");
        lab.write("x.npy", &whole);
        let output = lab.run(&line);
        assert!(output.status.success() && stderr(&output).contains("going on from c"), "{}", stderr(&output));
        lab.ok(&format!("fit x.npy -o n {options}"));
        assert!(lab.read("m") == lab.read("n"), "{line}");
        std::fs::remove_file(lab.path("m")).unwrap();
    }
}

#[test]
fn a_checkpoint_of_another_fit_is_refused_by_what_differs() {
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
    for (data, rest, hint) in [
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
        lab.refuse(
            2,
            &format!("fit {data} {options} {rest}"),
            &["c: this checkpoint is of another fit: ", hint, "remove"],
        );
    }
    assert!(lab.read("c") == checkpoint, "a refusal changes nothing");
    // Threads and memory may change: they are no part of the answer.
    let output = lab.run(&format!("fit x.npy {options} {same} --threads 3 --memory 500M"));
    assert!(output.status.success() && stderr(&output).contains("going on from c"), "{}", stderr(&output));
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let lab = small();
    lab.write("c", "not a checkpoint");
    lab.refuse(3, "fit x.npy -o m --checkpoint c", &["c: this is no checkpoint", "remove"]);
    lab.refuse(3, "fit x.npy -o m --checkpoint x.npy", &["x.npy: this is no checkpoint"]);
    lab.refuse(2, "fit x.npy -o m --checkpoint m", &["as checkpoint and as output"]);
    lab.refuse(2, "fit x.npy -o m --checkpoint ./m", &["as checkpoint and as output"]);
    lab.refuse(4, "fit x.npy -o m --checkpoint no/such/folder", &["cannot be written"]);
    lab.refuse(2, "fit x.npy -o m --method pcp --checkpoint d", &["--checkpoint keeps passes", "pcp"]);
    lab.refuse(2, "fit x.npy -o m --checkpoint d --checkpoint-every -1", &["give seconds"]);
    lab.refuse(2, "fit x.npy -o m --checkpoint-every 3", &["--checkpoint"]);
    assert_eq!(lab.read("c"), b"not a checkpoint");
}

#[test]
fn every_method_that_is_kept_has_its_own_bytes_with_a_checkpoint() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("|u1", 700, 12));
    for method in ["robust", "cells", "ae", "tae", "angular", "pca", "empca", "emae"] {
        lab.ok(&format!("fit x.npy -o n --method {method}"));
        lab.ok(&format!("fit x.npy -o m --method {method} --checkpoint c --checkpoint-every 0"));
        assert!(lab.read("m") == lab.read("n"), "{method}");
        assert_eq!(lab.listing(), ["m", "n", "x.npy"], "{method}");
    }
}
