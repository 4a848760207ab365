//! Methods: named presets of center, screen, weighting and loss.

use serde::{Deserialize, Serialize};

/// A method: a named preset of center, screen and weighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The paper's angular embedding: mean center, everyone, unit directions.
    Ae,
    /// The paper's trimmed form: mean center, cone of 60 degrees.
    Tae,
    /// Angular embedding around the spatial median (spherical PCA of Locantore et al. 1999).
    Angular,
    /// Outlyingness screen, spatial median, sum of sines: withstands almost half of the samples being wrong.
    Robust,
    /// The robust method with single bad cells cleaned.
    Cells,
    /// Classical PCA.
    Pca,
    /// Made for clips: what the crate `steradian-clips` begins from, angular embedding around the median of each pixel.
    Scene,
    /// Classical PCA by expectation maximisation (Roweis 1998); a baseline.
    Empca,
    /// The paper's angular embedding by the same iteration, without a matrix decomposition; a baseline.
    Emae,
    /// The Grassmann average (Hauberg et al. 2014); a baseline.
    Ga,
    /// The trimmed Grassmann average; a baseline.
    Tga,
    /// Principal component pursuit (Candes et al. 2011): a low-rank and a sparse part; a baseline.
    Pcp,
}

impl Method {
    /// Those of this crate, in the order in which help lists them.
    pub const ALL: [Self; 6] = [Self::Robust, Self::Cells, Self::Angular, Self::Ae, Self::Tae, Self::Pca];

    /// Those that others published and the crate `steradian-baselines` fits.
    pub const BASELINES: [Self; 5] = [Self::Empca, Self::Emae, Self::Ga, Self::Tga, Self::Pcp];

    /// Whether it is one of [`Method::BASELINES`].
    pub fn is_baseline(self) -> bool {
        Self::BASELINES.contains(&self)
    }

    /// Whether it fits by passes over the data; the others read them once and then work in memory.
    pub fn fits_by_passes(self) -> bool {
        !matches!(self, Self::Ga | Self::Tga | Self::Pcp)
    }

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ae => "ae",
            Self::Tae => "tae",
            Self::Angular => "angular",
            Self::Robust => "robust",
            Self::Cells => "cells",
            Self::Pca => "pca",
            Self::Scene => "scene",
            Self::Empca => "empca",
            Self::Emae => "emae",
            Self::Ga => "ga",
            Self::Tga => "tga",
            Self::Pcp => "pcp",
        }
    }
}
