//! Python bindings of fits and models.

use std::ops::Range;
use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use steradian::data::{Block, BlockData, Element, ElementType, Shape};
use steradian::engine::Runner;
use steradian::model::{CellFlag, CutoffKind, Diagnosis};
use steradian::{Error, Local, Result, Source, memory};
use steradian_baselines::any;
use steradian_io::{OutputPath, check_outputs, write_atomic};

use crate::errors::{exception, guarded};
use crate::interruptible;
use crate::samples::Samples;
use crate::settings::Settings;

/// Fits a model; see `interruptible::run` for threads, the callback and Ctrl-C.
#[pyfunction]
#[pyo3(signature = (samples, settings, *, threads=0, callback=None))]
pub fn fit(
    py: Python<'_>,
    samples: &Samples,
    settings: Settings,
    threads: usize,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let config = settings.config()?;
    let source = samples.source();
    let located = |error| samples.located(error);
    let model = interruptible::run(py, threads, callback, |runner| any::fit(&config, source, runner).map_err(located))?;
    Ok(Model(model, samples.files().to_vec()))
}

/// Splits data by principal component pursuit: the model of the low-rank part, the low-rank part and the sparse part.
#[pyfunction]
#[pyo3(signature = (samples, settings, *, threads=0, callback=None))]
pub fn principal_component_pursuit<'py>(
    py: Python<'py>,
    samples: &Samples,
    settings: Settings,
    threads: usize,
    callback: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Model, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let config = settings.config()?;
    let source = samples.source();
    let found = interruptible::run(py, threads, callback, |runner| {
        steradian_baselines::principal_component_pursuit(&config, source, runner).map_err(|e| samples.located(e))
    })?;
    let (width, element) = (found.model.n_features(), source.shape().element);
    let [low_rank, sparse] = [found.low_rank, found.sparse].map(|part| Output::of(part.into_vec(), element));
    Ok((Model(found.model, samples.files().to_vec()), low_rank.into_array(py, width)?, sparse.into_array(py, width)?))
}

/// A fitted subspace, and the files that it was fitted to in this process.
#[pyclass(frozen, module = "steradian._engine")]
pub struct Model(steradian::Model, Vec<PathBuf>);

impl From<steradian::Model> for Model {
    fn from(model: steradian::Model) -> Self {
        Self(model, Vec::new())
    }
}

impl Model {
    /// Applies `of` to some samples; one row of D values per sample.
    fn map_rows<'py, T: numpy::Element + Send>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        rows: &[usize],
        of: impl Fn(&steradian::Model, &Block<'_>) -> Result<Vec<T>> + Sync + Send,
    ) -> PyResult<Bound<'py, PyArray2<T>>> {
        let (model, source) = (&self.0, samples.source());
        model.check_features(source).map_err(exception)?;
        let width = model.n_features();
        let found = interruptible::run(py, 1, None, |runner| {
            let mut found = memory::reserved(rows.len().saturating_mul(width));
            for &row in rows {
                runner.check_cancelled()?;
                source.visit(row..row + 1, &mut |block| {
                    found.extend(runner.compute(|| of(model, &block))?);
                    Ok(())
                })?;
            }
            Ok(found)
        })?;
        found.into_pyarray(py).reshape([rows.len(), width])
    }
}

