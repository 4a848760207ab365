//! Checks of a model that was read from a file: every property that its use relies on, in terms of the file.

use std::collections::HashSet;

use super::{Cellwise, Certificate, CleanedCells, Model};
use crate::config::method::Method;
use crate::config::options::{Center, ComponentCount};
use crate::config::screen::{Angle, Screen};
use crate::numeric::linalg::{Matrix, add_product};
use crate::screen::report::ConeReport;

/// Largest difference of a product of two components from 0 or 1.
const ORTHONORMAL: f64 = 1e-6;
/// Columns per product of the components.
const PANEL: usize = 4096;

/// The first property that does not hold, in words.
type Checked = Result<(), String>;

impl Model {
    /// Checks sizes, ranges and the relations between arrays.
    pub(super) fn check(&self) -> Checked {
        let (d, features, samples) = (self.n_components(), self.n_features(), self.shape.samples);
        if d == 0 || d > features || samples == 0 {
            return Err(format!("{d} components of {samples} samples x {features} features"));
        }
        if let Some((height, width)) = self.shape.image
            && height.checked_mul(width) != Some(features)
        {
            return Err(format!("an image of {height} x {width} pixels has not {features} features"));
        }
        if let Some(name) = self.feature_names.as_deref().and_then(repeated_name) {
            return Err(format!("metadata: `feature_names` has the name {name:?} twice"));
        }
        self.check_subspace()?;
        self.check_diagnostics()?;
        self.check_config()?;
        self.check_report()
    }

    fn check_subspace(&self) -> Checked {
        let subspace = &self.subspace;
        all("center", &subspace.center, |x| x.is_finite(), "finite")?;
        if let Some(scale) = &subspace.scale {
            all("scale", scale, |s| s.is_finite() && s > 0.0, "finite and above 0")?;
        }
        all("components", subspace.components.data(), |x| x.is_finite(), "finite")?;
        let worst = deviation(&subspace.components);
        if worst.is_nan() || worst > ORTHONORMAL {
            return Err(format!(
                "the rows of `components` are not orthonormal: a product of two is off by {worst:.1e}"
            ));
        }
        if let Some(values) = &subspace.angular_eigenvalues {
            // They sum to at most 1, up to rounding.
            all("angular_eigenvalues", values, |x| (-1e-9..=1.0 + 1e-6).contains(&x), "from 0 to 1")?;
        }
        Ok(())
    }

    fn check_diagnostics(&self) -> Checked {
        let diagnostics = &self.diagnostics;
        all("explained_variance", &diagnostics.explained_variance, |x| x >= 0.0, "at least 0")?;
        all("cutoffs", &diagnostics.cutoffs, |x| x >= 0.0 || x.is_nan(), "at least 0, or NaN")?;
        if let Some(total) = diagnostics.total_variance.filter(|total| *total < 0.0) {
            return Err(format!("metadata: `total_variance` is {total}, expected at least 0"));
        }
        if let Some(cellwise) = &diagnostics.cellwise {
            self.check_cellwise(cellwise)?;
        }
        if let Some(CleanedCells { limits, fraction }) = &diagnostics.cells {
            all("cell_limits", limits, |x| x >= 0.0, "at least 0")?;
            within("cleaned_fraction", *fraction, 0.0, 1.0)?;
        }
        Ok(())
    }

    fn check_cellwise(&self, cellwise: &Cellwise) -> Checked {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let rows = &cellwise.rows;
        for (name, values) in [
            ("cell_limits", &rows.limits),
            ("cell_spread", &rows.scale),
            ("cell_scales", &cellwise.cell_scales),
            ("cell_scales_new", &cellwise.cell_scales_new),
            ("score_variance", &cellwise.score_variances),
        ] {
            all(name, values, positive, "finite and above 0")?;
        }
        all("cell_location", &rows.location, f64::is_finite, "finite")?;
        all("score_center", &cellwise.score_center, f64::is_finite, "finite")?;
        all("cutoffs_new", &cellwise.cutoffs_new, |x| x >= 0.0 || x.is_nan(), "at least 0, or NaN")?;
        within("cleaned_fraction", cellwise.bad_fraction, 0.0, 1.0)?;
        if !positive(rows.noise) {
            return Err(format!("metadata: `noise_variance` is {}, expected finite and above 0", rows.noise));
        }
        Ok(())
    }

