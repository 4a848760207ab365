//! The stages of an embedding in order: center, screen, decompose, certify, variances and cutoffs.
//!
//! | paper | stage |
//! |---|---|
//! | zero-mean data | center |
//! | Algorithm 2: S | screen |
//! | eq. (2): u = x / norm(x) | directions, inside every later pass |
//! | eq. (4): top-d eigenvectors of U U' | decompose |
//!
//! With the outlyingness screen, center, flags and decomposition take turns (`rounds.rs`).

use super::assemble::{Subspace, build, measure};
use super::backend::FitWeights;
use super::gram_backend::GramBackend;
use super::pass_backend::PassBackend;
use super::rounds::{CenteredFit, SubspaceFit};
use super::sine_loss;
use crate::center::{
    self,
    mean::{self, Finite},
};
use crate::config::Config;
use crate::config::options::{ComponentCount, Loss, Solver, Weighting};
use crate::config::screen::{Cone, Outlyingness, Screen};
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{SampleDistances, WeightedRows};
use crate::model::{Certificate, Model};
use crate::screen::cone::{self, ConeInput};
use crate::screen::report::ConeReport;
use crate::solver::certificate::Certified;
use crate::solver::decompose::{Decomposer, require_directions};
use crate::solver::gram::{self, GramMatrix};

/// Fits `d` components to all samples of a source.
pub(crate) fn embed<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Model> {
    let source = data.source;
    let decomposer = Decomposer { solver, d, tolerance: config.tolerance, seed: config.seed, source, runner };
    let fit = Fit {
        config,
        data,
        source,
        runner,
        decomposer,
        d,
        warnings: Vec::new(),
        objective: Vec::new(),
        passes_before: runner.passes(),
        measured: None,
    };
    fit.run()
}

struct Fit<'a, R> {
    config: &'a Config,
    data: &'a Finite<'a>,
    source: &'a dyn Source,
    runner: &'a R,
    decomposer: Decomposer<'a, R>,
    d: usize,
    warnings: Vec<String>,
    /// The sum of sines before each step of the last refinement, and after all of them.
    objective: Vec<f64>,
    passes_before: usize,
    /// How all samples lie to the subspace, where the solver knows it without a pass.
    measured: Option<SampleDistances>,
}

/// A subspace around a center, and whose it is.
struct Found {
    center: Vec<f64>,
    certified: Certified,
    kept: Option<Vec<bool>>,
    cone: Option<ConeReport>,
}

