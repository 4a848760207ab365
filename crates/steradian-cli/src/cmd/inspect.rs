//! `steradian inspect`: prints the contents of a model file.

use serde_json::{Value, json};
use steradian::Model;

use crate::args::InspectArgs;
use crate::cmd::fit::components;
use crate::files;
use crate::model_json::model_json;
use crate::outcome::CommandResult;
use crate::render::{key_value_lines, number, print, print_json};

/// Reads a model and prints it.
pub fn run(args: &InspectArgs) -> CommandResult {
    let model = files::read_model(&args.model)?;
    if args.json { print_json(&json(&model)) } else { print(&summary(&model)) }
}

/// The metadata of the file, the keys of `fit --json` and the cutoffs; null where a figure does not apply or is NaN.
fn json(model: &Model) -> Value {
    let mut object = model.metadata();
    object.as_object_mut().into_iter().for_each(|keys| keys.extend(model_json(model)));
    object["cutoffs"] = json!(model.diagnostics.cutoffs);
    object
}

fn summary(model: &Model) -> String {
    let metadata = model.metadata();
    let mut lines = Vec::new();
    for (name, value) in metadata.as_object().into_iter().flatten() {
        match value {
            Value::Object(parts) => {
                lines.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), plain(value))));
            }
            _ => lines.push((name.clone(), plain(value))),
        }
    }
    lines.push(("support".into(), format!("{} of {}", model.n_support(), model.shape.samples)));
    let cutoffs = model.diagnostics.cutoffs.map(number);
    lines.push(("cutoffs".into(), format!("score {}, orthogonal {}", cutoffs[0], cutoffs[1])));
    let lines: Vec<_> = lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    format!("{}\n{}", key_value_lines(&lines), components(model))
}

/// A JSON value without quotes; `-` for null.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}
