//! Bitwise identical results for any number of threads.

use crate::lab::{Lab, samples_npy};

/// Checks that model files are byte-identical at 1, 2 and 7 threads, for some dtypes, shapes and all solvers.
fn same_at_any_threads(options: &str, types: &[&str], shapes: &[(usize, usize)]) {
    let lab = Lab::new();
    for descr in types {
        for &(n, features) in shapes {
            lab.write("x.npy", samples_npy(descr, n, features));
            // The default method and its forms have no choice of the solver.
            let one_solver = !options.contains("--method")
                || ["robust", "cells", "rows"].iter().any(|method| options.contains(&format!("--method {method}")));
            let solvers: &[&str] = if one_solver { &[""] } else { &["auto", "scatter", "gram", "krylov"] };
            for solver in solvers {
                let chosen = if solver.is_empty() { String::new() } else { format!("--solver {solver}") };
                let model = |threads: usize| {
                    lab.ok(&format!("fit x.npy -o m {options} {chosen} --threads {threads}"));
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
/// A tall shape with several leaves of the grid, and a wide one, for which another solver is the cheapest.
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
fn automatic_number_of_components() {
    same_at_any_threads("-d auto", &["|u1", "<f8"], &[TALL]);
    same_at_any_threads("-d 0.8", &["<f4"], &[TALL]);
}

#[test]
fn scaled_features() {
    same_at_any_threads("-d 2 --scaling mad", &["<u2", "<f4"], &[TALL]);
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
