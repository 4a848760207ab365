//! Combining partial results manually: an angular embedding in two passes on two machines with one file each.
//!
//! `cargo run -p steradian --example merge_by_hand` creates both files in a temporary folder and runs both machines.
//! They exchange the files `*.job` and `*.partial` of that folder only, no rows.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use steradian::config::Weighting;
use steradian::data::ElementType;
use steradian::engine::{Fold, Runner};
use steradian::folds::{ColumnMeans, Scatter, WeightedRows};
use steradian::remote::{Job, PartialResult};
use steradian::solver::top_eigenpairs;
use steradian::{AngularEmbedding, Local, Method, SliceSource, Solver};
use steradian_io::{NpyWriter, TableOptions, open};

type ExampleResult<T> = Result<T, Box<dyn Error>>;

const FEATURES: usize = 6;
const SAMPLES: usize = 1800;
/// First row of the second part: a multiple of 256, so that both parts are aligned to the grid of all data.
const CUT: usize = 1024;

/// One of the machines, with a file of its rows and the sample index of the first one.
struct Machine {
    name: &'static str,
    file: PathBuf,
    first_row: usize,
}

impl Machine {
    /// Runs on each machine: reads the job, reduces its own rows, writes the partial result.
    fn run(&self, pass: &str, shared: &Path) -> ExampleResult<()> {
        let job = Job::from_bytes(&fs::read(shared.join(format!("{pass}.job")))?)?;
        let rows = open(&self.file, &TableOptions::default())?;
        let partial = job.sum_leaves(&rows, self.first_row, SAMPLES, &Local::new(0)?)?;
        fs::write(shared.join(format!("{pass}-{}.partial", self.name)), partial.to_bytes()?)?;
        Ok(())
    }
}

/// Runs on the driver: writes the job, merges the partial results in data order, finishes.
fn pass<F: Fold>(fold: &F, machines: &[Machine; 2], shared: &Path) -> ExampleResult<F::Out> {
    let job = Job::new(fold)?;
    fs::write(shared.join(format!("{}.job", F::NAME)), job.to_bytes()?)?;
    for machine in machines {
        machine.run(F::NAME, shared)?; // in practice at the same time
    }
    let partial = |machine: &Machine| -> ExampleResult<PartialResult> {
        let file = shared.join(format!("{}-{}.partial", F::NAME, machine.name));
        Ok(PartialResult::from_bytes(&fs::read(file)?)?)
    };
    let total = job.merge(&partial(&machines[0])?, &partial(&machines[1])?)?;
    Ok(job.finish(fold, &total, SAMPLES)?)
}

fn embed(folder: &Path) -> ExampleResult<()> {
    // Samples close to a plane, with an offset.
    let sample = |i: usize| {
        let t = i as f64;
        let (a, b) = ((0.7 * t).sin(), (1.3 * t).cos());
        (0..FEATURES).map(move |j| 5.0 + a * (j as f64) + b * (1.0 - j as f64) + 0.01 * (t * (j + 2) as f64).sin())
    };
    let table: Vec<f64> = (0..SAMPLES).flat_map(sample).collect();
    let save = |name: &'static str, rows: std::ops::Range<usize>| -> ExampleResult<Machine> {
        let file = folder.join(format!("{name}.npy"));
        let mut writer = NpyWriter::create(&file, ElementType::F64, &[rows.len(), FEATURES])?;
        writer.write(&table[rows.start * FEATURES..rows.end * FEATURES])?;
        writer.finish()?;
        Ok(Machine { name, file, first_row: rows.start })
    };
    let machines = [save("first", 0..CUT)?, save("second", CUT..SAMPLES)?];

    // The first pass computes the center, the second the scatter matrix of the directions about it.
    let center = pass(&ColumnMeans::new(FEATURES, None), &machines, folder)?;
    let rows = WeightedRows::new(&center, Weighting::InverseNorm, None);
    let (matrix, total_weight) = pass(&Scatter::new(rows.clone()), &machines, folder)?;
    let (values, vectors) = top_eigenpairs(&matrix, 2, 1e-9, 0, &Local::new(0)?)?;
    println!("angular eigenvalues {:.4} and {:.4}", values[0] / total_weight, values[1] / total_weight);

    // One machine with all rows computes a bitwise identical center and matrix.
    let whole = SliceSource::new(&table, SAMPLES, FEATURES)?;
    let runner = Local::new(0)?;
    assert_eq!(runner.run(&ColumnMeans::new(FEATURES, None), &whole)?, center);
    assert_eq!(runner.run(&Scatter::new(rows), &whole)?, (matrix, total_weight));
    let model = AngularEmbedding::preset(Method::Ae, 2).solver(Solver::Scatter).fit(&whole)?;
    assert_eq!(model.subspace.center, center);
    for (i, eigenvalue) in model.subspace.angular_eigenvalues.iter().flatten().enumerate() {
        let cosine: f64 = (0..FEATURES).map(|j| model.subspace.components[(i, j)] * vectors[(j, i)]).sum();
        assert!((cosine.abs() - 1.0).abs() < 1e-12 && (eigenvalue - values[i] / total_weight).abs() < 1e-12);
    }
    println!("one machine with all {SAMPLES} rows computes identical results");
    Ok(())
}

fn main() -> ExampleResult<()> {
    let folder = std::env::temp_dir().join(format!("steradian-by-hand-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = embed(&folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

#[test]
fn two_machines_compute_the_result_of_one() -> ExampleResult<()> {
    main()
}
