//! Products of rows of u8 minus 128, exact in integers: the tile of the n x n matrix.
//!
//! Neighbouring numbers of a row lie together in words of 32 bits: two as i16 ([`pairs`]) or four as bytes ([`quads`]),
//! whose products one instruction sums. A register tile is [`Tile::ROWS`] rows of the left by [`COLUMNS`] rows of the
//! right. Words of the right lie side by side and a word of the left is repeated in all places: so a vector of sums is a
//! piece of the answer, and nothing has to be added across a vector. Sums over [`EXACT_COLUMNS`] columns stay below
//! 2^31, then they move to double precision, which holds them exactly up to 2^53. Cost: 2 D operations a pair.

use std::ops::Range;

use rayon::prelude::*;

use super::ahead;
use crate::block::Rows;

#[cfg(target_arch = "x86_64")]
mod pairs;
mod plain;
#[cfg(target_arch = "x86_64")]
mod quads;

/// What is subtracted from each byte.
pub(crate) const MIDDLE_BYTE: f64 = 128.0;
/// Rows of a tile that suits these products: converting them is then a small part of the work.
pub(crate) const BYTE_TILE_ROWS: usize = 192;
/// Words of a row multiplied at a time: a tile of sums and two tiles of numbers fit into the second-level cache, and a
/// strip of the right into the first.
const WORDS: usize = 192;
/// The most columns that as many words hold.
const DEPTH: usize = 4 * WORDS;
/// Columns after which 32-bit sums could overflow: 2^31 / (255 * 128), rounded down to whole panels.
const EXACT_COLUMNS: usize = (1 << 16) / DEPTH * DEPTH;
/// Columns of one task where a tile is shared by threads. Whole numbers add up to the same in any order.
const SHARED_COLUMNS: usize = 4 * DEPTH;
/// Rows of the right in a register tile.
const COLUMNS: usize = 16;

/// A few neighbouring numbers of a row.
type Word = i32;

/// Sixteen rows as words side by side. Aligned, since a load that crosses a cache line counts twice.
#[derive(Clone)]
#[repr(align(64))]
struct Strip([[Word; COLUMNS]; WORDS]);

/// What a processor does its own way.
trait Tile: Copy + Sync {
    /// Numbers in a word.
    const NUMBERS: usize;
    /// Rows of the left in a register tile.
    const ROWS: usize;

    /// Bytes of a row on the left as words, zeros behind; also what each product over them lacks of the true one.
    fn left(self, bytes: &[u8], words: &mut [Word; WORDS]) -> i32;

    /// Bytes of sixteen rows on the right as words side by side, zeros where a row ends within a word.
    fn right(self, rows: [&[u8]; COLUMNS], strip: &mut Strip);

    /// Adds the products of a register tile over the first words; rows of `sums` begin `stride` apart.
    fn add(self, a: &[[Word; WORDS]], b: &Strip, words: usize, sums: &mut [i32], stride: usize);
}

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
    let over = |columns| Stretch { left, right, columns, symmetric: wanted.symmetric }.on_this_processor();
    let mut out = if wanted.shared {
        let stretches: Vec<_> = (0..features).step_by(SHARED_COLUMNS).collect();
        let parts = stretches.into_par_iter().map(|start| over(start..(start + SHARED_COLUMNS).min(features)));
        parts.reduce_with(add).unwrap_or_else(|| vec![0.0; left.rows() * n])
    } else {
        over(0..features)
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
struct Stretch<'a> {
    left: &'a Rows<'a, u8>,
    right: &'a Rows<'a, u8>,
    columns: Range<usize>,
    /// Tiles below the diagonal are not wanted.
    symmetric: bool,
}

