//! Removal of cast shadows from images of one face under different illumination.
//!
//! | symbol | here |
//! |---|---|
//! | X, n images of D pixels | `images` |
//! | W, confidence of a pixel, a function of its gray level | [`confidence`] |
//! | Q, d components without a center | `components` |
//! | s_i | scores |
//!
//! Images of a matte face under any illumination lie near a subspace of nine dimensions (Basri and Jacobs 2003);
//! shadows and specular reflections do not. So dark and saturated pixels are treated as missing, by degrees. [`ROUNDS`]
//! times, cells of low confidence are replaced by their expected values, components are refitted, and scores solve
//! (Q'WQ + sigma^2 V^-1) s = Q'W x, where V contains the mean squared scores so far. This prior limits the scores of
//! images that are nearly all shadow. The result is Q s in all pixels, so there are no seams between original and
//! filled pixels. Cost per round: one fit and n D (d^2 + 2 d) flops.

use rayon::prelude::*;
use steradian::engine::Runner;
use steradian::{Center, Config, Error, Local, Matrix, Method, Model, Result, SliceSource, Source};

use crate::level::gray_level;
use crate::training::Training;

/// Default number of components of a face under changing illumination.
pub const FACE_COMPONENTS: usize = 9;

/// Number of rounds.
const ROUNDS: usize = 15;
/// Gray levels between which the confidence rises from 0 to 1.
const DARK: (f64, f64) = (10.0, 40.0);
/// Gray levels between which the confidence falls from 1 to 0.
const BRIGHT: (f64, f64) = (250.0, 255.0);
/// Smallest weight of a pixel, so that the scores of a black image are defined.
const MIN_CONFIDENCE: f64 = 1e-3;
/// sigma^2 per pixel, in squared gray levels. It is summed over the pixels: residuals of the subspace are correlated
/// between neighboring pixels, so they do not average out.
const PRIOR: f64 = 3.0;
/// Tolerance of the components of a round.
const TOLERANCE: f64 = 1e-4;

/// Confidence of a gray level, from 0 to 1.
pub(crate) fn confidence(level: u8) -> f64 {
    let rises = (f64::from(level) - DARK.0) / (DARK.1 - DARK.0);
    let falls = (BRIGHT.1 - f64::from(level)) / (BRIGHT.1 - BRIGHT.0);
    rises.min(falls).clamp(0.0, 1.0)
}

/// Images without their cast shadows, one after the other, as u8.
pub fn remove_shadows(source: &dyn Source, components: usize, runner: &Local) -> Result<Vec<u8>> {
    let images = Training::read_all(source, runner)?;
    let d = components.min(images.frames);
    if d == 0 {
        return Err(Error::invalid_parameter("n_components", "n_components = 0; use at least 1"));
    }
    if images.all_equal() {
        return Err(Error::invalid_data(format!(
            "all {} images are identical; shadow removal requires images under different illumination",
            images.frames
        )));
    }
    let mut filled = start(&images);
    let mut relit = Vec::new();
    for round in 0..ROUNDS {
        runner.check_cancelled()?;
        let model = embed(&images, &filled, d, runner)?;
        relit = runner.compute(|| project(&images, &filled, &model.subspace.components));
        if round + 1 < ROUNDS {
            fill(&images, &relit, &mut filled);
        }
    }
    Ok(relit.into_iter().map(gray_level).collect())
}

/// Reconstructions of images with scores that down-weight dark and saturated pixels, as u8.
pub fn confident_reconstruction(model: &Model, source: &dyn Source, runner: &Local) -> Result<Vec<u8>> {
    model.check_width(source.shape())?;
    let images = Training::read_all(source, runner)?;
    let center: Vec<f32> = model.subspace.center.iter().map(|&c| c as f32).collect();
    let centered: Vec<f32> = images
        .data
        .chunks(images.pixels)
        .flat_map(|image| image.iter().zip(&center).map(|(x, c)| f32::from(*x) - c))
        .collect();
    let spread = spread(&centered, &model.subspace.components);
    let mut out = vec![0u8; images.data.len()];
    runner.compute(|| {
        out.par_chunks_mut(images.pixels).enumerate().for_each(|(i, out)| {
            let centered = &centered[i * images.pixels..(i + 1) * images.pixels];
            let expected = weighted_projection(images.frame(i), centered, &model.subspace.components, &spread);
            for ((out, e), c) in out.iter_mut().zip(expected).zip(&center) {
                *out = gray_level(e + c);
            }
        });
    });
    Ok(out)
}

/// The images with pixels of low confidence replaced by their weighted mean over the images.
fn start(images: &Training) -> Vec<f32> {
    let (mut sums, mut weights) = (vec![0.0f64; images.pixels], vec![MIN_CONFIDENCE; images.pixels]);
    for image in images.data.chunks(images.pixels) {
        for ((sum, weight), x) in sums.iter_mut().zip(&mut weights).zip(image) {
            *sum += confidence(*x) * f64::from(*x);
            *weight += confidence(*x);
        }
    }
    let mean: Vec<f32> = sums.iter().zip(&weights).map(|(sum, weight)| (sum / weight) as f32).collect();
    let relit: Vec<f32> = (0..images.frames).flat_map(|_| mean.iter().copied()).collect();
    let mut filled = vec![0.0; images.data.len()];
    fill(images, &relit, &mut filled);
    filled
}

