//! Centered samples in memory, stored by columns, for trimmed averages of features.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | Z, samples minus the center and minus earlier components | `panels`, column-major | n x D |
//! | y = Z q | `project` | n |
//!
//! Columns are stored in the working precision: f32 for u8, u16 and f32 data, f64 for f64 data. A task processes a
//! panel of [`PANEL_COLUMNS`] columns. Sums over panels are added in order, so results are bitwise identical for any
//! number of threads.

use pulp::Arch;
use rayon::prelude::*;
use steradian::data::{Block, BlockData, Element, Rows};
use steradian::engine::Runner;
use steradian::memory::{self, CollectReserved};
use steradian::{Local, Result, Source};

/// Number of columns per panel.
pub(crate) const PANEL_COLUMNS: usize = 128;

/// The working precision of columns: f32 or f64.
pub(crate) trait ColumnFloat: Copy + Send + Sync + 'static {
    /// An integer with the order of the floating-point value.
    type Key: Ord + Copy + Send;

    /// A key below those of all values.
    const LOWEST: Self::Key;
    /// A key above those of all values.
    const HIGHEST: Self::Key;

    /// Conversion from f64.
    fn narrow(x: f64) -> Self;
    /// Conversion to f64.
    fn widen(self) -> f64;
    /// self + factor * x.
    fn plus(self, factor: Self, x: Self) -> Self;
    /// The key of self * sign, where `sign` is -1, 0 or 1.
    fn signed_key(self, sign: Self) -> Self::Key;
    /// The value of a key.
    fn of_key(key: Self::Key) -> f64;
}

macro_rules! column_float {
    ($float:ty, $signed:ty, $unsigned:ty) => {
        impl ColumnFloat for $float {
            type Key = $signed;

            const LOWEST: $signed = <$signed>::MIN;
            const HIGHEST: $signed = <$signed>::MAX;

            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as $float
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn plus(self, factor: Self, x: Self) -> Self {
                self + factor * x
            }

            // The bits of negative values sort in reverse order; flipping all but the sign bit corrects this.
            #[inline(always)]
            fn signed_key(self, sign: Self) -> $signed {
                let bits = (self * sign).to_bits() as $signed;
                bits ^ ((bits >> (<$signed>::BITS - 1)) as $unsigned >> 1) as $signed
            }

            #[inline(always)]
            fn of_key(key: $signed) -> f64 {
                let bits = key ^ ((key >> (<$signed>::BITS - 1)) as $unsigned >> 1) as $signed;
                f64::from(<$float>::from_bits(bits as $unsigned))
            }
        }
    };
}

column_float!(f32, i32, u32);
column_float!(f64, i64, u64);

/// Centered samples by columns, in panels.
pub(crate) struct Columns<F> {
    samples: usize,
    panels: Vec<Vec<F>>,
}

impl<F: ColumnFloat> Columns<F> {
    /// Reads all samples and subtracts `center`. Cost: one pass.
    pub(crate) fn read(source: &dyn Source, center: &[f64], runner: &Local) -> Result<Self> {
        let (samples, features) = (source.shape().samples, source.shape().features);
        let widths = (0..features).step_by(PANEL_COLUMNS).map(|start| PANEL_COLUMNS.min(features - start));
        let mut panels: Vec<Vec<F>> = widths.map(|width| memory::filled(width * samples, F::narrow(0.0))).collect();
        let rows = steradian::engine::Grid::new(samples, features, 0).block_rows();
        runner.for_each_block("samples", source, rows, |block| {
            panels.par_iter_mut().enumerate().for_each(|(panel, columns)| {
                place(block, panel * PANEL_COLUMNS, &center[panel * PANEL_COLUMNS..], samples, columns);
            });
            Ok(())
        })?;
        Ok(Self { samples, panels })
    }

    /// The number of features.
    pub(crate) fn features(&self) -> usize {
        self.panels.iter().map(|panel| panel.len() / self.samples).sum()
    }

