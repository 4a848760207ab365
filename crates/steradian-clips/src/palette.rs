//! Colors of the background image. What is background is told from gray levels; a pixel's colour is then what it shows while
//! nothing stands before it, relative to its gray background, so that it follows the light as that does.

use crate::level::gray_level;
use crate::separate::Separated;

/// Red, green, blue.
type Rgb = [f32; 3];

/// Gray levels that count as gray in each pixel: what is nearly black has no colour that could be told from noise.
const GRAY_LEVELS: f32 = 1.0;

/// What a pixel showed while it was background, summed over frames.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    frames: u32,
    background: u32,
    colors: [u32; 3],
}

/// Colours of frames on their way to a [`Palette`]. Whole numbers: frames may come in any order.
#[derive(Debug, Clone)]
pub struct PaletteSums(Vec<Sums>);

impl PaletteSums {
    /// For frames of so many pixels, of which none was seen yet.
    pub fn new(pixels: usize) -> Self {
        Self(vec![Sums::default(); pixels])
    }

    /// Adds a frame that was taken apart and its colours, three bytes a pixel.
    pub fn add(&mut self, colors: &[u8], parts: &Separated) {
        let seen = colors.as_chunks::<3>().0.iter().zip(&parts.background).zip(&parts.mask);
        for (sums, ((colors, background), moving)) in self.0.iter_mut().zip(seen) {
            if !moving {
                sums.frames += 1;
                sums.background += u32::from(*background);
                sums.colors.iter_mut().zip(colors).for_each(|(sum, color)| *sum += u32::from(*color));
            }
        }
    }

    /// The colour of each pixel; gray where something stood before it in all frames.
    pub fn palette(&self) -> Palette {
        let tint = |sums: &Sums| {
            let gray = GRAY_LEVELS * sums.frames.max(1) as f32;
            sums.colors.map(|color| (color as f32 + gray) / (sums.background as f32 + gray))
        };
        let or_gray = |sums: &Sums| if sums.frames == 0 { [1.0; 3] } else { tint(sums) };
        Palette(self.0.iter().map(or_gray).collect())
    }
}

/// The colour of each pixel of the empty scene, relative to its gray level.
#[derive(Debug, Clone, PartialEq)]
pub struct Palette(Vec<Rgb>);

impl Palette {
    /// A gray background in colour: three bytes a pixel.
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
    fn colours_follow_the_light_and_not_what_stands_before_them() {
        let mut sums = PaletteSums::new(2);
        // A brown wall at two lights; before its second pixel stands something blue, then it is seen once.
        sums.add(&[120, 90, 60, 0, 0, 255], &parts(&[96, 96], &[false, true]));
        sums.add(&[60, 45, 30, 60, 45, 30], &parts(&[48, 48], &[false, false]));
        let colored = sums.palette().colored(&[96, 96]);
        for (found, wanted) in colored.iter().zip([120, 90, 60, 120, 90, 60]) {
            assert!(found.abs_diff(wanted) <= 1, "{colored:?}");
        }
    }

    #[test]
    fn what_was_never_seen_and_what_is_black_is_gray() {
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
