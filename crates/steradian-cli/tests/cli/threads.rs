//! The number of threads changes nothing, to the last bit.

use crate::lab::{Lab, samples_npy};

fn same_at_any_threads(method: &str) {
    let lab = Lab::new();
    for descr in ["|u1", "<u2", "<f4", "<f8"] {
        lab.write("x.npy", samples_npy(descr, 600, 20));
        for solver in ["scatter", "gram", "krylov"] {
            let model = |threads: usize| {
                lab.ok(&format!("fit x.npy -o m -d 3 --method {method} --solver {solver} --threads {threads}"));
                lab.read("m")
            };
            let one = model(1);
            for threads in [2, 7] {
                assert!(model(threads) == one, "{method} {solver} {descr} at {threads} threads");
            }
        }
    }
}

#[test]
fn ae() {
    same_at_any_threads("ae");
}

#[test]
fn tae() {
    same_at_any_threads("tae");
}

#[test]
fn angular() {
    same_at_any_threads("angular");
}

#[test]
fn pca() {
    same_at_any_threads("pca");
}

#[test]
fn the_coordinate_median() {
    same_at_any_threads("ae --center median");
}

#[test]
fn scores_and_reconstructions() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f4", 600, 20));
    lab.ok("fit x.npy -o m");
    for command in ["transform", "reconstruct"] {
        let out = |threads: usize| {
            lab.ok(&format!("{command} m x.npy -o out.npy --threads {threads}"));
            lab.read("out.npy")
        };
        let one = out(1);
        assert!(out(2) == one && out(7) == one, "{command}");
    }
}
