//! Pictures of one face under many lights, as they would be without cast shadows.
//!
//! | symbol | here |
//! |---|---|
//! | X, n pictures of D pixels | `pictures` |
//! | W, how far a pixel is trusted, by its level alone | [`trust`] |
//! | Q, d components without a center | `components` |
//! | s_i | scores |
//!
//! A matte face under any light lies near a subspace of nine dimensions (Basri and Jacobs 2003); a shadow or a gloss leaves
//! it. So dark and saturated pixels are treated as missing, by degrees: [`ROUNDS`] times, untrusted cells are replaced by what
//! the fit says there, components are found anew, and scores solve (Q'WQ + sigma^2 V^-1) s = Q'W x, where V is the spread of
//! the scores so far. The prior keeps a picture that is nearly all shadow from being made up. What comes out is Q s itself and
//! not a patchwork, so there is no seam to tear. Cost: each round one fit of the engine and n D (d^2 + 2 d) flops.

use rayon::prelude::*;
use steradian::{Center, Config, Error, Local, Matrix, Method, Model, Result, Runner, SliceSource, Source};

use crate::level::gray_level;
use crate::training::Training;

/// Components of a face under changing light.
pub const FACE_COMPONENTS: usize = 9;

const ROUNDS: usize = 15;
/// Levels between which trust rises from none to all.
const DARK: (f64, f64) = (10.0, 40.0);
/// Levels between which it falls again.
const BRIGHT: (f64, f64) = (250.0, 255.0);
/// What a pixel is trusted at least, so that a black picture stays solvable.
const LEAST_TRUST: f64 = 1e-3;
/// sigma^2 for each pixel, in squared gray levels. It is summed over the pixels: what the subspace does not explain is alike in
/// neighbours, so it does not average out over them.
const PRIOR: f64 = 3.0;
/// How certain components of a round have to be.
const TOLERANCE: f64 = 1e-4;

/// How far a level is trusted, from 0 to 1.
pub(crate) fn trust(level: u8) -> f64 {
    let rises = (f64::from(level) - DARK.0) / (DARK.1 - DARK.0);
    let falls = (BRIGHT.1 - f64::from(level)) / (BRIGHT.1 - BRIGHT.0);
    rises.min(falls).clamp(0.0, 1.0)
}

/// Pictures without their shadows, picture after picture, as bytes.
pub fn remove_shadows(source: &dyn Source, components: usize, runner: &Local) -> Result<Vec<u8>> {
    let pictures = Training::read_all(source, runner)?;
    let d = components.min(pictures.frames);
    if d == 0 {
        return Err(Error::invalid_argument("n_components = 0; ask for at least 1"));
    }
    if pictures.all_equal() {
        return Err(Error::invalid_data(format!(
            "all {} pictures are equal; one light says nothing of what another shows: give pictures under many lights",
            pictures.frames
        )));
    }
    let mut filled = start(&pictures);
    let mut relit = Vec::new();
    for round in 0..ROUNDS {
        runner.check_cancelled()?;
        let model = embed(&pictures, &filled, d, runner)?;
        relit = runner.compute(|| project(&pictures, &filled, &model.components));
        if round + 1 < ROUNDS {
            fill(&pictures, &relit, &mut filled);
        }
    }
    Ok(relit.into_iter().map(gray_level).collect())
}

/// Pictures as a fitted model sees them, by scores that distrust dark and saturated pixels.
pub fn trusted_reconstruction(model: &Model, source: &dyn Source, runner: &Local) -> Result<Vec<u8>> {
    model.check_width(source.shape())?;
    let pictures = Training::read_all(source, runner)?;
    let center: Vec<f32> = model.center.iter().map(|&c| c as f32).collect();
    let away: Vec<f32> = pictures
        .data
        .chunks(pictures.pixels)
        .flat_map(|picture| picture.iter().zip(&center).map(|(x, c)| f32::from(*x) - c))
        .collect();
    let spread = spread(&away, &model.components);
    let mut out = vec![0u8; pictures.data.len()];
    runner.compute(|| {
        out.par_chunks_mut(pictures.pixels).enumerate().for_each(|(i, out)| {
            let seen = &away[i * pictures.pixels..(i + 1) * pictures.pixels];
            let expected = trusted(pictures.frame(i), seen, &model.components, &spread);
            for ((out, e), c) in out.iter_mut().zip(expected).zip(&center) {
                *out = gray_level(e + c);
            }
        });
    });
    Ok(out)
}

/// Where a pixel is not trusted, the mean of the pictures in which it is.
fn start(pictures: &Training) -> Vec<f32> {
    let (mut sums, mut weights) = (vec![0.0f64; pictures.pixels], vec![LEAST_TRUST; pictures.pixels]);
    for picture in pictures.data.chunks(pictures.pixels) {
        for ((sum, weight), x) in sums.iter_mut().zip(&mut weights).zip(picture) {
            *sum += trust(*x) * f64::from(*x);
            *weight += trust(*x);
        }
    }
    let mean: Vec<f32> = sums.iter().zip(&weights).map(|(sum, weight)| (sum / weight) as f32).collect();
    let relit: Vec<f32> = (0..pictures.frames).flat_map(|_| mean.iter().copied()).collect();
    let mut filled = vec![0.0; pictures.data.len()];
    fill(pictures, &relit, &mut filled);
    filled
}

