//! Sequential test that eliminates a candidate by its wins and losses against the leader on random anchors.
//!
//! | symbol | here |
//! |---|---|
//! | b, the number of anchors near the leader and not near the candidate | `losses` |
//! | g, the number of anchors near the candidate and not near the leader | `wins` |
//! | delta | [`FAILURE_PROBABILITY`] |
//!
//! The anchors of a round are drawn without replacement from all samples, independently of earlier rounds, after the
//! leader was selected. If tau of the candidate is at most the leader's, then each anchor on which the two differ is a
//! loss with probability at most 1/2. So for each q in [1/2, 1)
//!
//!   E(q) = (2 q)^b (2 - 2 q)^g                                                                        (1)
//!
//! with b and g summed over all rounds, is a supermartingale that starts at 1, although leaders change. So is its mean
//! over several q. By Ville's inequality the mean reaches 2 / delta in any round with probability at most delta / 2.
//!
//! exp(s b - (e^s - 1) m) and exp((1 - e^-s) m - s g) are supermartingales, too, where m is the sum of the
//! probabilities of the events that b and g count; so b and g bound those sums.

/// Upper bound on the probability that the pivot is not that of the exact count, or that the bound on its excess fails.
pub(crate) const FAILURE_PROBABILITY: f64 = 1e-6;
/// Values of q - 1/2 in (1). A few suffice: the mean loses at most a factor of their number against the best q.
const BETTING_FRACTIONS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.45];
/// Values of s in the bounds on means.
const EXPONENTS: [f64; 5] = [0.05, 0.15, 0.5, 1.0, 3.0];

/// True if this many losses and wins show that tau of a candidate exceeds that of its leaders.
pub(crate) fn is_eliminated(losses: u32, wins: u32) -> bool {
    let (losses, wins) = (f64::from(losses), f64::from(wins));
    // (1) is at most 2^(b - g), so most candidates need no evaluation of (1).
    if losses - wins < (2.0 / FAILURE_PROBABILITY).log2() {
        return false;
    }
    let wealth = |f: f64| (losses * (1.0 + 2.0 * f).ln() + wins * (1.0 - 2.0 * f).ln()).exp();
    let mean = BETTING_FRACTIONS.into_iter().map(wealth).sum::<f64>() / BETTING_FRACTIONS.len() as f64;
    mean >= 2.0 / FAILURE_PROBABILITY
}

/// Negative logarithm of the failure probability of one exponent of one bound.
fn log_inverse_failure() -> f64 {
    (4.0 * EXPONENTS.len() as f64 / FAILURE_PROBABILITY).ln()
}

/// Upper bound on the sum of the probabilities of events of which `count` occurred.
pub(crate) fn mean_at_most(count: u32) -> f64 {
    let bound = |exponent: f64| (exponent * f64::from(count) + log_inverse_failure()) / (1.0 - (-exponent).exp());
    EXPONENTS.into_iter().map(bound).fold(f64::INFINITY, f64::min)
}

/// Lower bound on the sum of the probabilities of events of which `count` occurred.
pub(crate) fn mean_at_least(count: u32) -> f64 {
    let bound = |exponent: f64| (exponent * f64::from(count) - log_inverse_failure()) / (exponent.exp() - 1.0);
    EXPONENTS.into_iter().map(bound).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_candidate_that_loses_more_often_than_it_wins_is_eliminated() {
        assert!(!is_eliminated(0, 0) && !is_eliminated(5000, 5000) && !is_eliminated(10, 0));
        assert!(is_eliminated(40, 0) && is_eliminated(6000, 5000));
        // 2^-count is the probability of that many losses without a win: fewer than 21 never suffice.
        assert!((0..21).all(|losses| !is_eliminated(losses, 0)));
    }

    #[test]
    fn a_fair_coin_is_rejected_with_at_most_half_the_failure_probability() {
        // The exact probability that a fair walk is eliminated within 400 steps, by its distribution after each step.
        let mut inside = vec![1.0];
        let mut out = 0.0;
        for steps in 1..=400usize {
            let mut next = vec![0.0; steps + 1];
            for (losses, probability) in inside.iter().enumerate() {
                next[losses] += 0.5 * probability;
                next[losses + 1] += 0.5 * probability;
            }
            for (losses, probability) in next.iter_mut().enumerate() {
                if is_eliminated(losses as u32, (steps - losses) as u32) {
                    out += *probability;
                    *probability = 0.0;
                }
            }
            inside = next;
        }
        assert!(out > 0.0 && out <= FAILURE_PROBABILITY / 2.0, "{out:e}");
    }

    #[test]
    fn bounds_on_means_hold_the_count_between_them() {
        for count in [0, 1, 30, 1000, 100_000] {
            let (low, high) = (mean_at_least(count), mean_at_most(count));
            assert!(low <= f64::from(count) && f64::from(count) <= high && low >= 0.0, "{low} {count} {high}");
        }
        assert!(mean_at_most(0) < 20.0 && mean_at_least(100_000) > 90_000.0);
    }
}
