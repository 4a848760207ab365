//! Crafted bytes of jobs, partial results and models: each is rejected with an error, before memory is allocated for
//! sizes that are not there and before a pass reads rows.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;
use serde_json::{Value, json};

use crate::common::{TestRandom, fit, message_of, source};
use steradian::config::Weighting;
use steradian::folds::{
    ColumnMeans, DigitCounts, MomentProduct, RobustMoments, RowWeighting, Scatter, SelectColumns, WeightedRows,
};
use steradian::model::RowModel;
use steradian::remote::{Job, PartialResult};
use steradian::{Center, Config, Error, Local, Matrix, Method, Model};

const FEATURES: usize = 3;

fn rows() -> Matrix {
    Matrix::from_vec(4, FEATURES, (0..12).map(|i| f64::from(i * i % 7)).collect())
}

/// The bytes of a job with these steps, the name of a fold and its fields.
fn job_bytes(steps: &impl Serialize, name: &str, fold: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(&(env!("CARGO_PKG_VERSION"), steps, name, fold)).unwrap()
}

/// Reads a job and runs it on a few rows; the error of either.
fn rejection(bytes: &[u8]) -> Error {
    let run = Job::from_bytes(bytes).and_then(|job| job.sum(&source(&rows()), 0, &Local::new(1).unwrap()).map(drop));
    run.expect_err("a crafted job must be rejected")
}

fn expect(error: &Error, words: &str) {
    assert!(matches!(error, Error::InvalidData(_)), "{error:?}");
    assert!(message_of(error).contains(words), "{error}");
}

const NO_MASK: Option<Vec<bool>> = None;

#[test]
fn a_job_for_a_terabyte_of_features_is_rejected() {
    let steps: Vec<u8> = Vec::new();
    expect(&rejection(&job_bytes(&steps, "mean", &(1usize << 37, NO_MASK))), "137438953472");
    let columns = (0usize..1 << 37, vec![0.0f64; FEATURES]);
    expect(&rejection(&job_bytes(&steps, "columns", &columns)), "0..137438953472");
    let digits = (0usize..1 << 37, 56u32, vec![[0u64; 2]; FEATURES], NO_MASK);
    expect(&rejection(&job_bytes(&steps, "median", &digits)), "0..137438953472");
}

#[test]
fn a_job_whose_arrays_disagree_with_the_data_is_rejected() {
    let runner = Local::new(1).unwrap();
    let data = rows();
    let center = vec![0.0; FEATURES + 1];
    let wide = Scatter::new(WeightedRows::new(&center, Weighting::Uniform, None));
    let mask = [true, false, true];
    let (short_mask, prefixes) = (ColumnMeans::new(FEATURES, Some(&mask)), [[0; 2]; FEATURES]);
    let digits = DigitCounts::new(steradian::data::ElementType::F64, 1..4, 0, &prefixes, None);
    for (job, words) in [
        (Job::new(&wide).unwrap(), "4"),
        (Job::new(&short_mask).unwrap(), "3"),
        (Job::new(&digits).unwrap(), "1..4"),
        (Job::new(&SelectColumns::new(Range { start: 2, end: 1 }, FEATURES)).unwrap(), "2..1"),
    ] {
        let error = job.sum(&source(&data), 0, &runner).expect_err("must be rejected");
        expect(&error, words);
        let again = Job::from_bytes(&job.to_bytes().unwrap()).unwrap();
        expect(&again.sum(&source(&data), 0, &runner).expect_err("must be rejected"), words);
    }
    // Rows beyond the largest index.
    let mean = ColumnMeans::new(FEATURES, None);
    assert!(Job::new(&mean).unwrap().sum(&source(&data), usize::MAX - 1, &runner).is_err());
}

