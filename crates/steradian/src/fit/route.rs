//! The route of an embedding: the matrices that are formed and where its center is found, decided in one place.

use super::robust::SCATTER_FEATURES;
use crate::config::Config;
use crate::config::options::Solver;
use crate::config::screen::Screen;
use crate::data::source::Shape;
use crate::solver::gram;

/// The route of one embedding of samples of some shape. The plan estimates its cost, the stages follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The scatter matrix (D x D).
    Scatter,
    /// Block Krylov iteration by passes.
    Krylov,
    /// The Gram matrix (n x n) of each decomposition; with `center_within` the center is found within the first one.
    Gram { center_within: bool },
}

impl Route {
    /// The route of a configuration with this solver for samples of this shape.
    pub(crate) fn new(config: &Config, shape: &Shape, solver: Solver) -> Self {
        match solver {
            Solver::Scatter => Self::Scatter,
            Solver::Krylov | Solver::Auto => Self::Krylov,
            Solver::Gram => {
                let screened = matches!(config.screen, Screen::Outlyingness(_));
                Self::Gram { center_within: !screened && gram::finds_center(&config.center, shape.element) }
            }
        }
    }
}

/// The solver of the last eigenproblem: the D x D matrix where it is small, otherwise passes.
pub(super) fn robust_solver(shape: &Shape) -> Solver {
    if shape.features <= SCATTER_FEATURES { Solver::Scatter } else { Solver::Krylov }
}
