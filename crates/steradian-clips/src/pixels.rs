//! Statistics of each pixel over the frames, block of pixels by block of pixels.

use rayon::prelude::*;
use steradian::Matrix;

use crate::mode::ModeFinder;
use crate::scores::solve;
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

/// Frames that a pixel's response to light is told from, at most.
const RESPONSE_FRAMES: usize = 128;
/// Steps towards the least sum of absolute residuals.
const RESPONSE_STEPS: usize = 8;
/// What keeps lights that hardly differ from sharing a response, relative to the largest.
const RESPONSE_RIDGE: f64 = 1e-4;
/// Gray levels below which a residual counts as none.
const RESPONSE_FLOOR: f64 = 1.0;

/// What is found of each pixel.
pub(crate) struct PixelStatistics {
    /// How much more it responds to each light than the components say; pixel after pixel, nothing where it was not asked for.
    pub(crate) response: Vec<f32>,
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
    lights: Option<&[Vec<f32>]>,
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
                    let response = lights.map_or(Vec::new(), |lights| respond(residuals, lights));
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

/// Takes out of a pixel's residuals what follows the lights, by least absolute residuals around a constant; how much that is
/// for each light. Whoever stands before the pixel while one of the lights is on has no say unless they do so mostly.
fn respond(residuals: &mut [f32], lights: &[Vec<f32>]) -> Vec<f32> {
    let d = lights[0].len();
    let k = d + 1;
    let step = residuals.len().div_ceil(RESPONSE_FRAMES);
    let mut found = vec![0.0f64; k];
    for _ in 0..RESPONSE_STEPS {
        let (mut normal, mut right) = (vec![0.0; k * k], vec![0.0; k]);
        for (r, light) in residuals.iter().zip(lights).step_by(step) {
            let along = |a: usize| if a < d { f64::from(light[a]) } else { 1.0 };
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
    for (r, light) in residuals.iter_mut().zip(lights) {
        *r -= (0..d).map(|a| found[a] as f32 * light[a]).sum::<f32>();
    }
    found[..d].iter().map(|&x| x as f32).collect()
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
