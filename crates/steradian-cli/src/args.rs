//! Grammar of the command line: commands, options, defaults and help texts.

mod values;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use steradian::config::{Angle, ComponentOrder, Cosine, Scaling, Ties};
use steradian::{ComponentCount, Method, Solver};
use steradian_io::{ClipLimits, Header, MissingRule};

pub use self::values::{CenterChoice, MapRows};
use self::values::{
    center, clip_methods, cosines, face_methods, frame_range, header, map_rows, max_angle, methods, missing,
    n_components, orders, parse_size, scalings, seconds, solvers, ties,
};
use crate::cmd::shadows::FILL;

/// Fit robust principal components to data with outliers
///
/// A fit down-weights or rejects outlying samples, so that they do not move the components. Data are read block by block,
/// so a file may be larger than memory.
#[derive(Debug, Parser)]
#[command(
    name = "steradian",
    version,
    after_help = "Examples:\n  steradian demo\n  steradian fit data.npy -o model.safetensors -d 3"
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Separate a built-in scene into background and foreground
    ///
    /// Renders a clip of a room with people from a fixed seed, fits PCA, AE, TAE and scene to it, and writes their
    /// backgrounds, foregrounds and a report. Also writes the clip as scene.npy and runs `steradian background` on it, with
    /// the folder background for its output.
    #[command(after_help = "Example:\n  steradian demo -o steradian-demo")]
    Demo(DemoArgs),
    /// Estimate the cost of a fit without running it
    ///
    /// Prints the solver, the number of passes over the data, the bytes read and the peak memory.
    #[command(after_help = "Example:\n  steradian plan data.npy --method tae -d 3 --memory 500M")]
    Plan(PlanArgs),
    /// Fit a model and write it to a file
    ///
    /// Methods are presets; other options override them. A fit computes a certificate: an upper bound on the sine of the
    /// largest angle between its subspace and the exact one. Baselines report the convergence of their iteration instead.
    #[command(
        after_help = "Examples:\n  steradian fit data.npy -o model.safetensors --method tae --max-angle 60 -d 3\n  \
                      steradian fit large.npy -o model.safetensors --memory 2G --checkpoint fit.checkpoint"
    )]
    Fit(FitArgs),
    /// Compute the scores of samples and write them to a file
    ///
    /// A score is the coordinate of a centered sample along a component. Scores are float32 for uint8, uint16 and float32
    /// data, float64 for float64 data.
    #[command(after_help = "Example:\n  steradian transform model.safetensors data.npy -o scores.npy")]
    Transform(ApplyArgs),
    /// Project samples onto the model's subspace and write the result
    ///
    /// The reconstruction of a sample is the nearest point of the model's subspace. The output has the shape of the data:
    /// (n, h, w) stays (n, h, w).
    #[command(after_help = "Example:\n  steradian reconstruct model.safetensors frames.npy -o background.npy")]
    Reconstruct(ApplyArgs),
    /// Fill missing cells with their expected values
    ///
    /// The expected value of a cell follows from the usable cells of its sample and the model. All other cells keep their
    /// values. A table keeps its row names and column names; an array keeps its shape.
    #[command(after_help = "Examples:\n  steradian fill model.safetensors cars.csv -o complete.csv --row-names\n  \
                      steradian fill model.safetensors data.npy -o clean.npy --bad-cells --mask changed.npy")]
    Fill(FillArgs),
    /// Flag outlying samples and bad cells
    ///
    /// Uses the cutoffs stored in the model, so new data can be diagnosed without refitting. Prints the most extreme
    /// samples; -o writes all samples in data order, --cells the bad and missing cells.
    #[command(
        after_help = "Examples:\n  steradian outliers model.safetensors data.csv -o flags.csv --plot map.svg\n  \
                      steradian outliers model.safetensors data.csv --cells cells.csv --cell-map cells.png\n  \
                      steradian outliers model.safetensors data.csv --training"
    )]
    Outliers(OutliersArgs),
    /// Separate a clip into background and foreground
    ///
    /// Trains a background model on the frames (on those of --train, if given), then computes for every frame the background
    /// under the illumination of that frame and a foreground mask. Writes background.png, masks, videos of the backgrounds,
    /// of the foreground and of both, model.safetensors, summary.json and report.html.
    #[command(
        after_help = "Examples:\n  steradian background camera.mp4 -o out\n  steradian background frames/ -o out --train 0:200\n  \
                      steradian background tonight.mp4 -o out --model yesterday/model.safetensors"
    )]
    Background(BackgroundArgs),
    /// Remove cast shadows from images of one face
    ///
    /// Estimates the components of the illumination and reconstructs each image from them; dark and saturated pixels get a
    /// low weight. Writes montage.png, reconstructed and difference images, summary.json and report.html.
    #[command(after_help = "Example:\n  steradian shadows faces/ -o out")]
    Shadows(ShadowsArgs),
    /// Print the contents of a model file
    ///
    /// Prints method, parameters, shape, certificate, cutoffs, and the angular eigenvalue and explained variance of each
    /// component.
    #[command(after_help = "Example:\n  steradian inspect model.safetensors --json")]
    Inspect(InspectArgs),
    /// Write the components of a model to a .csv or .npy file
    ///
    /// The table has one row per component and one column per feature.
    #[command(after_help = "Example:\n  steradian export model.safetensors -o components.csv")]
    Export(ExportArgs),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  steradian completions bash > /etc/bash_completion.d/steradian")]
    Completions(CompletionsArgs),
    /// Write manual pages to a folder
    #[command(after_help = "Example:\n  steradian manpages -o man/man1")]
    Manpages(ManpagesArgs),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for images, models and report.html; created if missing
    #[arg(short, long, value_name = "DIR", default_value = "steradian-demo")]
    pub output: PathBuf,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Samples: .npy, .csv, .parquet, a folder of images, GIF or video
    ///
    /// The content of the file decides. An array of shape (n, h, w) holds n samples.
    pub data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Options of the fit.
    #[command(flatten)]
    pub options: FitOptions,
    /// Options of tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// Treatment of missing cells.
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Rows and cells that take no part.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Samples: .npy, .csv, .parquet, a folder of images, GIF or video
    ///
    /// The content of the file decides. An array of shape (n, h, w) holds n samples.
    pub data: PathBuf,
    /// Model file to write (safetensors)
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Save progress to FILE, to resume an interrupted fit
    ///
    /// Rerunning the same command after an interruption resumes the fit and produces a byte-identical model. FILE is deleted
    /// on success. Not available for ga, tga, pcp.
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Minimum time between snapshots of the pass in progress, in seconds
    ///
    /// 0 saves a snapshot after every block.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds, requires = "checkpoint")]
    #[arg(allow_negative_numbers = true)]
    pub checkpoint_every: Duration,
    /// Array of the low-rank part to write, in the data's shape [pcp only]
    #[arg(long, value_name = "OUT.npy")]
    pub low_rank: Option<PathBuf>,
    /// Array of the sparse part to write, in the data's shape [pcp only]
    #[arg(long, value_name = "OUT.npy")]
    pub sparse: Option<PathBuf>,
    /// Options of the fit.
    #[command(flatten)]
    pub options: FitOptions,
    /// Options of tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// Treatment of missing cells.
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Rows and cells that take no part.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Options of a fit, common to `plan` and `fit`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fit options")]
pub struct FitOptions {
    /// Preset of center, screen, weighting and loss
    ///
    /// tga holds the data in memory; pcp holds four f64 arrays of the size of the data.
    #[arg(long, value_name = "METHOD", default_value = "robust", value_parser = methods())]
    pub method: Method,
    /// Number of components, fraction of variance to explain, or `auto`
    ///
    /// An integer, a fraction of the robust variance to explain (0 < x < 1), or `auto` (parallel analysis). The last two
    /// consider at most 30 components.
    #[arg(short = 'd', long, alias = "components", value_name = "N|FRACTION|auto", default_value = "2")]
    #[arg(value_parser = n_components)]
    pub n_components: ComponentCount,
    /// Center to subtract: mean, median, spatial-median, none or FILE.npy
    ///
    /// The median is taken per feature. A .npy file has one value per feature. [default: set by --method]
    #[arg(long, value_name = "CENTER", value_parser = center)]
    pub center: Option<CenterChoice>,
    /// Options of the cone of `tae`.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Scale to divide each feature by, for features in different units
    ///
    /// Reconstructions are in the units of the data.
    #[arg(long, alias = "scale", value_name = "SCALING", default_value = "none", value_parser = scalings())]
    pub scaling: Scaling,
    /// Number of projection directions [robust, cells, rows] [default: 250]
    ///
    /// The outlyingness screen projects the samples onto each of them.
    #[arg(long, alias = "directions", value_name = "N")]
    pub n_directions: Option<usize>,
    /// Order of the components [angular, ae, tae only]
    ///
    /// `variance` computes eight more eigenvectors and takes those of the largest robust variance: samples on a line, which
    /// have a large angular eigenvalue, are then no component.
    #[arg(long, value_name = "ORDER", default_value = "angular", value_parser = orders())]
    pub order: ComponentOrder,
    /// Adjust limits and cutoffs for skewed features [robust, cells, rows only]
    ///
    /// Regular samples far out on the long side of a skewed distribution are then not flagged.
    #[arg(long)]
    pub skew: bool,
    /// Make robust scores the default for this model
    ///
    /// `transform` and `reconstruct` then compute the scores by Huber regression.
    #[arg(long)]
    pub robust_scores: bool,
    /// Find the pivot of the cone by an exact count [tae only]
    ///
    /// Counts over all pairs of samples, O(n^2 D), instead of successive elimination, which large data use by default.
    #[arg(long)]
    pub exact: bool,
    /// Solver of the eigenproblems
    #[arg(long, value_name = "SOLVER", default_value = "auto", value_parser = solvers())]
    pub solver: Solver,
    /// Convergence tolerance: largest accepted sine bound
    ///
    /// The sine bound is an upper bound on the sine of the largest principal angle to the exact subspace. Baselines: change
    /// per iteration (pcp: relative residual). [default: 1e-6; empca, emae, ga, tga: 1e-4; pcp: 1e-7]
    #[arg(long, value_name = "TOL", allow_negative_numbers = true)]
    pub tol: Option<f64>,
    /// Fraction of samples to trim at each end [tga only] [default: 0.5]
    ///
    /// From 0 to 0.5, per feature; 0.5 leaves the median.
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    pub trim: Option<f64>,
    /// Seed of the random number generator
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Memory limit for the fit, for example 500M or 2G [default: none]
    ///
    /// Bytes, or with K, M, G (powers of 1024). Larger .npy files are streamed; a fit uses fewer threads if all would exceed
    /// the limit, and fails before it starts if one thread does.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
}

