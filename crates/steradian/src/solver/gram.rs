//! The Gram matrix of weighted samples, and the eigenvectors computed from it.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | K, Gram matrix relative to an origin o | `raw` | n x n |
//! | a, with mu = o + sum a_i (x_i - o) | `weights` | n |
//! | C = U U' | `GramMatrix::matrix` | n x n |
//!
//! Relative to mu the Gram matrix is K_ij - b_i - b_j + c with b = K a, c = a' K a. For u8 and u16 data o is an
//! integer, so K is exact, and the mean and the spatial median are computed from it. Eigenvectors v of C give
//! components q = sum w_i (x_i - mu) v_i by one pass; certificate and scores are computed from C.

use rayon::prelude::*;

use super::certificate::Decomposed;
use super::certificate::{Certified, certify, sine_bound};
use super::dense;
use super::operator::Dense;
use crate::center::mean;
use crate::center::spatial_median::{self, Start};
use crate::config::options::{Center, Weighting};
use crate::data::element::ElementType;
use crate::data::source::Source;
use crate::engine::runner::Runner;
use crate::error::Result;
use crate::folds::{Coefficients, Gram, OperatorProduct, SampleDistances, TILE_ROWS, WeightedRows, sine_outside};
use crate::kernel::int8::{BYTE_TILE_ROWS, MIDDLE_BYTE};
use crate::kernel::operand::Precision;
use crate::numeric::linalg::{Matrix, product};
use crate::numeric::orthonormal::orthonormalize_in_order;

/// A squared norm below this fraction of the terms whose difference it is has lost too many digits.
const CANCELLED: f64 = 1e-4;

/// Sines below this are rounding errors of scores that are computed from eigenvectors.
const SCORE_ROUNDING: f64 = 1e-6;

/// Gram matrix of the weighted, centered samples.
pub(crate) struct GramMatrix {
    /// w_i w_j (x_i - mu)'(x_j - mu), n x n.
    pub matrix: Matrix,
    /// Mask of the samples with non-zero norm.
    pub active: Vec<bool>,
    /// norm(x - mu) of each sample, if the center was computed from the matrix.
    pub lengths: Option<Vec<f64>>,
    /// Upper bound on the rounding error of an entry, relative to the weights.
    pub rounding: f64,
}

/// The integer in the middle of the range of an integer type; `None` for floating-point types.
pub(crate) fn integer_origin(element: ElementType) -> Option<f64> {
    match element {
        ElementType::U8 => Some(MIDDLE_BYTE),
        ElementType::U16 => Some(32768.0),
        _ => None,
    }
}

/// Largest change of a coordinate by the passes, as a fraction of the scale, at which the affine combination is kept as
/// the center.
const UNMOVED: f64 = 2e-11;

/// True if the center is computed together with the Gram matrix, not before it.
pub(crate) fn finds_center(center: &Center, element: ElementType) -> bool {
    match center {
        Center::SpatialMedian => true,
        Center::Mean => integer_origin(element).is_some(),
        _ => false,
    }
}

/// Finds a center as an affine combination of samples, and the Gram matrix relative to it.
pub(crate) fn with_center(
    center: &Center,
    weighting: Weighting,
    source: &dyn Source,
    seed: u64,
    warnings: &mut Vec<String>,
    runner: &impl Runner,
) -> Result<(Vec<f64>, GramMatrix)> {
    let shape = source.shape();
    let (n, integer) = (shape.samples, integer_origin(shape.element));
    let median = matches!(center, Center::SpatialMedian);
    // Only the median needs an iteration; relative to an integer origin the mean is the equal weighting.
    let start = if median || integer.is_none() { Some(Start::new(source, seed)?) } else { None };
    let origin = match (integer, &start) {
        (None, Some(start)) => start.point.clone(),
        (middle, _) => vec![middle.unwrap_or(0.0); shape.features],
    };
    let mut raw = products_around(&origin, source, runner)?;
    let usable = raw.data().iter().all(|x| x.is_finite());
    let equal = vec![1.0 / n as f64; n];
    let weights = if let Some(start) = start.as_ref().filter(|_| median && usable) {
        let (weights, warning) = spatial_median::by_gram(&raw, None, &start.clone().at(equal), runner)?;
        // Floating-point data are refined by passes below, which issue the final warning.
        warnings.extend(warning.filter(|_| integer.is_some()));
        weights
    } else {
        equal
    };
    let weights = Matrix::from_vec(n, 1, weights);
    let mut is_combination = true;
    let mut mu = if !median {
        mean::mean(source, None, runner)?
    } else if usable {
        affine_combination(&origin, &weights, source, runner)?
    } else {
        origin.clone()
    };
    if let Some(start) = start.filter(|_| median && integer.is_none()) {
        // K of floating-point data is rounded: one pass confirms the point, or more passes refine it.
        let near = start.is_near(&mu);
        let from = if near { start.at(mu.clone()) } else { start };
        let (point, warning) = spatial_median::by_passes(source, None, &from, runner)?;
        warnings.extend(warning);
        is_combination = usable && near && mu.iter().zip(&point).all(|(a, b)| (a - b).abs() <= UNMOVED * from.scale);
        if !is_combination {
            mu = point;
        }
    }
    let directions = WeightedRows::new(&mu, weighting, None);
    let recentered = if is_combination { recenter(&mut raw, &weights, &directions, runner) } else { None };
    if let Some((lengths, rounding)) = recentered {
        return Ok((mu, GramMatrix { matrix: raw, active: vec![true; n], lengths: Some(lengths), rounding }));
    }
    drop(raw);
    let cosines = direct(&directions, source, runner)?;
    Ok((mu, cosines))
}