    /// Z q, one value per sample.
    pub(crate) fn project(&self, q: &[f64], runner: &Local) -> Vec<F> {
        runner.compute(|| {
            let parts: Vec<Vec<F>> = self
                .panels
                .par_iter()
                .zip(q.par_chunks(PANEL_COLUMNS))
                .map(|(panel, q)| {
                    let mut part = memory::filled(self.samples, F::narrow(0.0));
                    Arch::new().dispatch(
                        #[inline(always)]
                        || {
                            for (column, &q) in panel.chunks_exact(self.samples).zip(q) {
                                let q = F::narrow(q);
                                part.iter_mut().zip(column).for_each(|(sum, &z)| *sum = sum.plus(q, z));
                            }
                        },
                    );
                    part
                })
                .collect();
            let mut sums = memory::filled(self.samples, 0.0);
            for part in parts {
                sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x.widen());
            }
            sums.into_iter().map(F::narrow).collect_reserved()
        })
    }

    /// One value per column, by a function of the feature, its column and a buffer for keys. The function should be
    /// inlined, so that it is compiled for the SIMD instructions of the CPU here.
    #[inline(always)]
    pub(crate) fn each(&self, of: impl Fn(usize, &[F], &mut Vec<F::Key>) -> f64 + Sync, runner: &Local) -> Vec<f64> {
        runner.compute(|| {
            let panel_of = |keys: &mut Vec<F::Key>, (index, panel): (usize, &Vec<F>)| {
                Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        // A plain loop: closures of iterators would be compiled without these SIMD instructions.
                        let mut out = Vec::with_capacity(PANEL_COLUMNS);
                        for (j, column) in panel.chunks_exact(self.samples).enumerate() {
                            out.push(of(index * PANEL_COLUMNS + j, column, keys));
                        }
                        out
                    },
                )
            };
            self.panels.par_iter().enumerate().map_init(Vec::new, panel_of).flatten_iter().collect()
        })
    }

    /// Replaces Z by Z - y q'.
    pub(crate) fn deflate(&mut self, q: &[f64], y: &[F], runner: &Local) {
        let samples = self.samples;
        runner.compute(|| {
            self.panels.par_iter_mut().zip(q.par_chunks(PANEL_COLUMNS)).for_each(|(panel, q)| {
                Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for (column, &q) in panel.chunks_exact_mut(samples).zip(q) {
                            let factor = F::narrow(-q);
                            column.iter_mut().zip(y).for_each(|(z, &y)| *z = z.plus(factor, y));
                        }
                    },
                );
            });
        });
    }
}

/// Writes the rows of a block, minus the center, to the columns of a panel.
fn place<F: ColumnFloat>(block: &Block<'_>, first: usize, center: &[f64], samples: usize, columns: &mut [F]) {
    match block.data() {
        BlockData::U8(rows) => place_rows(&rows, block.first(), first, center, samples, columns),
        BlockData::U16(rows) => place_rows(&rows, block.first(), first, center, samples, columns),
        BlockData::F32(rows) => place_rows(&rows, block.first(), first, center, samples, columns),
        BlockData::F64(rows) => place_rows(&rows, block.first(), first, center, samples, columns),
    }
}

fn place_rows<T: Element, F: ColumnFloat>(
    rows: &Rows<'_, T>,
    sample: usize,
    first: usize,
    center: &[f64],
    samples: usize,
    columns: &mut [F],
) {
    for (j, (column, c)) in columns.chunks_exact_mut(samples).zip(center).enumerate() {
        for (row, z) in column[sample..sample + rows.rows()].iter_mut().enumerate() {
            *z = F::narrow(rows.get(row, first + j).widen() - c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_have_the_order_of_signed_values(a in -1e3f32..1e3, b in -1e3f32..1e3, sign in prop::sample::select(vec![-1.0f32, 0.0, 1.0])) {
            let (x, y) = (a * sign, b * sign);
            prop_assert_eq!(x < y, a.signed_key(sign) < b.signed_key(sign) && x != y);
            prop_assert_eq!(f32::of_key(a.signed_key(sign)), f64::from(x));
            let (a, b, sign) = (f64::from(a), f64::from(b), f64::from(sign));
            prop_assert_eq!(a * sign < b * sign, a.signed_key(sign) < b.signed_key(sign) && a * sign != b * sign);
            prop_assert_eq!(f64::of_key(a.signed_key(sign)), a * sign);
        }
    }
}
