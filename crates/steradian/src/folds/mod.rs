//! The folds of this crate, one per file. Each is a [`Fold`](crate::engine::fold::Fold) or a
//! [`PairFold`](crate::engine::fold::PairFold), so partial results of any rows can be computed anywhere and merged.

pub(crate) mod anchor_counts;
pub(crate) mod cone_counts;
pub(crate) mod cone_predicate;
pub(crate) mod data_check;
pub(crate) mod digit_counts;
pub(crate) mod distances;
pub(crate) mod gram;
pub(crate) mod max_outlyingness;
pub(crate) mod mean;
pub(crate) mod operator_product;
pub(crate) mod projection;
pub(crate) mod repaired_product;
pub(crate) mod robust_moments;
pub(crate) mod scatter;
pub(crate) mod select_columns;
pub(crate) mod select_rows;
pub(crate) mod spatial_gradient;
pub(crate) mod weighted_rows;

use rayon::prelude::*;

pub(crate) use crate::kernel::digit_counts::DIGITS;
pub use crate::kernel::operand::Precision;
pub use anchor_counts::{AnchorCounts, Anchors, CandidateCounts, ConeSizes};
pub(crate) use cone_counts::CONE_TILE_ROWS;
pub use cone_counts::{ConeCounts, NeighborCounts};
pub use cone_predicate::ConePredicate;
pub(crate) use cone_predicate::exact_cosine;
pub use data_check::{DataCheck, DataCheckAccumulator, DataSummary, MissingCells};
pub(crate) use digit_counts::COLUMN_BYTES;
pub use digit_counts::DigitCounts;
pub(crate) use distances::sine_outside;
pub use distances::{Distances, SampleDistances};
pub use gram::Gram;
pub(crate) use gram::TILE_ROWS;
pub(crate) use max_outlyingness::max_z_score;
pub use max_outlyingness::{MaxOutlyingness, MaxOutlyingnessAccumulator};
pub use mean::{ColumnMeans, MeanAccumulator};
pub use operator_product::{Coefficients, OperatorProduct, OperatorProductAccumulator};
pub use projection::{Projection, ProjectionUnits, Projections};
pub use repaired_product::{RepairedProduct, RepairedProductAccumulator};
pub(crate) use robust_moments::RepairedRow;
pub(crate) use robust_moments::chunk_rows as repaired_chunk_rows;
pub use robust_moments::{MomentProduct, RobustMoments, RobustMomentsAccumulator, RowMoments, RowWeighting};
pub use scatter::{Scatter, ScatterAccumulator};
pub use select_columns::{SelectColumns, SelectedColumns};
pub use select_rows::{SelectRows, SelectedRows};
pub use spatial_gradient::{SpatialGradient, SpatialGradientAccumulator};
pub use weighted_rows::WeightedRows;

/// Adds `right` to `left` elementwise, on the current thread pool.
fn add_all(mut left: Vec<f64>, right: &[f64]) -> Vec<f64> {
    /// Elements per task.
    const PART: usize = 1 << 15;
    left.par_chunks_mut(PART).zip(right.par_chunks(PART)).for_each(|(left, right)| {
        left.iter_mut().zip(right).for_each(|(sum, x)| *sum += x);
    });
    left
}
