//! The mode of a few hundred numbers of a pixel: where most of them lie together.
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

/// Room to count in, used again for each pixel.
pub(crate) struct ModeFinder {
    counts: Vec<u32>,
    means: Vec<u32>,
}

impl ModeFinder {
    pub(crate) fn new() -> Self {
        let length = 2 * REACH + 1 + 2 * SPAN;
        Self { counts: vec![0; length], means: vec![0; length] }
    }

    /// The mode of some numbers; 0 for none.
    pub(crate) fn mode(&mut self, numbers: &[f32]) -> f32 {
        self.counts.fill(0);
        let place = |x: f32| (x.round().clamp(-(REACH as f32), REACH as f32) + (REACH + SPAN) as f32) as usize;
        let (mut low, mut high) = (usize::MAX, 0);
        for &x in numbers {
            let at = place(x);
            self.counts[at] += 1;
            (low, high) = (low.min(at), high.max(at));
        }
        if low > high {
            return 0.0;
        }
        running_sum(&self.counts, &mut self.means, low..high + 1);
        let wide = low - SPAN / 2..high + SPAN / 2 + 1;
        let zero = REACH + SPAN;
        let height = |at: usize| self.means[at - SPAN / 2..=at + SPAN / 2].iter().sum::<u32>();
        let best = wide
            .filter(|&at| at >= SPAN / 2 && at + SPAN / 2 < self.means.len())
            .max_by_key(|&at| (height(at), std::cmp::Reverse(at.abs_diff(zero))));
        let top = best.map_or(0.0, |at| at as f32 - zero as f32);
        let near = numbers.iter().filter(|x| (**x - top).abs() <= NEAR);
        let (sum, count) = near.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
        if count > 0 { sum / count as f32 } else { top }
    }
}

/// Sums of [`SPAN`] neighbours around each place where they are not all 0; 0 elsewhere.
fn running_sum(counts: &[u32], sums: &mut [u32], filled: std::ops::Range<usize>) {
    sums.fill(0);
    let half = SPAN / 2;
    for at in filled.start - half..filled.end + half {
        sums[at] = counts[at - half..=at + half].iter().sum();
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
