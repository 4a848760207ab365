//! The register tile of exact products of u8, generic over the instruction sets.

use std::ops::Range;

use crate::data::block::Rows;
use crate::kernel::prefetch;

/// Words of a row multiplied at a time: a tile of sums and two tiles of words fit into the L2 cache, and a strip of the
/// right block into the L1 cache.
pub(super) const WORDS: usize = 192;
/// Largest number of columns in that many words.
pub(super) const DEPTH: usize = 4 * WORDS;
/// Columns after which 32-bit sums could overflow: 2^31 / (255 * 128), rounded down to a multiple of [`DEPTH`].
pub(super) const EXACT_COLUMNS: usize = (1 << 16) / DEPTH * DEPTH;
/// Rows of the right block per register tile.
pub(super) const COLUMNS: usize = 16;

/// A few adjacent values of a row.
pub(super) type Word = i32;

/// Words of sixteen rows, interleaved. Aligned, because a load that crosses a cache line costs twice.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Strip(pub(super) [[Word; COLUMNS]; WORDS]);

/// The operations that depend on the instruction set.
pub(super) trait Tile: Copy + Sync {
    /// Values per word.
    const NUMBERS: usize;
    /// Rows of the left block per register tile.
    const ROWS: usize;

    /// Writes bytes of a row of the left block as words, followed by zeros. Returns the correction to add to each
    /// product.
    fn left(self, bytes: &[u8], words: &mut [Word; WORDS]) -> i32;

    /// Writes bytes of sixteen rows of the right block as interleaved words, with zeros if a row ends within a word.
    fn right(self, rows: [&[u8]; COLUMNS], strip: &mut Strip);

    /// Adds the products of a register tile over the first `words` words; rows of `sums` start `stride` entries apart.
    fn add(self, a: &[[Word; WORDS]], b: &Strip, words: usize, sums: &mut [i32], stride: usize);
}

/// The products over some columns.
pub(super) struct Stretch<'a> {
    pub(super) left: &'a Rows<'a, u8>,
    pub(super) right: &'a Rows<'a, u8>,
    pub(super) columns: Range<usize>,
    /// True if tiles below the diagonal are skipped.
    pub(super) symmetric: bool,
}

impl Stretch<'_> {
    #[inline(always)]
    pub(super) fn products<K: Tile>(self, tile: K) -> Vec<f64> {
        let (m, n) = (self.left.rows(), self.right.rows());
        let mut out = vec![0.0; m * n];
        // Rows are padded with zeros to a multiple of the register tile.
        let (a_rows, b_rows) = (m.next_multiple_of(K::ROWS), n.next_multiple_of(COLUMNS));
        let mut a = vec![[0; WORDS]; a_rows];
        let mut corrections = vec![0; m];
        let mut strips = vec![Strip([[0; COLUMNS]; WORDS]); b_rows / COLUMNS];
        let mut sums = vec![0i32; a_rows * b_rows];
        let (mut one, mut many) = ([Vec::new()], std::array::from_fn(|_| Vec::new()));
        let Range { start: first, end } = self.columns;
        for start in (first..end).step_by(WORDS * K::NUMBERS) {
            let part = start..(start + WORDS * K::NUMBERS).min(end);
            for (row, (a, correction)) in a.iter_mut().zip(&mut corrections).enumerate() {
                let [bytes] = bytes_of(self.left, row, &part, &mut one);
                *correction += tile.left(bytes, a);
            }
            for (strip, row) in strips.iter_mut().zip((0..).step_by(COLUMNS)) {
                tile.right(bytes_of(self.right, row, &part, &mut many), strip);
            }
            let words = part.len().div_ceil(K::NUMBERS);
            for (j, strip) in strips.iter().enumerate() {
                for (i, rows) in a.chunks_exact(K::ROWS).enumerate() {
                    if self.symmetric && (j + 1) * COLUMNS <= i * K::ROWS {
                        break; // this tile and all following ones are below the diagonal
                    }
                    tile.add(rows, strip, words, &mut sums[i * K::ROWS * b_rows + j * COLUMNS..], b_rows);
                }
            }
            if part.end == end || (part.end - first).is_multiple_of(EXACT_COLUMNS) {
                for ((out, sums), correction) in
                    out.chunks_exact_mut(n).zip(sums.chunks_exact(b_rows)).zip(&mut corrections)
                {
                    let correction = f64::from(std::mem::take(correction));
                    out.iter_mut().zip(sums).for_each(|(o, s)| *o += f64::from(*s) + correction);
                }
                sums.fill(0);
            }
        }
        out
    }
}

/// Some columns of R rows, empty for rows that do not exist; prefetches the following columns. Rows that are not
/// contiguous are copied to `copies`.
#[inline(always)]
fn bytes_of<'a, const R: usize>(
    data: &Rows<'a, u8>,
    first: usize,
    columns: &Range<usize>,
    copies: &'a mut [Vec<u8>; R],
) -> [&'a [u8]; R] {
    let following = columns.end..(columns.end + columns.len()).min(data.columns());
    let mut out = [&[][..]; R];
    for ((row, out), copy) in (first..data.rows()).zip(&mut out).zip(copies) {
        prefetch::fetch(data, row, following.clone());
        *out = match data.row(row, columns.start, columns.end) {
            Some(bytes) => bytes,
            None => {
                copy.clear();
                copy.extend(columns.clone().map(|column| data.get(row, column)));
                copy
            }
        };
    }
    out
}
