//! Exact products of u8 with AVX-512 VNNI, four bytes per word. `vpdpbusd` multiplies unsigned bytes of one operand by
//! signed bytes of the other and adds the four products to a sum: twice the work of [`super::avx2`] in half the
//! instructions.
//!
//! The left operand is x - 128 and the right one y, so a sum of (x - 128) y exceeds that of (x - 128)(y - 128) by 128
//! times the sum of x - 128. This correction is equal for all rows of the right block; `left` returns it.

// The intrinsics have no safe form in `pulp`. A value of `Vnni` exists only if the CPU supports them.
#![allow(unsafe_code)]

use std::arch::x86_64::{__m512i, _mm512_dpbusd_epi32};

use pulp::core_arch::x86::Avx512vnni;
use pulp::{cast, i32x16, x86::V4};

use super::tile::{COLUMNS, Stretch, Strip, Tile, WORDS, Word};

/// Rows of the left block per register tile: with the words of the right and one of the left, most of 32 registers.
const ROWS: usize = 24;

/// The tile of CPUs with AVX-512 and VNNI.
#[derive(Clone, Copy)]
pub(crate) struct Vnni(V4, Avx512vnni);

impl Vnni {
    /// The tile, if this CPU supports the instructions.
    pub(crate) fn try_new() -> Option<Self> {
        Some(Self(V4::try_new()?, Avx512vnni::try_new()?))
    }

    pub(crate) fn products(self, stretch: Stretch<'_>) -> Vec<f64> {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni,avx2,bmi1,bmi2,fma,lzcnt,popcnt"
        )]
        fn with_features(tile: Vnni, stretch: Stretch<'_>) -> Vec<f64> {
            stretch.products(tile)
        }
        // SAFETY: `V4` and `Avx512vnni` exist only on CPUs with these features.
        unsafe { with_features(self, stretch) }
    }

    /// Adds the products of four unsigned bytes of `b` and four signed bytes of `a` to each lane of `sum`.
    #[inline(always)]
    fn add_products(self, sum: i32x16, b: i32x16, a: i32x16) -> i32x16 {
        let (sum, b, a): (__m512i, __m512i, __m512i) = (cast(sum), cast(b), cast(a));
        // SAFETY: `self` exists only on CPUs with the instruction.
        cast(unsafe { _mm512_dpbusd_epi32(sum, b, a) })
    }

    /// The transpose of a 16 x 16 matrix: adjacent rows, then adjacent pairs, then quarters are interleaved.
    #[inline(always)]
    fn transposed(self, r: [i32x16; 16]) -> [i32x16; 16] {
        let simd = self.0.avx512f;
        let low = |a: i32x16, b: i32x16| cast(simd._mm512_unpacklo_epi32(cast(a), cast(b)));
        let high = |a: i32x16, b: i32x16| cast(simd._mm512_unpackhi_epi32(cast(a), cast(b)));
        let low_2 = |a: i32x16, b: i32x16| cast(simd._mm512_unpacklo_epi64(cast(a), cast(b)));
        let high_2 = |a: i32x16, b: i32x16| cast(simd._mm512_unpackhi_epi64(cast(a), cast(b)));
        let even = |a: i32x16, b: i32x16| cast(simd._mm512_shuffle_i32x4::<0x88>(cast(a), cast(b)));
        let odd = |a: i32x16, b: i32x16| cast(simd._mm512_shuffle_i32x4::<0xDD>(cast(a), cast(b)));
        let t: [i32x16; 16] =
            std::array::from_fn(|i| if i % 2 == 0 { low(r[i], r[i + 1]) } else { high(r[i - 1], r[i]) });
        // Quarter q of u[4 g + c] holds column 4 q + c of rows 4 g to 4 g + 3.
        let u: [i32x16; 16] = std::array::from_fn(|i| {
            let (a, b) = (t[i / 4 * 4 + i % 4 / 2], t[i / 4 * 4 + i % 4 / 2 + 2]);
            if i % 2 == 0 { low_2(a, b) } else { high_2(a, b) }
        });
        let halves = |i: usize, q: usize| -> i32x16 {
            if q.is_multiple_of(2) { even(u[i], u[i + 4]) } else { odd(u[i], u[i + 4]) }
        };
        std::array::from_fn(|column| {
            let (q, c) = (column / 4, column % 4);
            let (a, b) = (halves(c, q), halves(c + 8, q));
            if q < 2 { even(a, b) } else { odd(a, b) }
        })
    }
}

impl Tile for Vnni {
    const NUMBERS: usize = 4;
    const ROWS: usize = ROWS;

    #[inline(always)]
    fn left(self, bytes: &[u8], words: &mut [Word; WORDS]) -> i32 {
        let values: &mut [u8] = pulp::bytemuck::cast_slice_mut(words);
        let (own, rest) = values.split_at_mut(bytes.len());
        // x - 128 as the bits of an i8.
        own.iter_mut().zip(bytes).for_each(|(to, x)| *to = x ^ 0x80);
        rest.fill(0);
        let total: i32 = bytes.iter().map(|x| i32::from(*x)).sum();
        -128 * (total - 128 * bytes.len() as i32)
    }

    #[inline(always)]
    fn right(self, rows: [&[u8]; COLUMNS], strip: &mut Strip) {
        let bytes = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        for (strip, first) in strip.0.as_chunks_mut::<16>().0.iter_mut().zip((0..bytes).step_by(64)) {
            let mut words = [self.0.splat_i32x16(0); COLUMNS];
            for (words, row) in words.iter_mut().zip(rows) {
                *words = sixteen_words(row, first);
            }
            let columns = self.transposed(words);
            strip.iter_mut().zip(columns).for_each(|(to, column)| *to = cast(column));
        }
    }

    #[inline(always)]
    fn add(self, a: &[[Word; WORDS]], b: &Strip, words: usize, sums: &mut [i32], stride: usize) {
        let a: &[[Word; WORDS]; ROWS] = a.try_into().expect("the rows of a tile");
        let mut tile = [self.0.splat_i32x16(0); ROWS];
        for (k, b) in b.0.iter().enumerate().take(words) {
            let b = cast(*b);
            for r in 0..ROWS {
                tile[r] = self.add_products(tile[r], b, self.0.splat_i32x16(a[r][k]));
            }
        }
        for (r, tile) in tile.into_iter().enumerate() {
            let tile: [i32; COLUMNS] = cast(tile);
            sums[r * stride..][..COLUMNS].iter_mut().zip(tile).for_each(|(s, t)| *s += t);
        }
    }
}

/// The 64 bytes of a row from `first` on, with zeros after its end.
#[inline(always)]
fn sixteen_words(row: &[u8], first: usize) -> i32x16 {
    let rest = row.get(first..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk::<64>() {
        return cast(*whole);
    }
    let mut padded = [0u8; 64];
    padded[..rest.len()].copy_from_slice(rest);
    cast(padded)
}
