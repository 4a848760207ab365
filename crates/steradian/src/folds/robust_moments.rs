//! Weighted moments of repaired rows: every row is compared with a frozen model, its unusable cells get their expected values, and
//! its Student weight multiplies it in the sums.
//!
//! | symbol | here |
//! |---|---|
//! | z | the row less the center, with expected values for unusable cells |
//! | w | its weight; 0 if it is unusable or farther than `row_cutoff` |
//! | sum w, sum w z, sum w norm(z)^2 | `weight`, `sum`, `square` |
//! | sum w z z' (D x D) or sum w z (z'V) (D x l) | `product` |
//!
//! Cost: one pass, 4 n D d flops for the rows and 2 n D^2 or 4 n D l for the product; rows with suspicious cells take about three times the first part.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::cellwise::student::StudentWeights;
use crate::cellwise::vectors::{add_scaled, square_norm};
use crate::cellwise::{RowModel, RowState, RowStep, RowWork};
use crate::codec::{inconsistent, packed, require_finite, require_length};
use crate::data::block::Block;
use crate::data::source::Shape;
use crate::engine::fold::Fold;
use crate::error::Result;
use crate::memory;
use crate::numeric::linalg::{Matrix, MatrixView, add_product, add_product_strided, zeroed};

/// Features per task of a product.
const STRIP: usize = 128;
/// Cells of the repaired rows that are held at once.
const CHUNK_CELLS: usize = 1 << 18;
/// Rows of a chunk at least: products read all columns for each chunk.
const LEAST_ROWS: usize = 16;

/// The second moments that a pass sums.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum MomentProduct<'a> {
    /// None.
    None,
    /// The D x D matrix.
    Scatter,
    /// Its product with these columns, D x l.
    Basis(Cow<'a, Matrix>),
}

/// The weight of a row that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum RowWeighting {
    /// 1 for every row with a usable cell.
    Uniform,
    /// The Student weight, for this factor of the residuals; 0 beyond this orthogonal distance.
    Student {
        /// The factor of the residuals in the distance of a row.
        kappa: f64,
        /// The degrees of freedom of the t distribution; infinite for equal weights.
        nu: f64,
        /// The largest orthogonal distance of a row with a weight.
        row_cutoff: f64,
    },
}

/// The fold of weighted moments of repaired rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RobustMoments<'a> {
    model: Cow<'a, RowModel>,
    weighting: RowWeighting,
    product: MomentProduct<'a>,
    /// True if the sums have the support.
    lists_support: bool,
    /// True if the sums have what repairs every row again.
    lists_rows: bool,
}

impl<'a> RobustMoments<'a> {
    /// Moments under a model.
    pub fn new(model: &'a RowModel, weighting: RowWeighting, product: MomentProduct<'a>) -> Self {
        Self { model: Cow::Borrowed(model), weighting, product, lists_support: false, lists_rows: false }
    }

    /// Also lists which rows have a weight.
    pub fn with_support(self) -> Self {
        Self { lists_support: true, ..self }
    }

    /// Also lists what repairs every row again, for [`RepairedProduct`](super::RepairedProduct).
    pub(crate) fn with_rows(self) -> Self {
        Self { lists_rows: true, ..self }
    }

    /// Columns of the product.
    fn columns(&self) -> usize {
        match &self.product {
            MomentProduct::None => 0,
            MomentProduct::Scatter => self.model.n_features(),
            MomentProduct::Basis(basis) => basis.columns(),
        }
    }
}

/// The moments of some rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RobustMomentsAccumulator {
    rows: u64,
    weight: f64,
    freedom: f64,
    square: f64,
    objective: f64,
    /// Cells of rows with a weight that are bad, and that are missing.
    bad: u64,
    missing: u64,
    #[serde(with = "packed")]
    sum: Vec<f64>,
    #[serde(with = "packed")]
    product: Vec<f64>,
    #[serde(with = "packed")]
    support: Vec<u8>,
    /// Of every row [`RepairedRow::numbers`] values.
    #[serde(with = "packed")]
    repaired: Vec<f64>,
}

