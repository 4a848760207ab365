//! Partial results: the first byte of an input is the fold, the others are the partial result of the first rows. Accepted
//! ones are merged with a valid one of the other rows and finished.

use steradian::engine::Fold;
use steradian::remote::{Job, PartialResult};
use steradian::{Local, Result};

use super::folds::{FEATURES, FIRST, FOLDS, FoldVisitor, ROWS, cells, source, with_fold};
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

/// The partial results of the first rows, and of all rows on the grid of all rows.
struct PartialBytes;

impl FoldVisitor for PartialBytes {
    type Out = Result<(&'static str, Vec<u8>, Vec<u8>)>;

    fn visit<F: Fold>(self, fold: &F) -> Self::Out {
        let (job, runner, cells) = (Job::new(fold)?, Local::new(1)?, cells());
        let first = job.sum(&source(&cells[..FIRST * FEATURES]), 0, &runner)?;
        let leaves = job.sum_leaves(&source(&cells), 0, ROWS, &runner)?;
        Ok((F::NAME, first.to_bytes()?, leaves.to_bytes()?))
    }
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for index in 0..FOLDS {
        let (name, first, leaves) = with_fold(index, PartialBytes).expect("the folds fit the rows");
        let name = name.replace(' ', "-");
        seeds.push((format!("{index:02}-{name}.partial"), [vec![index as u8], first].concat()));
        seeds.push((format!("{index:02}-{name}-leaves.partial"), [vec![index as u8], leaves].concat()));
    }
    seeds
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    // The index of the fold and the digest of the job stay, or else the rest is not read.
    let digest = input.iter().skip(1).position(|byte| *byte < 0x80).map_or(0, |last| last + 2);
    let from = if dice.below(8) == 0 { 0 } else { digest };
    match dice.below(3) {
        0 if input.len() > from => {
            let at = from + dice.below(input.len() - from);
            mutate::replace_varint(&mut input, at, dice.pick(&mutate::NUMBERS));
        }
        1 if input.len() > from => {
            let at = from + dice.below(input.len() - from);
            mutate::overwrite(&mut input, at, &dice.pick(&mutate::FLOATS).to_le_bytes());
        }
        _ => mutate::bytes(dice, &mut input, from),
    }
    input
}

struct Use<'a>(&'a Workplace, &'a [u8]);

impl FoldVisitor for Use<'_> {
    type Out = Result<()>;

    fn visit<F: Fold>(self, fold: &F) -> Result<()> {
        let Self(place, bytes) = self;
        let partial = PartialResult::from_bytes(bytes)?;
        let (job, cells) = (Job::new(fold)?, cells());
        let size = partial.to_bytes()?.len();
        assert!(size <= bytes.len() + 40, "{size} bytes of {}", bytes.len());
        if partial.rows() == (0..ROWS) {
            return job.finish(fold, &partial, ROWS).map(drop);
        }
        let later = job.sum(&source(&cells[FIRST * FEATURES..]), FIRST, place.runner())?;
        let total = job.merge(&partial, &later)?;
        let again = PartialResult::from_bytes(&total.to_bytes()?)?;
        job.finish(fold, &again, ROWS).map(drop)
    }
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    let Some((index, bytes)) = input.split_first() else { return TargetVerdict::Rejected };
    TargetVerdict::of(with_fold(usize::from(*index), Use(place, bytes)))
}
