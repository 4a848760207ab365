//! What can be typed: commands, options, their defaults and help.

use std::ops::Range;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use steradian::{Angle, Center, Components, Cosine, Method, Scaling, Solver, Ties};
use steradian_io::Missing;

use crate::cmd::shadows::FILL;

/// Robust PCA at the price of PCA
///
/// Finds the main directions of data with outliers: every sample counts by its direction, not by its length. Data are
/// read block by block, so a file may be larger than memory.
#[derive(Debug, Parser)]
#[command(
    name = "steradian",
    version,
    after_help = "Examples:\n  steradian demo\n  steradian fit data.npy -o model.safetensors -d 3"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Separate a built-in scene into background and people
    ///
    /// Makes a clip of a room with people from a fixed seed, fits PCA, AE, TAE and scene to it, and writes their backgrounds,
    /// foregrounds and a report. The clip itself is written as scene.npy for fits of your own, and taken apart into the
    /// folder background.
    #[command(after_help = "Example:\n  steradian demo -o steradian-demo")]
    Demo(DemoArgs),
    /// Say what a fit would cost, without doing it
    ///
    /// Prints the solver, the passes over the data, the bytes they read and the most memory they take.
    #[command(after_help = "Example:\n  steradian plan data.npy --method tae -d 3 --memory 500M")]
    Plan(PlanArgs),
    /// Fit a model and write it to a file
    ///
    /// Methods are presets; other options override them. Every fit carries a bound on the angle between its subspace
    /// and the exact one.
    #[command(after_help = "Example:\n  steradian fit data.npy -o model.safetensors --method tae --angle 60 -d 3")]
    Fit(FitArgs),
    /// Write the scores of samples under a model
    ///
    /// A score is the coordinate of a sample, seen from the model's center, along a component. Scores are float32 for
    /// uint8, uint16 and float32 data, float64 for float64.
    #[command(after_help = "Example:\n  steradian transform model.safetensors data.npy -o scores.npy")]
    Transform(ApplyArgs),
    /// Write samples as a model sees them
    ///
    /// A reconstruction is the nearest point of the model's subspace. It has the shape of its data: (n, h, w) stays
    /// (n, h, w).
    #[command(after_help = "Example:\n  steradian reconstruct model.safetensors frames.npy -o background.npy")]
    Reconstruct(ApplyArgs),
    /// Tell outliers from regular samples
    ///
    /// Two distances judge a sample: along the components (score distance) and away from them (orthogonal distance). The
    /// cutoffs are in the model, so samples are judged without refitting. The worst come first in the table; the file has
    /// all samples in data order.
    #[command(after_help = "Example:\n  steradian outliers model.safetensors data.csv -o flags.csv --plot map.svg")]
    Outliers(OutliersArgs),
    /// Separate a clip into its empty scene and what moves
    ///
    /// Learns the scene from the frames (of --train, if given), then takes every frame apart: the background at the light of
    /// that frame, and a mask of what is not part of it. Writes background.png, masks,
    /// videos of backgrounds, foreground and both, model.safetensors, summary.json and report.html.
    #[command(
        after_help = "Examples:\n  steradian background camera.mp4 -o out\n  steradian background frames/ -o out --train 0:200\n  \
                      steradian background tonight.mp4 -o out --model yesterday/model.safetensors"
    )]
    Background(BackgroundArgs),
    /// Remove cast shadows from pictures of one face
    ///
    /// Finds the ways in which light changes the face and shows each picture as they explain it; dark and saturated pixels are
    /// not trusted. Writes montage.png, relit and difference pictures, summary.json and report.html.
    #[command(after_help = "Example:\n  steradian shadows faces/ -o out")]
    Shadows(ShadowsArgs),
    /// Show what a model file holds
    ///
    /// Prints method, parameters, shape, certificate, cutoffs, and the share and variance of each component.
    #[command(after_help = "Example:\n  steradian inspect model.safetensors --json")]
    Inspect(InspectArgs),
    /// Write the components of a model as .csv or .npy
    ///
    /// One component per row, one feature per column.
    #[command(after_help = "Example:\n  steradian export model.safetensors -o components.csv")]
    Export(ExportArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  steradian completions bash > /etc/bash_completion.d/steradian")]
    Completions(CompletionsArgs),
    /// Write manual pages into a folder
    #[command(after_help = "Example:\n  steradian manpages -o man/man1")]
    Manpages(ManpagesArgs),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for pictures, models and report.html; made when missing
    #[arg(short, long, value_name = "DIR", default_value = "steradian-demo")]
    pub output: PathBuf,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Samples: .npy (n x D, or n x h x w), .csv or .parquet
    pub data: PathBuf,
    /// Print one json object
    #[arg(long)]
    pub json: bool,
    /// How to fit.
    #[command(flatten)]
    pub options: FitOptions,
    /// How to read tables.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Samples: .npy (n x D, or n x h x w), .csv or .parquet
    pub data: PathBuf,
    /// Model file to write (safetensors)
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Print one json object
    #[arg(long)]
    pub json: bool,
    /// Array of the low-rank part to write, in the shape of the data; pcp only
    #[arg(long, value_name = "OUT.npy")]
    pub low_rank: Option<PathBuf>,
    /// Array of the sparse part to write; pcp only
    #[arg(long, value_name = "OUT.npy")]
    pub sparse: Option<PathBuf>,
    /// How to fit.
    #[command(flatten)]
    pub options: FitOptions,
    /// How to read tables.
    #[command(flatten)]
    pub table: TableArgs,
}

