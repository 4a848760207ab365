//! Anchor passes: counts of pairs within a cone, between candidates and a few anchors in memory, for successive
//! elimination.
//!
//! | counts | fold | result of one pass |
//! |---|---|---|
//! | anchors within the cone around each candidate | [`AnchorCounts`] | two counts per candidate, in data order |
//! | samples within the cone around each anchor | [`ConeSizes`] | one count per anchor |
//!
//! Both classify every pair as the pair pass does: in f32 if that suffices, else by the [predicate](ConePredicate).
//! Cost: 2 m D flops per candidate for m anchors; a tile of at most 256 x m cosines per thread.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cone_predicate::{ConePredicate, Doubles, exact_cosine};
use crate::codec::{bounded, inconsistent, packed, require_length, require_samples};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::{cosine_counts, panel};
use crate::memory;
use crate::numeric::linalg::add_outer_single;

/// Largest number of panels that are read from bytes: half a billion features.
const MAX_PANELS: usize = 1 << 20;

/// Some columns of the directions of the anchors.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Panel(#[serde(with = "packed")] Vec<f32>);

/// Samples in memory with their directions. Samples without direction are left out: no cone contains them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Anchors {
    indices: Vec<usize>,
    features: usize,
    /// The samples, row by row.
    #[serde(with = "packed")]
    rows: Vec<f64>,
    #[serde(with = "packed")]
    weights: Vec<f64>,
    /// Directions in f32: for each panel of columns, row by row.
    #[serde(deserialize_with = "bounded::<MAX_PANELS, _, _>")]
    panels: Vec<Panel>,
    /// Number of anchors within the cone around the leader; these come first.
    near_leader: usize,
}

/// Some of the rows of `features` values, in the given order.
fn reordered(rows: &[f64], order: &[usize], features: usize) -> Vec<f64> {
    let mut out = memory::reserved(order.len() * features);
    order.iter().for_each(|&j| out.extend_from_slice(&rows[j * features..(j + 1) * features]));
    out
}

impl Anchors {
    /// Anchors from the indices and values of samples. With a leader, the anchors within its cone come first.
    ///
    /// # Errors
    /// If the values are not those of the indices.
    pub fn new(
        rule: &ConePredicate<'_>,
        indices: &[usize],
        rows: &[f64],
        leader: Option<(usize, &[f64])>,
    ) -> Result<Self> {
        let features = rule.directions().center().len();
        let block = Block::of_values(rows, indices.len(), features)?;
        let weights = rule.directions().weights(&block, 0..indices.len());
        let is_near = match leader {
            Some((sample, row)) => {
                let single = Block::of_values(row, 1, features)?;
                let weight = rule.directions().weights(&single, 0..1);
                let doubles = Doubles::new(rule, (&single, &weight), (&block, &weights), &[]);
                let near = |j: usize| {
                    let exact = || in_order(rule, (&single, 0, sample), (&block, j, indices[j]));
                    weights[j] > 0.0 && rule.near(doubles.cosine(0, j), exact)
                };
                (0..indices.len()).map(near).collect()
            }
            None => vec![false; indices.len()],
        };
        let active = (0..indices.len()).filter(|&j| weights[j] > 0.0);
        let (near, far): (Vec<usize>, Vec<usize>) = active.partition(|&j| is_near[j]);
        let (near_leader, order) = (near.len(), [near, far].concat());
        let mut anchors = Self {
            indices: order.iter().map(|&j| indices[j]).collect(),
            features,
            rows: reordered(rows, &order, features),
            weights: order.iter().map(|&j| weights[j]).collect(),
            panels: Vec::new(),
            near_leader,
        };
        anchors.panels = panel::panels(features).map(|columns| anchors.panel(rule, columns)).collect();
        Ok(anchors)
    }

    fn panel(&self, rule: &ConePredicate<'_>, columns: Range<usize>) -> Panel {
        let mut out = memory::filled(self.len() * columns.len(), 0.0);
        if !self.is_empty() {
            rule.write_directions(&self.block(), 0..self.len(), columns, &self.weights, &mut out);
        }
        Panel(out)
    }

