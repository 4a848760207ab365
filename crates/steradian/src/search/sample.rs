//! The sample of rows that the search works on, in an order that depends on the rows alone.

use crate::cellwise::FeatureStats;
use crate::cellwise::features::wrapped;
use crate::data::block::{Block, BlockData, Rows};
use crate::data::element::ElementType;
use crate::data::source::Source;
use crate::error::Result;
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::Matrix;
use crate::numeric::random::{Stream, subsample};

/// Cells of a sample, about.
const CELLS: usize = 10_000_000;
/// Rows of a sample, at least and at most.
const ROWS: (usize, usize) = (500, 1000);
/// Features that take part in the search, at most, and number of features from which on they are chosen.
pub(crate) const SEARCH_FEATURES: usize = 2048;
const MOST_FEATURES: usize = 3000;
/// Largest deviation of a cell that counts for the order of rows, in scales.
const ORDER_LIMIT: f64 = 4.0;

/// The number of rows of a sample of n rows with this many features; n if all rows take part.
pub(crate) fn sample_size(n: usize, features: usize) -> usize {
    let rows = (CELLS / features.max(1)).clamp(ROWS.0, ROWS.1);
    if 2 * n <= 3 * rows { n } else { rows }
}

/// The number of features of a search.
pub(crate) fn search_features(features: usize) -> usize {
    if features > MOST_FEATURES { SEARCH_FEATURES } else { features }
}

/// Rows of any element type, owned.
#[derive(Debug, Clone)]
enum OwnedRows {
    U8(Vec<u8>),
    U16(Vec<u16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Some rows of a source in memory, in their element type.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// The indices of the rows in the source, by position.
    pub rows: Vec<usize>,
    features: usize,
    values: OwnedRows,
    /// Statistics of the features over these rows.
    pub stats: FeatureStats,
}

impl Sample {
    /// Draws the rows of a source and puts them in order.
    pub(crate) fn draw(source: &dyn Source, seed: u64) -> Result<Self> {
        let shape = source.shape();
        let count = sample_size(shape.samples, shape.features);
        let rows = subsample(shape.samples, count, seed, Stream::Sample);
        let values = gather(source, &rows)?;
        let mut sample = Self { rows, features: shape.features, values, stats: FeatureStats::default() };
        sample.stats = FeatureStats::of(&sample.block()?);
        sample.sort()
    }

    /// The rows as a block.
    pub(crate) fn block(&self) -> Result<Block<'_>> {
        let (n, features) = (self.rows.len(), self.features);
        Ok(Block::new(
            0,
            match &self.values {
                OwnedRows::U8(values) => BlockData::U8(Rows::contiguous(values, n, features)?),
                OwnedRows::U16(values) => BlockData::U16(Rows::contiguous(values, n, features)?),
                OwnedRows::F32(values) => BlockData::F32(Rows::contiguous(values, n, features)?),
                OwnedRows::F64(values) => BlockData::F64(Rows::contiguous(values, n, features)?),
            },
        ))
    }

    /// Some features of all rows as numbers.
    pub(crate) fn table(&self, features: &[usize]) -> Result<Matrix> {
        let block = self.block()?;
        let mut row = memory::filled(self.features, 0.0);
        let mut data = memory::reserved(self.rows.len() * features.len());
        for i in 0..self.rows.len() {
            block.read_row(i, &mut row);
            data.extend(features.iter().map(|&j| row[j]));
        }
        Ok(Matrix::from_vec(self.rows.len(), features.len(), data))
    }

    /// The features that take part in the search: all, or those of largest scale and every k-th of the others in order of
    /// their scales, so that the order of the features does not matter.
    pub(crate) fn search_features(&self) -> Vec<usize> {
        if self.features <= MOST_FEATURES {
            return (0..self.features).collect();
        }
        let mut order: Vec<usize> = (0..self.features).collect();
        order.sort_by(|&a, &b| self.stats.scale[b].total_cmp(&self.stats.scale[a]));
        let half = SEARCH_FEATURES / 2;
        let rest = self.features - half;
        let mut chosen: Vec<usize> = order[..half].to_vec();
        chosen.extend((0..half).map(|i| order[half + i * rest / half]));
        chosen.sort_unstable();
        chosen
    }

