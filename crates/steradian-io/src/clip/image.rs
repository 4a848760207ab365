//! Pictures of bytes: gray levels, or red, green and blue; and their means at a smaller size.

/// How a pixel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One byte.
    Gray,
    /// Red, green and blue.
    Rgb,
}

impl Color {
    /// Bytes of a pixel.
    pub fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// A picture of bytes, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
    /// How each pixel is stored.
    pub color: Color,
    /// The bytes of one pixel after the other.
    pub pixels: Vec<u8>,
}

impl Image {
    /// Height and width.
    pub fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// The picture at another size that is no larger: each pixel is the mean of the area it covers.
    pub fn shrunk(&self, (height, width): (usize, usize)) -> Self {
        if (height, width) == self.size() {
            return self.clone();
        }
        let (down, across) = (spans(self.height, height), spans(self.width, width));
        let channels = self.color.channels();
        let mut pixels = Vec::with_capacity(height * width * channels);
        for rows in &down {
            for columns in &across {
                for channel in 0..channels {
                    let (mut sum, mut area) = (0.0, 0.0);
                    for &(y, tall) in rows {
                        for &(x, wide) in columns {
                            sum += tall * wide * f64::from(self.pixels[(y * self.width + x) * channels + channel]);
                            area += tall * wide;
                        }
                    }
                    pixels.push((sum / area).round() as u8);
                }
            }
        }
        Self { height, width, color: self.color, pixels }
    }
}

/// For each of `to` equal parts of `from` pixels: the pixels it touches, and how much of each it covers.
fn spans(from: usize, to: usize) -> Vec<Vec<(usize, f64)>> {
    let step = from as f64 / to as f64;
    let part = |i: usize| {
        let (start, end) = (i as f64 * step, ((i + 1) as f64 * step).min(from as f64));
        let touched = start.floor() as usize..(end.ceil() as usize).min(from);
        touched.map(|at| (at, (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0))).collect()
    };
    (0..to).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_keeps_the_mean() {
        let image = Image { height: 3, width: 5, color: Color::Gray, pixels: (0..15).map(|i| i * 10).collect() };
        assert_eq!(image.shrunk((3, 5)), image);
        assert_eq!(image.shrunk((1, 1)).pixels, [70]);
        // Two and a half pixels each: (0 + 10 + 20 / 2) / 2.5 = 8 and (20 / 2 + 30 + 40) / 2.5 = 32 in the first row.
        assert_eq!(image.shrunk((3, 2)).pixels[..2], [8, 32]);
        // Each channel by itself.
        let rgb = image.pixels.iter().flat_map(|&level| [level, 9, 255 - level]).collect();
        let rgb = Image { color: Color::Rgb, pixels: rgb, ..image };
        assert_eq!(rgb.shrunk((3, 2)).pixels[..6], [8, 9, 247, 32, 9, 223]);
    }
}
