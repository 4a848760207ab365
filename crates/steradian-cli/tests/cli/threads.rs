//! The number of threads changes nothing, to the last bit.

use crate::lab::{Lab, samples_npy};

/// Model files of a fit at 1, 2 and 7 threads, for some types, shapes and solvers.
fn same_at_any_threads(options: &str, types: &[&str], shapes: &[(usize, usize)]) {
    let lab = Lab::new();
    for descr in types {
        for &(n, features) in shapes {
            lab.write("x.npy", samples_npy(descr, n, features));
            for solver in ["auto", "scatter", "gram", "krylov"] {
                let model = |threads: usize| {
                    lab.ok(&format!("fit x.npy -o m {options} --solver {solver} --threads {threads}"));
                    lab.read("m")
                };
                let one = model(1);
                for threads in [2, 7] {
                    let same = model(threads) == one;
                    assert!(same, "{options} {solver} {n} x {features} {descr} at {threads} threads");
                }
            }
        }
    }
}

const TYPES: [&str; 4] = ["|u1", "<u2", "<f4", "<f8"];
/// Tall, several cells of the grid; and wide, where another solver is the cheapest.
const TALL: (usize, usize) = (600, 20);
const WIDE: (usize, usize) = (70, 900);

#[test]
fn ae() {
    same_at_any_threads("-d 3 --method ae", &TYPES, &[TALL]);
}

#[test]
fn tae() {
    same_at_any_threads("-d 3 --method tae", &TYPES, &[TALL]);
}

#[test]
fn angular() {
    same_at_any_threads("-d 3 --method angular", &TYPES, &[TALL]);
}

#[test]
fn pca() {
    same_at_any_threads("-d 3 --method pca", &TYPES, &[TALL]);
}

#[test]
fn robust() {
    same_at_any_threads("-d 3 --method robust", &TYPES, &[TALL]);
    same_at_any_threads("-d 3 --method robust", &["|u1", "<f4"], &[WIDE]);
}

#[test]
fn cells() {
    same_at_any_threads("-d 2 --method cells", &["|u1", "<f4"], &[TALL]);
    same_at_any_threads("-d 2 --method cells", &["<f8"], &[(70, 200)]);
}

#[test]
fn components_that_the_data_choose() {
    same_at_any_threads("-d auto", &["|u1", "<f8"], &[TALL]);
    same_at_any_threads("-d 0.8", &["<f4"], &[TALL]);
}

#[test]
fn scaled_features() {
    same_at_any_threads("-d 2 --scale mad", &["<u2", "<f4"], &[TALL]);
}

#[test]
fn the_coordinate_median() {
    same_at_any_threads("-d 3 --method ae --center median", &TYPES, &[TALL]);
}

#[test]
fn scores_and_reconstructions() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f4", 600, 20));
    lab.ok("fit x.npy -o m");
    for (command, file) in [("transform", "out.npy"), ("reconstruct", "out.npy"), ("outliers", "out.csv")] {
        let out = |threads: usize| {
            lab.ok(&format!("{command} m x.npy -o {file} --threads {threads}"));
            lab.read(file)
        };
        let one = out(1);
        assert!(out(2) == one && out(7) == one, "{command}");
    }
}
