//! Products of rows of u8 minus 128, exact in integers: the tile of the n x n matrix at almost twice the speed of
//! single precision.
//!
//! (u8 - 128) as i16: a multiply-add of pairs (`vpmaddwd`) sums two products of at most 2^14 into 32 bits. A register
//! tile is [`ROWS`] rows of the left by [`COLUMNS`] rows of the right. Pairs of the right lie side by side, eight rows
//! in a vector, and a pair of the left is repeated in all places: so a vector of sums is a piece of the answer, and
//! nothing has to be added across a vector. Sums over [`EXACT_COLUMNS`] columns stay below 2^31, then they move to
//! double precision, which holds them exactly up to 2^53. Cost: 2 D operations a pair.

use std::ops::Range;

use pulp::bytemuck::cast_slice_mut;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::ahead;
use crate::block::Rows;

/// What is subtracted from each byte.
pub(crate) const MIDDLE_BYTE: f64 = 128.0;
/// Rows of a tile that suits these products: converting them is then a small part of the work.
pub(crate) const BYTE_TILE_ROWS: usize = 192;
/// Columns multiplied at a time: a tile of sums and two tiles of numbers fit into the second-level cache, and a strip
/// of the right into the first.
const DEPTH: usize = 384;
/// The same in pairs.
const PAIRS: usize = DEPTH / 2;
/// Columns after which 32-bit sums could overflow: 2^31 / 2^14, rounded down to whole panels.
const EXACT_COLUMNS: usize = (1 << 17) / DEPTH * DEPTH;
/// Columns of one task where a tile is shared by threads. Whole numbers add up to the same in any order.
const SHARED_COLUMNS: usize = 8 * DEPTH;
/// Rows of the left in a register tile.
const ROWS: usize = 6;
/// Rows of the right in a register tile: two vectors.
const COLUMNS: usize = 16;

/// Two neighbouring numbers of a row, as i16, in one word.
type Pair = i32;

/// Sixteen rows as pairs side by side. Aligned, since a load that crosses a cache line counts twice.
#[derive(Clone)]
#[repr(align(64))]
struct Strip([[Pair; COLUMNS]; PAIRS]);

/// Which of the products of two tiles are wanted, and who computes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The tiles are the same: what lies below the diagonal is copied from above it.
    pub symmetric: bool,
    /// There are so few tiles that all threads share one.
    pub shared: bool,
}

/// The products of the rows of two blocks around 128: left x right, row after row.
pub(crate) fn byte_products(left: &Rows<'_, u8>, right: &Rows<'_, u8>, wanted: Wanted) -> Vec<f64> {
    let (n, features) = (right.rows(), left.columns());
    let mut out = if wanted.shared {
        let stretches: Vec<_> = (0..features).step_by(SHARED_COLUMNS).collect();
        let parts = stretches
            .into_par_iter()
            .map(|start| stretch(left, right, start..(start + SHARED_COLUMNS).min(features), wanted.symmetric));
        parts.reduce_with(add).unwrap_or_else(|| vec![0.0; left.rows() * n])
    } else {
        stretch(left, right, 0..features, wanted.symmetric)
    };
    if wanted.symmetric {
        for i in 1..n {
            let (above, row) = out.split_at_mut(i * n);
            row[..i].iter_mut().enumerate().for_each(|(j, x)| *x = above[j * n + i]);
        }
    }
    out
}

fn add(mut a: Vec<f64>, b: Vec<f64>) -> Vec<f64> {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    a
}

/// The products over some columns.
fn stretch(left: &Rows<'_, u8>, right: &Rows<'_, u8>, columns: Range<usize>, symmetric: bool) -> Vec<f64> {
    let (m, n) = (left.rows(), right.rows());
    let mut out = vec![0.0; m * n];
    // Rows are padded to whole register tiles with zeros, which add nothing.
    let (a_rows, b_rows) = (m.next_multiple_of(ROWS), n.next_multiple_of(COLUMNS));
    let mut a = vec![[0; PAIRS]; a_rows];
    let mut b = vec![[0; PAIRS]; b_rows];
    let mut strips = vec![Strip([[0; COLUMNS]; PAIRS]); b_rows / COLUMNS];
    let mut sums = vec![0i32; a_rows * b_rows];
    let first = columns.start;
    for start in columns.clone().step_by(DEPTH) {
        let part = start..(start + DEPTH).min(columns.end);
        let pairs = part.len().div_ceil(2);
        Arch::new().dispatch(Centered { data: left, columns: part.clone(), out: &mut a });
        Arch::new().dispatch(Centered { data: right, columns: part.clone(), out: &mut b });
        add_products(Products { a: &a, b: &b, strips: &mut strips, pairs, symmetric, sums: &mut sums });
        if part.end == columns.end || (part.end - first).is_multiple_of(EXACT_COLUMNS) {
            for (out, sums) in out.chunks_exact_mut(n).zip(sums.chunks_exact(b_rows)) {
                out.iter_mut().zip(sums).for_each(|(o, s)| *o += f64::from(*s));
            }
            sums.fill(0);
        }
    }
    out
}

