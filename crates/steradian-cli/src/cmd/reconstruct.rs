//! `steradian reconstruct`: writes the projections of samples onto the subspace, in the shape of the data.

use steradian::Model;
use steradian::data::Shape;

use crate::apply::{Apply, sides};
use crate::args::ApplyArgs;
use crate::outcome::CommandResult;

/// Writes the reconstructions of all samples.
pub fn run(args: &ApplyArgs) -> CommandResult {
    Apply { name: "reconstruct", shape, block: Model::reconstruct_block, robust: Model::robust_reconstruct_block }
        .run(args)
}

fn shape(_: &Model, data: &Shape) -> Vec<usize> {
    sides(data)
}