/// Options of the cone of `tae`.
#[derive(Debug, Default, Args)]
pub struct ConeOptions {
    /// Half-angle of the cone in degrees, or `auto` [tae only] [default: 60]
    ///
    /// Above 0 and at most 90. `auto` is the smallest cone that holds half of the samples.
    #[arg(long, alias = "angle", value_name = "DEG|auto", value_parser = max_angle, allow_negative_numbers = true)]
    pub max_angle: Option<Angle>,
    /// Cosine by which directions are compared [tae only]
    ///
    /// [default: abs; background: signed]
    #[arg(long, value_name = "COSINE", value_parser = cosines())]
    pub cosine: Option<Cosine>,
    /// Tie-breaking rule for the pivot of the cone [tae only] [default: index]
    #[arg(long, value_name = "RULE", value_parser = ties())]
    pub ties: Option<Ties>,
    /// Center at the mean of the samples in the cone [tae only]
    #[arg(long)]
    pub recenter: bool,
}

/// Options of tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "Table input")]
pub struct TableArgs {
    /// Columns to read, in this order, or `numeric` [default: all]
    ///
    /// Names, or indices from 0 if the table has no header. `numeric` reads every numeric column.
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Treat the first column as row names
    #[arg(long)]
    pub row_names: bool,
    /// Treatment of the first row of a text table
    ///
    /// `auto` takes it for a header if one of its cells is text. A header of numbers, such as wavelengths, needs `yes`.
    #[arg(long, value_name = "RULE", default_value = "auto", value_parser = header())]
    pub header: Header,
}