/// How to fit: what `plan` and `fit` share.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to fit")]
pub struct FitOptions {
    /// Preset of center, screen and weighting
    #[arg(long, value_name = "M", default_value = "robust", value_parser = methods())]
    pub method: Method,
    /// Components: how many, the share of robust variance they explain (between 0 and 1), or auto (as many as stand out
    /// from noise)
    #[arg(short = 'd', long, value_name = "K|SHARE|auto", default_value = "2", value_parser = components)]
    pub components: Components,
    /// Where samples are seen from: mean, median, spatial-median, none, or a .npy file with one number per feature
    /// [default: the method's]
    #[arg(long, value_name = "C", value_parser = center)]
    pub center: Option<CenterChoice>,
    /// The cone of tae.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Divide each feature by its robust scale first, for features in different units; undone in reconstructions
    #[arg(long, default_value = "none", value_parser = scalings())]
    pub scale: Scaling,
    /// Directions that outlyingness looks along; robust and cells only [default: 250]
    #[arg(long, value_name = "N")]
    pub directions: Option<usize>,
    /// Let transform and reconstruct use robust scores for this model, as if they were asked to
    #[arg(long)]
    pub robust_scores: bool,
    /// Count the cone's samples exactly; always so in this version
    #[arg(long)]
    pub exact: bool,
    /// How eigenvectors are found: auto takes the cheapest
    #[arg(long, default_value = "auto", value_parser = solvers())]
    pub solver: Solver,
    /// Largest sine of an angle to the exact subspace that counts as converged; for baselines the change (pcp: the
    /// relative residual) at which they stop [default: 1e-6; empca, emae, ga, tga: 1e-4; pcp: 1e-7]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub tol: Option<f64>,
    /// Share of samples left out at each end of a feature, from 0 to 0.5, which leaves the median; tga only [default: 0.5]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub trim: Option<f64>,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Threads; 0 takes one per core; the answer does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Refuse a fit that takes more memory: bytes, or with K, M, G (1024) [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
}

/// The cone of tae.
#[derive(Debug, Default, Args)]
pub struct ConeOptions {
    /// Half-angle of the cone: degrees above 0 and up to 90, or auto (the smallest cone that holds half of the
    /// samples); tae only [default: 60]
    #[arg(long, value_name = "DEG|auto", value_parser = angle, allow_negative_numbers = true)]
    pub angle: Option<Angle>,
    /// Whether a direction and its opposite are the same (abs) or not (signed); tae only [default: abs, signed for clips]
    #[arg(long, value_parser = cosines())]
    pub cosine: Option<Cosine>,
    /// Who becomes the cone's axis among equals: the first, or the one in the densest place; tae only [default: index]
    #[arg(long, value_parser = ties())]
    pub ties: Option<Ties>,
    /// Take the mean of the samples in the cone as center; tae only
    #[arg(long)]
    pub recenter: bool,
}

