//! `steradian shadows`: removes cast shadows from images of one face under many illuminations.

use std::time::Instant;

use serde_json::{Value, json};
use steradian::config::Screen;
use steradian::{Config, Error, Method, Result, Source};
use steradian_baselines::PCP;
use steradian_clips::{
    DarkPixelStatistics, FACE_COMPONENTS, confident_reconstruction, frame_pixels, gray_level, remove_shadows,
};
use steradian_io::{Clip, ClipOptions, Color, OutputFolder, OutputPath, check_outputs};

use crate::args::ShadowsArgs;
use crate::clip::faces::{FacesPage, inverted_difference, montage};
use crate::clip::pursuit::{LowRank, check_memory};
use crate::encode_image::png;
use crate::outcome::{CommandResult, warn};
use crate::render::{key_value_lines, number, percent, print};
use crate::session::Session;
use crate::terminal;

/// Name of the default method, which exists only for images of faces.
pub const FILL: &str = "fill";
/// Remedy for images that exceed the memory of the pursuit.
const REMEDY: &str = "use fewer or smaller images, or --method fill";

/// Reconstructed images without shadows.
struct Relit {
    /// Gray levels, image after image.
    levels: Vec<u8>,
    /// Number of components, or the rank of the low-rank part.
    n_components: usize,
    /// Description of the components in the report.
    description: String,
    warnings: Vec<String>,
}

impl Relit {
    fn by_components(levels: Vec<u8>, n_components: usize, warnings: Vec<String>) -> Self {
        Self { levels, n_components, description: format!("{n_components} components"), warnings }
    }
}

/// Fits, reconstructs, evaluates and writes.
pub fn run(args: &ShadowsArgs) -> CommandResult {
    check_outputs(&[&args.images], &[OutputPath::Folder(&args.output)])?;
    let config = config(args)?;
    let work = Session::begin(args.threads)?;
    let faces =
        work.open_clip(&args.images, &ClipOptions { limits: args.decoding.limits(), ..ClipOptions::default() })?;
    work.begin_writing();
    let start = Instant::now();
    let relit = reconstruct(config.as_ref(), args, &faces, &work)?;
    let seconds = start.elapsed().as_secs_f64();
    let folder = OutputFolder::create(&args.output)?;
    let (mut page, mut darkness) = (FacesPage::new(&faces), DarkPixelStatistics::default());
    let (pixels, mut originals) = (faces.shape().features, Vec::with_capacity(relit.levels.len()));
    work.runner().for_each_block("images", &faces, 1, |block| {
        let (original, at) = (frame_pixels(block, 0)?, block.first());
        let reconstruction = &relit.levels[at * pixels..(at + 1) * pixels];
        let name = format!("{:06}.png", faces.number(at));
        let difference = inverted_difference(&original, reconstruction);
        folder.write(&format!("relit/{name}"), &png(reconstruction, faces.dimensions(), Color::Gray)?)?;
        folder.write(&format!("difference/{name}"), &png(&difference, faces.dimensions(), Color::Gray)?)?;
        darkness.add(&original, reconstruction);
        page.add(faces.number(at), &original, reconstruction)?;
        originals.extend_from_slice(&original);
        Ok(())
    })?;
    let montage = montage(&originals, &relit.levels, faces.dimensions())?;
    let summary = format!("{:#}\n", summary(args, &faces, &relit, seconds, &darkness));
    let lines = lines(args, &faces, &relit, seconds, &darkness);
    let html = page.html(&faces, &lines);
    for (name, bytes) in
        [("montage.png", &*montage), ("report.html", html.as_bytes()), ("summary.json", summary.as_bytes())]
    {
        folder.write_synced(name, bytes)?;
    }
    work.finish()?;
    folder.finish()?;
    relit.warnings.iter().for_each(|warning| warn(warning));
    print(&format!("{}\nReport: {}\n", key_value_lines(&lines), terminal::path(&args.output.join("report.html"))))
}

