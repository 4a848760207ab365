//! Data that change during a fit: an error or a finite result, never a panic or an endless loop.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{TestRandom, solvers};
use steradian::config::Scaling;
use steradian::data::{Block, BlockData, Rows, Shape};
use steradian::{Center, Config, Local, Method, Result, SliceSource, Source};

/// A source that returns other numbers on every read, or from some read on.
struct Changing {
    shape: Shape,
    reads: AtomicUsize,
    /// Reads that return the first numbers.
    constant: usize,
    kind: u64,
}

impl Changing {
    fn new(kind: u64, constant: usize) -> Self {
        let values = [0.0f64; 1];
        let shape = Shape { samples: 64, features: 5, ..SliceSource::new(&values, 1, 1).unwrap().shape().clone() };
        Self { shape, reads: AtomicUsize::new(0), constant, kind }
    }
}

impl Source for Changing {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let read = self.reads.fetch_add(1, Ordering::Relaxed);
        let changed = read >= self.constant;
        let value = |i: usize, j: usize| {
            let mut numbers = TestRandom::new((i * 31 + j) as u64 + if changed { 1000 * read as u64 } else { 0 });
            let x = numbers.normal() + j as f64;
            match (changed, self.kind) {
                (false, _) | (true, 0) => x,
                (true, 1) => f64::NAN,
                (true, 2) => f64::INFINITY,
                (true, 3) => 0.0,
                (true, 4) => x * 1e307,
                (true, 5) => x * 1e-307,
                (true, 6) => [f64::NAN, 1.7e308, -1.7e308, 0.0, 1.0][(i + j + read) % 5],
                _ => -x,
            }
        };
        let data: Vec<f64> = rows.clone().flat_map(|i| (0..5).map(move |j| (i, j))).map(|(i, j)| value(i, j)).collect();
        visit(Block::new(rows.start, BlockData::F64(Rows::contiguous(&data, rows.len(), 5)?)))
    }
}

#[test]
fn numbers_that_change_give_an_error_or_a_finite_result() {
    let (mut errors, mut models) = (0, 0);
    for kind in 0..8 {
        for method in Method::ALL {
            for &solver in solvers(method) {
                for (center, scaling) in
                    [(None, Scaling::None), (Some(Center::Median), Scaling::None), (None, Scaling::Mad)]
                {
                    if center.is_some() && method.is_cellwise() {
                        continue; // these methods have no choice of the center
                    }
                    for constant in [1, 2, 9, 40] {
                        let mut config = Config::new(method, 2).with_solver(solver).with_scaling(scaling);
                        config = match &center {
                            Some(center) => config.with_center(center.clone()),
                            None => config,
                        };
                        match steradian::fit(&config, &Changing::new(kind, constant), &Local::new(1).unwrap()) {
                            Ok(model) => {
                                models += 1;
                                let finite = model.subspace.components.data().iter().all(|x| x.is_finite());
                                assert!(finite, "{} {} kind {kind}", method.name(), solver.name());
                                assert!(model.subspace.center.iter().all(|x| x.is_finite()));
                            }
                            Err(error) => {
                                errors += 1;
                                crate::common::message_of(&error);
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{errors} errors, {models} models");
    assert!(errors > 0 && models > 0);
}
