//! The check of the data in one pass: no cell is infinite, and none is missing unless that is permitted; column means,
//! magnitudes of the rows, counts of missing cells, and a digest.
//!
//! Means and magnitudes are those of the numbers that are present.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::codec::{bounded, inconsistent, packed, require_length};
use crate::config::options::Missing;
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::kernel::column_sums::{PANEL_COLUMNS, add_columns, add_present};
use crate::kernel::row_digest::RowSummary;
use crate::kernel::{panel, row_digest};
use crate::memory;
use crate::numeric::magnitude::Magnitudes;

/// The fold that checks all samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataCheck {
    features: usize,
    missing: Missing,
}

impl DataCheck {
    /// The check of data with this many features; missing cells are counted, or an error.
    pub fn new(features: usize, missing: Missing) -> Self {
        Self { features, missing }
    }
}

/// Number, column sums, missing cells, magnitudes and digest of some samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataCheckAccumulator {
    samples: u64,
    #[serde(with = "packed")]
    totals: Vec<f64>,
    missing: MissingCells,
    magnitudes: Magnitudes,
    digest: u64,
}

/// The result of the check.
#[derive(Debug, Clone)]
pub struct DataSummary {
    /// The mean of the numbers of each column, 0 for a column without any; `None` if a sum overflows.
    pub(crate) mean: Option<Vec<f64>>,
    pub(crate) missing: MissingCells,
    pub(crate) magnitudes: Magnitudes,
    /// The sum of the digests of the rows, modulo 2^64.
    pub(crate) digest: u64,
}

/// Largest number of rows without any number that are listed.
const LISTED_ROWS: usize = 5;

/// Counts of missing cells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingCells {
    /// Missing cells of each feature; empty if no cell is missing.
    #[serde(with = "packed")]
    by_feature: Vec<u64>,
    incomplete_rows: u64,
    empty_rows: u64,
    #[serde(deserialize_with = "bounded::<LISTED_ROWS, _, _>")]
    first_empty_rows: Vec<usize>,
    first: Option<(usize, usize)>,
}

impl MissingCells {
    /// True if no cell is missing.
    pub fn is_none(&self) -> bool {
        self.by_feature.is_empty()
    }

    /// The number of missing cells.
    pub fn total(&self) -> u64 {
        self.by_feature.iter().sum()
    }

    /// The number of missing cells of each feature; empty if no cell is missing.
    pub fn by_feature(&self) -> &[u64] {
        &self.by_feature
    }

    /// The number of rows with a missing cell.
    pub fn incomplete_rows(&self) -> u64 {
        self.incomplete_rows
    }

    /// The number of rows without any number.
    pub fn empty_rows(&self) -> u64 {
        self.empty_rows
    }

    /// The first few rows without any number.
    pub fn first_empty_rows(&self) -> &[usize] {
        &self.first_empty_rows
    }

    /// The features without any number, of data with this many samples.
    pub fn empty_features(&self, samples: usize) -> impl Iterator<Item = usize> {
        self.by_feature
            .iter()
            .enumerate()
            .filter(move |(_, count)| **count == samples as u64)
            .map(|(feature, _)| feature)
    }

    /// Row and column of the first missing cell.
    pub fn first(&self) -> Option<(usize, usize)> {
        self.first
    }

    /// Counts the missing cells of a block, of which these rows have some.
    fn add(&mut self, block: &Block<'_>, summaries: &[RowSummary], features: usize) {
        for (row, summary) in summaries.iter().enumerate().filter(|(_, summary)| summary.missing > 0) {
            if self.by_feature.is_empty() {
                self.by_feature = memory::filled(features, 0);
            }
            let first = row_digest::count_missing(block, row, &mut self.by_feature);
            let row = block.first() + row;
            self.incomplete_rows += 1;
            if let (None, Some(column)) = (self.first, first) {
                self.first = Some((row, column));
            }
            if summary.missing == features {
                self.empty_rows += 1;
                if self.first_empty_rows.len() < LISTED_ROWS {
                    self.first_empty_rows.push(row);
                }
            }
        }
    }

    /// Adds the counts of later rows.
    fn merge(mut self, later: Self) -> Self {
        if later.is_none() {
            return self;
        }
        if self.is_none() {
            return later;
        }
        self.by_feature.iter_mut().zip(&later.by_feature).for_each(|(sum, count)| *sum += count);
        self.incomplete_rows += later.incomplete_rows;
        self.empty_rows += later.empty_rows;
        self.first_empty_rows.extend(later.first_empty_rows);
        self.first_empty_rows.truncate(LISTED_ROWS);
        self
    }

