//! Samples from Python: an array, columns or a file as a source of blocks.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steradian::data::{Block, BlockData, BlockElement, Element, ElementType, Rows, Shape, View};
use steradian::{Error, Result, Source};
use steradian_io::{ClipLimits, Data, Header, MissingRule, TableOptions};

use crate::checksum::checksum;
use crate::convert::ConvertedColumns;
use crate::errors::exception;
use crate::interruptible;
use crate::memory::{BorrowedArray, ElementKind};
use crate::model::new_array;
use crate::selection::{Mask, Selection};

/// The most rows of a block.
const BLOCK_ROWS: usize = 256;

/// Data that the engine can read repeatedly.
#[pyclass(frozen, module = "steradian._engine")]
pub struct Samples {
    selection: Selection<SharedTable>,
}

/// A table that several selections share.
#[derive(Clone)]
struct SharedTable(Arc<Table>);

impl SharedTable {
    fn inner(&self) -> &dyn Source {
        &*self.0
    }
}

/// Where samples are stored, all rows of it.
struct Table {
    store: SampleStore,
    /// The names of the features, if they are not those of a file.
    names: Option<Vec<String>>,
    /// The files that the data are read from.
    files: Vec<PathBuf>,
}

enum SampleStore {
    Array(BorrowedArray, Shape),
    ConvertedColumns(ConvertedColumns),
    File(Box<Data>),
}

#[pymethods]
impl Samples {
    /// An array of samples, (n, features) or (n, height, width), read in place where possible.
    #[staticmethod]
    #[pyo3(signature = (array, *, names=None))]
    fn from_array(array: &Bound<'_, PyUntypedArray>, names: Option<Vec<String>>) -> PyResult<Self> {
        let image = match *array.shape() {
            [_, _] => None,
            [_, height, width] => Some((height, width)),
            ref other => {
                return Err(PyValueError::new_err(format!(
                    "expected a 2D or 3D array, got {}D; reshape it to (samples, features) or (samples, height, width)",
                    other.len()
                )));
            }
        };
        // Images with contiguous pixels are rows of a table, which the library reads in place.
        let table = match image {
            Some((height, width)) if pixels_have_one_stride(array) => {
                array.call_method1("reshape", (array.shape()[0], height * width))?.cast_into()?
            }
            _ => array.clone(),
        };
        let array_view = BorrowedArray::new(&table)?;
        let (samples, features) = (array.shape()[0], array.shape()[1..].iter().product());
        let element = match array_view.kind() {
            ElementKind::U8 => Some(ElementType::U8),
            ElementKind::U16 => Some(ElementType::U16),
            ElementKind::F32 => Some(ElementType::F32),
            ElementKind::F64 => Some(ElementType::F64),
            _ => None,
        };
        let store = match element {
            Some(element) if array_view.shape().len() == 2 && array_view.readable_in_place() => {
                SampleStore::Array(array_view, Shape { samples, features, element, image })
            }
            _ => SampleStore::ConvertedColumns(ConvertedColumns::new(vec![array_view], samples, image)),
        };
        Self::named(store, names, mapped_files(array.as_any()))
    }

    /// The columns of a table, each an array of its own dtype, converted block by block.
    #[staticmethod]
    #[pyo3(signature = (columns, *, names=None))]
    fn from_columns(columns: Vec<Bound<'_, PyUntypedArray>>, names: Option<Vec<String>>) -> PyResult<Self> {
        let samples = columns.first().map_or(0, |column| column.len());
        if let Some((at, column)) = columns.iter().enumerate().find(|(_, c)| c.shape() != [samples]) {
            return Err(PyValueError::new_err(format!(
                "column {at} has shape {:?}, expected ({samples},); use columns of equal length",
                column.shape()
            )));
        }
        let parts = columns.iter().map(BorrowedArray::new).collect::<PyResult<_>>()?;
        let files = columns.iter().flat_map(|column| mapped_files(column.as_any())).collect();
        Self::named(SampleStore::ConvertedColumns(ConvertedColumns::new(parts, samples, None)), names, files)
    }

    /// A file of any format that the command line reads.
    #[staticmethod]
    #[pyo3(signature = (path, *, columns=None, row_names=false, missing="error", header=None, max_decoded=None))]
    fn from_path(
        py: Python<'_>,
        path: PathBuf,
        columns: Option<Vec<String>>,
        row_names: bool,
        missing: &str,
        header: Option<bool>,
        max_decoded: Option<u64>,
    ) -> PyResult<Self> {
        let missing = match missing {
            "drop" => MissingRule::Drop,
            "use" => MissingRule::Use,
            _ => MissingRule::Error,
        };
        let header = header.map_or(Header::Auto, |present| if present { Header::Yes } else { Header::No });
        let options = TableOptions { columns, row_names, missing, header };
        let max_decoded = max_decoded.unwrap_or(ClipLimits::MAX_DECODED);
        let limits = ClipLimits { max_decoded, ..ClipLimits::default() };
        // Opening reads a table once from end to end, which no token can cancel.
        // The current folder may change before the files are compared with others.
        let files = vec![std::path::absolute(&path)?];
        let open = move || {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            steradian_io::open_within(path, &options, &limits)?.stream_if_larger_than(None)?.widened(threads, u64::MAX)
        };
        let data = interruptible::run_uninterruptible(py, open)?.map_err(exception)?;
        Self::named(SampleStore::File(Box::new(data)), None, files)
    }

