//! Units of a fit: data far from 1 are multiplied by a power of two first, and the model is scaled back.
//!
//! A fit squares the cells, and squares the eigenvalues of the squares. Within [`Range::comfortable`] exponents neither
//! overflows nor underflows, and the data are read as they are. Outside of it the data are multiplied by a power of two,
//! which is exact, so that a fit at any scale equals the fit at scale 1, bit by bit if the scales differ by a power of two.
//!
//! | methods | the exponent is that of | cells far above it |
//! |---|---|---|
//! | uniform weights without the outlyingness screen | the largest cell, which decides the eigenvalues | - |
//! | all others, and scaled features | the median over rows of their largest cell | up to 2^[`Range::top`] |
//!
//! Variances are squares: if they are no numbers of f64 in the units of the data, the fit is rejected.

use super::assemble::Embedding;
use crate::center::Finite;
use crate::config::Config;
use crate::config::options::{Center, Scaling, Weighting};
use crate::config::screen::Screen;
use crate::data::element::ElementType;
use crate::data::row_map::RowMap;
use crate::data::source::Source;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::model::{Diagnostics, Model, Subspace};
use crate::numeric::magnitude::{exponent, times_power_of_two};

/// Binary exponents that need no other units.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// Largest absolute exponent of the cells that decide the result.
    comfortable: i32,
    /// Largest exponent of any cell: 2^63 rows of such cells have a finite sum.
    top: i32,
}

impl Range {
    fn of(element: ElementType) -> Self {
        match element {
            ElementType::F64 => Self { comfortable: 150, top: 960 },
            _ => Self { comfortable: 40, top: 120 },
        }
    }
}

/// The power of two by which data are multiplied before a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitUnits(i32);

impl FitUnits {
    /// The units of a fit to these data.
    fn of(config: &Config, data: &Finite<'_>) -> Result<Self> {
        let Range { comfortable, top } = Range::of(data.source.shape().element);
        let center = match &config.center {
            Center::Given(point) => point.iter().filter_map(|x| exponent(*x)).max(),
            _ => None,
        };
        let Some(largest) = data.magnitudes.largest().max(center) else { return Ok(Self(0)) };
        let by_largest = config.weighting == Weighting::Uniform
            && !matches!(config.screen, Screen::Outlyingness(_))
            && config.scaling == Scaling::None;
        if by_largest {
            return Ok(Self(if largest.abs() <= comfortable { 0 } else { -largest }));
        }
        let middle = data.magnitudes.median().max(center).unwrap_or(largest);
        if middle.abs() <= comfortable && largest <= top {
            return Ok(Self(0));
        }
        let power = (-middle).min(top - largest);
        if middle + power < -comfortable {
            let [largest, middle] = [largest, middle].map(|e| f64::from(e) * std::f64::consts::LOG10_2);
            return Err(Error::invalid_data(format!(
                "the largest cell, about 1e{largest:.0}, is too far from the median row, about 1e{middle:.0}, for {} numbers; \
                 remove or correct such cells",
                data.source.shape().element
            )));
        }
        Ok(Self(power))
    }

    /// The configuration in these units: a given center is a point of the data.
    fn config(self, config: &Config) -> Config {
        let mut config = config.clone();
        if let Center::Given(point) = &mut config.center {
            point.iter_mut().for_each(|x| *x = times_power_of_two(*x, self.0));
        }
        config
    }

    /// The exponent of the power of two.
    pub(super) fn power(self) -> i32 {
        self.0
    }

    /// A value in the units of the data.
    pub fn restored(self, x: f64) -> f64 {
        times_power_of_two(x, -self.0)
    }

    /// Converts a model to the units of the data.
    ///
    /// # Errors
    /// If variances are outside of the range of f64.
    pub fn restore(self, model: &mut Model) -> Result<()> {
        self.restore_parts(&mut model.subspace, &mut model.diagnostics)
    }

    pub(super) fn restore_embedding(self, embedding: &mut Embedding) -> Result<()> {
        self.restore_parts(&mut embedding.subspace, &mut embedding.diagnostics)
    }

    fn restore_parts(self, subspace: &mut Subspace, diagnostics: &mut Diagnostics) -> Result<()> {
        if self.0 == 0 {
            return Ok(());
        }
        let back = |x: &mut f64| *x = self.restored(*x);
        subspace.center.iter_mut().for_each(back);
        // Scores of scaled features have no units.
        if let Some(scale) = &mut subspace.scale {
            scale.iter_mut().for_each(back);
            return Ok(());
        }
        let variances = diagnostics.explained_variance.iter_mut().chain(&mut diagnostics.total_variance);
        for variance in variances {
            let before = *variance;
            *variance = self.restored(self.restored(before));
            if before > 0.0 && !variance.is_normal() {
                return Err(self.out_of_range(before));
            }
        }
        back(&mut diagnostics.cutoffs[1]);
        if let Some(cells) = &mut diagnostics.cells {
            cells.limits.iter_mut().for_each(back);
        }
        if let Some(cellwise) = &mut diagnostics.cellwise {
            cellwise.times_power_of_two(-self.0);
        }
        Ok(())
    }

    fn out_of_range(self, variance: f64) -> Error {
        let decimal = |power: i32| f64::from(power) * std::f64::consts::LOG10_2;
        let (variance, scale) = (variance.log10() + decimal(-2 * self.0), decimal(-self.0));
        Error::invalid_data(format!(
            "the variances of the data, about 1e{variance:.0}, are outside of the range of f64 (2e-308 to 2e308); divide the \
             data by 1e{scale:.0} first"
        ))
    }
}

/// Checks the data and calls `fit` with data and configuration in suitable units. Returns its result and the units, by
/// which the caller converts the result.
///
/// # Errors
/// For cells that are infinite, missing where that is not permitted, or too far apart, and those of `fit`.
pub fn in_units<T>(
    config: &Config,
    source: &dyn Source,
    runner: &impl Runner,
    fit: impl FnOnce(&Config, &Finite<'_>) -> Result<T>,
) -> Result<(T, FitUnits)> {
    let data = Finite::check(source, config.missing, runner)?;
    let units = FitUnits::of(config, &data)?;
    if units.0 == 0 {
        return Ok((fit(config, &data)?, units));
    }
    let scaled = MappedSource::new(source, RowMap::PowerOfTwo(units.0));
    Ok((fit(&units.config(config), &data.view(&scaled))?, units))
}
