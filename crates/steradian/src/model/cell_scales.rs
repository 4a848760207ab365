//! The scales by which a model classifies rows and cells: for the rows of the fit, and for new rows.

use crate::cellwise::RowModel;
use crate::numeric::magnitude::times_power_of_two;

/// The scales by which rows and cells with bad and missing cells are classified.
#[derive(Debug, Clone, PartialEq)]
pub struct Cellwise {
    /// The model that rows are compared with; in the units of scaled features where features were scaled.
    pub rows: RowModel,
    /// The median of the scores of the support.
    pub score_center: Vec<f64>,
    /// The robust variances of the scores of the support.
    pub score_variances: Vec<f64>,
    /// The cutoffs of score and orthogonal distance for rows that are not those of the fit.
    pub cutoffs_new: [f64; 2],
    /// The standard deviation of the residuals of each feature, for the rows of the fit.
    pub cell_scales: Vec<f64>,
    /// The standard deviation of the residuals of each feature, for other rows.
    pub cell_scales_new: Vec<f64>,
    /// The fraction of bad cells in the rows of the support.
    pub bad_fraction: f64,
}

impl Cellwise {
    /// Converts all lengths to other units: times 2^power.
    pub(crate) fn times_power_of_two(&mut self, power: i32) {
        self.rows.times_power_of_two(power);
        let lengths = [&mut self.score_center, &mut self.cell_scales, &mut self.cell_scales_new];
        lengths.into_iter().flatten().for_each(|x| *x = times_power_of_two(*x, power));
        let square = |x: f64| times_power_of_two(times_power_of_two(x, power), power);
        self.score_variances.iter_mut().for_each(|x| *x = square(*x));
        self.cutoffs_new[1] = times_power_of_two(self.cutoffs_new[1], power);
        // Divisors that underflow in other units stay above 0.
        let divisors = [&mut self.cell_scales, &mut self.cell_scales_new, &mut self.score_variances];
        divisors.into_iter().flatten().for_each(|x| *x = x.max(f64::MIN_POSITIVE));
    }
}
