//! Fits whose passes run on partitions of the data: byte-identical models whatever the order, threads and repetitions;
//! for one partition the model file of a local fit; for several the same subspace.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{TestRandom, message_of, row_model, sine, source};
use proptest::prelude::*;
use steradian::config::{Angle, Cone, Cosine, PivotSearch, Scaling, Screen, Ties, Weighting};
use steradian::data::{Block, BlockData, ElementType, Rows, Shape};
use steradian::engine::{Fold, Runner};
use steradian::folds::{
    AnchorCounts, Anchors, Coefficients, ColumnMeans, ConePredicate, ConeSizes, DigitCounts, Distances, MomentProduct,
    OperatorProduct, Precision, RobustMoments, RowWeighting, Scatter, SelectRows, SpatialGradient, WeightedRows,
};
use steradian::random::RandomSubset;
use steradian::remote::{Cluster, Dispatch, Job, PartialResult, RemoteSource};
use steradian::{Center, ComponentCount, Config, Local, Matrix, Method, Model, Result, Solver, Source};

/// A source that owns its values.
struct Owned {
    shape: Shape,
    values: Vec<f64>,
}

impl Owned {
    fn new(values: Vec<f64>, features: usize) -> Self {
        let samples = values.len() / features;
        Self { shape: Shape { samples, features, element: ElementType::F64, image: None }, values }
    }
}

impl Source for Owned {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        let own = &self.values[rows.start * self.shape.features..rows.end * self.shape.features];
        visit(Block::new(rows.start, BlockData::F64(Rows::contiguous(own, rows.len(), self.shape.features)?)))
    }
}

/// Parts of a table, each reduced as in a process of its own: jobs and partial results are serialized.
struct TableParts<'a> {
    x: &'a Matrix,
    cuts: Vec<usize>,
    threads: usize,
    /// Reduces the last part first, and every part twice, as after the loss of a worker.
    troubled: bool,
    rows_fetched: AtomicUsize,
}

impl<'a> TableParts<'a> {
    fn new(x: &'a Matrix, cuts: &[usize], threads: usize, troubled: bool) -> Self {
        let mut cuts = [&[0], cuts, &[x.rows()]].concat();
        cuts.sort_unstable();
        cuts.dedup();
        Self { x, cuts, threads, troubled, rows_fetched: AtomicUsize::new(0) }
    }

    fn part(&self, part: usize) -> Owned {
        let features = self.x.columns();
        Owned::new(self.x.data()[self.cuts[part] * features..self.cuts[part + 1] * features].to_vec(), features)
    }

    fn fit(&self, config: &Config) -> Result<Model> {
        let remote = RemoteSource::new(self, source(self.x).shape().clone());
        steradian::fit::fit_remote(config, &remote, &Cluster::new(&remote, Local::new(1)?))
    }
}

impl Dispatch for TableParts<'_> {
    fn sum(&self, job: &Job<'_>, _: &'static str, _: usize) -> Result<PartialResult> {
        let bytes = job.to_bytes()?;
        let runner = Local::new(self.threads)?;
        let reduce = |part: usize| -> Result<PartialResult> {
            let job = Job::from_bytes(&bytes)?;
            if self.troubled {
                job.sum(&self.part(part), self.cuts[part], &runner)?;
            }
            PartialResult::from_bytes(&job.sum(&self.part(part), self.cuts[part], &runner)?.to_bytes()?)
        };
        let parts = 0..self.cuts.len() - 1;
        let mut results: Vec<PartialResult> = match self.troubled {
            true => parts.rev().map(reduce).collect::<Result<_>>()?,
            false => parts.map(reduce).collect::<Result<_>>()?,
        };
        results.sort_by_key(|result| result.rows().start);
        Job::from_bytes(&bytes)?.total(results)
    }

    fn fetch(&self, samples: &[usize]) -> Result<Arc<dyn Source + Send + Sync>> {
        self.rows_fetched.fetch_add(samples.len(), Ordering::Relaxed);
        let values = samples.iter().flat_map(|i| self.x.row(*i).to_vec()).collect();
        Ok(Arc::new(Owned::new(values, self.x.columns())))
    }
}

