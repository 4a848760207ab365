//! Models: an accepted one is applied to a few samples, described, and saved again.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde_json::{Value, json};
use steradian::config::{Missing, Scaling};
use steradian::data::{Block, BlockData, Rows};
use steradian::model::CutoffKind;
use steradian::{Config, Local, Method, Model, Result, SliceSource};
use steradian_clips::{ClipStatistics, Separator, with_clip_statistics};

use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

const SAMPLES: usize = 24;
const FEATURES: usize = 6;

/// Models of more features are not applied: an input has a few thousand bytes.
const MOST_FEATURES: usize = 4096;

fn cells() -> Vec<f64> {
    let cell = |i: usize| ((i * i % 101) as f64 / 7.0).sin() * 3.0 + (i % FEATURES) as f64 * (i / 40) as f64;
    (0..SAMPLES * FEATURES).map(cell).collect()
}

/// Numbers of which some are missing.
fn with_missing_cells(data: &[f64]) -> Vec<f64> {
    data.iter().enumerate().map(|(i, x)| if i % 7 == 3 { f64::NAN } else { *x }).collect()
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let data = cells();
    let source = SliceSource::new(&data, SAMPLES, FEATURES).expect("rows of the right width");
    let runner = Local::new(1).expect("one thread");
    let configs = [
        ("pca", Config::new(Method::Pca, 2)),
        ("ae", Config::new(Method::Ae, 1)),
        ("tae", Config::new(Method::Tae, 1)),
        ("angular", Config::new(Method::Angular, 2).with_robust_scores(true)),
        ("robust", Config::new(Method::Robust, 2)),
        ("cells", Config::new(Method::Cells, 1).with_scaling(Scaling::Mad)),
    ];
    let incomplete = with_missing_cells(&data);
    let holes = SliceSource::new(&incomplete, SAMPLES, FEATURES).expect("rows of the right width");
    let with_missing = [
        ("missing-robust", Config::new(Method::Robust, 1)),
        ("missing-rows", Config::new(Method::Rows, 1)),
        ("missing-angular", Config::new(Method::Angular, 1)),
    ];
    let complete = configs.into_iter().map(|(name, config)| (name, config, &source));
    let fits = complete.chain(with_missing.into_iter().map(|(name, config)| (name, config, &holes)));
    let fitted: Vec<(String, Vec<u8>)> = fits
        .map(|(name, config, source)| {
            let model = steradian::fit(&config, source, &runner).expect("a fit of the seeds");
            (format!("{name}.safetensors"), model.to_bytes().expect("a model of finite numbers"))
        })
        .collect();
    let levels: Vec<u8> = data.iter().map(|x| (x.abs() * 9.0) as u8).collect();
    let clip = SliceSource::new(&levels, SAMPLES, FEATURES).and_then(|source| {
        let frames = source.with_image(2, 3)?;
        let model = steradian::fit(&Config::new(Method::Ae, 1), &frames, &runner)?;
        with_clip_statistics(model, &frames, &runner)?.to_bytes()
    });
    let former = [
        ("former-given.safetensors", &include_bytes!("../../../steradian/tests/data/format1/given.safetensors")[..]),
        ("former-tae.safetensors", &include_bytes!("../../../steradian/tests/data/format1/tae.safetensors")[..]),
        ("former-sine.safetensors", &include_bytes!("../../../steradian/tests/data/format2/sine.safetensors")[..]),
        (
            "former-cleaned.safetensors",
            &include_bytes!("../../../steradian/tests/data/format2/cleaned.safetensors")[..],
        ),
    ];
    let former = former.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    let clip = clip.into_iter().map(|bytes| ("clip.safetensors".to_owned(), bytes));
    fitted.into_iter().chain(clip).chain(former).collect()
}