/// K: the Gram matrix of the samples relative to an origin. Cost: one pair pass.
pub(crate) fn products_around(origin: &[f64], source: &dyn Source, runner: &impl Runner) -> Result<Matrix> {
    let plain = WeightedRows::new(origin, Weighting::Uniform, None);
    let tile_rows = if source.shape().element == ElementType::U8 { BYTE_TILE_ROWS } else { TILE_ROWS };
    runner.run_pairs(&Gram::new(plain, source.shape().samples), source, tile_rows)
}

/// o + sum a_i (x_i - o) for the affine weights a, n x 1. Cost: one pass.
pub(crate) fn affine_combination(
    origin: &[f64],
    weights: &Matrix,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Vec<f64>> {
    let plain = WeightedRows::new(origin, Weighting::Uniform, None);
    let combination =
        OperatorProduct::new(plain, Coefficients::Given(weights), Precision::Double, source.shape().element);
    let (offset, _) = runner.run(&combination, source)?;
    Ok(origin.iter().zip(offset.data()).map(|(o, x)| o + x).collect())
}

/// Converts K to the weighted Gram matrix relative to the affine combination with weights a, n x 1. Returns the norms
/// of the samples and the rounding error of an entry; `None` if too many digits were lost.
pub(crate) fn recenter(
    raw: &mut Matrix,
    weights: &Matrix,
    directions: &WeightedRows<'_>,
    runner: &impl Runner,
) -> Option<(Vec<f64>, f64)> {
    let n = raw.rows();
    let b = runner.compute(|| product(raw, weights));
    let c: f64 = weights.data().iter().zip(b.data()).map(|(a, b)| a * b).sum();
    let squares: Vec<f64> = (0..n).map(|i| raw[(i, i)] - 2.0 * b.data()[i] + c).collect();
    // Without cancellation no sample is near the center, so all samples in the support are active.
    let terms: Vec<f64> = (0..n).map(|i| raw[(i, i)] + c.abs()).collect();
    let members = || (0..n).filter(|&i| directions.includes(i));
    if members().any(|i| squares[i] <= CANCELLED * terms[i]) {
        return None;
    }
    let factors: Vec<f64> = match directions.weighting() {
        Weighting::Uniform => (0..n).map(|i| directions.factor(i)).collect(),
        Weighting::InverseNorm => squares.iter().enumerate().map(|(i, s)| directions.factor(i) / s.sqrt()).collect(),
    };
    runner.compute(|| {
        raw.data_mut().par_chunks_exact_mut(n).enumerate().for_each(|(i, row)| {
            let (b_i, w_i) = (b.data()[i], factors[i]);
            for ((x, b_j), w_j) in row.iter_mut().zip(b.data()).zip(&factors) {
                *x = (*x - b_i - b_j + c) * w_i * w_j;
            }
        });
    });
    let lost = members().fold(1.0f64, |most, i| most.max(terms[i] / squares[i]));
    Some((squares.into_iter().map(|s| s.max(0.0).sqrt()).collect(), 8.0 * f64::EPSILON * lost))
}

/// The Gram matrix relative to a known center. Cost: one pair pass.
pub(crate) fn direct(directions: &WeightedRows<'_>, source: &dyn Source, runner: &impl Runner) -> Result<GramMatrix> {
    let n = source.shape().samples;
    let matrix = runner.run_pairs(&Gram::new(directions.clone(), n), source, TILE_ROWS)?;
    let active = (0..n).map(|i| matrix[(i, i)] > 0.0).collect();
    let rounding = 8.0 * f64::EPSILON * (source.shape().features as f64).sqrt();
    Ok(GramMatrix { matrix, active, lengths: None, rounding })
}

impl GramMatrix {
    /// The rows and columns of the samples in `support`, compacted in place.
    pub(crate) fn restricted(matrix: Matrix, support: &[bool]) -> Matrix {
        let n = matrix.columns();
        let members: Vec<usize> = (0..n).filter(|&i| support[i]).collect();
        if members.len() == n {
            return matrix;
        }
        let mut data = matrix.into_vec();
        let mut to = 0;
        for &i in &members {
            for &j in &members {
                data[to] = data[i * n + j];
                to += 1;
            }
        }
        // The memory stays: a smaller copy would be in memory beside it.
        data.truncate(to);
        Matrix::from_vec(members.len(), members.len(), data)
    }
}

/// The top d components from the Gram matrix of the samples in `support`. Cost: one pass, which converts eigenvectors
/// to components.
///
/// With r = C v / m - theta v, the component q = U'v / sqrt(m theta) has a residual of at most
/// norm(r) sqrt(theta_1 / theta), so the certificate needs no pass; and its score is sqrt(m theta) v_i / w_i.
pub(crate) fn solve(
    cosines: GramMatrix,
    support: &[bool],
    directions: &WeightedRows<'_>,
    (d, tolerance, seed): (usize, f64, u64),
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Decomposed> {
    let mut matrix = GramMatrix::restricted(cosines.matrix, support);
    let (m, mass) = (matrix.rows(), directions.total_weight_of(support));
    matrix.data_mut().iter_mut().for_each(|x| *x /= mass);
    let vectors = dense::top_vectors(&matrix, d.min(m), tolerance, seed, runner)?;
    let within = certify(&Dense { matrix: &matrix, runner }, vectors, d.min(m), runner)?;
    drop(matrix);
    // Only d of the d + 1 vectors become components; the certificate needs the last one.
    let mut y = Matrix::zeros(support.len(), within.vectors.columns().min(d));
    // Known norms are part of the coefficients, so that the pass does not compute them again.
    let known = |i: usize| match (&cosines.lengths, directions.weighting()) {
        (Some(lengths), Weighting::InverseNorm) => directions.factor(i) / lengths[i],
        (Some(_), Weighting::Uniform) => directions.factor(i),
        (None, _) => 1.0,
    };
    for (row, (i, _)) in support.iter().enumerate().filter(|(_, support)| **support).enumerate() {
        y.row_mut(i).iter_mut().zip(within.vectors.row(row)).for_each(|(y, v)| *y = v * known(i));
    }
    let plain = WeightedRows::new(directions.center(), Weighting::Uniform, None);
    let rows = if cosines.lengths.is_some() { plain } else { directions.clone() };
    let combination = OperatorProduct::new(rows, Coefficients::Given(&y), Precision::Double, source.shape().element);
    let (mut components, _) = runner.run(&combination, source)?;
    runner.compute(|| orthonormalize_in_order(&mut components));
    let largest = within.values[0];
    let mut residuals = within.residuals.clone();
    for (theta, r) in within.values.iter().zip(&mut residuals).take(d) {
        // Adds the rounding error of the matrix; weights differ by no more than its entries.
        *r = *r * (largest / theta).max(1.0).sqrt() + cosines.rounding * largest;
    }
    let residual = residuals.iter().take(d).fold(0.0f64, |most, r| most.max(r / largest));
    let whole = components.rows() == d;
    // If all samples are active, their scores and distances follow from the eigenvectors.
    let measured = cosines.lengths.as_ref().filter(|_| m == support.len()).map(|lengths| {
        let mut scores = within.vectors.first_columns(d.min(within.values.len()));
        let mut sines = Vec::with_capacity(m);
        for (i, length) in lengths.iter().enumerate() {
            let own = scores.row_mut(i).iter_mut().zip(&within.values);
            own.for_each(|(s, theta)| *s *= (mass * theta.max(0.0)).sqrt() / known(i));
            sines.push(sine_outside(scores.row(i), 1.0 / length, SCORE_ROUNDING));
        }
        SampleDistances { lengths: lengths.clone(), sines, scores: scores.into_vec() }
    });
    let certified = Certified {
        residual,
        sine_bound: if whole { 0.0 } else { sine_bound(&within.values, &residuals, d) },
        residuals,
        vectors: components,
        ..within
    };
    Ok(Decomposed { certified, measured })
}
