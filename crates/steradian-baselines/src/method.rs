//! The methods of this crate and their presets.

use steradian::{ComponentCount, Config, Method, Weighting};

/// Classical PCA by expectation maximization (Roweis 1998).
pub const EMPCA: Method = Method::other("empca");
/// The paper's angular embedding by the same iteration, without a matrix decomposition.
pub const EMAE: Method = Method::other("emae");
/// The Grassmann average (Hauberg et al. 2014).
pub const GA: Method = Method::other("ga");
/// The trimmed Grassmann average.
pub const TGA: Method = Method::other("tga");
/// Principal component pursuit (Candes et al. 2011): a low-rank and a sparse part.
pub const PCP: Method = Method::other("pcp");

/// The methods of this crate, in the order in which help lists them.
pub static BASELINES: [Method; 5] = [EMPCA, EMAE, GA, TGA, PCP];

/// The parameter of Grassmann averages: the fraction of samples left out at each end of a feature, up to 0.5, its median.
pub const TRIM: &str = "trim";

/// Whether a method is one of [`BASELINES`].
pub fn is_baseline(method: Method) -> bool {
    BASELINES.contains(&method)
}

/// Whether a method fits by passes over the data; the others read them once and then work in memory.
pub fn fits_by_passes(method: Method) -> bool {
    !matches!(method, GA | TGA | PCP)
}

/// The preset of any method, of this crate or of `steradian`.
pub fn preset(method: Method, components: impl Into<ComponentCount>) -> Config {
    let mut config = Config::new(method, components);
    match method {
        EMPCA | GA | TGA => config.tolerance = 1e-4,
        EMAE => (config.tolerance, config.weighting) = (1e-4, Weighting::InverseNorm),
        PCP => config.tolerance = 1e-7,
        _ => {}
    }
    if matches!(method, GA | TGA) {
        config.other.insert(TRIM.to_owned(), if method == TGA { 0.5 } else { 0.0 });
    }
    config
}

/// The trim of a configuration.
pub(crate) fn trim(config: &Config) -> f64 {
    config.other.get(TRIM).copied().unwrap_or(0.0)
}