/// Treatment of missing cells.
#[derive(Debug, Args)]
#[command(next_help_heading = "Missing cells")]
pub struct MissingArgs {
    /// Treatment of missing cells: NaN, empty cells and nulls
    ///
    /// Infinite cells are always errors. [default: use for robust, cells, rows, angular, pca; else error]
    #[arg(long, value_name = "RULE", value_parser = missing())]
    pub missing: Option<MissingRule>,
}

/// Rows and cells that take no part in a fit.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Missing cells")]
pub struct SelectionArgs {
    /// Mask of missing cells: .npy of bool, one value per cell
    ///
    /// true marks a missing cell, for data that cannot contain NaN. An array of uint8 has 0 and 1. uint8 and uint16 data are
    /// read as float32 then.
    #[arg(long, value_name = "MASK.npy")]
    pub missing_mask: Option<PathBuf>,
    /// Rows that take no part in the fit: .npy of bool, or of indices
    ///
    /// One bool per row of the data, true for an excluded row, or indices of rows from 0. The support of the model counts all
    /// rows.
    #[arg(long, value_name = "ROWS.npy")]
    pub exclude: Option<PathBuf>,
}

/// Limit of decoding images and videos.
#[derive(Debug, Args)]
#[command(next_help_heading = "Image and video input")]
pub struct DecodingArgs {
    /// Largest total size of decoded frames, for example 500M or 100G
    ///
    /// Bytes, or with K, M, G (powers of 1024). Counts every frame that is decoded, before --stride and --resize. A clip
    /// that exceeds it is rejected; arrays are read in place and have no limit.
    #[arg(long, value_name = "SIZE", default_value = "16G", value_parser = parse_size)]
    pub max_decoded: u64,
}

