//! The top eigenvectors of the weighted operator by the selected solver: certified, or approximate as the start of a
//! next step.

use super::certificate::{Certified, Decomposed, certify, certify_to};
use super::dense;
use super::gram::{self, GramMatrix};
use super::krylov::{self, Purpose};
use super::operator::{Dense, Operator, PassOperator};
use crate::config::options::Solver;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{Scatter, WeightedRows};
use crate::kernel::operand::Precision;
use crate::numeric::linalg::Matrix;

/// Largest number of rounds of Krylov steps in f64 if expanding the span does not reach the tolerance.
const MAX_REFINEMENTS: usize = 2;

/// Solver, data and parameters of a decomposition, without the weighted rows.
pub(crate) struct Decomposer<'a, R> {
    pub solver: Solver,
    pub d: usize,
    pub tolerance: f64,
    /// The seed of subsamples, and of the start vectors of approximate solutions, which nearly equal data share.
    pub seed: u64,
    /// The seed of the start vectors of certified solutions, which depends on the data.
    pub start_seed: u64,
    pub source: &'a dyn Source,
    pub runner: &'a R,
}

impl<R: Runner> Decomposer<'_, R> {
    /// Eigenvectors to the tolerance, with a certificate. `cosines` is the Gram matrix if it is in memory; Krylov
    /// iterations begin at `start`.
    pub(crate) fn solve_certified(
        &self,
        directions: WeightedRows<'_>,
        cosines: Option<GramMatrix>,
        start: Option<&Matrix>,
    ) -> Result<Decomposed> {
        let without_distances = |certified| Decomposed { certified, measured: None };
        Ok(match self.solver {
            Solver::Scatter => {
                let matrix = self.scatter(directions)?;
                let vectors = dense::top_vectors(&matrix, self.d, self.tolerance, self.start_seed, self.runner)?;
                without_distances(certify(
                    &Dense { matrix: &matrix, runner: self.runner },
                    vectors,
                    self.d,
                    self.runner,
                )?)
            }
            Solver::Gram => self.by_gram(directions, cosines, self.tolerance, self.start_seed)?,
            Solver::Krylov | Solver::Auto => {
                let working = self.by_passes(directions.clone(), Precision::Working);
                let vectors = self.iterate(&working, start, (self.d + 1, 0.5 * self.tolerance), Purpose::Certified)?;
                without_distances(self.certified(&self.by_passes(directions, Precision::Double), vectors)?)
            }
        })
    }

    fn by_passes<'b>(&'b self, directions: WeightedRows<'b>, precision: Precision) -> PassOperator<'b, R> {
        PassOperator { source: self.source, directions, precision, runner: self.runner }
    }

    fn iterate(
        &self,
        operator: &impl Operator,
        start: Option<&Matrix>,
        (count, tolerance): (usize, f64),
        purpose: Purpose,
    ) -> Result<Matrix> {
        let seed = if purpose == Purpose::Certified { self.start_seed } else { self.seed };
        krylov::top_vectors(operator, start, (self.d, count), (tolerance, purpose), seed, self.runner)
    }

    fn scatter(&self, directions: WeightedRows<'_>) -> Result<Matrix> {
        let (mut matrix, mass) = self.runner.run(&Scatter::new(directions), self.source)?;
        let factor = if mass > 0.0 { 1.0 / mass } else { 1.0 };
        matrix.data_mut().iter_mut().for_each(|x| *x *= factor);
        Ok(matrix)
    }

    fn by_gram(
        &self,
        directions: WeightedRows<'_>,
        cosines: Option<GramMatrix>,
        tolerance: f64,
        seed: u64,
    ) -> Result<Decomposed> {
        let cosines = match cosines {
            Some(cosines) => cosines,
            None => gram::direct(&directions, self.source, self.runner)?,
        };
        let active = cosines.active.iter().enumerate();
        let support: Vec<bool> = active.map(|(i, s)| *s && directions.includes(i)).collect();
        require_directions(support.contains(&true), support.len())?;
        gram::solve(cosines, &support, &directions, (self.d, tolerance, seed), self.source, self.runner)
    }

    /// The certificate in f64. If the vectors of the working precision miss the tolerance, continues the iteration in
    /// f64.
    fn certified(&self, operator: &impl Operator, vectors: Matrix) -> Result<Certified> {
        let mut found = certify_to(self.tolerance, operator, vectors, self.d, self.runner)?;
        for _ in 0..MAX_REFINEMENTS {
            if found.sine_bound <= self.tolerance || found.values[0] <= 0.0 {
                break;
            }
            let (start, target) = (Some(&found.vectors), (self.d + 1, 0.5 * self.tolerance));
            let vectors = self.iterate(operator, start, target, Purpose::Certified)?;
            found = certify_to(self.tolerance, operator, vectors, self.d, self.runner)?;
        }
        Ok(found)
    }
}

/// Rejects data without an active sample.
pub(crate) fn require_directions(any: bool, samples: usize) -> Result<()> {
    if any {
        return Ok(());
    }
    Err(Error::invalid_data(format!(
        "all {samples} rows are equal to the center, so there is no direction to find; use rows that differ"
    )))
}
