//! `steradian shadows`: images of one face under many lights, with cast shadows removed.

use std::time::Instant;

use serde_json::{Value, json};
use steradian::{Config, Error, Method, Result, Screen, Source};
use steradian_baselines::PCP;
use steradian_clips::{Darkness, FACE_COMPONENTS, frame_pixels, gray_level, remove_shadows, trusted_reconstruction};
use steradian_io::{AtomicFile, Clip, ClipOptions, Color, StagedDir};

use crate::args::ShadowsArgs;
use crate::clip::faces::{FacesPage, inverted_difference, montage};
use crate::clip::pursuit::{LowRank, check_memory};
use crate::encode_image::png;
use crate::files::OutputFolder;
use crate::outcome::{Outcome, warn};
use crate::render::{key_value_lines, number, percent, print};
use crate::session::Session;

/// The name of the default, which is no method for other data.
pub const FILL: &str = "fill";
/// What to do about pictures that the pursuit cannot hold.
const REMEDY: &str = "give fewer or smaller pictures, or use --method fill";

/// Pictures without their shadows, and how they were found.
struct Relit {
    /// Picture after picture.
    levels: Vec<u8>,
    /// Components, or the rank of the low-rank part.
    components: usize,
    /// The same in words.
    found: String,
    warnings: Vec<String>,
}

impl Relit {
    fn by_components(levels: Vec<u8>, components: usize, warnings: Vec<String>) -> Self {
        Self { levels, components, found: format!("{components} components"), warnings }
    }
}

/// Finds, reconstructs, measures, writes.
pub fn run(args: &ShadowsArgs) -> Outcome {
    drop(OutputFolder::create(&args.output)?);
    let config = config(args)?;
    let work = Session::begin(args.threads)?;
    let faces = work.open_clip(&args.faces, &ClipOptions::default())?;
    work.begin_writing();
    let start = Instant::now();
    let relit = reconstruct(config.as_ref(), args, &faces, &work)?;
    let seconds = start.elapsed().as_secs_f64();
    let folder = OutputFolder::create(&args.output)?;
    let pictures = StagedDir::create(folder.file("relit"))?;
    let differences = StagedDir::create(folder.file("difference"))?;
    let (mut page, mut darkness) = (FacesPage::new(&faces), Darkness::default());
    let (pixels, mut originals) = (faces.shape().features, Vec::with_capacity(relit.levels.len()));
    work.runner().for_each_block("pictures", &faces, 1, |block| {
        let (original, at) = (frame_pixels(block, 0)?, block.first());
        let found = &relit.levels[at * pixels..(at + 1) * pixels];
        let name = format!("{:06}.png", faces.number(at));
        pictures.file(&name, &png(found, faces.size(), Color::Gray)?)?;
        differences.file(&name, &png(&inverted_difference(&original, found), faces.size(), Color::Gray)?)?;
        darkness.add(&original, found);
        page.add(faces.number(at), &original, found)?;
        originals.extend_from_slice(&original);
        Ok(())
    })?;
    let montage = montage(&originals, &relit.levels, faces.size())?;
    let summary = format!("{:#}\n", summary(args, &faces, &relit, seconds, &darkness));
    let lines = lines(args, &faces, &relit, seconds, &darkness);
    let html = page.html(&faces, &lines);
    let files = folder.stage_file(&[
        ("montage.png", &montage),
        ("report.html", html.as_bytes()),
        ("summary.json", summary.as_bytes()),
    ])?;
    work.finish()?;
    pictures.finish()?;
    differences.finish()?;
    files.into_iter().try_for_each(AtomicFile::finish)?;
    relit.warnings.iter().for_each(|warning| warn(warning));
    print(&format!(
        "{}\nLook at {}; all else is beside it.\n",
        key_value_lines(&lines),
        folder.file("report.html").display()
    ))
}

/// How components are found; nothing for the default, which finds them while it fills.
fn config(args: &ShadowsArgs) -> Result<Option<Config>> {
    check_memory(method_name(args), args.method == Some(PCP), args.memory)?;
    let Some(method) = args.method else {
        args.cone.adjust(FILL, &mut Screen::None)?;
        return Ok(None);
    };
    let components = match (method, args.components) {
        (PCP, Some(d)) => {
            return Err(Error::invalid_argument(format!(
                "-d {d} is a number of components, but --method pcp shows its low-rank part, whose rank it finds itself; leave -d out"
            )));
        }
        // The least that a model can have; the pictures come from the low-rank part and not from the model.
        (PCP, None) => 1,
        (_, asked) => asked.unwrap_or(FACE_COMPONENTS),
    };
    let mut config = Config::new(method, components);
    args.cone.adjust(method.name(), &mut config.screen)?;
    Ok(Some(config))
}

fn reconstruct(config: Option<&Config>, args: &ShadowsArgs, faces: &Clip, work: &Session) -> Result<Relit> {
    let (runner, all) = (work.runner(), 0..faces.shape().samples);
    let Some(config) = config else {
        let components = args.components.unwrap_or(FACE_COMPONENTS);
        return Ok(Relit::by_components(remove_shadows(faces, components, runner)?, components, Vec::new()));
    };
    if config.method == PCP {
        let (model, low_rank) = LowRank::find(config, faces, all, args.memory, REMEDY, runner)?;
        let found = format!("low-rank part of {}", low_rank.words());
        let (levels, components) = (low_rank.levels(), low_rank.rank());
        return Ok(Relit { levels, components, found, warnings: model.warnings });
    }
    let model = steradian::fit(config, faces, runner)?;
    let components = model.n_components();
    if matches!(model.method(), Method::Robust | Method::Cells) {
        let levels = trusted_reconstruction(&model, faces, runner)?;
        return Ok(Relit::by_components(levels, components, model.warnings));
    }
    // The paper's methods, and PCA, project as they are written.
    let mut levels = Vec::with_capacity(faces.shape().samples * faces.shape().features);
    runner.for_each_block("reconstruct", faces, model.block_rows(), |block| {
        levels.extend(model.reconstruct_block(block)?.iter().map(|level| gray_level(*level as f32)));
        Ok(())
    })?;
    Ok(Relit::by_components(levels, components, model.warnings))
}

fn method_name(args: &ShadowsArgs) -> &str {
    args.method.as_ref().map_or(FILL, Method::name)
}

fn lines(
    args: &ShadowsArgs,
    faces: &Clip,
    relit: &Relit,
    seconds: f64,
    darkness: &Darkness,
) -> Vec<(&'static str, String)> {
    let (height, width) = faces.size();
    let (dark, lit) = (percent(darkness.dark_share()), percent(darkness.lit_share()));
    vec![
        ("pictures", format!("{} of {height} x {width} (height x width)", faces.shape().samples)),
        ("method", format!("{}, {}", method_name(args), relit.found)),
        ("time", format!("{} s", number(seconds))),
        ("dark pixels", format!("{dark} are below level 20; {lit} of them are above 40 now")),
        ("lit pixels", format!("changed by {} levels in the mean", number(darkness.lit_error()))),
    ]
}

/// The one object of `summary.json`.
fn summary(args: &ShadowsArgs, faces: &Clip, relit: &Relit, seconds: f64, darkness: &Darkness) -> Value {
    let (height, width) = faces.size();
    json!({
        "pictures": faces.shape().samples,
        "height": height,
        "width": width,
        "method": method_name(args),
        "n_components": relit.components,
        "seconds": seconds,
        "dark_share": darkness.dark_share(),
        "dark_lit_share": darkness.lit_share(),
        "lit_error": darkness.lit_error(),
    })
}
