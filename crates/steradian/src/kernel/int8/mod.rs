//! Exact integer products of rows of u8 minus 128: the tile of the Gram matrix.
//!
//! Adjacent values of a row are packed into words of 32 bits: two as i16 ([`avx2`]) or four as bytes ([`vnni`]), whose
//! products one instruction sums. A register tile is [`ROWS`](tile::Tile::ROWS) rows of the left block by
//! [`COLUMNS`](tile::COLUMNS) rows of the right. A vector has the words of all right rows, and is multiplied by one
//! word of a left row in all lanes: so a vector of sums is part of the result, without sums across lanes. Sums over
//! [`EXACT_COLUMNS`](tile::EXACT_COLUMNS) columns stay below 2^31; then they are added in f64, which is exact up to
//! 2^53. Cost: 2 D operations per pair.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;
mod tile;
#[cfg(target_arch = "x86_64")]
mod vnni;

use rayon::prelude::*;

use crate::data::block::{Block, BlockData, Rows};
use tile::{DEPTH, Stretch};

/// The value subtracted from each u8.
pub(crate) const MIDDLE_BYTE: f64 = 128.0;
/// Rows per tile for these products: enough that their conversion is a small part of the work.
pub(crate) const BYTE_TILE_ROWS: usize = 192;
/// Columns per task if threads share a tile. Integers can be added in any order.
const SHARED_COLUMNS: usize = 4 * DEPTH;

/// The products of two tiles to compute, and their distribution over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TileMode {
    /// True if both tiles are the same: entries below the diagonal are copied from above it.
    pub symmetric: bool,
    /// True if there are so few tiles that all threads share one.
    pub shared: bool,
}

/// The products of the rows of two u8 blocks minus 128: left x right, row by row; `None` for other element types.
pub(crate) fn block_products(left: &Block<'_>, right: &Block<'_>, mode: TileMode) -> Option<Vec<f64>> {
    match (left.data(), right.data()) {
        (BlockData::U8(left), BlockData::U8(right)) => Some(byte_products(&left, &right, mode)),
        _ => None,
    }
}

fn byte_products(left: &Rows<'_, u8>, right: &Rows<'_, u8>, mode: TileMode) -> Vec<f64> {
    let (n, features) = (right.rows(), left.columns());
    let over = |columns| on_this_cpu(Stretch { left, right, columns, symmetric: mode.symmetric });
    let mut out = if mode.shared {
        let stretches: Vec<_> = (0..features).step_by(SHARED_COLUMNS).collect();
        let parts = stretches.into_par_iter().map(|start| over(start..(start + SHARED_COLUMNS).min(features)));
        parts.reduce_with(add).unwrap_or_else(|| vec![0.0; left.rows() * n])
    } else {
        over(0..features)
    };
    if mode.symmetric {
        for i in 1..n {
            let (above, row) = out.split_at_mut(i * n);
            row[..i].iter_mut().enumerate().for_each(|(j, x)| *x = above[j * n + i]);
        }
    }
    out
}

/// The products by the fastest instructions of this CPU.
fn on_this_cpu(stretch: Stretch<'_>) -> Vec<f64> {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(vnni) = vnni::Vnni::try_new() {
            return vnni.products(stretch);
        }
        if let Some(avx2) = avx2::Avx2::try_new() {
            return avx2.products(stretch);
        }
    }
    stretch.products(scalar::Scalar)
}

fn add(mut a: Vec<f64>, b: Vec<f64>) -> Vec<f64> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_equal_the_reference() {
        let sizes = [
            (1, 1, 1),
            (3, 4, 16),
            (5, 2, 767),
            (6, 8, 768),
            (7, 16, 60),
            (60, 17, 512),
            (96, 95, 769),
            (4, 3, 140_000),
            (2, 2, 0),
            (256, 15, 31),
        ];
        for (m, n, features) in sizes {
            let byte = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            // Includes 0 and 255, which have the largest magnitudes.
            let a: Vec<u8> = (0..m * features).map(|i| if i % 5 == 0 { 0 } else { byte(i) }).collect();
            let b: Vec<u8> = (0..n * features).map(|i| if i % 3 == 0 { 0 } else { byte(i + 99) }).collect();
            let left = Rows::contiguous(&a, m, features).unwrap();
            let right = Rows::contiguous(&b, n, features).unwrap();
            let expected = |x: &Rows<'_, u8>, i: usize, y: &Rows<'_, u8>, j: usize| {
                let product = |k| (i64::from(x.get(i, k)) - 128) * (i64::from(y.get(j, k)) - 128);
                (0..features).map(product).sum::<i64>() as f64
            };
            for shared in [false, true] {
                let found = byte_products(&left, &right, TileMode { symmetric: false, shared });
                let own = byte_products(&left, &left, TileMode { symmetric: true, shared });
                for i in 0..m {
                    for j in 0..n {
                        assert_eq!(
                            found[i * n + j],
                            expected(&left, i, &right, j),
                            "{m} x {n} over {features}: {i} {j}"
                        );
                    }
                    for j in 0..m {
                        assert_eq!(own[i * m + j], expected(&left, i, &left, j), "{m} over {features}: {i} {j}");
                    }
                }
            }
        }
    }

    /// Compares every tile that this CPU supports with the scalar one.
    #[test]
    fn tiles_equal_the_scalar_reference() {
        let byte = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
        for (m, n, features) in
            [(0, 3, 9), (1, 1, 1), (24, 16, 768), (25, 17, 769), (47, 33, 1537), (6, 8, 0), (3, 2, 140_000)]
        {
            let bytes: Vec<u8> =
                (0..(m + n) * features).map(|i| if i % 7 == 0 { 255 * (i % 2) as u8 } else { byte(i) }).collect();
            let left = Rows::contiguous(&bytes[..m * features], m, features).unwrap();
            let right = Rows::contiguous(&bytes[m * features..], n, features).unwrap();
            let stretch = || Stretch { left: &left, right: &right, columns: 0..features, symmetric: false };
            let expected = stretch().products(scalar::Scalar);
            // The rows in column-major order.
            let column_major: Vec<u8> = (0..m * features).map(|i| left.get(i % m, i / m)).collect();
            let strided = Rows::strided(&column_major, 0, m, features, 1, m as isize).unwrap();
            assert_eq!(on_this_cpu(Stretch { left: &strided, ..stretch() }), expected);
            #[cfg(target_arch = "x86_64")]
            {
                let found = [
                    vnni::Vnni::try_new().map(|tile| tile.products(stretch())),
                    avx2::Avx2::try_new().map(|tile| tile.products(stretch())),
                ];
                for found in found.into_iter().flatten() {
                    assert_eq!(found, expected, "{m} x {n} over {features}");
                }
            }
            assert_eq!(expected.len(), m * n);
        }
    }
}
