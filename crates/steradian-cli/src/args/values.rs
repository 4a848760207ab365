//! The values that options take: names with help, numbers with units.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use steradian::{Angle, Center, ComponentCount, Cosine, Method, Scaling, Solver, Ties};
use steradian_baselines::{BASELINES, EMAE, EMPCA, GA, PCP, TGA};
use steradian_clips::SCENE;
use steradian_io::Missing;

use crate::cmd::shadows::FILL;

/// A center by name, or the file that holds it.
#[derive(Debug, Clone)]
pub enum CenterChoice {
    /// One that is found from the data.
    Named(Center),
    /// One number per feature, in a .npy file.
    File(PathBuf),
}

/// A parser of names with help, each standing for a value.
fn one_of<T: Clone + Send + Sync + 'static>(
    choices: Vec<(&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<_> = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help)).collect();
    PossibleValuesParser::new(names).map(move |name| {
        let (_, _, value) =
            choices.iter().find(|(choice, ..)| *choice == name).expect("clap lets only choices through");
        value.clone()
    })
}

pub(super) fn methods() -> impl TypedValueParser<Value = Method> {
    one_of(named(METHODS.iter().chain(&BASELINES)))
}

static METHODS: [Method; 6] = Method::ALL;

fn named(methods: impl Iterator<Item = &'static Method>) -> Vec<(&'static str, &'static str, Method)> {
    methods.map(|m| (m.name(), method_help(*m), *m)).collect()
}

fn method_help(method: Method) -> &'static str {
    match method {
        Method::Robust => "outlying samples screened off, least sum of sines around the spatial median",
        Method::Cells => "robust, with single bad cells cleaned",
        Method::Ae => "angular embedding around the mean",
        Method::Tae => "trimmed: angular embedding of the samples in the fullest cone, seen from the mean",
        Method::Angular => "angular embedding around the spatial median",
        Method::Pca => "classical PCA",
        EMPCA => "baseline: classical PCA by expectation maximisation",
        EMAE => "baseline: angular embedding around the mean by the same iteration, no matrix decomposed",
        GA => "baseline: Grassmann average",
        TGA => "baseline: trimmed Grassmann average; holds the data by columns in memory",
        PCP => "baseline: principal component pursuit, a low-rank and a sparse part; holds four arrays of doubles",
        Method::Other(_) => "made for clips",
    }
}

pub(super) fn clip_methods() -> impl TypedValueParser<Value = Method> {
    let mut choices = vec![("scene", "made for clips: follows the light, leaves out what moves or rests", SCENE)];
    choices.extend(named(METHODS.iter()));
    let pursuit = "principal component pursuit: the background of a frame it was learnt from is its low-rank part, that of any \
                   other is made of the first -d directions; holds four arrays of doubles";
    choices.push(("pcp", pursuit, PCP));
    one_of(choices)
}

pub(super) fn face_methods() -> impl TypedValueParser<Value = Option<Method>> {
    let mut choices = vec![(FILL, "dark and saturated pixels count as missing, by degrees", None)];
    choices.extend(named(METHODS.iter()).into_iter().map(|(name, help, m)| (name, help, Some(m))));
    let pursuit =
        "principal component pursuit: the low-rank part, whose rank it finds itself; holds four arrays of doubles";
    choices.push(("pcp", pursuit, Some(PCP)));
    one_of(choices)
}

pub(super) fn cosines() -> impl TypedValueParser<Value = Cosine> {
    one_of(vec![
        ("abs", "a direction and its opposite are the same", Cosine::Abs),
        ("signed", "they are not", Cosine::Signed),
    ])
}

pub(super) fn ties() -> impl TypedValueParser<Value = Ties> {
    one_of(vec![
        ("index", "the first in the data", Ties::Index),
        ("density", "the one with the largest sum of squared cosines to all", Ties::Density),
    ])
}

pub(super) fn solvers() -> impl TypedValueParser<Value = Solver> {
    let help = |solver: Solver| match solver {
        Solver::Auto => "the cheapest for the shape of the data",
        Solver::Scatter => "through the D x D matrix",
        Solver::Gram => "through the n x n matrix",
        Solver::Krylov => "by passes, without either matrix",
    };
    one_of([Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov].map(|s| (s.name(), help(s), s)).to_vec())
}

pub(super) fn scalings() -> impl TypedValueParser<Value = Scaling> {
    one_of(vec![
        ("none", "features keep their units", Scaling::None),
        ("mad", "by the median absolute deviation", Scaling::Mad),
    ])
}

pub(super) fn missing() -> impl TypedValueParser<Value = Missing> {
    one_of(vec![
        ("error", "refuse the table and name the place", Missing::Error),
        ("drop", "leave such rows out", Missing::Drop),
    ])
}

pub(super) fn components(text: &str) -> Result<ComponentCount, String> {
    match (text.parse::<usize>(), text.parse::<f64>()) {
        (Ok(count), _) => Ok(ComponentCount::Count(count)),
        (Err(_), Ok(share)) if share > 0.0 && share < 1.0 => Ok(ComponentCount::VarianceFraction(share)),
        _ if text == "auto" => Ok(ComponentCount::Auto),
        _ => Err("give a whole number, a share between 0 and 1, or auto".into()),
    }
}

pub(super) fn center(text: &str) -> Result<CenterChoice, String> {
    let named = [Center::Mean, Center::Median, Center::SpatialMedian, Center::None];
    match named.into_iter().find(|center| center.name() == text) {
        Some(center) => Ok(CenterChoice::Named(center)),
        None if text.to_lowercase().ends_with(".npy") => Ok(CenterChoice::File(text.into())),
        None => Err("give mean, median, spatial-median, none, or a .npy file".into()),
    }
}

/// Two counts with a colon between them, the first below the second.
pub(super) fn frame_range(text: &str) -> Result<Range<usize>, String> {
    let ends = text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match ends {
        Some((from, to)) if from < to => Ok(from..to),
        _ => Err("give two frames A:B, counted from 0, A below B; B itself is left out".into()),
    }
}

pub(super) fn angle(text: &str) -> Result<Angle, String> {
    if text == "auto" {
        return Ok(Angle::Auto);
    }
    text.parse().map(Angle::Degrees).map_err(|_| "give degrees above 0 and up to 90, or auto".into())
}

/// Bytes, or with K, M, G for powers of 1024.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let count = digits.parse::<u64>().map_err(|_| "give bytes, or a whole number with K, M or G, such as 500M")?;
    count.checked_mul(1 << shift).ok_or_else(|| "more bytes than 64 bits can count".into())
}

/// A time that is not negative.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let bad = "give seconds, such as 5 or 0.5";
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
    fn components_are_a_number_a_share_or_auto() {
        assert_eq!(components("3"), Ok(ComponentCount::Count(3)));
        assert_eq!(components("auto"), Ok(ComponentCount::Auto));
        assert_eq!(components("0.95"), Ok(ComponentCount::VarianceFraction(0.95)));
        for bad in ["two", "1.5", "-1", "-0.5", "NaN", ""] {
            assert!(components(bad).is_err(), "{bad}");
        }
    }
}
