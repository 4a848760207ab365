//! Dense linear algebra in f64; the only file that uses faer.
//!
//! Each product of faer runs on one thread. Parallel functions divide the work into fixed panels, so that results are
//! bitwise identical for any number of threads.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory;

/// Rows per task of a tall matrix; fixed, so that sums over panels are bitwise reproducible.
const PANEL_ROWS: usize = 1024;
/// Rows per task of a product whose rows are independent of each other.
pub(super) const PRODUCT_ROWS: usize = 128;

/// Operations of a product above which faer packs its factors into panels, in buffers of each thread.
const PACKED_PRODUCT: usize = 16 * 16 * 16;
/// Bytes of these buffers: two of 2 MiB, the size of the last cache where faer does not know it.
pub(crate) const PACKING_BYTES: u64 = 4 << 20;

/// True if a product of this size is packed.
pub(crate) fn packs(rows: usize, columns: usize, depth: usize) -> bool {
    rows.saturating_mul(columns).saturating_mul(depth) > PACKED_PRODUCT
}

/// A dense f64 matrix in row-major order.
#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "UncheckedMatrix")]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

/// A matrix as it is read from bytes, before the number of its entries is checked.
#[derive(Deserialize)]
struct UncheckedMatrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl TryFrom<UncheckedMatrix> for Matrix {
    type Error = String;

    fn try_from(UncheckedMatrix { rows, columns, data }: UncheckedMatrix) -> std::result::Result<Self, String> {
        match rows.checked_mul(columns) {
            Some(count) if count == data.len() => Ok(Self { rows, columns, data }),
            _ => Err(format!("a {rows} x {columns} matrix has {} entries", data.len())),
        }
    }
}

impl Clone for Matrix {
    fn clone(&self) -> Self {
        Self { rows: self.rows, columns: self.columns, data: memory::copied(&self.data) }
    }
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: zeroed(rows * columns) }
    }

    /// A matrix from its entries in row-major order.
    ///
    /// # Panics
    /// If `data` does not have `rows * columns` entries.
    pub fn from_vec(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * columns, "a {rows} x {columns} matrix");
        Self { rows, columns, data }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries in row-major order.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Converts the matrix to its entries in row-major order.
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// All entries in row-major order, mutable.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// One row, mutable.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// The first `count` columns.
    pub fn first_columns(&self, count: usize) -> Self {
        if count == self.columns {
            return self.clone();
        }
        let mut data = memory::reserved(self.rows * count);
        (0..self.rows).for_each(|i| data.extend_from_slice(&self.row(i)[..count]));
        Self { rows: self.rows, columns: count, data }
    }

    /// This matrix with the columns of another one appended on the right.
    pub(crate) fn beside(&self, right: &Self) -> Self {
        let columns = self.columns + right.columns;
        let mut data = memory::reserved(self.rows * columns);
        (0..self.rows).for_each(|i| data.extend(self.row(i).iter().chain(right.row(i)).copied()));
        Self { rows: self.rows, columns, data }
    }

    /// The transpose, as a copy.
    pub fn transposed(&self) -> Self {
        /// Rows per step, so that cache lines read for one column are still in cache for the next.
        const ROWS: usize = 64;
        let mut data = memory::filled(self.data.len(), 0.0);
        for start in (0..self.rows).step_by(ROWS) {
            let end = (start + ROWS).min(self.rows);
            for (j, column) in data.chunks_exact_mut(self.rows.max(1)).enumerate() {
                let read = self.data[start * self.columns + j..].iter().step_by(self.columns);
                column[start..end].iter_mut().zip(read).for_each(|(to, x)| *to = *x);
            }
        }
        Self { rows: self.columns, columns: self.rows, data }
    }

    /// A view of the whole matrix.
    pub fn view(&self) -> MatrixView<'_> {
        MatrixView::new(&self.data, self.rows, self.columns)
    }

    /// The 2-norm of each column; squares may overflow.
    pub(crate) fn column_norms(&self) -> Vec<f64> {
        let squares_of = |rows: &[f64]| {
            let mut squares = vec![0.0; self.columns];
            for row in rows.chunks_exact(self.columns.max(1)) {
                squares.iter_mut().zip(row).for_each(|(s, x)| *s += x * x);
            }
            squares
        };
        let panels: Vec<Vec<f64>> = self.data.par_chunks((PANEL_ROWS * self.columns).max(1)).map(squares_of).collect();
        let mut squares = vec![0.0; self.columns];
        for panel in panels {
            squares.iter_mut().zip(panel).for_each(|(s, x)| *s += x);
        }
        squares.into_iter().map(f64::sqrt).collect()
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.columns + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.columns + j]
    }
}