#[pymethods]
impl Model {
    /// Reads the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        guarded(|| steradian::Model::from_bytes(bytes).map(Self::from).map_err(exception))
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(exception)?))
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let bytes = std::fs::read(&path).map_err(|e| exception(Error::io(&path, e)))?;
        let named = |error| match error {
            // The library reads bytes and does not have the path.
            Error::InvalidArgument { problem: what, .. } | Error::InvalidData(what) => Error::corrupt_file(&path, what),
            other => other,
        };
        guarded(|| steradian::Model::from_bytes(&bytes).map(Self::from).map_err(|error| exception(named(error))))
    }

    /// Writes a model file atomically. Rejects a file that the model was fitted to in this process.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let inputs: Vec<&Path> = self.1.iter().map(PathBuf::as_path).collect();
        check_outputs(&inputs, &[OutputPath::File(&path)])
            .and_then(|()| self.0.to_bytes())
            .and_then(|bytes| write_atomic(&path, &bytes))
            .map_err(exception)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The metadata (everything except the arrays), as JSON.
    #[getter]
    fn metadata(&self) -> String {
        self.0.metadata().to_string()
    }

    /// The command line's name of the method.
    #[getter]
    fn method(&self) -> String {
        self.0.method().name().to_owned()
    }

    /// The center that is subtracted from samples.
    #[getter]
    fn center<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        new_array(py, &self.0.subspace.center)
    }

    /// The components, one per row.
    #[getter]
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let flat = new_array(py, self.0.subspace.components.data())?;
        flat.reshape([self.0.n_components(), self.0.n_features()])
    }

    /// Eigenvalues of the spatial sign covariance matrix; `None` for classical PCA.
    #[getter]
    fn angular_eigenvalues<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        self.0.subspace.angular_eigenvalues.as_ref().map(|values| new_array(py, values)).transpose()
    }

    /// Variances along the components, in data units.
    #[getter]
    fn explained_variance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        new_array(py, &self.0.diagnostics.explained_variance)
    }

    /// The support: true for samples used in the final decomposition.
    #[getter]
    fn support<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        new_array(py, &self.0.report.support)
    }

    /// Number of samples outside the cone around each sample; `None` without a cone.
    #[getter]
    fn tau<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        self.0.report.cone.as_ref().map(|cone| new_array(py, &cone.tau)).transpose()
    }

    /// The pivot of the cone; `None` without a cone.
    #[getter]
    fn pivot(&self) -> Option<usize> {
        self.0.report.cone.as_ref().map(|cone| cone.pivot)
    }

    /// Cutoffs of score and orthogonal distance: those of the rows of the fit, or of new rows.
    fn cutoffs(&self, training: bool) -> (f64, f64) {
        self.0.cutoffs(cutoff_kind(training)).into()
    }

    /// Passes over the data that the fit made.
    #[getter]
    fn passes(&self) -> usize {
        self.0.report.passes
    }

    /// Number of iterations of each component of a baseline.
    #[getter]
    fn iterations(&self) -> Vec<usize> {
        self.0.report.iterations.clone()
    }

    /// The certificate: residual, sine bound, and true if it is at most the tolerance.
    #[getter]
    fn certificate(&self) -> (f64, f64, bool) {
        let certificate = &self.0.report.certificate;
        (certificate.residual, certificate.sine_bound, certificate.converged)
    }

    /// Warnings issued during the fit.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.report.warnings.clone()
    }

    /// The names of the features; `None` if the data of the fit had none.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.0.feature_names.clone()
    }

    /// The number of features.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The scale of each feature, a divisor; `None` without scaling.
    #[getter]
    fn scale<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        self.0.subspace.scale.as_ref().map(|scale| new_array(py, scale)).transpose()
    }

    /// The total variance, the denominator of explained-variance ratios; `None` only for older model files.
    #[getter]
    fn total_variance(&self) -> Option<f64> {
        self.0.diagnostics.total_variance
    }

    /// The reason for the number of components; `None` if the number was given.
    #[getter]
    fn n_components_reason(&self) -> Option<&str> {
        self.0.report.n_components_reason.as_deref()
    }

    /// The half-angle of the cone, in degrees; `None` without a cone.
    #[getter]
    fn max_angle(&self) -> Option<f64> {
        self.0.report.cone.as_ref().map(|cone| cone.max_angle)
    }

    /// The treatment of missing cells: "use" or "error".
    #[getter]
    fn missing(&self) -> &'static str {
        self.0.config.missing().name()
    }

    /// Height and width if the samples of the fit were images.
    #[getter]
    fn image(&self) -> Option<(usize, usize)> {
        self.0.shape.image
    }

    /// The diagnosis of samples: score distances, orthogonal distances, angles in degrees, flags. `training` selects the
    /// cutoffs of the rows of the fit.
    #[pyo3(signature = (samples, *, training=false, threads=0, callback=None))]
    fn diagnose<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        training: bool,
        threads: usize,
        callback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<DiagnosisArrays<'py>> {
        let (model, source) = (&self.0, samples.source());
        model.check_features(source).map_err(exception)?;
        let (columns, flags) = interruptible::run(py, threads, callback, |runner| {
            let samples = source.shape().samples;
            let mut columns: [Vec<f64>; 3] = std::array::from_fn(|_| memory::reserved(samples));
            let mut flags = memory::reserved(samples);
            runner.for_each_block("distances", source, model.block_rows(), |block| {
                for Diagnosis { score_distance, orthogonal_distance, angle_degrees, flag } in
                    model.diagnose_block(block, cutoff_kind(training))?
                {
                    let numbers = [score_distance, orthogonal_distance, angle_degrees];
                    columns.iter_mut().zip(numbers).for_each(|(column, x)| column.push(x));
                    flags.push(flag.name());
                }
                Ok(())
            })?;
            Ok((columns, flags))
        })?;
        let [score_distances, orthogonal_distances, angles] = columns.map(|column| column.into_pyarray(py));
        Ok((score_distances, orthogonal_distances, angles, flags))
    }

    /// Angles of the samples of the fit to the pivot of the cone, in degrees.
    #[pyo3(signature = (samples, *, threads=0))]
    fn cone_angles<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (model, source) = (&self.0, samples.source());
        Ok(interruptible::run(py, threads, None, |runner| model.cone_angles(source, runner))?.into_pyarray(py))
    }

    /// Fraction of the squared orthogonal distance of some samples that is due to each feature.
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        rows: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.map_rows(py, samples, &rows, |model, block| model.contributions_block(block))
    }

    /// The diagnosis of the cells of some samples, one row per sample: expected values, residuals in standard deviations, and
    /// flags (0 usable, 1 bad, 2 missing). `None` for a model without scales of cells.
    #[pyo3(signature = (samples, rows, *, training=false, threads=0, callback=None))]
    fn diagnose_cells<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        rows: Vec<usize>,
        training: bool,
        threads: usize,
        callback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<CellArrays<'py>>> {
        let (model, source) = (&self.0, samples.source());
        model.check_features(source).map_err(exception)?;
        let (width, kind) = (model.n_features(), cutoff_kind(training));
        let found = interruptible::run(py, threads, callback, |runner| {
            let cells = rows.len().saturating_mul(width);
            let (mut expected, mut residuals) = (memory::reserved(cells), memory::reserved(cells));
            let mut flags = memory::reserved(cells);
            let mut has_scales = true;
            for run in runs(&rows, model.block_rows()) {
                runner.check_cancelled()?;
                source.visit(run, &mut |block| {
                    match runner.compute(|| model.diagnose_cells_block(&block, kind))? {
                        None => has_scales = false,
                        Some(found) => {
                            expected.extend(found.expected);
                            residuals.extend(found.residual_sd);
                            flags.extend(found.flags.into_iter().map(flag_code));
                        }
                    }
                    Ok(())
                })?;
            }
            Ok(has_scales.then_some((expected, residuals, flags)))
        })?;
        let Some((expected, residuals, flags)) = found else { return Ok(None) };
        let shape = [rows.len(), width];
        Ok(Some((
            expected.into_pyarray(py).reshape(shape)?,
            residuals.into_pyarray(py).reshape(shape)?,
            flags.into_pyarray(py).reshape(shape)?,
        )))
    }

    /// The samples with expected values for missing cells, and on request for bad cells; and the mask of these cells.
    #[pyo3(signature = (samples, *, bad_cells=false, first=0, threads=0, callback=None))]
    fn impute<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        bad_cells: bool,
        first: usize,
        threads: usize,
        callback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray2<bool>>)> {
        let (model, source) = (&self.0, samples.source());
        model.check_features(source).map_err(exception)?;
        let width = model.n_features();
        let mut changed = memory::reserved(source.shape().samples.saturating_mul(width));
        let values = interruptible::run(py, threads, callback, |runner| {
            let mut values = Output::reserved(source.shape(), width);
            runner
                .for_each_block("impute", source, model.block_rows(), |block| {
                    let filled = model.fill_block(block, bad_cells)?;
                    values.extend(filled.values);
                    changed.extend(filled.changed);
                    Ok(())
                })
                .map_err(|error| shifted(error, first))?;
            Ok(values)
        })?;
        let rows = source.shape().samples;
        Ok((values.into_array(py, width)?, changed.into_pyarray(py).reshape([rows, width])?))
    }

    /// Scores of samples, n x d; robust scores down-weight bad cells. `None` is the model's default. Messages count rows
    /// from `first`, the index of the first sample among all data.
    #[pyo3(signature = (samples, *, robust_scores=None, first=0, threads=0, callback=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        samples: &Samples,
        robust_scores: Option<bool>,
        first: usize,
        threads: usize,
        callback: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (model, source) = (&self.0, samples.source());
        model.check_features(source).map_err(exception)?;
        if let (Some(given), true) = (robust_scores, model.diagnostics.cellwise.is_some()) {
            return Err(exception(Error::invalid_parameter(
                "robust_scores",
                format!(
                    "robust_scores = {} is not supported by method {}, whose scores are those of usable cells; leave it at None",
                    if given { "True" } else { "False" },
                    model.method().name()
                ),
            )));
        }
        let width = model.n_components();
        let robust = robust_scores.unwrap_or(model.config.robust_scores());
        let scores = interruptible::run(py, threads, callback, |runner| {
            Output::collect("transform", source, width, model.block_rows(), runner, |block| match robust {
                true => model.robust_transform_block(block),
                false => model.transform_block(block),
            })
            .map_err(|error| shifted(error, first))
        })?;
        scores.into_array(py, width)
    }

    /// The points of the subspace with these scores, n x D.
    #[pyo3(signature = (scores, *, threads=0))]
    fn inverse<'py>(&self, py: Python<'py>, scores: &Samples, threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let (model, source) = (&self.0, scores.source());
        let (width, given) = (model.n_features(), source.shape().features);
        if given != model.n_components() {
            return Err(exception(Error::invalid_argument(format!(
                "expected {} scores per row, got {given}; the model has {} components",
                model.n_components(),
                model.n_components()
            ))));
        }
        let samples = interruptible::run(py, threads, None, |runner| {
            Output::collect("inverse", source, width, model.block_rows(), runner, |b| model.inverse(&widened(b)))
        })?;
        samples.into_array(py, width)
    }
}

