//! The cone screen of the trimmed angular embedding: the support is the cone around the sample with the smallest tau.
//!
//! | paper | here |
//! |---|---|
//! | eta | `max_angle`, in degrees |
//! | C = U'U | `cosines`, if it is in memory; else tiles of it, one at a time |
//! | tau_i = Count(u_i'U < cos eta) | `tau[i]` |
//! | tau_min | `tau[pivot]` |
//!
//! A sample is inside a cone if its cosine to the pivot is at least cos eta - 4 eps. Cost: one pair pass of n^2 D
//! flops, or none if the Gram matrix is in memory, or the rounds of [`elimination`]; and one pass for the support.

use rayon::prelude::*;

use super::elimination::{self, Eliminated};
use super::report::{ConeReport, Elimination};
use super::unit_directions::unit_directions;
use crate::config::options::Weighting;
use crate::config::screen::{Angle, Cone, Cosine, PivotSearch, Ties};
use crate::data::element::ElementType;
use crate::data::source::read_sample;
use crate::data::source::{Shape, Source};
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{
    AnchorCounts, Anchors, CONE_TILE_ROWS, Coefficients, ConeCounts, ConePredicate, NeighborCounts, OperatorProduct,
    Projection, ProjectionUnits, WeightedRows, exact_cosine,
};
use crate::kernel::operand::Precision;
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::Matrix;

/// Margin below the threshold, so that exact ties are inside on every CPU.
const TIE_TOLERANCE: f64 = 4.0 * f64::EPSILON;
/// Margin below the automatic threshold, which is itself a computed cosine.
const AUTO_TOLERANCE: f64 = 1e-12;
/// Bytes of the cosines between one group of samples and all samples.
const GROUP_BYTES: usize = 32 << 20;
/// Relative difference up to which sums of squared cosines are tied.
const DENSITY_TIE: f64 = 1e-12;

/// Samples relative to a center, and their n x n matrix of cosines if it is in memory.
pub(crate) struct ConeInput<'a> {
    pub source: &'a dyn Source,
    pub center: &'a [f64],
    pub cosines: Option<&'a Matrix>,
    /// One flag per sample: it has a non-zero norm. Given together with `cosines`.
    pub active: Option<&'a [bool]>,
    /// The seed of random choices.
    pub seed: u64,
}

/// Finds the pivot and the support, the samples inside its cone.
pub(crate) fn screen(cone: &Cone, directed: &ConeInput<'_>, runner: &impl Runner) -> Result<(ConeReport, Vec<bool>)> {
    let n = directed.source.shape().samples;
    let (degrees, threshold) = match cone.max_angle {
        Angle::Degrees(degrees) => (degrees, degrees.to_radians().cos() - TIE_TOLERANCE),
        Angle::Auto => {
            let cosine = half_cone(cone.cosine, directed, runner)?.max(0.0);
            (cosine.min(1.0).acos().to_degrees(), cosine - AUTO_TOLERANCE)
        }
    };
    let rule = ConePredicate::new(directed.directions(), cone.cosine, threshold);
    let found = match directed.cosines {
        None if eliminates(cone, directed.source.shape()) => {
            let Eliminated { tau, tied, active, report } =
                elimination::eliminate(&rule, directed.source, directed.seed, runner)?;
            ConeTotals { tau, tied, active, elimination: Some(report) }
        }
        None => {
            ConeTotals::all(runner.run_pairs(&ConeCounts::new(rule.clone(), n), directed.source, CONE_TILE_ROWS)?)?
        }
        Some(cosines) => ConeTotals::all(directed.count(&rule, cosines, runner)?)?,
    };
    let pivot = match cone.ties {
        Ties::Density if found.tied.len() > 1 => densest(&found.tied, directed, runner)?,
        _ => found.tied[0],
    };
    let support = directed.inside(&rule, pivot, &found.active, runner)?;
    let ConeTotals { tau, elimination, .. } = found;
    Ok((ConeReport { pivot, tau, max_angle: degrees, elimination }, support))
}

