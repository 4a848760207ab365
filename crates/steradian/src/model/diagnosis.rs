//! Diagnosis of samples: score distance, orthogonal distance, their cutoffs, and the flag that follows.
//!
//! | symbol | here |
//! |---|---|
//! | SD = sqrt(sum_k s_k^2 / v_k), s the scores and v the variances | score distance |
//! | OD = norm(x - mu - Q s) | orthogonal distance |
//! | c_SD = sqrt of the 97.5 % quantile of chi-square with d degrees | `cutoffs[0]` |
//! | c_OD = (m + 1.96 s)^(3/2), m and s of OD^(2/3) in the bulk | `cutoffs[1]` |
//!
//! OD^(2/3) is close to normal for normal samples (Wilson and Hilferty 1931), so both cutoffs pass 97.5 % of them
//! (Hubert et al. 2005). A cutoff of NaN flags no sample.

use serde::{Deserialize, Serialize};

use crate::folds::SampleDistances;
use crate::memory::CollectReserved;
use crate::numeric::statistics::{NORMAL_975, bulk, chi_square_quantile, median};

/// Orthogonal distances below this fraction of the median norm are rounding.
const ROUNDING: f64 = 1e-6;

/// The class of a sample by its two distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flag {
    /// Within both cutoffs.
    Regular,
    /// Far along the components but near the subspace.
    GoodLeverage,
    /// Off the subspace, its projection among the others.
    Orthogonal,
    /// Off the subspace and far along it.
    BadLeverage,
}

impl Flag {
    /// All flags.
    pub const ALL: [Self; 4] = [Self::Regular, Self::GoodLeverage, Self::Orthogonal, Self::BadLeverage];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regular => "regular",
            Self::GoodLeverage => "good_leverage",
            Self::Orthogonal => "orthogonal",
            Self::BadLeverage => "bad_leverage",
        }
    }

    /// The flag for two distances and cutoffs; a cutoff of NaN flags no sample, a distance of NaN flags its sample.
    pub fn of(distances: [f64; 2], cutoffs: [f64; 2]) -> Self {
        let beyond = |i: usize| !cutoffs[i].is_nan() && (distances[i].is_nan() || distances[i] > cutoffs[i]);
        match (beyond(0), beyond(1)) {
            (false, false) => Self::Regular,
            (true, false) => Self::GoodLeverage,
            (false, true) => Self::Orthogonal,
            (true, true) => Self::BadLeverage,
        }
    }

    /// True if the orthogonal distance exceeds its cutoff.
    pub fn is_outlier(self) -> bool {
        matches!(self, Self::Orthogonal | Self::BadLeverage)
    }
}

/// The position of one sample relative to a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Diagnosis {
    /// The distance along the components, in robust standard deviations.
    pub score_distance: f64,
    /// The distance from the subspace, in data units (scaled ones where features were scaled).
    pub orthogonal_distance: f64,
    /// The angle to the subspace in degrees; NaN at the center.
    pub angle_degrees: f64,
    /// The flag that follows.
    pub flag: Flag,
}

/// Cutoffs of score distance and orthogonal distance, from how the samples of a fit lie.
pub(crate) fn cutoffs(measured: &SampleDistances, d: usize, features: usize) -> [f64; 2] {
    let score = chi_square_quantile(0.975, d).sqrt();
    let active = measured.lengths.iter().copied().filter(|l| *l > 0.0).collect_reserved();
    if d >= features || active.is_empty() {
        return [score, f64::NAN];
    }
    let rounding = ROUNDING * median(active);
    let distances = measured.orthogonal();
    let largest = distances.iter().fold(0.0f64, |m, od| m.max(*od));
    // All samples within the subspace: there is nothing to be off by.
    if largest <= rounding {
        return [score, f64::NAN];
    }
    let bulk = bulk(distances.into_iter().map(|od| od.powf(2.0 / 3.0)).collect());
    [score, (bulk.location + NORMAL_975 * bulk.scale).max(0.0).powf(1.5).max(rounding)]
}
