//! The memory of a fit against its plan, by a counting allocator: never more than planned, and not much less; a memory limit
//! is kept with fewer threads, or rejected with numbers; nothing runs on threads other than those of the runner.
//!
//! `STERADIAN_MEMORY_GRID=full` runs larger shapes, all numbers of threads and all combinations; it takes minutes.

use crate::common::{alone, solvers, threads_of_process, wait_for_threads};
use crate::plan::{HEAP, samples};
use steradian::config::{Angle, Cone, PivotSearch, Scaling, Screen};
use steradian::data::BlockElement;
use steradian::model::CutoffKind;
use steradian::{Center, ComponentCount, Config, Error, Local, Method, Plan, SliceSource, Solver};

const MIB: f64 = (1 << 20) as f64;
/// Largest difference of plan and measurement: this many bytes, or this fraction of the measurement.
const SLACK: f64 = 8.0 * MIB;
const FRACTION: f64 = 0.25;

/// True for the long form of the grid.
fn full() -> bool {
    std::env::var_os("STERADIAN_MEMORY_GRID").is_some_and(|form| form == "full")
}

/// Methods, and options that take memory of their own.
fn configs() -> Vec<(Config, &'static str)> {
    let mut configs: Vec<(Config, &str)> = Method::ALL.into_iter().map(|method| (Config::new(method, 2), "")).collect();
    let cone = |cone: Cone| Config::new(Method::Tae, 2).with_screen(Screen::Cone(cone));
    configs.push((Config::new(Method::Ae, 2).with_center(Center::Median), "median"));
    configs.push((Config::new(Method::Ae, 2).with_scaling(Scaling::Mad), "scaled"));
    configs.push((cone(Cone { pivot_search: PivotSearch::Elimination, ..Cone::default() }), "elimination"));
    configs.push((cone(Cone { max_angle: Angle::Auto, recenter: true, ..Cone::default() }), "automatic angle"));
    configs.push((Config::new(Method::Angular, ComponentCount::VarianceFraction(0.6)), "fraction"));
    configs
}

/// The measured and the planned cost of fits.
#[derive(Default)]
struct Grid {
    /// Threads of the process before the fits.
    threads: Option<usize>,
    fits: usize,
    narrowed: usize,
    rejected: usize,
    wrong: Vec<String>,
}

impl Grid {
    /// Fits on some threads: without a limit, then with the memory of one thread as the limit, and with less.
    fn check<T: BlockElement>(
        &mut self,
        data: &[T],
        (n, features): (usize, usize),
        config: &Config,
        what: &str,
        threads: usize,
    ) {
        let source = SliceSource::new(data, n, features).unwrap();
        let plan = |config: &Config, threads| Plan::for_source(config, &source, threads);
        let least = plan(config, 1).unwrap().peak_memory_bytes;
        let mut measure = |config: &Config, plan: &Plan| {
            wait_for_threads(self.threads);
            let before = HEAP.current_usage();
            HEAP.reset_peak_usage();
            let fitted = Local::new(threads).and_then(|runner| steradian::fit(config, &source, &runner));
            let measured = (HEAP.peak_usage() - before) as f64;
            let planned = plan.peak_memory_bytes as f64;
            let line = format!(
                "{n} x {features} {} {} {what} {} threads {}: {:.1} MiB planned, {:.1} MiB measured",
                T::TYPE,
                config.method().name(),
                plan.solver.name(),
                plan.threads,
                planned / MIB,
                measured / MIB
            );
            let error = fitted
                .err()
                .filter(|error| !matches!(error, Error::RankTooSmall { .. } | Error::InvalidArgument { .. }));
            // Which of several threads take part in a stage, and allocate for it, depends on their scheduling. So the memory of
            // one thread is the least.
            let over = planned.min(least as f64) - measured;
            let bad = measured > planned || over > SLACK.max(FRACTION * measured) || error.is_some();
            println!("{}{line} {}", if bad { "OFF " } else { "" }, error.map_or(String::new(), |e| e.to_string()));
            self.fits += 1;
            if bad {
                self.wrong.push(line);
            }
        };
        let free = plan(config, threads).unwrap();
        measure(config, &free);
        let mut limited = config.clone().with_memory_limit(least);
        if !config.method().is_cellwise() {
            limited = limited.with_solver(free.solver);
        }
        let narrow = plan(&limited, threads).unwrap();
        assert!(narrow.peak_memory_bytes <= least && narrow.threads <= threads, "{what}: {narrow:?}");
        if narrow.threads < threads {
            measure(&limited, &narrow);
            self.narrowed += 1;
        }
        let below = limited.with_memory_limit(least - 1);
        match plan(&below, threads) {
            Err(Error::OverMemory { needed, limit, .. }) => assert_eq!((needed, limit), (least, least - 1), "{what}"),
            other => panic!("{what} with a limit below its need: {other:?}"),
        }
        self.rejected += 1;
    }
}

