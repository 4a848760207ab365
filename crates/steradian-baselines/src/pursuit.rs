//! Principal component pursuit: decomposition of the data into a low-rank part and a sparse part.
//!
//! Minimizes norm_*(L) + lambda norm_1(S) such that M = L + S, lambda = 1 / sqrt(max(n, D)) (Candes et al. 2011), by
//! the inexact augmented Lagrangian of Lin, Chen and Ma (2010):
//!
//! | their symbol | here | shape |
//! |---|---|---|
//! | D, the data; centered here | `m` | n x D |
//! | A, low-rank | `t` after a step | n x D |
//! | E, sparse | `s` | n x D |
//! | Y, multipliers | `y` | n x D |
//! | mu, rho | `mu`, [`GROWTH`] | |
//!
//! T = M - S + Y / mu = U Sigma V'; L = U (Sigma - 1 / mu)_+ V'; S = soft(M - L + Y / mu, lambda / mu);
//! Y += mu (M - L - S); mu *= rho; until norm(M - L - S) <= tolerance * norm(M).
//!
//! The singular vectors of the smaller side are computed from T T': as many as are predicted to exceed 1 / mu, and more
//! if that was too few. Then L = U f(Sigma) U'T. Squaring loses digits only of singular values below 1e-8 of the
//! largest, far below the threshold. Arrays are stored in strips of [`STRIP`] columns of the larger side. A task owns a
//! strip or a tile of T T', so results are bitwise identical for any number of threads. Cost per step: (m + 4 r) n D
//! flops for the smaller side m and rank r.

use rayon::prelude::*;
use steradian::center::{self, Finite};
use steradian::data::{Block, BlockData, Element, Rows};
use steradian::engine::{Iteration, Runner};
use steradian::fit::FittedSubspace;
use steradian::fit::assemble;
use steradian::linalg::{Matrix, MatrixView, add_product, product};
use steradian::memory;
use steradian::model::Certificate;
use steradian::orthonormal::orthonormalize_in_order;
use steradian::solver::top_eigenpairs;
use steradian::{Config, Local, Model, Plan, Result};
use steradian::{Error, Source};

use crate::plan::plan;
use crate::{count, in_units};

/// Largest number of steps.
const MAX_STEPS: usize = 1000;
/// Factor by which mu grows per step.
const GROWTH: f64 = 1.5;
/// First value of mu times the largest singular value.
const FIRST_MU: f64 = 1.25;
/// Largest value of mu relative to its first value.
const MAX_MU_GROWTH: f64 = 1e7;
/// Number of columns of a strip.
pub(crate) const STRIP: usize = 256;
/// Number of singular vectors that the first step computes.
const FIRST_RANK: usize = 10;
/// Tolerance of singular vectors, as a sine, if not all are computed.
const VECTOR_TOLERANCE: f64 = 1e-9;
/// Number of arrays of the size of the data in memory.
pub(crate) const ARRAYS: u64 = 4;
/// Number of square matrices of the smaller side in memory.
pub(crate) const SQUARES: u64 = 8;

/// Result of principal component pursuit.
#[derive(Debug, Clone)]
pub struct Pursuit {
    /// The subspace of the low-rank part.
    pub model: Model,
    /// The low-rank part plus the center: n x D.
    pub low_rank: Matrix,
    /// The rank of the low-rank part without the center.
    pub rank: usize,
    /// The sparse part: n x D.
    pub sparse: Matrix,
}

/// Fits the model and returns both parts of the data.
pub fn principal_component_pursuit(config: &Config, source: &dyn Source, runner: &Local) -> Result<Pursuit> {
    run_pursuit(&plan(config, source, runner.threads())?, source, runner)
}

/// Runs the plan of a principal component pursuit.
///
/// # Errors
/// Those of the fit.
pub fn run_pursuit(plan: &Plan, source: &dyn Source, runner: &Local) -> Result<Pursuit> {
    let (config, runner) = (plan.request.config(), &runner.narrowed(plan.threads)?);
    let pursue = || {
        in_units(config, source, runner, |config, data| {
            let Searched { state, found, rank, passes_before } = search(config, data, runner)?;
            let (low_rank, sparse) = state.into_parts(&found.center);
            let model = assemble(config, found, passes_before, data.source, runner)?;
            Ok(Pursuit { model, low_rank, rank, sparse })
        })
    };
    let (mut pursuit, units) = memory::guard(|| runner.compute(pursue))?;
    let parts = pursuit.low_rank.data_mut().iter_mut().chain(pursuit.sparse.data_mut());
    parts.for_each(|x| *x = units.restored(*x));
    Ok(pursuit)
}

