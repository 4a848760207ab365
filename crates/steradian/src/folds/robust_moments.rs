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
use crate::cellwise::{RowModel, RowStep, RowWork};
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
}

impl<'a> RobustMoments<'a> {
    /// Moments under a model.
    pub fn new(model: &'a RowModel, weighting: RowWeighting, product: MomentProduct<'a>) -> Self {
        Self { model: Cow::Borrowed(model), weighting, product, lists_support: false }
    }

    /// Also lists which rows have a weight.
    pub fn with_support(self) -> Self {
        Self { lists_support: true, ..self }
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
}

/// One row in the sums.
struct WeightedRow {
    weight: f64,
    freedom: f64,
    objective: f64,
    bad: u64,
    missing: u64,
}

impl RobustMoments<'_> {
    /// The weight of each row of a chunk; writes the repaired rows.
    fn weigh(&self, step: &RowStep<'_>, block: &Block<'_>, rows: Range<usize>, repaired: &mut [f64]) -> Vec<WeightedRow> {
        let (features, d) = (self.model.n_features(), self.model.n_components());
        let kappa = match self.weighting {
            RowWeighting::Student { kappa, .. } => kappa,
            RowWeighting::Uniform => 1.0,
        };
        let student = StudentWeights::of(&self.model, kappa);
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
                        RowWeighting::Student { row_cutoff, .. } if !state.unusable && state.distance <= row_cutoff => weight,
                        _ => 0.0,
                    };
                    if weight == 0.0 {
                        repaired.fill(0.0);
                        return WeightedRow { weight, freedom: 0.0, objective: 0.0, bad: 0, missing: 0 };
                    }
                    step.repair(work, scores, repaired);
                    let (bad, missing) = work.unused();
                    WeightedRow { weight, freedom: state.freedom, objective, bad, missing }
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
                let u = Matrix::from_vec(rows, features, repaired.to_vec());
                product.par_chunks_mut(STRIP * features).enumerate().for_each(|(strip, lower)| {
                    let start = strip * STRIP;
                    let end = start + lower.len() / features;
                    let left = MatrixView::columns(&u, start..end).transposed();
                    add_product_strided(lower, features, left, MatrixView::columns(&u, 0..end), 1.0);
                });
            }
            MomentProduct::Basis(basis) => {
                let l = basis.columns();
                let z = Matrix::from_vec(rows, features, repaired.to_vec());
                let mut y = vec![0.0; rows * l];
                add_product(&mut y, z.view(), basis.view(), 1.0);
                y.chunks_exact_mut(l).zip(weights).for_each(|(y, own)| y.iter_mut().for_each(|y| *y *= own.weight));
                product.par_chunks_mut(8 * STRIP * l).enumerate().for_each(|(strip, out)| {
                    let start = strip * 8 * STRIP;
                    let end = start + out.len() / l;
                    let left = MatrixView::columns(&z, start..end).transposed();
                    add_product(out, left, MatrixView::new(&y, rows, l), 1.0);
                });
            }
        }
    }
}

impl Fold for RobustMoments<'_> {
    const NAME: &'static str = "robust moments";

    type Accumulator = RobustMomentsAccumulator;
    type Out = RowMoments;

    fn check(&self, shape: &Shape, _samples: &Range<usize>) -> Result<()> {
        self.model.check(shape.features)?;
        if let RowWeighting::Student { kappa, row_cutoff } = self.weighting
            && (!(kappa > 0.0 && kappa <= 1.0) || row_cutoff.is_nan())
        {
            return Err(inconsistent(format!("weights of factor {kappa} up to distance {row_cutoff}")));
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
        require_length("the sum", accumulator.sum.len(), features)?;
        require_length("the product", accumulator.product.len(), features.saturating_mul(self.columns()))?;
        let listed = if self.lists_support { samples.len() } else { 0 };
        require_length("the support", accumulator.support.len(), listed)
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
        }
    }

    fn add(&self, accumulator: &mut RobustMomentsAccumulator, block: &Block<'_>) -> Result<()> {
        let features = self.model.n_features();
        let step = RowStep::new(&self.model);
        let chunk_rows = (CHUNK_CELLS / features.max(1)).clamp(4, 256);
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
                if row.weight > 0.0 {
                    accumulator.rows += 1;
                    accumulator.weight += row.weight;
                    accumulator.freedom += row.freedom;
                    accumulator.objective += row.objective;
                    accumulator.bad += row.bad;
                    accumulator.missing += row.missing;
                    accumulator.square += row.weight * crate::cellwise::vectors::square_norm(z);
                    accumulator.sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += row.weight * z);
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
        })
    }
}