    /// The rows in ascending order of their bounded squared deviations from the locations. Rows in which every cell is beyond the
    /// bound are in the order of their deviations.
    fn sort(mut self) -> Result<Self> {
        let block = self.block()?;
        let mut row = memory::filled(self.features, 0.0);
        let deviations: Vec<(f64, f64)> = (0..self.rows.len())
            .map(|i| {
                block.read_row(i, &mut row);
                let cells = row.iter().zip(&self.stats.location).zip(&self.stats.scale);
                let present = cells.filter(|((x, _), _)| !x.is_nan());
                present
                    .map(|((x, m), s)| (x - m).abs() / s)
                    .fold((0.0, 0.0), |(bounded, sum), u| (bounded + u.min(ORDER_LIMIT).powi(2), sum + u))
            })
            .collect_reserved();
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (deviations[a], deviations[b]);
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let features = self.features;
        macro_rules! reorder {
            ($values:ident) => {{
                let mut ordered = memory::reserved($values.len());
                order.iter().for_each(|&i| ordered.extend_from_slice(&$values[i * features..(i + 1) * features]));
                ordered
            }};
        }
        self.values = match self.values {
            OwnedRows::U8(values) => OwnedRows::U8(reorder!(values)),
            OwnedRows::U16(values) => OwnedRows::U16(reorder!(values)),
            OwnedRows::F32(values) => OwnedRows::F32(reorder!(values)),
            OwnedRows::F64(values) => OwnedRows::F64(reorder!(values)),
        };
        self.rows = order.iter().map(|&i| self.rows[i]).collect_reserved();
        Ok(self)
    }
}

/// Copies rows of a source in their element type.
fn gather(source: &dyn Source, rows: &[usize]) -> Result<OwnedRows> {
    let shape = source.shape();
    source.prefetch(rows)?;
    macro_rules! gather {
        ($variant:ident) => {{
            let mut values = memory::reserved(rows.len() * shape.features);
            for &row in rows {
                source.visit(row..row + 1, &mut |block| {
                    if let BlockData::$variant(own) = block.data() {
                        match own.row(0, 0, shape.features) {
                            Some(cells) => values.extend_from_slice(cells),
                            None => values.extend((0..shape.features).map(|j| own.get(0, j))),
                        }
                    }
                    Ok(())
                })?;
            }
            OwnedRows::$variant(values)
        }};
    }
    Ok(match shape.element {
        ElementType::U8 => gather!(U8),
        ElementType::U16 => gather!(U16),
        ElementType::F32 => gather!(F32),
        ElementType::F64 => gather!(F64),
    })
}

/// A table without missing cells: each missing cell is the location of its feature.
pub(crate) fn filled(table: &Matrix, stats: &FeatureStats) -> Matrix {
    mapped(table, stats, |x, location, _| if x.is_nan() { location } else { x })
}

/// A table of wrapped cells.
pub(crate) fn wrapped_table(table: &Matrix, stats: &FeatureStats) -> Matrix {
    mapped(table, stats, wrapped)
}

fn mapped(table: &Matrix, stats: &FeatureStats, map: impl Fn(f64, f64, f64) -> f64) -> Matrix {
    let mut out = table.clone();
    for row in out.data_mut().chunks_exact_mut(table.columns().max(1)) {
        for ((x, location), scale) in row.iter_mut().zip(&stats.location).zip(&stats.scale) {
            *x = map(*x, *location, *scale);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;

    #[test]
    fn rows_far_out_in_every_cell_have_an_order_of_their_own() {
        let near = (0..20).flat_map(|i| [f64::from(i), f64::from((i * 7) % 20)]);
        let far = [900.0, 900.0, 300.0, 300.0, 600.0, 600.0];
        let rows: Vec<f64> = near.chain(far).collect();
        let reversed: Vec<f64> = rows.chunks_exact(2).rev().flatten().copied().collect();
        let table = |data: &[f64]| {
            let sample = Sample::draw(&SliceSource::new(data, 23, 2).unwrap(), 0).unwrap();
            let rows = sample.table(&[0, 1]).unwrap().data().to_vec();
            rows[40..].to_vec()
        };
        assert_eq!(table(&rows), [300.0, 300.0, 600.0, 600.0, 900.0, 900.0]);
        assert_eq!(table(&rows), table(&reversed));
    }
}