impl Default for DecodingArgs {
    fn default() -> Self {
        Self { max_decoded: ClipLimits::MAX_DECODED }
    }
}

/// Arguments of `transform` and `reconstruct`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Model file
    pub model: PathBuf,
    /// Samples with the features of the model, in any format of `fit`
    pub data: PathBuf,
    /// Array to write (.npy)
    #[arg(short, long, value_name = "OUT.npy")]
    pub output: PathBuf,
    /// Compute scores by Huber regression over the features
    ///
    /// Single bad cells then have little influence on the scores.
    #[arg(long)]
    pub robust_scores: bool,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Options of tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// Treatment of missing cells.
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Arguments of `fill`.
#[derive(Debug, Args)]
pub struct FillArgs {
    /// Model file
    pub model: PathBuf,
    /// Samples with the features of the model, in any format of `fit`
    pub data: PathBuf,
    /// Completed samples to write: .csv, .npy or .parquet
    ///
    /// An array has the element type of the data; with --bad-cells, that of uint8 and uint16 data is float32.
    #[arg(short, long, value_name = "OUT.csv|.npy|.parquet")]
    pub output: PathBuf,
    /// Replace bad cells, too
    ///
    /// Requires a model of robust, cells or rows.
    #[arg(long)]
    pub bad_cells: bool,
    /// Mask of changed cells to write (.npy, bool)
    ///
    /// The mask has the shape of the data.
    #[arg(long, value_name = "MASK.npy")]
    pub mask: Option<PathBuf>,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Options of tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Arguments of `outliers`.
#[derive(Debug, Args)]
pub struct OutliersArgs {
    /// Model file
    pub model: PathBuf,
    /// Samples with the features of the model, in any format of `fit`
    pub data: PathBuf,
    /// Table to write (.csv), one row per sample in data order
    #[arg(short, long, value_name = "FLAGS.csv")]
    pub output: Option<PathBuf>,
    /// Outlier map to draw (.png or .svg)
    ///
    /// The samples in the printed table are labeled.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Judge the samples of the fit by their own cutoffs
    ///
    /// A model has adapted to the samples of its fit, so that their cutoffs are lower than those of new samples. DATA must be
    /// the data of the fit.
    #[arg(long)]
    pub training: bool,
    /// Table of bad and missing cells (.csv), or mask of bad cells (.npy)
    ///
    /// The table has the columns sample, feature, value, expected, residual_sd and flag (bad or missing). The mask is of
    /// type bool and has the shape of the data. Requires a model of robust, cells or rows.
    #[arg(long, value_name = "CELLS.csv|MASK.npy")]
    pub cells: Option<PathBuf>,
    /// Cell map to draw (.png or .svg): residuals of cells as colors
    ///
    /// Samples by features: blue cells are below their expected values, red cells above, and bad cells are dark. Requires a
    /// model of robust, cells or rows.
    #[arg(long, value_name = "FILE")]
    pub cell_map: Option<PathBuf>,
    /// Rows of the cell map: worst, data, or a number of worst rows
    ///
    /// `worst`: the rows with the largest orthogonal distance or residual of a cell, as many as have space for a name.
    /// `data`: all rows in data order. Many rows or features are divided into blocks.
    #[arg(long, value_name = "worst|data|N", default_value = "worst", value_parser = map_rows, requires = "cell_map")]
    pub cell_map_rows: MapRows,
    /// Number of samples to print, the most extreme first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Print one JSON object with the counts
    #[arg(long)]
    pub json: bool,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Options of tables.
    #[command(flatten)]
    pub table: TableArgs,
    /// Treatment of missing cells.
    #[command(flatten)]
    pub missing: MissingArgs,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Arguments of `background`.
#[derive(Debug, Args)]
pub struct BackgroundArgs {
    /// Video, folder of images of one size, GIF, or .npy of uint8
    ///
    /// Video is read by ffmpeg. An array has the shape (frames, height, width).
    pub clip: PathBuf,
    /// Folder for the output; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Ground truth to evaluate against: masks, or a background image
    ///
    /// A folder of masks numbered like the frames (255 foreground, 0 and 50 background, other values not scored), one such
    /// mask, or an image of the background.
    #[arg(long, alias = "truth", value_name = "DIR|IMAGE")]
    pub ground_truth: Option<PathBuf>,
    /// Do not write backgrounds.mp4, foreground.mp4 and overlay.mp4
    #[arg(long)]
    pub no_videos: bool,
    /// Options of the training.
    #[command(flatten)]
    pub training: TrainingOptions,
    /// Selection of the frames.
    #[command(flatten)]
    pub frames: FrameOptions,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Arguments of `shadows`.
#[derive(Debug, Args)]
pub struct ShadowsArgs {
    /// Folder of images of one face in one pose, under many illuminations
    ///
    /// All images have the same size.
    pub images: PathBuf,
    /// Folder for the output; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Method that computes the components
    ///
    /// pcp uses its low-rank part and finds the rank itself; it holds four f64 arrays of the size of the images.
    // The full path keeps the derive macro from treating the argument as optional.
    #[arg(long, value_name = "METHOD", default_value = FILL, value_parser = face_methods())]
    pub method: std::option::Option<Method>,
    /// Number of illumination components [not for pcp] [default: 9]
    #[arg(short = 'd', long, alias = "components", value_name = "N")]
    pub n_components: Option<usize>,
    /// Options of the cone of `tae`.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Memory limit of the pursuit [pcp only] [default: available memory]
    ///
    /// Bytes, or with K, M, G (powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Number of threads; 0 uses one per core
    ///
    /// Results do not depend on the number of threads.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// Limit of decoding.
    #[command(flatten)]
    pub decoding: DecodingArgs,
}

/// Options of the training of a background model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingOptions {
    /// Method that computes the backgrounds
    ///
    /// With pcp the background of a training frame is its low-rank part; other frames are reconstructed from the first -d
    /// components. pcp holds four f64 arrays of the size of the training frames.
    #[arg(long, value_name = "METHOD", default_value = "scene", value_parser = clip_methods())]
    pub method: Method,
    /// Number of components of the background model
    #[arg(short = 'd', long, alias = "components", value_name = "N", default_value_t = steradian_clips::COMPONENTS)]
    pub n_components: usize,
    /// Train on frames START to END-1 only [default: all frames]
    ///
    /// Indices count from 0, after --start, --end and --stride.
    #[arg(long, value_name = "START:END", value_parser = frame_range)]
    pub train: Option<Range<usize>>,
    /// Apply the model of an earlier run instead of training
    #[arg(long, value_name = "MODEL")]
    #[arg(conflicts_with_all = ["method", "n_components", "train", "max_angle", "cosine", "ties", "recenter", "memory"])]
    pub model: Option<PathBuf>,
    /// Options of the cone of `tae`.
    #[command(flatten)]
    pub cone: ConeOptions,
    /// Memory limit of the pursuit [pcp only] [default: available memory]
    ///
    /// Bytes, or with K, M, G (powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Seed of the random number generator
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
}

impl Default for TrainingOptions {
    fn default() -> Self {
        Self {
            method: steradian_clips::SCENE,
            n_components: steradian_clips::COMPONENTS,
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
        Self { start: 0, end: None, stride: 1, resize: 1.0, color: false }
    }
}

/// Selection, size and color of the frames of a clip.
#[derive(Debug, Args)]
#[command(next_help_heading = "Frame selection")]
pub struct FrameOptions {
    /// First frame to read, from 0
    #[arg(long, alias = "from", value_name = "FRAME", default_value_t = 0)]
    pub start: usize,
    /// Frame to stop before [default: the end of the clip]
    #[arg(long, alias = "to", value_name = "FRAME")]
    pub end: Option<usize>,
    /// Read every N-th frame
    #[arg(long, alias = "every", value_name = "N", default_value_t = 1)]
    pub stride: usize,
    /// Factor to resize frames by, above 0 and at most 1
    #[arg(long, alias = "scale", value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    pub resize: f64,
    /// Write images, videos and the report in color
    ///
    /// Masks and the model are still computed from gray levels.
    #[arg(long)]
    pub color: bool,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// Model file
    pub model: PathBuf,
    /// Print one JSON object
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
    /// Shell that the script is for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `manpages`.
#[derive(Debug, Args)]
pub struct ManpagesArgs {
    /// Folder for the pages; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_grammar_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn first_lines_of_help_are_short_and_have_no_full_stop() {
        fn check(owner: &str, help: &clap::builder::StyledStr) {
            let help = help.to_string();
            assert!(help.chars().count() <= 72 && !help.ends_with('.') && !help.contains('\n'), "{owner}: {help}");
        }
        for command in Cli::command().get_subcommands() {
            check(command.get_name(), command.get_about().unwrap());
            for arg in command.get_arguments() {
                check(&format!("{} {}", command.get_name(), arg.get_id()), arg.get_help().unwrap());
            }
        }
    }