/// A file in parts, which are written with the lengths and offsets that belong to them.
struct Parts {
    metadata: Value,
    arrays: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Parts {
    fn read(input: &[u8]) -> Option<Self> {
        let (_, header) = SafeTensors::read_metadata(input).ok()?;
        let metadata = serde_json::from_str(header.metadata().as_ref()?.get("steradian")?).ok()?;
        let tensors = SafeTensors::deserialize(input).ok()?;
        let array = |(name, view): (&str, TensorView<'_>)| {
            (name.to_owned(), view.dtype(), view.shape().to_vec(), view.data().to_vec())
        };
        Some(Self { metadata, arrays: tensors.iter().map(array).collect() })
    }

    /// The bytes of the file; `None` for two arrays of one name, which the writer does not expect.
    fn write(&self) -> Option<Vec<u8>> {
        let names: std::collections::BTreeSet<&String> = self.arrays.iter().map(|array| &array.0).collect();
        if names.len() < self.arrays.len() {
            return None;
        }
        let views = self
            .arrays
            .iter()
            .map(|(name, dtype, shape, data)| Some((name.clone(), TensorView::new(*dtype, shape.clone(), data).ok()?)));
        let metadata = HashMap::from([("steradian".to_owned(), self.metadata.to_string())]);
        safetensors::serialize(views.collect::<Option<Vec<_>>>()?, Some(metadata)).ok()
    }
}

fn value(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => Value::Null,
        1 => json!(dice.pick(&mutate::NUMBERS)),
        2 => json!(-(dice.below(1 << 40) as i64)),
        3 => json!(dice.pick(&[0.0, -1.0, 5e-324, 1e308, 0.5, 1.5, 89.0, 1e-9])),
        4 => json!(dice.pick(&[
            "",
            "auto",
            "robust",
            "tae",
            "cone",
            "mean",
            "given",
            "x\u{1b}[2J",
            "a name of seventeen"
        ])),
        5 => json!(dice.below(2) == 0),
        6 => json!([dice.below(9), dice.below(9)]),
        7 => (0..dice.below(200)).fold(json!(1), |inner, _| json!([inner])),
        _ => json!({}),
    }
}

/// Changes one value of some JSON, at any depth.
fn change_json(dice: &mut Dice, at: &mut Value) {
    match at {
        Value::Object(map) if !map.is_empty() && dice.below(16) > 0 => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = &keys[dice.below(keys.len())];
            match dice.below(12) {
                0 => drop(map.remove(key)),
                1 => drop(map.insert(format!("{key}_"), value(dice))),
                _ => change_json(dice, map.get_mut(key).expect("a key of the map")),
            }
        }
        Value::Array(items) if !items.is_empty() && dice.below(4) > 0 => {
            let place = dice.below(items.len());
            change_json(dice, &mut items[place]);
        }
        other => *other = value(dice),
    }
}

fn change_array(dice: &mut Dice, parts: &mut Parts) {
    if parts.arrays.is_empty() {
        return;
    }
    let chosen = dice.below(parts.arrays.len());
    let (name, dtype, shape, data) = &mut parts.arrays[chosen];
    match dice.below(8) {
        // The names of format 2 and of format 1.
        0 if dice.below(2) == 0 => {
            *name = dice
                .pick(&[
                    "support",
                    "kept",
                    "explained_variance",
                    "variances",
                    "scale",
                    "tau",
                    "score_range",
                    "cell_limits",
                    "cell_spread",
                    "cutoffs_new",
                    "score_variance",
                ])
                .into();
        }
        0 => name.push('x'),
        1 => {
            // Another shape, with as many bytes as it needs.
            if !shape.is_empty() {
                let axis = dice.below(shape.len());
                shape[axis] = dice.below(9);
            }
            let size = if *dtype == Dtype::U8 { 1 } else { 8 };
            data.resize(shape.iter().product::<usize>() * size, 1);
        }
        2 => shape.insert(0, 1),
        3 => {
            let copy = (format!("{name}2"), *dtype, shape.clone(), data.clone());
            parts.arrays.push(copy);
        }
        4 => drop(parts.arrays.remove(chosen)),
        _ => {
            if !data.is_empty() {
                let at = dice.below(data.len().div_ceil(8)) * 8;
                let at = at.min(data.len() - 1);
                let number = dice.pick(&mutate::FLOATS).to_le_bytes();
                if *dtype == Dtype::U8 { data[at] = dice.below(4) as u8 } else { mutate::overwrite(data, at, &number) }
            }
        }
    }
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    let parts = if dice.below(4) == 0 { None } else { Parts::read(&input) };
    let Some(mut parts) = parts else {
        mutate::bytes(dice, &mut input, 0);
        return input;
    };
    for _ in 0..1 + dice.below(2) {
        match dice.below(2) {
            0 => change_json(dice, &mut parts.metadata),
            _ => change_array(dice, &mut parts),
        }
    }
    parts.write().unwrap_or(input)
}

