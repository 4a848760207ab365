//! The stages of an embedding in order: center, screen, decompose, certify, variances and cutoffs.
//!
//! | paper | stage |
//! |---|---|
//! | zero-mean data | center |
//! | Algorithm 2: S | screen |
//! | eq. (2): u = x / norm(x) | directions, inside every later pass |
//! | eq. (4): top-d eigenvectors of U U' | decompose |
//!
//! The outlyingness screen comes before the center, which is that of its support.

use super::assemble::{Embedding, Solved, measure, require_finite};
use super::route::Route;
use super::screening;
use crate::center::{
    self,
    mean::{self, Finite},
    spatial_median,
};
use crate::config::Config;
use crate::config::options::{Center, ComponentCount, Solver, Weighting};
use crate::config::screen::{Cone, Outlyingness, Screen};
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{SampleDistances, WeightedRows};
use crate::memory::{self, CollectReserved};
use crate::model::{Certificate, FitReport};
use crate::screen::cone::{self, ConeInput};
use crate::screen::report::ConeReport;
use crate::solver::certificate::Certified;
use crate::solver::decompose::{Decomposer, require_directions};
use crate::solver::gram::{self, GramMatrix};

/// Fits `d` components to all samples of a source.
pub(super) fn embed<R: Runner>(
    config: &Config,
    d: usize,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
) -> Result<Embedding> {
    let source = data.source;
    let Config { tolerance, seed, .. } = *config;
    let decomposer = Decomposer { solver, d, tolerance, seed, start_seed: data.start_seed(seed), source, runner };
    let fit = Fit {
        config,
        data,
        source,
        runner,
        decomposer,
        route: Route::new(config, source.shape(), solver),
        d,
        warnings: Vec::new(),
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
    route: Route,
    d: usize,
    warnings: Vec<String>,
    /// Distances of all samples from the subspace, where the solver has them without a pass.
    measured: Option<SampleDistances>,
}

/// A subspace about a center, and the samples that a screen selected for it.
struct EmbedResult {
    center: Vec<f64>,
    certified: Certified,
    screened: Option<Vec<bool>>,
    cone: Option<ConeReport>,
}

impl<R: Runner> Fit<'_, R> {
    fn run(mut self) -> Result<Embedding> {
        let found = match &self.config.screen {
            Screen::None => {
                let (center, cosines) = self.find_center()?;
                let certified = self.fit_directions(&center, None, cosines)?;
                EmbedResult { center, certified, screened: None, cone: None }
            }
            Screen::Cone(cone) => self.within_cone(cone)?,
            Screen::Outlyingness(screen) => self.within_screen(screen)?,
        };
        self.check_rank(&found.certified, &found.center)?;
        self.parts(found)
    }

    fn within_cone(&mut self, cone: &Cone) -> Result<EmbedResult> {
        let (mut center, mut cosines) = self.find_center()?;
        let (report, support) = self.screen(cone, &center, &mut cosines)?;
        if cone.recenter {
            center = mean::mean(self.source, Some(&support), self.runner)?;
            cosines = None;
        }
        let certified = self.fit_directions(&center, Some(&support), cosines)?;
        Ok(EmbedResult { center, certified, screened: Some(support), cone: Some(report) })
    }

    /// The samples that the outlyingness screen selects, and a fit about their center.
    fn within_screen(&mut self, screen: &Outlyingness) -> Result<EmbedResult> {
        let found = screening::by_outlyingness(screen, self.config.seed, self.source, self.runner)?;
        self.warnings.extend(found.warnings);
        let support = found.support;
        let center = match &self.config.center {
            Center::SpatialMedian => {
                let start = spatial_median::Start::new(self.source, self.config.seed)?;
                let (center, warning) = spatial_median::by_passes(self.source, Some(&support), &start, self.runner)?;
                self.warnings.extend(warning);
                center
            }
            other => center::closed_form(other, self.source, Some(&support), self.runner)?,
        };
        let certified = self.fit_directions(&center, Some(&support), None)?;
        Ok(EmbedResult { center, certified, screened: Some(support), cone: None })
    }

    /// The center, and with it the Gram matrix where the center is found within that.
    fn find_center(&mut self) -> Result<(Vec<f64>, Option<GramMatrix>)> {
        let config = self.config;
        if self.route == (Route::Gram { center_within: true }) {
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

    /// The weighting of the Gram matrix: a cone, which uses it first, compares unit directions.
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
        let (report, support) = cone::screen(cone, &directed, self.runner)?;
        self.warnings.extend(report.warning());
        let (inside, n) = (support.iter().filter(|&&active| active).count(), support.len());
        if 2 * inside < n {
            self.warnings.push(format!(
                "the cone of {:.1} degrees contains {inside} of {n} samples ({:.0} %), fewer than half; use a larger max_angle",
                report.max_angle,
                100.0 * inside as f64 / n as f64
            ));
        }
        if inside < self.d && matches!(self.config.n_components, ComponentCount::VarianceFraction(_)) {
            return Err(Error::RankTooSmall { n_components: self.d, rank: inside, of: "the samples in the cone" });
        }
        if inside < self.d {
            return Err(Error::invalid_parameter(
                "max_angle",
                format!(
                    "the cone of {:.1} degrees contains {inside} samples, too few for n_components = {}; use a larger max_angle",
                    report.max_angle, self.d
                ),
            ));
        }
        if self.config.weighting != Weighting::InverseNorm {
            *cosines = None;
        }
        Ok((report, support))
    }

    /// The subspace of the weighted samples about a center.
    fn fit_directions(
        &mut self,
        center: &[f64],
        support: Option<&[bool]>,
        cosines: Option<GramMatrix>,
    ) -> Result<Certified> {
        let directions = WeightedRows::new(center, self.config.weighting, support);
        let found = self.decomposer.solve_certified(directions, cosines, None)?;
        self.measured = found.measured;
        Ok(found.certified)
    }

    /// Rejects more components than the rank of the data.
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

    /// Compares the certificate with the trace of the operator, where the trace is known: 1 for unit directions, the mean
    /// square of the norms for uniform weights without factors.
    fn missed(&self, certified: &mut Certified, measured: &SampleDistances, support: Option<&[bool]>) -> Option<f64> {
        let member = |i: usize| support.is_none_or(|support| support[i]);
        let members = || (0..measured.lengths.len()).filter(|&i| member(i));
        let trace = match self.config.weighting {
            Weighting::InverseNorm => 1.0,
            Weighting::Uniform => {
                members().map(|i| measured.lengths[i].powi(2)).sum::<f64>() / members().count().max(1) as f64
            }
        };
        certified.compare_with_trace(trace, members().count(), self.d)
    }

    /// The parts of the result: variances along the components, support, cutoffs. One pass, or none where the solver has the
    /// distances.
    fn parts(mut self, found: EmbedResult) -> Result<Embedding> {
        let (config, d) = (self.config, self.d);
        let EmbedResult { center, mut certified, screened, cone } = found;
        let vectors = certified.vectors.first_columns(d);
        require_finite(&center, &vectors)?;
        let measured = match self.measured.take() {
            Some(measured) => measured,
            None => measure(config, &center, &vectors, screened.as_deref(), self.source, self.runner)?,
        };
        let missed = self.missed(&mut certified, &measured, screened.as_deref());
        let converged = certified.sine_bound <= config.tolerance;
        if let Some(value) = missed {
            self.warnings.push(format!(
                "a direction was missed: the trace of the operator requires an eigenvalue of at least {value:.4e} outside of \
                 the subspace, eigenvalue {} is {:.4e}; use another seed",
                d + 1,
                certified.values.get(d).copied().unwrap_or(0.0)
            ));
        } else if !converged {
            let (inside, outside) = (certified.values[d - 1], certified.values.get(d).copied().unwrap_or(0.0));
            self.warnings.push(format!(
                "not converged: sine bound {:.1e} > tolerance {:.1e}; eigenvalues {d} and {} ({inside:.4e}, {outside:.4e}) differ \
                 by {:.1} %: increase the tolerance or change the number of components",
                certified.sine_bound,
                config.tolerance,
                d + 1,
                100.0 * (inside - outside) / inside
            ));
        }
        // With uniform weights every sample is active, also one at the center.
        let all = config.weighting == Weighting::Uniform && config.screen == Screen::None;
        let active = || measured.lengths.iter().map(|norm| all || *norm > 0.0).collect_reserved();
        let report = FitReport {
            solver: self.decomposer.solver,
            support: screened.as_deref().map_or_else(active, memory::copied),
            cone,
            certificate: Certificate { residual: certified.residual, sine_bound: certified.sine_bound, converged },
            warnings: self.warnings,
            ..FitReport::default()
        };
        let solved = Solved { center, vectors, eigenvalues: Some(certified.values), screened };
        Ok(Embedding::new(config, solved, measured, report))
    }
}