/// Rows of u8 minus 128, each in its own stretch of numbers, zeros behind.
struct Centered<'a> {
    data: &'a Rows<'a, u8>,
    columns: Range<usize>,
    out: &'a mut [[Pair; PAIRS]],
}

impl WithSimd for Centered<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Range { start, end } = self.columns;
        for (row, out) in (0..self.data.rows()).zip(self.out) {
            // Which half of a word a number takes does not matter, as long as it is the same on both sides.
            let out: &mut [i16] = cast_slice_mut(&mut out[..]);
            out[end - start..].fill(0);
            ahead::fetch(self.data, row, end..(end + DEPTH).min(self.data.columns()));
            match self.data.row(row, start, end) {
                Some(row) => out.iter_mut().zip(row).for_each(|(o, x)| *o = i16::from(*x) - 128),
                None => {
                    for (o, j) in out.iter_mut().zip(start..end) {
                        *o = i16::from(self.data.get(row, j)) - 128;
                    }
                }
            }
        }
    }
}

fn add_products(products: Products<'_>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(On { tile: wide::Wide(simd), products });
    }
    products.add(Plain);
}

/// What a processor does its own way.
trait Tile: Copy {
    /// Sixteen rows as pairs side by side.
    fn lay_side_by_side(self, rows: &[[Pair; PAIRS]; COLUMNS], strip: &mut [[Pair; COLUMNS]; PAIRS]);

    /// Adds the products of a register tile; rows of `sums` begin `stride` apart.
    fn add(
        self,
        a: &[[Pair; PAIRS]; ROWS],
        b: &[[Pair; COLUMNS]; PAIRS],
        pairs: usize,
        sums: &mut [i32],
        stride: usize,
    );
}

/// Adds products of rows of `a` and rows of `b` to `sums`.
struct Products<'a> {
    a: &'a [[Pair; PAIRS]],
    b: &'a [[Pair; PAIRS]],
    strips: &'a mut [Strip],
    pairs: usize,
    symmetric: bool,
    sums: &'a mut [i32],
}

impl Products<'_> {
    #[inline(always)]
    fn add<K: Tile>(self, tile: K) {
        let stride = self.b.len();
        for (rows, strip) in self.b.as_chunks().0.iter().zip(self.strips.iter_mut()) {
            tile.lay_side_by_side(rows, &mut strip.0);
        }
        for (j, strip) in self.strips.iter().enumerate() {
            for (i, rows) in self.a.as_chunks().0.iter().enumerate() {
                if self.symmetric && (j + 1) * COLUMNS <= i * ROWS {
                    break; // this tile and all that follow lie below the diagonal
                }
                tile.add(rows, &strip.0, self.pairs, &mut self.sums[i * ROWS * stride + j * COLUMNS..], stride);
            }
        }
    }
}

/// Products on one kind of processor.
#[cfg(target_arch = "x86_64")]
struct On<'a, K> {
    tile: K,
    products: Products<'a>,
}

#[cfg(target_arch = "x86_64")]
impl<K: Tile> pulp::NullaryFnOnce for On<'_, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.products.add(self.tile);
    }
}

/// The plain form, for processors without the instruction; also the twin in tests.
#[derive(Clone, Copy)]
struct Plain;

impl Tile for Plain {
    fn lay_side_by_side(self, rows: &[[Pair; PAIRS]; COLUMNS], strip: &mut [[Pair; COLUMNS]; PAIRS]) {
        for (k, strip) in strip.iter_mut().enumerate() {
            strip.iter_mut().zip(rows).for_each(|(to, row)| *to = row[k]);
        }
    }

