//! The pull of all samples on a point: the sum of unit directions towards them, whose zero is the spatial median.
//!
//! | symbol | here |
//! |---|---|
//! | y | `point` |
//! | sum over x != y of (x - y) / norm(x - y) | `pull` |
//! | sum of 1 / norm(x - y) | `inverse_lengths` |
//!
//! Weiszfeld's step is y + pull / inverse_lengths. Cost: one pass, 4 n D flops.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::block::{Block, each_element};
use crate::element::Element;
use crate::error::Result;
use crate::kernel::panel;
use crate::pass::Fold;

/// The pull of the kept samples on a point.
#[derive(Debug, Clone, Copy)]
pub struct Pull<'a> {
    point: &'a [f64],
    kept: Option<&'a [bool]>,
    coincidence: f64,
}

impl<'a> Pull<'a> {
    /// The pull on `point`; samples within `coincidence` of it count as lying on it.
    pub fn new(point: &'a [f64], kept: Option<&'a [bool]>, coincidence: f64) -> Self {
        Self { point, kept, coincidence }
    }
}

/// What the samples so far do to the point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PullSum {
    /// The sum of unit directions towards the samples.
    pub pull: Vec<f64>,
    /// The sum of inverse distances.
    pub inverse_lengths: f64,
    /// The sum of distances: what the spatial median minimises.
    pub lengths: f64,
    /// How many samples lie on the point.
    pub coincident: u64,
    /// The nearest other sample and its distance.
    pub nearest: Option<(usize, f64)>,
}

impl Fold for Pull<'_> {
    type Sum = PullSum;
    type Out = PullSum;

    fn name(&self) -> &'static str {
        "spatial median"
    }

    fn sum_bytes(&self) -> usize {
        self.point.len() * 8
    }

    fn empty(&self) -> PullSum {
        PullSum { pull: vec![0.0; self.point.len()], inverse_lengths: 0.0, lengths: 0.0, coincident: 0, nearest: None }
    }

    fn add(&self, sum: &mut PullSum, block: &Block<'_>) -> Result<()> {
        let lengths: Vec<f64> = panel::chunks(block.rows(), 32)
            .collect::<Vec<_>>()
            .into_par_iter()
            .flat_map_iter(|rows| panel::lengths(block, rows, self.point).into_iter().map(|l| l.from_center))
            .collect();
        let mut weights = vec![0.0; lengths.len()];
        for (row, (length, weight)) in lengths.into_iter().zip(&mut weights).enumerate() {
            let sample = block.first() + row;
            if self.kept.is_some_and(|kept| !kept[sample]) {
                continue;
            }
            if length <= self.coincidence {
                sum.coincident += 1;
                continue;
            }
            *weight = 1.0 / length;
            sum.inverse_lengths += *weight;
            sum.lengths += length;
            if sum.nearest.is_none_or(|(_, nearest)| length < nearest) {
                sum.nearest = Some((sample, length));
            }
        }
        each_element!(block, data => {
            sum.pull.par_chunks_mut(panel::COLUMNS).enumerate().for_each(|(panel, pull)| {
                let start = panel * panel::COLUMNS;
                let point = &self.point[start..start + pull.len()];
                for (row, w) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                    match data.row(row, start, start + pull.len()) {
                        Some(row) => pull.iter_mut().zip(row).zip(point).for_each(|((p, x), y)| *p += (x.widen() - y) * w),
                        None => pull.iter_mut().zip(point).enumerate().for_each(|(j, (p, y))| {
                            *p += (data.get(row, start + j).widen() - y) * w;
                        }),
                    }
                }
            });
        });
        Ok(())
    }

    fn merge(&self, left: PullSum, right: PullSum) -> PullSum {
        let nearest = match (left.nearest, right.nearest) {
            (Some(a), Some(b)) => Some(if b.1 < a.1 { b } else { a }),
            (a, b) => a.or(b),
        };
        PullSum {
            pull: super::add_all(left.pull, &right.pull),
            inverse_lengths: left.inverse_lengths + right.inverse_lengths,
            lengths: left.lengths + right.lengths,
            coincident: left.coincident + right.coincident,
            nearest,
        }
    }

    fn finish(&self, sum: PullSum) -> Result<PullSum> {
        Ok(sum)
    }
}