    /// Rejects counts of other data.
    fn check(&self, features: usize, samples: &Range<usize>) -> Result<()> {
        let Self { by_feature, incomplete_rows, empty_rows, first_empty_rows, first } = self;
        let most = by_feature.iter().copied().max().unwrap_or(0);
        let inside = |row: &usize| samples.contains(row);
        if !by_feature.is_empty() {
            require_length("the counts of missing cells", by_feature.len(), features)?;
        }
        let counted = by_feature.is_empty() == (*incomplete_rows == 0)
            && most.max(*empty_rows) <= *incomplete_rows
            && *incomplete_rows <= samples.len() as u64
            && by_feature.iter().all(|count| count >= empty_rows)
            && first_empty_rows.len() as u64 <= *empty_rows;
        let placed = first_empty_rows.iter().all(inside)
            && first.is_none_or(|(row, column)| inside(&row) && column < features)
            && first.is_some() != by_feature.is_empty();
        match counted && placed {
            true => Ok(()),
            false => Err(inconsistent(format!("its missing cells are not those of {} samples", samples.len()))),
        }
    }
}

impl Fold for DataCheck {
    const NAME: &'static str = "check";

    type Accumulator = DataCheckAccumulator;
    type Out = DataSummary;

    fn check(&self, shape: &Shape, _samples: &Range<usize>) -> Result<()> {
        require_length("the check", self.features, shape.features)
    }

    fn check_accumulator(&self, accumulator: &DataCheckAccumulator, samples: &Range<usize>) -> Result<()> {
        if accumulator.samples > samples.len() as u64 {
            return Err(inconsistent(format!("it counts {} of {} samples", accumulator.samples, samples.len())));
        }
        if accumulator.magnitudes.rows().is_none_or(|rows| rows > accumulator.samples) {
            return Err(inconsistent(format!("it has magnitudes of other than {} samples", accumulator.samples)));
        }
        accumulator.missing.check(self.features, samples)?;
        require_length("the sums", accumulator.totals.len(), self.features)
    }

    fn accumulator_bytes(&self) -> usize {
        self.features * 8
    }

    fn empty(&self) -> DataCheckAccumulator {
        let totals = memory::filled(self.features, 0.0);
        let missing = MissingCells::default();
        DataCheckAccumulator { samples: 0, totals, missing, magnitudes: Magnitudes::default(), digest: 0 }
    }

    fn add(&self, accumulator: &mut DataCheckAccumulator, block: &Block<'_>) -> Result<()> {
        let summaries = row_digest::summaries(block);
        let missing = summaries.iter().any(|row| row.missing > 0);
        if summaries.iter().any(|row| row.infinite) || (missing && self.missing == Missing::Error) {
            panel::require_finite(block, self.missing)?;
        }
        accumulator.samples += summaries.len() as u64;
        let (complete, incomplete): (Vec<usize>, Vec<usize>) =
            (0..block.rows()).partition(|&row| summaries[row].missing == 0);
        accumulator.totals.par_chunks_mut(PANEL_COLUMNS).enumerate().for_each(|(panel, totals)| {
            let columns = panel * PANEL_COLUMNS..panel * PANEL_COLUMNS + totals.len();
            add_columns(block, &complete, columns.clone(), totals);
            add_present(block, &incomplete, columns, totals);
        });
        accumulator.missing.add(block, &summaries, self.features);
        for row in summaries {
            accumulator.magnitudes.add(row.exponent);
            accumulator.digest = accumulator.digest.wrapping_add(row.digest);
        }
        Ok(())
    }

    fn merge(&self, left: DataCheckAccumulator, right: DataCheckAccumulator) -> DataCheckAccumulator {
        DataCheckAccumulator {
            samples: left.samples + right.samples,
            totals: crate::folds::add_all(left.totals, &right.totals),
            missing: left.missing.merge(right.missing),
            magnitudes: left.magnitudes.merge(right.magnitudes),
            digest: left.digest.wrapping_add(right.digest),
        }
    }