fn configs() -> Vec<Config> {
    let mut configs = Vec::new();
    for solver in [Solver::Scatter, Solver::Krylov] {
        for method in [Method::Ae, Method::Angular, Method::Pca] {
            configs.push(Config::new(method, 3).with_solver(solver));
        }
    }
    configs.extend([Method::Robust, Method::Cells, Method::Rows].map(|method| Config::new(method, 3)));
    configs.push(Config::new(Method::Robust, 2).with_scaling(Scaling::Mad));
    configs.push(Config::new(Method::Ae, ComponentCount::Auto));
    configs.push(Config::new(Method::Angular, ComponentCount::VarianceFraction(0.8)));
    configs.push(Config::new(Method::Tae, 2));
    let dense = Cone { cosine: Cosine::Signed, ties: Ties::Density, recenter: true, ..Cone::default() };
    configs.push(coned(dense).with_scaling(Scaling::Mad));
    configs
}

/// The view that multiplies data by a power of two is repeated by the workers.
#[test]
fn powers_of_two_change_units_only_on_a_cluster() {
    let x = TestRandom::new(12).samples(160, 8, 3);
    let small = Matrix::from_vec(160, 8, x.data().iter().map(|v| v * 2f64.powi(-400)).collect());
    for config in configs() {
        let [base, found] = [&x, &small].map(|x| TableParts::new(x, &[40, 100], 1, false).fit(&config).unwrap());
        assert_eq!(found.subspace.components, base.subspace.components, "{config:?}");
        let center: Vec<f64> = base.subspace.center.iter().map(|c| c * 2f64.powi(-400)).collect();
        assert_eq!(found.subspace.center, center, "{config:?}");
    }
}

/// Missing cells reach the workers, and the center over the cells present goes back to them.
#[test]
fn missing_cells_are_the_same_on_a_cluster() {
    let complete = TestRandom::new(31).samples(400, 7, 2);
    let mut random = TestRandom::new(32);
    let mut cells: Vec<f64> = complete.data().to_vec();
    cells.iter_mut().filter(|_| random.uniform() < 0.2).for_each(|x| *x = f64::NAN);
    cells[7 * 130..7 * 131].fill(f64::NAN);
    let x = Matrix::from_vec(400, 7, cells);
    for scaling in [Scaling::None, Scaling::Mad] {
        let config = Config::new(Method::Angular, 2).with_scaling(scaling);
        let local = crate::common::fit(&config, &source(&x), 1).unwrap();
        let whole = TableParts::new(&x, &[], 2, false).fit(&config).unwrap();
        assert_eq!(whole.subspace.center, local.subspace.center);
        let parts = TableParts::new(&x, &[90, 131, 300], 2, true).fit(&config).unwrap();
        let again = TableParts::new(&x, &[90, 131, 300], 1, false).fit(&config).unwrap();
        assert_eq!(parts.to_bytes().unwrap(), again.to_bytes().unwrap());
        assert!(sine(&parts.subspace.components, &local.subspace.components) < 1e-6);
        assert_eq!(parts.report.warnings, local.report.warnings);
        assert!(!parts.report.support[130]);
    }
}

/// TAE with this cone.
fn coned(cone: Cone) -> Config {
    Config::new(Method::Tae, 2).with_screen(Screen::Cone(cone))
}

/// The configuration of a local fit that searches for the pivot as a cluster does.
fn eliminating(config: &Config) -> Config {
    let mut screen = config.screen().clone();
    if let Screen::Cone(cone) = &mut screen {
        cone.pivot_search = PivotSearch::Elimination;
    }
    config.clone().with_screen(screen)
}

#[test]
fn one_part_gives_the_model_file_of_a_local_fit() {
    let x = TestRandom::new(3).samples(700, 12, 4);
    for config in configs() {
        let cluster = TableParts::new(&x, &[], 2, false).fit(&config).unwrap();
        let solver = cluster.report.solver; // a local fit may choose another
        let mut own = eliminating(&config);
        if !config.method().is_cellwise() {
            own = own.with_solver(solver);
        }
        let mut local = steradian::fit(&own, &source(&x), &Local::new(2).unwrap()).unwrap();
        local.config = config.clone();
        assert!(cluster.to_bytes().unwrap() == local.to_bytes().unwrap(), "{config:?}");
    }
}

