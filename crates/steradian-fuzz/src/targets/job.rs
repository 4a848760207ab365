//! Jobs: an accepted one runs on the rows of two parts, and its partial results are merged.

use serde::Serialize;
use steradian::Result;
use steradian::engine::Fold;
use steradian::remote::{Job, PartialResult};

use super::folds::{FEATURES, FIRST, FOLDS, FoldVisitor, ROWS, cells, source, with_fold};
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

/// A row operation as jobs contain it.
#[derive(Serialize)]
enum ViewStep {
    Select(Vec<usize>),
    Map(Transform),
}

#[derive(Serialize)]
enum Transform {
    Scale(Vec<f64>),
    AbsDeviation(Vec<f64>),
    SignFlip(Vec<f64>, (usize, usize, Vec<f64>), u64, usize),
    PowerOfTwo(i32),
    Fill(Vec<f64>),
}

/// The version, the steps and the name of a job; the bytes of its fold follow.
fn head(steps: &[ViewStep], name: &str) -> Vec<u8> {
    // The packages of a workspace have one version.
    postcard::to_stdvec(&(env!("CARGO_PKG_VERSION"), steps, name)).expect("plain values")
}

/// The bytes of a fold and its name.
struct FoldBytes;

impl FoldVisitor for FoldBytes {
    type Out = (&'static str, Vec<u8>);

    fn visit<F: Fold>(self, fold: &F) -> Self::Out {
        (F::NAME, postcard::to_stdvec(fold).expect("a fold of plain values"))
    }
}

fn steps(dice: &mut Dice) -> Vec<ViewStep> {
    let length = |dice: &mut Dice| if dice.below(8) == 0 { dice.below(9) } else { FEATURES };
    let numbers = |dice: &mut Dice| -> Vec<f64> {
        (0..length(dice)).map(|_| if dice.below(12) == 0 { dice.pick(&mutate::FLOATS) } else { 1.5 }).collect()
    };
    let step = |dice: &mut Dice| match dice.below(7) {
        0 | 1 => ViewStep::Select((0..ROWS).filter(|_| dice.below(4) > 0).collect()),
        2 => ViewStep::Map(Transform::Scale(numbers(dice))),
        3 => ViewStep::Map(Transform::AbsDeviation(numbers(dice))),
        4 => ViewStep::Map(Transform::PowerOfTwo(dice.pick(&mutate::NUMBERS) as i32)),
        5 => ViewStep::Map(Transform::Fill(numbers(dice))),
        _ => {
            let (rows, columns) = (length(dice), dice.below(3));
            let entries = (0..rows * columns + usize::from(dice.below(9) == 0)).map(|i| i as f64).collect();
            let first = dice.pick(&mutate::NUMBERS) as usize;
            ViewStep::Map(Transform::SignFlip(numbers(dice), (rows, columns, entries), dice.roll(), first))
        }
    };
    let count = if dice.below(64) == 0 { dice.below(40) } else { dice.below(3) };
    (0..count).map(|_| step(dice)).collect()
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for index in 0..FOLDS {
        let (name, fold) = with_fold(index, FoldBytes);
        let steps = match index % 3 {
            1 => vec![ViewStep::Select((0..ROWS).collect())],
            2 => vec![ViewStep::Map(Transform::Scale(vec![2.0; FEATURES]))],
            _ => Vec::new(),
        };
        seeds.push((format!("{index:02}-{}.job", name.replace(' ', "-")), [head(&steps, name), fold.clone()].concat()));
        if name == "scores" {
            // Outlyingness: the fields of a projection, then locations and scales in place of the units.
            let spreads = postcard::to_stdvec(&(vec![(0.5, 1.0), (0.0, 2.0)], 1e-9)).expect("plain values");
            let bytes = [head(&steps, "outlyingness"), fold[..fold.len() - 1].to_vec(), spreads].concat();
            seeds.push(("outlyingness.job".to_owned(), bytes));
        }
    }
    seeds
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    // The version stays, or else nothing after it is read.
    let version = 1 + env!("CARGO_PKG_VERSION").len();
    match dice.below(4) {
        0 => {
            let mut input = mutate::start_from(dice, inputs);
            mutate::bytes(dice, &mut input, 0);
            input
        }
        1 => {
            let (name, mut fold) = with_fold(dice.below(FOLDS), FoldBytes);
            if dice.below(2) == 0 {
                mutate::bytes(dice, &mut fold, 0);
            }
            [head(&steps(dice), name), fold].concat()
        }
        2 => {
            let (name, mut fold) = with_fold(dice.below(FOLDS), FoldBytes);
            for _ in 0..1 + dice.below(2) {
                // A number of the fold: lengths, ranges and floating-point values.
                let at = dice.below(fold.len());
                match dice.below(3) {
                    0 => mutate::replace_varint(&mut fold, at, dice.pick(&mutate::NUMBERS)),
                    1 => mutate::overwrite(&mut fold, at, &dice.pick(&mutate::FLOATS).to_le_bytes()),
                    _ => fold[at] = dice.below(16) as u8,
                }
            }
            [head(&[], name), fold].concat()
        }
        _ => {
            let mut input = mutate::start_from(dice, inputs);
            mutate::bytes(dice, &mut input, version);
            input
        }
    }
}

fn use_job(place: &Workplace, input: &[u8]) -> Result<()> {
    let job = Job::from_bytes(input)?;
    assert!(!format!("{job:?}").is_empty());
    let again = Job::from_bytes(&job.to_bytes()?)?;
    let cells = cells();
    let (early, late) = cells.split_at(FIRST * FEATURES);
    let left = job.sum(&source(early), 0, place.runner())?;
    let right = again.sum(&source(late), FIRST, place.runner())?;
    let right = PartialResult::from_bytes(&right.to_bytes()?)?;
    // Its bytes may be written in another way, which makes it another job.
    if let Ok(total) = job.merge(&left, &right) {
        assert_eq!(total.rows(), 0..ROWS);
        assert!(!total.to_bytes()?.is_empty());
    }
    let _ = job.leaf_rows(ROWS, FEATURES);
    let _ = job.sum_leaves(&source(&cells), 0, ROWS, place.runner());
    Ok(())
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    TargetVerdict::of(use_job(place, input))
}
