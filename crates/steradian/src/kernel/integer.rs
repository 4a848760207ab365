//! Products of rows of u8 minus 128, exact in integers: the tile of the n x n matrix at twice the speed of single
//! precision.
//!
//! (u8 - 128) as i16: a multiply-add of pairs (`vpmaddwd`) sums two products of at most 2^14 into 32 bits. A tile keeps
//! 3 x 3 accumulators in registers over [`DEPTH`] columns; sums over [`EXACT_COLUMNS`] columns stay below 2^31, then
//! they move to double precision, which holds them exactly up to 2^53. Cost: 2 D operations a pair.

use pulp::{Arch, Simd, WithSimd};

use crate::block::Rows;

/// What is subtracted from each byte.
pub(crate) const MIDDLE_BYTE: f64 = 128.0;
/// Rows of a tile that suits these products: converting them is then a small part of the work.
pub(crate) const BYTE_TILE_ROWS: usize = 192;
/// Columns multiplied at a time: two tiles fit into the second-level cache.
const DEPTH: usize = 384;
/// Columns after which 32-bit sums could overflow: 2^31 / 2^14, rounded down to whole panels.
const EXACT_COLUMNS: usize = (1 << 17) / DEPTH * DEPTH;
/// Rows and columns of a register tile.
const TILE: usize = 3;
/// Numbers of one multiply-add.
const LANES: usize = 16;

/// The products of the rows of two blocks around 128: left x right, row after row.
pub(crate) fn byte_products(left: &Rows<'_, u8>, right: &Rows<'_, u8>) -> Vec<f64> {
    let (m, n) = (left.rows(), right.rows());
    let mut out = vec![0.0; m * n];
    // Rows are padded to whole register tiles with zeros, which add nothing.
    let (a_rows, b_rows) = (m.next_multiple_of(TILE), n.next_multiple_of(TILE));
    let (mut a, mut b) = (vec![0i16; a_rows * DEPTH], vec![0i16; b_rows * DEPTH]);
    let mut sums = vec![0i32; a_rows * b_rows];
    for start in (0..left.columns()).step_by(DEPTH) {
        let end = (start + DEPTH).min(left.columns());
        Arch::new().dispatch(Centered { data: left, start, end, out: &mut a });
        Arch::new().dispatch(Centered { data: right, start, end, out: &mut b });
        add_products(&a, &b, (end - start).next_multiple_of(LANES), &mut sums);
        if end == left.columns() || end.is_multiple_of(EXACT_COLUMNS) {
            for i in 0..m {
                let row = &mut sums[i * b_rows..i * b_rows + n];
                out[i * n..(i + 1) * n].iter_mut().zip(row).for_each(|(o, s)| *o += f64::from(std::mem::take(s)));
            }
            sums.fill(0);
        }
    }
    out
}

/// Rows of u8 minus 128, each in its own stretch of DEPTH numbers, zeros behind.
struct Centered<'a> {
    data: &'a Rows<'a, u8>,
    start: usize,
    end: usize,
    out: &'a mut [i16],
}

impl WithSimd for Centered<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.end - self.start;
        for (row, out) in (0..self.data.rows()).zip(self.out.chunks_exact_mut(DEPTH)) {
            out[width..].fill(0);
            match self.data.row(row, self.start, self.end) {
                Some(row) => out.iter_mut().zip(row).for_each(|(o, x)| *o = i16::from(*x) - 128),
                None => {
                    for (o, j) in out.iter_mut().zip(self.start..self.end) {
                        *o = i16::from(self.data.get(row, j)) - 128;
                    }
                }
            }
        }
    }
}

/// Adds products of rows of `a` and rows of `b` to `sums`, 3 x 3 at a time.
fn add_products(a: &[i16], b: &[i16], depth: usize, sums: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(Products { tile: wide::Tile(simd), a, b, depth, sums });
    }
    Products { tile: PlainTile, a, b, depth, sums }.add();
}

/// 3 x 3 dot products of rows of equal length, a multiple of LANES.
trait Tile: Copy {
    fn dots(self, a: [&[i16]; TILE], b: [&[i16]; TILE]) -> [[i32; TILE]; TILE];
}

