//! Micro-benchmarks of the passes on data in memory: `cargo bench -p steradian`. Items are flops, so the throughput is
//! in flop/s; the arguments are numbers of threads.

use divan::counter::ItemsCount;
use steradian::config::{Cosine, Weighting};
use steradian::data::{BlockElement, ElementType};
use steradian::engine::Runner;
use steradian::folds::{
    Coefficients, ColumnMeans, ConeCounts, ConePredicate, Gram, OperatorProduct, Precision, Projection,
    ProjectionUnits, Scatter, SpatialGradient, WeightedRows,
};
use steradian::{Local, Matrix, SliceSource};

const SAMPLES: usize = 1024;
const FEATURES: usize = 25_344;

fn main() {
    divan::main();
}

fn bytes(samples: usize, features: usize) -> Vec<u8> {
    (0..samples * features).map(|i| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57) as u8).collect()
}

fn vectors(columns: usize) -> Matrix {
    let data = (0..FEATURES * columns).map(|i| (i % 17) as f64 / 17.0 - 0.5).collect();
    Matrix::from_vec(FEATURES, columns, data)
}

fn operator<T: BlockElement>(
    bencher: divan::Bencher<'_, '_>,
    data: &[T],
    threads: usize,
    width: usize,
    precision: Precision,
) {
    let source = SliceSource::new(data, SAMPLES, FEATURES).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![60.0; FEATURES];
    let w = vectors(width);
    let rows = WeightedRows::new(&center, Weighting::InverseNorm, None);
    let product = OperatorProduct::new(rows, Coefficients::Project(&w), precision, T::TYPE);
    bencher
        .counter(ItemsCount::new(4 * SAMPLES * FEATURES * width))
        .bench_local(|| runner.run(&product, &source).unwrap());
}

#[divan::bench(args = [1, 2], consts = [8, 16, 32], sample_count = 10)]
fn operator_u8<const WIDTH: usize>(bencher: divan::Bencher<'_, '_>, threads: usize) {
    operator(bencher, &bytes(SAMPLES, FEATURES), threads, WIDTH, Precision::Working);
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn operator_u8_in_f64(bencher: divan::Bencher<'_, '_>, threads: usize) {
    operator(bencher, &bytes(SAMPLES, FEATURES), threads, 8, Precision::Double);
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn operator_f32(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data: Vec<f32> = bytes(SAMPLES, FEATURES).into_iter().map(f32::from).collect();
    operator(bencher, &data, threads, 16, Precision::Working);
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn operator_f64(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data: Vec<f64> = bytes(SAMPLES, FEATURES).into_iter().map(f64::from).collect();
    operator(bencher, &data, threads, 16, Precision::Working);
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn projection_u8(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data = bytes(SAMPLES, FEATURES);
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![60.0; FEATURES];
    let rows = WeightedRows::new(&center, Weighting::InverseNorm, None);
    let projection =
        Projection::new(rows, &vectors(16), ProjectionUnits::Original, Precision::Working, ElementType::U8);
    bencher
        .counter(ItemsCount::new(2 * SAMPLES * FEATURES * 16))
        .bench_local(|| runner.run(&projection, &source).unwrap());
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn gram_u8(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data = bytes(SAMPLES, FEATURES);
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![128.0; FEATURES];
    let gram = Gram::new(WeightedRows::new(&center, Weighting::Uniform, None), SAMPLES);
    // Entries below the diagonal are copied, so a symmetric product takes n^2 D operations.
    let tile = 192;
    bencher
        .counter(ItemsCount::new(SAMPLES * SAMPLES * FEATURES))
        .bench_local(|| runner.run_pairs(&gram, &source, tile).unwrap());
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn cone_counts(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let (samples, features, tile) = (8192, 256, 512);
    let data: Vec<f32> = bytes(samples, features).into_iter().map(f32::from).collect();
    let source = SliceSource::new(&data, samples, features).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![60.0; features];
    let rows = WeightedRows::new(&center, Weighting::InverseNorm, None);
    bencher.counter(ItemsCount::new(samples * (samples + tile) * features)).bench_local(|| {
        runner
            .run_pairs(&ConeCounts::new(ConePredicate::new(rows.clone(), Cosine::Abs, 0.5), samples), &source, tile)
            .unwrap()
    });
}

#[divan::bench(args = [1, 2], sample_count = 10)]
fn scatter_f64(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let (samples, features) = (20_000, 256);
    let data: Vec<f64> = bytes(samples, features).into_iter().map(f64::from).collect();
    let source = SliceSource::new(&data, samples, features).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![60.0; features];
    let scatter = Scatter::new(WeightedRows::new(&center, Weighting::InverseNorm, None));
    bencher
        .counter(ItemsCount::new(samples * features * features))
        .bench_local(|| runner.run(&scatter, &source).unwrap());
}

/// Items are bytes here.
#[divan::bench(args = [1, 2], sample_count = 10)]
fn mean_u8(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data = bytes(SAMPLES * 4, FEATURES);
    let source = SliceSource::new(&data, SAMPLES * 4, FEATURES).unwrap();
    let runner = Local::new(threads).unwrap();
    let means = ColumnMeans::new(FEATURES, None);
    bencher.counter(ItemsCount::new(data.len())).bench_local(|| runner.run(&means, &source).unwrap());
}

/// Items are bytes here.
#[divan::bench(args = [1, 2], sample_count = 10)]
fn spatial_median_step_u8(bencher: divan::Bencher<'_, '_>, threads: usize) {
    let data = bytes(SAMPLES, FEATURES);
    let source = SliceSource::new(&data, SAMPLES, FEATURES).unwrap();
    let runner = Local::new(threads).unwrap();
    let center = vec![60.0; FEATURES];
    bencher
        .counter(ItemsCount::new(data.len()))
        .bench_local(|| runner.run(&SpatialGradient::new(&center, None, 0.0), &source).unwrap());
}
