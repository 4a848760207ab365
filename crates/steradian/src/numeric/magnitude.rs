//! Magnitudes of numbers: binary exponents, their counts over rows, and exact multiplication by powers of two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// floor(log2(abs(x))) of a finite number; `None` for 0 and for numbers that are not finite.
pub(crate) fn exponent(x: f64) -> Option<i32> {
    if x == 0.0 || !x.is_finite() {
        return None;
    }
    let field = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as i32;
    match field(x) {
        // A subnormal number: 2^64 times it is normal, exactly.
        0 => Some(field(x * 2f64.powi(64)) - 1023 - 64),
        biased => Some(biased - 1023),
    }
}

/// x 2^k: exact, unless the result is subnormal or beyond the range of f64.
pub(crate) fn times_power_of_two(x: f64, k: i32) -> f64 {
    // 2^k itself may be out of range; its two factors are not.
    let half = k / 2;
    x * 2f64.powi(half) * 2f64.powi(k - half)
}

/// Number of rows by the binary exponent of their largest cell; rows of zeros and of missing cells are not counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Magnitudes(BTreeMap<i32, u64>);

impl Magnitudes {
    /// Counts a row whose largest cell has this exponent.
    pub(crate) fn add(&mut self, exponent: Option<i32>) {
        if let Some(exponent) = exponent {
            *self.0.entry(exponent).or_default() += 1;
        }
    }

    /// Adds the counts of other rows.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        for (exponent, count) in other.0 {
            *self.0.entry(exponent).or_default() += count;
        }
        self
    }

    /// The number of rows; `None` if an exponent or the number is out of range, which no data give.
    pub(crate) fn rows(&self) -> Option<u64> {
        let possible = self.0.keys().all(|exponent| (-1074..=1023).contains(exponent));
        self.0.values().try_fold(0u64, |rows, count| rows.checked_add(*count)).filter(|_| possible)
    }

    /// The exponent of the largest cell of all; `None` if all are 0.
    pub(crate) fn largest(&self) -> Option<i32> {
        self.0.keys().next_back().copied()
    }

    /// The lower median of the exponents of the rows; `None` if all cells are 0.
    pub(crate) fn median(&self) -> Option<i32> {
        let half = self.0.values().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let reaches_half = |(_, count): &(&i32, &u64)| {
            below += **count;
            below >= half
        };
        self.0.iter().find(reaches_half).map(|(exponent, _)| *exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exponents_of_known_numbers() {
        for (x, expected) in
            [(1.0, 0), (-1.9, 0), (0.5, -1), (f64::MAX, 1023), (f64::MIN_POSITIVE, -1022), (5e-324, -1074)]
        {
            assert_eq!(exponent(x), Some(expected), "{x:e}");
        }
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(exponent), [None; 3]);
    }

    #[test]
    fn the_median_is_that_of_the_rows() {
        let rows = |exponents: &[i32]| {
            exponents.iter().fold(Magnitudes::default(), |mut all, e| {
                all.add(Some(*e));
                all
            })
        };
        let all = rows(&[3, 3, -9]).merge(rows(&[1000, 4]));
        assert_eq!((all.median(), all.largest()), (Some(3), Some(1000)));
        assert_eq!(rows(&[5, 7]).median(), Some(5));
        assert_eq!((Magnitudes::default().median(), Magnitudes::default().largest()), (None, None));
    }

    proptest! {
        #[test]
        fn powers_of_two_return(x in proptest::num::f64::NORMAL, k in -900i32..900) {
            let moved = times_power_of_two(x, k);
            if moved.is_normal() {
                prop_assert_eq!(exponent(moved), exponent(x).map(|e| e + k));
                prop_assert_eq!(times_power_of_two(moved, -k), x);
            }
        }
    }
}
