//! Bounds by the triangle inequality: cone counts of many candidates near one axis, shared for most samples.
//!
//! | symbol | here |
//! |---|---|
//! | theta_i, the angle of candidate i to the axis | `angles[i]` |
//! | phi_a, the angle of sample a to the axis | `angles[a]` |
//! | eta | `eta` |
//! | t, the radius: theta_i <= t | `radius` |
//!
//! Angles between directions, and between lines, satisfy the triangle inequality: the angle between i and a is at least
//! phi_a - theta_i and at most phi_a + theta_i. So a sample with phi_a + t < eta is inside the cone of every candidate
//! within t of the axis, and one with phi_a - t > eta is outside all of them. Only the samples of the shell between
//! these angles are counted per candidate.
//!
//! Cost in pairs: candidates within t times samples of the shell, plus n per other candidate; t minimizes the cost.

use crate::memory::CollectReserved;

/// Upper bound on the error of a computed angle, in radians.
const ANGLE_TOLERANCE: f64 = 1e-6;

/// Partition of the candidates and samples for a count around an axis.
#[derive(Debug, PartialEq)]
pub(crate) struct Shell {
    /// Candidates near the axis, which are counted against `undecided` only, in increasing order.
    pub together: Vec<usize>,
    /// Candidates that are counted against all samples, in increasing order.
    pub alone: Vec<usize>,
    /// Number of samples inside the cones of all candidates in `together`.
    pub inside: usize,
    /// Samples that are undecided for the candidates in `together`, in increasing order.
    pub undecided: Vec<usize>,
}

impl Shell {
    /// The shell of lowest cost, given the angles of all samples to the axis, NaN for samples that are not active.
    pub(crate) fn new(angles: &[f64], candidates: &[usize], eta: f64) -> Self {
        let mut sorted = angles.iter().copied().filter(|angle| !angle.is_nan()).collect_reserved();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut radii = candidates.iter().map(|&i| angles[i]).collect_reserved();
        radii.sort_unstable_by(f64::total_cmp);
        let below = |angle: f64| sorted.partition_point(|x| *x < angle);
        let undecided = |radius: f64| below(eta + radius + ANGLE_TOLERANCE) - below(eta - radius - ANGLE_TOLERANCE);
        let cost = |(near, radius): &(usize, f64)| near * undecided(*radius) + (radii.len() - near) * angles.len();
        let choices = radii.iter().enumerate().map(|(i, radius)| (i + 1, *radius));
        let best = choices.min_by_key(cost).filter(|choice| cost(choice) < radii.len() * angles.len());
        let Some((_, radius)) = best else {
            return Self { together: Vec::new(), alone: candidates.to_vec(), inside: 0, undecided: Vec::new() };
        };
        let (together, alone): (Vec<usize>, Vec<usize>) = candidates.iter().partition(|&&i| angles[i] <= radius);
        let in_shell = |angle: f64| angle >= eta - radius - ANGLE_TOLERANCE && angle < eta + radius + ANGLE_TOLERANCE;
        let undecided = (0..angles.len()).filter(|&a| in_shell(angles[a])).collect_reserved();
        Self { inside: below(eta - radius - ANGLE_TOLERANCE), undecided, together, alone }
    }

    /// Number of pairs that the count compares.
    pub(crate) fn pairs(&self, samples: usize) -> f64 {
        self.together.len() as f64 * self.undecided.len() as f64 + self.alone.len() as f64 * samples as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_counted_together_and_a_stray_candidate_alone() {
        // A cluster near the axis, a sample at the edge of the cone, many far away, one that is not active, and a
        // stray.
        let mut angles = vec![0.01, 0.02, 0.03, 1.04, f64::NAN, 0.9];
        angles.extend([1.5; 50]);
        let shell = Shell::new(&angles, &[0, 1, 2, 5], std::f64::consts::FRAC_PI_3);
        assert_eq!(shell.together, [0, 1, 2]);
        assert_eq!(shell.alone, [5]);
        assert_eq!((shell.inside, &shell.undecided[..]), (4, &[3][..]));
        assert_eq!(shell.pairs(angles.len()), 3.0 + 56.0);
    }

    #[test]
    fn scattered_candidates_are_all_counted_alone() {
        let angles: Vec<f64> = (0..20).map(|i| 1.0 + 0.01 * f64::from(i)).collect();
        let all: Vec<usize> = (0..20).collect();
        let shell = Shell::new(&angles, &all, std::f64::consts::FRAC_PI_3);
        assert!(shell.pairs(20) <= 400.0);
        assert_eq!(shell.together.len() + shell.alone.len(), 20);
    }
}
