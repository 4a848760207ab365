//! Two machines, a file each, and no cluster: an angular embedding by two passes whose sums travel as files.
//!
//! `cargo run -p steradian --example merge_by_hand` makes both files in a temporary folder and plays both machines.
//! What they hand to each other are the files `*.job` and `*.sum` of that folder; rows stay where they are.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use steradian::folds::{ColumnMeans, Scatter, WeightedRows};
use steradian::{
    AngularEmbedding, ElementType, Fold, Job, Local, Method, PartialResult, Runner, SliceSource, Solver, Weighting,
    top_eigenpairs,
};
use steradian_io::{NpyWriter, TableOptions, open};

type Outcome<T> = Result<T, Box<dyn Error>>;

const FEATURES: usize = 6;
const SAMPLES: usize = 1800;
/// Where the data are cut: a multiple of 256, so that sums of both parts lie on the grid of the whole.
const CUT: usize = 1024;

/// One of the machines: its own rows, and which of the whole they are.
struct Machine {
    name: &'static str,
    file: PathBuf,
    first_row: usize,
}

impl Machine {
    /// What runs there: opens the pass that was sent, sums its own rows, sends the sum.
    fn sum(&self, pass: &str, sent: &Path) -> Outcome<()> {
        let job = Job::from_bytes(&fs::read(sent.join(format!("{pass}.job")))?)?;
        let rows = open(&self.file, &TableOptions::default())?;
        let sum = job.sum_leaves(&rows, self.first_row, SAMPLES, &Local::new(0)?)?;
        fs::write(sent.join(format!("{pass}-{}.sum", self.name)), sum.to_bytes()?)?;
        Ok(())
    }
}

/// What runs on the machine that leads: sends the pass, merges the sums in the order of the data, finishes.
fn pass<F: Fold>(fold: &F, machines: &[Machine; 2], sent: &Path) -> Outcome<F::Out> {
    let job = Job::new(fold)?;
    fs::write(sent.join(format!("{}.job", F::NAME)), job.to_bytes()?)?;
    for machine in machines {
        machine.sum(F::NAME, sent)?; // each on its own, at the same time
    }
    let sum = |machine: &Machine| -> Outcome<PartialResult> {
        Ok(PartialResult::from_bytes(&fs::read(sent.join(format!("{}-{}.sum", F::NAME, machine.name)))?)?)
    };
    let total = job.merge(&sum(&machines[0])?, &sum(&machines[1])?)?;
    Ok(job.finish(fold, &total, SAMPLES)?)
}

fn embed(folder: &Path) -> Outcome<()> {
    // A plane, a little noise, and an offset.
    let sample = |i: usize| {
        let t = i as f64;
        let (a, b) = ((0.7 * t).sin(), (1.3 * t).cos());
        (0..FEATURES).map(move |j| 5.0 + a * (j as f64) + b * (1.0 - j as f64) + 0.01 * (t * (j + 2) as f64).sin())
    };
    let table: Vec<f64> = (0..SAMPLES).flat_map(sample).collect();
    let save = |name: &'static str, rows: std::ops::Range<usize>| -> Outcome<Machine> {
        let file = folder.join(format!("{name}.npy"));
        let mut writer = NpyWriter::create(&file, ElementType::F64, &[rows.len(), FEATURES])?;
        writer.write(&table[rows.start * FEATURES..rows.end * FEATURES])?;
        writer.finish()?;
        Ok(Machine { name, file, first_row: rows.start })
    };
    let machines = [save("first", 0..CUT)?, save("second", CUT..SAMPLES)?];

    // The first pass finds the center, the second the matrix of directions seen from there.
    let center = pass(&ColumnMeans::new(FEATURES, None), &machines, folder)?;
    let directions = WeightedRows::new(&center, Weighting::InverseNorm, None);
    let (matrix, mass) = pass(&Scatter::new(directions.clone()), &machines, folder)?;
    let (values, vectors) = top_eigenpairs(&matrix, 2, 1e-9, 0, &Local::new(0)?)?;
    println!("angular shares {:.4} and {:.4}", values[0] / mass, values[1] / mass);

    // One machine with all rows finds the same center and the same matrix, to the last bit.
    let whole = SliceSource::new(&table, SAMPLES, FEATURES)?;
    let runner = Local::new(0)?;
    assert_eq!(runner.run(&ColumnMeans::new(FEATURES, None), &whole)?, center);
    assert_eq!(runner.run(&Scatter::new(directions), &whole)?, (matrix, mass));
    let model = AngularEmbedding::preset(Method::Ae, 2).solver(Solver::Scatter).fit(&whole)?;
    assert_eq!(model.center, center);
    for (i, share) in model.angular_eigenvalues.iter().flatten().enumerate() {
        let cosine: f64 = (0..FEATURES).map(|j| model.components[(i, j)] * vectors[(j, i)]).sum();
        assert!((cosine.abs() - 1.0).abs() < 1e-12 && (share - values[i] / mass).abs() < 1e-12);
    }
    println!("one machine with all {SAMPLES} rows finds the same");
    Ok(())
}

fn main() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("steradian-by-hand-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = embed(&folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

#[test]
fn two_machines_find_what_one_does() -> Outcome<()> {
    main()
}
