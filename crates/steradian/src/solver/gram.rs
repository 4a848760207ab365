//! The n x n matrix of products of directions, by the cheapest exact way, and eigenvectors through it.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | K, products around an origin o | `raw` | n x n |
//! | a, with mu = o + sum a_i (x_i - o) | `shares` | n |
//! | C = U U' | `GramMatrix::matrix` | n x n |
//!
//! Around mu it is K_ij - b_i - b_j + c with b = K a, c = a' K a. For u8 and u16 data o is a whole number, so K is
//! exact; the mean and the spatial median are then found within it. Eigenvectors v of C give components
//! q = sum w_i (x_i - mu) v_i, one pass; certificate and scores come from C.

use rayon::prelude::*;

use super::certificate::Decomposed;
use super::certificate::{Certified, certify};
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

/// A squared length below this share of the terms it is the difference of has lost too many digits.
const CANCELLED: f64 = 1e-4;

/// Sines below this are rounding of scores that come from eigenvectors.
const SCORE_ROUNDING: f64 = 1e-6;

/// Products of all pairs of weighted directions.
pub(crate) struct GramMatrix {
    /// w_i w_j (x_i - mu)'(x_j - mu).
    pub matrix: Matrix,
    /// Who has a direction.
    pub active: Vec<bool>,
    /// norm(x - mu) of each sample, where the center was found within the matrix.
    pub lengths: Option<Vec<f64>>,
    /// The rounding error of an entry, at most, relative to the weights.
    pub rounding: f64,
}

/// The whole number in the middle of the type, where there is one.
pub(crate) fn integer_origin(element: ElementType) -> Option<f64> {
    match element {
        ElementType::U8 => Some(MIDDLE_BYTE),
        ElementType::U16 => Some(32768.0),
        _ => None,
    }
}

/// A mixture that passes move by less than this share of the scale was the center already.
const UNMOVED: f64 = 2e-11;

/// Whether the center is found within the matrix rather than before it.
pub(crate) fn finds_center(center: &Center, element: ElementType) -> bool {
    match center {
        Center::SpatialMedian => true,
        Center::Mean => integer_origin(element).is_some(),
        _ => false,
    }
}

/// Finds a center as a mixture of samples, together with the matrix around it.
pub(crate) fn with_center(
    center: &Center,
    weighting: Weighting,
    source: &dyn Source,
    seed: u64,
    warnings: &mut Vec<String>,
    runner: &impl Runner,
) -> Result<(Vec<f64>, GramMatrix)> {
    let shape = source.shape();
    let (n, whole) = (shape.samples, integer_origin(shape.element));
    let median = matches!(center, Center::SpatialMedian);
    // Only a median has to be searched for; around a whole-number origin the mean comes from K.
    let start = if median || whole.is_none() { Some(Start::new(source, seed)?) } else { None };
    let origin = match (whole, &start) {
        (None, Some(start)) => start.point.clone(),
        (middle, _) => vec![middle.unwrap_or(0.0); shape.features],
    };
    let mut raw = products_around(&origin, source, runner)?;
    let usable = raw.data().iter().all(|x| x.is_finite());
    let even = vec![1.0 / n as f64; n];
    let shares = if let Some(start) = start.as_ref().filter(|_| median && usable) {
        let (shares, warning) = spatial_median::by_gram(&raw, None, &start.clone().at(even), runner)?;
        // By passes, below, the last word on floating-point data is still to come.
        warnings.extend(warning.filter(|_| whole.is_some()));
        shares
    } else {
        even
    };
    let column = Matrix::from_vec(n, 1, shares);
    let mut mixture = true;
    let mut mu = if !median {
        mean::mean(source, None, runner)?
    } else if usable {
        affine_combination(&origin, &column, source, runner)?
    } else {
        origin.clone()
    };
    if let Some(start) = start.filter(|_| median && whole.is_none()) {
        // K of floating-point data is rounded: a pass confirms the point, or more finish it.
        let from = start.at(mu.clone());
        let (point, warning) = spatial_median::by_passes(source, None, &from, runner)?;
        warnings.extend(warning);
        mixture = usable && mu.iter().zip(&point).all(|(a, b)| (a - b).abs() <= UNMOVED * from.scale);
        if !mixture {
            mu = point;
        }
    }
    let directions = WeightedRows::new(&mu, weighting, None);
    let recentered = if mixture { recenter(&mut raw, &column, &directions, runner) } else { None };
    if let Some((lengths, rounding)) = recentered {
        return Ok((mu, GramMatrix { matrix: raw, active: vec![true; n], lengths: Some(lengths), rounding }));
    }
    drop(raw);
    let cosines = direct(&directions, source, runner)?;
    Ok((mu, cosines))
}

/// K: products of all pairs around an origin. One pair pass.
pub(crate) fn products_around(origin: &[f64], source: &dyn Source, runner: &impl Runner) -> Result<Matrix> {
    let plain = WeightedRows::new(origin, Weighting::Uniform, None);
    let tile_rows = if source.shape().element == ElementType::U8 { BYTE_TILE_ROWS } else { TILE_ROWS };
    runner.run_pairs(&Gram::new(plain, source.shape().samples), source, tile_rows)
}