    fn add(
        self,
        a: &[[Pair; PAIRS]; ROWS],
        b: &[[Pair; COLUMNS]; PAIRS],
        pairs: usize,
        sums: &mut [i32],
        stride: usize,
    ) {
        let halves = |pair: Pair| (pair >> 16, i32::from(pair as i16));
        for (a, sums) in a.iter().zip(sums.chunks_mut(stride)) {
            for (pair, b) in a.iter().zip(b).take(pairs) {
                let (high, low) = halves(*pair);
                for (sum, pair) in sums.iter_mut().zip(b) {
                    let other = halves(*pair);
                    *sum += high * other.0 + low * other.1;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{COLUMNS, PAIRS, Pair, ROWS};
    use pulp::{cast, i16x16, i32x8, x86::V3};

    /// With `vpmaddwd`.
    #[derive(Clone, Copy)]
    pub(super) struct Wide(pub V3);

    impl Wide {
        /// Rows as columns, eight by eight: neighbours, then neighbours of two, then halves change places.
        #[inline(always)]
        fn transposed(self, r: [i32x8; 8]) -> [i32x8; 8] {
            let simd = self.0.avx2;
            let low = |a: i32x8, b: i32x8| cast(simd._mm256_unpacklo_epi32(cast(a), cast(b)));
            let high = |a: i32x8, b: i32x8| cast(simd._mm256_unpackhi_epi32(cast(a), cast(b)));
            let low_2 = |a: i32x8, b: i32x8| cast(simd._mm256_unpacklo_epi64(cast(a), cast(b)));
            let high_2 = |a: i32x8, b: i32x8| cast(simd._mm256_unpackhi_epi64(cast(a), cast(b)));
            let t: [i32x8; 8] =
                std::array::from_fn(|i| if i % 2 == 0 { low(r[i], r[i + 1]) } else { high(r[i - 1], r[i]) });
            let u: [i32x8; 8] = [
                low_2(t[0], t[2]),
                high_2(t[0], t[2]),
                low_2(t[1], t[3]),
                high_2(t[1], t[3]),
                low_2(t[4], t[6]),
                high_2(t[4], t[6]),
                low_2(t[5], t[7]),
                high_2(t[5], t[7]),
            ];
            std::array::from_fn(|i| {
                let (a, b) = (cast(u[i % 4]), cast(u[i % 4 + 4]));
                cast(if i < 4 {
                    simd._mm256_permute2x128_si256::<0x20>(a, b)
                } else {
                    simd._mm256_permute2x128_si256::<0x31>(a, b)
                })
            })
        }
    }

    impl super::Tile for Wide {
        #[inline(always)]
        fn lay_side_by_side(self, rows: &[[Pair; PAIRS]; COLUMNS], strip: &mut [[Pair; COLUMNS]; PAIRS]) {
            for half in 0..2 {
                let rows: [&[[Pair; 8]]; 8] = std::array::from_fn(|r| rows[8 * half + r].as_chunks().0);
                for (k, strip) in strip.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    let columns = self.transposed(std::array::from_fn(|r| cast(rows[r][k])));
                    for (to, column) in strip.iter_mut().zip(columns) {
                        to[8 * half..8 * half + 8].copy_from_slice(&cast::<i32x8, [Pair; 8]>(column));
                    }
                }
            }
        }

        #[inline(always)]
        fn add(
            self,
            a: &[[Pair; PAIRS]; ROWS],
            b: &[[Pair; COLUMNS]; PAIRS],
            pairs: usize,
            sums: &mut [i32],
            stride: usize,
        ) {
            let simd = self.0;
            let mut tile = [[simd.splat_i32x8(0); 2]; ROWS];
            for (k, b) in b.iter().enumerate().take(pairs) {
                let b: [i16x16; 2] = cast(*b);
                for r in 0..ROWS {
                    let a: i16x16 = cast(simd.splat_i32x8(a[r][k]));
                    for p in 0..2 {
                        let product = simd.multiply_wrapping_add_adjacent_i16x16(a, b[p]);
                        tile[r][p] = simd.wrapping_add_i32x8(tile[r][p], product);
                    }
                }
            }
            for (r, tile) in tile.iter().enumerate() {
                let tile: [i32; COLUMNS] = cast(*tile);
                sums[r * stride..][..COLUMNS].iter_mut().zip(tile).for_each(|(s, t)| *s += t);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_equal_their_twin() {
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
            // Extremes, too: 0 and 255 are the largest magnitudes.
            let a: Vec<u8> = (0..m * features).map(|i| if i % 5 == 0 { 0 } else { byte(i) }).collect();
            let b: Vec<u8> = (0..n * features).map(|i| if i % 3 == 0 { 0 } else { byte(i + 99) }).collect();
            let left = Rows::contiguous(&a, m, features).unwrap();
            let right = Rows::contiguous(&b, n, features).unwrap();
            let plain = |x: &Rows<'_, u8>, i: usize, y: &Rows<'_, u8>, j: usize| {
                let product = |k| (i64::from(x.get(i, k)) - 128) * (i64::from(y.get(j, k)) - 128);
                (0..features).map(product).sum::<i64>() as f64
            };
            for shared in [false, true] {
                let found = byte_products(&left, &right, Wanted { symmetric: false, shared });
                let own = byte_products(&left, &left, Wanted { symmetric: true, shared });
                for i in 0..m {
                    for j in 0..n {
                        assert_eq!(found[i * n + j], plain(&left, i, &right, j), "{m} x {n} over {features}: {i} {j}");
                    }
                    for j in 0..m {
                        assert_eq!(own[i * m + j], plain(&left, i, &left, j), "{m} over {features}: {i} {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_plain_tile_equals_the_wide_one() {
        let pair = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i32 & 0x00FF_00FFu32 as i32;
        let a: Vec<[Pair; PAIRS]> = (0..2 * ROWS).map(|i| std::array::from_fn(|k| pair(i * 977 + k))).collect();
        let b: Vec<[Pair; PAIRS]> = (0..2 * COLUMNS).map(|i| std::array::from_fn(|k| pair(i * 331 + k))).collect();
        for pairs in [0, 1, 7, 8, PAIRS] {
            let mut strips = vec![Strip([[0; COLUMNS]; PAIRS]); 2];
            let (mut plain, mut found) = (vec![0; a.len() * b.len()], vec![0; a.len() * b.len()]);
            Products { a: &a, b: &b, strips: &mut strips, pairs, symmetric: false, sums: &mut plain }.add(Plain);
            add_products(Products { a: &a, b: &b, strips: &mut strips, pairs, symmetric: false, sums: &mut found });
            assert_eq!(plain, found);
        }
    }
}
