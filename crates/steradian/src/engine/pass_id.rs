//! The label of a pass: its name, grid and digest, so that a total is never taken for that of another pass.

use serde::{Deserialize, Serialize};

use super::fold::{Fold, PairFold};
use super::grid::Grid;
use crate::codec::digest;
use crate::data::source::Shape;
use crate::error::{Error, Result};

/// What is known of a pass before it begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PassId {
    name: String,
    shape: Shape,
    cut: Tiling,
    /// A digest of the fold with all its numbers; none for pair passes. It notices a processor that computes other bits
    /// between passes.
    content: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Tiling {
    Leaves(Grid),
    Tiles(usize),
}

impl PassId {
    /// Of a pass over samples of this shape.
    pub(crate) fn of_pass<F: Fold>(fold: &F, shape: &Shape, grid: Grid) -> Self {
        let content = Some(digest(fold));
        Self { name: F::NAME.to_owned(), shape: shape.clone(), cut: Tiling::Leaves(grid), content }
    }

    /// Of a pass over pairs.
    pub(crate) fn of_pairs<F: PairFold>(fold: &F, shape: &Shape, tile_rows: usize) -> Self {
        Self { name: fold.name().to_owned(), shape: shape.clone(), cut: Tiling::Tiles(tile_rows), content: None }
    }

    /// Refuses what was kept of another pass than this one.
    pub(crate) fn expect(&self, kept: &Self, pass: usize) -> Result<()> {
        if self == kept {
            return Ok(());
        }
        let words = |label: &Self| {
            let Shape { samples, features, element, .. } = &label.shape;
            format!("\"{}\" over {samples} x {features} ({})", label.name, element.name())
        };
        let (then, now) = (words(kept), words(self));
        let what = match then == now {
            true => format!("{now} with other numbers than are computed here, as on a processor of another kind"),
            false => format!("{then}, but here it is {now}"),
        };
        Err(Error::invalid_argument(format!(
            "pass {pass} of the checkpoint is {what}; go on with the program and the machine that began, or remove the \
             checkpoint to begin anew"
        )))
    }
}