/// How to read tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to read tables")]
pub struct TableArgs {
    /// Columns to read, in this order: names, or indices from 0 when there is no header; numeric reads every column of
    /// numbers [default: all]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// The first column holds names of rows
    #[arg(long)]
    pub row_names: bool,
    /// Rows with missing values: error refuses the table, drop leaves them out
    #[arg(long, default_value = "error", value_parser = missing())]
    pub missing: Missing,
}

/// Arguments of `transform` and `reconstruct`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Model file
    pub model: PathBuf,
    /// Samples of the model's width: .npy, .csv or .parquet
    pub data: PathBuf,
    /// Array to write (.npy)
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Scores by robust regression on the features, so that single bad cells do not move them
    #[arg(long)]
    pub robust_scores: bool,
    /// Threads; 0 takes one per core; the answer does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// How to read tables.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Arguments of `outliers`.
#[derive(Debug, Args)]
pub struct OutliersArgs {
    /// Model file
    pub model: PathBuf,
    /// Samples of the model's width
    pub data: PathBuf,
    /// Table to write (.csv), one line per sample in data order
    #[arg(short, long, value_name = "FLAGS.csv")]
    pub output: Option<PathBuf>,
    /// Outlier map to draw (.png or .svg); the samples in the table on the terminal are named in it
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Samples in the table on the terminal, the worst first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print one json object with the counts
    #[arg(long)]
    pub json: bool,
    /// Threads; 0 takes one per core; the answer does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// How to read tables.
    #[command(flatten)]
    pub table: TableArgs,
}

/// Arguments of `background`.
#[derive(Debug, Args)]
pub struct BackgroundArgs {
    /// Video (read through ffmpeg), folder of images of one size, GIF, or .npy (frames, height, width) of uint8
    pub clip: PathBuf,
    /// Folder to write into; made when missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Truth to compare with: a folder of masks numbered as the frames (255 moving, 0 and 50 static, other values not
    /// scored), one such mask, or a picture of the empty scene
    #[arg(long, value_name = "DIR|IMAGE")]
    pub truth: Option<PathBuf>,
    /// Leave out backgrounds.mp4, foreground.mp4 and overlay.mp4
    #[arg(long)]
    pub no_videos: bool,
    /// How the scene is learnt.
    #[command(flatten)]
    pub learn: LearnOptions,
    /// Which frames are read.
    #[command(flatten)]
    pub frames: FrameOptions,
    /// Threads; 0 takes one per core; the answer does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

/// Arguments of `shadows`.
#[derive(Debug, Args)]
pub struct ShadowsArgs {
    /// Folder of images of one size: one face, one pose, many lights
    pub faces: PathBuf,
    /// Folder to write into; made when missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// How components are found
    // The type is spelt out, so that the derive does not take it for an option that may be absent.
    #[arg(long, value_name = "M", default_value = FILL, value_parser = face_methods())]
    pub method: std::option::Option<Method>,
    /// Components: the ways in which light changes a face
    #[arg(short = 'd', long, value_name = "K", default_value_t = steradian_clips::FACE_COMPONENTS)]
    pub components: usize,
    /// The cone of tae.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Threads; 0 takes one per core; the answer does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

/// How the scene of a clip is learnt.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to learn the scene")]
pub struct LearnOptions {
    /// How backgrounds are found
    #[arg(long, value_name = "M", default_value = "scene", value_parser = clip_methods())]
    pub method: Method,
    /// Components: the ways in which the background may change
    #[arg(short = 'd', long, value_name = "K", default_value_t = steradian_clips::COMPONENTS)]
    pub components: usize,
    /// Learn from these frames only, those before B from A on, counted from 0 among the frames that are read
    #[arg(long, value_name = "A:B", value_parser = frame_range)]
    pub train: Option<Range<usize>>,
    /// Learn nothing: apply this model, which an earlier run wrote
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["method", "components", "train", "angle", "cosine", "ties", "recenter"])]
    pub model: Option<PathBuf>,
    /// The cone of tae.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            method: Method::Scene,
            components: steradian_clips::COMPONENTS,
            train: None,
            model: None,
            cone: ConeOptions::default(),
            seed: 0,
        }
    }
}

