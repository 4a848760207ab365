//! Python bindings of screens without a fit.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steradian::fit::FittedScreen;

use crate::interruptible;
use crate::model::new_array;
use crate::samples::Samples;
use crate::settings::Settings;

/// Runs a screen alone; see `interruptible::run` for threads, the callback and Ctrl-C.
#[pyfunction]
#[pyo3(signature = (samples, settings, *, threads=0, callback=None))]
pub fn screen(
    py: Python<'_>,
    samples: &Samples,
    settings: Settings,
    threads: usize,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Screen> {
    let config = settings.config()?;
    let source = samples.source();
    interruptible::run(py, threads, callback, |runner| {
        steradian::fit::screen(&config, source, runner).map_err(|error| samples.located(error))
    })
    .map(Screen)
}

/// A fitted screen.
#[pyclass(frozen, module = "steradian._engine")]
pub struct Screen(FittedScreen);

#[pymethods]
impl Screen {
    /// Deserializes a screen of the same version of the package.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let invalid = |e| PyValueError::new_err(format!("not a screen of this version of steradian: {e}"));
        postcard::from_bytes(bytes).map(Self).map_err(invalid)
    }

    /// The serialized screen, for pickling.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let failed = |e| PyValueError::new_err(format!("cannot serialize the screen: {e}"));
        Ok(PyBytes::new(py, &postcard::to_allocvec(&self.0).map_err(failed)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The support: true for samples of the fit that the screen accepts.
    #[getter]
    fn support<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        new_array(py, &self.0.support)
    }

    /// The outlyingness, or angle to the pivot, of each sample of the fit: larger is more outlying.
    #[getter]
    fn measures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        new_array(py, &self.0.measures)
    }

    /// The largest accepted measure.
    #[getter]
    fn cutoff(&self) -> f64 {
        self.0.cutoff
    }

    /// Number of samples outside the cone around each sample; `None` without a cone.
    #[getter]
    fn tau<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        self.0.cone.as_ref().map(|cone| new_array(py, &cone.tau)).transpose()
    }

    /// The pivot of the cone; `None` without a cone.
    #[getter]
    fn pivot(&self) -> Option<usize> {
        self.0.cone.as_ref().map(|cone| cone.pivot)
    }

    /// Warnings issued during the fit.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// The number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The measure of new samples.
    #[pyo3(signature = (samples, *, threads=0, callback=None))]
    fn measure<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        threads: usize,
        callback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (screen, source) = (&self.0, samples.source());
        Ok(interruptible::run(py, threads, callback, |runner| screen.measure(source, runner))?.into_pyarray(py))
    }
}
