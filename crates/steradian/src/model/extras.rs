//! Arrays that other crates keep in a model, by name; model files keep them, too.

/// An array of f64 values of any shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Extra {
    /// The lengths of the axes, outermost first.
    pub shape: Vec<usize>,
    /// The values, the last axis fastest.
    pub values: Vec<f64>,
}

impl Extra {
    /// A vector.
    pub fn vector(values: Vec<f64>) -> Self {
        Self { shape: vec![values.len()], values }
    }
}
