//! Successive elimination: the pivot of the cone without meeting all pairs of samples.
//!
//! | symbol | here |
//! |---|---|
//! | tau_i, the samples outside the cone around i | `tau[i]` |
//! | a batch of m anchors, drawn without replacement, anew for each round | `Anchors` |
//! | the leader l of a round, chosen before its anchors are drawn | `leader` |
//! | b_i, anchors near l and not near i | `losses` |
//! | g_i, anchors near i and not near l | `wins` |
//!
//! A candidate that loses so often that a sample as good as the leader would not, by [`evidence`](super::evidence), goes.
//! The pivot is no worse than any leader, so it goes with probability at most [`FAILURE_PROBABILITY`] / 2, over all rounds; there is
//! no union over candidates. Those that are left are counted exactly, by a [`Shell`] where there are many.
//!
//! Where too many are left, because they tie or nearly do and no shell helps, the most promising are counted, and
//! [`Search::excess`] bounds what the others could gain.
//! [Decision 24](../../../docs/decisions/24-elimination-and-its-guarantee.md) has the proof.
//!
//! Cost: two passes a round; pairs as [`Search::rounds`] says, 2 D flops each; about 60 bytes a sample.

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
    AnchorCounts, Anchors, Coefficients, ConePredicate, ConeSizes, OperatorProduct, Projection, SelectRows, Units,
    WeightedRows,
};
use crate::kernel::operand::Precision;
use crate::numeric::random::{Stream, nth_subsample};

/// Operations of products that take about a minute: at 1e11 a second, which two cores of 2020 reach.
const EXACT_PAIRS_MAX_OPS: f64 = 6e12;
/// Anchors of the first round, which only chooses a leader.
const FIRST_ANCHORS: usize = 64;
/// Anchors for each candidate while all are left; later rounds meet as many pairs with more anchors.
const ANCHORS: usize = 128;
/// Anchors of one pass at most: more would only make tiles larger.
const MOST_ANCHORS: usize = 1024;
/// Bytes that the anchors of one pass may take.
const ANCHOR_BYTES: usize = 48 << 20;
/// The rounds may meet this many times as many pairs as there are samples, however small the share of a minute.
const LEAST_BUDGET: f64 = 1024.0;
/// Where candidates tie, more anchors are of no use: rounds end when so many have left fewer than a hundredth decided.
const MAX_IDLE_ANCHORS: usize = 2048;
/// So few candidates are counted one by one without a look for a common axis.
const FEW: usize = 256;
/// Whether the exact count would take longer than a minute at a usual rate: a function of the shape alone, so that
/// models do not depend on machines.
pub(crate) fn pays(shape: &Shape) -> bool {
    (shape.samples as f64).powi(2) * shape.features as f64 > EXACT_PAIRS_MAX_OPS
}

/// Anchors of a pass, for data of this width.
pub(crate) fn anchors_at_once(features: usize) -> usize {
    // The samples themselves and their directions.
    (ANCHOR_BYTES / (12 * features.max(1))).clamp(32, MOST_ANCHORS)
}

/// What is known when candidates have been eliminated.
pub(crate) struct Eliminated {
    /// Exact for the recounted; an estimate above the least for others; n + 1 for those without direction.
    pub tau: Vec<i64>,
    /// The recounted samples of least tau, in order.
    pub tied: Vec<usize>,
    /// Whether each sample has a direction.
    pub active: Vec<bool>,
    /// How it went.
    pub report: Elimination,
}

/// Finds the samples of least tau.
pub(crate) fn eliminate<R: Runner>(
    rule: &ConePredicate<'_>,
    source: &dyn Source,
    seed: u64,
    runner: &R,
) -> Result<Eliminated> {
    let shape = source.shape();
    let half_a_minute = 0.5 * EXACT_PAIRS_MAX_OPS / (2.0 * shape.features as f64);
    within(half_a_minute.max(LEAST_BUDGET * shape.samples as f64), rule, source, seed, runner)
}

