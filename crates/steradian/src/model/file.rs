//! Models as safetensors bytes: equal fits give equal bytes.

use std::collections::{BTreeMap, HashMap};

use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::{Map, Value, json};

use super::extras::Extra;
use super::{Certificate, CleanedCells, Model};
use crate::config::Config;
use crate::config::method::Method;
use crate::config::options::{Center, ComponentCount};
use crate::config::screen::{Angle, Cone, Outlyingness, PivotSearch, Screen};
use crate::data::source::Shape;
use crate::error::{Error, Result};
use crate::numeric::linalg::Matrix;
use crate::screen::report::ConeReport;

/// The version of the format that is written, and the only one that is read.
const FORMAT: u64 = 1;
/// The arrays of this crate; others are extras.
const ARRAYS: [&str; 9] =
    ["center", "components", "cutoffs", "kept", "shares", "variances", "scale", "cell_limits", "tau"];
/// The one metadata key.
const KEY: &str = "steradian";

impl Model {
    /// What is known of the model apart from its arrays, with sorted keys.
    pub fn metadata(&self) -> Value {
        let (config, cone) = (&self.config, self.cone.as_ref());
        sorted(json!({
            "certificate": self.certificate,
            "chosen": self.n_components_reason,
            "format": FORMAT,
            "image": self.shape.image.map(|(height, width)| [height, width]),
            "cleaned_share": self.cells.as_ref().map(|cells| cells.share),
            "method": config.method,
            "iterations": self.iterations,
            "objective": self.objective,
            "total_variance": self.total_variance,
            "n_components": self.n_components(),
            "n_kept": self.n_support(),
            "element": self.shape.element,
            "elimination": cone.and_then(|cone| cone.elimination),
            "parameters": parameters(config, cone),
            "passes": self.passes,
            "pivot": cone.map(|cone| cone.pivot),
            "seed": config.seed,
            "shape": [self.shape.samples, self.n_features()],
            "solver": self.solver,
            "tau_min": cone.map(ConeReport::tau_min),
            "warnings": self.warnings,
        }))
    }

    /// The model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (d, features, n) = (self.n_components(), self.n_features(), self.support.len());
        let doubles = |values: &[f64]| {
            let mut bytes = Vec::with_capacity(values.len() * 8);
            values.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
            bytes
        };
        let shares = self.angular_eigenvalues.clone().unwrap_or_else(|| vec![f64::NAN; d]);
        let mut arrays: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = vec![
            ("center", Dtype::F64, vec![features], doubles(&self.center)),
            ("components", Dtype::F64, vec![d, features], doubles(self.components.data())),
            ("cutoffs", Dtype::F64, vec![2], doubles(&self.cutoffs)),
            ("kept", Dtype::U8, vec![n], self.support.iter().map(|&k| u8::from(k)).collect()),
            ("shares", Dtype::F64, vec![d], doubles(&shares)),
            ("variances", Dtype::F64, vec![d], doubles(&self.explained_variance)),
        ];
        if let Some(scale) = &self.scale {
            arrays.push(("scale", Dtype::F64, vec![features], doubles(scale)));
        }
        if let Some(cells) = &self.cells {
            arrays.push(("cell_limits", Dtype::F64, vec![features], doubles(&cells.limits)));
        }
        for (name, extra) in &self.extras {
            arrays.push((name, Dtype::F64, extra.shape.clone(), doubles(&extra.values)));
        }
        if let Some(cone) = &self.cone {
            arrays.push(("tau", Dtype::I64, vec![n], cone.tau.iter().flat_map(|t| t.to_le_bytes()).collect()));
        }
        let views = arrays
            .iter()
            .map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(unwritable)?;
        let metadata = HashMap::from([(KEY.to_owned(), self.metadata().to_string())]);
        safetensors::serialize(views, Some(metadata)).map_err(unwritable)
    }

    /// Reads a model file; refuses unknown versions and wrong shapes by name.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = |what: String| Error::invalid_data(format!("not a steradian model: {what}"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| broken(e.to_string()))?;
        let text = header
            .metadata()
            .as_ref()
            .and_then(|m| m.get(KEY))
            .ok_or_else(|| broken(format!("no metadata key `{KEY}`")))?;
        let metadata: Value = serde_json::from_str(text).map_err(|e| broken(format!("metadata: {e}")))?;
        let format = metadata["format"].as_u64().ok_or_else(|| broken("no format version".into()))?;
        if format != FORMAT {
            return Err(Error::invalid_data(format!(
                "the model has format version {format}, this program reads version {FORMAT}; use the program that wrote it"
            )));
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| broken(e.to_string()))?;
        Reader { tensors, metadata }.model()
    }
}

