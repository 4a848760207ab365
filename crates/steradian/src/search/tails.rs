//! The distribution of the kept rows around their subspace: normal, or a t distribution with its heavier tails.
//!
//! | symbol | definition |
//! |---|---|
//! | delta_i | the squared distance of a row: scores over their variances, plus kappa times residuals over the noise |
//! | m_i | d + kappa f_i, with f_i the degrees of freedom of the row |
//! | L_normal | sum of -(m/2) log(2 pi c) - delta / (2 c), at its maximum over the scale c |
//! | L_t | sum of log G((nu + m)/2) - log G(nu/2) - (m/2) log(pi nu c) - ((nu + m)/2) log(1 + delta / (c nu)), at its maximum over c |
//!
//! Rows with equal weights have the accuracy of classical PCA on the kept rows; t weights lose some of it on clean data, and
//! bound the influence of rows that are far out within the subspace.

use super::Candidate;
use super::tables::compare;
use crate::cellwise::RowStep;
use crate::cellwise::student::{NU, StudentWeights, kappa};
use crate::numeric::linalg::Matrix;
use crate::numeric::statistics::log_gamma;

/// Steps to the scale of the t distribution.
const STEPS: usize = 30;

/// The degrees of freedom of the weights of the kept rows of a table: [`NU`], or infinite where these rows are normal.
pub(crate) fn freedom_of_rows(table: &Matrix, candidate: &Candidate) -> f64 {
    let (n, features, d) = (table.rows(), table.columns(), candidate.model.n_components());
    let states = compare(table, &RowStep::new(&candidate.model));
    let weights = StudentWeights::of(&candidate.model, kappa(n, features, d), NU);
    let rows: Vec<(f64, f64)> = (0..n)
        .filter(|&i| candidate.kept[i])
        .map(|i| weights.distance(states.scores.row(i), states.rows[i].square, states.rows[i].freedom))
        .collect();
    if is_normal(&rows) { f64::INFINITY } else { NU }
}

/// True if the normal distribution is at least as likely as the t distribution for rows of squared distances delta in m
/// dimensions, given as pairs (delta, m).
fn is_normal(rows: &[(f64, f64)]) -> bool {
    let (total, dimensions) = rows.iter().fold((0.0, 0.0), |(a, b), (delta, m)| (a + delta, b + m));
    let scale = total / dimensions;
    if !(scale > 0.0 && scale.is_finite()) {
        return false;
    }
    let two_pi = 2.0 * std::f64::consts::PI;
    let normal: f64 = rows.iter().map(|(delta, m)| -0.5 * m * (two_pi * scale).ln() - 0.5 * delta / scale).sum();
    let mut c = scale;
    for _ in 0..STEPS {
        c = rows.iter().map(|(delta, m)| (NU + m) / (NU + delta / c) * delta).sum::<f64>() / dimensions;
    }
    let student = |(delta, m): &(f64, f64)| {
        let half = 0.5 * (NU + m);
        log_gamma(half)
            - log_gamma(0.5 * NU)
            - 0.5 * m * (std::f64::consts::PI * NU * c).ln()
            - half * (delta / (c * NU)).ln_1p()
    };
    normal >= rows.iter().map(student).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::{Stream, normal_matrix};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn normal_rows_are_told_from_t_rows(seed in any::<u64>(), n in 150usize..400, m in 4usize..40) {
            let draw = normal_matrix(n, m, seed, Stream::Krylov);
            let other = normal_matrix(n, 5, seed ^ 1, Stream::Krylov);
            let square = |x: &Matrix, i: usize| x.row(i).iter().map(|z| z * z).sum::<f64>();
            let normal: Vec<(f64, f64)> = (0..n).map(|i| (3.0 * square(&draw, i), m as f64)).collect();
            // t with 5 degrees of freedom: over the root of chi-square with 5 degrees of freedom, over 5.
            let heavy: Vec<(f64, f64)> =
                (0..n).map(|i| (square(&draw, i) * 5.0 / square(&other, i), m as f64)).collect();
            prop_assert!(is_normal(&normal));
            prop_assert!(!is_normal(&heavy));
        }
    }

    #[test]
    fn rows_without_distances_are_not_normal() {
        assert!(!is_normal(&[]));
        assert!(!is_normal(&[(0.0, 3.0), (0.0, 3.0)]));
    }
}
