//! `steradian background`: the background image of a clip, and a foreground mask of each frame.

use std::path::PathBuf;

use serde_json::{Value, json};
use steradian::{Model, Result, Source};
use steradian_clips::{ConfusionCounts, Separator};
use steradian_io::{AtomicFile, Clip, Color, StagedDir};

use crate::args::BackgroundArgs;
use crate::clip::frame_renderer::FrameRenderer;
use crate::clip::ground_truth::{ClipScores, GroundTruth};
use crate::clip::report::Report;
use crate::clip::separate_frames::separate_all;
use crate::clip::train::TrainedModel;
use crate::clip::videos::Movies;
use crate::encode_image::png;
use crate::files::OutputFolder;
use crate::outcome::{Outcome, warn};
use crate::render::{bytes, certificate_text, key_value_lines, number, print, solver_text};
use crate::session::Session;

/// Takes a clip apart and says what came out.
pub fn run(args: &BackgroundArgs) -> Outcome {
    // Before hours are spent; the folder is made for good once there is a clip.
    drop(OutputFolder::create(&args.output)?);
    args.learn.config()?;
    let work = Session::begin(args.threads)?;
    let (lines, report) = separate(args, &work)?;
    work.finish()?;
    print(&format!("{}\nLook at {}; all else is beside it.\n", key_value_lines(&lines), report.display()))
}

/// All of the work: learns, takes apart, compares, writes. What happened, and where the report is.
pub fn separate(args: &BackgroundArgs, work: &Session) -> Result<(Vec<(&'static str, String)>, PathBuf)> {
    let clip = work.open_clip(&args.clip, &args.frames.options())?;
    let truth = args.truth.as_ref().map(|path| GroundTruth::open(path, &clip)).transpose()?;
    work.begin_writing();
    let learnt = args.learn.learn(&clip, work.runner())?;
    let separator = Separator::new(&learnt.model)?;
    let apart = |frame: usize, pixels: &[u8]| learnt.separate(&separator, frame, pixels);
    let look = FrameRenderer::of(&clip, work.runner(), apart)?;
    let folder = OutputFolder::create(&args.output)?;
    let masks = StagedDir::create(folder.file("masks"))?;
    let mut movies = if args.no_videos { None } else { Some(Movies::begin(&folder, &clip, look.color())?) };
    let mut report = Report::new(&clip);
    let mut tally = ConfusionCounts::default();
    let apply_seconds = separate_all(
        &clip,
        "frames apart",
        |_| true,
        work.runner(),
        apart,
        |parts| {
            let mask: Vec<u8> = parts.mask.iter().map(|&moving| 255 * u8::from(moving)).collect();
            png(&mask, clip.size(), Color::Gray)
        },
        |frame, pixels, parts, mask| {
            let number = clip.number(frame);
            let shown = look.shown(&clip, frame, pixels, parts);
            masks.file(&format!("{number:06}.png"), &mask)?;
            if let Some(movies) = &mut movies {
                movies.add(number, &shown)?;
            }
            if let Some(truth) = &truth
                && let Some(wanted) = truth.mask(frame, &clip)?
            {
                tally.add(&parts.mask, &wanted.pixels, truth.region());
            }
            report.add(frame, number, parts, &shown)
        },
    )?;
    let background = separator.typical_background();
    let verdict = truth.map(|truth| truth.verdict(&tally, &background));
    let picture = png(&look.background(&background), clip.size(), look.color())?;
    let model = learnt.model.to_bytes()?;
    let lines = lines(&clip, &learnt, apply_seconds, verdict.as_ref());
    let settings = [lines.clone(), settings(&learnt.model)].concat();
    let first = learnt.seconds.map(|_| args.learn.train.as_ref().map_or(0, |train| train.start));
    let page = report.html(&title(&clip), &learnt.model, first, &clip, &settings)?;
    let summary = format!("{:#}\n", summary(&clip, &learnt, apply_seconds, verdict.as_ref()));
    let files = folder.stage_file(&[
        ("background.png", &picture),
        ("model.safetensors", &model),
        ("report.html", page.as_bytes()),
        ("summary.json", summary.as_bytes()),
    ])?;
    movies.as_mut().map(Movies::complete).transpose()?;
    work.may_write()?;
    masks.finish()?;
    movies.map(Movies::finish).transpose()?;
    files.into_iter().try_for_each(AtomicFile::finish)?;
    learnt.model.warnings.iter().for_each(|warning| warn(warning));
    Ok((lines, folder.file("report.html")))
}

fn title(clip: &Clip) -> String {
    let name = clip.path().file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{}: scene and foreground", name.unwrap_or_else(|| clip.path().display().to_string()))
}

/// The one object of `summary.json`.
fn summary(clip: &Clip, learnt: &TrainedModel, apply_seconds: f64, verdict: Option<&ClipScores>) -> Value {
    let ((height, width), model) = (clip.size(), &learnt.model);
    json!({
        "frames": clip.shape().samples,
        "height": height,
        "width": width,
        "method": model.method().name(),
        "n_components": model.n_components(),
        "n_kept": model.n_support(),
        "fit_seconds": learnt.seconds,
        "apply_seconds": apply_seconds,
        "truth": verdict.map(ClipScores::json),
    })
}

/// What happened, for the terminal and the report.
fn lines(
    clip: &Clip,
    learnt: &TrainedModel,
    apply_seconds: f64,
    verdict: Option<&ClipScores>,
) -> Vec<(&'static str, String)> {
    let ((height, width), frames, model) = (clip.size(), clip.shape().samples, &learnt.model);
    let mut lines = vec![("clip", format!("{frames} frames of {height} x {width} (height x width)"))];
    if clip.temporary_bytes() > 0 {
        lines.push(("decoded", format!("into a temporary file of {}, now gone", bytes(clip.temporary_bytes()))));
    }
    lines.push(("method", format!("{}, {} components", model.method().name(), model.n_components())));
    let learning = learnt.seconds.map_or("earlier".into(), |seconds| {
        format!("in {} s, from {} of {} frames", number(seconds), model.n_support(), model.shape.samples)
    });
    lines.push(("learnt", learning));
    if let Some(low_rank) = &learnt.low_rank {
        let others = match low_rank.outside(frames) {
            0 => String::new(),
            count => format!(
                "; the background of the other {count} frames is made of its first {} directions",
                model.n_components()
            ),
        };
        lines.push(("low-rank part", low_rank.words() + &others));
    }
    let rate = frames as f64 / apply_seconds.max(1e-9);
    lines.push(("taken apart", format!("in {} s, {rate:.0} frames a second", number(apply_seconds))));
    lines.extend(verdict.map(|verdict| ("truth", verdict.words())));
    lines
}

/// How the model was found, for the report.
fn settings(model: &Model) -> Vec<(&'static str, String)> {
    vec![
        ("parameters", model.metadata()["parameters"].to_string()),
        ("seed", model.config.seed.to_string()),
        ("solver", solver_text(model)),
        ("passes", model.passes.to_string()),
        ("certificate", certificate_text(&model.certificate)),
    ]
}