#[test]
fn a_job_of_many_or_unordered_steps_is_rejected() {
    #[derive(Serialize)]
    enum ViewStep {
        Select(Vec<usize>),
        Map(Map),
    }
    #[derive(Serialize)]
    enum Map {
        Scale(Vec<f64>),
    }
    let fold = (FEATURES, NO_MASK);
    let many: Vec<ViewStep> = (0..100_000).map(|_| ViewStep::Select(Vec::new())).collect();
    expect(&rejection(&job_bytes(&many, "mean", &fold)), "bytes are not a job");
    expect(&rejection(&job_bytes(&vec![ViewStep::Select(vec![2, 1])], "mean", &fold)), "order");
    expect(&rejection(&job_bytes(&vec![ViewStep::Map(Map::Scale(vec![1.0; 2]))], "mean", &fold)), "2");
    expect(&rejection(&job_bytes(&vec![ViewStep::Map(Map::Scale(vec![1.0, 0.0, 1.0]))], "mean", &fold)), "scale");
    expect(&rejection(&job_bytes(&vec![ViewStep::Map(Map::Scale(vec![f64::NAN; 3]))], "mean", &fold)), "scale");
    let whole = job_bytes(&vec![ViewStep::Map(Map::Scale(vec![2.0; 3])), ViewStep::Select(vec![0, 2])], "mean", &fold);
    Job::from_bytes(&whole).unwrap().sum(&source(&rows()), 0, &Local::new(1).unwrap()).unwrap();
}

#[test]
fn a_job_whose_row_model_is_inconsistent_is_rejected() {
    let good = || crate::common::row_model(1, FEATURES, 2);
    let student = |kappa: f64, row_cutoff: f64| RowWeighting::Student { kappa, nu: 5.0, row_cutoff };
    let runner = Local::new(1).unwrap();
    let run = |model: &RowModel, weighting, product: MomentProduct<'_>| {
        let fold = RobustMoments::new(model, weighting, product).with_support();
        let bytes = Job::new(&fold).unwrap().to_bytes().unwrap();
        Job::from_bytes(&bytes).and_then(|job| job.sum(&source(&rows()), 0, &runner).map(drop))
    };
    let usual = student(0.5, 9.0);
    run(&good(), usual, MomentProduct::Scatter).unwrap();
    /// A change that makes a model inconsistent.
    type Damage = fn(&mut RowModel);
    let broken: [(&str, Damage); 14] = [
        ("the center", |m| m.center.push(0.0)),
        ("the center", |m| m.center[1] = f64::NAN),
        ("the components", |m| m.components[(0, 1)] = f64::INFINITY),
        ("the variances", |m| m.variances.truncate(1)),
        ("the variances", |m| m.variances[0] = f64::NAN),
        ("the limits", |m| m.limits[2] = f64::NAN),
        ("a scale is not above 0", |m| m.limits[0] = 0.0),
        ("a scale is not above 0", |m| m.scale[0] = -1.0),
        ("the locations", |m| m.location.truncate(1)),
        ("noise", |m| m.noise = 0.0),
        ("noise", |m| m.noise = f64::NAN),
        ("does not exist", |m| m.scale_features = vec![FEATURES]),
        ("components of", |m| (m.components, m.variances) = (Matrix::zeros(0, FEATURES), Vec::new())),
        ("the rows of the components", |m| m.components = Matrix::zeros(2, FEATURES + 1)),
    ];
    for (words, change) in broken {
        let mut model = good();
        change(&mut model);
        expect(&run(&model, usual, MomentProduct::Scatter).expect_err(words), words);
    }
    let freedom = |nu: f64| RowWeighting::Student { kappa: 0.5, nu, row_cutoff: 9.0 };
    let factors = [student(0.0, 1.0), student(2.0, 1.0), student(f64::NAN, 1.0), student(0.5, f64::NAN)];
    for weighting in factors.into_iter().chain([freedom(0.0), freedom(f64::NAN)]) {
        expect(&run(&good(), weighting, MomentProduct::None).expect_err("weights"), "weights of factor");
    }
    for basis in
        [Matrix::zeros(FEATURES + 1, 2), Matrix::from_vec(FEATURES, 1, vec![f64::NAN; 3]), Matrix::zeros(FEATURES, 0)]
    {
        let error = run(&good(), usual, MomentProduct::Basis(Cow::Owned(basis))).expect_err("basis");
        expect(&error, "the basis");
    }
    // Truncated sums.
    let model = good();
    let fold = RobustMoments::new(&model, usual, MomentProduct::Scatter).with_support();
    let job = Job::new(&fold).unwrap();
    let whole = job.sum(&source(&rows()), 0, &runner).unwrap().to_bytes().unwrap();
    for length in 0..whole.len() {
        let cut = PartialResult::from_bytes(&whole[..length]).and_then(|part| job.finish(&fold, &part, 4).map(drop));
        assert!(cut.is_err(), "{length} of {} bytes", whole.len());
    }
}

