//! Angular embedding of samples with missing cells: directions over the cells that are present.
//!
//! | symbol | here |
//! |---|---|
//! | P_i, the features that sample i has | the cells that are not NaN |
//! | mu | the center over the cells present: for the spatial median the point of least sum of norm(P_i (x_i - mu)) |
//! | u_i = P_i (x_i - mu) / norm(P_i (x_i - mu)) | the direction of sample i |
//!
//! A missing cell is replaced by the coordinate of the center as it is read, so that its deviation is 0. A sample without any
//! number has no direction and no weight, and a feature without any number has a loading of 0. Variances and distances are
//! those of the directions, so they are too small for samples with many missing cells.

use std::borrow::Cow;

use super::assemble::Embedding;
use crate::center::{Finite, present};
use crate::config::Config;
use crate::config::options::{Center, Missing, Solver};
use crate::data::row_map::RowMap;
use crate::data::view::MappedSource;
use crate::engine::runner::Runner;
use crate::error::Result;

/// Calls `fit` with a view of the data in which missing cells have the coordinate of the center.
pub(super) fn fit_present<R: Runner>(
    config: &Config,
    solver: Solver,
    data: &Finite<'_>,
    runner: &R,
    fit: impl FnOnce(&Config, Solver, &Finite<'_>, &R) -> Result<Embedding>,
) -> Result<Embedding> {
    let (mut point, warning) = present::by_passes(&config.center, data, config.seed, runner)?;
    if !data.source.shape().element.is_double() {
        // The view has this precision, too, so that the deviation of a missing cell is exactly 0.
        point.iter_mut().for_each(|x| *x = f64::from(*x as f32));
    }
    let filled = MappedSource::new(data.source, RowMap::Fill(Cow::Borrowed(&point)));
    let inner = Config { center: Center::Given(point.clone()), missing: Missing::Error, ..config.clone() };
    let mut embedding = fit(&inner, solver, &data.filled_view(&filled), runner)?;
    let components = &mut embedding.subspace.components;
    for feature in data.missing.empty_features(data.source.shape().samples) {
        // Up to rounding, the loading is 0 already.
        (0..components.rows()).for_each(|k| components[(k, feature)] = 0.0);
    }
    embedding.report.warnings.splice(0..0, data.missing_warnings().into_iter().chain(warning));
    Ok(embedding)
}