impl Default for FrameOptions {
    fn default() -> Self {
        Self { from: 0, to: None, every: 1, scale: 1.0 }
    }
}

/// Which frames of a clip are read, and at what size.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to read frames")]
pub struct FrameOptions {
    /// First frame to read, from 0
    #[arg(long, value_name = "A", default_value_t = 0)]
    pub from: usize,
    /// Frame to stop before [default: the end of the clip]
    #[arg(long, value_name = "B")]
    pub to: Option<usize>,
    /// Read one frame of so many
    #[arg(long, value_name = "K", default_value_t = 1)]
    pub every: usize,
    /// Shrink frames by this factor, above 0 and at most 1
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_negative_numbers = true)]
    pub scale: f64,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Model file
    pub model: PathBuf,
    /// Print one json object
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Model file
    pub model: PathBuf,
    /// File to write: .csv or .npy
    #[arg(short, long, value_name = "COMPONENTS.csv|.npy")]
    pub output: PathBuf,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `manpages`.
#[derive(Debug, Args)]
pub struct ManpagesArgs {
    /// Folder to write into; made when missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// A center by name, or the file that holds it.
#[derive(Debug, Clone)]
pub enum CenterChoice {
    /// One that is found from the data.
    Named(Center),
    /// One number per feature, in a .npy file.
    File(PathBuf),
}

/// A parser of names with help, each standing for a value.
fn one_of<T: Clone + Send + Sync + 'static>(
    choices: Vec<(&'static str, &'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<_> = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help)).collect();
    PossibleValuesParser::new(names).map(move |name| {
        let (_, _, value) =
            choices.iter().find(|(choice, ..)| *choice == name).expect("clap lets only choices through");
        value.clone()
    })
}

fn methods() -> impl TypedValueParser<Value = Method> {
    let all = Method::ALL.into_iter().chain(Method::BASELINES);
    one_of(all.map(|m| (m.name(), method_help(m), m)).collect())
}

fn method_help(method: Method) -> &'static str {
    match method {
        Method::Robust => "outlying samples screened off, least sum of sines around the spatial median",
        Method::Cells => "robust, with single bad cells cleaned",
        Method::Ae => "angular embedding around the mean",
        Method::Tae => "trimmed: angular embedding of the samples in the fullest cone, seen from the mean",
        Method::Angular => "angular embedding around the spatial median",
        Method::Pca => "classical PCA",
        Method::Scene => "made for clips",
        Method::Empca => "baseline: classical PCA by expectation maximisation",
        Method::Emae => "baseline: angular embedding around the mean by the same iteration, no matrix decomposed",
        Method::Ga => "baseline: Grassmann average",
        Method::Tga => "baseline: trimmed Grassmann average; holds the data by columns in memory",
        Method::Pcp => {
            "baseline: principal component pursuit, a low-rank and a sparse part; holds four arrays of doubles"
        }
    }
}

fn clip_methods() -> impl TypedValueParser<Value = Method> {
    let mut choices =
        vec![("scene", "made for clips: follows the light, leaves out what moves or rests", Method::Scene)];
    choices.extend(Method::ALL.map(|m| (m.name(), method_help(m), m)));
    one_of(choices)
}

fn face_methods() -> impl TypedValueParser<Value = Option<Method>> {
    let mut choices = vec![(FILL, "dark and saturated pixels count as missing, by degrees", None)];
    choices.extend(Method::ALL.map(|m| (m.name(), method_help(m), Some(m))));
    one_of(choices)
}

