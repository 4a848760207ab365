//! Masks and backgrounds compared with truth.
//!
//! | value in a mask of truth | meaning |
//! |---|---|
//! | 255 | moving |
//! | 0, and 50 (shadow) | static |
//! | anything else (85 outside the region, 170 unknown) | not scored |

/// Pixels counted over all scored frames of a clip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConfusionCounts {
    /// Moving, and found.
    pub true_positives: u64,
    /// Static, but marked.
    pub false_positives: u64,
    /// Moving, but not found.
    pub false_negatives: u64,
    /// Frames that were scored.
    pub frames: u64,
}

impl ConfusionCounts {
    /// Adds a frame: its mask, its truth and, where given, the region (0 outside) that counts.
    pub fn add(&mut self, mask: &[bool], truth: &[u8], region: Option<&[u8]>) {
        self.frames += 1;
        for (at, (&found, &truth)) in mask.iter().zip(truth).enumerate() {
            if region.is_some_and(|region| region[at] < 128) {
                continue;
            }
            match (truth, found) {
                (255, true) => self.true_positives += 1,
                (255, false) => self.false_negatives += 1,
                (0 | 50, true) => self.false_positives += 1,
                _ => {}
            }
        }
    }

    /// The share of marked pixels that move; 0 when none is marked.
    pub fn precision(&self) -> f64 {
        share(self.true_positives, self.true_positives + self.false_positives)
    }

    /// The share of moving pixels that are marked; 0 when none moves.
    pub fn recall(&self) -> f64 {
        share(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The harmonic mean of both.
    pub fn f1(&self) -> f64 {
        share(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How far a background is from the true empty scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackgroundError {
    /// The mean distance in gray levels.
    pub mean_gray_error: f64,
    /// The share of pixels that are off by more than 20 levels.
    pub fraction_off_by_20: f64,
    /// The peak signal-to-noise ratio in decibels; infinite for equal images.
    pub psnr: f64,
}

impl BackgroundError {
    /// Compares two images of one size.
    pub fn between(found: &[u8], truth: &[u8]) -> Self {
        let count = truth.len().max(1) as f64;
        let apart = || found.iter().zip(truth).map(|(a, b)| f64::from(a.abs_diff(*b)));
        let square = apart().map(|x| x * x).sum::<f64>() / count;
        Self {
            mean_gray_error: apart().sum::<f64>() / count,
            fraction_off_by_20: apart().filter(|x| *x > 20.0).count() as f64 / count,
            psnr: 10.0 * (255.0 * 255.0 / square).log10(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_scored() {
        let mut tally = ConfusionCounts::default();
        let truth = [255, 255, 0, 0, 50, 85, 170, 255];
        let mask = [true, false, true, false, true, true, true, true];
        tally.add(&mask, &truth, Some(&[255, 255, 255, 255, 255, 255, 255, 0]));
        assert_eq!(tally, ConfusionCounts { true_positives: 1, false_negatives: 1, false_positives: 2, frames: 1 });
        tally.add(&mask, &truth, None);
        assert_eq!(tally, ConfusionCounts { true_positives: 3, false_negatives: 2, false_positives: 4, frames: 2 });
        assert!((tally.precision() - 3.0 / 7.0).abs() < 1e-12 && (tally.recall() - 0.6).abs() < 1e-12);
        assert!((tally.f1() - 0.5).abs() < 1e-12);
        assert_eq!(ConfusionCounts::default().f1(), 0.0);
    }

    #[test]
    fn backgrounds_are_compared_by_their_equations() {
        let error = BackgroundError::between(&[10, 20, 30, 90], &[10, 22, 30, 60]);
        assert!((error.mean_gray_error - 8.0).abs() < 1e-12 && (error.fraction_off_by_20 - 0.25).abs() < 1e-12);
        assert!((error.psnr - 10.0 * (65025.0f64 / 226.0).log10()).abs() < 1e-9);
        assert_eq!(BackgroundError::between(&[1], &[1]).psnr, f64::INFINITY);
    }
}