impl Stretch<'_> {
    fn on_this_processor(self) -> Vec<f64> {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(quads) = quads::Quads::try_new() {
                return quads.products(self);
            }
            if let Some(pairs) = pairs::Pairs::try_new() {
                return pairs.products(self);
            }
        }
        self.products(plain::Plain)
    }

    #[inline(always)]
    fn products<K: Tile>(self, tile: K) -> Vec<f64> {
        let (m, n) = (self.left.rows(), self.right.rows());
        let mut out = vec![0.0; m * n];
        // Rows are padded to whole register tiles with zeros, which add nothing.
        let (a_rows, b_rows) = (m.next_multiple_of(K::ROWS), n.next_multiple_of(COLUMNS));
        let mut a = vec![[0; WORDS]; a_rows];
        let mut lacks = vec![0; m];
        let mut strips = vec![Strip([[0; COLUMNS]; WORDS]); b_rows / COLUMNS];
        let mut sums = vec![0i32; a_rows * b_rows];
        let (mut one, mut many) = ([Vec::new()], std::array::from_fn(|_| Vec::new()));
        let Range { start: first, end } = self.columns;
        for start in (first..end).step_by(WORDS * K::NUMBERS) {
            let part = start..(start + WORDS * K::NUMBERS).min(end);
            for (row, (a, lack)) in a.iter_mut().zip(&mut lacks).enumerate() {
                let [bytes] = bytes_of(self.left, row, &part, &mut one);
                *lack += tile.left(bytes, a);
            }
            for (strip, row) in strips.iter_mut().zip((0..).step_by(COLUMNS)) {
                tile.right(bytes_of(self.right, row, &part, &mut many), strip);
            }
            let words = part.len().div_ceil(K::NUMBERS);
            for (j, strip) in strips.iter().enumerate() {
                for (i, rows) in a.chunks_exact(K::ROWS).enumerate() {
                    if self.symmetric && (j + 1) * COLUMNS <= i * K::ROWS {
                        break; // this tile and all that follow lie below the diagonal
                    }
                    tile.add(rows, strip, words, &mut sums[i * K::ROWS * b_rows + j * COLUMNS..], b_rows);
                }
            }
            if part.end == end || (part.end - first).is_multiple_of(EXACT_COLUMNS) {
                for ((out, sums), lack) in out.chunks_exact_mut(n).zip(sums.chunks_exact(b_rows)).zip(&mut lacks) {
                    let lack = f64::from(std::mem::take(lack));
                    out.iter_mut().zip(sums).for_each(|(o, s)| *o += f64::from(*s) + lack);
                }
                sums.fill(0);
            }
        }
        out
    }
}

/// Some columns of some rows, nothing of rows that do not exist; asks for the columns that follow. Rows that do not lie
/// in one piece are gathered.
#[inline(always)]
fn bytes_of<'a, const R: usize>(
    data: &Rows<'a, u8>,
    first: usize,
    columns: &Range<usize>,
    gathered: &'a mut [Vec<u8>; R],
) -> [&'a [u8]; R] {
    let following = columns.end..(columns.end + columns.len()).min(data.columns());
    let mut out = [&[][..]; R];
    for ((row, out), gathered) in (first..data.rows()).zip(&mut out).zip(gathered) {
        ahead::fetch(data, row, following.clone());
        *out = match data.row(row, columns.start, columns.end) {
            Some(bytes) => bytes,
            None => {
                gathered.clear();
                gathered.extend(columns.clone().map(|column| data.get(row, column)));
                gathered
            }
        };
    }
    out
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

    /// Every kind of tile that this processor has, beside the plain one.
    #[test]
    fn tiles_equal_their_plain_twin() {
        let byte = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
        for (m, n, features) in
            [(0, 3, 9), (1, 1, 1), (24, 16, 768), (25, 17, 769), (47, 33, 1537), (6, 8, 0), (3, 2, 140_000)]
        {
            let bytes: Vec<u8> =
                (0..(m + n) * features).map(|i| if i % 7 == 0 { 255 * (i % 2) as u8 } else { byte(i) }).collect();
            let left = Rows::contiguous(&bytes[..m * features], m, features).unwrap();
            let right = Rows::contiguous(&bytes[m * features..], n, features).unwrap();
            let stretch = || Stretch { left: &left, right: &right, columns: 0..features, symmetric: false };
            let plain = stretch().products(plain::Plain);
            // The same rows column by column.
            let turned: Vec<u8> = (0..m * features).map(|i| left.get(i % m, i / m)).collect();
            let strided = Rows::strided(&turned, 0, m, features, 1, m as isize).unwrap();
            assert_eq!(Stretch { left: &strided, ..stretch() }.on_this_processor(), plain);
            #[cfg(target_arch = "x86_64")]
            {
                let found = [
                    quads::Quads::try_new().map(|tile| tile.products(stretch())),
                    pairs::Pairs::try_new().map(|tile| tile.products(stretch())),
                ];
                for found in found.into_iter().flatten() {
                    assert_eq!(found, plain, "{m} x {n} over {features}");
                }
            }
            assert_eq!(plain.len(), m * n);
        }
    }
}