    fn block(&self) -> Block<'_> {
        Block::of_values(&self.rows, self.len(), self.features).expect("one row per anchor")
    }

    /// Rejects anchors that do not agree with themselves or with this number of features, as in [`Fold::check`].
    fn check(&self, features: usize) -> Result<()> {
        let count = self.indices.len();
        require_length("a row of the anchors", self.features, features)?;
        require_length("the list of cells of the anchors", self.rows.len(), count.saturating_mul(features))?;
        require_length("the list of weights of the anchors", self.weights.len(), count)?;
        require_length("the list of panels of the anchors", self.panels.len(), panel::panels(features).count())?;
        for (columns, own) in panel::panels(features).zip(&self.panels) {
            require_length("a panel of the anchors", own.0.len(), count.saturating_mul(columns.len()))?;
        }
        if self.near_leader > count {
            return Err(inconsistent(format!("{} of {count} anchors are near the leader", self.near_leader)));
        }
        Ok(())
    }

    /// Number of anchors.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// True if there are no anchors.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Indices of the samples, in the order of the counts.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Number of anchors within the cone around the leader.
    pub fn near_leader(&self) -> usize {
        self.near_leader
    }

    /// Counts the pairs within the cone between some rows of a block and all anchors, for each row (anchors within the
    /// leader's cone, and others) and for each anchor.
    fn compute_tile(
        &self,
        rule: &ConePredicate<'_>,
        block: &Block<'_>,
        active: &ActiveRows,
        by_anchor: &mut [u32],
    ) -> Vec<[u32; 2]> {
        let (m, bounds) = (self.len(), rule.bounds());
        let mut by_row = vec![[0; 2]; active.rows.len()];
        if m == 0 || active.rows.is_empty() {
            return by_row;
        }
        let tile = self.cosines(rule, block, active);
        let mut undecided = Vec::new();
        let (near, far) = by_anchor.split_at_mut(self.near_leader);
        for (i, row) in tile.chunks_exact(m).enumerate() {
            let (left, right) = row.split_at(self.near_leader);
            let ((a, close_a), (b, close_b)) =
                (cosine_counts::count(left, bounds, near), cosine_counts::count(right, bounds, far));
            by_row[i] = [a, b];
            if close_a + close_b > 0 {
                undecided.extend((0..m).filter(|&j| bounds.undecided(row[j])).map(|j| (i, j)));
            }
        }
        if undecided.is_empty() {
            return by_row;
        }
        let anchors = self.block();
        let mut weights = vec![0.0; block.rows()];
        active.rows.iter().zip(&active.weights).for_each(|(&row, &w)| weights[row] = w);
        let doubles = Doubles::new(rule, (block, &weights), (&anchors, &self.weights), &undecided);
        for (i, j) in undecided {
            let row = active.rows[i];
            let exact = || in_order(rule, (block, row, block.first() + row), (&anchors, j, self.indices[j]));
            if rule.near(doubles.cosine(row, j), exact) {
                by_row[i][usize::from(j >= self.near_leader)] += 1;
                by_anchor[j] += 1;
            }
        }
        by_row
    }

    /// Cosines in f32: active rows x anchors.
    fn cosines(&self, rule: &ConePredicate<'_>, block: &Block<'_>, active: &ActiveRows) -> Vec<f32> {
        let mut tile = memory::filled(active.rows.len() * self.len(), 0.0);
        let mut left = vec![0.0; active.rows.len() * self.features.min(panel::COLUMNS)];
        for (columns, anchors) in panel::panels(self.features).zip(&self.panels) {
            let width = columns.len();
            let left = &mut left[..active.rows.len() * width];
            for run in runs(&active.rows) {
                let rows = active.rows[run.start]..active.rows[run.start] + run.len();
                let out = &mut left[run.start * width..run.end * width];
                rule.write_directions(block, rows, columns.clone(), &active.weights[run], out);
            }
            add_outer_single(&mut tile, left, &anchors.0, width);
        }
        tile
    }
}

/// The exact cosine of a pair in data order, so that all passes classify the pair alike.
fn in_order(rule: &ConePredicate<'_>, a: (&Block<'_>, usize, usize), b: (&Block<'_>, usize, usize)) -> f64 {
    let (first, second) = if a.2 <= b.2 { (a, b) } else { (b, a) };
    exact_cosine((first.0, first.1), (second.0, second.1), rule.directions().center())
}

/// Rows of a block that have a direction, and their weights.
struct ActiveRows {
    rows: Vec<usize>,
    weights: Vec<f64>,
}

impl ActiveRows {
    fn new(rule: &ConePredicate<'_>, block: &Block<'_>, rows: &[usize]) -> Self {
        let weigh = |run: Range<usize>| rule.directions().weights(block, rows[run.start]..rows[run.start] + run.len());
        let weights: Vec<f64> = runs(rows).flat_map(weigh).collect();
        let (rows, weights) = rows.iter().copied().zip(weights).filter(|(_, w)| *w > 0.0).unzip();
        Self { rows, weights }
    }
}

/// Ranges of positions at which ascending indices are consecutive.
fn runs(indices: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    indices.chunk_by(|a, b| a + 1 == *b).map(move |run| {
        start += run.len();
        start - run.len()..start
    })
}

/// The fold that counts, for each candidate, the anchors within its cone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnchorCounts<'a> {
    rule: ConePredicate<'a>,
    anchors: Cow<'a, Anchors>,
    candidates: Cow<'a, [bool]>,
}

