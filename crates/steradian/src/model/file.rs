//! Model files: safetensors, format 2. Equal fits give equal bytes; format 1 is read, too.
//!
//! | array | type | shape | present |
//! |---|---|---|---|
//! | `center` | f64 | D | always |
//! | `components` | f64 | d x D | always |
//! | `angular_eigenvalues` | f64 | d | where the components are eigenvectors on the sphere |
//! | `explained_variance` | f64 | d | always |
//! | `support` | u8 | n | always |
//! | `cutoffs` | f64 | 2 | always |
//! | `scale` | f64 | D | where features were scaled |
//! | `cell_limits` | f64 | D | `robust`, `cells`, `rows`; in older files of `cells`, three times as large |
//! | `cell_location`, `cell_spread`, `cell_scales`, `cell_scales_new` | f64 | D | `robust`, `cells`, `rows` |
//! | `score_center`, `score_variance`, `cutoffs_new` | f64 | d, d, 2 | `robust`, `cells`, `rows` |
//! | `tau` | i64 | n | cone only |
//!
//! All other arrays are those of other crates, in f64. The metadata have one key, `steradian`, with a JSON object of sorted keys.

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::extras::Extra;
use super::{Cellwise, Certificate, CleanedCells, Diagnostics, FitReport, Model, Subspace};
use crate::cellwise::RowModel;
use crate::cellwise::row_model::scale_features;
use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::{Center, Solver};
use crate::config::screen::Screen;
use crate::data::element::ElementType;
use crate::data::source::Shape;
use crate::error::{Error, Result};
use crate::memory::{self, CollectReserved};
use crate::numeric::linalg::Matrix;
use crate::screen::report::{ConeReport, Elimination};

/// The version of the format that is written.
const FORMAT: u64 = 2;
/// The versions of the format that are read.
const READ: std::ops::RangeInclusive<u64> = 1..=FORMAT;
/// The arrays of this crate, under their names in format 2 and in format 1; others are extras.
const ARRAYS: [(&str, &str); 16] = [
    ("center", "center"),
    ("components", "components"),
    ("cutoffs", "cutoffs"),
    ("support", "kept"),
    ("angular_eigenvalues", "shares"),
    ("explained_variance", "variances"),
    ("scale", "scale"),
    ("cell_limits", "cell_limits"),
    ("tau", "tau"),
    ("cell_location", "cell_location"),
    ("cell_spread", "cell_spread"),
    ("cell_scales", "cell_scales"),
    ("cell_scales_new", "cell_scales_new"),
    ("score_center", "score_center"),
    ("score_variance", "score_variance"),
    ("cutoffs_new", "cutoffs_new"),
];
/// The one metadata key.
const KEY: &str = "steradian";

/// The metadata of a model file. The aliases are the names of format 1.
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    certificate: Certificate,
    /// True if bad cells are detected; absent for methods without scales of cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cleans: Option<bool>,
    #[serde(alias = "cleaned_share")]
    cleaned_fraction: Option<f64>,
    #[serde(alias = "element")]
    dtype: ElementType,
    elimination: Option<Elimination>,
    /// Absent where the data had none, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feature_names: Option<Vec<String>>,
    format: u64,
    #[serde(alias = "image")]
    image_size: Option<[usize; 2]>,
    iterations: Vec<usize>,
    method: Method,
    n_components: usize,
    #[serde(alias = "chosen")]
    n_components_reason: Option<String>,
    #[serde(alias = "n_kept")]
    n_support: usize,
    /// The variance of a cell around the subspace; absent for methods without scales of cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise_variance: Option<f64>,
    objective: Vec<f64>,
    /// The configuration without the method and the seed, which have keys of their own.
    parameters: Map<String, Value>,
    passes: usize,
    pivot: Option<usize>,
    seed: u64,
    shape: [usize; 2],
    solver: Solver,
    tau_min: Option<i64>,
    total_variance: Option<f64>,
    warnings: Vec<String>,
}

