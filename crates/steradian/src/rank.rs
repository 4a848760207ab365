//! How many components: by what stands out from noise, or by the share of robust variance.
//!
//! Parallel analysis (Horn 1965) on the sphere: the eigenvalues of the directions of the least outlying half are compared
//! with the largest one that remains when every cell's sign around the center is drawn anew (Hong, Sheng and Dobriban
//! 2020), which keeps the noise and the lengths and destroys what features have in common.

use rand_chacha::rand_core::Rng;

use crate::center::mean;
use crate::config::{Components, Config, Outlyingness, Screen, Solver, Weighting};
use crate::derived::Changed;
use crate::error::Result;
use crate::random::{Stream, generator};
use crate::run::Runner;
use crate::screen::outlyingness;
use crate::solve::Decomposer;
use crate::source::Source;
use crate::sums::Directions;

/// Draws of signs; the largest of their eigenvalues is the level of noise.
const DRAWS: usize = 5;
/// How certain eigenvalues have to be: they are only compared.
const TOLERANCE: f64 = 1e-3;

/// A number of components and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub components: usize,
    pub reason: String,
}

/// The number of leading eigenvalues above the level of noise.
pub(crate) fn standing_out(
    config: &Config,
    solver: Solver,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Chosen> {
    let n = source.shape().samples;
    let most = Components::Auto.at_most(source.shape());
    let given = match &config.screen {
        Screen::Outlyingness(screen) => screen.clone(),
        _ => Outlyingness::default(),
    };
    mean::mean(source, None, runner)?; // proves that all numbers are finite
    let outlying = outlyingness::outlyingness(&given, 1, source, config.seed, runner)?;
    let kept = outlyingness::least_outlying(&outlying.values, outlyingness::majority(n, 1));
    let center = mean::mean(source, Some(&kept), runner)?;
    let directions = Directions::new(&center, Weighting::InverseNorm, Some(&kept));
    let largest = |source: &dyn Source, d: usize| -> Result<Vec<f64>> {
        let decomposer = Decomposer { solver, d, tolerance: TOLERANCE, seed: config.seed, source, runner };
        Ok(decomposer.exactly(directions, None, None)?.certified.values)
    };
    let shares = largest(source, most)?;
    let mut noise = 0.0f64;
    for draw in 0..DRAWS {
        let flipped = Changed::new(source, |sample, row: &mut [f64]| {
            let mut signs = generator(config.seed, Stream::Signs);
            signs.set_word_pos(((draw * n + sample) as u128) << 32);
            for (cells, center) in row.chunks_mut(64).zip(center.chunks(64)) {
                let mut bits = signs.next_u64();
                for (x, c) in cells.iter_mut().zip(center) {
                    *x = if bits & 1 == 1 { 2.0 * c - *x } else { *x };
                    bits >>= 1;
                }
            }
        });
        noise = noise.max(largest(&flipped, 1)?.first().copied().unwrap_or(0.0));
    }
    let count = shares.iter().take(most).take_while(|share| **share > noise).count();
    let level = shares.get(count).copied().unwrap_or(0.0);
    let reason = if count == 0 {
        format!("no component stands out from noise (largest share {level:.4}, noise {noise:.4}); 1 is kept")
    } else {
        format!(
            "{count} components stand out from noise: share {:.4} of component {count} is above the noise of {noise:.4}, the \
             next is {level:.4}",
            shares[count - 1]
        )
    };
    Ok(Chosen { components: count.max(1), reason })
}

/// The least number of leading variances that make up a share of the total.
pub(crate) fn reaching(share: f64, variances: &[f64], total: f64) -> Chosen {
    let mut sum = 0.0;
    for (i, variance) in variances.iter().enumerate() {
        sum += variance;
        if sum >= share * total {
            let reason =
                format!("{} components explain {:.4} of the robust variance, at least {share}", i + 1, sum / total);
            return Chosen { components: i + 1, reason };
        }
    }
    let reason = format!(
        "{} components, the most that are looked at, explain {:.4} of the robust variance, less than {share}; give the number \
         of components",
        variances.len(),
        sum / total
    );
    Chosen { components: variances.len(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_takes_as_few_components_as_reach_it() {
        assert_eq!(reaching(0.5, &[5.0, 3.0, 1.0], 10.0).components, 1);
        assert_eq!(reaching(0.81, &[5.0, 3.0, 1.0], 10.0).components, 3);
        assert_eq!(reaching(0.99, &[5.0, 3.0, 1.0], 10.0).components, 3);
    }
}
