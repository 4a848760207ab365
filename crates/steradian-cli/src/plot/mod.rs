//! Pictures of results: one scene, drawn as SVG or as PNG.

mod axis;
mod drawing;
mod font;
mod labels;
pub mod outlier_map;
mod raster;
mod svg;

use std::path::Path;

use steradian::{Error, Result};

use drawing::Drawing;

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text that scales.
    Svg,
    /// Pixels.
    Png,
}

impl Format {
    /// By the ending of a file's name.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().map(|ending| ending.to_ascii_lowercase()) {
            Some(ending) if ending == "svg" => Ok(Self::Svg),
            Some(ending) if ending == "png" => Ok(Self::Png),
            _ => {
                Err(Error::invalid_argument(format!("{}: a picture is .png or .svg; name the file so", path.display())))
            }
        }
    }

    /// The bytes of a picture.
    pub fn bytes(self, scene: &Drawing) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(svg::svg(scene).into_bytes()),
            Self::Png => raster::png(scene),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides() {
        assert_eq!(Format::of(Path::new("a/map.SVG")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("map.png")).unwrap(), Format::Png);
        for bad in ["map", "map.pdf", "png"] {
            assert!(Format::of(Path::new(bad)).unwrap_err().to_string().contains(".png or .svg"), "{bad}");
        }
    }
}
