//! Plots of results, written as SVG or PNG.

mod axis;
pub mod cell_grid;
pub mod cell_map;
mod drawing;
mod font;
mod labels;
pub mod outlier_map;
mod raster;
mod svg;

use std::path::Path;

use steradian::{Error, Result};

pub use drawing::Drawing;

/// File format of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Vector graphics.
    Svg,
    /// Raster graphics.
    Png,
}

impl Format {
    /// The format by the extension of a file.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().map(|extension| extension.to_ascii_lowercase()) {
            Some(extension) if extension == "svg" => Ok(Self::Svg),
            Some(extension) if extension == "png" => Ok(Self::Png),
            _ => Err(Error::invalid_argument(format!(
                "{}: the extension is not supported; use .png or .svg",
                path.display()
            ))),
        }
    }

    /// The bytes of a drawing in this format.
    pub fn bytes(self, drawing: &Drawing) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(svg::svg(drawing).into_bytes()),
            Self::Png => raster::png(drawing),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_selects_the_format() {
        assert_eq!(Format::of(Path::new("a/map.SVG")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("map.png")).unwrap(), Format::Png);
        for bad in ["map", "map.pdf", "png"] {
            assert!(Format::of(Path::new(bad)).unwrap_err().to_string().contains(".png or .svg"), "{bad}");
        }
    }
}
