//! Results of the cone screen: the pivot, tau, and how candidates were eliminated.

use serde::{Deserialize, Serialize};

/// What the cone found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConeReport {
    /// The sample that the cone is around.
    pub pivot: usize,
    /// How many samples lie outside the cone around each sample; n + 1 for a sample without direction. After an
    /// elimination an estimate, above the least, for samples that were not counted.
    pub tau: Vec<i64>,
    /// The half-angle that was used, in degrees.
    pub angle_degrees: f64,
    /// How candidates were eliminated; `None` where all pairs were met, and every tau is exact.
    pub elimination: Option<Elimination>,
}

/// How the pivot was found without meeting all pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Elimination {
    /// The largest probability, over the draw of anchors, that the exact count has a pivot of a tau lower by more than
    /// `excess`, or another of the same tau when that is 0.
    pub failure_probability: f64,
    /// Rounds of comparison with a leader.
    pub rounds: usize,
    /// Anchors that a candidate met if it stayed to the end.
    pub anchors: usize,
    /// Samples whose tau was counted exactly.
    pub recounted: usize,
    /// By how much the pivot's tau may exceed the least; 0 where everyone that was left was counted.
    pub excess: i64,
}

impl ConeReport {
    /// The least tau: how many samples were trimmed.
    pub fn tau_min(&self) -> i64 {
        self.tau[self.pivot]
    }

    /// What the user should know of a pivot that may not be the one of the exact count.
    pub(crate) fn doubt(&self) -> Option<String> {
        let Elimination { failure_probability, recounted, excess, .. } =
            self.elimination.filter(|found| found.excess > 0)?;
        Some(format!(
            "too many samples tie, or nearly do, for the axis of the cone: {recounted} were counted exactly and the best of \
             them was taken; {} samples lie outside its cone, which is the least up to {excess} with probability {}; count \
             all pairs with --exact to be sure",
            self.tau_min(),
            1.0 - failure_probability
        ))
    }
}