    fn finish(&self, total: DataCheckAccumulator) -> Result<DataSummary> {
        let missing = |feature: usize| total.missing.by_feature.get(feature).copied().unwrap_or(0);
        let present = |feature: usize| total.samples.saturating_sub(missing(feature)).max(1) as f64;
        let mean: Vec<f64> = total.totals.iter().enumerate().map(|(feature, t)| t / present(feature)).collect();
        let mean = mean.iter().all(|x| x.is_finite()).then_some(mean);
        Ok(DataSummary { mean, missing: total.missing, magnitudes: total.magnitudes, digest: total.digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;
    use crate::engine::local::Local;
    use crate::engine::runner::Runner;
    use crate::error::Error;
    use proptest::prelude::*;

    const COLUMNS: usize = 4;

    fn check(cells: &[f64], missing: Missing) -> Result<DataSummary> {
        let source = SliceSource::new(cells, cells.len() / COLUMNS, COLUMNS)?;
        Local::new(2)?.run(&DataCheck::new(COLUMNS, missing), &source)
    }

    fn cell() -> impl Strategy<Value = f64> {
        prop_oneof![3 => -1e6f64..1e6, 1 => Just(f64::NAN), 1 => Just(-f64::NAN), 1 => Just(0.0)]
    }

    #[test]
    fn rows_without_numbers_are_counted_and_listed() {
        let mut cells = vec![1.0; 700 * COLUMNS];
        for row in [3, 255, 256, 300, 301, 600, 699] {
            cells[row * COLUMNS..(row + 1) * COLUMNS].fill(f64::NAN);
        }
        cells[2 * COLUMNS + 1] = f64::NAN;
        let missing = check(&cells, Missing::Use).unwrap().missing;
        assert_eq!(missing.by_feature(), [7, 8, 7, 7]);
        assert_eq!((missing.total(), missing.incomplete_rows(), missing.empty_rows()), (29, 8, 7));
        assert_eq!(missing.first_empty_rows(), [3, 255, 256, 300, 301]);
        assert_eq!(missing.first(), Some((2, 1)));
        assert_eq!(missing.empty_features(8).collect::<Vec<_>>(), [1]);
        assert!(check(&[1.0; 8], Missing::Use).unwrap().missing.is_none());
    }

    #[test]
    fn the_first_cell_at_fault_is_named() {
        let mut cells = vec![1.0; 300 * COLUMNS];
        cells[5 * COLUMNS + 3] = f64::NAN;
        cells[270 * COLUMNS] = f64::INFINITY;
        let place = |missing| match check(&cells, missing) {
            Err(Error::NotFinite { row, column, .. }) => (row, column),
            other => panic!("{other:?}"),
        };
        assert_eq!(place(Missing::Error), (5, 3));
        assert_eq!(place(Missing::Use), (270, 0));
    }

    #[test]
    fn counts_of_other_data_are_rejected() {
        let fold = DataCheck::new(COLUMNS, Missing::Use);
        let with = |change: fn(&mut MissingCells)| {
            let mut missing = MissingCells {
                by_feature: vec![1, 2, 1, 1],
                incomplete_rows: 2,
                empty_rows: 1,
                first_empty_rows: vec![13],
                first: Some((12, 1)),
            };
            change(&mut missing);
            fold.check_accumulator(&DataCheckAccumulator { samples: 5, missing, ..fold.empty() }, &(10..15))
        };
        assert!(with(|_| ()).is_ok());
        let changes: [fn(&mut MissingCells); 9] = [
            |m| m.by_feature.push(1),
            |m| m.by_feature[1] = 3,
            |m| m.by_feature[0] = 0,
            |m| m.by_feature.clear(),
            |m| m.incomplete_rows = 6,
            |m| m.first_empty_rows[0] = 15,
            |m| m.first_empty_rows.push(14),
            |m| m.first = None,
            |m| m.first = Some((12, 4)),
        ];
        for (place, change) in changes.into_iter().enumerate() {
            assert!(with(change).is_err(), "change {place}");
        }
    }

    proptest! {
        #[test]
        fn means_and_counts_are_those_of_the_numbers(cells in proptest::collection::vec(cell(), COLUMNS..90 * COLUMNS)) {
            let rows = cells.len() / COLUMNS;
            let cells = &cells[..rows * COLUMNS];
            let found = check(cells, Missing::Use).unwrap();
            for j in 0..COLUMNS {
                let numbers: Vec<f64> = cells[j..].iter().step_by(COLUMNS).copied().filter(|x| !x.is_nan()).collect();
                let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
                prop_assert!((found.mean.as_ref().unwrap()[j] - mean).abs() < 1e-8);
                let missing = (rows - numbers.len()) as u64;
                prop_assert_eq!(found.missing.by_feature().get(j).copied().unwrap_or(0), missing);
            }
            let filled: Vec<f64> = cells.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
            prop_assert_eq!(found.magnitudes, check(&filled, Missing::Error).unwrap().magnitudes);
        }

        #[test]
        fn the_order_of_rows_and_the_bits_of_nan_do_not_count(
            cells in proptest::collection::vec(cell(), 8 * COLUMNS..60 * COLUMNS),
            shift in 0usize..60,
        ) {
            let rows = cells.len() / COLUMNS;
            let mut moved = cells[..rows * COLUMNS].to_vec();
            let found = check(&moved, Missing::Use).unwrap();
            moved.rotate_left(shift % rows * COLUMNS);
            moved.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = f64::from_bits(x.to_bits() ^ (1 << 63) ^ 5));
            let other = check(&moved, Missing::Use).unwrap();
            prop_assert_eq!(found.digest, other.digest);
            prop_assert_eq!(found.magnitudes, other.magnitudes);
            prop_assert_eq!(found.missing.by_feature(), other.missing.by_feature());
            prop_assert_eq!(found.missing.incomplete_rows(), other.missing.incomplete_rows());
            prop_assert_eq!(found.missing.empty_rows(), other.missing.empty_rows());
            // A missing cell is no number.
            if let Some(place) = moved.iter().position(|x| x.is_nan()) {
                for number in [0.0, 1.0, -1.5] {
                    moved[place] = number;
                    prop_assert_ne!(found.digest, check(&moved, Missing::Use).unwrap().digest);
                }
            }
        }
    }
}