    fn check_config(&self) -> Checked {
        let (config, d, samples) = (&self.config, self.n_components(), self.shape.samples);
        match config.n_components {
            // A method of another crate may find fewer components than requested.
            ComponentCount::Count(count) if count < d || (count > d && !matches!(config.method, Method::Other(_))) => {
                return Err(format!("metadata `parameters`: `n_components` is {count}, but there are {d} components"));
            }
            ComponentCount::VarianceFraction(fraction) => within("n_components", fraction, 0.0, 1.0)?,
            _ => {}
        }
        if config.tolerance.is_nan() || config.tolerance <= 0.0 {
            return Err(format!("metadata `parameters`: `tol` is {}, expected above 0", config.tolerance));
        }
        if let Center::Given(point) = &config.center
            && point.len() != self.n_features()
        {
            return Err(format!("metadata `parameters`: `center` has {} values", point.len()));
        }
        match &config.screen {
            Screen::Cone(cone) => match cone.max_angle {
                Angle::Degrees(degrees) => within("max_angle", degrees, 0.0, 90.0),
                Angle::Auto => Ok(()),
            },
            Screen::Outlyingness(screen) => match screen.pairs.iter().flatten().flatten().find(|i| **i >= samples) {
                Some(index) => Err(format!("metadata `parameters`: `pairs` names sample {index} of {samples}")),
                None => Ok(()),
            },
            Screen::None => Ok(()),
        }
    }

    fn check_report(&self) -> Checked {
        let report = &self.report;
        let Certificate { residual, sine_bound, .. } = report.certificate;
        if residual < 0.0 {
            return Err(format!("metadata: `residual` is {residual}, expected at least 0"));
        }
        if !sine_bound.is_nan() {
            within("sine_bound", sine_bound, 0.0, 1.0)?;
        }
        if let Some(cone) = &report.cone {
            check_cone(cone, &report.support)?;
        }
        Ok(())
    }
}

/// A name that occurs more than once.
pub(crate) fn repeated_name(names: &[String]) -> Option<&str> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().map(String::as_str).find(|name| !seen.insert(*name))
}

/// Tau of every sample and the pivot against the support.
fn check_cone(cone: &ConeReport, support: &[bool]) -> Checked {
    let samples = support.len();
    // A sample without direction has this tau and is not in the support.
    let inactive = samples as i64 + 1;
    if let Some(tau) = cone.tau.iter().find(|tau| !(0..=inactive).contains(tau)) {
        return Err(format!("array `tau` has the value {tau}, expected 0 to {inactive}"));
    }
    if let Some(sample) = (0..samples).find(|&i| support[i] && cone.tau[i] == inactive) {
        return Err(format!("array `support` includes sample {sample}, which has no direction by array `tau`"));
    }
    within("max_angle", cone.max_angle, 0.0, 90.0)?;
    if let Some(elimination) = cone.elimination {
        within("failure_probability", elimination.failure_probability, 0.0, 1.0)?;
        if elimination.excess < 0 {
            return Err(format!("metadata: `excess` is {}, expected at least 0", elimination.excess));
        }
    }
    Ok(())
}

fn all(name: &str, values: &[f64], holds: impl Fn(f64) -> bool, expected: &str) -> Checked {
    match values.iter().position(|x| !holds(*x)) {
        None => Ok(()),
        Some(place) => Err(format!("array `{name}` is {} at place {place}, expected {expected}", values[place])),
    }
}

fn within(name: &str, value: f64, low: f64, high: f64) -> Checked {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!("metadata: `{name}` is {value}, expected {low} to {high}"))
}

/// The largest difference of a product of two rows from 0, or from 1 of a row with itself. Computed on this thread: models
/// are read outside of any pool.
fn deviation(rows: &Matrix) -> f64 {
    let d = rows.rows();
    let mut products = vec![0.0; d * d];
    for start in (0..rows.columns()).step_by(PANEL) {
        let columns = start..(start + PANEL).min(rows.columns());
        let right = rows.view().select_columns(columns.clone()).transposed();
        add_product(&mut products, rows.view().select_columns(columns), right, 1.0);
    }
    let off = |(place, x): (usize, &f64)| (x - f64::from(u8::from(place / d == place % d))).abs();
    products.iter().enumerate().map(off).fold(0.0, |worst, x| if x.is_nan() || x > worst { x } else { worst })
}
