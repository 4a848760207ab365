//! Successive elimination: the pivot of the cone without an exact count over all pairs of samples.
//!
//! | symbol | here |
//! |---|---|
//! | tau_i, the number of samples outside the cone around i | `tau[i]` |
//! | m anchors, drawn without replacement, independently in each round | `Anchors` |
//! | the leader l of a round, chosen before its anchors are drawn | `leader` |
//! | b_i, the number of anchors near l and not near i | `losses` |
//! | g_i, the number of anchors near i and not near l | `wins` |
//!
//! A candidate is eliminated when the [sequential test](super::sequential_test) rejects that its tau is at most the
//! leader's. The tau of the pivot is at most that of any leader, so the pivot is eliminated with probability at most
//! [`FAILURE_PROBABILITY`] / 2 over all rounds; no union bound over candidates is needed. The remaining candidates are
//! counted exactly, with a [`Shell`] if there are many.
//!
//! If too many candidates remain, because of ties or near-ties for which no shell is cheap enough, only the best of
//! them are counted, and [`Search::excess`] bounds the difference to the smallest tau.
//!
//! [Decision 24](../../../docs/decisions/24-elimination-and-its-guarantee.md) has the proof.
//!
//! Cost: two passes per round; 2 D flops per pair, for the number of pairs see [`Search::rounds`]; about 60 bytes per
//! sample.

use super::report::Elimination;
use super::sequential_test::{FAILURE_PROBABILITY, is_eliminated, mean_at_least, mean_at_most};
use super::triangle_bounds::Shell;
use super::unit_directions::unit_directions;
use crate::config::options::Weighting;
use crate::data::source::read_sample;
use crate::data::source::{Shape, Source};
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{
    AnchorCounts, Anchors, Coefficients, ConePredicate, ConeSizes, OperatorProduct, Projection, ProjectionUnits,
    SelectRows, WeightedRows,
};
use crate::kernel::operand::Precision;
use crate::memory::{self, CollectReserved};
use crate::numeric::random::{Stream, nth_subsample};

/// Largest number of operations of an exact count: about one minute at 1e11 operations per second, which two cores of
/// 2020 reach.
const EXACT_PAIRS_MAX_OPS: f64 = 6e12;
/// Number of anchors of the first round, which only selects a leader.
const FIRST_ANCHORS: usize = 64;
/// Number of anchors per round while all candidates remain; later rounds use more anchors for the same number of pairs.
const ANCHORS: usize = 128;
/// Largest number of anchors per pass: more anchors only make tiles larger.
const MAX_ANCHORS: usize = 1024;
/// Largest number of bytes of the anchors of one pass.
const ANCHOR_BYTES: usize = 48 << 20;
/// Smallest budget of the rounds, in pairs per sample.
const MIN_BUDGET: f64 = 1024.0;
/// Rounds end after this many anchors that eliminated fewer than 1 % of the candidates per round: more anchors do not
/// separate ties.
const MAX_IDLE_ANCHORS: usize = 2048;
/// Largest number of candidates that are counted against all samples without trying a shell.
const MAX_DIRECT_RECOUNT: usize = 256;

/// True if the exact count exceeds [`EXACT_PAIRS_MAX_OPS`]. Depends on the shape alone, so that models do not depend on
/// the speed of a CPU.
pub(crate) fn pays(shape: &Shape) -> bool {
    (shape.samples as f64).powi(2) * shape.features as f64 > EXACT_PAIRS_MAX_OPS
}

/// Largest number of anchors per pass for data with this number of features.
pub(crate) fn anchors_at_once(features: usize) -> usize {
    // Each anchor is stored as a sample (f64) and as a direction (f32).
    (ANCHOR_BYTES / (12 * features.max(1))).clamp(32, MAX_ANCHORS)
}

/// Result of successive elimination.
pub(crate) struct Eliminated {
    /// Tau of each sample: exact for recounted samples, an estimate above the smallest tau for others, n + 1 for
    /// samples that are not active.
    pub tau: Vec<i64>,
    /// The recounted samples with the smallest tau, in increasing order.
    pub tied: Vec<usize>,
    /// Mask of the active samples.
    pub active: Vec<bool>,
    /// Rounds, anchors and error bound of the search.
    pub report: Elimination,
}

/// Finds the samples with the smallest tau.
pub(crate) fn eliminate<R: Runner>(
    rule: &ConePredicate<'_>,
    source: &dyn Source,
    seed: u64,
    runner: &R,
) -> Result<Eliminated> {
    let shape = source.shape();
    let half_the_ops = 0.5 * EXACT_PAIRS_MAX_OPS / (2.0 * shape.features as f64);
    within_budget(half_the_ops.max(MIN_BUDGET * shape.samples as f64), rule, source, seed, runner)
}

