//! The extension module `steradian._engine`: samples, fits, models and jobs for Python.
//!
//! It contains no conventions of scikit-learn, which are in Python, and no mathematics, which is in the library. Arrays
//! become sources without a copy, fits run without the interpreter's lock, and Ctrl-C cancels them.

mod checksum;
mod cluster;
mod convert;
mod errors;
mod interruptible;
mod memory;
mod model;
mod samples;
mod screen;
mod selection;
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
    #[pymodule_export]
    use crate::settings::preset;

    /// The version of the package, stored in the jobs for other processes.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
