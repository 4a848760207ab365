//! Images with u8 gray levels or RGB bytes, and area-averaging downscaling.

/// The color format of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// One byte: the gray level.
    Gray,
    /// Three bytes: red, green and blue.
    Rgb,
}

impl Color {
    /// Number of bytes per pixel.
    pub fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// An image of u8 values, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Number of pixel rows.
    pub height: usize,
    /// Number of pixel columns.
    pub width: usize,
    /// Color format of each pixel.
    pub color: Color,
    /// The bytes of all pixels, row by row.
    pub pixels: Vec<u8>,
}

impl Image {
    /// Height and width.
    pub fn dimensions(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// The image resized to a height and width that are not larger: each pixel is the mean of the area it covers.
    pub fn shrunk(&self, (height, width): (usize, usize)) -> Self {
        if (height, width) == self.dimensions() {
            return self.clone();
        }
        let (vertical, horizontal) = (spans(self.height, height), spans(self.width, width));
        let channels = self.color.channels();
        let mut pixels = Vec::with_capacity(height * width * channels);
        for rows in &vertical {
            for columns in &horizontal {
                for channel in 0..channels {
                    let (mut sum, mut area) = (0.0, 0.0);
                    for &(y, row_weight) in rows {
                        for &(x, column_weight) in columns {
                            let weight = row_weight * column_weight;
                            sum += weight * f64::from(self.pixels[(y * self.width + x) * channels + channel]);
                            area += weight;
                        }
                    }
                    pixels.push((sum / area).round() as u8);
                }
            }
        }
        Self { height, width, color: self.color, pixels }
    }
}

/// For each of `target` equal parts of `source` pixels: the pixels that it overlaps, and the covered fraction of each.
fn spans(source: usize, target: usize) -> Vec<Vec<(usize, f64)>> {
    let step = source as f64 / target as f64;
    let part = |i: usize| {
        let (start, end) = (i as f64 * step, ((i + 1) as f64 * step).min(source as f64));
        let overlap = start.floor() as usize..(end.ceil() as usize).min(source);
        overlap.map(|at| (at, (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0))).collect()
    };
    (0..target).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_keeps_the_mean() {
        let image = Image { height: 3, width: 5, color: Color::Gray, pixels: (0..15).map(|i| i * 10).collect() };
        assert_eq!(image.shrunk((3, 5)), image);
        assert_eq!(image.shrunk((1, 1)).pixels, [70]);
        // 2.5 source pixels per pixel: (0 + 10 + 20 / 2) / 2.5 = 8 and (20 / 2 + 30 + 40) / 2.5 = 32 in the first row.
        assert_eq!(image.shrunk((3, 2)).pixels[..2], [8, 32]);
        // Channels are independent.
        let rgb = image.pixels.iter().flat_map(|&level| [level, 9, 255 - level]).collect();
        let rgb = Image { color: Color::Rgb, pixels: rgb, ..image };
        assert_eq!(rgb.shrunk((3, 2)).pixels[..6], [8, 9, 247, 32, 9, 223]);
    }
}