/// What was asked, by the names of reports; the cone that was found, where there is one, says more than the one that was asked
/// for.
pub(crate) fn parameters(config: &Config, cone: Option<&ConeReport>) -> Value {
    let mut parameters = json!({
        "cells": config.cells,
        "center": config.center.name(),
        "loss": config.loss,
        "n_components": match config.components {
            ComponentCount::Count(count) => json!(count),
            ComponentCount::VarianceFraction(share) => json!(share),
            ComponentCount::Auto => json!("auto"),
        },
        "robust_scores": config.robust_scores,
        "scale": config.scaling,
        "screen": config.screen.name(),
        "solver": config.solver.name(),
        "tol": config.tolerance,
        "weighting": config.weighting,
    });
    for (name, value) in &config.other {
        parameters[name] = json!(value);
    }
    if let Screen::Outlyingness(Outlyingness { directions, pairs }) = &config.screen {
        parameters["directions"] = json!(pairs.as_ref().map_or(*directions, Vec::len));
        parameters["pairs"] = json!(pairs);
    }
    if let Screen::Cone(Cone { angle, cosine, ties, recenter, counting }) = config.screen {
        let degrees = match angle {
            Angle::Degrees(degrees) => json!(degrees),
            Angle::Auto => json!(cone.map(|cone| cone.angle_degrees)),
        };
        parameters["angle"] = degrees;
        parameters["angle_auto"] = json!(angle == Angle::Auto);
        parameters["cosine"] = json!(cosine);
        parameters["ties"] = json!(ties);
        parameters["recenter"] = json!(recenter);
        parameters["counting"] = json!(counting);
        parameters["exact"] = json!(cone.is_none_or(|cone| cone.elimination.is_none()));
    }
    parameters
}

fn unwritable(error: safetensors::SafeTensorError) -> Error {
    Error::invalid_data(format!("the model cannot be written: {error}"))
}

