//! The memory limit of the program: kept with fewer threads, or rejected with numbers; and limits of options.

use crate::lab::{Lab, npy, samples, samples_npy, stderr};

const MIB: u64 = 1 << 20;

/// Runs `fit` with the planned memory of one thread as the limit, and with less.
fn limit_is_kept(lab: &Lab, data: &str, options: &str) {
    let plan = |threads: usize| {
        lab.json(&format!("plan {data} {options} --threads {threads} --json"))["peak_memory_bytes"].as_u64().unwrap()
    };
    let fit = |threads: usize, limit: &str| {
        let report = lab.json(&format!("fit {data} -o m {options} --threads {threads} --json {limit}"));
        report["peak_memory_bytes"].as_u64().unwrap()
    };
    for threads in [1, 7] {
        let (planned, measured) = (plan(threads), fit(threads, ""));
        let what = format!("{data} {options} on {threads} threads: {measured} bytes measured, {planned} planned");
        println!("{what}");
        assert!(measured <= planned, "{what}");
        // The plan for several threads is a bound: which of them hold buffers at one time depends on scheduling.
        assert!(threads > 1 || planned - measured <= (8 * MIB).max(measured / 4), "{what}");
    }
    let least = plan(1);
    let measured = fit(7, &format!("--memory {least}"));
    assert!(measured <= least, "{data} {options}: {measured} bytes with --memory {least}");
    std::fs::remove_file(lab.path("m")).unwrap();
    // Slightly below the plan another solver may still fit; far below none does.
    lab.reject(2, &format!("fit {data} -o m {options} --memory 100K"), &["needs about", "100.0 KiB", "--memory"]);
}

#[test]
fn the_memory_limit_is_kept_for_every_source() {
    let lab = Lab::new();
    let (n, features) = (60_000, 6);
    let data = samples(n, features);
    lab.write("x.npy", samples_npy("<f8", n, features));
    // Numbers of the other byte order are converted block by block.
    let swapped: Vec<u8> = data.iter().flat_map(|x| x.to_be_bytes()).collect();
    lab.write("swapped.npy", npy(">f8", &[n, features], &swapped));
    let rows = data.chunks(features).take(8000);
    let lines = rows.map(|row| row.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(","));
    lab.write("x.csv", lines.collect::<Vec<_>>().join("\n"));
    limit_is_kept(&lab, "x.npy", "--method robust");
    limit_is_kept(&lab, "swapped.npy", "--method ae");
    limit_is_kept(&lab, "x.csv", "--method angular");
    limit_is_kept(&lab, "x.npy", "--method empca");
}

/// The case of the report: the arrays per sample are most of the memory.
#[test]
fn arrays_per_sample_count() {
    let lab = Lab::new();
    // Sparse: only the header is written.
    let (n, features) = (2_000_000, 2);
    lab.write("x.npy", npy("<f8", &[n, features], &[]));
    let file = std::fs::OpenOptions::new().write(true).open(lab.path("x.npy")).unwrap();
    file.set_len(file.metadata().unwrap().len() + (n * features * 8) as u64).unwrap();
    lab.reject(2, "fit x.npy -o m --memory 32M --method angular", &["needs about", "32.0 MiB"]);
    lab.reject(2, "fit x.npy -o m --memory 32M --method pca", &["needs about", "32.0 MiB"]);
}

#[test]
fn options_have_upper_limits() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 60, 6));
    for (options, needles) in [
        ("--n-directions 1000000000", ["--n-directions 1000000000 exceeds 1000000", "use at most"]),
        ("--threads 99999999", ["--threads 99999999 exceeds 4096", "0"]),
        ("--tol NaN", ["--tol", "between 0 and 1"]),
        ("--method tae --max-angle NaN", ["--max-angle", "90"]),
        ("-d 18446744073709551615", ["-d 18446744073709551615 exceeds", "6"]),
    ] {
        lab.reject(2, &format!("fit x.npy -o m {options}"), &needles);
    }
    let output = lab.run("fit x.npy -o m --memory 99999999999G");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("exceeds 2^64 - 1 bytes"), "{}", stderr(&output));
}

/// A method that copies the data, in a process whose address space is too small for the copy.
#[cfg(target_os = "linux")]
#[test]
fn no_memory_left_is_a_clean_error() {
    let lab = Lab::new();
    let (n, features) = (4000, 20_000);
    lab.write("x.npy", npy("<f4", &[n, features], &[]));
    let file = std::fs::OpenOptions::new().write(true).open(lab.path("x.npy")).unwrap();
    file.set_len(file.metadata().unwrap().len() + (n * features * 4) as u64).unwrap();
    let before = lab.listing();
    let program = assert_cmd::cargo::cargo_bin!("steradian").display().to_string();
    // 320 MB of mapped file and 280 MB for everything else, of which the copy would take 320 MB.
    let line = format!("ulimit -v 600000 && exec {program} fit x.npy -o m --method ga --threads 1");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(lab.path("")).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("error: the system has no memory left for a buffer of"), "{}", stderr(&output));
    assert_eq!(lab.listing(), before);
}