/// True if the pivot search without a Gram matrix uses successive elimination.
pub(crate) fn eliminates(cone: &Cone, shape: &Shape) -> bool {
    match cone.pivot_search {
        PivotSearch::Auto => elimination::pays(shape),
        PivotSearch::Exact => false,
        PivotSearch::Elimination => true,
    }
}

/// Tau of each sample, and the candidates for the pivot.
struct ConeTotals {
    tau: Vec<i64>,
    /// The samples with the smallest tau, in increasing order.
    tied: Vec<usize>,
    active: Vec<bool>,
    elimination: Option<Elimination>,
}

impl ConeTotals {
    /// Totals from the exact numbers of neighbors of all samples.
    fn all(counts: NeighborCounts) -> Result<Self> {
        let n = counts.active.len() as i64;
        let tau_of = |(&inside, &active): (&u32, &bool)| if active { n - i64::from(inside) } else { n + 1 };
        let tau = counts.neighbors.iter().zip(&counts.active).map(tau_of).collect_reserved();
        let least = *tau.iter().min().expect("at least two samples");
        if least > n {
            return Err(Error::invalid_data(
                "all rows are equal to the center, so there is no direction to find; use rows that differ",
            ));
        }
        let tied = (0..tau.len()).filter(|&i| tau[i] == least).collect();
        Ok(Self { tau, tied, active: counts.active, elimination: None })
    }
}

impl ConeInput<'_> {
    fn directions(&self) -> WeightedRows<'_> {
        WeightedRows::new(self.center, Weighting::InverseNorm, None)
    }

    fn element(&self) -> ElementType {
        self.source.shape().element
    }

    fn exact_cosine(&self, i: usize, j: usize) -> Result<f64> {
        let mut cosine = 0.0;
        self.source.visit(i..i + 1, &mut |a| {
            self.source.visit(j..j + 1, &mut |b| {
                cosine = exact_cosine((&a, 0), (&b, 0), self.center);
                Ok(())
            })
        })?;
        Ok(cosine)
    }

    /// Neighbor counts from the matrix of cosines. Each row is counted separately, so threads share no state.
    fn count(&self, rule: &ConePredicate<'_>, cosines: &Matrix, runner: &impl Runner) -> Result<NeighborCounts> {
        let n = cosines.rows();
        let active = self.active.expect("`active` is given together with `cosines`").to_vec();
        let count = |i: usize| -> Result<u32> {
            if !active[i] {
                return Ok(0);
            }
            let mut inside = 1;
            for (j, &cosine) in cosines.row(i).iter().enumerate().filter(|(j, _)| *j != i && active[*j]) {
                inside += u32::from(self.decide(rule, cosine, i, j)?);
            }
            Ok(inside)
        };
        let neighbors = runner.compute(|| (0..n).into_par_iter().map(count).collect::<Result<Vec<_>>>())?;
        Ok(NeighborCounts { neighbors, active })
    }

    fn decide(&self, rule: &ConePredicate<'_>, cosine: f64, i: usize, j: usize) -> Result<bool> {
        let mut failure = None;
        let inside = rule.near(cosine, || {
            // A fixed order of the pair, so that both of its rows get the same result.
            self.exact_cosine(i.min(j), i.max(j)).unwrap_or_else(|e| {
                failure = Some(e);
                0.0
            })
        });
        failure.map_or(Ok(inside), Err)
    }

    /// The support: the samples in the cone around the pivot. One pass without `cosines`.
    fn inside(
        &self,
        rule: &ConePredicate<'_>,
        pivot: usize,
        active: &[bool],
        runner: &impl Runner,
    ) -> Result<Vec<bool>> {
        let mut support = memory::filled(active.len(), false);
        let active_samples = (0..active.len()).filter(|&j| active[j]);
        if let Some(cosines) = self.cosines {
            let row = cosines.row(pivot);
            for j in active_samples {
                support[j] = j == pivot || self.decide(rule, row[j], pivot, j)?;
            }
            return Ok(support);
        }
        // Cosines near the threshold are recomputed exactly within the pass, where the samples are in memory.
        let anchors = Anchors::new(rule, &[pivot], &read_sample(self.source, pivot)?, None)?;
        let found = runner.run(&AnchorCounts::new(rule, &anchors, active), self.source)?;
        for (j, [near, far]) in active_samples.zip(found.inside) {
            support[j] = j == pivot || near + far > 0;
        }
        Ok(support)
    }

    /// Cosines between some samples and all samples, k x n, and the mask of active samples; columns of the other
    /// samples are zero. Cost: one pass.
    fn cosines_to(&self, samples: &[usize], runner: &impl Runner) -> Result<(Matrix, Vec<bool>)> {
        let units = unit_directions(samples, self.center, self.source)?;
        let found = runner.run(
            &Projection::new(self.directions(), &units, ProjectionUnits::Direction, Precision::Double, self.element()),
            self.source,
        )?;
        let mut cosines = Matrix::zeros(samples.len(), found.active.len());
        let active_samples = found.active.iter().enumerate().filter(|(_, active)| **active);
        for ((j, _), values) in active_samples.zip(found.values.chunks(samples.len())) {
            values.iter().enumerate().for_each(|(i, c)| cosines[(i, j)] = *c);
        }
        Ok((cosines, found.active))
    }
}

