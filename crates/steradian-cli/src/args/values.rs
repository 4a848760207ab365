//! Values of options: names with help texts, numbers with units, and their parsers.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use steradian::config::{Angle, ComponentOrder, Cosine, Scaling, Ties};
use steradian::{Center, ComponentCount, Method, Solver};
use steradian_baselines::{BASELINES, EMAE, EMPCA, GA, PCP, TGA};
use steradian_clips::SCENE;
use steradian_io::{Header, MissingRule};

use crate::cmd::shadows::FILL;

/// A center by name, or the file that contains it.
#[derive(Debug, Clone)]
pub enum CenterChoice {
    /// A center that the fit computes.
    Named(Center),
    /// A .npy file with one value per feature.
    File(PathBuf),
}

/// The rows of a cell map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapRows {
    /// The rows with the largest orthogonal distance or residual of a cell, as many as have space for a name.
    Worst,
    /// All rows in data order.
    Data,
    /// This many worst rows.
    Count(usize),
}

/// A parser of names with help texts; each name stands for a value.
fn one_of<T: Clone + Send + Sync + 'static>(
    choices: Vec<(&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<_> = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help)).collect();
    PossibleValuesParser::new(names).map(move |name| {
        let (_, _, value) =
            choices.iter().find(|(choice, ..)| *choice == name).expect("clap accepts only listed names");
        value.clone()
    })
}

/// The methods of `fit` and `plan`.
pub(super) fn methods() -> impl TypedValueParser<Value = Method> {
    one_of(named(METHODS.iter().chain(&BASELINES)))
}

static METHODS: [Method; 7] = Method::ALL;

fn named(methods: impl Iterator<Item = &'static Method>) -> Vec<(&'static str, &'static str, Method)> {
    methods.map(|m| (m.name(), method_help(*m), *m)).collect()
}

/// The one-line description of a method.
fn method_help(method: Method) -> &'static str {
    match method {
        Method::Robust => {
            "For bad rows, bad cells and missing cells at once: a multivariate t model of the usable cells. Breakdown \
             point close to 50 % for rows."
        }
        Method::Cells => "`robust` that always detects bad cells.",
        Method::Rows => "`robust` that never detects bad cells.",
        Method::Angular => {
            "Spherical PCA: eigenvectors of the spatial sign covariance matrix about the spatial median \
             (Locantore et al. 1999)."
        }
        Method::Ae => "Angular embedding (Liu and Yu 2021): spherical PCA about the mean.",
        Method::Tae => "Trimmed angular embedding (Liu and Yu 2021): `ae` restricted to the samples in one cone.",
        Method::Pca => "Classical PCA.",
        EMPCA => "Baseline: PCA by EM (orthogonal iteration).",
        EMAE => "Baseline: AE by EM (orthogonal iteration).",
        GA => "Baseline: Grassmann average.",
        TGA => "Baseline: trimmed Grassmann average.",
        PCP => "Baseline: robust PCA in the low-rank + sparse sense (principal component pursuit, inexact ALM).",
        Method::Other(_) => "Background model for video: per-pixel mode plus illumination components.",
    }
}

/// The methods of `background`.
pub(super) fn clip_methods() -> impl TypedValueParser<Value = Method> {
    one_of(named([&SCENE].into_iter().chain(&METHODS).chain([&PCP])))
}

/// The methods of `shadows`; the default has no [`Method`].
pub(super) fn face_methods() -> impl TypedValueParser<Value = Option<Method>> {
    let mut choices = vec![(FILL, "Factorization that gives dark and saturated pixels a low weight.", None)];
    let others = named(METHODS.iter().chain([&PCP]));
    choices.extend(others.into_iter().map(|(name, help, method)| (name, help, Some(method))));
    one_of(choices)
}

pub(super) fn cosines() -> impl TypedValueParser<Value = Cosine> {
    one_of(vec![
        ("abs", "absolute cosine: a direction equals its opposite", Cosine::Abs),
        ("signed", "signed cosine: a direction differs from its opposite", Cosine::Signed),
    ])
}

pub(super) fn ties() -> impl TypedValueParser<Value = Ties> {
    one_of(vec![("index", "lowest index", Ties::Index), ("density", "largest sum of squared cosines", Ties::Density)])
}

pub(super) fn solvers() -> impl TypedValueParser<Value = Solver> {
    let help = |solver: Solver| match solver {
        Solver::Auto => "the cheapest solver for the shape of the data",
        Solver::Scatter => "D x D scatter matrix",
        Solver::Gram => "n x n Gram matrix",
        Solver::Krylov => "block Krylov iteration by passes, without a matrix in memory",
    };
    one_of([Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov].map(|s| (s.name(), help(s), s)).to_vec())
}

pub(super) fn scalings() -> impl TypedValueParser<Value = Scaling> {
    one_of(vec![
        ("none", "features keep their units", Scaling::None),
        ("mad", "median absolute deviation (MAD) of each feature", Scaling::Mad),
    ])
}

