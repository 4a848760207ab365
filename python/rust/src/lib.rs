//! The extension module `steradian._engine`: what Python hands over as samples, what the library makes of them.
//!
//! Thin on purpose: scikit-learn's conventions live in Python, mathematics in the library. Here arrays become sources
//! without being copied, fits run without the interpreter's lock, and Ctrl-C reaches them.

mod errors;
mod gather;
mod memory;
mod model;
mod samples;
mod screen;
mod settings;
mod watch;

use pyo3::prelude::*;

/// The engine of the package steradian; private, see the package itself.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::model::{Model, fit, pursue};
    #[pymodule_export]
    use crate::samples::Samples;
    #[pymodule_export]
    use crate::screen::{Screen, screen};
}
