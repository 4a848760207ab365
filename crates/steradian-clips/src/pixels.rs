//! Statistics of each pixel over the frames, block of pixels by block of pixels.

use rayon::prelude::*;
use steradian::Matrix;

use crate::mode::ModeFinder;
use crate::training::Training;

/// Pixels that one task gathers.
const BLOCK: usize = 256;
/// The share of the frames that are nearest to the background, from whose edge the scale is told: what stands before a pixel
/// most of the time must not be taken for noise.
const NEAREST: f64 = 0.35;
/// From that edge to a standard deviation, for normal noise: 1 over the 67.5 % point of a normal distribution.
const TO_DEVIATION: f32 = 2.204;
/// Gray levels; rounding alone is a third of one.
const LEAST_SCALE: f32 = 0.5;

/// What is found of each pixel.
pub(crate) struct PixelStatistics {
    /// The mode of its residuals.
    pub(crate) mode: Vec<f64>,
    /// Its usual distance from the background, once the mode is part of that.
    pub(crate) scale: Vec<f64>,
}

/// Looks at frames minus backgrounds: center + scores times components; scores are frames x d, components d x D.
pub(crate) fn of_residuals(
    training: &Training,
    center: &[f64],
    components: Option<&Matrix>,
    scores: &[Vec<f64>],
    shifts_by_mode: bool,
) -> PixelStatistics {
    let blocks: Vec<(f64, f64)> = (0..training.pixels.div_ceil(BLOCK))
        .into_par_iter()
        .flat_map_iter(|block| {
            let pixels = block * BLOCK..((block + 1) * BLOCK).min(training.pixels);
            let residuals = residuals(training, center, components, scores, pixels.clone());
            let mut finder = ModeFinder::new();
            residuals
                .chunks(training.frames)
                .map(|residuals| {
                    let mode = if shifts_by_mode { finder.mode(residuals) } else { 0.0 };
                    (f64::from(mode), f64::from(scale(residuals, mode)))
                })
                .collect::<Vec<_>>()
        })
        .collect();
    let (mode, scale) = blocks.into_iter().unzip();
    PixelStatistics { mode, scale }
}

/// The residuals of some pixels, pixel after pixel.
fn residuals(
    training: &Training,
    center: &[f64],
    components: Option<&Matrix>,
    scores: &[Vec<f64>],
    pixels: std::ops::Range<usize>,
) -> Vec<f32> {
    let frames = training.frames;
    let mut out = vec![0.0f32; pixels.len() * frames];
    let middle: Vec<f32> = center[pixels.clone()].iter().map(|&c| c as f32).collect();
    let rows: Vec<Vec<f32>> = components.map_or(Vec::new(), |components| {
        (0..components.rows()).map(|k| components.row(k)[pixels.clone()].iter().map(|&q| q as f32).collect()).collect()
    });
    let mut expected = middle.clone();
    for frame in 0..frames {
        expected.copy_from_slice(&middle);
        for (k, row) in rows.iter().enumerate() {
            let s = scores[frame][k] as f32;
            expected.iter_mut().zip(row).for_each(|(e, q)| *e += s * q);
        }
        let seen = &training.frame(frame)[pixels.clone()];
        for (at, (x, e)) in seen.iter().zip(&expected).enumerate() {
            out[at * frames + frame] = f32::from(*x) - e;
        }
    }
    out
}

fn scale(residuals: &[f32], mode: f32) -> f32 {
    let mut sizes: Vec<u32> = residuals.iter().map(|r| (r - mode).abs().to_bits()).collect();
    let edge = ((sizes.len() - 1) as f64 * NEAREST).round() as usize;
    let (_, size, _) = sizes.select_nth_unstable(edge);
    (TO_DEVIATION * f32::from_bits(*size)).max(LEAST_SCALE)
}