    /// The samples with the missing cells of a boolean array of their shape.
    fn with_missing(&self, mask: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let mask = Mask::new(BorrowedArray::new(mask)?).map_err(exception)?;
        Ok(Self { selection: self.selection.with_mask(mask).map_err(exception)? })
    }

    /// The samples without those of the given indices, which ascend.
    fn without(&self, rows: Vec<usize>) -> PyResult<Self> {
        Ok(Self { selection: self.selection.without(&rows).map_err(exception)? })
    }

    /// The rows of the data that are samples; `None` if all of them are.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u64>>>> {
        let widened = |rows: &[usize]| rows.iter().map(|row| *row as u64).collect::<Vec<_>>();
        self.selection.rows().map(|rows| new_array(py, &widened(rows))).transpose()
    }

    /// Indices of the samples with a missing cell.
    #[pyo3(signature = (*, threads=0, callback=None))]
    fn incomplete(&self, py: Python<'_>, threads: usize, callback: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<usize>> {
        let source = self.source();
        interruptible::run(py, threads, callback, |runner| {
            let mut found = Vec::new();
            match source.shape().element {
                ElementType::U8 | ElementType::U16 => {}
                _ => runner.for_each_block("missing cells", source, BLOCK_ROWS, |block| {
                    let incomplete = match block.data() {
                        BlockData::F32(rows) => incomplete_rows(&rows),
                        BlockData::F64(rows) => incomplete_rows(&rows),
                        _ => Vec::new(),
                    };
                    found.extend(incomplete.into_iter().map(|row| block.first() + row));
                    Ok(())
                })?,
            }
            Ok(found)
        })
    }

    /// Number of samples and number of features.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        let shape = self.source().shape();
        (shape.samples, shape.features)
    }

    /// The element type, by its numpy name: uint8, uint16, float32 or float64.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.source().shape().element.name()
    }

    /// Height and width if the samples are images.
    #[getter]
    fn image(&self) -> Option<(usize, usize)> {
        self.source().shape().image
    }

    /// The names of the features, if they have names.
    #[getter]
    pub fn feature_names(&self) -> Option<Vec<String>> {
        match &self.table().store {
            SampleStore::File(data) => data.feature_names().map(<[String]>::to_vec),
            _ => self.table().names.clone(),
        }
    }

    /// The checksum of all values in order: 64 bits that do not depend on the memory layout.
    fn checksum(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| checksum(self)).map_err(exception)
    }

    /// Some rows, in this order, as an array of `dtype`.
    fn take<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Bound<'py, PyAny>> {
        let (samples, features) = Samples::shape(self);
        if let Some(row) = rows.iter().find(|row| **row >= samples) {
            return Err(PyValueError::new_err(format!(
                "row {row} exceeds the last row, {samples} - 1; rows count from 0"
            )));
        }
        macro_rules! taken {
            ($variant:ident) => {{
                let taken = py.detach(|| -> Result<Vec<_>> {
                    let mut taken = Vec::with_capacity(rows.len() * features);
                    for &row in &rows {
                        self.visit(row..row + 1, &mut |block| {
                            if let BlockData::$variant(own) = block.data() {
                                taken.extend((0..features).map(|column| own.get(0, column)));
                            }
                            Ok(())
                        })?;
                    }
                    Ok(taken)
                });
                taken.map_err(exception)?.into_pyarray(py).reshape([rows.len(), features])?.into_any()
            }};
        }
        Ok(match self.source().shape().element {
            ElementType::U8 => taken!(U8),
            ElementType::U16 => taken!(U16),
            ElementType::F32 => taken!(F32),
            ElementType::F64 => taken!(F64),
        })
    }

    /// The rows of a table that were dropped because of a missing cell.
    #[getter]
    fn dropped_rows(&self) -> Vec<usize> {
        match &self.table().store {
            SampleStore::File(data) => data.dropped_rows().to_vec(),
            _ => Vec::new(),
        }
    }
}

impl Samples {
    /// The files that the data are read from: a file, or those of memory maps of numpy.
    pub fn files(&self) -> &[PathBuf] {
        &self.table().files
    }

    fn inner(&self) -> &dyn Source {
        self.selection.source()
    }

