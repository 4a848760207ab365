//! The mode of a few hundred values of a pixel.
//!
//! A histogram with one bin per gray level is smoothed by a triangle (two running means). The mode is the mean of the
//! values near its highest bin, the bin nearest to 0 among ties. An object that covers a pixel for a third of the
//! frames changes the mean, and for half of the frames the median, but not the mode.

/// Range of the histogram on each side of 0, in gray levels: differences of u8 values plus a margin for the background.
const REACH: usize = 320;
/// Width of a running mean, in gray levels.
const SPAN: usize = 7;
/// Distance from the highest bin within which values are averaged, in gray levels.
const MODE_RADIUS: f32 = 4.0;

/// Buffers of the histogram, reused for each pixel; all zero between uses.
pub(crate) struct ModeFinder {
    counts: Vec<u32>,
    sums: Vec<u32>,
}

impl ModeFinder {
    pub(crate) fn new() -> Self {
        // Two running means reach one span beyond the values at each end, and read one span further.
        let length = 2 * (REACH + 2 * SPAN) + 1;
        Self { counts: vec![0; length], sums: vec![0; length] }
    }

    /// The mode of some values; 0 if there are none.
    pub(crate) fn mode(&mut self, values: &[f32]) -> f32 {
        const ZERO: usize = REACH + 2 * SPAN;
        let bin = |x: f32| (x.clamp(-(REACH as f32), REACH as f32) + ZERO as f32 + 0.5) as usize;
        let (mut low, mut high) = (usize::MAX, 0);
        for &x in values {
            let at = bin(x);
            self.counts[at] += 1;
            (low, high) = (low.min(at), high.max(at));
        }
        if low > high {
            return 0.0;
        }
        let half = SPAN / 2;
        let (first, last) = (low - half, high + half);
        let mut sum = 0;
        for at in first..=last {
            sum += self.counts[at + half];
            self.sums[at] = sum;
            sum -= self.counts[at - half];
        }
        let (mut height, mut best, mut top) = (0, 0, ZERO);
        for at in first - half..=last + half {
            height += self.sums[at + half];
            if height > best || (height == best && at.abs_diff(ZERO) < top.abs_diff(ZERO)) {
                (best, top) = (height, at);
            }
            height -= self.sums[at - half];
        }
        self.counts[low..=high].fill(0);
        self.sums[first..=last].fill(0);
        let top = top as f32 - ZERO as f32;
        let (mut total, mut count) = (0.0, 0u32);
        for x in values.iter().filter(|x| (**x - top).abs() <= MODE_RADIUS) {
            total += x;
            count += 1;
        }
        if count > 0 { total / count as f32 } else { top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_cluster_is_the_mode() {
        let mut finder = ModeFinder::new();
        let cluster = |level: f32, count: usize| (0..count).map(move |i| level + (i % 5) as f32 - 2.0);
        let both: Vec<f32> =
            cluster(3.0, 45).chain(cluster(140.0, 40)).chain((0..15).map(|i| 10.0 * i as f32)).collect();
        assert!((finder.mode(&both) - 3.0).abs() < 0.6, "{}", finder.mode(&both));
        let other: Vec<f32> = cluster(-250.0, 60).chain(cluster(0.0, 40)).collect();
        assert!((finder.mode(&other) + 250.0).abs() < 0.6);
        assert_eq!(finder.mode(&[]), 0.0);
        assert_eq!(finder.mode(&[-1000.0]), -(REACH as f32), "held at the edge");
        assert_eq!(finder.mode(&[7.25]), 7.25);
    }
}
