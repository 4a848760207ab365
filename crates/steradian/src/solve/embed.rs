//! A fit, stage by stage: center, screen, decompose, certify, scales. The only place that knows their order.
//!
//! | paper | stage |
//! |---|---|
//! | zero-mean data | center |
//! | Algorithm 2: S | screen |
//! | eq. (2): u = x / norm(x) | directions, inside every later pass |
//! | eq. (4): top-d eigenvectors of U U' | decompose |

use super::certify::{Certified, certify};
use super::cosines::{self, Cosines};
use super::operator::{ByPasses, Dense, Operator};
use super::scales::robust_scale;
use super::{eigen, krylov};
use crate::center::{mean, median, spatial_median};
use crate::config::{Center, Cone, Config, Screen, Solver, Weighting};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{Certificate, ConeReport, Model};
use crate::plan::Plan;
use crate::run::Runner;
use crate::screen::cone::{self, Directed};
use crate::signs::fix_sign;
use crate::source::Source;
use crate::sums::{Directions, Precision, Projection, Scatter, Units};

/// Scores that robust variances come from, at most; beyond, every k-th sample is taken.
pub(crate) const SCALE_SCORES: usize = 1 << 20;

/// Rounds of steps in double precision that an answer may need after those in single precision.
const MAX_REFINEMENTS: usize = 2;

/// Fits a model to all samples of a source.
pub fn fit<R: Runner>(config: &Config, source: &dyn Source, runner: &R) -> Result<Model> {
    let solver = Plan::new(config, source.shape(), runner.threads())?.solver;
    Fit { config, source, runner, solver, warnings: Vec::new(), passes_before: runner.passes(), scores: None }.run()
}

struct Fit<'a, R> {
    config: &'a Config,
    source: &'a dyn Source,
    runner: &'a R,
    solver: Solver,
    warnings: Vec<String>,
    passes_before: usize,
    /// Scores of the kept samples and who has a direction, where the solver knows them without a pass.
    scores: Option<(Matrix, Vec<bool>)>,
}