/// With at most `budget` pairs, more or less, in the rounds, and as many in the recount.
fn within<R: Runner>(
    budget: f64,
    rule: &ConePredicate<'_>,
    source: &dyn Source,
    seed: u64,
    runner: &R,
) -> Result<Eliminated> {
    let n = source.shape().samples;
    let candidates = (0..n).map(|sample| Candidate { sample, ..Candidate::default() }).collect();
    let mut search = Search {
        rule,
        source,
        seed,
        runner,
        candidates,
        left: vec![true; n],
        tau: vec![0; n],
        leaders: Vec::new(),
        anchors: 0,
        pairs: 0.0,
        budget,
    };
    let active = search.begin()?;
    search.rounds()?;
    let counted = search.recount()?;
    let least = counted.iter().map(|&i| search.tau[i]).min().expect("the leader is counted");
    let tied: Vec<usize> = counted.iter().copied().filter(|&i| search.tau[i] == least).collect();
    let report = Elimination {
        failure_probability: FAILURE_PROBABILITY,
        rounds: search.leaders.len(),
        anchors: search.anchors,
        recounted: counted.len(),
        excess: search.excess(least, &counted),
    };
    // Estimates are no evidence against the pivot: the least stays the least.
    let mut exact = counted.iter().copied().peekable();
    for (i, tau) in search.tau.iter_mut().enumerate() {
        if exact.next_if_eq(&i).is_none() {
            *tau = (*tau).max(least + 1);
        }
    }
    Ok(Eliminated { tau: search.tau, tied, active, report })
}

/// A sample that may be the pivot.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    sample: usize,
    /// Anchors outside its cone.
    outside: u32,
    /// Anchors within the leader's cone and outside its own.
    losses: u32,
    /// Anchors within its own cone and outside the leader's.
    wins: u32,
}

struct Search<'a, R> {
    rule: &'a ConePredicate<'a>,
    source: &'a dyn Source,
    seed: u64,
    runner: &'a R,
    candidates: Vec<Candidate>,
    /// Whether each sample is a candidate.
    left: Vec<bool>,
    tau: Vec<i64>,
    /// The leader of each round but the first, and how many anchors it was compared on.
    leaders: Vec<(usize, usize)>,
    /// Anchors of all rounds.
    anchors: usize,
    /// Pairs of candidates and anchors that were met.
    pairs: f64,
    /// The most that the rounds should meet, and then the recount.
    budget: f64,
}

