//! `steradian transform`: writes the scores of samples, n x d.

use steradian::Model;
use steradian::data::Shape;

use crate::apply::Apply;
use crate::args::ApplyArgs;
use crate::outcome::CommandResult;

/// Writes the scores of all samples.
pub fn run(args: &ApplyArgs) -> CommandResult {
    let shape = |model: &Model, data: &Shape| vec![data.samples, model.n_components()];
    Apply { name: "transform", shape, block: Model::transform_block, robust: Model::robust_transform_block }.run(args)
}
