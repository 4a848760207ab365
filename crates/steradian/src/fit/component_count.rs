//! The number of components: by parallel analysis, or by the fraction of the total variance.
//!
//! Parallel analysis (Horn 1965) on the sphere: the eigenvalues of the directions of the least outlying half are compared
//! with the largest one that remains when the sign of every centered cell is drawn at random (Hong, Sheng and Dobriban
//! 2020), which keeps the noise and destroys what features have in common. Components that stand out are taken out before
//! the next is tested (Dobriban and Owen 2019), since their energy would count as noise.

use std::borrow::Cow;

use crate::center::mean::{self, Finite};
use crate::config::Config;
use crate::config::options::{ComponentCount, Solver, Weighting};
use crate::config::screen::{Outlyingness, Screen};
use crate::data::row_map::{RowMap, SignFlips};
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::WeightedRows;
use crate::numeric::linalg::Matrix;
use crate::screen::outlyingness;
use crate::solver::decompose::Decomposer;

/// Draws of signs; the largest of their eigenvalues is the level of noise.
const DRAWS: usize = 5;
/// The ratio to the level of noise that an eigenvalue must exceed: noise itself exceeds the level once in DRAWS + 1 times, by a
/// few percent or, with few samples, by a fifth.
const MARGIN: f64 = 1.4;
/// The tolerance of the eigenvalues, which are only compared.
const TOLERANCE: f64 = 1e-3;

/// A number of components and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ComponentChoice {
    pub components: usize,
    pub reason: String,
}

/// The number of leading eigenvalues above the level of noise.
pub(crate) fn parallel_analysis(
    config: &Config,
    solver: Solver,
    data: &Finite<'_>,
    runner: &impl Runner,
) -> Result<ComponentChoice> {
    let (source, seed, start_seed) = (data.source, config.seed, data.start_seed(config.seed));
    let n = source.shape().samples;
    let most = ComponentCount::Auto.at_most(source.shape());
    let given = match &config.screen {
        Screen::Outlyingness(screen) => screen.clone(),
        _ => Outlyingness::default(),
    };
    let outlying = outlyingness::outlyingness(&given, 1, source, seed, runner)?;
    let support = outlyingness::least_outlying(&outlying.values, outlyingness::majority(n, 1));
    let center = mean::mean(source, Some(&support), runner)?;
    let found = {
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, Some(&support));
        let decomposer = Decomposer { solver, d: most, tolerance: TOLERANCE, seed, start_seed, source, runner };
        decomposer.solve_certified(directions, None, None)?.certified
    };
    let null = Null { seed, start_seed, solver, source, runner, center: &center, support: &support };
    let mut count = 0;
    let mut noise = null.level(&found.vectors.first_columns(0), 0)?;
    while count < most && found.values.get(count).is_some_and(|value| *value > MARGIN * noise) {
        count += 1;
        noise = null.level(&found.vectors.first_columns(count), count)?;
    }
    let level = found.values.get(count).copied().unwrap_or(0.0);
    let reason = if count == 0 {
        format!("no eigenvalue exceeds that of noise (largest {level:.4}, noise {noise:.4}); 1 component is used")
    } else {
        format!("the eigenvalues of {count} components exceed that of noise; the next is {level:.4}, noise {noise:.4}")
    };
    Ok(ComponentChoice { components: count.max(1), reason })
}

/// Data without what features have in common.
struct Null<'a, R> {
    seed: u64,
    start_seed: u64,
    solver: Solver,
    source: &'a dyn Source,
    runner: &'a R,
    center: &'a [f64],
    support: &'a [bool],
}

impl<R: Runner> Null<'_, R> {
    /// The largest eigenvalue of directions whose first components are taken out and whose signs are drawn.
    fn level(&self, components: &Matrix, round: usize) -> Result<f64> {
        let (n, features) = (self.source.shape().samples, self.center.len());
        let origin = vec![0.0; features];
        let directions = WeightedRows::new(&origin, Weighting::Uniform, Some(self.support));
        let mut level = 0.0f64;
        for draw in 0..DRAWS {
            let flips = SignFlips {
                center: Cow::Borrowed(self.center),
                components: Cow::Borrowed(components),
                seed: self.seed,
                first: (round * DRAWS + draw) * n,
            };
            let flipped = MappedSource::new(self.source, RowMap::SignFlip(flips));
            let decomposer = Decomposer {
                solver: self.solver,
                d: 1,
                tolerance: TOLERANCE,
                seed: self.seed,
                start_seed: self.start_seed,
                source: &flipped,
                runner: self.runner,
            };
            level = level.max(decomposer.solve_certified(directions.clone(), None, None)?.certified.values[0]);
        }
        Ok(level)
    }
}

/// The least number of leading variances that make up a fraction of the total; `None` where all of them do not.
pub(crate) fn by_variance_fraction(fraction: f64, variances: &[f64], total: f64) -> Option<usize> {
    let mut sum = 0.0;
    variances
        .iter()
        .position(|variance| {
            sum += variance;
            sum >= fraction * total
        })
        .map(|place| place + 1)
}

/// The reason for a number of components by the fraction of the total variance that they explain.
pub(crate) fn reason(fraction: f64, variances: &[f64], total: f64, kind: &str) -> String {
    let count = variances.len();
    if total <= 0.0 {
        return format!(
            "{count} components, since the {kind} variance of the data is 0; give the number of components"
        );
    }
    let explained = variances.iter().sum::<f64>() / total;
    match by_variance_fraction(fraction, variances, total) {
        Some(_) => format!("{count} components explain {explained:.4} of the {kind} variance, at least {fraction}"),
        None => format!(
            "{count} components, the most that are tried, explain {explained:.4} of the {kind} variance, less than \
             {fraction}; give the number of components"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_takes_as_few_components_as_reach_it() {
        assert_eq!(by_variance_fraction(0.5, &[5.0, 3.0, 1.0], 10.0), Some(1));
        assert_eq!(by_variance_fraction(0.81, &[5.0, 3.0, 1.0], 10.0), Some(3));
        assert_eq!(by_variance_fraction(0.99, &[5.0, 3.0, 1.0], 10.0), None);
    }

    #[test]
    fn the_reason_has_the_numbers_of_the_model() {
        assert_eq!(
            reason(0.81, &[5.0, 3.0, 1.0], 10.0, "robust"),
            "3 components explain 0.9000 of the robust variance, at least 0.81"
        );
        assert!(reason(0.99, &[5.0, 3.0, 1.0], 10.0, "total").contains("less than 0.99; give the number"));
    }
}
