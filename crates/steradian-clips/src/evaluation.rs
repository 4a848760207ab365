//! Evaluation of foreground masks and background images against ground truth.
//!
//! | value in a ground-truth mask (CDnet) | meaning |
//! |---|---|
//! | 255 | foreground |
//! | 0, and 50 (shadow) | background |
//! | any other value (85 outside the region, 170 unknown) | not scored |

/// Confusion counts of pixels over all scored frames of a clip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConfusionCounts {
    /// Foreground pixels inside the mask.
    pub true_positives: u64,
    /// Background pixels inside the mask.
    pub false_positives: u64,
    /// Foreground pixels outside the mask.
    pub false_negatives: u64,
    /// Number of scored frames.
    pub frames: u64,
}

impl ConfusionCounts {
    /// Adds a frame: its foreground mask, its ground truth and, if given, the scored region (below 128 is outside).
    pub fn add(&mut self, mask: &[bool], ground_truth: &[u8], region: Option<&[u8]>) {
        self.frames += 1;
        for (at, (&in_mask, &label)) in mask.iter().zip(ground_truth).enumerate() {
            if region.is_some_and(|region| region[at] < 128) {
                continue;
            }
            match (label, in_mask) {
                (255, true) => self.true_positives += 1,
                (255, false) => self.false_negatives += 1,
                (0 | 50, true) => self.false_positives += 1,
                _ => {}
            }
        }
    }

    /// Fraction of mask pixels that are foreground; 0 for an empty mask.
    pub fn precision(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_positives)
    }

    /// Fraction of foreground pixels inside the mask; 0 without foreground.
    pub fn recall(&self) -> f64 {
        ratio(self.true_positives, self.true_positives + self.false_negatives)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.true_positives, 2 * self.true_positives + self.false_positives + self.false_negatives)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Error of a background image against the ground truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackgroundError {
    /// Mean absolute difference in gray levels.
    pub mean_gray_error: f64,
    /// Fraction of pixels that differ by more than 20 gray levels.
    pub fraction_off_by_20: f64,
    /// Peak signal-to-noise ratio in dB; infinite for equal images.
    pub psnr: f64,
}

impl BackgroundError {
    /// The error of a background image; both images have the same size.
    pub fn between(background: &[u8], ground_truth: &[u8]) -> Self {
        let count = ground_truth.len().max(1) as f64;
        let differences = || background.iter().zip(ground_truth).map(|(a, b)| f64::from(a.abs_diff(*b)));
        let square = differences().map(|x| x * x).sum::<f64>() / count;
        Self {
            mean_gray_error: differences().sum::<f64>() / count,
            fraction_off_by_20: differences().filter(|x| *x > 20.0).count() as f64 / count,
            psnr: 10.0 * (255.0 * 255.0 / square).log10(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labeled_pixels_are_scored() {
        let mut counts = ConfusionCounts::default();
        let ground_truth = [255, 255, 0, 0, 50, 85, 170, 255];
        let mask = [true, false, true, false, true, true, true, true];
        counts.add(&mask, &ground_truth, Some(&[255, 255, 255, 255, 255, 255, 255, 0]));
        assert_eq!(counts, ConfusionCounts { true_positives: 1, false_negatives: 1, false_positives: 2, frames: 1 });
        counts.add(&mask, &ground_truth, None);
        assert_eq!(counts, ConfusionCounts { true_positives: 3, false_negatives: 2, false_positives: 4, frames: 2 });
        assert!((counts.precision() - 3.0 / 7.0).abs() < 1e-12 && (counts.recall() - 0.6).abs() < 1e-12);
        assert!((counts.f1() - 0.5).abs() < 1e-12);
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
