//! The sums that passes add blocks into. Each is a [`Fold`](crate::Fold) or a [`PairFold`](crate::PairFold), so parts
//! of the data can be summed anywhere and merged.

use rayon::prelude::*;

mod anchors;
mod chosen;
mod cone_rule;
mod counts;
mod directions;
mod distances;
mod farthest;
mod gathered;
mod gram;
mod moments;
mod operand;
mod projection;
mod pull;
mod quantile;
mod scatter;
mod sketch;

pub use anchors::{AnchorCounts, AnchorCountsSum, Anchors, ConeSizes};
pub use chosen::{ChosenRows, ChosenRowsSum};
pub use cone_rule::ConeRule;
pub use counts::{NeighbourCounts, Neighbours};
pub use directions::Directions;
pub use distances::{Distances, DistancesSum};
pub use farthest::{FarthestAlong, FarthestSum};
pub use gathered::{Gathered, GatheredSum};
pub use gram::Gram;
pub use moments::{Moments, MomentsSum};
pub use operand::Precision;
pub use projection::{Projection, ProjectionSum, Units};
pub use pull::{Pull, PullSum};
pub use quantile::DigitCounts;
pub use scatter::{Scatter, ScatterSum};
pub use sketch::{Coefficients, Sketch, SketchSum};

pub(crate) use anchors::{SentAnchorCounts, SentConeSizes};
pub(crate) use cone_rule::exact_cosine;
pub(crate) use counts::CONE_TILE_ROWS;
pub(crate) use distances::{SentDistances, sine_outside};
pub(crate) use farthest::{SentFarthest, farthest};
pub(crate) use gram::TILE_ROWS;
pub(crate) use projection::SentProjection;
pub(crate) use quantile::{COLUMN_BYTES, DIGITS};
pub(crate) use scatter::SentScatter;
pub(crate) use sketch::SentSketch;

/// Adds `right` to `left`, number by number, by the current threads together.
fn add_all(mut left: Vec<f64>, right: &[f64]) -> Vec<f64> {
    /// Fewer numbers are not worth a task.
    const PART: usize = 1 << 15;
    left.par_chunks_mut(PART).zip(right.par_chunks(PART)).for_each(|(left, right)| {
        left.iter_mut().zip(right).for_each(|(sum, x)| *sum += x);
    });
    left
}
