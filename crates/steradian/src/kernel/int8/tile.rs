//! The register tile of exact products of bytes, over the instruction sets that implement it.

use std::ops::Range;

use crate::data::block::Rows;
use crate::kernel::prefetch;

/// Words of a row multiplied at a time: a tile of sums and two tiles of numbers fit into the second-level cache, and a
/// strip of the right into the first.
pub(super) const WORDS: usize = 192;
/// The most columns that as many words hold.
pub(super) const DEPTH: usize = 4 * WORDS;
/// Columns after which 32-bit sums could overflow: 2^31 / (255 * 128), rounded down to whole panels.
pub(super) const EXACT_COLUMNS: usize = (1 << 16) / DEPTH * DEPTH;
/// Rows of the right in a register tile.
pub(super) const COLUMNS: usize = 16;

/// A few neighbouring numbers of a row.
pub(super) type Word = i32;

/// Sixteen rows as words side by side. Aligned, since a load that crosses a cache line counts twice.
#[derive(Clone)]
#[repr(align(64))]
pub(super) struct Strip(pub(super) [[Word; COLUMNS]; WORDS]);

/// What a processor does its own way.
pub(super) trait Tile: Copy + Sync {
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

/// The products over some columns.
pub(super) struct Stretch<'a> {
    pub(super) left: &'a Rows<'a, u8>,
    pub(super) right: &'a Rows<'a, u8>,
    pub(super) columns: Range<usize>,
    /// Tiles below the diagonal are not wanted.
    pub(super) symmetric: bool,
}

impl Stretch<'_> {
    #[inline(always)]
    pub(super) fn products<K: Tile>(self, tile: K) -> Vec<f64> {
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
        prefetch::fetch(data, row, following.clone());
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
