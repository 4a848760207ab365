//! The one check that no output of a command or call replaces an input, another output or files of the user.
//!
//! Paths are compared after all links: by device and inode if the file exists, so that hard links count as one file, and
//! by the resolved path otherwise.

use std::path::{Path, PathBuf};

use steradian::{Error, Result};

use crate::output::atomic_file::AtomicFile;
use crate::output::output_folder::OutputFolder;
use crate::system::image_name::is_image_name;
use crate::system::resolve::{FileId, folder_of, hops};

/// An output by its kind.
#[derive(Debug, Clone, Copy)]
pub enum OutputPath<'a> {
    /// A file.
    File(&'a Path),
    /// A folder that is replaced as a whole.
    Folder(&'a Path),
}

impl<'a> OutputPath<'a> {
    fn path(self) -> &'a Path {
        match self {
            Self::File(path) | Self::Folder(path) => path,
        }
    }
}

/// Fails if an output is also an input or another output, if it would replace a folder with an input in it or a folder
/// that this program did not write, or if it cannot be written. Creates and changes nothing.
///
/// Call it with all inputs and outputs before the first one is read.
pub fn check_outputs(inputs: &[&Path], outputs: &[OutputPath<'_>]) -> Result<()> {
    let input_places: Vec<Place<'_>> = inputs.iter().map(|path| Place::new(path)).collect();
    let mut output_places: Vec<(OutputPath<'_>, Place<'_>)> = Vec::new();
    for &output in outputs {
        let place = Place::new(output.path());
        if place.is_special() {
            // A device or a pipe has no content that could be lost; it is rejected below, as an error of the system.
            continue;
        }
        for input in &input_places {
            check_against_input(output, &place, input)?;
        }
        for (other, other_place) in &output_places {
            check_against_output((output, &place), (*other, other_place))?;
        }
        output_places.push((output, place));
    }
    outputs.iter().try_for_each(|output| match output {
        OutputPath::File(path) => AtomicFile::create(path).map(drop),
        OutputPath::Folder(path) => OutputFolder::check(path),
    })
}

fn check_against_input(output: OutputPath<'_>, place: &Place<'_>, input: &Place<'_>) -> Result<()> {
    if place.is_same(input) {
        return reject(output, &format!("this output is also the input {}", input.shown()));
    }
    match output {
        OutputPath::Folder(_) if place.contains(input) => {
            reject(output, &format!("the folder would be replaced, and it contains the input {}", input.shown()))
        }
        OutputPath::File(_) if place.is_image_of(input) => {
            reject(output, &format!("this output is also an image of the input {}", input.shown()))
        }
        _ => Ok(()),
    }
}

fn check_against_output(
    (output, place): (OutputPath<'_>, &Place<'_>),
    (other, other_place): (OutputPath<'_>, &Place<'_>),
) -> Result<()> {
    if place.is_same(other_place) {
        return reject(output, &format!("this output is also the output {}", other_place.shown()));
    }
    let within = |folder: OutputPath<'_>, outer: &Place<'_>, inner| {
        matches!(folder, OutputPath::Folder(_)) && outer.contains(inner)
    };
    if within(output, place, other_place) || within(other, other_place, place) {
        return reject(output, &format!("one output would replace the other, {}", other_place.shown()));
    }
    Ok(())
}

fn reject(output: OutputPath<'_>, problem: &str) -> Result<()> {
    let kind = if matches!(output, OutputPath::File(_)) { "file" } else { "folder" };
    Err(Error::invalid_argument(format!("{}: {problem}; name another {kind}", output.path().display())))
}

/// A path, the places that lead to its file, and the identity of the file.
struct Place<'a> {
    path: &'a Path,
    /// The path and the targets of its links, in resolved folders; empty if it cannot be resolved, for example because a
    /// folder may not be read. Nothing can be written there either.
    hops: Vec<PathBuf>,
    id: Option<FileId>,
}

impl<'a> Place<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, hops: hops(path).unwrap_or_default(), id: FileId::of(path) }
    }

    fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// True for an existing file that is neither a regular file nor a folder.
    fn is_special(&self) -> bool {
        std::fs::metadata(self.path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.id.is_some() && self.id == other.id) || (!self.hops.is_empty() && self.hops.last() == other.hops.last())
    }

    /// True if removing this folder would remove the other file, a link that leads to it, or a folder around it.
    fn contains(&self, other: &Self) -> bool {
        let Some(folder) = self.hops.last() else { return false };
        let is_this = |around: &Path| around == folder || (self.id.is_some() && FileId::of(around) == self.id);
        other.hops.iter().flat_map(|hop| hop.ancestors()).any(is_this)
    }

    /// True if this file is, or would become, one of the images of a folder that is an input.
    fn is_image_of(&self, folder: &Self) -> bool {
        let Some(target) = self.hops.last() else { return false };
        if is_image_name(target) && folder.id.is_some() && FileId::of(folder_of(target)) == folder.id {
            return true;
        }
        let Ok(entries) = std::fs::read_dir(folder.path) else { return false };
        let is_this = |path: PathBuf| is_image_name(&path) && FileId::of(&path) == self.id;
        self.id.is_some() && entries.flatten().any(|entry| is_this(entry.path()))
    }
}