impl AsMut<Model> for Pursuit {
    fn as_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

/// Fits the model without returning the parts.
pub(crate) fn fit(config: &Config, data: &Finite<'_>, runner: &Local) -> Result<Model> {
    let Searched { state, found, passes_before, .. } = search(config, data, runner)?;
    drop(state);
    assemble(config, found, passes_before, data.source, runner)
}

/// State and subspace after the iteration.
struct Searched {
    state: AlmState,
    found: FittedSubspace,
    rank: usize,
    passes_before: usize,
}

fn search(config: &Config, data: &Finite<'_>, runner: &Local) -> Result<Searched> {
    let (source, shape, passes_before) = (data.source, data.source.shape(), runner.passes());
    let (center, warning) = center::by_passes(config.center(), data, config.seed(), runner)?;
    let mut state = AlmState::read(source, &center, runner)?;
    let outcome = state.iterate(config, runner)?;
    let mut warnings: Vec<String> = warning.into_iter().collect();
    let (n_components, rank) = (count(config)?, outcome.left.columns());
    if rank == 0 {
        return Err(Error::invalid_data(format!(
            "the low-rank part of {} x {} samples is zero, so there is no direction to find; use another method",
            shape.samples, shape.features
        )));
    }
    if rank < n_components {
        warnings.push(format!(
            "the model has {rank} instead of {n_components} components: the low-rank part has rank {rank}"
        ));
    }
    if !outcome.converged {
        warnings.push(format!(
            "not converged: relative residual {:.1e} > tolerance {:.1e} after {} iterations; increase the tolerance",
            outcome.residual,
            config.tolerance(),
            outcome.steps
        ));
    }
    let vectors = runner.compute(|| state.components(&outcome.left, n_components.min(rank)));
    let found = FittedSubspace {
        center,
        vectors,
        eigenvalues: None,
        iterations: vec![outcome.steps],
        certificate: Certificate { residual: outcome.residual, sine_bound: f64::NAN, converged: outcome.converged },
        warnings,
    };
    Ok(Searched { state, found, rank, passes_before })
}

/// A strip of the arrays M, S, Y and T of the iteration: `width` columns of the larger side, `side` rows, row-major.
struct AlmStrip {
    width: usize,
    m: Vec<f64>,
    s: Vec<f64>,
    y: Vec<f64>,
    t: Vec<f64>,
}

/// State of the inexact augmented Lagrangian iteration (ALM): all strips.
struct AlmState {
    /// True if rows of a strip are samples, false if they are features.
    by_samples: bool,
    samples: usize,
    features: usize,
    strips: Vec<AlmStrip>,
}

/// Result of the iteration.
struct Outcome {
    /// Left singular vectors of the low-rank part, largest first: side x rank.
    left: Matrix,
    residual: f64,
    steps: usize,
    converged: bool,
}

impl AlmState {
    /// Reads all samples and subtracts the center. Cost: one pass.
    fn read(source: &dyn Source, center: &[f64], runner: &Local) -> Result<Self> {
        let (samples, features) = (source.shape().samples, source.shape().features);
        let by_samples = samples <= features;
        let (side, length) = if by_samples { (samples, features) } else { (features, samples) };
        let strip = |start: usize| {
            let width = STRIP.min(length - start);
            let zeros = || memory::filled(side * width, 0.0);
            AlmStrip { width, m: zeros(), s: zeros(), y: zeros(), t: zeros() }
        };
        let mut strips: Vec<AlmStrip> = (0..length).step_by(STRIP).map(strip).collect();
        let rows = steradian::engine::Grid::new(samples, features, 0).block_rows();
        runner.for_each_block("samples", source, rows, |block| {
            strips.par_iter_mut().enumerate().for_each(|(index, strip)| {
                let start = index * STRIP;
                if by_samples {
                    place(block, 0..block.rows(), start..start + strip.width, center, |i, j, x| {
                        strip.m[(block.first() + i) * strip.width + j - start] = x;
                    });
                } else {
                    let from = start.clamp(block.first(), block.first() + block.rows()) - block.first();
                    let to = (start + strip.width).clamp(block.first(), block.first() + block.rows()) - block.first();
                    place(block, from..to, 0..features, center, |i, j, x| {
                        strip.m[j * strip.width + block.first() + i - start] = x;
                    });
                }
            });
            Ok(())
        })?;
        Ok(Self { by_samples, samples, features, strips })
    }

    /// Number of rows of a strip: the smaller side of the data.
    fn side(&self) -> usize {
        self.samples.min(self.features)
    }

