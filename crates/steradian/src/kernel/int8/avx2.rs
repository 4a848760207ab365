//! Exact products of u8 with AVX2, two values per word: `vpmaddwd` sums the two products, each at most 2^14, and an
//! addition accumulates them.

use pulp::{cast, i16x16, i32x8, x86::V3};

use super::scalar::centered;
use super::tile::{COLUMNS, Stretch, Strip, Tile, WORDS, Word};

/// Rows of the left block per register tile.
const ROWS: usize = 6;

/// The tile of CPUs with AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(V3);

struct On<'a>(Avx2, Stretch<'a>);

impl pulp::NullaryFnOnce for On<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn call(self) -> Vec<f64> {
        self.1.products(self.0)
    }
}

impl Avx2 {
    /// The tile, if this CPU supports the instruction.
    pub(crate) fn try_new() -> Option<Self> {
        V3::try_new().map(Self)
    }

    pub(crate) fn products(self, stretch: Stretch<'_>) -> Vec<f64> {
        self.0.vectorize(On(self, stretch))
    }

    /// The transpose of an 8 x 8 matrix: adjacent rows, then adjacent pairs, then halves are interleaved.
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

impl Tile for Avx2 {
    const NUMBERS: usize = 2;
    const ROWS: usize = ROWS;

    #[inline(always)]
    fn left(self, bytes: &[u8], words: &mut [Word; WORDS]) -> i32 {
        centered(bytes, words);
        0
    }

    #[inline(always)]
    fn right(self, rows: [&[u8]; COLUMNS], strip: &mut Strip) {
        let mut words = [[0; WORDS]; 8];
        for half in [0, 8] {
            rows[half..].iter().zip(&mut words).for_each(|(row, words)| centered(row, words));
            let blocks: [&[[Word; 8]]; 8] = std::array::from_fn(|r| words[r].as_chunks().0);
            for (k, strip) in strip.0.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let columns = self.transposed(std::array::from_fn(|r| cast(blocks[r][k])));
                for (to, column) in strip.iter_mut().zip(columns) {
                    to[half..half + 8].copy_from_slice(&cast::<i32x8, [Word; 8]>(column));
                }
            }
        }
    }

    #[inline(always)]
    fn add(self, a: &[[Word; WORDS]], b: &Strip, words: usize, sums: &mut [i32], stride: usize) {
        let a: &[[Word; WORDS]; ROWS] = a.try_into().expect("the rows of a tile");
        let simd = self.0;
        let mut tile = [[simd.splat_i32x8(0); 2]; ROWS];
        for (k, b) in b.0.iter().enumerate().take(words) {
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
