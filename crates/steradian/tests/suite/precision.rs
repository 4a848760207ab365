//! The element type does not change the result: the same data as u8, u16, f32 and f64 give equal flags and subspaces up
//! to the rounding of the data.

use crate::common::{TestRandom, fit, sine, solvers};
use steradian::model::CutoffKind;
use steradian::data::BlockElement;
use steradian::model::Flag;
use steradian::{Config, Method, Model, SliceSource};

const METHODS: [Method; 7] = Method::ALL;
/// Smallest fraction of rows whose flags agree.
const MIN_AGREEMENT: f64 = 0.99;

/// Synthetic samples near a subspace, and some outliers.
#[derive(Debug, Clone, Copy)]
struct SyntheticTable {
    samples: usize,
    features: usize,
    rank: usize,
    noise: f64,
    offset: f64,
    outliers: usize,
}

const BASE: SyntheticTable =
    SyntheticTable { samples: 300, features: 20, rank: 2, noise: 1e-3, offset: 0.0, outliers: 10 };

impl SyntheticTable {
    fn data(&self, seed: u64) -> Vec<f64> {
        let mut numbers = TestRandom::new(seed);
        let basis = numbers.rotation(self.features);
        let mut data = Vec::with_capacity(self.samples * self.features);
        for i in 0..self.samples {
            let scores: Vec<f64> = (0..self.rank).map(|k| numbers.normal() * 3.0 / (k + 1) as f64).collect();
            let mut row: Vec<f64> = (0..self.features).map(|_| self.offset + self.noise * numbers.normal()).collect();
            for (k, score) in scores.iter().enumerate() {
                row.iter_mut().zip(basis.row(k)).for_each(|(x, q)| *x += score * q);
            }
            if i < self.outliers {
                let outside = self.rank + i % (self.features - self.rank);
                row.iter_mut().zip(basis.row(outside)).for_each(|(x, q)| *x += 8.0 * q);
            }
            data.extend(row);
        }
        data
    }

    /// Upper bound on the sine by which rounding to f32 rotates the subspace: the norm of a row of rounding errors
    /// divided by the standard deviation of the weakest component.
    fn single_rounding(&self) -> f64 {
        let largest = self.offset + 10.0;
        largest * f64::from(f32::EPSILON) * (self.features as f64).sqrt() / (3.0 / self.rank as f64)
    }
}

/// A model and the flags of the data it was fitted to.
type Fitted = (Model, Vec<Flag>);

fn fitted<T: BlockElement>(data: &[T], table: &SyntheticTable, config: &Config) -> Fitted {
    let source = SliceSource::new(data, table.samples, table.features).unwrap();
    let model = fit(config, &source, 2).unwrap();
    let mut flags = Vec::new();
    let runner = steradian::Local::new(2).unwrap();
    runner
        .for_each_block("flags", &source, model.block_rows(), |block| {
            flags.extend(model.diagnose_block(block, CutoffKind::New)?.iter().map(|own| own.flag));
            Ok(())
        })
        .unwrap();
    (model, flags)
}

fn agreement(a: &[Flag], b: &[Flag]) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / a.len() as f64
}

/// Description of the differences between two fits of the same data; `None` if they agree.
fn differences(what: &str, (a, b): (&Fitted, &Fitted), turned: f64) -> Option<String> {
    let (agreeing, off) = (agreement(&a.1, &b.1), sine(&a.0.subspace.components, &b.0.subspace.components));
    let regular = |flags: &[Flag]| flags.iter().filter(|flag| **flag == Flag::Regular).count();
    (agreeing < MIN_AGREEMENT || off > turned).then(|| {
        format!(
            "{what}: {:.1} % of the flags agree ({} and {} regular), a sine of {off:.1e} where {turned:.1e} is allowed, \
             cutoffs {:?} and {:?}",
            100.0 * agreeing,
            regular(&a.1),
            regular(&b.1),
            a.0.diagnostics.cutoffs,
            b.0.diagnostics.cutoffs
        )
    })
}

#[test]
fn f32_data_have_the_flags_of_f64_data() {
    let data = BASE.data(1);
    let single: Vec<f32> = data.iter().map(|&x| x as f32).collect();
    let config = Config::new(Method::Robust, 2);
    let (double, single) = (fitted(&data, &BASE, &config), fitted(&single, &BASE, &config));
    let regular = double.1.iter().filter(|flag| **flag == Flag::Regular).count();
    assert!((250..=290).contains(&regular), "{regular} of 300 samples are regular in f64");
    assert_eq!(differences("robust", (&double, &single), 1e-6), None);
}

#[test]
fn f32_and_f64_agree_for_every_noise_offset_method_and_solver() {
    let tables = [
        BASE,
        SyntheticTable { noise: 1e-1, ..BASE },
        SyntheticTable { noise: 1e-2, offset: 1e4, ..BASE },
        SyntheticTable { noise: 1e-4, ..BASE },
        SyntheticTable { noise: 1e-4, offset: 100.0, ..BASE },
        SyntheticTable { noise: 1e-5, ..BASE },
        SyntheticTable { samples: 120, features: 400, rank: 3, noise: 1e-3, offset: 100.0, outliers: 10 },
        SyntheticTable { samples: 1200, features: 30, rank: 3, noise: 1e-4, offset: 1.0, outliers: 100 },
    ];
    let mut wrong = Vec::new();
    for (seed, table) in tables.iter().enumerate() {
        let data = table.data(seed as u64);
        let single: Vec<f32> = data.iter().map(|&x| x as f32).collect();
        for method in METHODS {
            for &solver in solvers(method) {
                let config = Config::new(method, table.rank).with_solver(solver);
                let (double, single) = (fitted(&data, table, &config), fitted(&single, table, &config));
                let turned = 2.0 * config.tolerance() + table.single_rounding();
                wrong.extend(differences(&format!("{table:?} {method:?} {solver:?}"), (&double, &single), turned));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Integers from 0 to 255 have the same value in every element type.
#[test]
fn integers_give_the_same_result_in_every_type() {
    let mut wrong = Vec::new();
    for (seed, (samples, features, noise)) in [(300, 20, 0.03), (150, 300, 0.1), (800, 40, 0.3)].into_iter().enumerate()
    {
        let table = SyntheticTable { samples, features, rank: 2, noise, offset: 0.0, outliers: samples / 20 };
        let integers: Vec<f64> =
            table.data(seed as u64).iter().map(|x| (128.0 + 12.0 * x).round().clamp(0.0, 255.0)).collect();
        let bytes: Vec<u8> = integers.iter().map(|&x| x as u8).collect();
        let words: Vec<u16> = integers.iter().map(|&x| x as u16).collect();
        let single: Vec<f32> = integers.iter().map(|&x| x as f32).collect();
        for method in METHODS {
            for &solver in solvers(method) {
                let config = Config::new(method, 2).with_solver(solver);
                let double = fitted(&integers, &table, &config);
                let others = [
                    fitted(&bytes, &table, &config),
                    fitted(&words, &table, &config),
                    fitted(&single, &table, &config),
                ];
                for (form, other) in ["u8", "u16", "f32"].iter().zip(&others) {
                    let what = format!("{table:?} {method:?} {solver:?} {form}");
                    wrong.extend(differences(&what, (&double, other), 1e-5));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