pub(super) fn orders() -> impl TypedValueParser<Value = ComponentOrder> {
    one_of(vec![
        ("angular", "angular eigenvalue, the largest first", ComponentOrder::Angular),
        ("variance", "robust variance, the largest first", ComponentOrder::Variance),
    ])
}

pub(super) fn header() -> impl TypedValueParser<Value = Header> {
    one_of(vec![
        ("auto", "a header if one of its cells is text", Header::Auto),
        ("yes", "names of the columns", Header::Yes),
        ("no", "a sample", Header::No),
    ])
}

pub(super) fn missing() -> impl TypedValueParser<Value = MissingRule> {
    one_of(vec![
        ("use", "use the other cells of such rows", MissingRule::Use),
        ("drop", "drop such rows", MissingRule::Drop),
        ("error", "reject the data and report the first missing cell", MissingRule::Error),
    ])
}

/// An integer, a fraction of the variance in (0, 1), or `auto`.
pub(super) fn n_components(text: &str) -> Result<ComponentCount, String> {
    match (text.parse::<usize>(), text.parse::<f64>()) {
        (Ok(count), _) => Ok(ComponentCount::Count(count)),
        (Err(_), Ok(fraction)) if fraction > 0.0 && fraction < 1.0 => Ok(ComponentCount::VarianceFraction(fraction)),
        _ if text == "auto" => Ok(ComponentCount::Auto),
        _ => Err("expected an integer >= 1, a variance fraction in (0, 1), or `auto`".into()),
    }
}

/// A center by name, or a .npy file.
pub(super) fn center(text: &str) -> Result<CenterChoice, String> {
    let named = [Center::Mean, Center::Median, Center::SpatialMedian, Center::None];
    match named.into_iter().find(|center| center.name() == text) {
        Some(center) => Ok(CenterChoice::Named(center)),
        None if text.to_lowercase().ends_with(".npy") => Ok(CenterChoice::File(text.into())),
        None => Err("expected mean, median, spatial-median, none, or a .npy file".into()),
    }
}

/// The rows of a cell map: `worst`, `data`, or a number of worst rows.
pub(super) fn map_rows(text: &str) -> Result<MapRows, String> {
    match (text, text.parse::<usize>()) {
        ("worst", _) => Ok(MapRows::Worst),
        ("data", _) => Ok(MapRows::Data),
        (_, Ok(count)) if count > 0 => Ok(MapRows::Count(count)),
        _ => Err("expected worst, data, or a number of rows >= 1".into()),
    }
}

/// A half-open range of frames, `START:END`.
pub(super) fn frame_range(text: &str) -> Result<Range<usize>, String> {
    let ends = text.split_once(':').and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    match ends {
        Some((start, end)) if start < end => Ok(start..end),
        _ => Err("expected START:END with 0 <= START < END (END is exclusive)".into()),
    }
}

/// An angle in degrees, or `auto`; the range is checked with the configuration.
pub(super) fn max_angle(text: &str) -> Result<Angle, String> {
    if text == "auto" {
        return Ok(Angle::Auto);
    }
    text.parse().map(Angle::Degrees).map_err(|_| "expected degrees in (0, 90], or `auto`".into())
}

/// A number of bytes; the suffixes K, M and G are powers of 1024.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let count = digits.parse::<u64>().map_err(|_| "expected bytes, or an integer with K, M or G, such as 500M")?;
    count.checked_mul(1 << shift).ok_or_else(|| "the size exceeds 2^64 - 1 bytes".into())
}

/// A non-negative time in seconds.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let bad = "expected seconds >= 0, such as 5 or 0.5";
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).ok_or_else(|| bad.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_in_1024() {
        assert_eq!(parse_size("77"), Ok(77));
        assert_eq!(parse_size("2k"), Ok(2048));
        assert_eq!(parse_size("3M"), Ok(3 << 20));
        assert_eq!(parse_size("1G"), Ok(1 << 30));
        for bad in ["", "K", "-1", "1.5G", "2T", "99999999999G"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_are_not_negative() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["", "-1", "NaN", "inf", "1e30", "5s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rows_of_a_map_are_a_name_or_a_number() {
        assert_eq!(map_rows("worst"), Ok(MapRows::Worst));
        assert_eq!(map_rows("data"), Ok(MapRows::Data));
        assert_eq!(map_rows("40"), Ok(MapRows::Count(40)));
        for bad in ["0", "-1", "all", "", "1.5"] {
            assert!(map_rows(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn n_components_is_an_integer_a_fraction_or_auto() {
        assert_eq!(n_components("3"), Ok(ComponentCount::Count(3)));
        assert_eq!(n_components("auto"), Ok(ComponentCount::Auto));
        assert_eq!(n_components("0.95"), Ok(ComponentCount::VarianceFraction(0.95)));
        for bad in ["two", "1.5", "-1", "-0.5", "NaN", ""] {
            assert!(n_components(bad).is_err(), "{bad}");
        }
    }
}