impl<R: Runner> Fit<'_, R> {
    fn run(mut self) -> Result<Model> {
        let (mut center, mut cosines) = self.find_center()?;
        let mut report = None;
        let mut kept = None;
        if let Screen::Cone(cone) = &self.config.screen {
            let (found, inside) = self.screen(cone, &center, &mut cosines)?;
            if cone.recenter {
                center = mean::mean(self.source, Some(&inside), self.runner)?;
                cosines = None;
            }
            (report, kept) = (Some(found), Some(inside));
        }
        let directions = Directions::new(&center, self.config.weighting, kept.as_deref());
        let found = self.decompose(directions, cosines, kept.as_deref())?;
        self.check_rank(&found, &center)?;
        let (variances, speaks) = self.scales(directions, &found)?;
        let kept = kept.unwrap_or(speaks);
        Ok(self.model(center, found, variances, kept, report))
    }

    /// The center, and with it the n x n matrix where the center is found within that.
    fn find_center(&mut self) -> Result<(Vec<f64>, Option<Cosines>)> {
        let (config, shape) = (self.config, self.source.shape());
        let within_matrix = self.solver == Solver::Gram && cosines::finds_center(&config.center, shape.element);
        // The mean pass comes first for floating-point data whatever the center: it proves that all numbers are finite.
        let mean = if shape.element.is_float() || (config.center == Center::Mean && !within_matrix) {
            Some(mean::mean(self.source, None, self.runner)?)
        } else {
            None
        };
        if within_matrix {
            let weighting = self.matrix_weighting();
            let (center, cosines) = cosines::with_center(
                &config.center,
                weighting,
                self.source,
                config.seed,
                &mut self.warnings,
                self.runner,
            )?;
            return Ok((center, Some(cosines)));
        }
        let center = match &config.center {
            Center::Mean => mean.expect("made above"),
            Center::Median => median::median(self.source, self.runner)?,
            Center::SpatialMedian => {
                let start = spatial_median::Start::new(self.source, config.seed)?;
                let (center, warning) = spatial_median::by_passes(self.source, &start, self.runner)?;
                self.warnings.extend(warning);
                center
            }
            Center::None => vec![0.0; shape.features],
            Center::Given(center) => center.clone(),
        };
        Ok((center, None))
    }

    /// The first use of the matrix is the cone's, where there is one, and that is about directions.
    fn matrix_weighting(&self) -> Weighting {
        match self.config.screen {
            Screen::Cone(_) => Weighting::InverseNorm,
            Screen::Everyone => self.config.weighting,
        }
    }

    fn screen(
        &mut self,
        cone: &Cone,
        center: &[f64],
        cosines: &mut Option<Cosines>,
    ) -> Result<(ConeReport, Vec<bool>)> {
        if self.solver == Solver::Gram && cosines.is_none() {
            let directions = Directions::new(center, Weighting::InverseNorm, None);
            *cosines = Some(cosines::direct(&directions, self.source, self.runner)?);
        }
        let (matrix, speaks) = match cosines {
            Some(cosines) => (Some(&cosines.matrix), Some(&cosines.speaks[..])),
            None => (None, None),
        };
        let directed = Directed { source: self.source, center, cosines: matrix, speaks };
        let (report, kept) = cone::screen(cone, &directed, self.runner)?;
        let (inside, n) = (kept.iter().filter(|&&k| k).count(), kept.len());
        if 2 * inside < n {
            self.warnings.push(format!(
                "the cone of {:.1} degrees kept {inside} of {n} samples ({:.0} %), fewer than half; widen it with a larger angle",
                report.angle_degrees,
                100.0 * inside as f64 / n as f64
            ));
        }
        if inside < self.config.components {
            return Err(Error::asked(format!(
                "the cone of {:.1} degrees kept {inside} samples, too few for n_components = {}; widen the angle",
                report.angle_degrees, self.config.components
            )));
        }
        if self.config.weighting != Weighting::InverseNorm {
            *cosines = None;
        }
        Ok((report, kept))
    }

    fn decompose(
        &mut self,
        directions: Directions<'_>,
        cosines: Option<Cosines>,
        kept: Option<&[bool]>,
    ) -> Result<Certified> {
        let (config, runner, d) = (self.config, self.runner, self.config.components);
        let source = self.source;
        let by_passes = |precision| ByPasses { source, directions, precision, runner };
        let found = match self.solver {
            Solver::Scatter => {
                let (mut matrix, speakers) = runner.run(&Scatter::new(directions), self.source)?;
                let share = 1.0 / speakers.max(1) as f64;
                matrix.data_mut().iter_mut().for_each(|x| *x *= share);
                let vectors = eigen::top_vectors(&matrix, d, config.tolerance, config.seed, runner)?;
                certify(&Dense { matrix: &matrix, runner }, vectors, d, runner)?
            }
            Solver::Gram => {
                let cosines = match cosines {
                    Some(cosines) => cosines,
                    None => cosines::direct(&directions, self.source, runner)?,
                };
                let kept: Vec<bool> = match kept {
                    Some(kept) => cosines.speaks.iter().zip(kept).map(|(a, b)| *a && *b).collect(),
                    None => cosines.speaks.clone(),
                };
                self.require_directions(kept.contains(&true))?;
                let speaks = cosines.speaks.clone();
                let found = cosines::solve(cosines, &kept, &directions, config, self.source, runner)?;
                self.scores = found.scores.map(|scores| (scores, speaks));
                found.certified
            }
            Solver::Krylov | Solver::Auto => {
                let working = by_passes(Precision::Working);
                let vectors = krylov::top_vectors(&working, None, d, 0.5 * config.tolerance, config.seed, runner)?;
                self.certified(&by_passes(Precision::Double), vectors)?
            }
        };
        Ok(found)
    }

    /// The certificate in double precision; where single precision did not suffice, a few steps more from there.
    fn certified(&self, operator: &impl Operator, vectors: Matrix) -> Result<Certified> {
        let (config, d) = (self.config, self.config.components);
        let mut found = certify(operator, vectors, d, self.runner)?;
        for _ in 0..MAX_REFINEMENTS {
            if found.sine_bound <= config.tolerance || found.values[0] <= 0.0 {
                break;
            }
            let (start, tolerance) = (Some(&found.vectors), 0.5 * config.tolerance);
            let vectors = krylov::top_vectors(operator, start, d, tolerance, config.seed, self.runner)?;
            found = certify(operator, vectors, d, self.runner)?;
        }
        Ok(found)
    }

    fn require_directions(&self, any: bool) -> Result<()> {
        if any {
            return Ok(());
        }
        Err(Error::data(format!(
            "all {} rows are equal to the center; there is no direction to find",
            self.source.shape().samples
        )))
    }

    /// Refuses more components than the data have directions.
    fn check_rank(&self, found: &Certified, center: &[f64]) -> Result<()> {
        let (shape, d) = (self.source.shape(), self.config.components);
        let largest = found.values.first().copied().unwrap_or(0.0);
        // Rows that equal the center up to rounding leave a variance that is rounding only.
        let noise = match self.config.weighting {
            Weighting::Uniform => (8.0 * f64::EPSILON * center.iter().fold(0.0f64, |m, x| m.max(x.abs()))).powi(2),
            Weighting::InverseNorm => 0.0,
        };
        self.require_directions(largest > noise)?;
        let limit = shape.samples.max(shape.features) as f64 * f64::EPSILON * largest;
        let rank = found.values.iter().filter(|&&l| l > limit).count();
        if rank < d {
            return Err(Error::asked(format!(
                "n_components = {d} exceeds the rank {rank} of the centered data; ask for at most {rank}"
            )));
        }
        Ok(())
    }

    /// Variances along the components, and who spoke. One pass; none for classical PCA or where scores are there.
    fn scales(&self, directions: Directions<'_>, found: &Certified) -> Result<(Vec<f64>, Vec<bool>)> {
        let (d, n) = (self.config.components, self.source.shape().samples);
        if self.config.weighting == Weighting::Uniform && self.config.screen == Screen::Everyone {
            let unbiased = n as f64 / (n as f64 - 1.0);
            return Ok((found.values[..d].iter().map(|l| l * unbiased).collect(), vec![true; n]));
        }
        if let Some((scores, speaks)) = &self.scores {
            let column = |j: usize| (0..scores.rows()).map(|i| scores[(i, j)]).collect::<Vec<_>>();
            return Ok(((0..d).map(|j| robust_scale(&column(j)).powi(2)).collect(), speaks.clone()));
        }
        let vectors = found.vectors.first_columns(d);
        let every = (n * d).div_ceil(SCALE_SCORES);
        let projection =
            Projection::new(directions, &vectors, Units::Data, Precision::Working, self.source.shape().element)
                .thinned(every);
        let scores = self.runner.run(&projection, self.source)?;
        let column =
            |j: usize| scores.values[j.min(scores.values.len())..].iter().step_by(d).copied().collect::<Vec<_>>();
        Ok(((0..d).map(|j| robust_scale(&column(j)).powi(2)).collect(), scores.speaks))
    }

    fn model(
        mut self,
        center: Vec<f64>,
        found: Certified,
        variances: Vec<f64>,
        kept: Vec<bool>,
        cone: Option<ConeReport>,
    ) -> Model {
        let (config, d) = (self.config, self.config.components);
        let mut components: Matrix = found.vectors.first_columns(d).transposed();
        (0..d).for_each(|i| fix_sign(components.row_mut(i)));
        let converged = found.sine_bound <= config.tolerance;
        if !converged {
            let (inside, outside) = (found.values[d - 1], found.values.get(d).copied().unwrap_or(0.0));
            self.warnings.push(format!(
                "the subspace is certain only to a sine of {:.1e}, not {:.1e}: eigenvalues {d} and {} are {inside:.6e} and \
                 {outside:.6e}, a relative gap of {:.1e}; ask for another number of components",
                found.sine_bound,
                config.tolerance,
                d + 1,
                (inside - outside) / inside
            ));
        }
        Model {
            config: config.clone(),
            solver: self.solver,
            shape: self.source.shape().clone(),
            center,
            components,
            shares: (config.weighting == Weighting::InverseNorm).then(|| found.values[..d].to_vec()),
            variances,
            kept,
            cone,
            cutoffs: [f64::NAN; 2],
            certificate: Certificate { residual: found.residual, sine_bound: found.sine_bound, converged },
            passes: self.runner.passes() - self.passes_before,
            warnings: self.warnings,
        }
    }
}
