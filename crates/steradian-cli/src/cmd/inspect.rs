//! `steradian inspect`: prints the contents of a model file.

use serde_json::{Value, json};
use steradian::Model;
use steradian::model::CutoffKind;

use crate::args::InspectArgs;
use crate::cmd::fit::components;
use crate::files;
use crate::model_json::{feature_label, model_json};
use crate::outcome::CommandResult;
use crate::render::{key_value_lines, number, print, print_json, table};

/// Largest number of features in the table of loadings.
const MAX_FEATURES: usize = 40;
/// Largest number of components in the table of loadings.
const MAX_COMPONENTS: usize = 8;

/// Reads a model and prints it.
pub fn run(args: &InspectArgs) -> CommandResult {
    let model = files::read_model(&args.model)?;
    if args.json { print_json(&json(&model)) } else { print(&summary(&model)) }
}

/// The metadata of the file, the keys of `fit --json` and both pairs of cutoffs; null where a figure does not apply or is NaN.
fn json(model: &Model) -> Value {
    let mut object = model.metadata();
    object.as_object_mut().into_iter().for_each(|keys| keys.extend(model_json(model)));
    object["cutoffs"] = json!(model.cutoffs(CutoffKind::Training));
    object["cutoffs_new"] = json!(model.cutoffs(CutoffKind::New));
    object
}

fn summary(model: &Model) -> String {
    let metadata = model.metadata();
    let mut lines = Vec::new();
    // The loadings have the names of the features.
    for (name, value) in metadata.as_object().into_iter().flatten().filter(|(name, _)| *name != "feature_names") {
        match value {
            Value::Object(parts) => {
                lines.extend(parts.iter().map(|(part, value)| (format!("{name}.{part}"), plain(value))));
            }
            _ => lines.push((name.clone(), plain(value))),
        }
    }
    lines.push(("support".into(), format!("{} of {}", model.n_support(), model.shape.samples)));
    for (name, kind) in [("cutoffs", CutoffKind::Training), ("cutoffs of new samples", CutoffKind::New)] {
        let [score, orthogonal] = model.cutoffs(kind).map(number);
        lines.push((name.into(), format!("score distance {score}, orthogonal distance {orthogonal}")));
    }
    let lines: Vec<_> = lines.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    format!(
        "{}\nImportance of components\n{}\nLoadings\n{}",
        key_value_lines(&lines),
        components(model),
        loadings(model)
    )
}

/// The loadings, one row per feature; of many features those with the largest loadings, in data order.
fn loadings(model: &Model) -> String {
    let (components, features) = (&model.subspace.components, model.n_features());
    let shown = model.n_components().min(MAX_COMPONENTS);
    let largest = |feature: usize| (0..shown).map(|k| components.row(k)[feature].abs()).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..features).collect();
    order.sort_by(|&a, &b| largest(b).total_cmp(&largest(a)).then(a.cmp(&b)));
    order.truncate(MAX_FEATURES);
    order.sort_unstable();
    let row = |&feature: &usize| {
        let loading = |k: usize| format!("{:.4}", components.row(k)[feature]);
        [feature_label(model, feature)].into_iter().chain((0..shown).map(loading)).collect()
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).collect();
    let names: Vec<String> = (0..shown).map(|k| format!("component {k}")).collect();
    let header: Vec<&str> = std::iter::once("feature").chain(names.iter().map(String::as_str)).collect();
    let mut text = table(&header, &rows);
    if features > MAX_FEATURES || model.n_components() > shown {
        text += &format!(
            "{} of {features} features and {shown} of {} components; `steradian export` writes all\n",
            rows.len(),
            model.n_components()
        );
    }
    text
}

/// A JSON value without quotes; `-` for null.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}
