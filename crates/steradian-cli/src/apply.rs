//! Streaming application of a model to data, block by block, for `transform` and `reconstruct`.

use steradian::data::{Block, Shape};
use steradian::{Model, Result, Source};
use steradian_io::{NpyWriter, OutputPath, check_outputs};

use crate::args::ApplyArgs;
use crate::files;
use crate::outcome::{CommandResult, warn};
use crate::render::print;
use crate::session::{Session, notes};
use crate::terminal;

/// An operation of a model on blocks.
pub struct Apply {
    /// Name in the progress bar.
    pub name: &'static str,
    /// Shape of the output.
    pub shape: fn(&Model, &Shape) -> Vec<usize>,
    /// Output of a block, row-major, with ordinary scores.
    pub block: fn(&Model, &Block<'_>) -> Result<Vec<f64>>,
    /// Output of a block, row-major, with robust scores.
    pub robust: fn(&Model, &Block<'_>) -> Result<Vec<f64>>,
}

impl Apply {
    /// Applies the model to all blocks and writes the output array.
    pub fn run(&self, args: &ApplyArgs) -> CommandResult {
        check_outputs(&[&args.model, &args.data], &[OutputPath::File(&args.output)])?;
        let model = files::read_model(&args.model)?;
        let work = Session::begin(args.threads)?;
        let data = work.open(
            &args.data,
            &args.table.options(args.missing.rule(model.config.missing())),
            &args.decoding.limits(),
        )?;
        model.check_features(&data)?;
        let notes = notes(&data);
        let shape = (self.shape)(&model, data.shape());
        let element = Model::output_element(data.shape().element);
        let apply = if args.robust_scores || model.config.robust_scores() { self.robust } else { self.block };
        work.begin_writing();
        let mut writer = NpyWriter::create(&args.output, element, &shape)?;
        work.runner()
            .for_each_block(self.name, &data, model.block_rows(), |block| writer.write(&apply(&model, block)?))?;
        work.finish()?;
        writer.finish()?;
        notes.iter().for_each(|note| warn(note));
        let sides: Vec<_> = shape.iter().map(usize::to_string).collect();
        print(&format!("wrote {}: {} {element}\n", terminal::path(&args.output), sides.join(" x ")))
    }
}

/// The dimensions of an array in the shape of the data: (n, h, w) for images, (n, D) otherwise.
pub fn sides(data: &Shape) -> Vec<usize> {
    match data.image {
        Some((height, width)) => vec![data.samples, height, width],
        None => vec![data.samples, data.features],
    }
}
