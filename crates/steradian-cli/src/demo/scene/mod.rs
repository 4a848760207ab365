//! The built-in scene: a room, slow light, sensor noise and people, from a fixed seed, with the truth beside it.
//!
//! A frame is `room.surface * lamp(t) + room.daylight * day(t)`, people over it, noise on top. The empty frame at the
//! same light and the pixels that people cover are kept as truth.

mod people;
mod room;

use std::f64::consts::TAU;

/// Pixels across.
pub const WIDTH: usize = 128;
/// Pixels down.
pub const HEIGHT: usize = 96;
/// Frames of the clip.
pub const FRAMES: usize = 240;
/// Pixels of a frame.
pub const PIXELS: usize = WIDTH * HEIGHT;

const SEED: u64 = 2024;
/// Standard deviation of the sensor's noise, in gray levels.
const NOISE: f64 = 2.0;
/// Points per pixel side that are averaged where shapes have edges.
const SUBPIXELS: usize = 4;

/// The clip and its truth, frame after frame.
pub struct Scene {
    /// What the camera saw.
    pub frames: Vec<u8>,
    /// The empty room at the light of each frame, without noise.
    pub empty: Vec<f32>,
    /// Whether a person covers the pixel.
    pub person: Vec<bool>,
}

impl Scene {
    /// Renders all frames.
    pub fn render() -> Self {
        let room = room::Room::render();
        let mut scene = Self { frames: Vec::new(), empty: Vec::new(), person: Vec::new() };
        for t in 0..FRAMES {
            let (lamp, day) = light(t);
            for (pixel, people::Cover { cover, gray }) in people::draw(t).into_iter().enumerate() {
                let empty = room.surface[pixel] * lamp + room.daylight[pixel] * day;
                let seen = empty * (1.0 - cover) + gray * lamp;
                let noise = NOISE * normal(SEED, (t * PIXELS + pixel) as u64);
                scene.frames.push((seen + noise).round().clamp(0.0, 255.0) as u8);
                scene.empty.push(empty.clamp(0.0, 255.0) as f32);
                scene.person.push(cover > 0.5);
            }
        }
        scene
    }

    /// One frame.
    pub fn frame(&self, t: usize) -> &[u8] {
        &self.frames[t * PIXELS..(t + 1) * PIXELS]
    }

    /// The empty room at the light of one frame.
    pub fn empty_frame(&self, t: usize) -> &[f32] {
        &self.empty[t * PIXELS..(t + 1) * PIXELS]
    }

    /// Where people are in one frame.
    pub fn person_frame(&self, t: usize) -> &[bool] {
        &self.person[t * PIXELS..(t + 1) * PIXELS]
    }
}

/// The strength of the lamps and of the day outside: both drift, each at its own pace.
fn light(t: usize) -> (f64, f64) {
    let time = t as f64 / FRAMES as f64;
    (0.94 + 0.06 * (TAU * (0.8 * time + 0.1)).sin(), 0.65 - 0.35 * (TAU * 0.5 * time).cos())
}

/// Mean of `f` over points of a pixel.
fn over_pixel(pixel: usize, mut f: impl FnMut(f64, f64)) {
    let step = 1.0 / SUBPIXELS as f64;
    let (x, y) = ((pixel % WIDTH) as f64, (pixel / WIDTH) as f64);
    for i in 0..SUBPIXELS {
        for j in 0..SUBPIXELS {
            f(x + (i as f64 + 0.5) * step, y + (j as f64 + 0.5) * step);
        }
    }
}

/// What one point of a pixel weighs.
const POINT: f64 = 1.0 / (SUBPIXELS * SUBPIXELS) as f64;

/// A standard normal number that depends on nothing but seed and counter.
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
    fn truth_fits_the_frames() {
        let scene = Scene::render();
        assert_eq!(scene.frames.len(), FRAMES * PIXELS);
        // Where nobody is, a frame is the empty room plus noise.
        let apart: Vec<f64> = (0..scene.frames.len())
            .filter(|&i| !scene.person[i] && scene.empty[i] < 240.0)
            .map(|i| f64::from(scene.frames[i]) - f64::from(scene.empty[i]))
            .collect();
        let rms = (apart.iter().map(|x| x * x).sum::<f64>() / apart.len() as f64).sqrt();
        assert!(rms < 1.5 * NOISE, "{rms}");
        // Someone is there all the time that one of them rests.
        let rests = |t: usize| scene.person_frame(t).iter().filter(|&&p| p).count();
        assert!((95..145).all(|t| rests(t) > 300));
    }
}
