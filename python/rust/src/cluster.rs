//! Python bindings of jobs, partial results and fits on a cluster.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use steradian::config::Weighting;
use steradian::data::{Block, Shape};
use steradian::engine::{Fold, Runner};
use steradian::fit::fit_remote;
use steradian::folds::{ColumnMeans, Scatter, WeightedRows};
use steradian::remote::{Cluster, Dispatch, RemoteSource};
use steradian::{Error, Local, Result, Source};

use crate::errors::{exception, guarded};
use crate::model::Model;
use crate::samples::Samples;
use crate::settings::Settings;

/// The value of `__reduce__`: a function and its arguments.
type Pickled<'py, Bytes> = (Bound<'py, PyAny>, (Bound<'py, Bytes>,));

/// The thread pool of this size that all jobs of this process share, so that concurrent tasks do not oversubscribe the cores.
fn shared_threads(threads: usize) -> Result<Arc<Local>> {
    static SHARED: Mutex<Option<HashMap<usize, Arc<Local>>>> = Mutex::new(None);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let shared = shared.get_or_insert_default();
    if let Some(runner) = shared.get(&threads) {
        return Ok(Arc::clone(runner));
    }
    let runner = Arc::new(Local::new(threads)?);
    shared.insert(threads, Arc::clone(&runner));
    Ok(runner)
}

/// Bytes from Python: a `bytes` object, or a uint8 array, which processes exchange without a copy.
#[derive(FromPyObject)]
enum ByteBuffer<'py> {
    Bytes(PyBackedBytes),
    Array(PyReadonlyArray1<'py, u8>),
}

impl ByteBuffer<'_> {
    fn bytes(&self) -> PyResult<&[u8]> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Array(array) => Ok(array.as_slice()?),
        }
    }
}

/// A serializable pass over the data, for any process with this version of the package.
#[pyclass(frozen, module = "steradian._engine")]
pub struct Job(steradian::remote::Job<'static>);

impl Job {
    fn of<F: Fold>(fold: &F) -> Result<Self> {
        steradian::remote::Job::from_bytes(&steradian::remote::Job::new(fold)?.to_bytes()?).map(Self)
    }
}

#[pymethods]
impl Job {
    /// Deserializes a job; rejects the bytes of another version.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: ByteBuffer<'_>) -> PyResult<Self> {
        let bytes = bytes.bytes()?;
        guarded(|| py.detach(|| steradian::remote::Job::from_bytes(bytes)).map(Self).map_err(exception))
    }

    /// The mean of all samples of this many features.
    #[staticmethod]
    fn mean(features: usize) -> PyResult<Self> {
        Self::of(&ColumnMeans::new(features, None)).map_err(exception)
    }

    /// The matrix sum of w^2 (x - center)(x - center)', with w = 1 / norm(x - center) or, for `uniform`, 1.
    #[staticmethod]
    fn scatter(center: Vec<f64>, uniform: bool) -> PyResult<Self> {
        Self::of(&Scatter::new(WeightedRows::new(&center, weighting(uniform), None))).map_err(exception)
    }

    /// The serialized job.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(exception)?))
    }

    /// The partial result of a part of the data that starts at row `first` of all data. `whole` is the number of rows of
    /// all data: with it, the part is reduced on their grid.
    #[pyo3(signature = (samples, first, *, whole=None, threads=0))]
    fn sum(
        &self,
        py: Python<'_>,
        samples: &Samples,
        first: usize,
        whole: Option<usize>,
        threads: usize,
    ) -> PyResult<PartialResult> {
        let source = samples.source();
        let reduce = || {
            let runner = shared_threads(threads)?;
            match whole {
                None => self.0.sum(source, first, &runner),
                Some(all) => self.0.sum_leaves(source, first, all, &runner),
            }
        };
        guarded(|| py.detach(reduce).map(PartialResult).map_err(exception))
    }

    /// Number of rows per leaf of the grid of data of this shape.
    fn leaf_rows(&self, samples: usize, features: usize) -> usize {
        self.0.leaf_rows(samples, features)
    }

    /// The partial result of two adjacent row ranges, the earlier one first.
    #[pyo3(signature = (left, right, *, threads=0))]
    fn merge(
        &self,
        py: Python<'_>,
        left: &PartialResult,
        right: &PartialResult,
        threads: usize,
    ) -> PyResult<PartialResult> {
        let merge = || shared_threads(threads)?.compute(|| self.0.merge(&left.0, &right.0));
        guarded(|| py.detach(merge).map(PartialResult).map_err(exception))
    }

    /// The mean of all samples from the total of a job of `mean`.
    fn finish_mean<'py>(
        &self,
        py: Python<'py>,
        features: usize,
        total: &PartialResult,
        samples: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mean = self.0.finish(&ColumnMeans::new(features, None), &total.0, samples).map_err(exception)?;
        Ok(PyArray1::from_vec(py, mean))
    }

    /// The scatter matrix, divided by the sum of the weights, from the total of a job of `scatter`.
    fn finish_scatter<'py>(
        &self,
        py: Python<'py>,
        center: Vec<f64>,
        uniform: bool,
        total: &PartialResult,
        samples: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let fold = Scatter::new(WeightedRows::new(&center, weighting(uniform), None));
        let (matrix, mass) = self.0.finish(&fold, &total.0, samples).map_err(exception)?;
        let numbers = matrix.data().iter().map(|x| if mass > 0.0 { x / mass } else { *x }).collect();
        PyArray1::from_vec(py, numbers).reshape([center.len(), center.len()])
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, PyBytes>> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}