    fn table(&self) -> &Table {
        &self.selection.table().0
    }

    /// An error with the row of the data in place of the index of the sample.
    pub fn located(&self, error: Error) -> Error {
        self.selection.located(error)
    }

    /// The source of blocks for the library.
    pub fn source(&self) -> &dyn Source {
        self
    }

    fn named(store: SampleStore, names: Option<Vec<String>>, files: Vec<PathBuf>) -> PyResult<Self> {
        let table = Table { store, names, files };
        let (features, names) = (table.shape().features, table.names.as_ref().map(Vec::len));
        match names.filter(|names| *names != features) {
            Some(names) => Err(PyValueError::new_err(format!("{names} names were given for {features} features"))),
            None => Ok(Self { selection: Selection::All(SharedTable(Arc::new(table))) }),
        }
    }
}

/// Implements a source by the source that `inner` returns.
macro_rules! delegate {
    ($name:ty) => {
        impl Source for $name {
            fn shape(&self) -> &Shape {
                self.inner().shape()
            }

            fn view(&self) -> View<'_> {
                self.inner().view()
            }

            fn feature_name(&self, feature: usize) -> Option<String> {
                self.inner().feature_name(feature)
            }

            fn prefetch(&self, samples: &[usize]) -> Result<()> {
                self.inner().prefetch(samples)
            }

            fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
                self.inner().advise_access(parts, n_threads);
            }

            fn buffer_bytes(&self, threads: usize) -> u64 {
                self.inner().buffer_bytes(threads)
            }

            fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
                self.inner().visit(rows, visit)
            }
        }
    };
}

delegate!(Samples);
delegate!(SharedTable);

impl Source for Table {
    fn shape(&self) -> &Shape {
        match &self.store {
            SampleStore::Array(_, shape) => shape,
            SampleStore::ConvertedColumns(columns) => columns.shape(),
            SampleStore::File(data) => data.shape(),
        }
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        match &self.store {
            SampleStore::File(data) => data.feature_name(feature),
            _ => self.names.as_ref()?.get(feature).cloned(),
        }
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        if let SampleStore::File(data) = &self.store {
            data.advise_access(parts, n_threads);
        }
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        match &self.store {
            SampleStore::File(data) => data.buffer_bytes(threads),
            SampleStore::ConvertedColumns(columns) => threads as u64 * columns.buffer_bytes(BLOCK_ROWS),
            SampleStore::Array(array, shape) if array.mapped() => {
                let rows = BLOCK_ROWS.min(shape.samples);
                threads as u64 * (rows * shape.features * shape.element.bytes()) as u64
            }
            SampleStore::Array(..) => 0,
        }
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        match &self.store {
            SampleStore::Array(array, shape) => {
                let part = array.rows(&rows)?;
                let first = rows.start;
                match shape.element {
                    ElementType::U8 => visit_in_place(part.typed::<u8>(ElementKind::U8), first, visit),
                    ElementType::U16 => visit_in_place(part.typed::<u16>(ElementKind::U16), first, visit),
                    ElementType::F32 => visit_in_place(part.typed::<f32>(ElementKind::F32), first, visit),
                    ElementType::F64 => visit_in_place(part.typed::<f64>(ElementKind::F64), first, visit),
                }
            }
            SampleStore::ConvertedColumns(columns) => columns.visit(rows, visit),
            SampleStore::File(data) => data.visit(rows, visit),
        }
    }
}

/// Indices of the rows with NaN.
fn incomplete_rows<T: Element>(rows: &Rows<'_, T>) -> Vec<usize> {
    (0..rows.rows()).filter(|row| (0..rows.columns()).any(|column| rows.get(*row, column).widen().is_nan())).collect()
}

fn visit_in_place<T: BlockElement>(
    rows: Option<Result<Rows<'_, T>>>,
    first: usize,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let rows = rows.expect("only arrays that can be read in place are stored here")?;
    visit(Block::new(first, T::block_data(rows)))
}

/// The file of an array that is a memory map of numpy or a view of one.
fn mapped_files(array: &Bound<'_, PyAny>) -> Vec<PathBuf> {
    let mut array = array.clone();
    loop {
        // Other objects have no such attributes, and a memory map of an open file may have no name.
        if let Some(file) = array.getattr("filename").ok().and_then(|name| name.extract::<PathBuf>().ok()) {
            return vec![file];
        }
        match array.getattr("base") {
            Ok(base) if !base.is_none() => array = base,
            _ => return Vec::new(),
        }
    }
}

/// True if the pixels of each image have one stride, so that (height, width) is one axis.
fn pixels_have_one_stride(array: &Bound<'_, PyUntypedArray>) -> bool {
    let (&[_, height, width], &[_, down, across]) = (array.shape(), array.strides()) else {
        return false;
    };
    height <= 1 || width == 0 || down == width as isize * across
}
