//! The identity of a pass: its name, grid and digest, which a stored total must match.

use serde::{Deserialize, Serialize};

use super::fold::{Fold, PairFold};
use super::grid::Grid;
use crate::codec::digest;
use crate::data::source::Shape;
use crate::error::{Error, Result};

/// Properties that identify a pass before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PassId {
    name: String,
    shape: Shape,
    tiling: Tiling,
    /// Digest of the fold with all its values; `None` for pair passes. It differs if another CPU computed other values
    /// between the passes.
    content: Option<u64>,
}

/// Division of the rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Tiling {
    Leaves(Grid),
    Tiles(usize),
}

impl PassId {
    /// The identity of a pass over samples of this shape.
    pub(crate) fn of_pass<F: Fold>(fold: &F, shape: &Shape, grid: Grid) -> Self {
        let content = Some(digest(fold));
        Self { name: F::NAME.to_owned(), shape: shape.clone(), tiling: Tiling::Leaves(grid), content }
    }

    /// The identity of a pair pass.
    pub(crate) fn of_pairs<F: PairFold>(fold: &F, shape: &Shape, tile_rows: usize) -> Self {
        Self { name: fold.name().to_owned(), shape: shape.clone(), tiling: Tiling::Tiles(tile_rows), content: None }
    }

    /// Rejects the stored state of another pass than this one.
    pub(crate) fn expect(&self, stored: &Self, pass: usize) -> Result<()> {
        if self == stored {
            return Ok(());
        }
        let describe = |id: &Self| {
            let Shape { samples, features, element, .. } = &id.shape;
            format!("\"{}\", {samples} x {features} {}", id.name, element.name())
        };
        let (then, now) = (describe(stored), describe(self));
        Err(Error::invalid_argument(match then == now {
            true => format!(
                "checkpoint pass {pass} ({now}) has different intermediate values, for example from a CPU with \
                 another instruction set; resume on the original machine or delete the checkpoint"
            ),
            false => format!(
                "checkpoint pass {pass} is {then}, expected {now}; resume with the version that wrote it or delete \
                 the checkpoint"
            ),
        }))
    }
}