/// Finds the samples with the smallest tau with about `budget` pairs in the rounds, and as many in the recount.
fn within_budget<R: Runner>(
    budget: f64,
    rule: &ConePredicate<'_>,
    source: &dyn Source,
    seed: u64,
    runner: &R,
) -> Result<Eliminated> {
    let n = source.shape().samples;
    let candidates = (0..n).map(|sample| PivotCandidate { sample, ..PivotCandidate::default() }).collect_reserved();
    let mut search = Search {
        rule,
        source,
        seed,
        runner,
        candidates,
        remaining: memory::filled(n, true),
        tau: memory::filled(n, 0),
        leaders: Vec::new(),
        anchors: 0,
        pairs: 0.0,
        budget,
    };
    let active = search.first_round()?;
    search.rounds()?;
    let counted = search.recount()?;
    let least = counted.iter().map(|&i| search.tau[i]).min().ok_or_else(no_candidate)?;
    let tied: Vec<usize> = counted.iter().copied().filter(|&i| search.tau[i] == least).collect();
    let report = Elimination {
        failure_probability: FAILURE_PROBABILITY,
        rounds: search.leaders.len(),
        anchors: search.anchors,
        recounted: counted.len(),
        excess: search.excess(least, &counted),
    };
    // Estimates must not compete with exact counts: they are raised above the smallest exact tau.
    let mut exact = counted.iter().copied().peekable();
    for (i, tau) in search.tau.iter_mut().enumerate() {
        if exact.next_if_eq(&i).is_none() {
            *tau = (*tau).max(least + 1);
        }
    }
    Ok(Eliminated { tau: search.tau, tied, active, report })
}

/// A sample that is not eliminated.
#[derive(Debug, Clone, Copy, Default)]
struct PivotCandidate {
    sample: usize,
    /// Number of anchors outside its cone.
    outside: u32,
    /// Number of anchors inside the leader's cone and outside its own.
    losses: u32,
    /// Number of anchors inside its own cone and outside the leader's.
    wins: u32,
}

/// A leader is never eliminated, unless the data change.
fn no_candidate() -> Error {
    Error::invalid_data("the data changed during the fit: no sample remained as the pivot; fit data that do not change")
}

/// State of the search for the pivot.
struct Search<'a, R> {
    rule: &'a ConePredicate<'a>,
    source: &'a dyn Source,
    seed: u64,
    runner: &'a R,
    candidates: Vec<PivotCandidate>,
    /// Mask of the remaining candidates.
    remaining: Vec<bool>,
    tau: Vec<i64>,
    /// The leader of each round but the first, and the number of anchors of that round.
    leaders: Vec<(usize, usize)>,
    /// Number of anchors of all rounds.
    anchors: usize,
    /// Number of pairs of candidates and anchors that were compared.
    pairs: f64,
    /// Approximate largest number of pairs in the rounds, and in the recount.
    budget: f64,
}

