//! `steradian reconstruct`: projections of samples onto the subspace, in the shape of the data.

use steradian::{Model, Shape};

use crate::apply::{Apply, sides};
use crate::args::ApplyArgs;
use crate::outcome::Outcome;

/// Streams reconstructions into a file.
pub fn run(args: &ApplyArgs) -> Outcome {
    Apply { name: "reconstruct", shape, block: Model::reconstruct_block, robust: Model::robust_reconstruct_block }
        .run(args)
}

fn shape(_: &Model, data: &Shape) -> Vec<usize> {
    sides(data)
}
