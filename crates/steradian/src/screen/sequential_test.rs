//! The sequential test that rejects a candidate by its wins and losses against the leader on random anchors.
//!
//! | symbol | here |
//! |---|---|
//! | b, anchors near the leader and not near the candidate | `losses` |
//! | g, anchors near the candidate and not near the leader | `wins` |
//! | delta | [`FAILURE_PROBABILITY`] |
//!
//! Anchors of a round are drawn without replacement from all samples, without regard to earlier rounds, and the leader is
//! chosen before. If tau of the candidate is no larger than the leader's, then of the anchors on which the two differ
//! each speaks for the leader with probability at most 1/2. So for each q in [1/2, 1)
//!
//!   E(q) = (2 q)^b (2 - 2 q)^g                                                                        (1)
//!
//! with b and g summed over all rounds, is a supermartingale that begins at 1, although leaders change; and so is its
//! mean over some q. By Ville's inequality that ever reaches 2 / delta with probability at most delta / 2.
//!
//! The same holds for exp(s b - (e^s - 1) m) and exp((1 - e^-s) m - s g), where m is the sum of the probabilities of
//! what b and g count; so b and g bound those sums.

/// The probability that the pivot is not the one of the exact count, or that the bound on its excess fails.
pub(crate) const FAILURE_PROBABILITY: f64 = 1e-6;
/// The values of q in (1), less 1/2: a few suffice, since an unlucky one costs little.
const BETTING_FRACTIONS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.45];
/// The values of s.
const EXPONENTS: [f64; 5] = [0.05, 0.15, 0.5, 1.0, 3.0];

/// Whether so many losses beside so many wins show that a candidate is worse than its leaders.
pub(crate) fn is_eliminated(losses: u32, wins: u32) -> bool {
    let (losses, wins) = (f64::from(losses), f64::from(wins));
    // (1) is at most 2^(b - g), so few are looked at closely.
    if losses - wins < (2.0 / FAILURE_PROBABILITY).log2() {
        return false;
    }
    let wealth = |leaning: f64| (losses * (1.0 + 2.0 * leaning).ln() + wins * (1.0 - 2.0 * leaning).ln()).exp();
    let mean = BETTING_FRACTIONS.into_iter().map(wealth).sum::<f64>() / BETTING_FRACTIONS.len() as f64;
    mean >= 2.0 / FAILURE_PROBABILITY
}

/// The share of the failure probability of one exponent of one bound.
fn doubt() -> f64 {
    (4.0 * EXPONENTS.len() as f64 / FAILURE_PROBABILITY).ln()
}

/// A bound on the sum of the probabilities of events of which this many happened.
pub(crate) fn mean_at_most(count: u32) -> f64 {
    let bound = |exponent: f64| (exponent * f64::from(count) + doubt()) / (1.0 - (-exponent).exp());
    EXPONENTS.into_iter().map(bound).fold(f64::INFINITY, f64::min)
}

/// The same from below.
pub(crate) fn mean_at_least(count: u32) -> f64 {
    let bound = |exponent: f64| (exponent * f64::from(count) - doubt()) / (exponent.exp() - 1.0);
    EXPONENTS.into_iter().map(bound).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_loses_as_often_as_wins_stays_and_who_always_loses_goes() {
        assert!(!is_eliminated(0, 0) && !is_eliminated(5000, 5000) && !is_eliminated(10, 0));
        assert!(is_eliminated(40, 0) && is_eliminated(6000, 5000));
        // 2^-count is the probability of that many losses without a win: fewer than 21 can never be enough.
        assert!((0..21).all(|losses| !is_eliminated(losses, 0)));
    }

    #[test]
    fn a_fair_coin_is_hardly_ever_taken_for_a_false_one() {
        // Exactly: the probability that a fair walk is ever out within 400 steps, by its distribution step by step.
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
