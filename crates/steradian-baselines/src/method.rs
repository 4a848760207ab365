//! The methods of this crate and their presets.

use steradian::config::Weighting;
use steradian::{ComponentCount, Config, Method};

/// Classical PCA by expectation maximization (Roweis 1998).
pub const EMPCA: Method = Method::other("empca");
/// Angular embedding (Liu and Yu 2021) by the iteration of [`EMPCA`], without a matrix decomposition.
pub const EMAE: Method = Method::other("emae");
/// The Grassmann average (Hauberg et al. 2014).
pub const GA: Method = Method::other("ga");
/// The trimmed Grassmann average (Hauberg et al. 2014).
pub const TGA: Method = Method::other("tga");
/// Principal component pursuit (Candes et al. 2011): a low-rank and a sparse part.
pub const PCP: Method = Method::other("pcp");

/// The methods of this crate, in the order in which help lists them.
pub static BASELINES: [Method; 5] = [EMPCA, EMAE, GA, TGA, PCP];

/// Name of the parameter of Grassmann averages: the fraction of samples removed at each end of a feature, from 0 to
/// 0.5; 0.5 gives the median.
pub const TRIM: &str = "trim";

/// True if a method is one of [`BASELINES`].
pub fn is_baseline(method: Method) -> bool {
    BASELINES.contains(&method)
}

/// True if a method fits by passes over the data; the other methods of this crate read them into memory.
pub fn fits_by_passes(method: Method) -> bool {
    !matches!(method, GA | TGA | PCP)
}

/// The preset of any method, of this crate or of `steradian`.
pub fn preset(method: Method, components: impl Into<ComponentCount>) -> Config {
    let config = Config::new(method, components);
    match method {
        EMPCA => config.with_tolerance(1e-4),
        EMAE => config.with_tolerance(1e-4).with_weighting(Weighting::InverseNorm),
        GA => config.with_tolerance(1e-4).with_parameter(TRIM, 0.0),
        TGA => config.with_tolerance(1e-4).with_parameter(TRIM, 0.5),
        PCP => config.with_tolerance(1e-7),
        _ => config,
    }
}

/// The parameter [`TRIM`] of a configuration; 0 by default.
pub(crate) fn trim(config: &Config) -> f64 {
    config.parameter(TRIM).unwrap_or(0.0)
}
