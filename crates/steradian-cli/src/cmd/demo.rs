//! `steradian demo`: background and people of a built-in scene by four methods, with pictures and a report.

use std::path::Path;

use serde_json::{Value, json};
use steradian::{ElementType, Result, SliceSource};
use steradian_io::{Color, StagedDir};

use crate::args::{BackgroundArgs, DemoArgs, FrameOptions, LearnOptions};
use crate::cmd::background;
use crate::demo::gray_image::{GrayImage, strip};
use crate::demo::report::{ReportFigure, Section, html};
use crate::demo::scene::{FRAMES, HEIGHT, PIXELS, Scene, WIDTH};
use crate::demo::trial::{SHOWN, Trial, contenders};
use crate::encode_image::png;
use crate::files;
use crate::outcome::{Outcome, warn};
use crate::render::{number, percent, print, table};
use crate::session::Session;

const HEADER: [&str; 7] = ["method", "background PSNR", "foreground F1", "kept", "seconds", "passes", "sine bound"];

/// Renders, fits, measures, then writes everything.
pub fn run(args: &DemoArgs) -> Outcome {
    files::make_folder(&args.output)?;
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
    write(&args.output, &scene, &trials, &gallery, &rows)?;
    let (_, report) = background::separate(&clip_of_scene(&args.output), &work)?;
    work.finish()?;
    for trial in &trials {
        trial.model.warnings.iter().for_each(|warning| warn(&format!("{}: {warning}", trial.contender.label)));
    }
    print(&format!(
        "{}\nThe methods side by side: {}; the pictures, the models and the clip (scene.npy) are beside it.\n\
         `steradian background` on that clip: look at {}\n",
        table(&HEADER, &rows),
        args.output.join("report.html").display(),
        report.display()
    ))
}

/// The clip that was written, with its truth, as one would type it.
fn clip_of_scene(folder: &Path) -> BackgroundArgs {
    BackgroundArgs {
        clip: folder.join("scene.npy"),
        output: folder.join("background"),
        truth: Some(folder.join("people")),
        no_videos: false,
        learn: LearnOptions::default(),
        frames: FrameOptions::default(),
        threads: 0,
    }
}

fn row(trial: &Trial) -> Vec<String> {
    let model = &trial.model;
    vec![
        trial.contender.label.into(),
        format!("{:.2} dB", trial.psnr),
        format!("{:.3}", trial.f1),
        percent(model.n_support() as f64 / FRAMES as f64),
        number(trial.seconds),
        model.passes.to_string(),
        format!("{:.1e}", model.certificate.sine_bound),
    ]
}

/// The demo's pictures, by file name, encoded.
struct Gallery {
    /// The empty room at the light of the first shown frame.
    truth: Vec<u8>,
    /// By method.
    backgrounds: Vec<Vec<u8>>,
    /// By shown frame.
    frames: Vec<Vec<u8>>,
    /// By shown frame, then by method: frame, reconstruction, foreground.
    strips: Vec<Vec<Vec<u8>>>,
}

impl Gallery {
    fn of(scene: &Scene, trials: &[Trial]) -> Result<Self> {
        let truth = GrayImage::from_levels(scene.empty_frame(SHOWN[0]).iter().map(|&x| f64::from(x)));
        let frames: Vec<GrayImage> = SHOWN.iter().map(|&t| GrayImage::from_bytes(scene.frame(t))).collect();
        let strips = |at: usize| {
            let of_trial = |trial: &Trial| strip(&[&frames[at], &trial.shown[at].0, &trial.shown[at].1]);
            trials.iter().map(of_trial).collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            truth: strip(&[&truth])?,
            backgrounds: trials.iter().map(|trial| strip(&[&trial.background])).collect::<Result<_>>()?,
            frames: frames.iter().map(|frame| strip(&[frame])).collect::<Result<_>>()?,
            strips: (0..SHOWN.len()).map(strips).collect::<Result<_>>()?,
        })
    }
}

fn write(folder: &Path, scene: &Scene, trials: &[Trial], gallery: &Gallery, rows: &[Vec<String>]) -> Result<()> {
    let save = |name: String, bytes: &[u8]| steradian_io::write_atomic(folder.join(name), bytes);
    save("empty_room.png".into(), &gallery.truth)?;
    for (at, t) in SHOWN.iter().enumerate() {
        save(format!("frame_{t}.png"), &gallery.frames[at])?;
    }
    for (which, trial) in trials.iter().enumerate() {
        let key = trial.contender.key;
        save(format!("{key}.safetensors"), &trial.model.to_bytes()?)?;
        save(format!("{key}_background.png"), &gallery.backgrounds[which])?;
        for (at, t) in SHOWN.iter().enumerate() {
            save(format!("{key}_frame_{t}.png"), &gallery.strips[at][which])?;
        }
    }
    save("methods.json".into(), format!("{:#}\n", methods(trials)).as_bytes())?;
    let people = StagedDir::create(folder.join("people"))?;
    for t in 0..FRAMES {
        let mask: Vec<u8> = scene.person_frame(t).iter().map(|&person| 255 * u8::from(person)).collect();
        people.file(&format!("{t:06}.png"), &png(&mask, (HEIGHT, WIDTH), Color::Gray)?)?;
    }
    people.finish()?;
    let mut clip =
        steradian_io::NpyWriter::create(folder.join("scene.npy"), ElementType::U8, &[FRAMES, HEIGHT, WIDTH])?;
    clip.write(&scene.frames)?;
    clip.finish()?;
    save("report.html".into(), html(&HEADER, rows, &sections(trials, gallery)).as_bytes())
}

/// What came out, for programs.
fn methods(trials: &[Trial]) -> Value {
    let method = |trial: &Trial| json!({ "key": trial.contender.key, "psnr": trial.psnr, "f1": trial.f1, "seconds": trial.seconds });
    trials.iter().map(method).collect()
}

fn sections<'a>(trials: &'a [Trial], gallery: &'a Gallery) -> Vec<Section<'a>> {
    let mut backgrounds =
        vec![ReportFigure { caption: format!("the empty room at frame {}", SHOWN[0]), png: &gallery.truth }];
    for (trial, png) in trials.iter().zip(&gallery.backgrounds) {
        backgrounds.push(ReportFigure { caption: trial.contender.label.into(), png });
    }
    let mut sections = vec![Section {
        title: "Backgrounds".into(),
        text: "The typical background of each method: its reconstruction at the median score of each component.".into(),
        figures: backgrounds,
    }];
    for (at, t) in SHOWN.iter().enumerate() {
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