/// o + sum a_i (x_i - o) for the column a. One pass.
pub(crate) fn affine_combination(
    origin: &[f64],
    shares: &Matrix,
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Vec<f64>> {
    let plain = WeightedRows::new(origin, Weighting::Uniform, None);
    let sketch = OperatorProduct::new(plain, Coefficients::Given(shares), Precision::Double, source.shape().element);
    let (offset, _) = runner.run(&sketch, source)?;
    Ok(origin.iter().zip(offset.data()).map(|(o, x)| o + x).collect())
}

/// Turns products around the origin into weighted products around the mixture, and returns the lengths of the samples
/// and the rounding error of a product; nothing when too many digits were lost.
pub(crate) fn recenter(
    raw: &mut Matrix,
    shares: &Matrix,
    directions: &WeightedRows<'_>,
    runner: &impl Runner,
) -> Option<(Vec<f64>, f64)> {
    let n = raw.rows();
    let b = runner.compute(|| product(raw, shares));
    let c: f64 = shares.data().iter().zip(b.data()).map(|(a, b)| a * b).sum();
    let squares: Vec<f64> = (0..n).map(|i| raw[(i, i)] - 2.0 * b.data()[i] + c).collect();
    // Where nothing cancels no sample is near the center, so all that may speak have a direction.
    let terms: Vec<f64> = (0..n).map(|i| raw[(i, i)] + c.abs()).collect();
    let speaking = || (0..n).filter(|&i| directions.includes(i));
    if speaking().any(|i| squares[i] <= CANCELLED * terms[i]) {
        return None;
    }
    let weights: Vec<f64> = match directions.weighting() {
        Weighting::Uniform => (0..n).map(|i| directions.factor(i)).collect(),
        Weighting::InverseNorm => squares.iter().enumerate().map(|(i, s)| directions.factor(i) / s.sqrt()).collect(),
    };
    runner.compute(|| {
        raw.data_mut().par_chunks_exact_mut(n).enumerate().for_each(|(i, row)| {
            let (b_i, w_i) = (b.data()[i], weights[i]);
            for ((x, b_j), w_j) in row.iter_mut().zip(b.data()).zip(&weights) {
                *x = (*x - b_i - b_j + c) * w_i * w_j;
            }
        });
    });
    let lost = speaking().fold(1.0f64, |most, i| most.max(terms[i] / squares[i]));
    Some((squares.into_iter().map(|s| s.max(0.0).sqrt()).collect(), 8.0 * f64::EPSILON * lost))
}

/// The matrix around a known center. One pair pass.
pub(crate) fn direct(directions: &WeightedRows<'_>, source: &dyn Source, runner: &impl Runner) -> Result<GramMatrix> {
    let n = source.shape().samples;
    let matrix = runner.run_pairs(&Gram::new(directions.clone(), n), source, TILE_ROWS)?;
    let active = (0..n).map(|i| matrix[(i, i)] > 0.0).collect();
    let rounding = 8.0 * f64::EPSILON * (source.shape().features as f64).sqrt();
    Ok(GramMatrix { matrix, active, lengths: None, rounding })
}

impl GramMatrix {
    /// Only the rows and columns of kept samples, in place.
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
        data.truncate(to);
        data.shrink_to_fit();
        Matrix::from_vec(members.len(), members.len(), data)
    }
}

/// The top d eigenvectors through the matrix of the kept samples. One pass, which turns eigenvectors into components.
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
    // Only d of the d + 1 vectors become components; the last was there for the certificate.
    let mut y = Matrix::zeros(support.len(), within.vectors.columns().min(d));
    // Known lengths go into the coefficients, so that the pass need not measure them again.
    let known = |i: usize| match (&cosines.lengths, directions.weighting()) {
        (Some(lengths), Weighting::InverseNorm) => directions.factor(i) / lengths[i],
        (Some(_), Weighting::Uniform) => directions.factor(i),
        (None, _) => 1.0,
    };
    for (row, (i, _)) in support.iter().enumerate().filter(|(_, support)| **support).enumerate() {
        y.row_mut(i).iter_mut().zip(within.vectors.row(row)).for_each(|(y, v)| *y = v * known(i));
    }
    let plain = WeightedRows::new(directions.center(), Weighting::Uniform, None);
    let speaking = if cosines.lengths.is_some() { plain } else { directions.clone() };
    let sketch = OperatorProduct::new(speaking, Coefficients::Given(&y), Precision::Double, source.shape().element);
    let (mut components, _) = runner.run(&sketch, source)?;
    runner.compute(|| orthonormalize_in_order(&mut components));
    let largest = within.values[0];
    let outside = within.values.get(d).map_or(0.0, |theta| theta + within.residuals[d]);
    let mut square = 0.0;
    let mut residual = 0.0f64;
    for (theta, r) in within.values.iter().zip(&within.residuals).take(d) {
        // What the matrix's own rounding may add; weights differ by no more than its entries.
        let r = r * (largest / theta).max(1.0).sqrt() + cosines.rounding * largest;
        let gap = theta - outside;
        residual = residual.max(r / largest);
        square += if gap > 0.0 { (r / gap).powi(2) } else { 1.0 };
    }
    let whole = components.rows() == d;
    // Everyone spoke: how samples lie to the components is in the eigenvectors.
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
        sine_bound: if whole { 0.0 } else { f64::sqrt(square).min(1.0) },
        vectors: components,
        ..within
    };
    Ok(Decomposed { certified, measured })
}
