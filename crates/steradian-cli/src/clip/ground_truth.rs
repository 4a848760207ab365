//! Ground truth of a clip: masks of some of its frames, or its background image.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use steradian::{Error, Result};
use steradian_clips::{BackgroundError, ConfusionCounts};
use steradian_io::frames::{image_files, number_in_name};
use steradian_io::{Clip, Image};

/// Pixel values of masks by the conventions of CDnet; binary masks have only the first and the last.
const MASK_VALUES: [u8; 5] = [0, 50, 85, 170, 255];
/// File name of the region of interest: 0 where pixels are not scored.
const REGION: &str = "ROI.bmp";

/// Ground truth of a clip.
pub enum GroundTruth {
    /// Foreground masks.
    Masks {
        /// The mask files by frame index.
        files: HashMap<usize, PathBuf>,
        /// The region of interest; `None` scores all pixels.
        region: Option<Image>,
    },
    /// The background image.
    Background(Image),
}

impl GroundTruth {
    /// Opens a folder of masks, one mask, or a background image.
    pub fn open(path: &Path, clip: &Clip) -> Result<Self> {
        if path.is_dir() {
            return Self::masks(path, image_files(path)?, clip);
        }
        let image = Image::read_gray(path)?;
        check_size(path, &image, clip)?;
        if image.pixels.iter().all(|level| MASK_VALUES.contains(level)) {
            return Self::masks(path, vec![path.to_path_buf()], clip);
        }
        Ok(Self::Background(image))
    }

    fn masks(path: &Path, candidates: Vec<PathBuf>, clip: &Clip) -> Result<Self> {
        let count = steradian::Source::shape(clip).samples;
        let frames: HashMap<u64, usize> = (0..count).map(|frame| (clip.number(frame), frame)).collect();
        let frame_of = |file: &Path| number_in_name(file).and_then(|number| frames.get(&number).copied());
        let files: HashMap<usize, PathBuf> =
            candidates.into_iter().filter_map(|file| frame_of(&file).map(|frame| (frame, file))).collect();
        if files.is_empty() {
            let (first, last) = (clip.number(0), clip.number(count - 1));
            return Err(Error::invalid_argument(format!(
                "{}: no mask matches a frame of the clip ({first} to {last}); masks are matched by the last number in their \
                 names",
                path.display()
            )));
        }
        let beside = |folder: &Path| Some(folder.join(REGION)).filter(|region| region.is_file());
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let region = beside(folder).or_else(|| beside(folder.parent()?));
        let region = region.map(|region| -> Result<_> {
            let image = Image::read_gray(&region)?;
            check_size(&region, &image, clip)?;
            Ok(image)
        });
        Ok(Self::Masks { files, region: region.transpose()? })
    }

    /// The mask of a frame, if there is one.
    pub fn mask(&self, frame: usize, clip: &Clip) -> Result<Option<Image>> {
        let Self::Masks { files, .. } = self else { return Ok(None) };
        let Some(file) = files.get(&frame) else { return Ok(None) };
        let image = Image::read_gray(file)?;
        check_size(file, &image, clip)?;
        Ok(Some(image))
    }

    /// Pixels of the region of interest; `None` scores all pixels.
    pub fn region(&self) -> Option<&[u8]> {
        match self {
            Self::Masks { region, .. } => region.as_ref().map(|region| region.pixels.as_slice()),
            Self::Background(_) => None,
        }
    }

    /// The scores: over all masks, or of the typical background.
    pub fn scores(&self, counts: &ConfusionCounts, background: &[u8]) -> ClipScores {
        match self {
            Self::Masks { .. } => ClipScores::Masks(*counts),
            Self::Background(image) => ClipScores::Background(BackgroundError::between(background, &image.pixels)),
        }
    }
}

fn check_size(path: &Path, image: &Image, clip: &Clip) -> Result<()> {
    let ((height, width), (y, x)) = (clip.dimensions(), image.dimensions());
    if (height, width) == (y, x) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{}: ground truth is {y} x {x} (height x width) but frames are {height} x {width}; use ground truth of the frame size",
        path.display()
    )))
}

/// Scores of a clip against its ground truth.
pub enum ClipScores {
    /// Counts over the masks.
    Masks(ConfusionCounts),
    /// Error of the background image.
    Background(BackgroundError),
}

impl ClipScores {
    /// The object `ground_truth` of `summary.json`.
    pub fn json(&self) -> Value {
        match self {
            Self::Masks(counts) => {
                json!({ "precision": counts.precision(), "recall": counts.recall(), "f1": counts.f1() })
            }
            Self::Background(error) => json!({
                "mean_gray_error": error.mean_gray_error,
                "fraction_off_by_20": error.fraction_off_by_20,
                "psnr": error.psnr,
            }),
        }
    }

    /// The scores as a line of the report.
    pub fn text(&self) -> String {
        match self {
            Self::Masks(counts) => format!(
                "precision {:.3}, recall {:.3}, F1 {:.3} over {} frames",
                counts.precision(),
                counts.recall(),
                counts.f1(),
                counts.frames
            ),
            Self::Background(error) => format!(
                "mean gray error {:.2}, {:.2} % of pixels off by more than 20, PSNR {:.2} dB",
                error.mean_gray_error,
                100.0 * error.fraction_off_by_20,
                error.psnr
            ),
        }
    }
}