/// A vector of zeros whose pages are written at once, by all threads.
///
/// The kernel maps fresh zeros to one shared page. `+=` on them reads that page first, and the write that follows then
/// copies it and interrupts the other cores (TLB shootdown), page by page.
pub(crate) fn zeroed(length: usize) -> Vec<f64> {
    const TOUCH: usize = 1 << 15;
    if length <= TOUCH {
        return vec![0.0; length];
    }
    let mut zeros = memory::reserved(length);
    zeros.par_extend(rayon::iter::repeat_n(0.0, length).with_min_len(TOUCH));
    zeros
}

/// A borrowed matrix of contiguous rows, or its transpose.
#[derive(Debug, Clone, Copy)]
pub struct MatrixView<'a>(MatRef<'a, f64>);

impl<'a> MatrixView<'a> {
    /// A view of `rows * columns` entries in row-major order.
    pub fn new(data: &'a [f64], rows: usize, columns: usize) -> Self {
        Self(MatRef::from_row_major_slice(&data[..rows * columns], rows, columns))
    }

    /// Some of the columns.
    pub(crate) fn select_columns(self, columns: std::ops::Range<usize>) -> Self {
        Self(self.0.subcols(columns.start, columns.len()))
    }

    /// The transpose, without a copy.
    pub fn transposed(self) -> Self {
        Self(self.0.transpose())
    }
}

/// `out += scale * a b`, where `out` has contiguous rows.
pub fn add_product(out: &mut [f64], a: MatrixView<'_>, b: MatrixView<'_>, scale: f64) {
    let columns = b.0.ncols();
    add_product_strided(&mut out[..a.0.nrows() * columns], columns, a, b, scale);
}

/// `out += scale * a b`, where rows of `out` start `stride` entries apart.
pub(crate) fn add_product_strided(out: &mut [f64], stride: usize, a: MatrixView<'_>, b: MatrixView<'_>, scale: f64) {
    let (rows, columns) = (a.0.nrows(), b.0.ncols());
    if rows == 0 || columns == 0 {
        return;
    }
    // faer 0.24.4's `from_row_major_slice_with_stride_mut` swaps the strides; a transposed column-major view does not.
    let out = MatMut::from_column_major_slice_with_stride_mut(out, columns, rows, stride).transpose_mut();
    matmul(out, Accum::Add, a.0, b.0, scale, Par::Seq);
}

/// `out += a b'` in f32; all have contiguous rows, those of `a` and `b` with `depth` entries.
pub(crate) fn add_outer_single(out: &mut [f32], a: &[f32], b: &[f32], depth: usize) {
    let (rows, columns) = (a.len() / depth, b.len() / depth);
    let out = MatMut::from_row_major_slice_mut(out, rows, columns);
    let (a, b) = (MatRef::from_row_major_slice(a, rows, depth), MatRef::from_row_major_slice(b, columns, depth));
    matmul(out, Accum::Add, a, b.transpose(), 1.0, Par::Seq);
}

/// `a b` for two matrices.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.columns);
    out.data.par_chunks_mut((PRODUCT_ROWS * b.columns).max(1)).enumerate().for_each(|(panel, out)| {
        let start = panel * PRODUCT_ROWS;
        let rows = PRODUCT_ROWS.min(a.rows - start);
        add_product(out, MatrixView::new(&a.data[start * a.columns..], rows, a.columns), b.view(), 1.0);
    });
    out
}

