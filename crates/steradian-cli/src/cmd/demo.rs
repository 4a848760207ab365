//! `steradian demo`: separates a built-in scene into background and people by four methods, with images and a report.

use serde_json::{Value, json};
use steradian::data::ElementType;
use steradian::{Result, SliceSource};
use steradian_io::{Color, NpyWriter, OutputFolder, OutputPath, check_outputs};

use crate::args::{BackgroundArgs, DecodingArgs, DemoArgs, FrameOptions, TrainingOptions};
use crate::cmd::background;
use crate::demo::gray_image::{GrayImage, strip};
use crate::demo::report::{ReportFigure, Section, html};
use crate::demo::scene::{FRAMES, HEIGHT, PIXELS, Scene, WIDTH};
use crate::demo::trial::{EXAMPLE_FRAMES, Trial, contenders};
use crate::encode_image::png;
use crate::outcome::{CommandResult, warn};
use crate::render::{number, percent, print, table};
use crate::session::Session;
use crate::terminal;

const HEADER: [&str; 7] = ["method", "background PSNR", "foreground F1", "support", "seconds", "passes", "sine bound"];

/// Renders the scene, fits and evaluates the methods, and writes all files.
pub fn run(args: &DemoArgs) -> CommandResult {
    check_outputs(&[], &[OutputPath::Folder(&args.output)])?;
    let work = Session::begin(0)?;
    let scene = Scene::render();
    let source = SliceSource::new(&scene.frames, FRAMES, PIXELS)?.with_image(HEIGHT, WIDTH)?;
    let mut trials = Vec::new();
    for contender in contenders() {
        trials.push(Trial::run(contender, &scene, &source, work.runner())?);
    }
    let gallery = Gallery::of(&scene, &trials)?;
    work.may_write()?;
    let rows: Vec<Vec<String>> = trials.iter().map(row).collect();
    let folder = OutputFolder::create(&args.output)?;
    write(&folder, &scene, &trials, &gallery, &rows)?;
    let (_, separated) = background::separate(&clip_of_scene(&folder), &work, || Ok(&folder), "background/")?;
    work.finish()?;
    folder.finish()?;
    separated.warnings.iter().for_each(|warning| warn(warning));
    for trial in &trials {
        trial.model.report.warnings.iter().for_each(|warning| warn(&format!("{}: {warning}", trial.contender.label)));
    }
    print(&format!(
        "{}\nReport of the methods: {} (images, models and the clip scene.npy are in the same folder)\n\
         Report of `steradian background` on that clip: {}\n",
        table(&HEADER, &rows),
        terminal::path(&args.output.join("report.html")),
        terminal::path(&args.output.join("background/report.html"))
    ))
}

/// Arguments of `background` for the clip and its ground truth.
fn clip_of_scene(folder: &OutputFolder) -> BackgroundArgs {
    BackgroundArgs {
        clip: folder.staged("scene.npy"),
        output: folder.staged("background"),
        ground_truth: Some(folder.staged("people")),
        no_videos: false,
        training: TrainingOptions::default(),
        frames: FrameOptions::default(),
        threads: 0,
        decoding: DecodingArgs::default(),
    }
}

/// The table row of a method.
fn row(trial: &Trial) -> Vec<String> {
    let model = &trial.model;
    vec![
        trial.contender.label.into(),
        format!("{:.2} dB", trial.psnr),
        format!("{:.3}", trial.f1),
        percent(model.n_support() as f64 / FRAMES as f64),
        number(trial.seconds),
        model.report.passes.to_string(),
        format!("{:.1e}", model.report.certificate.sine_bound),
    ]
}

/// The images of the demo, as PNG.
struct Gallery {
    /// The background under the illumination of the first example frame.
    ground_truth: Vec<u8>,
    /// Typical background of each method.
    backgrounds: Vec<Vec<u8>>,
    /// Example frames.
    frames: Vec<Vec<u8>>,
    /// Frame, reconstruction and foreground, by example frame and method.
    strips: Vec<Vec<Vec<u8>>>,
}