impl<R: Runner> Fit<'_, R> {
    fn run(mut self) -> Result<Model> {
        let found = match &self.config.screen {
            Screen::None => {
                let (center, cosines) = self.find_center()?;
                let certified = self.fit_directions(&center, None, cosines)?;
                Found { center, certified, kept: None, cone: None }
            }
            Screen::Cone(cone) => self.within_cone(cone)?,
            Screen::Outlyingness(screen) => self.fit_screened(screen)?,
        };
        self.check_rank(&found.certified, &found.center)?;
        self.model(found)
    }

    fn within_cone(&mut self, cone: &Cone) -> Result<Found> {
        let (mut center, mut cosines) = self.find_center()?;
        let (report, kept) = self.screen(cone, &center, &mut cosines)?;
        if cone.recenter {
            center = mean::mean(self.source, Some(&kept), self.runner)?;
            cosines = None;
        }
        let certified = self.fit_directions(&center, Some(&kept), cosines)?;
        Ok(Found { center, certified, kept: Some(kept), cone: Some(report) })
    }

    fn fit_screened(&mut self, screen: &Outlyingness) -> Result<Found> {
        let (wanted, mut warnings) = (self.wanted(), Vec::new());
        let screened = match GramBackend::new(self.config, &self.decomposer, &mut warnings)? {
            Some(mut within) => wanted.fit_screened(screen, &mut within)?,
            None => {
                let mut passes = PassBackend::new(self.config, &self.decomposer, &mut warnings);
                wanted.fit_screened(screen, &mut passes)?
            }
        };
        self.warnings.extend(screened.warning);
        self.warnings.extend(warnings);
        let (center, certified) = self.take(screened.fitted);
        Ok(Found { center, certified, kept: Some(screened.support), cone: None })
    }

    fn wanted(&self) -> SubspaceFit {
        let Config { weighting, loss, .. } = *self.config;
        SubspaceFit { samples: self.source.shape().samples, d: self.d, weighting, loss }
    }

    fn take(&mut self, fitted: CenteredFit) -> (Vec<f64>, Certified) {
        self.objective = fitted.objective;
        self.measured = fitted.decomposed.measured;
        (fitted.center, fitted.decomposed.certified)
    }

    /// The center, and with it the n x n matrix where the center is found within that.
    fn find_center(&mut self) -> Result<(Vec<f64>, Option<GramMatrix>)> {
        let (config, shape) = (self.config, self.source.shape());
        let within_matrix = self.decomposer.solver == Solver::Gram && gram::finds_center(&config.center, shape.element);
        if within_matrix {
            let weighting = self.matrix_weighting();
            let (center, cosines) = gram::with_center(
                &config.center,
                weighting,
                self.source,
                config.seed,
                &mut self.warnings,
                self.runner,
            )?;
            return Ok((center, Some(cosines)));
        }
        let (center, warning) = center::by_passes(&config.center, self.data, config.seed, self.runner)?;
        self.warnings.extend(warning);
        Ok((center, None))
    }

    /// The first use of the matrix is the cone's, where there is one, and that is about directions.
    fn matrix_weighting(&self) -> Weighting {
        match &self.config.screen {
            Screen::Cone(_) => Weighting::InverseNorm,
            Screen::None | Screen::Outlyingness(_) => self.config.weighting,
        }
    }

    fn screen(
        &mut self,
        cone: &Cone,
        center: &[f64],
        cosines: &mut Option<GramMatrix>,
    ) -> Result<(ConeReport, Vec<bool>)> {
        if self.decomposer.solver == Solver::Gram && cosines.is_none() {
            let directions = WeightedRows::new(center, Weighting::InverseNorm, None);
            *cosines = Some(gram::direct(&directions, self.source, self.runner)?);
        }
        let (matrix, active) = match cosines {
            Some(cosines) => (Some(&cosines.matrix), Some(&cosines.active[..])),
            None => (None, None),
        };
        let directed = ConeInput { source: self.source, center, cosines: matrix, active, seed: self.config.seed };
        let (report, kept) = cone::screen(cone, &directed, self.runner)?;
        self.warnings.extend(report.doubt());
        let (inside, n) = (kept.iter().filter(|&&k| k).count(), kept.len());
        if 2 * inside < n {
            self.warnings.push(format!(
                "the cone of {:.1} degrees kept {inside} of {n} samples ({:.0} %), fewer than half; widen it with a larger angle",
                report.angle_degrees,
                100.0 * inside as f64 / n as f64
            ));
        }
        if inside < self.d && matches!(self.config.components, ComponentCount::VarianceFraction(_)) {
            return Err(Error::RankTooSmall { n_components: self.d, rank: inside, of: "the samples in the cone" });
        }
        if inside < self.d {
            return Err(Error::invalid_argument(format!(
                "the cone of {:.1} degrees kept {inside} samples, too few for n_components = {}; widen the angle",
                report.angle_degrees, self.d
            )));
        }
        if self.config.weighting != Weighting::InverseNorm {
            *cosines = None;
        }
        Ok((report, kept))
    }

    /// The wanted subspace of the directions around a center.
    fn fit_directions(
        &mut self,
        center: &Vec<f64>,
        kept: Option<&[bool]>,
        cosines: Option<GramMatrix>,
    ) -> Result<Certified> {
        let weighting = self.config.weighting;
        if self.config.loss == Loss::SquaredCosine {
            let found = self.decomposer.solve_certified(WeightedRows::new(center, weighting, kept), cosines, None)?;
            self.measured = found.measured;
            return Ok(found.certified);
        }
        let wanted = self.wanted();
        let mut passes = PassBackend::new(self.config, &self.decomposer, &mut self.warnings);
        let around = FitWeights { point: center, weighting, support: kept, factors: None };
        let fitted = wanted.fit(&around, None, &mut passes)?;
        Ok(self.take(fitted).1)
    }

    /// Refuses more components than the data have directions.
    fn check_rank(&self, found: &Certified, center: &[f64]) -> Result<()> {
        let (shape, d) = (self.source.shape(), self.d);
        let largest = found.values.first().copied().unwrap_or(0.0);
        // Rows that equal the center up to rounding leave a variance that is rounding only.
        let noise = match self.config.weighting {
            Weighting::Uniform => (8.0 * f64::EPSILON * center.iter().fold(0.0f64, |m, x| m.max(x.abs()))).powi(2),
            Weighting::InverseNorm => 0.0,
        };
        require_directions(largest > noise, shape.samples)?;
        let limit = shape.samples.max(shape.features) as f64 * f64::EPSILON * largest;
        let rank = found.values.iter().filter(|&&l| l > limit).count();
        if rank < d {
            return Err(Error::RankTooSmall { n_components: d, rank, of: "the centered data" });
        }
        Ok(())
    }

    /// What the model knows beyond the subspace: variances along the components, who spoke, cutoffs. One pass, or none
    /// where scores are there.
    fn model(mut self, found: Found) -> Result<Model> {
        let (config, d) = (self.config, self.d);
        let Found { center, certified, kept, cone } = found;
        let vectors = certified.vectors.first_columns(d);
        let measured = match self.measured.take() {
            Some(measured) => measured,
            None => measure(config, &center, &vectors, kept.as_deref(), self.source, self.runner)?,
        };
        if config.loss == Loss::Sine {
            self.objective.push(sine_loss::objective(&measured.sines, &measured.lengths, kept.as_deref()));
        }
        let converged = certified.sine_bound <= config.tolerance;
        if !converged {
            let (inside, outside) = (certified.values[d - 1], certified.values.get(d).copied().unwrap_or(0.0));
            self.warnings.push(format!(
                "the subspace is certain only to a sine of {:.1e}, not {:.1e}: eigenvalues {d} and {} are {inside:.6e} and \
                 {outside:.6e}, a relative gap of {:.1e}; ask for another number of components",
                certified.sine_bound,
                config.tolerance,
                d + 1,
                (inside - outside) / inside
            ));
        }
        // With uniform weights every sample is active, also one at the center.
        let all = config.weighting == Weighting::Uniform && config.screen == Screen::None;
        let active = || measured.lengths.iter().map(|length| all || *length > 0.0).collect();
        let support = kept.clone().unwrap_or_else(active);
        let mut model = build(
            config,
            self.source.shape(),
            measured,
            Subspace {
                center,
                vectors,
                eigenvalues: Some(certified.values),
                kept,
                support,
                certificate: Certificate { residual: certified.residual, sine_bound: certified.sine_bound, converged },
                warnings: self.warnings,
            },
        );
        (model.solver, model.cone, model.objective) = (self.decomposer.solver, cone, self.objective);
        model.passes = self.runner.passes() - self.passes_before;
        Ok(model)
    }
}