/// `a' b` for two tall matrices: partial products of fixed panels, added in order.
pub fn tall_inner(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.rows, b.rows, "inner product of tall matrices");
    let parts: Vec<Vec<f64>> = (0..a.rows.div_ceil(PANEL_ROWS))
        .into_par_iter()
        .map(|panel| {
            let start = panel * PANEL_ROWS;
            let rows = PANEL_ROWS.min(a.rows - start);
            let mut part = vec![0.0; a.columns * b.columns];
            let left = MatrixView::new(&a.data[start * a.columns..], rows, a.columns);
            add_product(
                &mut part,
                left.transposed(),
                MatrixView::new(&b.data[start * b.columns..], rows, b.columns),
                1.0,
            );
            part
        })
        .collect();
    let mut out = Matrix::zeros(a.columns, b.columns);
    for part in parts {
        out.data.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    out
}

/// `z -= v c` for tall `z` and `v`.
pub fn tall_subtract(z: &mut Matrix, v: &Matrix, c: &Matrix) {
    let (z_columns, v_columns) = (z.columns, v.columns);
    z.data.par_chunks_mut((PANEL_ROWS * z_columns).max(1)).enumerate().for_each(|(panel, z)| {
        let start = panel * PANEL_ROWS;
        let rows = z.len() / z_columns;
        add_product(z, MatrixView::new(&v.data[start * v_columns..], rows, v_columns), c.view(), -1.0);
    });
}

/// Eigenvalues, largest first, and eigenvectors as columns, of a symmetric matrix; only its lower triangle is read.
///
/// # Errors
/// For values that are not finite, and if the iteration does not converge.
pub fn symmetric_eigen(a: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    let n = a.rows;
    if n == 0 {
        return Ok((Vec::new(), Matrix::zeros(0, 0)));
    }
    if a.data.iter().any(|x| !x.is_finite()) {
        return Err(Error::invalid_data(
            "the sums of squares of the data are not finite, because cells are too far apart in magnitude or the data changed \
             during the fit; remove outlying cells, or fit data that do not change",
        ));
    }
    let workspace = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Spec::default());
    let bytes = workspace.unaligned_bytes_required();
    let mut workspace = MemBuffer::try_new(workspace).unwrap_or_else(|_| memory::fail(bytes));
    // Column j of the vectors is row j of this buffer.
    let (mut vectors, mut values) = (memory::filled(n * n, 0.0), vec![0.0; n]);
    self_adjoint_evd(
        a.view().0,
        DiagMut::from_slice_mut(&mut values),
        Some(MatMut::from_column_major_slice_mut(&mut vectors, n, n)),
        Par::Seq,
        MemStack::new(&mut workspace),
        Spec::default(),
    )
    .map_err(|e| {
        Error::invalid_data(format!("the eigenvalue solver did not converge for a {n} x {n} matrix ({e:?})"))
    })?;
    drop(workspace);
    let mut out = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..n {
            out[(i, j)] = vectors[(n - 1 - j) * n + i];
        }
    }
    values.reverse();
    Ok((values, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: usize, columns: usize) -> Matrix {
        let data =
            (0..rows * columns).map(|i| ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * (1 + i % 3) as f64).collect();
        Matrix::from_vec(rows, columns, data)
    }

    #[test]
    fn panels_sum_to_the_plain_product() {
        for rows in [1, 1023, 1024, 1025, 4097, 9000] {
            let (a, b) = (sample(rows, 3), sample(rows, 2));
            let inner = tall_inner(&a, &b);
            for i in 0..3 {
                for j in 0..2 {
                    let expected: f64 = (0..rows).map(|k| a[(k, i)] * b[(k, j)]).sum();
                    assert!((inner[(i, j)] - expected).abs() < 1e-9, "{rows} rows: {} {expected}", inner[(i, j)]);
                }
            }
        }
    }
}