/// The same JSON with the keys of every object in order, whatever map the JSON crate was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: std::collections::BTreeMap<String, Value> = map.into_iter().collect();
            Value::Object(ordered.into_iter().map(|(k, v)| (k, sorted(v))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
    metadata: Value,
}

impl Reader<'_> {
    fn field<T: serde::de::DeserializeOwned>(&self, path: &[&str]) -> Result<T> {
        let value = path.iter().fold(&self.metadata, |value, key| &value[*key]);
        T::deserialize(value)
            .map_err(|e| Error::invalid_data(format!("not a steradian model: metadata `{}`: {e}", path.join("."))))
    }

    fn array(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<&[u8]> {
        let tensor = self
            .tensors
            .tensor(name)
            .map_err(|_| Error::invalid_data(format!("not a steradian model: array `{name}` is missing")))?;
        if tensor.dtype() != dtype || tensor.shape() != shape {
            return Err(Error::invalid_data(format!(
                "not a steradian model: array `{name}` is {:?} {:?} where {dtype:?} {shape:?} is expected",
                tensor.dtype(),
                tensor.shape()
            )));
        }
        Ok(tensor.data())
    }

    fn doubles(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let bytes = self.array(name, Dtype::F64, shape)?;
        Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect())
    }

    fn model(&self) -> Result<Model> {
        let d: usize = self.field(&["n_components"])?;
        let [samples, features]: [usize; 2] = self.field(&["shape"])?;
        let center = self.doubles("center", &[features])?;
        let components = Matrix::from_vec(d, features, self.doubles("components", &[d, features])?);
        let shares = self.doubles("shares", &[d])?;
        let cutoffs = self.doubles("cutoffs", &[2])?;
        let config = self.config(&center)?;
        Ok(Model {
            solver: self.field(&["solver"])?,
            shape: Shape {
                samples,
                features,
                element: self.field(&["element"])?,
                image: self.field::<Option<[usize; 2]>>(&["image"])?.map(|[height, width]| (height, width)),
            },
            center,
            scale: self.optional("scale", features)?,
            components,
            n_components_reason: self.field(&["chosen"])?,
            total_variance: self.field(&["total_variance"])?,
            objective: self.field(&["objective"])?,
            iterations: self.field(&["iterations"])?,
            cells: match self.optional("cell_limits", features)? {
                Some(limits) => Some(CleanedCells { limits, share: self.field(&["cleaned_share"])? }),
                None => None,
            },
            extras: self.extras()?,
            angular_eigenvalues: (!shares.iter().all(|s| s.is_nan())).then_some(shares),
            explained_variance: self.doubles("variances", &[d])?,
            support: self.array("kept", Dtype::U8, &[samples])?.iter().map(|&k| k != 0).collect(),
            cone: self.cone(&config, samples)?,
            cutoffs: [cutoffs[0], cutoffs[1]],
            certificate: self.field::<Certificate>(&["certificate"])?,
            passes: self.field(&["passes"])?,
            warnings: self.field(&["warnings"])?,
            config,
        })
    }

    /// The parameters that this crate has no name for.
    fn other_parameters(&self, config: &Config) -> Result<BTreeMap<String, f64>> {
        let all: BTreeMap<String, Value> = self.field(&["parameters"])?;
        let own = parameters(config, None);
        let others = all.into_iter().filter(|(name, _)| own.get(name).is_none());
        Ok(others.filter_map(|(name, value)| Some((name, value.as_f64()?))).collect())
    }

    /// An array with one number for each feature, if it is there.
    fn optional(&self, name: &str, features: usize) -> Result<Option<Vec<f64>>> {
        if self.tensors.tensor(name).is_err() {
            return Ok(None);
        }
        self.doubles(name, &[features]).map(Some)
    }

    /// The arrays that this crate has no name for.
    fn extras(&self) -> Result<BTreeMap<String, Extra>> {
        let others = self.tensors.names().into_iter().filter(|name| !ARRAYS.contains(name));
        let extra = |name: &str| -> Result<Extra> {
            let shape = self.tensors.tensor(name).map(|tensor| tensor.shape().to_vec()).unwrap_or_default();
            Ok(Extra { values: self.doubles(name, &shape)?, shape })
        };
        others.map(|name| Ok((name.to_owned(), extra(name)?))).collect()
    }

    fn components(&self) -> Result<ComponentCount> {
        let value: Value = self.field(&["parameters", "n_components"])?;
        Ok(match (value.as_u64(), value.as_f64()) {
            (Some(count), _) => ComponentCount::Count(count as usize),
            (None, Some(share)) => ComponentCount::VarianceFraction(share),
            _ => ComponentCount::Auto,
        })
    }

    fn config(&self, center: &[f64]) -> Result<Config> {
        let mut config = Config::new(self.field(&["method"])?, self.components()?);
        let name: String = self.field(&["parameters", "center"])?;
        config.center = [Center::Mean, Center::Median, Center::SpatialMedian, Center::None]
            .into_iter()
            .find(|c| c.name() == name)
            .unwrap_or_else(|| Center::Given(center.to_vec()));
        config.screen = match self.field::<String>(&["parameters", "screen"])?.as_str() {
            "cone" => Screen::Cone(Cone {
                angle: match self.field(&["parameters", "angle_auto"])? {
                    true => Angle::Auto,
                    false => Angle::Degrees(self.field(&["parameters", "angle"])?),
                },
                cosine: self.field(&["parameters", "cosine"])?,
                ties: self.field(&["parameters", "ties"])?,
                recenter: self.field(&["parameters", "recenter"])?,
                // Older models met all pairs.
                counting: self.field::<Option<PivotSearch>>(&["parameters", "counting"])?.unwrap_or_default(),
            }),
            "outlyingness" => Screen::Outlyingness(Outlyingness {
                directions: self.field(&["parameters", "directions"])?,
                pairs: self.field(&["parameters", "pairs"])?,
            }),
            _ => Screen::None,
        };
        config.loss = self.field(&["parameters", "loss"])?;
        config.cells = self.field(&["parameters", "cells"])?;
        config.robust_scores = self.field(&["parameters", "robust_scores"])?;
        config.scaling = self.field(&["parameters", "scale"])?;
        config.weighting = self.field(&["parameters", "weighting"])?;
        if let Method::Other(_) = config.method {
            config.other = self.other_parameters(&config)?;
        }
        config.solver = self.field(&["parameters", "solver"])?;
        config.tolerance = self.field(&["parameters", "tol"])?;
        config.seed = self.field(&["seed"])?;
        Ok(config)
    }

    fn cone(&self, config: &Config, samples: usize) -> Result<Option<ConeReport>> {
        if !matches!(config.screen, Screen::Cone(_)) {
            return Ok(None);
        }
        let bytes = self.array("tau", Dtype::I64, &[samples])?;
        let tau = bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
        let pivot: usize = self.field(&["pivot"])?;
        if pivot >= samples {
            return Err(Error::invalid_data(format!("not a steradian model: pivot {pivot} of {samples} samples")));
        }
        Ok(Some(ConeReport {
            pivot,
            tau,
            angle_degrees: self.field(&["parameters", "angle"])?,
            elimination: self.field(&["elimination"])?,
        }))
    }
}