/// The configuration of the method; `None` for the default method, which has no [`Config`].
fn config(args: &ShadowsArgs) -> Result<Option<Config>> {
    check_memory(method_name(args), args.method == Some(PCP), args.memory)?;
    let Some(method) = args.method else {
        args.cone.adjust(FILL, &mut Screen::None)?;
        return Ok(None);
    };
    let n_components = match (method, args.n_components) {
        (PCP, Some(d)) => {
            return Err(Error::invalid_argument(format!(
                "-d {d} is not supported by --method pcp, which computes the rank itself; omit -d"
            )));
        }
        // The smallest value that a model accepts; the images come from the low-rank part, not from the model.
        (PCP, None) => 1,
        (_, given) => given.unwrap_or(FACE_COMPONENTS),
    };
    let config = Config::new(method, n_components);
    let mut screen = config.screen().clone();
    args.cone.adjust(method.name(), &mut screen)?;
    Ok(Some(config.with_screen(screen)))
}

/// Fits the model and reconstructs the images.
fn reconstruct(config: Option<&Config>, args: &ShadowsArgs, faces: &Clip, work: &Session) -> Result<Relit> {
    let (runner, all) = (work.runner(), 0..faces.shape().samples);
    let Some(config) = config else {
        let n_components = args.n_components.unwrap_or(FACE_COMPONENTS);
        return Ok(Relit::by_components(remove_shadows(faces, n_components, runner)?, n_components, Vec::new()));
    };
    if config.method() == PCP {
        let (model, low_rank) = LowRank::compute(config, faces, all, args.memory, REMEDY, runner)?;
        let description = format!("low-rank part of {}", low_rank.text());
        let (levels, n_components) = (low_rank.levels(), low_rank.rank());
        return Ok(Relit { levels, n_components, description, warnings: model.report.warnings });
    }
    let model = steradian::fit(config, faces, runner)?;
    let n_components = model.n_components();
    if model.method().is_cellwise() {
        let levels = confident_reconstruction(&model, faces, runner)?;
        return Ok(Relit::by_components(levels, n_components, model.report.warnings));
    }
    // The other methods are defined by orthogonal projection.
    let mut levels = Vec::with_capacity(faces.shape().samples * faces.shape().features);
    runner.for_each_block("reconstruct", faces, model.block_rows(), |block| {
        levels.extend(model.reconstruct_block(block)?.iter().map(|level| gray_level(*level as f32)));
        Ok(())
    })?;
    Ok(Relit::by_components(levels, n_components, model.report.warnings))
}

fn method_name(args: &ShadowsArgs) -> &str {
    args.method.as_ref().map_or(FILL, Method::name)
}

/// Summary lines of the terminal and the report.
fn lines(
    args: &ShadowsArgs,
    faces: &Clip,
    relit: &Relit,
    seconds: f64,
    darkness: &DarkPixelStatistics,
) -> Vec<(&'static str, String)> {
    let (height, width) = faces.dimensions();
    let (dark, lit) = (percent(darkness.dark_fraction()), percent(darkness.lit_fraction()));
    vec![
        ("images", format!("{} of {height} x {width} (height x width)", faces.shape().samples)),
        ("method", format!("{}, {}", method_name(args), relit.description)),
        ("wall time", format!("{} s", number(seconds))),
        ("dark pixels", format!("{dark} below level 20; {lit} of them above level 40 in the reconstructions")),
        ("lit pixels", format!("mean absolute change of {} levels", number(darkness.lit_error()))),
    ]
}

/// The object of `summary.json`.
fn summary(args: &ShadowsArgs, faces: &Clip, relit: &Relit, seconds: f64, darkness: &DarkPixelStatistics) -> Value {
    let (height, width) = faces.dimensions();
    json!({
        "images": faces.shape().samples,
        "height": height,
        "width": width,
        "method": method_name(args),
        "n_components": relit.n_components,
        "seconds": seconds,
        "dark_fraction": darkness.dark_fraction(),
        "dark_lit_fraction": darkness.lit_fraction(),
        "lit_error": darkness.lit_error(),
    })
}
