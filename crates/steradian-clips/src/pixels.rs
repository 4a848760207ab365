//! Statistics of each pixel over the training frames.

use rayon::prelude::*;
use steradian::Matrix;

use crate::mode::ModeFinder;
use crate::scores::solve;
use crate::training::Training;

/// Number of pixels per task.
const BLOCK: usize = 256;
/// Quantile of the absolute residuals from which the scale is estimated: an object that covers a pixel in most frames
/// must not count as noise.
const SCALE_QUANTILE: f64 = 0.35;
/// Ratio of the standard deviation to that quantile for normal noise: 1 over the 67.5 % point of the normal
/// distribution.
const TO_DEVIATION: f32 = 2.204;
/// Smallest pixel scale, in gray levels; rounding alone is a third of a gray level.
const MIN_SCALE: f32 = 0.5;

/// Largest number of frames from which the response of a pixel to the illumination is estimated.
const RESPONSE_FRAMES: usize = 128;
/// Number of steps of iteratively reweighted least squares.
const RESPONSE_STEPS: usize = 8;
/// Ridge of the normal equations relative to their largest diagonal entry, for illumination scores that hardly differ.
const RESPONSE_RIDGE: f64 = 1e-4;
/// Smallest absolute residual in a weight, in gray levels.
const RESPONSE_FLOOR: f64 = 1.0;

/// Statistics of each pixel.
pub(crate) struct PixelStatistics {
    /// Correction of the response to each illumination score, d per pixel; empty if not requested.
    pub(crate) response: Vec<f32>,
    /// The mode of the residuals; 0 if not requested.
    pub(crate) mode: Vec<f64>,
    /// The scale of the residuals about the mode, in gray levels.
    pub(crate) scale: Vec<f64>,
}

/// Statistics of the residuals, frames minus (center + scores times components); scores are frames x d, components d x
/// D. `illumination` contains d scores per frame that the response is fitted to.
pub(crate) fn of_residuals(
    training: &Training,
    center: &[f64],
    components: Option<&Matrix>,
    scores: &[Vec<f64>],
    shifts_by_mode: bool,
    illumination: Option<&[Vec<f32>]>,
) -> PixelStatistics {
    let pixels: Vec<(f64, f64, Vec<f32>)> = (0..training.pixels.div_ceil(BLOCK))
        .into_par_iter()
        .flat_map_iter(|block| {
            let pixels = block * BLOCK..((block + 1) * BLOCK).min(training.pixels);
            let mut residuals = residuals(training, center, components, scores, pixels.clone());
            let mut finder = ModeFinder::new();
            residuals
                .chunks_mut(training.frames)
                .map(|residuals| {
                    let response = illumination.map_or(Vec::new(), |scores| remove_response(residuals, scores));
                    let mode = if shifts_by_mode { finder.mode(residuals) } else { 0.0 };
                    (f64::from(mode), f64::from(scale(residuals, mode)), response)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    PixelStatistics {
        response: pixels.iter().flat_map(|(_, _, response)| response).copied().collect(),
        mode: pixels.iter().map(|(mode, ..)| *mode).collect(),
        scale: pixels.iter().map(|(_, scale, _)| *scale).collect(),
    }
}

/// Subtracts from the residuals of a pixel the part that is linear in the illumination scores, and returns its
/// coefficients. The fit minimizes the sum of absolute residuals about a constant, so an object that covers the pixel
/// has no influence unless it does so in most frames of an illumination.
fn remove_response(residuals: &mut [f32], illumination: &[Vec<f32>]) -> Vec<f32> {
    let d = illumination[0].len();
    let k = d + 1;
    let step = residuals.len().div_ceil(RESPONSE_FRAMES);
    let mut found = vec![0.0f64; k];
    for _ in 0..RESPONSE_STEPS {
        let (mut normal, mut right) = (vec![0.0; k * k], vec![0.0; k]);
        for (r, scores) in residuals.iter().zip(illumination).step_by(step) {
            let along = |a: usize| if a < d { f64::from(scores[a]) } else { 1.0 };
            let expected: f64 = (0..k).map(|a| found[a] * along(a)).sum();
            let weight = 1.0 / (f64::from(*r) - expected).abs().max(RESPONSE_FLOOR);
            for a in 0..k {
                right[a] += weight * along(a) * f64::from(*r);
                for b in 0..k {
                    normal[a * k + b] += weight * along(a) * along(b);
                }
            }
        }
        let largest = (0..k).map(|a| normal[a * k + a]).fold(f64::MIN_POSITIVE, f64::max);
        (0..k).for_each(|a| normal[a * k + a] += RESPONSE_RIDGE * largest);
        solve(&mut normal, &mut right);
        found = right;
    }
    for (r, scores) in residuals.iter_mut().zip(illumination) {
        *r -= (0..d).map(|a| found[a] as f32 * scores[a]).sum::<f32>();
    }
    found[..d].iter().map(|&x| x as f32).collect()
}

/// The residuals of some pixels: all frames of the first pixel, then all frames of the next.
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
        let levels = &training.frame(frame)[pixels.clone()];
        for (at, (x, e)) in levels.iter().zip(&expected).enumerate() {
            out[at * frames + frame] = f32::from(*x) - e;
        }
    }
    out
}

/// The scale of the residuals about the mode.
fn scale(residuals: &[f32], mode: f32) -> f32 {
    let mut sizes: Vec<u32> = residuals.iter().map(|r| (r - mode).abs().to_bits()).collect();
    let edge = ((sizes.len() - 1) as f64 * SCALE_QUANTILE).round() as usize;
    let (_, size, _) = sizes.select_nth_unstable(edge);
    (TO_DEVIATION * f32::from_bits(*size)).max(MIN_SCALE)
}