    #[test]
    fn the_default_limit_of_decoding_is_that_of_the_library() {
        let lines = [
            "fit x -o m",
            "background x -o out",
            "shadows x -o out",
            "transform m x -o s",
            "outliers m x",
            "fill m x -o f",
        ];
        for line in lines {
            let parsed = Cli::try_parse_from(std::iter::once("steradian").chain(line.split(' '))).unwrap();
            let decoding = match parsed.command {
                Command::Fit(args) => args.decoding,
                Command::Background(args) => args.decoding,
                Command::Shadows(args) => args.decoding,
                Command::Transform(args) => args.decoding,
                Command::Outliers(args) => args.decoding,
                Command::Fill(args) => args.decoding,
                other => panic!("{other:?}"),
            };
            assert_eq!(decoding.max_decoded, ClipLimits::MAX_DECODED, "{line}");
        }
    }

    #[test]
    fn former_spellings_are_hidden_aliases() {
        let former = [
            ("fit", "n_components", "components"),
            ("fit", "max_angle", "angle"),
            ("fit", "n_directions", "directions"),
            ("fit", "scaling", "scale"),
            ("plan", "n_components", "components"),
            ("background", "n_components", "components"),
            ("background", "max_angle", "angle"),
            ("background", "resize", "scale"),
            ("background", "ground_truth", "truth"),
            ("background", "stride", "every"),
            ("background", "start", "from"),
            ("background", "end", "to"),
            ("shadows", "n_components", "components"),
            ("shadows", "max_angle", "angle"),
        ];
        let cli = Cli::command();
        for (command, id, alias) in former {
            let command = cli.find_subcommand(command).unwrap();
            let arg = command.get_arguments().find(|arg| arg.get_id() == id).unwrap();
            assert_eq!(arg.get_all_aliases().unwrap(), [alias]);
            assert!(arg.get_visible_aliases().is_none_or(|visible| visible.is_empty()), "--{alias}");
        }
    }
}
