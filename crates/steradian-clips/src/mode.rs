//! The mode of a few hundred values of a pixel.
//!
//! A histogram of whole gray levels is smoothed by a triangle (two running means) and its highest place is taken, the
//! nearest to 0 among equals; the mean of the numbers near it is the mode. What stands before a pixel for a third of the time
//! moves a mean, and for half of the time a median, but not this.

/// Gray levels each side of 0: differences of bytes, and what a background may overshoot.
const REACH: usize = 320;
/// Gray levels that one running mean spans.
const SPAN: usize = 7;
/// Gray levels around the highest place whose mean is taken.
const NEAR: f32 = 4.0;

/// Room to count in, used again for each pixel; all zero between uses.
pub(crate) struct ModeFinder {
    counts: Vec<u32>,
    sums: Vec<u32>,
}

impl ModeFinder {
    pub(crate) fn new() -> Self {
        // Two running means reach a span beyond the numbers at each end, and look a span further.
        let length = 2 * (REACH + 2 * SPAN) + 1;
        Self { counts: vec![0; length], sums: vec![0; length] }
    }

    /// The mode of some numbers; 0 for none.
    pub(crate) fn mode(&mut self, numbers: &[f32]) -> f32 {
        const ZERO: usize = REACH + 2 * SPAN;
        let place = |x: f32| (x.clamp(-(REACH as f32), REACH as f32) + ZERO as f32 + 0.5) as usize;
        let (mut low, mut high) = (usize::MAX, 0);
        for &x in numbers {
            let at = place(x);
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
        for x in numbers.iter().filter(|x| (**x - top).abs() <= NEAR) {
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
    fn the_larger_heap_wins_however_far_the_other_is() {
        let mut finder = ModeFinder::new();
        let heap = |level: f32, count: usize| (0..count).map(move |i| level + (i % 5) as f32 - 2.0);
        let both: Vec<f32> = heap(3.0, 45).chain(heap(140.0, 40)).chain((0..15).map(|i| 10.0 * i as f32)).collect();
        assert!((finder.mode(&both) - 3.0).abs() < 0.6, "{}", finder.mode(&both));
        let other: Vec<f32> = heap(-250.0, 60).chain(heap(0.0, 40)).collect();
        assert!((finder.mode(&other) + 250.0).abs() < 0.6);
        assert_eq!(finder.mode(&[]), 0.0);
        assert_eq!(finder.mode(&[-1000.0]), -(REACH as f32), "held at the edge");
        assert_eq!(finder.mode(&[7.25]), 7.25);
    }
}