impl<R: Runner> Search<'_, R> {
    fn samples(&self) -> usize {
        self.tau.len()
    }

    /// The first round: who has a direction, and how things look.
    fn begin(&mut self) -> Result<Vec<bool>> {
        let active = self.compute_tile(None, FIRST_ANCHORS)?;
        let n = self.samples();
        self.candidates.retain(|candidate| active[candidate.sample]);
        self.left.clone_from(&active);
        active.iter().zip(&mut self.tau).filter(|(active, _)| !**active).for_each(|(_, tau)| *tau = n as i64 + 1);
        if self.candidates.is_empty() {
            return Err(Error::invalid_data("all rows are equal to the center; there is no direction to find"));
        }
        Ok(active)
    }

    /// Rounds until counting all that are left costs no more than what was spent, or until they are of no more use.
    fn rounds(&mut self) -> Result<()> {
        let n = self.samples() as f64;
        let (mut m, mut idle) = (ANCHORS, 0);
        while self.candidates.len() as f64 * n > self.pairs && self.pairs < self.budget && idle < MAX_IDLE_ANCHORS {
            let before = self.candidates.len();
            let leader = self.leader();
            m = m.max((ANCHORS as f64 * n / before as f64) as usize);
            m = m.min(self.anchors_at_once()).min(self.samples());
            self.compute_tile(Some(leader), m)?;
            self.leaders.push((leader, m));
            self.eliminate_candidates();
            idle = if 100 * self.candidates.len() < 99 * before { 0 } else { idle + m };
            if 2 * self.candidates.len() > before {
                m *= 2;
            }
        }
        Ok(())
    }

    /// The candidate with the fewest anchors outside its cone so far.
    fn leader(&self) -> usize {
        let first = self.candidates.iter().min_by_key(|candidate| (candidate.outside, candidate.sample));
        first.expect("a leader never goes").sample
    }

    /// Meets all candidates with fresh anchors; says who of all samples is a candidate with a direction.
    fn compute_tile(&mut self, leader: Option<usize>, m: usize) -> Result<Vec<bool>> {
        let n = self.samples();
        let indices =
            nth_subsample(n, m, self.seed, Stream::Anchors, self.leaders.len() + usize::from(leader.is_some()));
        let m = indices.len();
        let anchors = self.anchors(&indices, leader)?;
        let found = self.runner.run(&AnchorCounts::new(self.rule, &anchors, &self.left), self.source)?;
        let near_leader = anchors.near_leader() as u32;
        let mut active = vec![false; n];
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

    fn eliminate_candidates(&mut self) {
        let candidates = std::mem::take(&mut self.candidates);
        let (out, rest): (Vec<Candidate>, Vec<Candidate>) =
            candidates.into_iter().partition(|c| is_eliminated(c.losses, c.wins));
        for candidate in out {
            self.left[candidate.sample] = false;
            self.tau[candidate.sample] = self.estimate(&candidate);
        }
        self.candidates = rest;
    }

    /// Tau by the anchors that a candidate has met.
    fn estimate(&self, candidate: &Candidate) -> i64 {
        (f64::from(candidate.outside) / self.anchors as f64 * self.samples() as f64).round() as i64
    }

    /// Counts candidates exactly: all that are left where that is affordable, else as many as the rounds have met pairs
    /// for, the best first, and with them all leaders. Says whom, in order.
    fn recount(&mut self) -> Result<Vec<usize>> {
        let n = self.samples() as f64;
        for candidate in self.candidates.clone() {
            self.tau[candidate.sample] = self.estimate(&candidate);
        }
        let everyone: Vec<usize> = self.candidates.iter().map(|candidate| candidate.sample).collect();
        if everyone.len() <= FEW {
            self.count_against_all(&everyone)?;
            return Ok(everyone);
        }
        let shell = self.shell(&everyone)?;
        if shell.pairs(self.samples()) <= self.budget.max(self.pairs) {
            self.count_against_shell(&shell)?;
            self.count_against_all(&shell.alone)?;
            return Ok(everyone);
        }
        let mut best: Vec<(u32, usize)> = self.candidates.iter().map(|c| (c.outside, c.sample)).collect();
        best.sort_unstable();
        best.truncate((self.pairs / n) as usize);
        let leaders = self.leaders.iter().map(|(leader, _)| *leader);
        let mut chosen: Vec<usize> = best.into_iter().map(|(_, sample)| sample).chain(leaders).collect();
        chosen.sort_unstable();
        chosen.dedup();
        self.count_against_all(&chosen)?;
        Ok(chosen)
    }

    /// Counts samples against all others, a few at a time.
    fn count_against_all(&mut self, samples: &[usize]) -> Result<()> {
        for part in samples.chunks(self.anchors_at_once()) {
            let anchors = self.anchors(part, None)?;
            let sizes = self.runner.run(&ConeSizes::new(self.rule, &anchors), self.source)?;
            for (&sample, size) in anchors.indices().iter().zip(sizes) {
                self.tau[sample] = self.samples() as i64 - i64::from(size);
            }
        }
        Ok(())
    }

    /// Counts the candidates near an axis against the samples that are undecided for them.
    fn count_against_shell(&mut self, shell: &Shell) -> Result<()> {
        let n = self.samples();
        let mut wanted = vec![false; n];
        shell.together.iter().for_each(|&sample| wanted[sample] = true);
        shell.together.iter().for_each(|&sample| self.tau[sample] = (n - shell.inside) as i64);
        for part in shell.undecided.chunks(self.anchors_at_once()) {
            let anchors = self.anchors(part, None)?;
            let found = self.runner.run(&AnchorCounts::new(self.rule, &anchors, &wanted), self.source)?;
            for (&sample, [near, far]) in shell.together.iter().zip(found.inside) {
                self.tau[sample] -= i64::from(near + far);
            }
        }
        Ok(())
    }

    /// The shell around the mean direction of some candidates. Two passes.
    fn shell(&self, candidates: &[usize]) -> Result<Shell> {
        let element = self.source.shape().element;
        let center = self.rule.directions().center();
        let leader = unit_directions(&[self.leader()], center, self.source)?;
        let directions = WeightedRows::new(center, Weighting::InverseNorm, Some(&self.left));
        // Each direction times its cosine to the leader, so that opposites do not cancel.
        let sketch = OperatorProduct::new(directions, Coefficients::Project(&leader), Precision::Double, element);
        let (mut axis, _) = self.runner.run(&sketch, self.source)?;
        let length = axis.data().iter().map(|x| x * x).sum::<f64>().sqrt();
        axis.data_mut().iter_mut().for_each(|x| *x /= length);
        let projection =
            Projection::new(self.rule.directions().clone(), &axis, Units::Direction, Precision::Double, element);
        let found = self.runner.run(&projection, self.source)?;
        let mut values = found.values.into_iter();
        let angle = |active: &bool| match active {
            true => values.next().map_or(f64::NAN, |cosine| self.rule.angle_of(cosine)),
            false => f64::NAN,
        };
        let angles: Vec<f64> = found.active.iter().map(angle).collect();
        Ok(Shell::new(&angles, candidates, self.rule.angle()))
    }

    fn anchors_at_once(&self) -> usize {
        anchors_at_once(self.source.shape().features)
    }

    /// Samples to keep at hand. One pass.
    fn anchors(&self, indices: &[usize], leader: Option<usize>) -> Result<Anchors> {
        let rows = self.runner.run(&SelectRows::new(indices.to_vec()), self.source)?;
        let row = leader.map(|leader| read_sample(self.source, leader)).transpose()?;
        Anchors::new(self.rule, indices, &rows, leader.zip(row.as_deref()))
    }

    /// By how much the least counted tau may exceed that of a candidate that was not counted.
    ///
    /// The anchors on which a candidate lost and won have means that [`mean_at_least`] and [`mean_at_most`] bound, and
    /// their difference is the sum over rounds of m (tau_i - tau_l) / n, where tau_l is known.
    fn excess(&self, least: i64, counted: &[usize]) -> i64 {
        let n = self.samples() as f64;
        let met: usize = self.leaders.iter().map(|(_, m)| m).sum();
        let known: f64 = self.leaders.iter().map(|&(leader, m)| m as f64 * self.tau[leader] as f64).sum();
        let uncounted = self.candidates.iter().filter(|c| counted.binary_search(&c.sample).is_err());
        let lowest = uncounted.map(|c| (known + n * (mean_at_least(c.losses) - mean_at_most(c.wins))) / met as f64);
        lowest.fold(0, |excess, tau| excess.max(least - tau.max(0.0).ceil() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_ties_are_bounded_rather_than_counted() {
        // A bundle around an axis that is too wide for a shell, all of it tied, and others anywhere.
        let (n, features, axis_length) = (1200, 48, 10.0);
        let noise = crate::numeric::random::normal_matrix(n, features, 3, Stream::Krylov);
        let in_bundle = |i: usize| !i.is_multiple_of(5);
        let mut data = noise.into_vec();
        (0..n).filter(|&i| in_bundle(i)).for_each(|i| data[i * features] += axis_length);
        let source = crate::data::slice::SliceSource::new(&data, n, features).unwrap();
        let center = vec![0.0; features];
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
        let rule = ConePredicate::new(directions, crate::config::screen::Cosine::Signed, 0.5);
        let runner = crate::engine::local::Local::new(2).unwrap();
        let exact = runner.run_pairs(&crate::folds::ConeCounts::new(rule.clone(), n), &source, 512).unwrap();
        let tau: Vec<i64> = exact.neighbours.iter().map(|&inside| n as i64 - i64::from(inside)).collect();
        let least = *tau.iter().min().unwrap();
        let tight = within(300.0 * n as f64, &rule, &source, 1, &runner).unwrap();
        let Elimination { recounted, excess, .. } = tight.report;
        assert!(recounted < n / 2 && excess > 0, "{:?}", tight.report);
        let pivot = tight.tied[0];
        assert_eq!(tight.tau[pivot], tau[pivot]);
        assert!(tau[pivot] - least <= excess && tight.tau.iter().all(|&t| t >= tau[pivot]));
        let ample = within(f64::INFINITY, &rule, &source, 1, &runner).unwrap();
        assert_eq!((ample.report.excess, ample.tau[ample.tied[0]]), (0, least));
        assert_eq!(ample.tied[0], tau.iter().position(|&t| t == least).unwrap());
    }
}