/// Cells as far as they are trusted, and what is expected there for the rest.
fn fill(pictures: &Training, relit: &[f32], filled: &mut [f32]) {
    for ((out, x), e) in filled.iter_mut().zip(&pictures.data).zip(relit) {
        let trusted = trust(*x) as f32;
        *out = trusted * f32::from(*x) + (1.0 - trusted) * e;
    }
}

fn embed(pictures: &Training, filled: &[f32], d: usize, runner: &Local) -> Result<Model> {
    let mut config = Config::new(Method::Pca, d);
    config.center = Center::None;
    config.tolerance = TOLERANCE;
    steradian::fit(&config, &SliceSource::new(filled, pictures.frames, pictures.pixels)?, runner)
}

/// Q s of all pictures.
fn project(pictures: &Training, filled: &[f32], components: &Matrix) -> Vec<f32> {
    let spread = spread(filled, components);
    let mut out = vec![0.0f32; filled.len()];
    out.par_chunks_mut(pictures.pixels).enumerate().for_each(|(i, out)| {
        let picture = pictures.frame(i);
        let seen: Vec<f32> = picture.iter().map(|&x| f32::from(x)).collect();
        out.copy_from_slice(&trusted(picture, &seen, components, &spread));
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

/// Q s of one picture, from the pixels that are trusted.
fn trusted(levels: &[u8], seen: &[f32], components: &Matrix, spread: &[f64]) -> Vec<f32> {
    let d = components.rows();
    let weights: Vec<f64> = levels.iter().map(|&level| trust(level).max(LEAST_TRUST)).collect();
    let (mut normal, mut right) = (vec![0.0; d * d], vec![0.0; d]);
    for a in 0..d {
        let weighted: Vec<f64> = components.row(a).iter().zip(&weights).map(|(q, w)| q * w).collect();
        right[a] = weighted.iter().zip(seen).map(|(q, x)| q * f64::from(*x)).sum();
        for b in 0..=a {
            let entry: f64 = weighted.iter().zip(components.row(b)).map(|(x, y)| x * y).sum();
            (normal[a * d + b], normal[b * d + a]) = (entry, entry);
        }
        normal[a * d + a] += PRIOR * levels.len() as f64 / spread[a].max(1.0);
    }
    crate::scores::solve(&mut normal, &mut right);
    let mut out = vec![0.0f32; seen.len()];
    for (s, k) in right.iter().zip(0..d) {
        out.iter_mut().zip(components.row(k)).for_each(|(x, q)| *x += (s * q) as f32);
    }
    out
}

/// What became of dark and of lit pixels, over all pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Darkness {
    pixels: u64,
    dark: u64,
    lit_now: u64,
    trusted: u64,
    error: f64,
}

impl Darkness {
    /// Below this level a pixel is dark.
    const DARK: u8 = 20;
    /// Above this level it is lit.
    const LIT: u8 = 40;

    /// Adds a picture and what was made of it.
    pub fn add(&mut self, original: &[u8], relit: &[u8]) {
        self.pixels += original.len() as u64;
        for (&before, &after) in original.iter().zip(relit) {
            if before < Self::DARK {
                self.dark += 1;
                self.lit_now += u64::from(after > Self::LIT);
            } else if before >= Self::LIT && f64::from(before) < BRIGHT.0 {
                self.trusted += 1;
                self.error += f64::from(before.abs_diff(after));
            }
        }
    }

    /// The share of all pixels that were below 20.
    pub fn dark_share(&self) -> f64 {
        self.dark as f64 / self.pixels.max(1) as f64
    }

    /// The share of those that are above 40 now.
    pub fn lit_share(&self) -> f64 {
        self.lit_now as f64 / self.dark.max(1) as f64
    }

    /// The mean change, in gray levels, of pixels that were neither dark nor saturated: it ought to be small.
    pub fn lit_error(&self) -> f64 {
        self.error / self.trusted.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dark_and_lit_pixels_are_told_apart() {
        let mut darkness = Darkness::default();
        darkness.add(&[0, 10, 30, 100, 255], &[90, 30, 90, 104, 10]);
        assert_eq!((darkness.dark_share(), darkness.lit_share(), darkness.lit_error()), (0.4, 0.5, 4.0));
    }

    #[test]
    fn middle_levels_are_trusted_and_the_ends_are_not() {
        assert_eq!(
            (trust(0), trust(10), trust(25), trust(40), trust(200), trust(250), trust(255)),
            (0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 0.0)
        );
    }
}
