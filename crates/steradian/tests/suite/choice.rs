//! The solver depends on shape, element type and configuration, not on the number of threads.

use steradian::data::{ElementType, Shape};
use steradian::{ComponentCount, Config, Method, Plan, Solver};

const THREADS: [usize; 4] = [1, 2, 7, 64];
const METHODS: [Method; 7] = Method::ALL;
const TYPES: [ElementType; 4] = [ElementType::U8, ElementType::U16, ElementType::F32, ElementType::F64];

/// The solver, or the message of the error.
fn chosen(config: &Config, shape: &Shape, threads: usize) -> Result<Solver, String> {
    Plan::new(config, shape, threads).map(|plan| plan.solver).map_err(|error| error.to_string())
}

fn shape(samples: usize, features: usize, element: ElementType) -> Shape {
    Shape { samples, features, element, image: None }
}

#[test]
fn threads_do_not_change_the_solver_at_the_edge_of_the_default_memory() {
    let config = Config::new(Method::Tae, 2);
    let shape = shape(11_400, 2000, ElementType::U8);
    let solvers = THREADS.map(|threads| chosen(&config, &shape, threads).unwrap());
    assert!(solvers.iter().all(|solver| *solver == solvers[0]), "{solvers:?} on {THREADS:?} threads");
}

#[test]
fn threads_change_neither_the_solver_nor_what_a_limit_rejects() {
    let mut wrong = Vec::new();
    let (mut narrowed, mut rejected) = (0, 0);
    let samples = [40, 900, 3000, 8000, 11_000, 11_300, 11_400, 11_500, 11_585, 12_000, 60_000, 1_000_000];
    for samples in samples {
        for features in [12, 300, 2000, 5500, 11_400, 90_000] {
            for element in TYPES {
                let shape = shape(samples, features, element);
                for method in METHODS {
                    for d in [2, 10] {
                        let base = Config::new(method, ComponentCount::Count(d));
                        let free = chosen(&base, &shape, 2).unwrap();
                        for limit in [None, Some(12 << 20), Some(24 << 20), Some(100 << 20), Some(1 << 30)] {
                            let config = base.clone().with_memory_limit(limit);
                            let choices = THREADS.map(|threads| chosen(&config, &shape, threads));
                            if choices.iter().any(|choice| *choice != choices[0]) {
                                wrong.push(format!("{shape:?} {method:?} -d {d}, limit {limit:?}: {choices:?}"));
                            }
                            rejected += usize::from(choices[0].is_err());
                            narrowed += usize::from(choices[0].as_ref().is_ok_and(|solver| *solver != free));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} choices differ:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(narrowed > 40 && rejected > 100, "limits narrowed {narrowed} choices and rejected {rejected} fits");
}

/// The reported memory is that of the given number of threads.
#[test]
fn the_reported_memory_grows_with_threads() {
    let config = Config::new(Method::Ae, 2).with_solver(Solver::Gram);
    let peak = |threads| Plan::new(&config, &shape(3000, 300, ElementType::F32), threads).unwrap().peak_memory_bytes;
    assert!(peak(1) < peak(2) && peak(2) < peak(7) && peak(7) < peak(64));
}