impl Gallery {
    fn of(scene: &Scene, trials: &[Trial]) -> Result<Self> {
        let ground_truth =
            GrayImage::from_levels(scene.background_frame(EXAMPLE_FRAMES[0]).iter().map(|&x| f64::from(x)));
        let frames: Vec<GrayImage> = EXAMPLE_FRAMES.iter().map(|&t| GrayImage::from_bytes(scene.frame(t))).collect();
        let strips = |at: usize| {
            let of_trial = |trial: &Trial| strip(&[&frames[at], &trial.examples[at].0, &trial.examples[at].1]);
            trials.iter().map(of_trial).collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            ground_truth: strip(&[&ground_truth])?,
            backgrounds: trials.iter().map(|trial| strip(&[&trial.background])).collect::<Result<_>>()?,
            frames: frames.iter().map(|frame| strip(&[frame])).collect::<Result<_>>()?,
            strips: (0..EXAMPLE_FRAMES.len()).map(strips).collect::<Result<_>>()?,
        })
    }
}

fn write(
    folder: &OutputFolder,
    scene: &Scene,
    trials: &[Trial],
    gallery: &Gallery,
    rows: &[Vec<String>],
) -> Result<()> {
    let save = |name: String, bytes: &[u8]| folder.write(&name, bytes);
    save("empty_room.png".into(), &gallery.ground_truth)?;
    for (at, t) in EXAMPLE_FRAMES.iter().enumerate() {
        save(format!("frame_{t}.png"), &gallery.frames[at])?;
    }
    for (which, trial) in trials.iter().enumerate() {
        let key = trial.contender.key;
        save(format!("{key}.safetensors"), &trial.model.to_bytes()?)?;
        save(format!("{key}_background.png"), &gallery.backgrounds[which])?;
        for (at, t) in EXAMPLE_FRAMES.iter().enumerate() {
            save(format!("{key}_frame_{t}.png"), &gallery.strips[at][which])?;
        }
    }
    save("methods.json".into(), format!("{:#}\n", methods(trials)).as_bytes())?;
    for t in 0..FRAMES {
        let mask: Vec<u8> = scene.person_frame(t).iter().map(|&person| 255 * u8::from(person)).collect();
        save(format!("people/{t:06}.png"), &png(&mask, (HEIGHT, WIDTH), Color::Gray)?)?;
    }
    let mut clip = NpyWriter::begin(folder.file("scene.npy")?, ElementType::U8, &[FRAMES, HEIGHT, WIDTH])?;
    clip.write(&scene.frames)?;
    clip.finish()?;
    save("report.html".into(), html(&HEADER, rows, &sections(trials, gallery)).as_bytes())
}

/// The object of `methods.json`.
fn methods(trials: &[Trial]) -> Value {
    let method = |trial: &Trial| json!({ "key": trial.contender.key, "psnr": trial.psnr, "f1": trial.f1, "seconds": trial.seconds });
    trials.iter().map(method).collect()
}

/// The sections of the report.
fn sections<'a>(trials: &'a [Trial], gallery: &'a Gallery) -> Vec<Section<'a>> {
    let mut backgrounds = vec![ReportFigure {
        caption: format!("ground truth at frame {}", EXAMPLE_FRAMES[0]),
        png: &gallery.ground_truth,
    }];
    for (trial, png) in trials.iter().zip(&gallery.backgrounds) {
        backgrounds.push(ReportFigure { caption: trial.contender.label.into(), png });
    }
    let mut sections = vec![Section {
        title: "Backgrounds".into(),
        text: "The typical background of each method: its reconstruction at the median score of each component.".into(),
        figures: backgrounds,
    }];
    for (at, t) in EXAMPLE_FRAMES.iter().enumerate() {
        let figure = |(trial, png): (&Trial, &'a Vec<u8>)| ReportFigure { caption: trial.contender.label.into(), png };
        sections.push(Section {
            title: format!("Frame {t}"),
            text: "From left to right: the frame, its reconstruction, and the foreground |frame - reconstruction|, twice as bright."
                .into(),
            figures: trials.iter().zip(&gallery.strips[at]).map(figure).collect(),
        });
    }
    sections
}