    /// Iterates until the relative residual is below the tolerance, at most [`MAX_STEPS`] steps.
    fn iterate(&mut self, config: &Config, runner: &Local) -> Result<Outcome> {
        let lambda = 1.0 / (self.samples.max(self.features) as f64).sqrt();
        self.strips.iter_mut().for_each(|strip| strip.t.copy_from_slice(&strip.m));
        let gram = runner.compute(|| self.gram());
        let frobenius = (0..self.side()).map(|i| gram[(i, i)]).sum::<f64>().sqrt();
        let spectral = top_eigenpairs(&gram, 1, VECTOR_TOLERANCE, config.seed(), runner)?.0[0].max(0.0).sqrt();
        if spectral == 0.0 {
            return Err(Error::invalid_data(format!(
                "all {} rows are equal to the center, so there is no direction to find; use rows that differ",
                self.samples
            )));
        }
        let largest = self.strips.iter().flat_map(|strip| &strip.m).fold(0.0f64, |m, x| m.max(x.abs()));
        let dual = spectral.max(largest / lambda);
        self.strips.par_iter_mut().for_each(|strip| {
            strip.y.iter_mut().zip(&strip.m).for_each(|(y, m)| *y = m / dual);
        });
        let mut mu = FIRST_MU / spectral;
        let most = mu * MAX_MU_GROWTH;
        let mut predicted = FIRST_RANK.min(self.side());
        for step in 1.. {
            runner.compute(|| self.strips.par_iter_mut().for_each(|strip| strip.target(mu)));
            let gram = runner.compute(|| self.gram());
            let (values, vectors) = self.above(&gram, 1.0 / mu, &mut predicted, config, runner)?;
            let rank = values.len();
            let shrunk: Vec<f64> = values.iter().map(|sigma| (sigma - 1.0 / mu) / sigma).collect();
            let shrink = runner.compute(|| Shrink::new(&vectors, &shrunk));
            let squares: Vec<f64> =
                runner.compute(|| self.strips.par_iter_mut().map(|strip| strip.step(&shrink, lambda, mu)).collect());
            mu = (mu * GROWTH).min(most);
            let residual = squares.iter().sum::<f64>().sqrt() / frobenius;
            runner.iterated("pursuit", Iteration { step, residual, rank: Some(rank) })?;
            if residual < config.tolerance() || step == MAX_STEPS {
                let converged = residual < config.tolerance();
                return Ok(Outcome { left: vectors, residual, steps: step, converged });
            }
        }
        unreachable!("the loop ends at MAX_STEPS")
    }

    /// Singular values above a threshold and their left vectors, from T T'.
    fn above(
        &self,
        gram: &Matrix,
        threshold: f64,
        predicted: &mut usize,
        config: &Config,
        runner: &Local,
    ) -> Result<(Vec<f64>, Matrix)> {
        let side = self.side();
        loop {
            let (values, vectors) = top_eigenpairs(gram, *predicted, VECTOR_TOLERANCE, config.seed(), runner)?;
            let sigma: Vec<f64> = values.iter().map(|l| l.max(0.0).sqrt()).collect();
            let rank = sigma.iter().take_while(|s| **s > threshold).count();
            if rank < sigma.len() || rank == side {
                // One vector more than needed shows that no other exceeds the threshold, as in Lin, Chen and Ma (2010).
                *predicted = (rank + 1).min(side);
                return Ok((sigma[..rank].to_vec(), vectors.first_columns(rank)));
            }
            *predicted = (rank + (side / 20).max(rank / 2).max(1)).min(side);
        }
    }