fn cosines() -> impl TypedValueParser<Value = Cosine> {
    one_of(vec![
        ("abs", "a direction and its opposite are the same", Cosine::Abs),
        ("signed", "they are not", Cosine::Signed),
    ])
}

fn ties() -> impl TypedValueParser<Value = Ties> {
    one_of(vec![
        ("index", "the first in the data", Ties::Index),
        ("density", "the one with the largest sum of squared cosines to all", Ties::Density),
    ])
}

fn solvers() -> impl TypedValueParser<Value = Solver> {
    let help = |solver: Solver| match solver {
        Solver::Auto => "the cheapest for the shape of the data",
        Solver::Scatter => "through the D x D matrix",
        Solver::Gram => "through the n x n matrix",
        Solver::Krylov => "by passes, without either matrix",
    };
    one_of([Solver::Auto, Solver::Scatter, Solver::Gram, Solver::Krylov].map(|s| (s.name(), help(s), s)).to_vec())
}

fn scalings() -> impl TypedValueParser<Value = Scaling> {
    one_of(vec![
        ("none", "features keep their units", Scaling::None),
        ("mad", "by the median absolute deviation", Scaling::Mad),
    ])
}

fn missing() -> impl TypedValueParser<Value = Missing> {
    one_of(vec![
        ("error", "refuse the table and name the place", Missing::Error),
        ("drop", "leave such rows out", Missing::Drop),
    ])
}

fn components(text: &str) -> Result<Components, String> {
    match (text.parse::<usize>(), text.parse::<f64>()) {
        (Ok(count), _) => Ok(Components::Count(count)),
        (Err(_), Ok(share)) if share > 0.0 && share < 1.0 => Ok(Components::Share(share)),
        _ if text == "auto" => Ok(Components::Auto),
        _ => Err("give a whole number, a share between 0 and 1, or auto".into()),
    }
}

fn center(text: &str) -> Result<CenterChoice, String> {
    let named = [Center::Mean, Center::Median, Center::SpatialMedian, Center::None];
    match named.into_iter().find(|center| center.name() == text) {
        Some(center) => Ok(CenterChoice::Named(center)),
        None if text.to_lowercase().ends_with(".npy") => Ok(CenterChoice::File(text.into())),
        None => Err("give mean, median, spatial-median, none, or a .npy file".into()),
    }
}

/// Two counts with a colon between them, the first below the second.
fn frame_range(text: &str) -> Result<Range<usize>, String> {
    let ends = text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match ends {
        Some((from, to)) if from < to => Ok(from..to),
        _ => Err("give two frames A:B, counted from 0, A below B; B itself is left out".into()),
    }
}

fn angle(text: &str) -> Result<Angle, String> {
    if text == "auto" {
        return Ok(Angle::Auto);
    }
    text.parse().map(Angle::Degrees).map_err(|_| "give degrees above 0 and up to 90, or auto".into())
}

/// Bytes, or with K, M, G for powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => (text, 0),
    };
    let count = digits.parse::<u64>().map_err(|_| "give bytes, or a whole number with K, M or G, such as 500M")?;
    count.checked_mul(1 << shift).ok_or_else(|| "more bytes than 64 bits can count".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_count_in_1024() {
        assert_eq!(size("77"), Ok(77));
        assert_eq!(size("2k"), Ok(2048));
        assert_eq!(size("3M"), Ok(3 << 20));
        assert_eq!(size("1G"), Ok(1 << 30));
        for bad in ["", "K", "-1", "1.5G", "2T", "99999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn components_are_a_number_a_share_or_auto() {
        assert_eq!(components("3"), Ok(Components::Count(3)));
        assert_eq!(components("auto"), Ok(Components::Auto));
        assert_eq!(components("0.95"), Ok(Components::Share(0.95)));
        for bad in ["two", "1.5", "-1", "-0.5", "NaN", ""] {
            assert!(components(bad).is_err(), "{bad}");
        }
    }
}