/// The parameters of a configuration by the names of reports. With the report of a cone, `max_angle` is the angle that was
/// used; a given center is the array `center`.
pub(crate) fn parameters(config: &Config, cone: Option<&ConeReport>) -> Map<String, Value> {
    let Ok(Value::Object(mut parameters)) = serde_json::to_value(config) else {
        unreachable!("a configuration is a list of names and values");
    };
    parameters.remove("method");
    parameters.remove("seed");
    if let Center::Given(_) = config.center {
        parameters.insert("center".to_owned(), json!("given"));
    }
    if let (Screen::Cone(_), Some(cone)) = (&config.screen, cone) {
        parameters.insert("max_angle".to_owned(), json!(cone.max_angle));
        parameters.insert("exact".to_owned(), json!(cone.elimination.is_none()));
    }
    parameters
}

impl Model {
    /// The metadata of the model file: everything but its arrays, with sorted keys.
    pub fn metadata(&self) -> Value {
        let (config, report, cone) = (&self.config, &self.report, self.report.cone.as_ref());
        sorted(json!(Metadata {
            certificate: report.certificate,
            cleans: self.diagnostics.cellwise.as_ref().map(|cellwise| cellwise.rows.cleans),
            cleaned_fraction: match (&self.diagnostics.cellwise, &self.diagnostics.cells) {
                (Some(cellwise), _) => Some(cellwise.bad_fraction),
                (None, cells) => cells.as_ref().map(|cells| cells.fraction),
            },
            dtype: self.shape.element,
            elimination: cone.and_then(|cone| cone.elimination),
            feature_names: self.feature_names.clone(),
            format: FORMAT,
            image_size: self.shape.image.map(|(height, width)| [height, width]),
            iterations: report.iterations.clone(),
            method: config.method,
            n_components: self.n_components(),
            n_components_reason: report.n_components_reason.clone(),
            n_support: self.n_support(),
            noise_variance: self.diagnostics.cellwise.as_ref().map(|cellwise| cellwise.rows.noise),
            objective: report.objective.clone(),
            parameters: parameters(config, cone),
            passes: report.passes,
            pivot: cone.map(|cone| cone.pivot),
            seed: config.seed,
            shape: [self.shape.samples, self.n_features()],
            solver: report.solver,
            tau_min: cone.map(ConeReport::tau_min),
            total_variance: self.diagnostics.total_variance,
            warnings: report.warnings.clone(),
        }))
    }