fn weighting(uniform: bool) -> Weighting {
    if uniform { Weighting::Uniform } else { Weighting::InverseNorm }
}

/// The partial result of a range of rows.
#[pyclass(frozen, module = "steradian._engine")]
pub struct PartialResult(steradian::remote::PartialResult);

#[pymethods]
impl PartialResult {
    /// Deserializes a partial result.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: ByteBuffer<'_>) -> PyResult<Self> {
        let bytes = bytes.bytes()?;
        py.detach(|| steradian::remote::PartialResult::from_bytes(bytes)).map(Self).map_err(exception)
    }

    /// The serialized partial result, for a file or another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(exception)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The range of rows: the first row, and the row after the last.
    #[getter]
    fn rows(&self) -> (usize, usize) {
        let rows = self.0.rows();
        (rows.start, rows.end)
    }

    /// Serialized size, in bytes.
    fn __sizeof__(&self) -> usize {
        self.0.n_bytes()
    }

    /// Pickles as a uint8 array, which protocol 5 transfers without a copy.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, PyArray1<u8>>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(exception)?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (PyArray1::from_vec(py, bytes),)))
    }
}

/// Data held by other processes: a Python object with the methods `sum(job, name, pass)` and `fetch(rows)`.
struct DistributedData {
    object: Py<PyAny>,
    /// The exception of a method of the object, which ended the fit.
    raised: Mutex<Option<PyErr>>,
}

impl DistributedData {
    /// Calls Python. An exception is stored for the caller and cancels the fit.
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| py.check_signals().and_then(|()| call(self.object.bind(py)))).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::Cancelled
        })
    }

    /// Runs `work` without the interpreter's lock; `work` calls back into Python from this thread.
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        let result = guarded(|| py.detach(work).map_err(exception));
        match self.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => result,
        }
    }
}

impl Dispatch for DistributedData {
    fn sum(
        &self,
        job: &steradian::remote::Job<'_>,
        name: &'static str,
        pass: usize,
    ) -> Result<steradian::remote::PartialResult> {
        let bytes = job.to_bytes()?;
        self.call(|object| {
            let bytes = PyArray1::from_vec(object.py(), bytes);
            let total = object.call_method1("sum", (bytes, name, pass))?;
            Ok(total.cast::<PartialResult>()?.get().0.clone())
        })
    }

    fn fetch(&self, samples: &[usize]) -> Result<Arc<dyn Source + Send + Sync>> {
        self.call(|object| {
            let rows = object.call_method1("fetch", (samples.to_vec(),))?;
            Ok(Arc::new(FetchedSamples(rows.cast::<Samples>()?.clone().unbind())) as Arc<dyn Source + Send + Sync>)
        })
    }
}

/// Samples that were fetched from other processes.
struct FetchedSamples(Py<Samples>);

impl Source for FetchedSamples {
    fn shape(&self) -> &Shape {
        self.0.get().source().shape()
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.0.get().source().visit(rows, visit)
    }
}

/// The shape of all distributed data: that of `like` with this number of samples.
fn shape_like(like: &Samples, samples: usize) -> Shape {
    Shape { samples, ..like.source().shape().clone() }
}

/// Fits a model to data held by other processes. `like` has the features, their names and the element type of all samples.
#[pyfunction]
#[pyo3(signature = (data, like, samples, settings, *, threads=0))]
pub fn fit_distributed(
    py: Python<'_>,
    data: Py<PyAny>,
    like: &Samples,
    samples: usize,
    settings: Settings,
    threads: usize,
) -> PyResult<Model> {
    let config = settings.config()?;
    let shape = shape_like(like, samples);
    let local = Local::new(threads).map_err(exception)?;
    let dispatch = DistributedData { object: data, raised: Mutex::new(None) };
    let mut remote = RemoteSource::new(&dispatch, shape);
    if let Some(names) = like.feature_names() {
        remote = remote.with_feature_names(names);
    }
    dispatch.run(py, || fit_remote(&config, &remote, &Cluster::new(&remote, local))).map(Model::from)
}
