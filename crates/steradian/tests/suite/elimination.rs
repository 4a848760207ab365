//! Successive elimination finds the pivot of the exact count, all samples that tie with it, and the same support.

use crate::common::{TestRandom, fit};
use steradian::config::{Angle, Cone, Cosine, PivotSearch, Screen, Ties};
use steradian::data::BlockElement;
use steradian::fit::FittedScreen;
use steradian::{Center, Config, Local, Method, Model, SliceSource};

const FAMILIES: [&str; 7] = ["cone", "clusters", "uniform", "duplicates", "narrow", "lines", "edge"];

/// Samples of a family: n x features.
fn samples(family: &str, n: usize, features: usize, seed: u64) -> Vec<f64> {
    let mut numbers = TestRandom::new(seed);
    let axes = numbers.matrix(6, features);
    let mut data = Vec::with_capacity(n * features);
    for i in 0..n {
        let u = numbers.uniform();
        let scale = 1.0 + 3.0 * numbers.uniform();
        let noise: Vec<f64> = (0..features).map(|_| numbers.normal()).collect();
        let around = |axis: usize, spread: f64| {
            let row = axes.row(axis).iter().zip(&noise).map(move |(a, e)| scale * (a + spread * e));
            row.collect::<Vec<f64>>()
        };
        data.extend(match family {
            // Most samples in a wide cone, the others anywhere.
            "cone" if u < 0.7 => around(0, 1.0),
            "clusters" => around((u * 6.0) as usize, 0.6),
            // Each direction twice or more, in runs.
            "duplicates" => {
                let mut own = TestRandom::new(seed ^ (i as u64 / 3));
                (0..features).map(|j| axes[((i / 3) % 3, j)] + 0.8 * own.normal()).collect()
            }
            // A cluster so narrow that all of its samples tie.
            "narrow" if u < 0.8 => around(0, 0.05),
            // Opposite directions, which coincide for absolute cosines only.
            "lines" if u < 0.6 => {
                let sign = if u < 0.3 { 1.0 } else { -1.0 };
                around(0, 0.7).into_iter().map(|x| sign * x).collect()
            }
            // Many cosines of exactly 1/2.
            "edge" => {
                (0..features).map(|j| f64::from(u8::from(j == i % features || j == (i + 1) % features))).collect()
            }
            _ => noise,
        });
    }
    data
}

fn config(cosine: Cosine, ties: Ties, pivot_search: PivotSearch, seed: u64) -> Config {
    let mut config = Config::new(Method::Tae, 1);
    config = config.with_center(if seed.is_multiple_of(3) { Center::Mean } else { Center::None });
    config = config.with_seed(seed);
    let max_angle = Angle::Degrees(60.0);
    config = config.with_screen(Screen::Cone(Cone { max_angle, cosine, ties, recenter: false, pivot_search }));
    config
}

/// Number of samples outside the cone of 60 degrees around each sample, by its definition in f64.
fn counted_by_definition(data: &[f64], features: usize, cosine: Cosine, seed: u64) -> Vec<i64> {
    let n = data.len() / features;
    let mut center = vec![0.0; features];
    if config(cosine, Ties::Index, PivotSearch::Exact, seed).center() == &Center::Mean {
        data.iter().enumerate().for_each(|(at, x)| center[at % features] += x / n as f64);
    }
    let units: Vec<Vec<f64>> = data
        .chunks(features)
        .map(|row| {
            let centered: Vec<f64> = row.iter().zip(&center).map(|(x, c)| x - c).collect();
            let norm = centered.iter().map(|x| x * x).sum::<f64>().sqrt();
            centered.iter().map(|x| x / norm).collect()
        })
        .collect();
    let outside = |a: &[f64], b: &[f64]| {
        let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
        i64::from((if cosine == Cosine::Abs { dot.abs() } else { dot }) < 0.5)
    };
    units.iter().map(|a| units.iter().map(|b| outside(a, b)).sum()).collect()
}

/// The screen by elimination and by the exact count.
fn both<T: BlockElement>(data: &[T], features: usize, config_for: impl Fn(PivotSearch) -> Config) -> [FittedScreen; 2] {
    let source = SliceSource::new(data, data.len() / features, features).unwrap();
    let runner = Local::new(2).unwrap();
    [PivotSearch::Elimination, PivotSearch::Exact]
        .map(|counting| steradian::fit::screen(&config_for(counting), &source, &runner).unwrap())
}