/// The moments of all rows.
#[derive(Debug, Clone)]
pub struct RowMoments {
    /// Rows with a weight.
    pub(crate) rows: u64,
    pub(crate) weight: f64,
    pub(crate) freedom: f64,
    pub(crate) square: f64,
    pub(crate) objective: f64,
    pub(crate) bad: u64,
    pub(crate) sum: Vec<f64>,
    pub(crate) product: Matrix,
    pub(crate) support: Vec<bool>,
    /// A list of [`RepairedRow`], if it was asked for.
    pub(crate) repaired: Vec<f64>,
}

/// A row that can be repaired again without a comparison: a slice of its weight, the limit of its bad cells, the scores that marked them,
/// and its scores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepairedRow<'a>(&'a [f64]);

impl<'a> RepairedRow<'a> {
    /// The length of the slice for d components.
    pub(crate) fn numbers(d: usize) -> usize {
        2 + 2 * d
    }

    /// The rows of a list.
    pub(crate) fn rows(list: &'a [f64], d: usize) -> impl Iterator<Item = Self> {
        list.chunks_exact(Self::numbers(d)).map(Self)
    }

    pub(crate) fn weight(self) -> f64 {
        self.0[0]
    }

    /// Writes the repaired row; 0 for a row without weight.
    pub(crate) fn repair(self, step: &RowStep<'_>, row: &[f64], work: &mut RowWork, out: &mut [f64]) {
        if self.weight() == 0.0 {
            return out.fill(0.0);
        }
        let (marking_scores, scores) = self.0[2..].split_at((self.0.len() - 2) / 2);
        step.repair_again(row, (self.0[1], marking_scores), scores, work, out);
    }

    /// Appends a row to a list.
    fn push(list: &mut Vec<f64>, weight: f64, state: &RowState, work: &RowWork, scores: &[f64]) {
        list.extend_from_slice(&[weight, state.limit]);
        if state.limit < f64::INFINITY {
            list.extend_from_slice(&work.marking_scores);
        } else {
            list.extend(scores.iter().map(|_| 0.0));
        }
        list.extend_from_slice(scores);
    }
}

/// One row in the sums.
struct WeightedRow {
    weight: f64,
    freedom: f64,
    objective: f64,
    bad: u64,
    missing: u64,
    /// The numbers of its [`RepairedRow`], if they are asked for.
    repaired: Vec<f64>,
}

impl RobustMoments<'_> {
    /// The weight of each row of a chunk; writes the repaired rows.
    fn weigh(
        &self,
        step: &RowStep<'_>,
        block: &Block<'_>,
        rows: Range<usize>,
        repaired: &mut [f64],
    ) -> Vec<WeightedRow> {
        let (features, d) = (self.model.n_features(), self.model.n_components());
        let (kappa, nu) = match self.weighting {
            RowWeighting::Student { kappa, nu, .. } => (kappa, nu),
            RowWeighting::Uniform => (1.0, f64::INFINITY),
        };
        let student = StudentWeights::of(&self.model, kappa, nu);
        repaired
            .par_chunks_mut(features)
            .zip(rows.into_par_iter())
            .map_init(
                || (RowWork::new(features), vec![0.0; features], vec![0.0; d]),
                |(work, row, scores), (repaired, index)| {
                    block.read_row(index, row);
                    let state = step.run(row, work, scores);
                    let (weight, objective) = student.weight(scores, state.square, state.freedom);
                    let weight = match self.weighting {
                        RowWeighting::Uniform if state.usable > 0 => 1.0,
                        RowWeighting::Student { row_cutoff, .. } if !state.unusable && state.distance <= row_cutoff => {
                            weight
                        }
                        _ => 0.0,
                    };
                    let mut again = Vec::new();
                    if self.lists_rows {
                        RepairedRow::push(&mut again, weight, &state, work, scores);
                    }
                    if weight == 0.0 {
                        repaired.fill(0.0);
                        return WeightedRow {
                            weight,
                            freedom: 0.0,
                            objective: 0.0,
                            bad: 0,
                            missing: 0,
                            repaired: again,
                        };
                    }
                    step.repair(work, scores, repaired);
                    let (bad, missing) = work.unused();
                    WeightedRow { weight, freedom: state.freedom, objective, bad, missing, repaired: again }
                },
            )
            .collect()
    }

    fn add_product(&self, product: &mut [f64], repaired: &mut [f64], weights: &[WeightedRow]) {
        let (features, rows) = (self.model.n_features(), weights.len());
        match &self.product {
            MomentProduct::None => {}
            MomentProduct::Scatter => {
                for (row, own) in repaired.chunks_exact_mut(features).zip(weights) {
                    let root = own.weight.sqrt();
                    row.iter_mut().for_each(|z| *z *= root);
                }
                let u = MatrixView::new(repaired, rows, features);
                product.par_chunks_mut(STRIP * features).enumerate().for_each(|(strip, lower)| {
                    let start = strip * STRIP;
                    let end = start + lower.len() / features;
                    let left = u.select_columns(start..end).transposed();
                    add_product_strided(lower, features, left, u.select_columns(0..end), 1.0);
                });
            }
            MomentProduct::Basis(basis) => {
                let weights = weights.iter().map(|own| own.weight);
                add_basis_product(product, MatrixView::new(repaired, rows, features), basis, weights);
            }
        }
    }
}

