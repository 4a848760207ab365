//! The registry of folds: any fold behind one trait, and the list by which a worker reads a fold from its name.

use std::ops::Range;
use std::sync::Arc;

use super::partial_result::{PartialResult, PartialState};
use crate::codec::{from_bytes, to_bytes};
use crate::data::source::Source;
use crate::engine::fold::Fold;
use crate::engine::grid::Grid;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{
    AnchorCounts, ColumnMeans, ConeSizes, DigitCounts, Distances, MaxOutlyingness, OperatorProduct, Projection,
    Scatter, SelectColumns, SelectRows, SpatialGradient,
};

/// A fold of any type.
pub(super) trait AnyFold: Sync {
    /// Its name in the registry.
    fn name(&self) -> &'static str;

    /// The fold as bytes, which [`read`] reads.
    fn bytes(&self) -> Result<Vec<u8>>;

    /// Rows of a cell of the grid, for data of this shape.
    fn leaf_rows(&self, samples: usize, features: usize) -> usize;

    /// The sum of a part of the data by a grid of its own.
    fn sum(&self, job: u64, rows: Range<usize>, source: &dyn Source, runner: &Local) -> Result<PartialResult>;

    /// The sum of a part by the grid of all `samples`.
    fn sum_leaves(
        &self,
        job: u64,
        rows: Range<usize>,
        samples: usize,
        source: &dyn Source,
        runner: &Local,
    ) -> Result<PartialResult>;

    /// The sum of two neighbours, the earlier rows first.
    fn merge(&self, job: u64, left: &PartialResult, right: &PartialResult) -> Result<PartialResult>;
}

impl<F: Fold> AnyFold for F {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        to_bytes(self)
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
        let size = grid.leaf_rows();
        if rows.end > samples
            || !rows.start.is_multiple_of(size)
            || (rows.end < samples && !rows.end.is_multiple_of(size))
        {
            return Err(Error::invalid_argument(format!(
                "rows {rows:?} are no whole cells of the grid of {samples} samples; let parts begin at multiples of \
                 {size} and end there or with the data"
            )));
        }
        let forest = runner.run_leaves(self, source, grid, rows.start / size..rows.end.div_ceil(size))?;
        Ok(PartialResult::new::<F>(job, rows, PartialState::Leaves(forest)))
    }

    fn merge(&self, job: u64, left: &PartialResult, right: &PartialResult) -> Result<PartialResult> {
        let pieces = left.pieces::<F>()?.merge(right.pieces::<F>()?, self)?;
        Ok(PartialResult::new::<F>(job, left.rows().start..right.rows().end, pieces))
    }
}

macro_rules! registry {
    ($($fold:ty),* $(,)?) => {
        /// The names of the folds that [`read`] knows.
        const NAMES: &[&str] = &[$(<$fold>::NAME),*];

        /// The fold of this name from the bytes of [`AnyFold::bytes`].
        pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Arc<dyn AnyFold + Send>> {
            match name {
                $(name if name == <$fold>::NAME => Ok(Arc::new(from_bytes::<$fold>(bytes, "a job")?)),)*
                _ => Err(Error::invalid_data(format!("the job names a pass \"{name}\", which this version does not have"))),
            }
        }
    };
}

registry![
    ColumnMeans<'static>,
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
];

/// Whether [`read`] knows a fold of this name.
pub(super) fn knows(name: &str) -> bool {
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_known() {
        let mean = ColumnMeans::new(3, None);
        let read = read(ColumnMeans::NAME, &AnyFold::bytes(&mean).unwrap()).unwrap();
        assert_eq!(read.name(), "mean");
        assert_eq!(read.bytes().unwrap(), AnyFold::bytes(&mean).unwrap());
        assert!(!knows("unknown"));
        let unique: std::collections::BTreeSet<&str> = NAMES.iter().copied().collect();
        assert_eq!(unique.len(), NAMES.len(), "{NAMES:?}");
    }
}