#[test]
fn parts_give_byte_identical_models_and_the_subspace_of_a_local_fit() {
    let x = TestRandom::new(4).samples(1100, 9, 4);
    let cuts = [1, 300, 301, 777, 1000];
    for config in configs() {
        let calm = TableParts::new(&x, &cuts, 1, false).fit(&config).unwrap();
        let troubled = TableParts::new(&x, &cuts, 3, true).fit(&config).unwrap();
        assert!(calm.to_bytes().unwrap() == troubled.to_bytes().unwrap(), "{config:?}");
        let alone = steradian::fit(&config, &source(&x), &Local::new(2).unwrap()).unwrap();
        assert!(sine(&calm.subspace.components, &alone.subspace.components) < 1e-5, "{config:?}");
        assert_eq!(calm.report.support, alone.report.support, "{config:?}");
        assert_eq!(calm.report.n_components_reason.is_some(), alone.report.n_components_reason.is_some());
        // A local fit counts all pairs of so few samples; a cluster never does.
        let [found, exact] = [&calm, &alone].map(|model| model.report.cone.as_ref());
        assert_eq!(found.map(|cone| (cone.pivot, cone.tau_min())), exact.map(|cone| (cone.pivot, cone.tau_min())));
        assert!(
            found.is_none_or(|cone| cone.elimination.is_some()) && exact.is_none_or(|cone| cone.elimination.is_none())
        );
    }
}

/// A cluster so narrow that all its samples tie, and one sample in five anywhere.
fn narrow_cluster(n: usize, features: usize) -> Matrix {
    let mut x = TestRandom::new(11).matrix(n, features);
    (0..n).filter(|i| i % 5 > 0).for_each(|i| x.row_mut(i).iter_mut().for_each(|x| *x = 1.0 + 0.02 * *x));
    x
}

#[test]
fn a_cone_among_ties_is_that_of_the_exact_count_and_the_driver_fetches_few_rows() {
    let x = narrow_cluster(6000, 8);
    let cone = Cone { max_angle: Angle::Degrees(60.0), ..Cone::default() };
    let parts = TableParts::new(&x, &[2, 1500, 4321], 2, false);
    let config = coned(cone).with_center(Center::None);
    let model = parts.fit(&config).unwrap();
    let alone = steradian::fit(&config, &source(&x), &Local::new(2).unwrap()).unwrap();
    assert_eq!(model.report.support, alone.report.support);
    let (found, exact) = (model.report.cone.unwrap(), alone.report.cone.unwrap());
    assert_eq!((found.pivot, found.tau_min()), (exact.pivot, exact.tau_min()));
    let elimination = found.elimination.unwrap();
    assert!(elimination.recounted > 256 && elimination.excess == 0, "{elimination:?}"); // a shell was used
    // One leader per round and for the shell, and the pivot; anchors are results of a pass.
    assert!(parts.rows_fetched.into_inner() <= elimination.rounds + 2);
}

#[test]
fn a_cone_among_few_samples() {
    for n in [3, 4, 17, 63, 64, 65, 257] {
        let x = TestRandom::new(n as u64).samples(n, 4, 2);
        let config = Config::new(Method::Tae, 1).with_screen(Screen::Cone(Cone::default()));
        let model = TableParts::new(&x, &[1, n / 2, n - 1], 1, true).fit(&config).unwrap();
        let alone = steradian::fit(&config, &source(&x), &Local::new(1).unwrap()).unwrap();
        assert_eq!(model.report.support, alone.report.support, "{n}");
        assert_eq!(model.report.cone.unwrap().pivot, alone.report.cone.unwrap().pivot, "{n}");
    }
}

#[test]
fn the_driver_fetches_few_rows() {
    let x = TestRandom::new(5).samples(30_000, 6, 3);
    let parts = TableParts::new(&x, &[10_000, 20_000], 2, false);
    let model = parts.fit(&Config::new(Method::Robust, 2)).unwrap();
    assert_eq!(model.report.support.len(), 30_000);
    // The sample of the search.
    assert!(parts.rows_fetched.into_inner() <= 1000);
}

#[test]
fn a_cell_that_is_not_finite_is_reported_with_its_row_in_all_the_data() {
    let mut x = TestRandom::new(6).samples(900, 5, 2);
    x[(888, 3)] = f64::INFINITY;
    let error = TableParts::new(&x, &[400, 880], 2, false).fit(&Config::new(Method::Robust, 2)).unwrap_err();
    assert!(error.to_string().contains("888"), "{error}");
}