#[test]
fn a_fit_takes_the_memory_of_its_plan() {
    if !alone("memory::a_fit_takes_the_memory_of_its_plan") {
        return;
    }
    let byte = |x: f64| x.clamp(0.0, 255.0) as u8;
    let mut grid = Grid { threads: threads_of_process(), ..Grid::default() };
    let shapes: &[(usize, usize)] = match full() {
        true => &[(2_000_000, 2), (250_000, 9), (3000, 700), (700, 3000), (90, 9000), (60, 40_000), (1200, 90)],
        false => &[(400_000, 2), (900, 110), (80, 1200)],
    };
    for &(n, features) in shapes {
        let double = samples(n, features, |x| x);
        let single: Vec<f32> = double.iter().map(|x| *x as f32).collect();
        let bytes: Vec<u8> = double.iter().map(|x| byte(*x)).collect();
        for (k, (base, note)) in configs().into_iter().enumerate() {
            let tall = n > 20_000;
            let pairs = base.method() == Method::Tae && note != "elimination";
            let long = note == "automatic angle" || note == "fraction";
            let short = matches!(base.method(), Method::Robust | Method::Pca) && note.is_empty();
            if tall && (pairs || long || !full() && !short) || (long && !full() && features < 1000) {
                continue;
            }
            for (s, solver) in [Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov].into_iter().enumerate() {
                if base.method().is_cellwise() && solver != Solver::Auto {
                    continue;
                }
                if (solver == Solver::Scatter && features > 3000) || (solver == Solver::Gram && n > 3000) {
                    continue;
                }
                if (tall || long) && solver != Solver::Auto && !full() {
                    continue;
                }
                let config = base.clone().with_solver(solver);
                for (t, threads) in [1, 2, 7].into_iter().enumerate() {
                    // The short form takes one number of threads and one type for each combination, in turn.
                    if !full() && t != (k + s) % 3 {
                        continue;
                    }
                    let turn = (k + s + t) % 3;
                    if full() || turn == 0 {
                        grid.check(&double, (n, features), &config, note, threads);
                    }
                    if full() || turn == 1 {
                        grid.check(&single, (n, features), &config, note, threads);
                    }
                    if full() || turn == 2 {
                        grid.check(&bytes, (n, features), &config, note, threads);
                    }
                }
            }
        }
    }
    println!("{} fits, {} of them with fewer threads, {} limits rejected", grid.fits, grid.narrowed, grid.rejected);
    assert!(grid.wrong.is_empty(), "{} of {} fits:\n{}", grid.wrong.len(), grid.fits, grid.wrong.join("\n"));
    assert!(grid.fits > 60 && grid.narrowed > 10, "{} fits, {} with fewer threads", grid.fits, grid.narrowed);
}

#[test]
fn every_step_runs_on_the_threads_of_the_runner() {
    if !alone("memory::every_step_runs_on_the_threads_of_the_runner") {
        return;
    }
    let (n, features) = (600, 70);
    let data = samples(n, features, |x| x as f32);
    let source = SliceSource::new(&data, n, features).unwrap();
    let runner = Local::new(3).unwrap();
    let before = threads_of_process();
    for (base, _) in configs() {
        for &solver in solvers(base.method()) {
            let model = steradian::fit(&base.clone().with_solver(solver), &source, &runner).unwrap();
            model.transform(&source, &runner).unwrap();
            model.reconstruct(&source, &runner).unwrap();
            model.diagnose(&source, &runner, CutoffKind::New).unwrap();
        }
        steradian::fit::screen(&base, &source, &runner).unwrap();
    }
    assert_eq!(threads_of_process(), before);
    // Rayon starts its global pool once, with the first work outside of any pool.
    let global = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    assert!(global.is_ok(), "rayon's global pool was started: {global:?}");
}

#[test]
fn too_many_threads_and_directions_are_rejected() {
    let error = Local::new(1 << 40).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("threads = 1099511627776 exceeds 4096"), "{error}");
    let data = [0.0, 0.0, 1.0, 2.0, 2.0, 4.0, -1.0, -2.0, -2.0, -4.0, 3.0, 1.0];
    let source = SliceSource::new(&data, 6, 2).unwrap();
    let mut config = Config::new(Method::Robust, 1);
    let Screen::Outlyingness(screen) = config.screen() else { panic!("{:?}", config.screen()) };
    let mut screen = screen.clone();
    screen.n_directions = 1_000_000_000;
    config = config.with_screen(Screen::Outlyingness(screen));
    let error = Plan::for_source(&config, &source, 1).unwrap_err();
    assert!(error.to_string().starts_with("n_directions = 1000000000 exceeds 1000000"), "{error}");
}