/// Samples per pass of the automatic angle.
pub(crate) fn group_size(samples: usize) -> usize {
    (GROUP_BYTES / 8 / samples).clamp(1, 256)
}

/// The cosine of the half-angle of the smallest cone around a sample that contains half of the active samples.
fn half_cone(cosine: Cosine, directed: &ConeInput<'_>, runner: &impl Runner) -> Result<f64> {
    let n = directed.source.shape().samples;
    let folded = |c: f64| if cosine == Cosine::Abs { c.abs() } else { c };
    let mut widest = f64::NEG_INFINITY;
    let group = group_size(n);
    for start in (0..n).step_by(group) {
        let samples: Vec<usize> = (start..(start + group).min(n)).collect();
        // Rows of the matrix if it is in memory, else one pass per group.
        let (rows, active) = match (directed.cosines, directed.active) {
            (Some(cosines), Some(active)) => {
                let rows = memory::copied(&cosines.data()[start * n..][..samples.len() * n]);
                (Matrix::from_vec(samples.len(), n, rows), active.to_vec())
            }
            _ => directed.cosines_to(&samples, runner)?,
        };
        for (row, _) in samples.iter().enumerate().filter(|(_, sample)| active[**sample]) {
            let mut values = (0..n).filter(|&j| active[j]).map(|j| folded(rows[(row, j)])).collect_reserved();
            let half = values.len().div_ceil(2) - 1;
            let (_, value, _) = values.select_nth_unstable_by(half, |a, b| b.total_cmp(a));
            widest = widest.max(*value);
        }
    }
    Ok(widest)
}

/// The sample with the largest sum of squared cosines to all samples; among ties the one with the lowest index.
fn densest(samples: &[usize], directed: &ConeInput<'_>, runner: &impl Runner) -> Result<usize> {
    let mut densities = Vec::with_capacity(samples.len());
    for group in samples.chunks(32) {
        let units = unit_directions(group, directed.center, directed.source)?;
        // u' (sum u_j u_j') u is the sum of squared cosines.
        let (z, _) = runner.run(
            &OperatorProduct::new(
                directed.directions(),
                Coefficients::Project(&units),
                Precision::Double,
                directed.element(),
            ),
            directed.source,
        )?;
        densities.extend((0..group.len()).map(|c| (0..z.rows()).map(|j| z[(j, c)] * units[(j, c)]).sum::<f64>()));
    }
    let largest = densities.iter().fold(0.0f64, |m, d| m.max(*d));
    // Without a largest density, which only data that change during the fit can cause, the first sample is as good.
    let first = densities.iter().position(|d| *d >= largest * (1.0 - DENSITY_TIE)).unwrap_or(0);
    Ok(samples[first])
}