#[test]
fn options_that_need_pairs_or_one_process_are_rejected_with_a_remedy() {
    let x = TestRandom::new(7).samples(60, 5, 2);
    let rejected = |config: Config| TableParts::new(&x, &[30], 1, false).fit(&config).unwrap_err();
    let rejected = |config: Config| message_of(&rejected(config));
    assert!(rejected(Config::new(Method::Ae, 2).with_solver(Solver::Gram)).contains("use the solver krylov"));
    let exact = rejected(coned(Cone { pivot_search: PivotSearch::Exact, ..Cone::default() }));
    assert!(exact.contains("every pair of samples") && exact.contains("use successive elimination"), "{exact}");
    assert!(rejected(coned(Cone { max_angle: Angle::Auto, ..Cone::default() })).contains("give the angle in degrees"));
}

/// True if a pass over parts equals the two-level tree of local runs over the same parts.
fn same_tree<F: Fold>(fold: &F, x: &Matrix, cuts: &[usize]) -> bool {
    let parts = TableParts::new(x, cuts, 2, true);
    let job = Job::new(fold).unwrap();
    let sum = parts.sum(&job, F::NAME, 1).unwrap();
    assert_eq!(sum.rows(), 0..x.rows());
    // By folds alone: one local run per part, whose vectors are of that part.
    let runner = Local::new(1).unwrap();
    let mut sums: Vec<F::Accumulator> = (0..parts.cuts.len() - 1)
        .map(|part| {
            let own = parts.part(part);
            let grid =
                steradian::engine::Grid::new(own.shape().samples, own.shape().features, fold.accumulator_bytes());
            runner.run_leaves(fold, &own, grid, 0..grid.leaves()).unwrap().total(fold).unwrap()
        })
        .collect();
    while sums.len() > 1 {
        let mut next = Vec::new();
        let mut rest = sums.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => fold.merge(left, right),
                None => left,
            });
        }
        sums = next;
    }
    let expected = postcard::to_stdvec(&sums[0]).unwrap();
    sum.to_bytes().unwrap().ends_with(&expected) && expected.len() > 2
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn partial_results_are_those_of_local_runs(
        seed in any::<u64>(), n in 2usize..900, cuts in proptest::collection::vec(1usize..899, 0..6)
    ) {
        let x = TestRandom::new(seed).samples(n, 5, 2);
        let cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % n).collect();
        let center = vec![0.5; 5];
        let w = TestRandom::new(seed ^ 1).matrix(5, 2);
        let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
        let element = ElementType::F64;
        prop_assert!(same_tree(&ColumnMeans::new(5, None), &x, &cuts));
        // No nearest sample: its index in all the data is not available to a fold over a part alone.
        prop_assert!(same_tree(&SpatialGradient::new(&center, None, 1e9), &x, &cuts));
        prop_assert!(same_tree(&Scatter::new(directions.clone()), &x, &cuts));
        let distances = Distances::new(&center, &w, Precision::Double, element);
        prop_assert!(same_tree(&distances.with_scores(None, RandomSubset::all()), &x, &cuts));
        prop_assert!(same_tree(&DigitCounts::new(element, 1..3, 0, &[[0; 2]; 2], None), &x, &cuts));
        let rule = ConePredicate::new(directions.clone(), Cosine::Abs, 0.5);
        let anchors = Anchors::new(&rule, &[0, n - 1], &[x.row(0), x.row(n - 1)].concat(), Some((0, x.row(0)))).unwrap();
        prop_assert!(same_tree(&ConeSizes::new(&rule, &anchors), &x, &cuts));
        for precision in [Precision::Working, Precision::Double] {
            prop_assert!(same_tree(&OperatorProduct::new(directions.clone(), Coefficients::Project(&w), precision, element), &x, &cuts));
        }
        let model = row_model(seed, 5, 2);
        let weighting = RowWeighting::Student { kappa: 1.0, nu: 5.0, row_cutoff: 20.0 };
        for product in [MomentProduct::Scatter, MomentProduct::Basis(Cow::Borrowed(&w))] {
            prop_assert!(same_tree(&RobustMoments::new(&model, weighting, product).with_support(), &x, &cuts));
        }
    }
}