struct Products<'a, K> {
    tile: K,
    a: &'a [i16],
    b: &'a [i16],
    depth: usize,
    sums: &'a mut [i32],
}

impl<K: Tile> Products<'_, K> {
    #[inline(always)]
    fn add(self) {
        let b_rows = self.b.len() / DEPTH;
        for (i, a) in self.a.chunks_exact(TILE * DEPTH).enumerate() {
            for (j, b) in self.b.chunks_exact(TILE * DEPTH).enumerate() {
                let a: [&[i16]; TILE] = std::array::from_fn(|r| &a[r * DEPTH..r * DEPTH + self.depth]);
                let b: [&[i16]; TILE] = std::array::from_fn(|r| &b[r * DEPTH..r * DEPTH + self.depth]);
                for (r, row) in self.tile.dots(a, b).iter().enumerate() {
                    let at = (i * TILE + r) * b_rows + j * TILE;
                    self.sums[at..at + TILE].iter_mut().zip(row).for_each(|(s, t)| *s += t);
                }
            }
        }
    }
}

impl<K: Tile> pulp::NullaryFnOnce for Products<'_, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.add();
    }
}

/// The plain form, for processors without the instruction; also the twin in tests.
#[derive(Clone, Copy)]
struct PlainTile;

impl Tile for PlainTile {
    fn dots(self, a: [&[i16]; TILE], b: [&[i16]; TILE]) -> [[i32; TILE]; TILE] {
        let dot = |x: &[i16], y: &[i16]| x.iter().zip(y).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum();
        a.map(|a| b.map(|b| dot(a, b)))
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{LANES, TILE};
    use pulp::{i16x16, i32x8, x86::V3};

    /// With `vpmaddwd`.
    #[derive(Clone, Copy)]
    pub(super) struct Tile(pub V3);

    impl super::Tile for Tile {
        #[inline(always)]
        fn dots(self, a: [&[i16]; TILE], b: [&[i16]; TILE]) -> [[i32; TILE]; TILE] {
            let simd = self.0;
            // Slices of one length, so that the loop needs no check of its own.
            let steps = a[0].len() / LANES;
            let (a, b) = (a.map(|row| &row.as_chunks().0[..steps]), b.map(|row| &row.as_chunks().0[..steps]));
            let load = |row: &[[i16; LANES]], k: usize| -> i16x16 { pulp::cast(row[k]) };
            let mut sums = [[pulp::cast::<[i32; 8], i32x8>([0; 8]); TILE]; TILE];
            for k in 0..steps {
                let b: [i16x16; TILE] = [load(b[0], k), load(b[1], k), load(b[2], k)];
                for i in 0..TILE {
                    let a = load(a[i], k);
                    for j in 0..TILE {
                        sums[i][j] =
                            simd.wrapping_add_i32x8(sums[i][j], simd.multiply_wrapping_add_adjacent_i16x16(a, b[j]));
                    }
                }
            }
            sums.map(|row| row.map(|lanes| pulp::cast::<i32x8, [i32; 8]>(lanes).iter().sum()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_equal_their_twin() {
        for (m, n, features) in
            [(1, 1, 1), (3, 4, 16), (5, 2, 767), (6, 7, 768), (96, 95, 769), (4, 3, 140_000), (2, 2, 0)]
        {
            let byte = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
            // Extremes, too: 0 and 255 are the largest magnitudes.
            let a: Vec<u8> = (0..m * features).map(|i| if i % 5 == 0 { 0 } else { byte(i) }).collect();
            let b: Vec<u8> = (0..n * features).map(|i| if i % 3 == 0 { 0 } else { byte(i + 99) }).collect();
            let left = Rows::contiguous(&a, m, features).unwrap();
            let right = Rows::contiguous(&b, n, features).unwrap();
            let found = byte_products(&left, &right);
            for i in 0..m {
                for j in 0..n {
                    let centered = |x: u8| i64::from(x) - 128;
                    let plain: i64 = (0..features).map(|k| centered(left.get(i, k)) * centered(right.get(j, k))).sum();
                    assert_eq!(found[i * n + j], plain as f64, "{m} x {n} over {features}: ({i}, {j})");
                }
            }
        }
    }
}