/// Adds sum w z (z'V) over the rows z.
pub(super) fn add_basis_product(
    product: &mut [f64],
    z: MatrixView<'_>,
    basis: &Matrix,
    weights: impl ExactSizeIterator<Item = f64>,
) {
    let (rows, l) = (weights.len(), basis.columns());
    let mut y = vec![0.0; rows * l];
    add_product(&mut y, z, basis.view(), 1.0);
    y.chunks_exact_mut(l).zip(weights).for_each(|(y, weight)| y.iter_mut().for_each(|y| *y *= weight));
    product.par_chunks_mut(8 * STRIP * l).enumerate().for_each(|(strip, out)| {
        let start = strip * 8 * STRIP;
        let end = start + out.len() / l;
        let left = z.select_columns(start..end).transposed();
        add_product(out, left, MatrixView::new(&y, rows, l), 1.0);
    });
}

/// Rows of a chunk, whose repaired rows are held at once.
pub(crate) fn chunk_rows(features: usize) -> usize {
    (CHUNK_CELLS / features.max(1)).clamp(LEAST_ROWS, 256)
}

impl Fold for RobustMoments<'_> {
    const NAME: &'static str = "robust moments";

    type Accumulator = RobustMomentsAccumulator;
    type Out = RowMoments;

    fn check(&self, shape: &Shape, _samples: &Range<usize>) -> Result<()> {
        self.model.check(shape.features)?;
        if let RowWeighting::Student { kappa, nu, row_cutoff } = self.weighting
            && (!(kappa > 0.0 && kappa <= 1.0) || row_cutoff.is_nan() || nu.is_nan() || nu <= 0.0)
        {
            return Err(inconsistent(format!(
                "weights of factor {kappa} and freedom {nu} up to distance {row_cutoff}"
            )));
        }
        if let MomentProduct::Basis(basis) = &self.product {
            require_length("the rows of the basis", basis.rows(), shape.features)?;
            require_finite("the basis", basis.data())?;
            if basis.columns() == 0 {
                return Err(inconsistent("the basis has no columns"));
            }
        }
        Ok(())
    }

    fn check_accumulator(&self, accumulator: &RobustMomentsAccumulator, samples: &Range<usize>) -> Result<()> {
        let features = self.model.n_features();
        if accumulator.rows > samples.len() as u64 {
            return Err(inconsistent(format!("it has {} of {} rows", accumulator.rows, samples.len())));
        }
        let (unused, cells) =
            (accumulator.bad.saturating_add(accumulator.missing), accumulator.rows.saturating_mul(features as u64));
        if unused > cells {
            return Err(inconsistent(format!("{unused} of {cells} cells are bad or missing")));
        }
        require_length("the sum", accumulator.sum.len(), features)?;
        require_length("the product", accumulator.product.len(), features.saturating_mul(self.columns()))?;
        let listed = if self.lists_support { samples.len() } else { 0 };
        require_length("the support", accumulator.support.len(), listed)?;
        let numbers = if self.lists_rows { RepairedRow::numbers(self.model.n_components()) } else { 0 };
        require_length("the repaired rows", accumulator.repaired.len(), samples.len().saturating_mul(numbers))
    }

    fn accumulator_bytes(&self) -> usize {
        8 * self.model.n_features() * (1 + self.columns())
    }

    fn empty(&self) -> RobustMomentsAccumulator {
        let features = self.model.n_features();
        RobustMomentsAccumulator {
            rows: 0,
            weight: 0.0,
            freedom: 0.0,
            square: 0.0,
            objective: 0.0,
            bad: 0,
            missing: 0,
            sum: memory::filled(features, 0.0),
            product: zeroed(features * self.columns()),
            support: Vec::new(),
            repaired: Vec::new(),
        }
    }

    fn add(&self, accumulator: &mut RobustMomentsAccumulator, block: &Block<'_>) -> Result<()> {
        let features = self.model.n_features();
        let step = RowStep::new(&self.model);
        let chunk_rows = chunk_rows(features);
        let mut repaired = memory::filled(chunk_rows.min(block.rows()) * features, 0.0);
        let mut start = 0;
        while start < block.rows() {
            let end = (start + chunk_rows).min(block.rows());
            let repaired = &mut repaired[..(end - start) * features];
            let rows = self.weigh(&step, block, start..end, repaired);
            for (z, row) in repaired.chunks_exact(features).zip(&rows) {
                if self.lists_support {
                    accumulator.support.push(u8::from(row.weight > 0.0));
                }
                accumulator.repaired.extend_from_slice(&row.repaired);
                if row.weight > 0.0 {
                    accumulator.rows += 1;
                    accumulator.weight += row.weight;
                    accumulator.freedom += row.freedom;
                    accumulator.objective += row.objective;
                    accumulator.bad += row.bad;
                    accumulator.missing += row.missing;
                    accumulator.square += row.weight * square_norm(z);
                    add_scaled(&mut accumulator.sum, row.weight, z);
                }
            }
            self.add_product(&mut accumulator.product, repaired, &rows);
            start = end;
        }
        Ok(())
    }

    fn merge(&self, left: RobustMomentsAccumulator, right: RobustMomentsAccumulator) -> RobustMomentsAccumulator {
        let mut support = left.support;
        memory::append(&mut support, right.support);
        let mut repaired = left.repaired;
        memory::append(&mut repaired, right.repaired);
        RobustMomentsAccumulator {
            rows: left.rows + right.rows,
            weight: left.weight + right.weight,
            freedom: left.freedom + right.freedom,
            square: left.square + right.square,
            objective: left.objective + right.objective,
            bad: left.bad + right.bad,
            missing: left.missing + right.missing,
            sum: super::add_all(left.sum, &right.sum),
            product: super::add_all(left.product, &right.product),
            support,
            repaired,
        }
    }

    fn finish(&self, total: RobustMomentsAccumulator) -> Result<RowMoments> {
        let features = self.model.n_features();
        let mut product = Matrix::from_vec(features, self.columns(), total.product);
        if let MomentProduct::Scatter = self.product {
            for i in 0..features {
                for j in i + 1..features {
                    product[(i, j)] = product[(j, i)];
                }
            }
        }
        Ok(RowMoments {
            rows: total.rows,
            weight: total.weight,
            freedom: total.freedom,
            square: total.square,
            objective: total.objective,
            bad: total.bad,
            sum: total.sum,
            product,
            support: total.support.iter().map(|&kept| kept != 0).collect(),
            repaired: total.repaired,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cellwise::CellState;
    use crate::data::slice::SliceSource;
    use crate::engine::local::Local;
    use crate::engine::runner::Runner;
    use crate::numeric::orthonormal::orthonormalize_in_order;
    use crate::numeric::random::{Stream, normal_matrix};
    use proptest::prelude::*;

    fn model(seed: u64, features: usize) -> RowModel {
        let mut columns = normal_matrix(features, 2, seed, Stream::Krylov);
        orthonormalize_in_order(&mut columns);
        RowModel {
            center: vec![0.5; features],
            components: columns.transposed(),
            variances: vec![4.0, 2.0],
            noise: 1.0,
            limits: vec![1.0; features],
            location: vec![0.5; features],
            scale: vec![1.0; features],
            cleans: true,
            scale_features: Vec::new(),
        }
    }

    fn moments(fold: &RobustMoments<'_>, x: &Matrix) -> RowMoments {
        let source = SliceSource::new(x.data(), x.rows(), x.columns()).unwrap();
        Local::new(2).unwrap().run(fold, &source).unwrap()
    }

    fn near(a: &RowMoments, b: &RowMoments) -> bool {
        let close = |a: &[f64], b: &[f64]| {
            let size = a.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-12 * size)
        };
        let numbers = |of: &RowMoments| [of.weight, of.freedom, of.square, of.objective];
        a.rows == b.rows
            && close(&numbers(a), &numbers(b))
            && close(&a.sum, &b.sum)
            && close(a.product.data(), b.product.data())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn a_row_without_weight_equals_an_absent_row(seed in any::<u64>(), n in 10usize..700, features in 4usize..12) {
            let model = model(seed, features);
            let x = normal_matrix(n, features, seed ^ 1, Stream::Krylov);
            let basis = normal_matrix(features, 3, seed ^ 2, Stream::Krylov);
            let weighting = RowWeighting::Student { kappa: 0.8, nu: 5.0, row_cutoff: (features as f64).sqrt() };
            for product in [MomentProduct::None, MomentProduct::Scatter, MomentProduct::Basis(Cow::Borrowed(&basis))] {
                let fold = RobustMoments::new(&model, weighting, product).with_support();
                let all = moments(&fold, &x);
                let members: Vec<usize> = (0..n).filter(|&i| all.support[i]).collect();
                prop_assume!(!members.is_empty() && members.len() < n);
                let cells = members.iter().flat_map(|&i| x.row(i).to_vec()).collect();
                let few = moments(&fold, &Matrix::from_vec(members.len(), features, cells));
                prop_assert!(near(&all, &few), "{:?} {:?}", all, few);
                prop_assert_eq!(few.support, vec![true; members.len()]);
            }
        }

        #[test]
        fn a_bad_cell_equals_a_missing_cell(seed in any::<u64>(), n in 10usize..300, features in 6usize..14) {
            let model = model(seed, features);
            let plain = RowModel { cleans: false, ..model.clone() };
            let draw = normal_matrix(n, features, seed ^ 3, Stream::Krylov);
            let step = RowStep::new(&model);
            let (mut work, mut scores) = (RowWork::new(features), [0.0; 2]);
            let (mut cells, mut holes, mut bad) = (Vec::new(), Vec::new(), 0);
            let x = normal_matrix(n, features, seed ^ 1, Stream::Krylov);
            for i in 0..n {
                let row: Vec<f64> = x.row(i).iter().zip(draw.row(i)).map(|(x, u)| if *u > 1.5 { x + 30.0 } else { *x }).collect();
                if !step.run(&row, &mut work, &mut scores).unusable {
                    let usable = |s: &CellState| *s == CellState::Usable;
                    holes.extend(row.iter().zip(&work.states).map(|(x, s)| if usable(s) { *x } else { f64::NAN }));
                    bad += work.unused().0;
                    cells.extend(row);
                }
            }
            let rows = cells.len() / features;
            prop_assume!(rows > 0);
            let (cells, holes) = (Matrix::from_vec(rows, features, cells), Matrix::from_vec(rows, features, holes));
            let weighting = RowWeighting::Student { kappa: 0.8, nu: f64::INFINITY, row_cutoff: f64::INFINITY };
            let a = moments(&RobustMoments::new(&model, weighting, MomentProduct::Scatter), &cells);
            let b = moments(&RobustMoments::new(&plain, weighting, MomentProduct::Scatter), &holes);
            prop_assert!(near(&a, &b), "{:?} {:?}", a, b);
            prop_assert_eq!((a.bad, b.bad), (bad, 0));
        }
    }
}