impl<R: Runner> Search<'_, R> {
    fn samples(&self) -> usize {
        self.tau.len()
    }

    /// The first round, without a leader: finds the active samples and the first counts. Returns the mask of active
    /// samples.
    fn first_round(&mut self) -> Result<Vec<bool>> {
        let active = self.compare(None, FIRST_ANCHORS)?;
        let n = self.samples();
        self.candidates.retain(|candidate| active[candidate.sample]);
        self.remaining.clone_from(&active);
        active.iter().zip(&mut self.tau).filter(|(active, _)| !**active).for_each(|(_, tau)| *tau = n as i64 + 1);
        if self.candidates.is_empty() {
            return Err(Error::invalid_data(
                "all rows are equal to the center, so there is no direction to find; use rows that differ",
            ));
        }
        Ok(active)
    }

    /// Rounds until an exact count of all remaining candidates takes no more pairs than were spent, until the budget is
    /// used, or until [`MAX_IDLE_ANCHORS`] anchors eliminated almost no candidate.
    fn rounds(&mut self) -> Result<()> {
        let n = self.samples() as f64;
        let (mut m, mut idle) = (ANCHORS, 0);
        while self.candidates.len() as f64 * n > self.pairs && self.pairs < self.budget && idle < MAX_IDLE_ANCHORS {
            let before = self.candidates.len();
            let leader = self.leader()?;
            m = m.max((ANCHORS as f64 * n / before as f64) as usize);
            m = m.min(self.anchors_at_once()).min(self.samples());
            self.compare(Some(leader), m)?;
            self.leaders.push((leader, m));
            self.eliminate_candidates();
            idle = if 100 * self.candidates.len() < 99 * before { 0 } else { idle + m };
            if 2 * self.candidates.len() > before {
                m *= 2;
            }
        }
        Ok(())
    }

    /// The candidate with the fewest anchors outside its cone in all rounds so far.
    fn leader(&self) -> Result<usize> {
        let first = self.candidates.iter().min_by_key(|candidate| (candidate.outside, candidate.sample));
        first.map(|candidate| candidate.sample).ok_or_else(no_candidate)
    }

    /// Compares all candidates on newly drawn anchors. Returns the mask of the candidates that are active. Two passes.
    fn compare(&mut self, leader: Option<usize>, m: usize) -> Result<Vec<bool>> {
        let n = self.samples();
        let indices =
            nth_subsample(n, m, self.seed, Stream::Anchors, self.leaders.len() + usize::from(leader.is_some()));
        let m = indices.len();
        let anchors = self.anchors(&indices, leader)?;
        let found = self.runner.run(&AnchorCounts::new(self.rule, &anchors, &self.remaining), self.source)?;
        let near_leader = anchors.near_leader() as u32;
        let mut active = memory::filled(n, false);
        for ((candidate, [near, far]), has_direction) in self.candidates.iter_mut().zip(found.inside).zip(found.active)
        {
            active[candidate.sample] = has_direction;
            candidate.outside += m as u32 - near - far;
            if leader.is_some() {
                candidate.losses += near_leader - near;
                candidate.wins += far;
            }
        }
        self.anchors += m;
        self.pairs += self.candidates.len() as f64 * m as f64;
        Ok(active)
    }

    /// Removes the candidates that the sequential test rejects, and stores their estimated tau.
    fn eliminate_candidates(&mut self) {
        let candidates = std::mem::take(&mut self.candidates);
        let (out, rest): (Vec<PivotCandidate>, Vec<PivotCandidate>) =
            candidates.into_iter().partition(|c| is_eliminated(c.losses, c.wins));
        for candidate in out {
            self.remaining[candidate.sample] = false;
            self.tau[candidate.sample] = self.estimate(&candidate);
        }
        self.candidates = rest;
    }

    /// Estimate of tau from the anchors of all rounds.
    fn estimate(&self, candidate: &PivotCandidate) -> i64 {
        (f64::from(candidate.outside) / self.anchors as f64 * self.samples() as f64).round() as i64
    }

    /// Counts candidates exactly: all that remain if the budget allows it, else the best of them and all leaders, with
    /// as many pairs as the rounds used. Returns the counted samples in increasing order.
    fn recount(&mut self) -> Result<Vec<usize>> {
        let n = self.samples() as f64;
        for candidate in memory::copied(&self.candidates) {
            self.tau[candidate.sample] = self.estimate(&candidate);
        }
        let remaining = self.candidates.iter().map(|candidate| candidate.sample).collect_reserved();
        if remaining.len() <= MAX_DIRECT_RECOUNT {
            self.count_against_all(&remaining)?;
            return Ok(remaining);
        }
        let shell = self.shell(&remaining)?;
        if shell.pairs(self.samples()) <= self.budget.max(self.pairs) {
            self.count_against_shell(&shell)?;
            self.count_against_all(&shell.alone)?;
            return Ok(remaining);
        }
        let mut best = self.candidates.iter().map(|c| (c.outside, c.sample)).collect_reserved();
        best.sort_unstable();
        best.truncate((self.pairs / n) as usize);
        let leaders = self.leaders.iter().map(|(leader, _)| *leader);
        let mut chosen: Vec<usize> = best.into_iter().map(|(_, sample)| sample).chain(leaders).collect();
        chosen.sort_unstable();
        chosen.dedup();
        self.count_against_all(&chosen)?;
        Ok(chosen)
    }

    /// Counts tau of some samples against all samples, in groups of [`anchors_at_once`].
    fn count_against_all(&mut self, samples: &[usize]) -> Result<()> {
        for group in samples.chunks(self.anchors_at_once()) {
            let anchors = self.anchors(group, None)?;
            let sizes = self.runner.run(&ConeSizes::new(self.rule, &anchors), self.source)?;
            for (&sample, size) in anchors.indices().iter().zip(sizes) {
                self.tau[sample] = self.samples() as i64 - i64::from(size);
            }
        }
        Ok(())
    }

    /// Counts tau of the candidates near the axis of a shell against the samples that are undecided for them.
    fn count_against_shell(&mut self, shell: &Shell) -> Result<()> {
        let n = self.samples();
        let mut near_axis = memory::filled(n, false);
        shell.together.iter().for_each(|&sample| near_axis[sample] = true);
        shell.together.iter().for_each(|&sample| self.tau[sample] = (n - shell.inside) as i64);
        for group in shell.undecided.chunks(self.anchors_at_once()) {
            let anchors = self.anchors(group, None)?;
            let found = self.runner.run(&AnchorCounts::new(self.rule, &anchors, &near_axis), self.source)?;
            for (&sample, [near, far]) in shell.together.iter().zip(found.inside) {
                self.tau[sample] -= i64::from(near + far);
            }
        }
        Ok(())
    }

    /// The shell around the mean direction of some candidates. Cost: two passes.
    fn shell(&self, candidates: &[usize]) -> Result<Shell> {
        let element = self.source.shape().element;
        let center = self.rule.directions().center();
        let leader = unit_directions(&[self.leader()?], center, self.source)?;
        let directions = WeightedRows::new(center, Weighting::InverseNorm, Some(&self.remaining));
        // Each direction is multiplied by its cosine to the leader, so that opposite directions do not cancel.
        let product = OperatorProduct::new(directions, Coefficients::Project(&leader), Precision::Double, element);
        let (mut axis, _) = self.runner.run(&product, self.source)?;
        let length = axis.data().iter().map(|x| x * x).sum::<f64>().sqrt();
        axis.data_mut().iter_mut().for_each(|x| *x /= length);
        let projection = Projection::new(
            self.rule.directions().clone(),
            &axis,
            ProjectionUnits::Direction,
            Precision::Double,
            element,
        );
        let found = self.runner.run(&projection, self.source)?;
        let mut values = found.values.into_iter();
        let angle = |active: &bool| match active {
            true => values.next().map_or(f64::NAN, |cosine| self.rule.angle_of(cosine)),
            false => f64::NAN,
        };
        let angles = found.active.iter().map(angle).collect_reserved();
        Ok(Shell::new(&angles, candidates, self.rule.angle()))
    }

    fn anchors_at_once(&self) -> usize {
        anchors_at_once(self.source.shape().features)
    }

    /// Some samples, and optionally the leader, as anchors. Cost: one pass.
    fn anchors(&self, indices: &[usize], leader: Option<usize>) -> Result<Anchors> {
        let rows = self.runner.run(&SelectRows::new(indices.to_vec()), self.source)?;
        let row = leader.map(|leader| read_sample(self.source, leader)).transpose()?;
        Anchors::new(self.rule, indices, &rows, leader.zip(row.as_deref()))
    }

    /// Upper bound on the difference between the smallest counted tau and that of any candidate that was not counted.
    ///
    /// [`mean_at_least`] and [`mean_at_most`] bound the expected losses and wins of a candidate. Their difference is
    /// the sum over rounds of m (tau_i - tau_l) / n, where tau_l is known.
    fn excess(&self, least: i64, counted: &[usize]) -> i64 {
        let n = self.samples() as f64;
        let compared: usize = self.leaders.iter().map(|(_, m)| m).sum();
        let known: f64 = self.leaders.iter().map(|&(leader, m)| m as f64 * self.tau[leader] as f64).sum();
        let uncounted = self.candidates.iter().filter(|c| counted.binary_search(&c.sample).is_err());
        let lowest =
            uncounted.map(|c| (known + n * (mean_at_least(c.losses) - mean_at_most(c.wins))) / compared as f64);
        lowest.fold(0, |excess, tau| excess.max(least - tau.max(0.0).ceil() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_ties_are_bounded_rather_than_counted() {
        // A cluster around an axis that is too wide for a shell, all of it tied, and other samples anywhere.
        let (n, features, axis_length) = (1200, 48, 10.0);
        let noise = crate::numeric::random::normal_matrix(n, features, 3, Stream::Krylov);
        let in_cluster = |i: usize| !i.is_multiple_of(5);
        let mut data = noise.into_vec();
        (0..n).filter(|&i| in_cluster(i)).for_each(|i| data[i * features] += axis_length);
        let source = crate::data::slice::SliceSource::new(&data, n, features).unwrap();
        let center = vec![0.0; features];
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
        let rule = ConePredicate::new(directions, crate::config::screen::Cosine::Signed, 0.5);
        let runner = crate::engine::local::Local::new(2).unwrap();
        let exact = runner.run_pairs(&crate::folds::ConeCounts::new(rule.clone(), n), &source, 512).unwrap();
        let tau: Vec<i64> = exact.neighbors.iter().map(|&inside| n as i64 - i64::from(inside)).collect();
        let least = *tau.iter().min().unwrap();
        let tight = within_budget(300.0 * n as f64, &rule, &source, 1, &runner).unwrap();
        let Elimination { recounted, excess, .. } = tight.report;
        assert!(recounted < n / 2 && excess > 0, "{:?}", tight.report);
        let pivot = tight.tied[0];
        assert_eq!(tight.tau[pivot], tau[pivot]);
        assert!(tau[pivot] - least <= excess && tight.tau.iter().all(|&t| t >= tau[pivot]));
        let ample = within_budget(f64::INFINITY, &rule, &source, 1, &runner).unwrap();
        assert_eq!((ample.report.excess, ample.tau[ample.tied[0]]), (0, least));
        assert_eq!(ample.tied[0], tau.iter().position(|&t| t == least).unwrap());
    }
}
