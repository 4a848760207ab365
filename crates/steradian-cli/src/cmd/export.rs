//! `steradian export`: writes the components to a table or an array, one per row.

use std::path::Path;

use steradian::data::ElementType;
use steradian::{Error, Model, Result};
use steradian_io::{OutputPath, check_outputs};

use crate::args::ExportArgs;
use crate::files;
use crate::interrupt::{self, Phase};
use crate::model_json::feature_label;
use crate::outcome::CommandResult;
use crate::render::print;
use crate::terminal;

/// Reads a model and writes its components.
pub fn run(args: &ExportArgs) -> CommandResult {
    let extension = args.output.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
    let write = match extension.as_deref() {
        Some("csv") => write_csv,
        Some("npy") => write_npy,
        _ => {
            let path = args.output.display();
            return Err(
                Error::invalid_argument(format!("{path}: the extension is not supported; use .csv or .npy")).into()
            );
        }
    };
    check_outputs(&[&args.model], &[OutputPath::File(&args.output)])?;
    let model = files::read_model(&args.model)?;
    interrupt::enter(Phase::Writing);
    write(&args.output, &model)?;
    let (d, features) = (model.n_components(), model.n_features());
    print(&format!("wrote {}: {d} components x {features} features\n", terminal::path(&args.output)))
}

fn write_csv(path: &Path, model: &Model) -> Result<()> {
    let names: Vec<String> = (0..model.n_features()).map(|feature| feature_label(model, feature)).collect();
    steradian_io::write_csv(path, Some(&names), &model.subspace.components)
}

fn write_npy(path: &Path, model: &Model) -> Result<()> {
    let shape = [model.n_components(), model.n_features()];
    let mut writer = steradian_io::NpyWriter::create(path, ElementType::F64, &shape)?;
    writer.write(model.subspace.components.data())?;
    writer.finish()
}
