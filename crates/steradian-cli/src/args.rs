//! The command line's grammar: commands, options, their defaults and help.

mod values;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use steradian::{Angle, ComponentCount, Cosine, Method, Scaling, Solver, Ties};
use steradian_io::Missing;

pub use self::values::CenterChoice;
use self::values::{
    angle, center, clip_methods, components, cosines, face_methods, frame_range, methods, missing, parse_size,
    scalings, seconds, solvers, ties,
};
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
    #[command(after_help = "Examples:\n  steradian fit data.npy -o model.safetensors --method tae --angle 60 -d 3\n  \
                      steradian fit large.npy -o model.safetensors --memory 2G --checkpoint fit.checkpoint")]
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
    /// Keep passes in this file: started again with the same command after it was stopped, the fit goes on to the same
    /// model. Removed when the model is written; not for ga, tga and pcp
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds after which a pass under way is kept again; 0 keeps it after each block
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds, requires = "checkpoint")]
    #[arg(allow_negative_numbers = true)]
    pub checkpoint_every: Duration,
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
    pub components: ComponentCount,
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
    /// Meet all pairs of samples to find the cone's axis, however long it takes; tae only
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
    /// Memory that the fit may take: bytes, or with K, M, G (1024); a larger .npy file is streamed, and what cannot be
    /// done within it is refused [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
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
    /// Mask to write (.npy, u8, in the shape of the data): 1 for a cell that does not fit. For models that clean cells
    #[arg(long, value_name = "MASK.npy")]
    pub cells: Option<PathBuf>,
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
    /// Components: the ways in which light changes a face; not for pcp [default: 9]
    #[arg(short = 'd', long, value_name = "K")]
    pub components: Option<usize>,
    /// The cone of tae.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Memory that the pursuit may take: bytes, or with K, M, G (1024); pcp only [default: what the system can give]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
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
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["method", "components", "train", "angle", "cosine", "ties", "recenter", "memory"])]
    pub model: Option<PathBuf>,
    /// The cone of tae.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Memory that the pursuit may take: bytes, or with K, M, G (1024); pcp only [default: what the system can give]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Seed of every random choice
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            method: steradian_clips::SCENE,
            components: steradian_clips::COMPONENTS,
            train: None,
            model: None,
            cone: ConeOptions::default(),
            memory: None,
            seed: 0,
        }
    }
}

impl Default for FrameOptions {
    fn default() -> Self {
        Self { from: 0, to: None, every: 1, scale: 1.0, color: false }
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
    /// Read colours, too, and show all pictures in them; what moves is told from gray levels all the same
    #[arg(long)]
    pub color: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
