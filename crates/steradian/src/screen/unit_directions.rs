//! Unit vectors of single samples: directions relative to a center, and differences of pairs.

use crate::data::source::{Source, read_sample};
use crate::error::Result;
use crate::numeric::linalg::Matrix;

/// The directions of some samples relative to a center, as columns; zero for a sample at the center.
pub(crate) fn unit_directions(samples: &[usize], center: &[f64], source: &dyn Source) -> Result<Matrix> {
    source.prefetch(samples)?;
    columns(samples, center.len(), |&sample| {
        let mut row = read_sample(source, sample)?;
        row.iter_mut().zip(center).for_each(|(x, c)| *x -= c);
        Ok(row)
    })
}

/// Unit vectors along the differences of pairs, as columns.
pub(crate) fn unit_differences(pairs: &[[usize; 2]], source: &dyn Source) -> Result<Matrix> {
    source.prefetch(pairs.as_flattened())?;
    columns(pairs, source.shape().features, |&[i, j]| {
        let (mut a, b) = (read_sample(source, i)?, read_sample(source, j)?);
        a.iter_mut().zip(&b).for_each(|(a, b)| *a -= b);
        Ok(a)
    })
}

fn columns<T>(of: &[T], features: usize, vector: impl Fn(&T) -> Result<Vec<f64>>) -> Result<Matrix> {
    let mut units = Matrix::zeros(features, of.len());
    for (column, item) in of.iter().enumerate() {
        let vector = vector(item)?;
        // Divided by the largest entry first, so that squares neither overflow nor underflow.
        let largest = vector.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
        let length = vector.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            vector.iter().enumerate().for_each(|(j, x)| units[(j, column)] = x / largest / length);
        }
    }
    Ok(units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::slice::SliceSource;

    #[test]
    fn columns_have_unit_length_at_any_scale() {
        for scale in [1e-300, 1.0, 1e300] {
            let data = [3.0, 4.0, 0.0, 0.0, 1.0, 1.0].map(|x| x * scale);
            let source = SliceSource::new(&data, 3, 2).unwrap();
            let found = unit_directions(&[0, 1], &[0.0, 0.0], &source).unwrap();
            assert_eq!([found[(0, 0)], found[(1, 0)]], [0.6, 0.8], "at {scale}");
            assert_eq!([found[(0, 1)], found[(1, 1)]], [0.0, 0.0], "a sample at the center");
            let found = unit_differences(&[[0, 2]], &source).unwrap();
            let length = found.data().iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((length - 1.0).abs() < 1e-15 && (found[(1, 0)] / found[(0, 0)] - 1.5).abs() < 1e-12);
        }
    }
}
