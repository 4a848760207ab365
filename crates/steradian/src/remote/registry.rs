//! The registry of folds: a trait object for any fold, and the list from which a worker reads a fold by its name.

use std::ops::Range;
use std::sync::Arc;

use super::partial_result::{PartialResult, PartialState};
use crate::codec::{from_bytes, to_bytes};
use crate::data::source::{Shape, Source};
use crate::engine::fold::Fold;
use crate::engine::grid::Grid;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{
    AnchorCounts, ColumnMeans, ConeSizes, DataCheck, DigitCounts, Distances, MaxOutlyingness, OperatorProduct,
    Projection, RobustMoments, Scatter, SelectColumns, SelectRows, SpatialGradient,
};

/// A partial result, and the indices that its samples have in the pass.
type Part<'a> = (&'a PartialResult, Range<usize>);

/// A fold of any type.
pub(super) trait AnyFold: Sync {
    /// Name in the registry.
    fn name(&self) -> &'static str;

    /// Serializes the fold for [`read`].
    fn bytes(&self) -> Result<Vec<u8>>;

    /// Rejects a fold that does not agree with the data, as in [`Fold::check`].
    fn check_job(&self, shape: &Shape, samples: &Range<usize>) -> Result<()>;

    /// Rows per leaf of the grid, for data of this shape.
    fn leaf_rows(&self, samples: usize, features: usize) -> usize;

    /// The partial result of a part of the data on its own grid.
    fn sum(&self, job: u64, rows: Range<usize>, source: &dyn Source, runner: &Local) -> Result<PartialResult>;

    /// The partial result of a part on the grid of all `samples`.
    fn sum_leaves(
        &self,
        job: u64,
        rows: Range<usize>,
        samples: usize,
        source: &dyn Source,
        runner: &Local,
    ) -> Result<PartialResult>;

    /// Merges two partial results of adjacent rows, the earlier rows first; each with the indices of its samples.
    fn merge(&self, job: u64, left: Part<'_>, right: Part<'_>) -> Result<PartialResult>;
}

impl<F: Fold> AnyFold for F {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
    }

    fn check_job(&self, shape: &Shape, samples: &Range<usize>) -> Result<()> {
        self.check(shape, samples)
    }

    fn leaf_rows(&self, samples: usize, features: usize) -> usize {
        Grid::new(samples, features, self.accumulator_bytes()).leaf_rows()
    }

    fn sum(&self, job: u64, rows: Range<usize>, source: &dyn Source, runner: &Local) -> Result<PartialResult> {
        let shape = source.shape();
        let grid = Grid::new(shape.samples, shape.features, self.accumulator_bytes());
        let forest = runner.run_leaves(self, source, grid, 0..grid.leaves())?;
        Ok(PartialResult::new::<F>(job, rows, PartialState::Own(runner.compute(|| forest.total(self))?)))
    }

    fn sum_leaves(
        &self,
        job: u64,
        rows: Range<usize>,
        samples: usize,
        source: &dyn Source,
        runner: &Local,
    ) -> Result<PartialResult> {
        let grid = Grid::new(samples, source.shape().features, self.accumulator_bytes());
        let leaf_rows = grid.leaf_rows();
        if rows.end > samples
            || !rows.start.is_multiple_of(leaf_rows)
            || (rows.end < samples && !rows.end.is_multiple_of(leaf_rows))
        {
            return Err(Error::invalid_argument(format!(
                "rows {rows:?} are not aligned to the reduction grid of {samples} samples; start and end parts at \
                 multiples of {leaf_rows} rows (or at the end of the data)"
            )));
        }
        let forest = runner.run_leaves(self, source, grid, rows.start / leaf_rows..rows.end.div_ceil(leaf_rows))?;
        Ok(PartialResult::new::<F>(job, rows, PartialState::Leaves(forest)))
    }

    fn merge(&self, job: u64, (left, earlier): Part<'_>, (right, later): Part<'_>) -> Result<PartialResult> {
        let state = left.state(self, &earlier)?.merge(right.state(self, &later)?, self)?;
        Ok(PartialResult::new::<F>(job, left.rows().start..right.rows().end, state))
    }
}

macro_rules! registry {
    ($($fold:ty),* $(,)?) => {
        /// The names of the registered folds.
        const NAMES: &[&str] = &[$(<$fold>::NAME),*];

        /// The fold of this name from the bytes of [`AnyFold::bytes`].
        pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Arc<dyn AnyFold + Send>> {
            match name {
                $(name if name == <$fold>::NAME => Ok(Arc::new(from_bytes::<$fold>(bytes, "a job")?)),)*
                _ => Err(Error::invalid_data(format!("pass \"{name}\" of the job is not supported by this version"))),
            }
        }
    };
}

registry![
    ColumnMeans<'static>,
    DataCheck,
    SelectColumns,
    DigitCounts<'static>,
    SpatialGradient<'static>,
    Scatter<'static>,
    OperatorProduct<'static>,
    Projection<'static>,
    Distances<'static>,
    MaxOutlyingness<'static>,
    SelectRows,
    AnchorCounts<'static>,
    ConeSizes<'static>,
    RobustMoments<'static>,
];

/// True if a fold of this name is registered.
pub(super) fn contains(name: &str) -> bool {
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_registered() {
        let mean = ColumnMeans::new(3, None);
        let read = read(ColumnMeans::NAME, &AnyFold::bytes(&mean).unwrap()).unwrap();
        assert_eq!(read.name(), "mean");
        assert_eq!(read.bytes().unwrap(), AnyFold::bytes(&mean).unwrap());
        assert!(!contains("unknown"));
        let unique: std::collections::BTreeSet<&str> = NAMES.iter().copied().collect();
        assert_eq!(unique.len(), NAMES.len(), "{NAMES:?}");
    }
}
