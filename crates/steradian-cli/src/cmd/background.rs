//! `steradian background`: computes the background of a clip and a foreground mask of each frame.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use steradian::{Model, Result, Source};
use steradian_clips::{ConfusionCounts, Separator};
use steradian_io::{Clip, Color, OutputFolder, OutputPath, check_outputs};

use crate::args::BackgroundArgs;
use crate::clip::frame_renderer::FrameRenderer;
use crate::clip::ground_truth::{ClipScores, GroundTruth};
use crate::clip::report::Report;
use crate::clip::separate_frames::separate_all;
use crate::clip::train::TrainedModel;
use crate::clip::videos::Movies;
use crate::encode_image::png;
use crate::outcome::{CommandResult, warn};
use crate::render::{bytes, certificate_text, key_value_lines, number, print, solver_text};
use crate::session::Session;
use crate::terminal;

/// Separates a clip and prints a summary.
pub fn run(args: &BackgroundArgs) -> CommandResult {
    let inputs = [Some(&args.clip), args.ground_truth.as_ref(), args.training.model.as_ref()];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
    check_outputs(&inputs, &[OutputPath::Folder(&args.output)])?;
    args.training.config()?;
    let work = Session::begin(args.threads)?;
    let (folder, SeparatedClip { lines, warnings }) = separate(args, &work, || OutputFolder::create(&args.output), "")?;
    work.finish()?;
    folder.finish()?;
    warnings.iter().for_each(|warning| warn(warning));
    print(&format!("{}\nReport: {}\n", key_value_lines(&lines), terminal::path(&args.output.join("report.html"))))
}

/// Text to print about a separated clip.
pub struct SeparatedClip {
    lines: Vec<(&'static str, String)>,
    /// Warnings of the training.
    pub warnings: Vec<String>,
}

/// Trains, separates, evaluates, and writes files into a folder that `create` opens, with names that start with `within`.
/// Returns the folder, which is not yet in place.
pub fn separate<Folder: Borrow<OutputFolder>>(
    args: &BackgroundArgs,
    work: &Session,
    create: impl FnOnce() -> Result<Folder>,
    within: &str,
) -> Result<(Folder, SeparatedClip)> {
    let clip = work.open_clip(&args.clip, &args.frames.options(&args.decoding))?;
    let ground_truth = args.ground_truth.as_ref().map(|path| GroundTruth::open(path, &clip)).transpose()?;
    work.begin_writing();
    let trained = args.training.load_or_train(&clip, work.runner())?;
    let separator = Separator::new(&trained.model)?;
    let separate = |frame: usize, pixels: &[u8]| trained.separate(&separator, frame, pixels);
    let renderer = FrameRenderer::of(&clip, work.runner(), separate)?;
    let created = create()?;
    let folder: &OutputFolder = created.borrow();
    let mut movies = match args.no_videos {
        true => None,
        false => Some(Movies::begin(folder, within, &clip, renderer.color())?),
    };
    let mut report = Report::new(&clip);
    let mut counts = ConfusionCounts::default();
    let apply_seconds = separate_all(
        &clip,
        "separate frames",
        |_| true,
        work.runner(),
        separate,
        |parts| {
            let mask: Vec<u8> = parts.mask.iter().map(|&is_foreground| 255 * u8::from(is_foreground)).collect();
            png(&mask, clip.dimensions(), Color::Gray)
        },
        |frame, pixels, parts, mask| {
            let number = clip.number(frame);
            let rendered = renderer.render(&clip, frame, pixels, parts);
            folder.write(&format!("{within}masks/{number:06}.png"), &mask)?;
            if let Some(movies) = &mut movies {
                movies.add(folder, number, &rendered)?;
            }
            if let Some(ground_truth) = &ground_truth
                && let Some(expected) = ground_truth.mask(frame, &clip)?
            {
                counts.add(&parts.mask, &expected.pixels, ground_truth.region());
            }
            report.add(frame, number, parts, &rendered)
        },
    )?;
    let background = separator.typical_background();
    let scores = ground_truth.map(|ground_truth| ground_truth.scores(&counts, &background));
    let image = png(&renderer.background(&background), clip.dimensions(), renderer.color())?;
    let model = trained.model.to_bytes()?;
    let lines = lines(&clip, &trained, apply_seconds, scores.as_ref());
    let settings = [lines.clone(), settings(&trained.model)].concat();
    let first = trained.seconds.map(|_| args.training.train.as_ref().map_or(0, |train| train.start));
    let page = report.html(&title(&clip), &trained.model, first, &clip, &settings)?;
    let summary = format!("{:#}\n", summary(&clip, &trained, apply_seconds, scores.as_ref()));
    for (name, bytes) in [
        ("background.png", &*image),
        ("model.safetensors", &*model),
        ("report.html", page.as_bytes()),
        ("summary.json", summary.as_bytes()),
    ] {
        folder.write_synced(&format!("{within}{name}"), bytes)?;
    }
    movies.map(Movies::finish).transpose()?;
    Ok((created, SeparatedClip { lines, warnings: trained.model.report.warnings }))
}

fn title(clip: &Clip) -> String {
    let name = clip.path().file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{}: background and foreground", name.unwrap_or_else(|| clip.path().display().to_string()))
}

/// The object of `summary.json`.
fn summary(clip: &Clip, trained: &TrainedModel, apply_seconds: f64, scores: Option<&ClipScores>) -> Value {
    let ((height, width), model) = (clip.dimensions(), &trained.model);
    json!({
        "frames": clip.shape().samples,
        "height": height,
        "width": width,
        "method": model.method().name(),
        "n_components": model.n_components(),
        "n_support": model.n_support(),
        "fit_seconds": trained.seconds,
        "apply_seconds": apply_seconds,
        "ground_truth": scores.map(ClipScores::json),
    })
}

/// Summary lines of the terminal and the report.
fn lines(
    clip: &Clip,
    trained: &TrainedModel,
    apply_seconds: f64,
    scores: Option<&ClipScores>,
) -> Vec<(&'static str, String)> {
    let ((height, width), frames, model) = (clip.dimensions(), clip.shape().samples, &trained.model);
    let mut lines = vec![("clip", format!("{frames} frames of {height} x {width} (height x width)"))];
    if clip.temporary_bytes() > 0 {
        lines.push(("decoded", format!("to a temporary file ({}, removed)", bytes(clip.temporary_bytes()))));
    }
    lines.push(("method", format!("{}, {} components", model.method().name(), model.n_components())));
    let training = trained.seconds.map_or("model loaded".into(), |seconds| {
        format!("{} s, support {} of {} frames", number(seconds), model.n_support(), model.shape.samples)
    });
    lines.push(("training", training));
    if let Some(low_rank) = &trained.low_rank {
        let others = match low_rank.outside(frames) {
            0 => String::new(),
            count => format!(
                "; the other {count} frames are reconstructed from its first {} components",
                model.n_components()
            ),
        };
        lines.push(("low-rank part", low_rank.text() + &others));
    }
    let rate = frames as f64 / apply_seconds.max(1e-9);
    lines.push(("separation", format!("{} s, {rate:.0} frames per second", number(apply_seconds))));
    lines.extend(scores.map(|scores| ("ground truth", scores.text())));
    lines
}

/// Parameters and certificate of the model, for the report.
fn settings(model: &Model) -> Vec<(&'static str, String)> {
    vec![
        ("parameters", model.metadata()["parameters"].to_string()),
        ("seed", model.config.seed().to_string()),
        ("solver", solver_text(model)),
        ("passes", model.report.passes.to_string()),
        ("certificate", certificate_text(&model.report.certificate)),
    ]
}
