//! Fits of files larger than the memory limit: byte-identical models, peak memory below the limit.

use std::process::Stdio;

use crate::lab::{Lab, patterns_npy, samples_npy, stderr};

/// 30 MB of uint8 data and 24 MB of float32 data.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", patterns_npy(10_000, 3_000));
    lab.write("f.npy", samples_npy("<f4", 20_000, 300));
    lab
}

/// Runs a command and polls its anonymous memory; returns the peak in bytes.
#[cfg(target_os = "linux")]
fn peak_of(lab: &Lab, line: &str) -> u64 {
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()).map_or(0, |kb| 1024 * kb.parse::<u64>().unwrap())
        };
        peak = peak.max(field("RssAnon:"));
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}\n{}", stderr(&output));
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn a_streamed_fit_is_byte_identical_and_respects_the_memory_limit() {
    let lab = lab();
    for (data, method, memory) in
        [("x.npy", "ae", 20), ("x.npy", "angular", 20), ("x.npy", "empca", 20), ("f.npy", "tae", 22)]
    {
        let solver = if method == "empca" { "" } else { "--solver krylov" };
        let options = format!("fit {data} --method {method} -d 3 {solver} --threads 2");
        lab.ok(&format!("{options} -o mapped"));
        for more in ["", "--checkpoint c --checkpoint-every 0.1"] {
            let peak = peak_of(&lab, &format!("{options} -o streamed --memory {memory}M {more}"));
            assert_eq!(lab.read("mapped"), lab.read("streamed"), "{method}");
            assert!(peak > 1 << 20 && peak <= memory << 20, "{method} {more}: {} MiB of {memory}", peak >> 20);
        }
    }
}

#[test]
fn the_plan_reports_streaming_and_read_time() {
    let lab = lab();
    let text = lab.ok("plan x.npy --method ae --memory 24M");
    assert!(
        text.contains("buffers") && text.contains("estimated read time") && text.contains("/s (measured)"),
        "{text}"
    );
    let plan = lab.json("plan x.npy --method ae --memory 24M --json");
    assert!(plan["peak_memory_bytes"].as_u64().unwrap() <= 24 << 20, "{plan}");
    let seconds = plan["read_seconds"].as_f64().unwrap() * plan["read_bytes_per_second"].as_f64().unwrap();
    assert!((seconds - plan["bytes_read"].as_f64().unwrap()).abs() < 1.0, "{plan}");
    assert!(!lab.ok("plan x.npy --method ae").contains("buffers"));
}

#[test]
fn too_little_memory_is_rejected_with_the_smallest_limit_that_works() {
    let lab = lab();
    let output = lab.run("fit x.npy -o m --method ae --memory 4M --threads 2");
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let least: f64 = message.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    lab.reject(
        2,
        &format!("fit x.npy -o m --method ae --threads 2 --memory {}K", ((least - 0.2) * 1024.0) as u64),
        &["about"],
    );
    lab.ok(&format!("fit x.npy -o m --method ae --threads 2 --memory {}K", ((least + 0.1) * 1024.0) as u64));
}

#[cfg(target_os = "linux")]
#[test]
fn truncation_of_a_streamed_file_is_an_error_with_path_and_byte() {
    let lab = lab();
    let original = lab.read("x.npy");
    let child = lab
        .command("fit x.npy -o m --method ae -d 3 --memory 20M")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first pass is in progress once this much has been read.
    let read = || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
        io.lines().find_map(|line| line.strip_prefix("rchar: ")).map_or(0, |bytes| bytes.parse::<u64>().unwrap())
    };
    while read() < 2 << 20 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    std::fs::OpenOptions::new()
        .write(true)
        .open(lab.path("x.npy"))
        .unwrap()
        .set_len(original.len() as u64 / 3)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("x.npy") && message.contains("byte") && message.contains("now"), "{message}");
    assert!(!lab.listing().contains(&"m".to_string()));
}
