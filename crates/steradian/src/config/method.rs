//! Methods: named presets of center, screen, weighting and loss.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::options::Missing;

/// A method: a named preset of center, screen and weighting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The paper's angular embedding: mean center, no screen, unit directions.
    Ae,
    /// The paper's trimmed form: mean center, cone of 60 degrees.
    Tae,
    /// Angular embedding around the spatial median (spherical PCA of Locantore et al. 1999).
    Angular,
    /// The default: bad rows, bad cells and missing cells at once, with a breakdown point close to one half for rows.
    Robust,
    /// The default with bad cells always detected.
    Cells,
    /// The default without detection of bad cells.
    Rows,
    /// Classical PCA.
    Pca,
    /// A method of another crate, by name.
    Other(MethodName),
}

/// The name of a method of another crate, at most 16 bytes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodName {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl MethodName {
    const LONGEST: usize = 16;

    const fn new(name: &str) -> Option<Self> {
        let source = name.as_bytes();
        if source.is_empty() || source.len() > Self::LONGEST {
            return None;
        }
        let mut bytes = [0; Self::LONGEST];
        let mut i = 0;
        while i < source.len() {
            bytes[i] = source[i];
            i += 1;
        }
        Some(Self { bytes, length: source.len() })
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("made of a str")
    }
}

impl Method {
    /// The methods of this crate, in the order in which help lists them.
    pub const ALL: [Self; 7] = [Self::Robust, Self::Cells, Self::Rows, Self::Angular, Self::Ae, Self::Tae, Self::Pca];

    /// A method of another crate, for a constant there.
    ///
    /// # Panics
    /// For an empty name and one of more than 16 bytes.
    pub const fn other(name: &str) -> Self {
        match MethodName::new(name) {
            Some(name) => Self::Other(name),
            None => panic!("the name of a method has 1 to 16 bytes"),
        }
    }

    /// True for the methods that estimate from usable cells: [`Self::Robust`], [`Self::Cells`] and [`Self::Rows`].
    pub fn is_cellwise(self) -> bool {
        matches!(self, Self::Robust | Self::Cells | Self::Rows)
    }

    /// The treatment of missing cells in the preset: [`Missing::Use`] for the methods that can use incomplete samples.
    pub fn missing(&self) -> Missing {
        match self {
            Self::Robust | Self::Cells | Self::Rows | Self::Angular | Self::Pca => Missing::Use,
            Self::Ae | Self::Tae | Self::Other(_) => Missing::Error,
        }
    }

    /// The name on the command line and in model files.
    pub fn name(&self) -> &str {
        match self {
            Self::Ae => "ae",
            Self::Tae => "tae",
            Self::Angular => "angular",
            Self::Robust => "robust",
            Self::Cells => "cells",
            Self::Rows => "rows",
            Self::Pca => "pca",
            Self::Other(name) => name.as_str(),
        }
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if let Some(own) = Self::ALL.into_iter().find(|method| method.name() == name) {
            return Ok(own);
        }
        match MethodName::new(&name) {
            Some(other) => Ok(Self::Other(other)),
            None => Err(D::Error::custom(format!("{name:?} is not the name of a method"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Method = Method::other("tga");

    #[test]
    fn names_survive_json() {
        for method in Method::ALL.into_iter().chain([OWN]) {
            let text = serde_json::to_string(&method).unwrap();
            assert_eq!(text, format!("\"{}\"", method.name()));
            assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), method);
        }
        assert!(matches!(Method::other("tga"), OWN), "constants work as patterns");
        assert!(serde_json::from_str::<Method>("\"a name of seventeen\"").is_err());
    }
}
