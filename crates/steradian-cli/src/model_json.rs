//! JSON keys of a model that `fit --json` and `inspect --json` have in common.

use serde_json::{Map, Value, json};
use steradian::Model;

use crate::render::solver_name;

/// The figures of a model; null where a figure does not apply or is NaN.
pub fn model_json(model: &Model) -> Map<String, Value> {
    let Value::Object(keys) = json!({
        "method": model.method().name(),
        "parameters": model.metadata()["parameters"],
        "solver": solver_name(model.method(), model.solver()),
        "n_samples": model.shape.samples,
        "n_features": model.n_features(),
        "n_components": model.n_components(),
        "n_support": model.n_support(),
        "pivot": model.report.cone.as_ref().map(|cone| cone.pivot),
        "tau_min": model.report.cone.as_ref().map(|cone| cone.tau_min()),
        "angular_eigenvalues": model.subspace.angular_eigenvalues,
        "explained_variance": model.diagnostics.explained_variance,
        "passes": model.report.passes,
        "residual": model.report.certificate.residual,
        "sine_bound": model.report.certificate.sine_bound,
        "converged": model.report.certificate.converged,
    }) else {
        unreachable!("the literal is an object")
    };
    keys
}

/// The label of a feature: its name, or `f` and its index.
pub fn feature_label(model: &Model, feature: usize) -> String {
    model.feature_names.as_ref().map_or_else(|| format!("f{feature}"), |names| names[feature].clone())
}
