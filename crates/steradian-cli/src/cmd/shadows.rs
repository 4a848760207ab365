//! `steradian shadows`: pictures of one face under many lights, as they would be without their shadows.

use std::time::Instant;

use serde_json::{Value, json};
use steradian::{Config, Method, Result, Screen, Source};
use steradian_clips::{Darkness, frame_pixels, trusted_reconstruction, without_shadows};
use steradian_io::{Clip, ClipOptions, WholeFolder, write_whole};

use crate::args::ShadowsArgs;
use crate::clip::faces::{FacesPage, inverted_difference, montage};
use crate::files::OutputFolder;
use crate::outcome::Outcome;
use crate::pictures::gray_png;
use crate::render::{facts, number, percent, print};
use crate::work::Work;

/// The name of the default, which is no method for other data.
pub const FILL: &str = "fill";

/// Finds, reconstructs, measures, writes.
pub fn run(args: &ShadowsArgs) -> Outcome {
    drop(OutputFolder::create(&args.output)?);
    let config = config(args)?;
    let work = Work::begin(args.threads)?;
    let faces = work.open_clip(&args.faces, &ClipOptions::default())?;
    work.begin_writing();
    let start = Instant::now();
    let relit = reconstruct(config.as_ref(), args.components, &faces, &work)?;
    let seconds = start.elapsed().as_secs_f64();
    let folder = OutputFolder::create(&args.output)?;
    let pictures = WholeFolder::create(folder.file("relit"))?;
    let differences = WholeFolder::create(folder.file("difference"))?;
    let (mut page, mut darkness) = (FacesPage::new(&faces), Darkness::default());
    let (pixels, mut originals) = (faces.shape().features, Vec::with_capacity(relit.len()));
    work.runner().for_each_block("pictures", &faces, 1, |block| {
        let (original, at) = (frame_pixels(block, 0)?, block.first());
        let found = &relit[at * pixels..(at + 1) * pixels];
        let name = format!("{:06}.png", faces.number(at));
        pictures.file(&name, &gray_png(found, faces.size())?)?;
        differences.file(&name, &gray_png(&inverted_difference(&original, found), faces.size())?)?;
        darkness.add(&original, found);
        page.add(faces.number(at), &original, found)?;
        originals.extend_from_slice(&original);
        Ok(())
    })?;
    let montage = montage(&originals, &relit, faces.size())?;
    let summary = summary(args, &faces, seconds, &darkness);
    let lines = lines(args, &faces, seconds, &darkness);
    let html = page.html(&faces, &lines);
    work.finish()?;
    pictures.finish()?;
    differences.finish()?;
    write_whole(folder.file("montage.png"), &montage)?;
    write_whole(folder.file("report.html"), html.as_bytes())?;
    write_whole(folder.file("summary.json"), format!("{summary:#}\n").as_bytes())?;
    print(&format!("{}\nLook at {}; all else is beside it.\n", facts(&lines), folder.file("report.html").display()))
}

/// How components are found; nothing for the default, which finds them while it fills.
fn config(args: &ShadowsArgs) -> Result<Option<Config>> {
    let Some(method) = args.method else {
        args.cone.adjust(FILL, &mut Screen::Everyone)?;
        return Ok(None);
    };
    let mut config = Config::new(method, args.components);
    args.cone.adjust(method.name(), &mut config.screen)?;
    Ok(Some(config))
}

fn reconstruct(config: Option<&Config>, components: usize, faces: &Clip, work: &Work) -> Result<Vec<u8>> {
    let Some(config) = config else {
        return without_shadows(faces, components, work.runner());
    };
    let model = steradian::fit(config, faces, work.runner())?;
    if matches!(model.method(), Method::Robust | Method::Cells) {
        return trusted_reconstruction(&model, faces, work.runner());
    }
    // The paper's methods, and PCA, project as they are written.
    let mut relit = Vec::with_capacity(faces.shape().samples * faces.shape().features);
    work.runner().for_each_block("reconstruct", faces, model.block_rows(), |block| {
        relit.extend(model.reconstruct_block(block)?.iter().map(|level| (level + 0.5).clamp(0.0, 255.0) as u8));
        Ok(())
    })?;
    Ok(relit)
}

fn method_name(args: &ShadowsArgs) -> &'static str {
    args.method.map_or(FILL, Method::name)
}

fn lines(args: &ShadowsArgs, faces: &Clip, seconds: f64, darkness: &Darkness) -> Vec<(&'static str, String)> {
    let (height, width) = faces.size();
    let (dark, lit) = (percent(darkness.dark_share()), percent(darkness.lit_share()));
    vec![
        ("pictures", format!("{} of {height} x {width} (height x width)", faces.shape().samples)),
        ("method", format!("{}, {} components", method_name(args), args.components)),
        ("time", format!("{} s", number(seconds))),
        ("dark pixels", format!("{dark} are below level 20; {lit} of them are above 40 now")),
        ("lit pixels", format!("changed by {} levels in the mean", number(darkness.lit_error()))),
    ]
}

/// The one object of `summary.json`.
fn summary(args: &ShadowsArgs, faces: &Clip, seconds: f64, darkness: &Darkness) -> Value {
    let (height, width) = faces.size();
    json!({
        "pictures": faces.shape().samples,
        "height": height,
        "width": width,
        "method": method_name(args),
        "n_components": args.components,
        "seconds": seconds,
        "dark_share": darkness.dark_share(),
        "dark_lit_share": darkness.lit_share(),
        "lit_error": darkness.lit_error(),
    })
}
