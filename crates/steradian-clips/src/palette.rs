//! Colors of the background image.
//!
//! Background and foreground are separated by gray levels. The color of a pixel is its mean color over the frames in
//! which it is background, relative to its gray background, so that it adapts to the illumination in the same way.

use crate::level::gray_level;
use crate::separate::Separated;

/// Red, green, blue.
type Rgb = [f32; 3];

/// Gray levels that are added to each color, so that nearly black pixels, whose color is noise, become gray.
const GRAY_LEVELS: f32 = 1.0;

/// Sums of the color and gray background of a pixel over the frames in which it is background.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    frames: u32,
    background: u32,
    colors: [u32; 3],
}

/// Accumulator of a [`Palette`] over frames. The sums are integers, so the order of frames does not matter.
#[derive(Debug, Clone)]
pub struct PaletteSums(Vec<Sums>);

impl PaletteSums {
    /// The empty accumulator for frames with this number of pixels.
    pub fn new(pixels: usize) -> Self {
        Self(vec![Sums::default(); pixels])
    }

    /// Adds a separated frame and its colors, 3 bytes per pixel.
    pub fn add(&mut self, colors: &[u8], parts: &Separated) {
        let pixels = colors.as_chunks::<3>().0.iter().zip(&parts.background).zip(&parts.mask);
        for (sums, ((colors, background), foreground)) in self.0.iter_mut().zip(pixels) {
            if !foreground {
                sums.frames += 1;
                sums.background += u32::from(*background);
                sums.colors.iter_mut().zip(colors).for_each(|(sum, color)| *sum += u32::from(*color));
            }
        }
    }

    /// The color of each pixel; gray for a pixel that is foreground in all frames.
    pub fn palette(&self) -> Palette {
        let tint = |sums: &Sums| {
            let gray = GRAY_LEVELS * sums.frames.max(1) as f32;
            sums.colors.map(|color| (color as f32 + gray) / (sums.background as f32 + gray))
        };
        let or_gray = |sums: &Sums| if sums.frames == 0 { [1.0; 3] } else { tint(sums) };
        Palette(self.0.iter().map(or_gray).collect())
    }
}

/// The color of each pixel of the background image, relative to its gray level.
#[derive(Debug, Clone, PartialEq)]
pub struct Palette(Vec<Rgb>);

impl Palette {
    /// A gray background image in color, 3 bytes per pixel.
    pub fn colored(&self, background: &[u8]) -> Vec<u8> {
        let pixel = |(tint, level): (&Rgb, &u8)| tint.map(|part| gray_level(part * f32::from(*level)));
        self.0.iter().zip(background).flat_map(pixel).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(background: &[u8], mask: &[bool]) -> Separated {
        Separated { background: background.to_vec(), mask: mask.to_vec(), scores: Vec::new(), angle_degrees: 0.0 }
    }

    #[test]
    fn colors_follow_the_illumination_and_ignore_the_foreground() {
        let mut sums = PaletteSums::new(2);
        // A brown wall under two illuminations; a blue object covers its second pixel in the first frame.
        sums.add(&[120, 90, 60, 0, 0, 255], &parts(&[96, 96], &[false, true]));
        sums.add(&[60, 45, 30, 60, 45, 30], &parts(&[48, 48], &[false, false]));
        let colored = sums.palette().colored(&[96, 96]);
        for (found, expected) in colored.iter().zip([120, 90, 60, 120, 90, 60]) {
            assert!(found.abs_diff(expected) <= 1, "{colored:?}");
        }
    }

    #[test]
    fn pixels_that_are_always_foreground_or_black_are_gray() {
        let mut sums = PaletteSums::new(2);
        sums.add(&[9, 200, 9, 0, 0, 2], &parts(&[50, 0], &[true, false]));
        let palette = sums.palette();
        assert_eq!(palette.colored(&[77, 0]), [77, 77, 77, 0, 0, 0]);
    }

    #[test]
    fn gray_stays_gray() {
        let mut sums = PaletteSums::new(3);
        sums.add(&[10, 10, 10, 128, 128, 128, 255, 255, 255], &parts(&[10, 128, 255], &[false; 3]));
        assert_eq!(sums.palette().colored(&[12, 120, 250]), [12, 12, 12, 120, 120, 120, 250, 250, 250]);
    }
}