fn use_model(place: &Workplace, input: &[u8]) -> Result<()> {
    let model = Model::from_bytes(input)?;
    let saved = model.to_bytes()?;
    let again = Model::from_bytes(&saved)?;
    assert!(again.to_bytes()? == saved, "a model that is saved and read again has other bytes");
    assert!(!model.metadata().to_string().is_empty());
    let features = model.n_features();
    if features > MOST_FEATURES {
        return Ok(());
    }
    let data: Vec<f64> = (0..3 * features).map(|i| (i % 11) as f64 - 4.0).collect();
    let source = SliceSource::new(&data, 3, features)?;
    let scores = model.transform(&source, place.runner())?;
    assert_eq!((scores.rows(), scores.columns()), (3, model.n_components()));
    assert_eq!(model.diagnose(&source, place.runner(), CutoffKind::New)?.len(), 3);
    assert_eq!(model.reconstruct(&source, place.runner())?.columns(), features);
    let block = Block::new(0, BlockData::F64(Rows::contiguous(&data, 3, features)?));
    place_in_pool(place, || {
        model.contributions_block(&block)?;
        model.robust_reconstruct_block(&block)?;
        model.bad_cells_block(&block).map(drop)
    })?;
    use_on_missing_cells(place, &model, &data)?;
    if ClipStatistics::of(&model)?.is_some() && model.shape.image.is_some() {
        let separator = Separator::new(&model)?;
        let frame: Vec<u8> = (0..features).map(|i| (i * 31 % 256) as u8).collect();
        assert_eq!(separator.separate(&frame).mask.len(), features);
        assert_eq!(separator.typical_background().len(), features);
    }
    Ok(())
}

/// Applies a model that accepts missing cells to rows with one, two and all cells missing.
fn use_on_missing_cells(place: &Workplace, model: &Model, data: &[f64]) -> Result<()> {
    if model.config.missing() != Missing::Use {
        return Ok(());
    }
    let features = model.n_features();
    let mut cells = data.to_vec();
    cells[0] = f64::NAN;
    cells[features] = f64::NAN;
    cells[2 * features - 1] = f64::NAN;
    cells[2 * features..].fill(f64::NAN);
    let block = Block::new(0, BlockData::F64(Rows::contiguous(&cells, 3, features)?));
    place_in_pool(place, || {
        assert_eq!(model.diagnose_block(&block, CutoffKind::New)?.len(), 3);
        let filled = model.fill_block(&block, true)?;
        assert!(filled.changed[0] && filled.changed[2 * features..].iter().all(|changed| *changed));
        let cells = model.diagnose_cells_block(&block, CutoffKind::Training)?;
        assert!(cells.is_none_or(|cells| cells.flags.len() == 3 * features));
        Ok(())
    })
}

/// Runs work on the threads of the workplace and not on those of the process.
fn place_in_pool<R: Send>(place: &Workplace, work: impl FnOnce() -> R + Send) -> R {
    use steradian::engine::Runner;
    place.runner().compute(work)
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    TargetVerdict::of(use_model(place, input))
}