#[test]
fn pivot_ties_and_support_equal_those_of_the_exact_count() {
    let (mut problems, mut spared) = (0, 0);
    for seed in 0..6u64 {
        for family in FAMILIES {
            for (cosine, ties) in [(Cosine::Abs, Ties::Index), (Cosine::Signed, Ties::Density)] {
                let (n, features) = (500 + 101 * seed as usize, [4, 9, 40][seed as usize % 3]);
                let x = samples(family, n, features, seed);
                let config_for = |counting| config(cosine, ties, counting, seed);
                let [quick, exact] = match seed % 3 {
                    0 => both(&x, features, config_for),
                    1 => both(&x.iter().map(|&v| v as f32).collect::<Vec<f32>>(), features, config_for),
                    _ => both(
                        &x.iter().map(|&v| (20.0 * v + 90.0).clamp(0.0, 255.0) as u8).collect::<Vec<u8>>(),
                        features,
                        config_for,
                    ),
                };
                let what = format!("{family} {cosine:?} {seed}");
                let (quick_cone, exact_cone) = (quick.cone.unwrap(), exact.cone.unwrap());
                assert_eq!(quick_cone.pivot, exact_cone.pivot, "{what}");
                assert_eq!(quick.support, exact.support, "{what}");
                let least = exact_cone.tau_min();
                let tied = |tau: &[i64]| (0..n).filter(|&i| tau[i] == least).collect::<Vec<_>>();
                assert_eq!(tied(&quick_cone.tau), tied(&exact_cone.tau), "{what}");
                assert!(quick_cone.tau.iter().all(|&tau| tau >= least), "{what}");
                let elimination = quick_cone.elimination.unwrap();
                assert!(exact_cone.elimination.is_none() && elimination.excess == 0);
                if seed.is_multiple_of(3) && family != "edge" {
                    let counted = counted_by_definition(&x, features, cosine, seed);
                    assert_eq!(exact_cone.tau, counted, "{what}: the exact count");
                }
                // Recounted samples have their exact tau. The others have an estimate from at least 192 anchors with a
                // standard deviation of at most n / 28; an error of six standard deviations does not occur.
                let right = (0..n).filter(|&i| quick_cone.tau[i] == exact_cone.tau[i]).count();
                assert!(right >= elimination.recounted, "{what}: {right} right, {elimination:?}");
                assert!(elimination.anchors >= 192 && elimination.rounds > 0, "{what}: {elimination:?}");
                let off = (0..n).map(|i| quick_cone.tau[i].abs_diff(exact_cone.tau[i])).max().unwrap();
                assert!(off as f64 <= 6.0 * n as f64 / 28.0, "{what}: an estimate is off by {off} of {n}");
                problems += 1;
                spared += usize::from(10 * elimination.recounted < 9 * n);
            }
        }
    }
    // Uniform samples and ties eliminate few candidates, but many problems must use the sequential test.
    assert!(problems >= 50 && spared >= 25, "{spared} of {problems}");
}

#[test]
fn a_model_reports_its_pivot_search_and_is_byte_identical_for_any_number_of_threads() {
    let (n, features) = (1500, 12);
    let x = samples("cone", n, features, 5);
    let source = SliceSource::new(&x, n, features).unwrap();
    let config_for = config(Cosine::Abs, Ties::Index, PivotSearch::Elimination, 5);
    let model = fit(&config_for, &source, 1).unwrap();
    let bytes = model.to_bytes().unwrap();
    for threads in [2, 7] {
        assert!(fit(&config_for, &source, threads).unwrap().to_bytes().unwrap() == bytes, "{threads} threads");
    }
    assert_eq!(Model::from_bytes(&bytes).unwrap(), model);
    let metadata = model.metadata();
    assert_eq!(metadata["parameters"]["exact"], false);
    assert_eq!(metadata["parameters"]["pivot_search"], "elimination");
    assert_eq!(metadata["elimination"]["failure_probability"], 1e-6);
    assert!(metadata["elimination"]["recounted"].as_u64().unwrap() < n as u64);
    // The estimates of samples that were not counted exceed the smallest tau.
    let cone = model.report.cone.unwrap();
    assert!(cone.tau.iter().enumerate().all(|(i, &tau)| tau > cone.tau_min() || i >= cone.pivot));
}

#[test]
fn small_problems_count_all_pairs_by_default() {
    let x = samples("cone", 400, 6, 1);
    let source = SliceSource::new(&x, 400, 6).unwrap();
    let model = fit(&config(Cosine::Abs, Ties::Index, PivotSearch::Auto, 1), &source, 2).unwrap();
    assert!(model.report.cone.as_ref().unwrap().elimination.is_none());
    assert_eq!(model.metadata()["parameters"]["exact"], true);
}

#[test]
fn samples_at_the_center_are_never_candidates_and_always_outside() {
    let (n, features) = (600, 5);
    let mut x = samples("cone", n, features, 2);
    (0..n).filter(|i| i % 7 == 0).for_each(|i| x[i * features..(i + 1) * features].fill(0.0));
    for angle in [40.0, 90.0] {
        let config_for = |counting| {
            let mut config = config(Cosine::Abs, Ties::Index, counting, 1);
            config = config.with_screen(Screen::Cone(Cone {
                max_angle: Angle::Degrees(angle),
                pivot_search: counting,
                ..Cone::default()
            }));
            config
        };
        let [quick, exact] = both(&x, features, config_for);
        assert_eq!(quick.support, exact.support);
        let (quick, exact) = (quick.cone.unwrap(), exact.cone.unwrap());
        assert_eq!(quick.pivot, exact.pivot);
        assert!((0..n).all(|i| (quick.tau[i] == n as i64 + 1) == (i % 7 == 0)));
        assert_eq!(quick.tau_min(), exact.tau_min());
    }
}