impl<'a> AnchorCounts<'a> {
    /// Counts for the samples of the mask `candidates`.
    pub fn new(rule: &ConePredicate<'a>, anchors: &'a Anchors, candidates: &'a [bool]) -> Self {
        Self { rule: rule.clone(), anchors: Cow::Borrowed(anchors), candidates: Cow::Borrowed(candidates) }
    }
}

/// Counts of the candidates, in data order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CandidateCounts {
    /// Number of anchors within the candidate's cone: those within the leader's cone, and the others.
    pub inside: Vec<[u32; 2]>,
    /// True if the candidate is active.
    pub active: Vec<bool>,
}

impl Fold for AnchorCounts<'_> {
    const NAME: &'static str = "anchors";

    type Accumulator = CandidateCounts;
    type Out = CandidateCounts;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.rule.check(shape, samples)?;
        self.anchors.check(shape.features)?;
        require_samples("the mask of candidates", self.candidates.len(), samples)
    }

    fn check_accumulator(&self, accumulator: &CandidateCounts, samples: &Range<usize>) -> Result<()> {
        let candidates = self.candidates.get(samples.clone()).unwrap_or_default();
        let count = candidates.iter().filter(|&&candidate| candidate).count();
        require_length("the list of counts", accumulator.inside.len(), count)?;
        require_length("the mask of active candidates", accumulator.active.len(), count)?;
        let [near, far] = [self.anchors.near_leader, self.anchors.len() - self.anchors.near_leader];
        match accumulator.inside.iter().find(|inside| inside[0] as usize > near || inside[1] as usize > far) {
            Some(inside) => Err(inconsistent(format!("it counts {inside:?} of {near} and {far} anchors"))),
            None => Ok(()),
        }
    }

    fn accumulator_bytes(&self) -> usize {
        0 // grows with the rows of a leaf; all leaves together hold the result once
    }

    fn empty(&self) -> CandidateCounts {
        CandidateCounts::default()
    }

    fn add(&self, accumulator: &mut CandidateCounts, block: &Block<'_>) -> Result<()> {
        let rows: Vec<usize> = (0..block.rows()).filter(|&row| self.candidates[block.first() + row]).collect();
        let active = ActiveRows::new(&self.rule, block, &rows);
        let counts = self.anchors.compute_tile(&self.rule, block, &active, &mut vec![0; self.anchors.len()]);
        let mut found = active.rows.iter().zip(counts).peekable();
        for row in rows {
            let own = found.next_if(|(index, _)| **index == row);
            accumulator.active.push(own.is_some());
            accumulator.inside.push(own.map_or([0; 2], |(_, counts)| counts));
        }
        Ok(())
    }

    fn merge(&self, mut left: CandidateCounts, right: CandidateCounts) -> CandidateCounts {
        left.inside.extend(right.inside);
        left.active.extend(right.active);
        left
    }

    fn finish(&self, total: CandidateCounts) -> Result<CandidateCounts> {
        Ok(total)
    }
}

/// The fold that counts, for each anchor, the samples within its cone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConeSizes<'a> {
    rule: ConePredicate<'a>,
    anchors: Cow<'a, Anchors>,
}

impl<'a> ConeSizes<'a> {
    /// Counts for these anchors.
    pub fn new(rule: &ConePredicate<'a>, anchors: &'a Anchors) -> Self {
        Self { rule: rule.clone(), anchors: Cow::Borrowed(anchors) }
    }
}

impl Fold for ConeSizes<'_> {
    const NAME: &'static str = "cone sizes";

    type Accumulator = Vec<u32>;
    /// Number of samples within the cone around each anchor, itself included.
    type Out = Vec<u32>;

    fn check(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.rule.check(shape, samples)?;
        self.anchors.check(shape.features)
    }

    fn check_accumulator(&self, accumulator: &Vec<u32>, samples: &Range<usize>) -> Result<()> {
        require_length("the list of counts", accumulator.len(), self.anchors.len())?;
        match accumulator.iter().find(|count| **count as usize > samples.len()) {
            Some(count) => Err(inconsistent(format!("it counts {count} of {} samples", samples.len()))),
            None => Ok(()),
        }
    }

    fn accumulator_bytes(&self) -> usize {
        4 * self.anchors.len()
    }

    fn empty(&self) -> Vec<u32> {
        vec![0; self.anchors.len()]
    }

    fn add(&self, accumulator: &mut Vec<u32>, block: &Block<'_>) -> Result<()> {
        let all: Vec<usize> = (0..block.rows()).collect();
        self.anchors.compute_tile(&self.rule, block, &ActiveRows::new(&self.rule, block, &all), accumulator);
        Ok(())
    }

    fn merge(&self, mut left: Vec<u32>, right: Vec<u32>) -> Vec<u32> {
        left.iter_mut().zip(right).for_each(|(sum, count)| *sum += count);
        left
    }

    fn finish(&self, total: Vec<u32>) -> Result<Vec<u32>> {
        Ok(total)
    }
}
