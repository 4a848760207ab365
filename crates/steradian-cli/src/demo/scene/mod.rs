//! The built-in scene: a room with slow illumination changes, sensor noise and people, from a fixed seed, with ground truth.
//!
//! A frame is `room.surface * lamp(t) + room.daylight * day(t)`, covered by people, plus noise. The ground truth is the
//! background under the illumination of the frame and the pixels that people cover.

mod people;
mod room;

use std::f64::consts::TAU;

/// Width of a frame, in pixels.
pub const WIDTH: usize = 128;
/// Height of a frame, in pixels.
pub const HEIGHT: usize = 96;
/// Number of frames.
pub const FRAMES: usize = 240;
/// Number of pixels per frame.
pub const PIXELS: usize = WIDTH * HEIGHT;

const SEED: u64 = 2024;
/// Standard deviation of the sensor noise, in gray levels.
const NOISE: f64 = 2.0;
/// Sample points per pixel side, for antialiasing.
const SUBPIXELS: usize = 4;

/// The clip and its ground truth, frame after frame.
pub struct Scene {
    /// Gray levels of the frames.
    pub frames: Vec<u8>,
    /// Background under the illumination of each frame, without noise.
    pub background: Vec<f32>,
    /// True if a person covers the pixel.
    pub person: Vec<bool>,
}

impl Scene {
    /// Renders all frames.
    pub fn render() -> Self {
        let room = room::Room::render();
        let mut scene = Self { frames: Vec::new(), background: Vec::new(), person: Vec::new() };
        for t in 0..FRAMES {
            let (lamp, day) = illumination(t);
            for (pixel, people::Cover { cover, gray }) in people::draw(t).into_iter().enumerate() {
                let background = room.surface[pixel] * lamp + room.daylight[pixel] * day;
                let level = background * (1.0 - cover) + gray * lamp;
                let noise = NOISE * normal(SEED, (t * PIXELS + pixel) as u64);
                scene.frames.push((level + noise).round().clamp(0.0, 255.0) as u8);
                scene.background.push(background.clamp(0.0, 255.0) as f32);
                scene.person.push(cover > 0.5);
            }
        }
        scene
    }

    /// One frame.
    pub fn frame(&self, t: usize) -> &[u8] {
        &self.frames[t * PIXELS..(t + 1) * PIXELS]
    }

    /// The background under the illumination of one frame.
    pub fn background_frame(&self, t: usize) -> &[f32] {
        &self.background[t * PIXELS..(t + 1) * PIXELS]
    }

    /// The pixels of people in one frame.
    pub fn person_frame(&self, t: usize) -> &[bool] {
        &self.person[t * PIXELS..(t + 1) * PIXELS]
    }
}

/// Strengths of the lamps and of the daylight; both change slowly, at different rates.
fn illumination(t: usize) -> (f64, f64) {
    let time = t as f64 / FRAMES as f64;
    (0.94 + 0.06 * (TAU * (0.8 * time + 0.1)).sin(), 0.65 - 0.35 * (TAU * 0.5 * time).cos())
}

/// Calls `f` at each sample point of a pixel.
fn over_pixel(pixel: usize, mut f: impl FnMut(f64, f64)) {
    let step = 1.0 / SUBPIXELS as f64;
    let (x, y) = ((pixel % WIDTH) as f64, (pixel / WIDTH) as f64);
    for i in 0..SUBPIXELS {
        for j in 0..SUBPIXELS {
            f(x + (i as f64 + 0.5) * step, y + (j as f64 + 0.5) * step);
        }
    }
}

/// Weight of one sample point of a pixel.
const POINT: f64 = 1.0 / (SUBPIXELS * SUBPIXELS) as f64;

/// A standard normal number that depends only on seed and counter.
fn normal(seed: u64, counter: u64) -> f64 {
    let uniform = |index: u64| (mix(mix(seed) ^ index) >> 11) as f64 / (1u64 << 53) as f64;
    let radius = (-2.0 * (1.0 - uniform(2 * counter)).ln()).sqrt();
    radius * (TAU * uniform(2 * counter + 1)).cos()
}

/// The mixing step of splitmix64.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_standard_normal() {
        let n = 20_000;
        let draws: Vec<f64> = (0..n).map(|i| normal(1, i)).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "mean {mean}, variance {variance}");
    }

    #[test]
    fn ground_truth_matches_the_frames() {
        let scene = Scene::render();
        assert_eq!(scene.frames.len(), FRAMES * PIXELS);
        // Outside people, a frame is the background plus noise.
        let noise: Vec<f64> = (0..scene.frames.len())
            .filter(|&i| !scene.person[i] && scene.background[i] < 240.0)
            .map(|i| f64::from(scene.frames[i]) - f64::from(scene.background[i]))
            .collect();
        let rms = (noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64).sqrt();
        assert!(rms < 1.5 * NOISE, "{rms}");
        // The person who stands still covers pixels in all of these frames.
        let covered = |t: usize| scene.person_frame(t).iter().filter(|&&p| p).count();
        assert!((95..145).all(|t| covered(t) > 300));
    }
}