    /// T T'. A task computes a tile and adds the strips in order.
    fn gram(&self) -> Matrix {
        let side = self.side();
        let tile = side.div_ceil(4).next_multiple_of(8).clamp(16, 192);
        let ranges: Vec<_> = (0..side).step_by(tile).map(|start| start..(start + tile).min(side)).collect();
        let pairs: Vec<_> = (0..ranges.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let tiles: Vec<Vec<f64>> = pairs
            .par_iter()
            .map(|&(i, j)| {
                let (a, b) = (&ranges[i], &ranges[j]);
                let mut out = vec![0.0; a.len() * b.len()];
                for AlmStrip { width, t, .. } in &self.strips {
                    let left = MatrixView::new(&t[a.start * width..], a.len(), *width);
                    let right = MatrixView::new(&t[b.start * width..], b.len(), *width);
                    add_product(&mut out, left, right.transposed(), 1.0);
                }
                out
            })
            .collect();
        let mut gram = Matrix::zeros(side, side);
        for (&(i, j), values) in pairs.iter().zip(&tiles) {
            let (a, b) = (&ranges[i], &ranges[j]);
            for (row, values) in a.clone().zip(values.chunks_exact(b.len())) {
                gram.row_mut(row)[b.clone()].copy_from_slice(values);
                b.clone().zip(values).for_each(|(column, x)| gram[(column, row)] = *x);
            }
        }
        gram
    }

    /// The top `d` directions of the low-rank part in the space of the features, D x d.
    fn components(&self, left: &Matrix, d: usize) -> Matrix {
        let top = left.first_columns(d);
        if !self.by_samples {
            return top;
        }
        // L'U is V times the shrunk singular values, whose columns are orthogonal up to rounding.
        let mut vectors = Matrix::zeros(self.features, d);
        for (strip, out) in self.strips.iter().zip(vectors.data_mut().chunks_mut(STRIP * d)) {
            add_product(out, MatrixView::new(&strip.t, self.samples, strip.width).transposed(), top.view(), 1.0);
        }
        orthonormalize_in_order(&mut vectors);
        vectors
    }

    /// The low-rank part with the center added, and the sparse part, n x D.
    fn into_parts(self, center: &[f64]) -> (Matrix, Matrix) {
        let (samples, features, by_samples) = (self.samples, self.features, self.by_samples);
        // M and Y are dropped before the results are allocated.
        let strips: Vec<_> = self.strips.into_iter().map(|AlmStrip { width, s, t, .. }| (width, [t, s])).collect();
        let [mut low_rank, sparse] = [0, 1].map(|part| {
            let mut out = Matrix::zeros(samples, features);
            for (index, (width, parts)) in strips.iter().enumerate() {
                let start = index * STRIP;
                for (row, values) in parts[part].chunks_exact(*width).enumerate() {
                    if by_samples {
                        out.row_mut(row)[start..start + width].copy_from_slice(values);
                    } else {
                        values.iter().enumerate().for_each(|(i, x)| out[(start + i, row)] = *x);
                    }
                }
            }
            out
        });
        for row in low_rank.data_mut().chunks_exact_mut(features) {
            row.iter_mut().zip(center).for_each(|(x, c)| *x += c);
        }
        (low_rank, sparse)
    }
}

/// The factor U f U' of L = U f U'T: as two factors, or as one square matrix if that takes fewer operations.
enum Shrink {
    Factors { left: Matrix, right: Matrix },
    Square(Matrix),
}

impl Shrink {
    fn new(vectors: &Matrix, shrunk: &[f64]) -> Self {
        let mut left = vectors.clone();
        for i in 0..left.rows() {
            left.row_mut(i).iter_mut().zip(shrunk).for_each(|(u, f)| *u *= f);
        }
        let right = vectors.transposed();
        if 2 * shrunk.len() > vectors.rows() {
            Self::Square(product(&left, &right))
        } else {
            Self::Factors { left, right }
        }
    }

    /// Replaces T by L in a strip of this width.
    fn apply(&self, t: &mut Vec<f64>, width: usize) {
        let times = |a: &Matrix, b: &[f64]| {
            let mut out = memory::filled(a.rows() * width, 0.0);
            add_product(&mut out, a.view(), MatrixView::new(b, a.columns(), width), 1.0);
            out
        };
        *t = match self {
            Self::Factors { left, right } => times(left, &times(right, t)),
            Self::Square(square) => times(square, t),
        };
    }
}

impl AlmStrip {
    /// T = M - S + Y / mu.
    fn target(&mut self, mu: f64) {
        let inverse = 1.0 / mu;
        let sources = self.m.iter().zip(&self.s).zip(&self.y);
        self.t.iter_mut().zip(sources).for_each(|(t, ((m, s), y))| *t = m - s + y * inverse);
    }

    /// Replaces T by L = U f U'T and updates S and Y; returns the sum of squares of M - L - S.
    fn step(&mut self, shrink: &Shrink, lambda: f64, mu: f64) -> f64 {
        shrink.apply(&mut self.t, self.width);
        let (threshold, inverse) = (lambda / mu, 1.0 / mu);
        let mut square = 0.0;
        for (((m, l), s), y) in self.m.iter().zip(&self.t).zip(&mut self.s).zip(&mut self.y) {
            let rest = m - l;
            let target = rest + *y * inverse;
            *s = target - target.clamp(-threshold, threshold);
            let z = rest - *s;
            *y += mu * z;
            square += z * z;
        }
        square
    }
}

/// Passes some rows and columns of a block, minus the center, to `put`.
fn place(
    block: &Block<'_>,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    center: &[f64],
    put: impl FnMut(usize, usize, f64),
) {
    fn typed<T: Element>(
        data: &Rows<'_, T>,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        center: &[f64],
        mut put: impl FnMut(usize, usize, f64),
    ) {
        for i in rows {
            for j in columns.clone() {
                put(i, j, data.get(i, j).widen() - center[j]);
            }
        }
    }
    match block.data() {
        BlockData::U8(data) => typed(&data, rows, columns, center, put),
        BlockData::U16(data) => typed(&data, rows, columns, center, put),
        BlockData::F32(data) => typed(&data, rows, columns, center, put),
        BlockData::F64(data) => typed(&data, rows, columns, center, put),
    }
}
