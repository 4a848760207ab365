//! `steradian inspect`: the contents of a model file.

use serde_json::{Value, json};
use steradian::Model;

use crate::args::InspectArgs;
use crate::cmd::fit::components;
use crate::files;
use crate::outcome::Outcome;
use crate::render::{key_value_lines, number, print, print_json};

/// Reads a model and prints it.
pub fn run(args: &InspectArgs) -> Outcome {
    let model = files::read_model(&args.model)?;
    if args.json { print_json(&json(&model)) } else { print(&summary(&model)) }
}

/// The metadata of the file with the small tensors; what is not a number is null.
fn json(model: &Model) -> Value {
    let mut object = model.metadata();
    object["shares"] = json!(model.angular_eigenvalues);
    object["variances"] = json!(model.explained_variance);
    object["cutoffs"] = json!(model.cutoffs);
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
    lines.push(("kept".into(), format!("{} of {}", model.n_support(), model.shape.samples)));
    let cutoffs = model.cutoffs.map(number);
    lines.push(("cutoffs".into(), format!("score {}, orthogonal {}", cutoffs[0], cutoffs[1])));
    let lines: Vec<_> = lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    format!("{}\n{}", key_value_lines(&lines), components(model))
}

/// A json value without quotes; what is null does not apply.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}