/// The bytes of a partial result of a job with another state.
fn partial_bytes(job: &Job<'_>, rows: Range<usize>, state: &impl Serialize) -> PartialResult {
    let own = job.sum(&source(&self::rows()), 0, &Local::new(1).unwrap()).unwrap().to_bytes().unwrap();
    let (id, _): (u64, _) = postcard::take_from_bytes(&own).unwrap();
    PartialResult::from_bytes(&postcard::to_stdvec(&(id, rows, state)).unwrap()).unwrap()
}

/// Number and column sums in the form of an accumulator: the sums are one byte string.
#[derive(Serialize, Clone)]
struct Mean(u64, Vec<u8>);

#[derive(Serialize, Clone)]
struct Tree(u32, usize, Mean);

#[derive(Serialize)]
enum State {
    Own(Mean),
    /// Samples, rows per block and per leaf, size of the accumulators; and the trees.
    Leaves((usize, usize, usize, bool), Vec<Tree>),
}

#[test]
fn partial_results_that_disagree_with_their_job_are_rejected() {
    let mean = ColumnMeans::new(FEATURES, None);
    let job = Job::new(&mean).unwrap();
    let sums = |features: usize| Mean(4, vec![0; 8 * features]);
    let good = || partial_bytes(&job, 0..4, &State::Own(sums(FEATURES)));
    assert_eq!(job.finish(&mean, &good(), 4).unwrap(), [0.0; FEATURES]);
    let grid = (4, 256, 256, false);
    let tree = |level, index| Tree(level, index, sums(FEATURES));
    let whole = partial_bytes(&job, 0..4, &State::Leaves(grid, vec![tree(0, 0)]));
    assert_eq!(job.finish(&mean, &whole, 4).unwrap(), [0.0; FEATURES]);
    for state in [
        State::Own(sums(2)),
        State::Own(Mean(u64::MAX, vec![0; 8 * FEATURES])),
        State::Own(Mean(4, vec![0; 7])),
        State::Leaves((4, 256, 0, false), vec![tree(0, 0)]),
        State::Leaves((4, 0, 256, false), vec![tree(0, 0)]),
        State::Leaves((usize::MAX, 256, 256, false), vec![tree(0, 0)]),
        State::Leaves(grid, vec![tree(70, 0)]),
        State::Leaves(grid, vec![tree(3, usize::MAX)]),
        State::Leaves(grid, vec![tree(0, 0), tree(0, 0)]),
        State::Leaves(grid, vec![tree(0, 1)]),
        State::Leaves(grid, vec![Tree(0, 0, sums(2))]),
        State::Leaves((1000, 256, 256, false), vec![tree(0, 0)]),
    ] {
        let crafted = partial_bytes(&job, 0..4, &state);
        assert!(job.finish(&mean, &crafted, 4).is_err());
        let later = partial_bytes(&job, 4..8, &State::Own(sums(FEATURES)));
        assert!(job.merge(&crafted, &later).is_err());
    }
    let reversed = postcard::to_stdvec(&(0u64, Range { start: 9usize, end: 2 }, State::Own(sums(FEATURES)))).unwrap();
    assert!(PartialResult::from_bytes(&reversed).is_err());
    // Another number of features than those of the job.
    assert!(job.finish(&ColumnMeans::new(5, None), &good(), 4).is_err());
}