#[test]
fn anchors_and_candidates_are_those_of_the_whole_data() {
    let (n, x) = (700, TestRandom::new(12).samples(700, 6, 3));
    let center = [0.5; 6];
    let rule = ConePredicate::new(WeightedRows::new(&center, Weighting::InverseNorm, None), Cosine::Signed, 0.3);
    let indices: Vec<usize> = (0..n).filter(|i| i % 9 == 4).collect();
    let parts = TableParts::new(&x, &[100, 101, 350], 1, true);
    let remote = RemoteSource::new(&parts, source(&x).shape().clone());
    let (cluster, local) = (Cluster::new(&remote, Local::new(1).unwrap()), Local::new(1).unwrap());
    let rows = cluster.run(&SelectRows::new(indices.clone()), &remote).unwrap();
    assert_eq!(rows, indices.iter().flat_map(|&i| x.row(i).to_vec()).collect::<Vec<_>>());
    let anchors = Anchors::new(&rule, &indices, &rows, Some((7, x.row(7)))).unwrap();
    let candidates: Vec<bool> = (0..n).map(|i| i % 3 != 1).collect();
    let counts = AnchorCounts::new(&rule, &anchors, &candidates);
    let (there, here) = (cluster.run(&counts, &remote).unwrap(), local.run(&counts, &source(&x)).unwrap());
    assert_eq!((there.inside, there.active), (here.inside, here.active));
}

#[test]
fn factors_and_support_are_those_of_the_whole_data() {
    let x = TestRandom::new(8).samples(500, 4, 2);
    let support: Vec<bool> = (0..500).map(|i| i % 3 != 0).collect();
    let factors: Vec<f64> = (0..500).map(|i| f64::from(i) / 500.0).collect();
    let center = [0.25; 4];
    let directions = WeightedRows::new(&center, Weighting::InverseNorm, Some(&support)).reweighted(&factors);
    let scatter = Scatter::new(directions);
    let (whole, mass) = Local::new(1).unwrap().run(&scatter, &source(&x)).unwrap();
    let parts = TableParts::new(&x, &[100, 101, 350], 1, false);
    let remote = RemoteSource::new(&parts, source(&x).shape().clone());
    let (merged, merged_mass) = Cluster::new(&remote, Local::new(1).unwrap()).run(&scatter, &remote).unwrap();
    assert!((mass - merged_mass).abs() < 1e-9);
    assert!(whole.data().iter().zip(merged.data()).all(|(a, b)| (a - b).abs() < 1e-10));
}

#[test]
fn partial_results_that_do_not_belong_together_are_rejected() {
    let x = TestRandom::new(9).samples(90, 3, 2);
    let runner = Local::new(1).unwrap();
    let part = |from: usize, to: usize| Owned::new(x.data()[from * 3..to * 3].to_vec(), 3);
    let (mean, other) =
        (ColumnMeans::new(3, None), Scatter::new(WeightedRows::new(&[0.0; 3], Weighting::Uniform, None)));
    let (job, another) = (Job::new(&mean).unwrap(), Job::new(&other).unwrap());
    let [a, b] = [(0, 40), (40, 90)].map(|(from, to)| job.sum(&part(from, to), from, &runner).unwrap());
    let of_another_pass = another.sum(&part(40, 90), 40, &runner).unwrap();
    let words = |result: Result<PartialResult>| message_of(&result.unwrap_err());
    assert!(words(job.merge(&a, &of_another_pass)).contains("another pass"));
    assert!(words(job.merge(&b, &a)).contains("must be adjacent and in order"));
    assert!(words(job.merge(&a, &a)).contains("must be adjacent and in order"));
    assert!(words(job.total(Vec::new())).contains("at least one partial result"));
    assert!(job.finish(&mean, &a, 90).unwrap_err().to_string().contains("merge all parts first"));
    assert_eq!(job.finish(&mean, &job.merge(&a, &b).unwrap(), 90).unwrap().len(), 3);
    assert!(words(PartialResult::from_bytes(&[1])).contains("not a partial result"));
    let mut bytes = job.to_bytes().unwrap();
    assert!(Job::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    bytes[1] = b'9'; // the first digit of the version
    let error = Job::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("requires steradian 9.") && error.contains("install one version"), "{error}");
}