/// Writes the average of each cell and its expected value, weighted by the confidence of the cell.
fn fill(images: &Training, relit: &[f32], filled: &mut [f32]) {
    for ((out, x), e) in filled.iter_mut().zip(&images.data).zip(relit) {
        let weight = confidence(*x) as f32;
        *out = weight * f32::from(*x) + (1.0 - weight) * e;
    }
}

fn embed(images: &Training, filled: &[f32], d: usize, runner: &Local) -> Result<Model> {
    let config = Config::new(Method::Pca, d).with_center(Center::None).with_tolerance(TOLERANCE);
    steradian::fit(&config, &SliceSource::new(filled, images.frames, images.pixels)?, runner)
}

/// Q s of all images, with scores weighted by confidence.
fn project(images: &Training, filled: &[f32], components: &Matrix) -> Vec<f32> {
    let spread = spread(filled, components);
    let mut out = vec![0.0f32; filled.len()];
    out.par_chunks_mut(images.pixels).enumerate().for_each(|(i, out)| {
        let image = images.frame(i);
        let levels: Vec<f32> = image.iter().map(|&x| f32::from(x)).collect();
        out.copy_from_slice(&weighted_projection(image, &levels, components, &spread));
    });
    out
}

/// The mean square of the scores along each component.
fn spread(samples: &[f32], components: &Matrix) -> Vec<f64> {
    let pixels = components.columns();
    let count = (samples.len() / pixels) as f64;
    let along = |row: &[f64], sample: &[f32]| row.iter().zip(sample).map(|(q, x)| q * f64::from(*x)).sum::<f64>();
    (0..components.rows())
        .into_par_iter()
        .map(|k| samples.chunks(pixels).map(|sample| along(components.row(k), sample).powi(2)).sum::<f64>() / count)
        .collect()
}

/// Q s of one image, with scores weighted by the confidence of its gray levels. `values` is the image minus the center.
fn weighted_projection(levels: &[u8], values: &[f32], components: &Matrix, spread: &[f64]) -> Vec<f32> {
    let d = components.rows();
    let weights: Vec<f64> = levels.iter().map(|&level| confidence(level).max(MIN_CONFIDENCE)).collect();
    let (mut normal, mut right) = (vec![0.0; d * d], vec![0.0; d]);
    for a in 0..d {
        let weighted: Vec<f64> = components.row(a).iter().zip(&weights).map(|(q, w)| q * w).collect();
        right[a] = weighted.iter().zip(values).map(|(q, x)| q * f64::from(*x)).sum();
        for b in 0..=a {
            let entry: f64 = weighted.iter().zip(components.row(b)).map(|(x, y)| x * y).sum();
            (normal[a * d + b], normal[b * d + a]) = (entry, entry);
        }
        normal[a * d + a] += PRIOR * levels.len() as f64 / spread[a].max(1.0);
    }
    crate::scores::solve(&mut normal, &mut right);
    let mut out = vec![0.0f32; values.len()];
    for (s, k) in right.iter().zip(0..d) {
        out.iter_mut().zip(components.row(k)).for_each(|(x, q)| *x += (s * q) as f32);
    }
    out
}

/// Statistics of dark and lit pixels before and after shadow removal, over all images.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DarkPixelStatistics {
    pixels: u64,
    dark: u64,
    lit_now: u64,
    lit: u64,
    error: f64,
}

impl DarkPixelStatistics {
    /// Gray level below which a pixel is dark.
    const DARK: u8 = 20;
    /// Gray level above which a pixel is lit.
    const LIT: u8 = 40;

    /// Adds an image and its reconstruction without shadows.
    pub fn add(&mut self, original: &[u8], relit: &[u8]) {
        self.pixels += original.len() as u64;
        for (&before, &after) in original.iter().zip(relit) {
            if before < Self::DARK {
                self.dark += 1;
                self.lit_now += u64::from(after > Self::LIT);
            } else if before >= Self::LIT && f64::from(before) < BRIGHT.0 {
                self.lit += 1;
                self.error += f64::from(before.abs_diff(after));
            }
        }
    }

    /// Fraction of the pixels with an original gray level below 20.
    pub fn dark_fraction(&self) -> f64 {
        self.dark as f64 / self.pixels.max(1) as f64
    }

    /// Fraction of these dark pixels with a gray level above 40 after shadow removal.
    pub fn lit_fraction(&self) -> f64 {
        self.lit_now as f64 / self.dark.max(1) as f64
    }

    /// Mean absolute change of pixels that were neither dark nor saturated, in gray levels; it should be small.
    pub fn lit_error(&self) -> f64 {
        self.error / self.lit.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dark_and_lit_pixels_are_counted_separately() {
        let mut darkness = DarkPixelStatistics::default();
        darkness.add(&[0, 10, 30, 100, 255], &[90, 30, 90, 104, 10]);
        assert_eq!((darkness.dark_fraction(), darkness.lit_fraction(), darkness.lit_error()), (0.4, 0.5, 4.0));
    }

    #[test]
    fn middle_levels_have_confidence_1_and_extreme_levels_0() {
        assert_eq!(
            (
                confidence(0),
                confidence(10),
                confidence(25),
                confidence(40),
                confidence(200),
                confidence(250),
                confidence(255)
            ),
            (0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.0)
        );
    }
}
