//! The folds that other processes can run, by index, and the rows that they run on.

use std::borrow::Cow;

use steradian::config::{Cosine, Missing, Weighting};
use steradian::data::ElementType;
use steradian::engine::Fold;
use steradian::folds::{
    AnchorCounts, Anchors, Coefficients, ColumnMeans, ConePredicate, ConeSizes, DataCheck, DigitCounts, Distances,
    MomentProduct, OperatorProduct, Precision, Projection, ProjectionUnits, RobustMoments, RowWeighting, Scatter,
    SelectColumns, SelectRows, SpatialGradient, WeightedRows,
};
use steradian::model::RowModel;
use steradian::random::RandomSubset;
use steradian::{Matrix, SliceSource};

/// Features of the rows.
pub const FEATURES: usize = 5;
/// All rows.
pub const ROWS: usize = 6;
/// Rows of the first part.
pub const FIRST: usize = 4;
/// Number of folds of [`with_fold`].
pub const FOLDS: usize = 18;

/// WorkerPlan with a fold of any type.
pub trait FoldVisitor {
    /// The result.
    type Out;

    /// Works with the fold.
    fn visit<F: Fold>(self, fold: &F) -> Self::Out;
}

/// The cells of all rows.
pub fn cells() -> Vec<f64> {
    (0..ROWS * FEATURES).map(|i| (i * i % 17) as f64 * 0.5 - (i % 3) as f64).collect()
}

/// Some rows as a source.
pub fn source(cells: &[f64]) -> SliceSource<'_, f64> {
    SliceSource::new(cells, cells.len() / FEATURES, FEATURES).expect("rows of the right width")
}

/// A model that rows are compared with.
fn row_model(cleans: bool) -> RowModel {
    let mut components = Matrix::zeros(2, FEATURES);
    (components[(0, 0)], components[(0, 1)], components[(1, 3)]) = (0.6, 0.8, -1.0);
    RowModel {
        center: vec![0.5; FEATURES],
        components,
        variances: vec![4.0, 1.0],
        noise: 0.25,
        limits: vec![0.5; FEATURES],
        location: vec![0.25; FEATURES],
        scale: vec![2.0; FEATURES],
        cleans,
        scale_features: Vec::new(),
    }
}

/// Calls the visitor with a fold.
pub fn with_fold<V: FoldVisitor>(index: usize, visitor: V) -> V::Out {
    let center: Vec<f64> = (0..FEATURES).map(|j| j as f64 * 0.25).collect();
    let support = [true, true, false, true, true, true];
    let factors = [1.0, 0.5, 0.0, 2.0, 1.0, 1.0];
    let vectors = Matrix::from_vec(FEATURES, 2, (0..2 * FEATURES).map(|i| ((i % 4) as f64 - 1.5) * 0.5).collect());
    let rows = WeightedRows::new(&center, Weighting::InverseNorm, Some(&support));
    let all = cells();
    match index % FOLDS {
        0 => visitor.visit(&ColumnMeans::new(FEATURES, None)),
        1 => visitor.visit(&ColumnMeans::new(FEATURES, Some(&support))),
        2 => visitor.visit(&SelectColumns::new(1..3, FEATURES)),
        3 => visitor.visit(&DigitCounts::new(ElementType::F64, 0..1, 1, &[[0xbf, 0xc0]], Some(&support))),
        4 => visitor.visit(&SpatialGradient::new(&center, Some(&support), 1e-9)),
        5 => visitor.visit(&Scatter::new(rows.reweighted(&factors))),
        6 => visitor.visit(&OperatorProduct::new(
            rows,
            Coefficients::Project(&vectors),
            Precision::Working,
            ElementType::F64,
        )),
        7 => visitor.visit(&OperatorProduct::new(
            rows,
            Coefficients::Project(&vectors),
            Precision::Working,
            ElementType::U8,
        )),
        8 => {
            let given = Matrix::from_vec(ROWS, 2, (0..2 * ROWS).map(|i| i as f64).collect());
            visitor.visit(&OperatorProduct::new(rows, Coefficients::Given(&given), Precision::Double, ElementType::F32))
        }
        9 => visitor.visit(&Projection::new(
            rows,
            &vectors,
            ProjectionUnits::Original,
            Precision::Working,
            ElementType::F64,
        )),
        10 => visitor.visit(&Distances::new(&center, &vectors, Precision::Working, ElementType::F64)),
        11 => visitor.visit(
            &Distances::new(&center, &vectors, Precision::Working, ElementType::F32)
                .with_scores(Some(&support), RandomSubset::all()),
        ),
        15 => visitor.visit(&DataCheck::new(FEATURES, Missing::Use)),
        12 => visitor.visit(&SelectRows::new(vec![0, 3, 5])),
        16 => {
            let weighting = RowWeighting::Student { kappa: 0.5, nu: 5.0, row_cutoff: 9.0 };
            visitor.visit(&RobustMoments::new(&row_model(true), weighting, MomentProduct::Scatter).with_support())
        }
        17 => {
            let product = MomentProduct::Basis(Cow::Borrowed(&vectors));
            visitor.visit(&RobustMoments::new(&row_model(false), RowWeighting::Uniform, product))
        }
        anchors => {
            let rule = ConePredicate::new(WeightedRows::new(&center, Weighting::InverseNorm, None), Cosine::Abs, 0.5);
            let own = Anchors::new(
                &rule,
                &[1, 4],
                &[&all[FEATURES..2 * FEATURES], &all[4 * FEATURES..5 * FEATURES]].concat(),
                Some((1, &all[FEATURES..2 * FEATURES])),
            )
            .expect("rows of the anchors");
            match anchors {
                13 => visitor.visit(&AnchorCounts::new(&rule, &own, &support)),
                _ => visitor.visit(&ConeSizes::new(&rule, &own)),
            }
        }
    }
}
