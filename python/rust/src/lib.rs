//! The extension module `steradian._engine`: samples, fits, models and jobs for Python.
//!
//! Thin on purpose: scikit-learn's conventions live in Python, mathematics in the library. Here arrays become sources
//! without being copied, fits run without the interpreter's lock, and Ctrl-C reaches them.

mod cluster;
mod convert;
mod errors;
mod interruptible;
mod memory;
mod model;
mod samples;
mod screen;
mod settings;

use pyo3::prelude::*;

/// The engine of the package steradian; private, see the package itself.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use crate::cluster::{Job, PartialResult, fit_distributed};
    #[pymodule_export]
    use crate::model::{Model, fit, principal_component_pursuit};
    #[pymodule_export]
    use crate::samples::Samples;
    #[pymodule_export]
    use crate::screen::{Screen, screen};

    /// The version, which jobs for other processes carry.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