    /// The bytes of the model file.
    ///
    /// # Errors
    /// If safetensors rejects an array.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let Subspace { center, scale, components, angular_eigenvalues } = &self.subspace;
        let Diagnostics { explained_variance, cutoffs, cells, cellwise, .. } = &self.diagnostics;
        let (d, features, n) = (self.n_components(), self.n_features(), self.report.support.len());
        let le_bytes = |values: &[f64]| {
            let mut bytes = memory::reserved(values.len() * 8);
            values.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
            bytes
        };
        let mut arrays: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = vec![
            ("center", Dtype::F64, vec![features], le_bytes(center)),
            ("components", Dtype::F64, vec![d, features], le_bytes(components.data())),
            ("cutoffs", Dtype::F64, vec![2], le_bytes(cutoffs)),
            ("support", Dtype::U8, vec![n], self.report.support.iter().map(|&active| u8::from(active)).collect()),
            ("explained_variance", Dtype::F64, vec![d], le_bytes(explained_variance)),
        ];
        if let Some(values) = angular_eigenvalues {
            arrays.push(("angular_eigenvalues", Dtype::F64, vec![d], le_bytes(values)));
        }
        if let Some(scale) = scale {
            arrays.push(("scale", Dtype::F64, vec![features], le_bytes(scale)));
        }
        if let Some(cells) = cells {
            arrays.push(("cell_limits", Dtype::F64, vec![features], le_bytes(&cells.limits)));
        }
        if let Some(Cellwise { rows, score_center, score_variances, cutoffs_new, cell_scales, cell_scales_new, .. }) = cellwise {
            let features_of = [
                ("cell_limits", &rows.limits),
                ("cell_location", &rows.location),
                ("cell_spread", &rows.scale),
                ("cell_scales", cell_scales),
                ("cell_scales_new", cell_scales_new),
            ];
            arrays.extend(features_of.map(|(name, list)| (name, Dtype::F64, vec![features], le_bytes(list))));
            arrays.push(("score_center", Dtype::F64, vec![d], le_bytes(score_center)));
            arrays.push(("score_variance", Dtype::F64, vec![d], le_bytes(score_variances)));
            arrays.push(("cutoffs_new", Dtype::F64, vec![2], le_bytes(cutoffs_new)));
        }
        for (name, extra) in &self.extras {
            arrays.push((name, Dtype::F64, extra.shape.clone(), le_bytes(&extra.values)));
        }
        if let Some(cone) = &self.report.cone {
            arrays.push(("tau", Dtype::I64, vec![n], cone.tau.iter().flat_map(|t| t.to_le_bytes()).collect()));
        }
        let views = arrays
            .iter()
            .map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(unwritable)?;
        let text = self.metadata().to_string();
        if text.len() > most_metadata_bytes(features) {
            return Err(Error::invalid_data(format!(
                "the model cannot be written: its metadata have {} bytes",
                text.len()
            )));
        }
        let metadata = HashMap::from([(KEY.to_owned(), text)]);
        safetensors::serialize(views, Some(metadata)).map_err(unwritable)
    }

    /// Reads a model file of format 1 or 2.
    ///
    /// # Errors
    /// For other formats, and for metadata and arrays that are missing or of the wrong shape.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| not_a_model(e.to_string()))?;
        let text = header
            .metadata()
            .as_ref()
            .and_then(|m| m.get(KEY))
            .ok_or_else(|| not_a_model(format!("metadata key `{KEY}` is missing")))?;
        let most = most_metadata_bytes(header.info("center").and_then(|info| info.shape.first()).copied().unwrap_or(0));
        if text.len() > most {
            return Err(not_a_model(format!("metadata of {} bytes, expected at most {most}", text.len())));
        }
        let invalid = |e: serde_json::Error| not_a_model(format!("metadata: {e}"));
        let Version { format } = serde_json::from_str(text).map_err(invalid)?;
        let format = format.ok_or_else(|| not_a_model("the format version is missing"))?;
        if !READ.contains(&format) {
            return Err(Error::invalid_data(format!(
                "the model has format version {format}; this version of steradian reads {} to {}: use the one that wrote it",
                READ.start(),
                READ.end()
            )));
        }
        let metadata: Metadata = serde_json::from_str(text).map_err(invalid)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| not_a_model(e.to_string()))?;
        Reader { tensors, metadata }.model()
    }
}

/// The format version alone, which decides how the rest is read.
#[derive(Deserialize)]
struct Version {
    format: Option<u64>,
}

/// Largest size of the metadata of a model with this many features. JSON needs many times its size when it is read.
fn most_metadata_bytes(features: usize) -> usize {
    features.saturating_mul(256).saturating_add(4 << 20)
}

fn not_a_model(what: impl std::fmt::Display) -> Error {
    Error::invalid_data(format!("not a steradian model: {what}"))
}

fn unwritable(error: safetensors::SafeTensorError) -> Error {
    Error::invalid_data(format!("the model cannot be written: {error}"))
}

