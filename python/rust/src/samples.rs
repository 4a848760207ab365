//! Samples from Python: an array, columns or a file as a source of blocks.

use std::ops::Range;
use std::path::PathBuf;

use numpy::{IntoPyArray, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steradian::data::{Block, BlockData, BlockElement, ElementType, Rows, Shape};
use steradian::{Result, Source};
use steradian_io::{Data, Missing, TableOptions};

use crate::convert::ConvertedColumns;
use crate::errors::exception;
use crate::interruptible;
use crate::memory::{BorrowedArray, ElementKind};

/// Data that the engine can read repeatedly.
#[pyclass(frozen, module = "steradian._engine")]
pub struct Samples {
    store: SampleStore,
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
    fn from_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
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
        Ok(Self { store })
    }

    /// The columns of a table, each an array of its own dtype, converted block by block.
    #[staticmethod]
    fn from_columns(columns: Vec<Bound<'_, PyUntypedArray>>) -> PyResult<Self> {
        let samples = columns.first().map_or(0, |column| column.len());
        if let Some((at, column)) = columns.iter().enumerate().find(|(_, c)| c.shape() != [samples]) {
            return Err(PyValueError::new_err(format!(
                "column {at} has shape {:?}, expected ({samples},); use columns of equal length",
                column.shape()
            )));
        }
        let parts = columns.iter().map(BorrowedArray::new).collect::<PyResult<_>>()?;
        Ok(Self { store: SampleStore::ConvertedColumns(ConvertedColumns::new(parts, samples, None)) })
    }

    /// A file of any format that the command line reads.
    #[staticmethod]
    #[pyo3(signature = (path, *, columns=None, row_names=false, drop_missing=false))]
    fn from_path(
        py: Python<'_>,
        path: PathBuf,
        columns: Option<Vec<String>>,
        row_names: bool,
        drop_missing: bool,
    ) -> PyResult<Self> {
        let missing = if drop_missing { Missing::Drop } else { Missing::Error };
        let options = TableOptions { columns, row_names, missing, header: None };
        // Opening reads a table once from end to end, which no token can cancel.
        let open = move || {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            steradian_io::open(path, &options)?.stream_if_larger_than(None)?.widened(threads, u64::MAX)
        };
        let data = interruptible::run_uninterruptible(py, open)?.map_err(exception)?;
        Ok(Self { store: SampleStore::File(Box::new(data)) })
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

    /// The names of the features, if the file has them.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        match &self.store {
            SampleStore::File(data) => data.feature_names().map(<[String]>::to_vec),
            _ => None,
        }
    }

    /// Some rows, in this order, as an array of `dtype`.
    fn take<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Bound<'py, PyAny>> {
        let (samples, features) = self.shape();
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
                        self.store.visit(row..row + 1, &mut |block| {
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
        match &self.store {
            SampleStore::File(data) => data.dropped_rows().to_vec(),
            _ => Vec::new(),
        }
    }
}

impl Samples {
    /// The source of blocks for the library.
    pub fn source(&self) -> &dyn Source {
        &self.store
    }
}

impl Source for SampleStore {
    fn shape(&self) -> &Shape {
        match self {
            Self::Array(_, shape) => shape,
            Self::ConvertedColumns(columns) => columns.shape(),
            Self::File(data) => data.shape(),
        }
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        match self {
            Self::File(data) => data.feature_name(feature),
            _ => None,
        }
    }

    fn advise_access(&self, parts: &[Range<usize>], n_threads: usize) {
        if let Self::File(data) = self {
            data.advise_access(parts, n_threads);
        }
    }

    fn buffer_bytes(&self, threads: usize) -> u64 {
        match self {
            Self::File(data) => data.buffer_bytes(threads),
            _ => 0,
        }
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        match self {
            Self::Array(array, shape) => {
                array.prepare(&rows);
                match shape.element {
                    ElementType::U8 => visit_in_place(array.rows::<u8>(ElementKind::U8), rows, visit),
                    ElementType::U16 => visit_in_place(array.rows::<u16>(ElementKind::U16), rows, visit),
                    ElementType::F32 => visit_in_place(array.rows::<f32>(ElementKind::F32), rows, visit),
                    ElementType::F64 => visit_in_place(array.rows::<f64>(ElementKind::F64), rows, visit),
                }
            }
            Self::ConvertedColumns(columns) => columns.visit(rows, visit),
            Self::File(data) => data.visit(rows, visit),
        }
    }
}

fn visit_in_place<T: BlockElement>(
    all: Option<Result<Rows<'_, T>>>,
    rows: Range<usize>,
    visit: &mut dyn FnMut(Block<'_>) -> Result<()>,
) -> Result<()> {
    let all = all.expect("only arrays that can be read in place are stored here")?;
    visit(Block::new(rows.start, T::block_data(all.select(rows.start, rows.len()))))
}

/// True if the pixels of each image have one stride, so that (height, width) is one axis.
fn pixels_have_one_stride(array: &Bound<'_, PyUntypedArray>) -> bool {
    let (&[_, height, width], &[_, down, across]) = (array.shape(), array.strides()) else {
        return false;
    };
    height <= 1 || width == 0 || down == width as isize * across
}