/// A model file with changed metadata or arrays.
struct Tampered {
    metadata: Value,
    arrays: Vec<(String, safetensors::Dtype, Vec<usize>, Vec<u8>)>,
}

impl Tampered {
    fn of(model: &Model) -> Self {
        Self::of_bytes(&model.to_bytes().unwrap())
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let (_, header) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
        let metadata = serde_json::from_str(&header.metadata().as_ref().unwrap()["steradian"]).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
        let arrays = tensors
            .iter()
            .map(|(name, view)| (name.to_owned(), view.dtype(), view.shape().to_vec(), view.data().to_vec()));
        Self { metadata, arrays: arrays.collect() }
    }

    fn floats(mut self, name: &str, values: &[f64]) -> Self {
        let array = self.arrays.iter_mut().find(|array| array.0 == name).unwrap();
        array.3 = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self
    }

    fn first(self, name: &str, value: f64) -> Self {
        let array = &self.arrays.iter().find(|array| array.0 == name).unwrap().3;
        let mut values: Vec<f64> = array.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        values[0] = value;
        self.floats(name, &values)
    }

    fn bytes_of(mut self, name: &str, change: impl Fn(&mut Vec<u8>)) -> Self {
        change(&mut self.arrays.iter_mut().find(|array| array.0 == name).unwrap().3);
        self
    }

    fn shaped(mut self, name: &str, shape: &[usize]) -> Self {
        let array = self.arrays.iter_mut().find(|array| array.0 == name).unwrap();
        let size = if array.1 == safetensors::Dtype::U8 { 1 } else { 8 };
        array.3.resize(shape.iter().product::<usize>() * size, 0);
        array.2 = shape.to_vec();
        self
    }

    fn set(mut self, path: &str, value: Value) -> Self {
        *self.metadata.pointer_mut(path).unwrap_or_else(|| panic!("{path} exists")) = value;
        self
    }

    fn read(self) -> Result<Model, Error> {
        let text = self.metadata.to_string();
        let views = self.arrays.iter().map(|(name, dtype, shape, data)| {
            (name.clone(), safetensors::tensor::TensorView::new(*dtype, shape.clone(), data).unwrap())
        });
        let metadata = std::collections::HashMap::from([("steradian".to_owned(), text)]);
        Model::from_bytes(&safetensors::serialize(views, Some(metadata)).unwrap())
    }

    fn rejected(self, words: &str) {
        let error = self.read().expect_err(words);
        assert!(matches!(error, Error::InvalidData(_)), "{error:?}");
        assert!(message_of(&error).contains(words), "expected {words:?}: {error}");
    }
}