/// JSON with the keys of every object in order, whatever map the JSON crate was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<String, Value> = map.into_iter().collect();
            Value::Object(ordered.into_iter().map(|(k, v)| (k, sorted(v))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
    metadata: Metadata,
}

impl Reader<'_> {
    /// The name of an array in the format of the file.
    fn stored_name<'n>(&self, name: &'n str) -> &'n str {
        let former = ARRAYS.iter().find(|(current, _)| *current == name).map(|(_, former)| *former);
        if self.metadata.format == 1 { former.unwrap_or(name) } else { name }
    }

    fn has(&self, name: &str) -> bool {
        self.tensors.tensor(self.stored_name(name)).is_ok()
    }

    fn array(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&[u8]> {
        let name = self.stored_name(name);
        let tensor = self.tensors.tensor(name).map_err(|_| not_a_model(format!("array `{name}` is missing")))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            return Err(not_a_model(format!(
                "array `{name}` is {:?} {:?}; expected {dtype:?} {shape:?}",
                tensor.dtype(),
                tensor.shape()
            )));
        }
        Ok(tensor.data())
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let bytes = self.array(name, Dtype::F64, shape)?;
        Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect_reserved())
    }

    fn optional(&self, name: &str, length: usize) -> Result<Option<Vec<f64>>> {
        if self.has(name) { self.floats(name, &[length]).map(Some) } else { Ok(None) }
    }

    fn model(self) -> Result<Model> {
        let d = self.metadata.n_components;
        let [samples, features] = self.metadata.shape;
        let subspace = Subspace {
            center: self.floats("center", &[features])?,
            scale: self.optional("scale", features)?,
            components: Matrix::from_vec(d, features, self.floats("components", &[d, features])?),
            // Format 1 has NaN where there are no angular eigenvalues.
            angular_eigenvalues: self
                .optional("angular_eigenvalues", d)?
                .filter(|values| !values.iter().all(|value| value.is_nan())),
        };
        let config = self.config(&subspace.center)?;
        let cutoffs = self.floats("cutoffs", &[2])?;
        let explained_variance = self.floats("explained_variance", &[d])?;
        let cellwise = self.cellwise(&subspace, &explained_variance)?;
        let diagnostics = Diagnostics {
            explained_variance,
            total_variance: self.metadata.total_variance,
            cutoffs: [cutoffs[0], cutoffs[1]],
            cells: match (self.optional("cell_limits", features)?, self.metadata.cleaned_fraction) {
                _ if cellwise.is_some() => None,
                (Some(limits), Some(fraction)) => Some(CleanedCells { limits, fraction }),
                (Some(_), None) => return Err(not_a_model("metadata: `cleaned_fraction` is missing")),
                (None, _) => None,
            },
            cellwise,
        };
        let extras = self.extras()?;
        let support = self.support(samples)?;
        let cone = self.cone(&config, samples)?;
        let metadata = self.metadata;
        if let Some(names) = metadata.feature_names.as_ref().filter(|names| names.len() != features) {
            return Err(not_a_model(format!("`feature_names` has {} names for {features} features", names.len())));
        }
        let model = Model {
            config,
            shape: Shape {
                samples,
                features,
                element: metadata.dtype,
                image: metadata.image_size.map(|[height, width]| (height, width)),
            },
            feature_names: metadata.feature_names,
            subspace,
            diagnostics,
            report: FitReport {
                solver: metadata.solver,
                support,
                cone,
                n_components_reason: metadata.n_components_reason,
                objective: metadata.objective,
                iterations: metadata.iterations,
                certificate: metadata.certificate,
                passes: metadata.passes,
                warnings: metadata.warnings,
            },
            extras,
        };
        model.check().map_err(not_a_model)?;
        Ok(model)
    }

    /// The scales of rows and cells, where the metadata have the variance of the noise.
    fn cellwise(&self, subspace: &Subspace, explained_variance: &[f64]) -> Result<Option<Cellwise>> {
        let Some(noise) = self.metadata.noise_variance else { return Ok(None) };
        let cleans = self.metadata.cleans.ok_or_else(|| not_a_model("metadata: `cleans` is missing"))?;
        let [_, features] = self.metadata.shape;
        let d = self.metadata.n_components;
        let cutoffs_new = self.floats("cutoffs_new", &[2])?;
        let scale = self.floats("cell_spread", &[features])?;
        Ok(Some(Cellwise {
            rows: RowModel {
                center: subspace.center_in_units_of_scale(),
                components: subspace.components.clone(),
                variances: memory::copied(explained_variance),
                noise,
                limits: self.floats("cell_limits", &[features])?,
                location: self.floats("cell_location", &[features])?,
                scale_features: scale_features(&scale),
                scale,
                cleans,
            },
            score_center: self.floats("score_center", &[d])?,
            score_variances: self.floats("score_variance", &[d])?,
            cutoffs_new: [cutoffs_new[0], cutoffs_new[1]],
            cell_scales: self.floats("cell_scales", &[features])?,
            cell_scales_new: self.floats("cell_scales_new", &[features])?,
            bad_fraction: self
                .metadata
                .cleaned_fraction
                .ok_or_else(|| not_a_model("metadata: `cleaned_fraction` is missing"))?,
        }))
    }

    fn support(&self, samples: usize) -> Result<Vec<bool>> {
        let bytes = self.array("support", Dtype::U8, &[samples])?;
        if let Some(other) = bytes.iter().find(|byte| **byte > 1) {
            return Err(not_a_model(format!("array `support` has the value {other}, expected 0 or 1")));
        }
        let (count, expected) = (bytes.iter().filter(|byte| **byte == 1).count(), self.metadata.n_support);
        if count != expected {
            return Err(not_a_model(format!("array `support` has {count} samples, but `n_support` is {expected}")));
        }
        Ok(bytes.iter().map(|&byte| byte == 1).collect())
    }

    /// The arrays of other crates.
    fn extras(&self) -> Result<BTreeMap<String, Extra>> {
        let own = |name: &str| ARRAYS.iter().any(|(current, _)| self.stored_name(current) == name);
        let extra = |name: &str| -> Result<Extra> {
            let shape = self.tensors.tensor(name).map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
            Ok(Extra { values: self.floats(name, &shape)?, shape })
        };
        let others = || self.tensors.names().into_iter().filter(|name| !own(name));
        // A model that is written again has the names of format 2, and each of them once.
        if let Some(name) = others().find(|name| ARRAYS.iter().any(|(current, _)| current == name)) {
            return Err(not_a_model(format!("array `{name}` is not one of format {}", self.metadata.format)));
        }
        others().map(|name| Ok((name.to_owned(), extra(name)?))).collect()
    }

    fn config(&self, center: &[f64]) -> Result<Config> {
        let mut parameters = self.metadata.parameters.clone();
        parameters.insert("method".to_owned(), json!(self.metadata.method));
        parameters.insert("seed".to_owned(), json!(self.metadata.seed));
        let given = parameters.get("center") == Some(&json!("given"));
        if given {
            parameters.insert("center".to_owned(), json!([]));
        }
        let mut config: Config = serde_json::from_value(Value::Object(parameters))
            .map_err(|e| not_a_model(format!("metadata `parameters`: {e}")))?;
        if given {
            config.center = Center::Given(center.to_vec());
        }
        Ok(config)
    }

    fn cone(&self, config: &Config, samples: usize) -> Result<Option<ConeReport>> {
        if !matches!(config.screen, Screen::Cone(_)) {
            return Ok(None);
        }
        let bytes = self.array("tau", Dtype::I64, &[samples])?;
        let tau: Vec<i64> =
            bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes"))).collect_reserved();
        let pivot = self.metadata.pivot.ok_or_else(|| not_a_model("metadata: `pivot` is missing"))?;
        if pivot >= samples {
            return Err(not_a_model(format!("pivot {pivot} of {samples} samples")));
        }
        if let Some(least) = self.metadata.tau_min.filter(|least| *least != tau[pivot]) {
            return Err(not_a_model(format!("`tau_min` is {least}, but tau of the pivot is {}", tau[pivot])));
        }
        let angle = ["max_angle", "angle"].iter().find_map(|name| self.metadata.parameters.get(*name)?.as_f64());
        Ok(Some(ConeReport {
            pivot,
            tau,
            max_angle: angle.ok_or_else(|| not_a_model("metadata `parameters`: `max_angle` is missing"))?,
            elimination: self.metadata.elimination,
        }))
    }
}
