//! The model that rows are compared with: a subspace, variances, and the scales of cells.

use serde::{Deserialize, Serialize};

use crate::codec::{inconsistent, require_finite, require_length};
use crate::error::Result;
use crate::numeric::linalg::Matrix;
use crate::numeric::magnitude::times_power_of_two;

/// A subspace with the scales by which rows and cells are compared with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowModel {
    /// The center mu, one value per feature.
    pub center: Vec<f64>,
    /// The components Q': d x D, rows orthonormal.
    pub components: Matrix,
    /// The variance along each component, lambda.
    pub variances: Vec<f64>,
    /// The variance of a cell around the subspace, sigma^2.
    pub noise: f64,
    /// The scale of the residuals of each feature.
    pub limits: Vec<f64>,
    /// The location of each feature, from which wrapped cells deviate.
    pub location: Vec<f64>,
    /// The scale of each feature for wrapped cells.
    pub scale: Vec<f64>,
    /// True if bad cells are detected and not used; false if only missing cells are not used.
    pub cleans: bool,
    /// The features that give the scale of a row; none stands for all.
    pub scale_features: Vec<usize>,
}

/// Features that give the scale of a row, at most.
pub(crate) const SCALE_FEATURES: usize = 512;

/// At most [`SCALE_FEATURES`] features, spread over the order of their scales; none if all of them are taken.
pub(crate) fn scale_features(scale: &[f64]) -> Vec<usize> {
    let features = scale.len();
    if features <= SCALE_FEATURES {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| scale[b].total_cmp(&scale[a]));
    let mut few: Vec<usize> = (0..SCALE_FEATURES).map(|i| order[i * features / SCALE_FEATURES]).collect();
    few.sort_unstable();
    few
}

impl RowModel {
    /// The number of components, d.
    pub fn n_components(&self) -> usize {
        self.components.rows()
    }

    /// The number of features, D.
    pub fn n_features(&self) -> usize {
        self.center.len()
    }

    /// Rejects a model whose parts do not agree: it may come from bytes of another process or of a file.
    pub(crate) fn check(&self, features: usize) -> Result<()> {
        let d = self.components.rows();
        require_length("the rows of the components", self.components.columns(), features)?;
        require_length("the variances", self.variances.len(), d)?;
        if d == 0 || d > features {
            return Err(inconsistent(format!("{d} components of {features} features")));
        }
        let lists = [
            ("the center", &self.center),
            ("the limits of the cells", &self.limits),
            ("the locations", &self.location),
            ("the scales", &self.scale),
        ];
        for (name, list) in lists {
            require_length(name, list.len(), features)?;
            require_finite(name, list)?;
        }
        if self.scale_features.len() > SCALE_FEATURES || self.scale_features.iter().any(|j| *j >= features) {
            return Err(inconsistent(format!("scales of rows from a feature of {features} that does not exist")));
        }
        require_finite("the components", self.components.data())?;
        require_finite("the variances", &self.variances)?;
        let positive = |list: &[f64]| list.iter().all(|x| *x > 0.0);
        if !positive(&self.limits) || !positive(&self.scale) {
            return Err(inconsistent("a scale is not above 0"));
        }
        if !(self.noise > 0.0 && self.noise.is_finite()) || self.variances.iter().any(|x| *x < 0.0) {
            return Err(inconsistent(format!("the variance of the noise is {}", self.noise)));
        }
        Ok(())
    }

    /// The model in other units: every length times 2^power.
    pub(crate) fn times_power_of_two(&mut self, power: i32) {
        let lengths = [&mut self.center, &mut self.limits, &mut self.location, &mut self.scale];
        lengths.into_iter().flatten().for_each(|x| *x = times_power_of_two(*x, power));
        let square = |x: f64| times_power_of_two(times_power_of_two(x, power), power);
        self.variances.iter_mut().for_each(|x| *x = square(*x));
        self.noise = square(self.noise);
        // Divisors that underflow in other units stay above 0.
        let divisors = self.limits.iter_mut().chain(&mut self.scale).chain([&mut self.noise]);
        divisors.for_each(|x| *x = x.max(f64::MIN_POSITIVE));
    }
}