#[test]
fn tampered_models_are_rejected_when_they_are_read() {
    let x = TestRandom::new(8).samples(40, 6, 2);
    let tae = fit(&Config::new(Method::Tae, 2), &source(&x), 1).unwrap();
    let file = || Tampered::of(&tae);
    assert!(file().read().unwrap() == tae, "an unchanged file is read");
    let empty = file().shaped("components", &[0, 6]).shaped("explained_variance", &[0]);
    empty.shaped("angular_eigenvalues", &[0]).set("/n_components", json!(0)).rejected("0 components");
    file().first("components", f64::NAN).rejected("components");
    file().first("components", 2.0).rejected("orthonormal");
    file().floats("components", &[0.0; 12]).rejected("orthonormal");
    file().first("center", f64::INFINITY).rejected("`center`");
    file().first("explained_variance", -1.0).rejected("`explained_variance`");
    file().first("explained_variance", f64::NAN).rejected("`explained_variance`");
    file().first("angular_eigenvalues", 1.5).rejected("`angular_eigenvalues`");
    file().first("angular_eigenvalues", f64::NAN).rejected("`angular_eigenvalues`");
    file().first("cutoffs", -3.0).rejected("`cutoffs`");
    file().set("/image_size", json!([2, 2])).rejected("2 x 2");
    file().set("/image_size", json!([u64::MAX, 2])).rejected("image");
    file().set("/n_support", json!(3)).rejected("n_support");
    file().bytes_of("support", |bytes| bytes[0] = 7).rejected("`support`");
    file().bytes_of("tau", |bytes| bytes[..8].copy_from_slice(&(-1i64).to_le_bytes())).rejected("`tau`");
    file().set("/tau_min", json!(39)).rejected("tau_min");
    file().set("/pivot", json!(40)).rejected("pivot 40");
    file().set("/parameters/max_angle", json!(-5.0)).rejected("max_angle");
    file().set("/parameters/tol", json!(-1.0)).rejected("tol");
    file().set("/parameters/n_components", json!(3)).rejected("n_components");
    file().set("/total_variance", json!(-1.0)).rejected("total_variance");
    file().set("/certificate/sine_bound", json!(-0.5)).rejected("sine_bound");
    file().set("/certificate/sine_bound", json!(7.0)).rejected("sine_bound");
    let named = |names: [&str; 6]| {
        let mut file = file();
        file.metadata["feature_names"] = json!(names);
        file
    };
    assert!(named(["a", "b", "c", "d", "e", "f"]).read().is_ok());
    named(["a", "b", "c", "d", "e", "a"]).rejected("\"a\" twice");
    let inactive = |tampered: Tampered| {
        let support = tae.report.support.iter().position(|&active| active).unwrap();
        tampered.bytes_of("tau", |bytes| bytes[8 * support..][..8].copy_from_slice(&41i64.to_le_bytes()))
    };
    inactive(file()).rejected("tau");
    file().set("/warnings", json!(["x".repeat(5 << 20)])).rejected("metadata of");
    let deep = (0..200).fold(json!(0), |inner, _| json!([inner]));
    file().set("/parameters/tol", deep).rejected("metadata");

    let scaled = Config::new(Method::Cells, 2).with_scaling(steradian::config::Scaling::Mad);
    let cells = fit(&scaled, &source(&x), 1).unwrap();
    let file = || Tampered::of(&cells);
    assert!(file().read().unwrap() == cells, "an unchanged file is read");
    file().first("scale", 0.0).rejected("`scale`");
    file().first("scale", f64::NAN).rejected("`scale`");
    for array in ["cell_limits", "cell_spread", "cell_scales", "cell_scales_new", "score_variance"] {
        for value in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            file().first(array, value).rejected(&format!("`{array}`"));
        }
    }
    for array in ["cell_location", "score_center"] {
        file().first(array, f64::NAN).rejected(&format!("`{array}`"));
        file().first(array, f64::INFINITY).rejected(&format!("`{array}`"));
    }
    file().first("cutoffs_new", -1.0).rejected("`cutoffs_new`");
    for (array, shape) in [("cell_scales", 5), ("score_center", 3), ("cutoffs_new", 1)] {
        file().shaped(array, &[shape]).rejected(&format!("`{array}`"));
    }
    for value in [json!(0.0), json!(-2.0)] {
        file().set("/noise_variance", value).rejected("");
    }
    file().set("/cleans", json!(null)).rejected("`cleans`");
    file().set("/cleaned_fraction", json!(1.5)).rejected("cleaned_fraction");
    file().set("/cleaned_fraction", json!(null)).rejected("cleaned_fraction");
    // A file of format 1 with an array under a name of format 2: both would have one name when it is written again.
    let former = format!("{}/tests/data/format1/given.safetensors", env!("CARGO_MANIFEST_DIR"));
    let mut file = Tampered::of_bytes(&std::fs::read(former).unwrap());
    file.arrays.push(("explained_variance".to_owned(), safetensors::Dtype::F64, vec![1], vec![0; 8]));
    file.rejected("`explained_variance` is not one of format 1");
    let given = Config::new(Method::Ae, 1).with_center(Center::Given(vec![0.5; 6]));
    let ae = fit(&given, &source(&x), 1).unwrap();
    assert!(Tampered::of(&ae).read().unwrap() == ae, "an unchanged file is read");
}
