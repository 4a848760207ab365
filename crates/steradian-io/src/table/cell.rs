//! Cells of a text table: numbers, missing values and text.

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    /// A finite number.
    Number(f64),
    /// Empty, NaN or a placeholder such as `NA`.
    Missing,
    /// Infinite, or too large for f64.
    Infinite,
    /// Any other text.
    Text,
}

impl Cell {
    /// Parses the text of a cell.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.trim_ascii();
        if matches!(bytes, b"" | b"NA" | b"NaN" | b"nan" | b"N/A" | b"null") {
            return Self::Missing;
        }
        match std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<f64>().ok()) {
            Some(number) if number.is_finite() => Self::Number(number),
            Some(number) if number.is_nan() => Self::Missing,
            Some(_) => Self::Infinite,
            None => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_placeholders_and_text_are_told_apart() {
        for missing in ["", " ", "NA", "NaN", "nan", "N/A", "null", "-nan"] {
            assert_eq!(Cell::of(missing.as_bytes()), Cell::Missing, "{missing:?}");
        }
        for infinite in ["inf", "-Infinity", "1e999"] {
            assert_eq!(Cell::of(infinite.as_bytes()), Cell::Infinite, "{infinite:?}");
        }
        for text in ["a", "1,5", "0x10", "1 2", "none", "--1"] {
            assert_eq!(Cell::of(text.as_bytes()), Cell::Text, "{text:?}");
        }
        for (number, value) in [("1", 1.0), (" -2.5e3 ", -2500.0), (".5", 0.5), ("+7.", 7.0)] {
            assert_eq!(Cell::of(number.as_bytes()), Cell::Number(value), "{number:?}");
        }
    }
}
