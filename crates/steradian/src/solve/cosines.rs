//! The n x n matrix of products of directions, by the cheapest exact way, and eigenvectors through it.
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | K, products around an origin o | `raw` | n x n |
//! | a, with mu = o + sum a_i (x_i - o) | `shares` | n |
//! | C = U U' | `Cosines::matrix` | n x n |
//!
//! Around mu it is K_ij - b_i - b_j + c with b = K a, c = a' K a. For u8 and u16 data o is a whole number, so K is
//! exact; the mean and the spatial median are then found within it. Eigenvectors v of C give components
//! q = sum w_i (x_i - mu) v_i, one pass.

use crate::center::spatial_median::{self, Start};
use crate::config::{Center, Weighting};
use crate::element::ElementType;
use crate::error::Result;
use crate::kernel::integer::MIDDLE_BYTE;
use crate::linalg::{Matrix, product};
use crate::run::Runner;
use crate::source::Source;
use crate::sums::{Coefficients, Directions, Gram, Precision, Sketch, TILE_ROWS};

/// A squared length below this share of the terms it is the difference of has lost too many digits.
const CANCELLED: f64 = 1e-4;

/// Products of all pairs of weighted directions.
pub(super) struct Cosines {
    /// w_i w_j (x_i - mu)'(x_j - mu).
    pub matrix: Matrix,
    /// Who has a direction.
    pub speaks: Vec<bool>,
}

/// The whole number in the middle of the type, where there is one.
fn whole_origin(element: ElementType) -> Option<f64> {
    match element {
        ElementType::U8 => Some(MIDDLE_BYTE),
        ElementType::U16 => Some(32768.0),
        _ => None,
    }
}

/// A mixture that passes move by less than this share of the scale was the center already.
const UNMOVED: f64 = 2e-11;

/// Whether the center is found within the matrix rather than before it.
pub(super) fn finds_center(center: &Center, element: ElementType) -> bool {
    match center {
        Center::SpatialMedian => true,
        Center::Mean => whole_origin(element).is_some(),
        _ => false,
    }
}

/// Finds a center as a mixture of samples, together with the matrix around it.
pub(super) fn with_center(
    center: &Center,
    weighting: Weighting,
    source: &dyn Source,
    seed: u64,
    warnings: &mut Vec<String>,
    runner: &impl Runner,
) -> Result<(Vec<f64>, Cosines)> {
    let shape = source.shape();
    let (n, whole) = (shape.samples, whole_origin(shape.element));
    let median = matches!(center, Center::SpatialMedian);
    // Only a median has to be searched for; around a whole-number origin the mean comes from K.
    let start = if median || whole.is_none() { Some(Start::new(source, seed)?) } else { None };
    let origin = match (whole, &start) {
        (None, Some(start)) => start.point.clone(),
        (middle, _) => vec![middle.unwrap_or(0.0); shape.features],
    };
    let plain = Directions::new(&origin, Weighting::Uniform, None);
    let mut raw = runner.run_pairs(&Gram::new(plain, n), source, TILE_ROWS)?;
    let usable = raw.data().iter().all(|x| x.is_finite());
    let shares = if let Some(start) = start.as_ref().filter(|_| median && usable) {
        let (shares, warning) = spatial_median::by_gram(&raw, start, runner)?;
        // By passes, below, the last word on floating-point data is still to come.
        warnings.extend(warning.filter(|_| whole.is_some()));
        shares
    } else {
        vec![1.0 / n as f64; n]
    };
    let column = Matrix::from_vec(n, 1, shares);
    let mut mixture = true;
    let mut mu = if usable {
        let (offset, _) =
            runner.run(&Sketch::new(plain, Coefficients::Given(&column), Precision::Double, shape.element), source)?;
        origin.iter().zip(offset.data()).map(|(o, x)| o + x).collect()
    } else {
        origin.clone()
    };
    if let Some(start) = start.filter(|_| median && whole.is_none()) {
        // K of floating-point data is rounded: a pass confirms the point, or more finish it.
        let from = start.at(mu.clone());
        let (point, warning) = spatial_median::by_passes(source, &from, runner)?;
        warnings.extend(warning);
        mixture = usable && mu.iter().zip(&point).all(|(a, b)| (a - b).abs() <= UNMOVED * from.scale);
        if !mixture {
            mu = point;
        }
    }
    let speaks = if mixture { recenter(&mut raw, &column, weighting, runner) } else { None };
    if let Some(speaks) = speaks {
        return Ok((mu, Cosines { matrix: raw, speaks }));
    }
    drop(raw);
    let cosines = direct(&Directions::new(&mu, weighting, None), source, runner)?;
    Ok((mu, cosines))
}

/// Turns products around the origin into weighted products around the mixture, or says that digits were lost.
fn recenter(raw: &mut Matrix, shares: &Matrix, weighting: Weighting, runner: &impl Runner) -> Option<Vec<bool>> {
    let n = raw.rows();
    let b = runner.compute(|| product(raw, shares));
    let c: f64 = shares.data().iter().zip(b.data()).map(|(a, b)| a * b).sum();
    let squares: Vec<f64> = (0..n).map(|i| raw[(i, i)] - 2.0 * b.data()[i] + c).collect();
    // Where nothing cancels no sample is near the center, so all have a direction.
    if (0..n).any(|i| squares[i] <= CANCELLED * (raw[(i, i)] + c.abs())) {
        return None;
    }
    let weights: Vec<f64> = match weighting {
        Weighting::Uniform => vec![1.0; n],
        Weighting::InverseNorm => squares.iter().map(|s| 1.0 / s.sqrt()).collect(),
    };
    for i in 0..n {
        let (b_i, w_i) = (b.data()[i], weights[i]);
        for ((x, b_j), w_j) in raw.row_mut(i).iter_mut().zip(b.data()).zip(&weights) {
            *x = (*x - b_i - b_j + c) * w_i * w_j;
        }
    }
    Some(vec![true; n])
}

/// The matrix around a known center. One pair pass.
pub(super) fn direct(directions: &Directions<'_>, source: &dyn Source, runner: &impl Runner) -> Result<Cosines> {
    let n = source.shape().samples;
    let matrix = runner.run_pairs(&Gram::new(*directions, n), source, TILE_ROWS)?;
    let speaks = (0..n).map(|i| matrix[(i, i)] > 0.0).collect();
    Ok(Cosines { matrix, speaks })
}

impl Cosines {
    /// Only the rows and columns of kept samples, in place.
    pub(super) fn restricted(self, kept: &[bool]) -> Matrix {
        let n = self.matrix.columns();
        let members: Vec<usize> = (0..n).filter(|&i| kept[i]).collect();
        if members.len() == n {
            return self.matrix;
        }
        let mut data = self.matrix.into_vec();
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

/// Components from eigenvectors of the matrix of the kept samples: D x k, not yet of length 1. One pass.
pub(super) fn back_project(
    vectors: &Matrix,
    directions: &Directions<'_>,
    kept: &[bool],
    source: &dyn Source,
    runner: &impl Runner,
) -> Result<Matrix> {
    let mut y = Matrix::zeros(kept.len(), vectors.columns());
    for (row, (i, _)) in kept.iter().enumerate().filter(|(_, kept)| **kept).enumerate() {
        y.row_mut(i).copy_from_slice(vectors.row(row));
    }
    let element = source.shape().element;
    Ok(runner.run(&Sketch::new(*directions, Coefficients::Given(&y), Precision::Double, element), source)?.0)
}