/// Score distances, orthogonal distances, angles in degrees, and flags by name.
type DiagnosisArrays<'py> =
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Vec<&'static str>);

/// Expected values, residuals in standard deviations, and codes of flags.
type CellArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u8>>);

/// The cutoffs of the rows of the fit, or of new rows.
fn cutoff_kind(training: bool) -> CutoffKind {
    if training { CutoffKind::Training } else { CutoffKind::New }
}

/// The number by which Python knows the class of a cell.
fn flag_code(flag: CellFlag) -> u8 {
    match flag {
        CellFlag::Usable => 0,
        CellFlag::Bad => 1,
        CellFlag::Missing => 2,
    }
}

/// Indices of rows as ranges of at most `most` consecutive ones, in their order.
fn runs(rows: &[usize], most: usize) -> impl Iterator<Item = Range<usize>> {
    let runs = rows.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    runs.flat_map(move |run| run.chunks(most)).map(|run| run[0]..run[0] + run.len())
}

/// An error about a row of samples whose first one has index `first` among all data.
fn shifted(error: Error, first: usize) -> Error {
    match error {
        Error::NotFinite { value, row, column } => Error::NotFinite { value, row: row + first, column },
        other => other,
    }
}

/// Output values row by row: f64 for f64 data, else f32.
enum Output {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Output {
    fn collect(
        name: &'static str,
        source: &dyn Source,
        width: usize,
        block_rows: usize,
        runner: &Local,
        apply: impl Fn(&Block<'_>) -> Result<Vec<f64>> + Send + Sync,
    ) -> Result<Self> {
        let mut out = Self::reserved(source.shape(), width);
        runner.for_each_block(name, source, block_rows, |block| {
            out.extend(apply(block)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// No values yet, with memory for `width` values per sample of this shape.
    fn reserved(shape: &Shape, width: usize) -> Self {
        let values = shape.samples.saturating_mul(width);
        match steradian::Model::output_element(shape.element) {
            ElementType::F64 => Self::Double(memory::reserved(values)),
            _ => Self::Single(memory::reserved(values)),
        }
    }

    fn extend(&mut self, values: Vec<f64>) {
        match self {
            Self::Single(out) => out.extend(values.into_iter().map(|x| x as f32)),
            Self::Double(out) => out.extend(values),
        }
    }

    /// Values in the output precision for data of this element type.
    fn of(values: Vec<f64>, data: ElementType) -> Self {
        match steradian::Model::output_element(data) {
            ElementType::F64 => Self::Double(values),
            _ => Self::Single(values.into_iter().map(|x| x as f32).collect()),
        }
    }

    fn into_array<'py>(self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::Single(out) => {
                let rows = out.len() / width;
                out.into_pyarray(py).reshape([rows, width])?.into_any()
            }
            Self::Double(out) => {
                let rows = out.len() / width;
                out.into_pyarray(py).reshape([rows, width])?.into_any()
            }
        })
    }
}

/// The values of a block as f64, row by row.
fn widened(block: &Block<'_>) -> Vec<f64> {
    fn all<T: Element>(rows: &steradian::data::Rows<'_, T>) -> Vec<f64> {
        let row = |i| (0..rows.columns()).map(move |j| rows.get(i, j).widen());
        (0..rows.rows()).flat_map(row).collect()
    }
    match block.data() {
        BlockData::U8(rows) => all(&rows),
        BlockData::U16(rows) => all(&rows),
        BlockData::F32(rows) => all(&rows),
        BlockData::F64(rows) => all(&rows),
    }
}

/// A new array of numpy with a copy of these values; `MemoryError` if there is no memory for it.
pub fn new_array<'py, T: numpy::Element + Clone>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    let copy = memory::guard(|| Ok(memory::copied(values))).map_err(exception)?;
    Ok(PyArray1::from_vec(py, copy))
}
