//! Results of the cone screen: the pivot, tau, and statistics of successive elimination.

use serde::{Deserialize, Serialize};

/// Result of the cone screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConeReport {
    /// The sample that the cone is centered on.
    pub pivot: usize,
    /// Number of samples outside the cone around each sample; n + 1 for a sample that is not active. After successive
    /// elimination an estimate, above the smallest tau, for samples that were not counted exactly.
    pub tau: Vec<i64>,
    /// The half-angle that was used, in degrees.
    pub max_angle: f64,
    /// Statistics of successive elimination; `None` after an exact count over all pairs, when every tau is exact.
    pub elimination: Option<Elimination>,
}

/// Statistics of a pivot search by successive elimination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Elimination {
    /// Upper bound on the probability, over the draw of anchors, that the smallest tau is lower than the pivot's by
    /// more than `excess`, or that an exact count selects another pivot although `excess` is 0.
    pub failure_probability: f64,
    /// Number of rounds of comparison with a leader.
    pub rounds: usize,
    /// Number of anchors of all rounds.
    pub anchors: usize,
    /// Number of samples whose tau was counted exactly.
    pub recounted: usize,
    /// Upper bound on the difference between the pivot's tau and the smallest; 0 if all remaining candidates were
    /// counted.
    pub excess: i64,
}

impl ConeReport {
    /// The tau of the pivot: the number of samples outside its cone.
    pub fn tau_min(&self) -> i64 {
        self.tau[self.pivot]
    }

    /// The warning about a pivot that an exact count may not select.
    pub(crate) fn warning(&self) -> Option<String> {
        let Elimination { failure_probability, recounted, excess, .. } =
            self.elimination.filter(|found| found.excess > 0)?;
        Some(format!(
            "pivot may not be optimal: too many near-ties, {recounted} candidates counted exactly; tau = {} exceeds \
             the minimum by at most {excess} (probability {}); use an exact pivot search",
            self.tau_min(),
            1.0 - failure_probability
        ))
    }
}
