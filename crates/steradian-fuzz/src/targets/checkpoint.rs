//! Checkpoints: four bytes with the length of the journal, the journal, and the snapshot of the pass in progress. A fit
//! resumes from them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use steradian::engine::{Journal, Payload};
use steradian::fit::FitIdentity;
use steradian::{Config, Error, Local, Method, Plan, Result, SliceSource, Solver};
use steradian_io::Checkpoint;

use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

/// Samples of each fit: two leaves, and few enough for a small Gram matrix.
const SAMPLES: [usize; 2] = [300, 12];
const FEATURES: usize = 2;
/// Bytes before the first record of the journal and of the snapshot.
const MAGICS: [usize; 2] = [b"steradian checkpoint 1\n".len(), b"steradian pass 1\n".len()];
const NAME: &str = "input.checkpoint";

fn config(index: u8) -> Config {
    match index % 2 {
        0 => Config::new(Method::Ae, 1).with_solver(Solver::Krylov),
        _ => Config::new(Method::Tae, 1).with_solver(Solver::Gram),
    }
}

fn cells(index: u8) -> Vec<f64> {
    let cells = SAMPLES[usize::from(index % 2)] * FEATURES;
    (0..cells).map(|i| (i % 13) as f64 * 0.5 + ((i * i) % 101) as f64 / 7.0).collect()
}

fn source(cells: &[f64]) -> SliceSource<'_, f64> {
    SliceSource::new(cells, cells.len() / FEATURES, FEATURES).expect("rows of the right width")
}

fn identity(index: u8) -> &'static FitIdentity {
    static IDENTITIES: OnceLock<[FitIdentity; 2]> = OnceLock::new();
    let found = IDENTITIES.get_or_init(|| {
        [0, 1].map(|index| {
            let data = cells(index);
            let plan = Plan::for_source(&config(index), &source(&data), 1).expect("a small fit");
            FitIdentity::new(&plan, &source(&data), None).expect("rows in memory")
        })
    });
    &found[usize::from(index % 2)]
}

/// A journal that cancels the fit at the first snapshot after this number of passes.
struct Canceling(Checkpoint, usize);

impl Journal for Canceling {
    fn total(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.total(pass)
    }

    fn part(&self, pass: usize) -> Result<Option<Vec<u8>>> {
        self.0.part(pass)
    }

    fn record_total(&self, pass: usize, content: &Payload<'_>) -> Result<()> {
        self.0.record_total(pass, content)
    }

    fn record_snapshot(&self, pass: usize, content: &Payload<'_>) -> Result<()> {
        self.0.record_snapshot(pass, content)?;
        if self.0.passes() == self.1 { Err(Error::Cancelled) } else { Ok(()) }
    }

    fn every(&self) -> Duration {
        Duration::ZERO
    }
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for index in 0..2 {
        for passes in 0..3 {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join(NAME);
            let opened = Checkpoint::open(&path, identity(index), Duration::ZERO, |_| ());
            let journal = Canceling(opened.expect("a new checkpoint"), passes);
            let data = cells(index);
            let runner = Local::new(1).expect("one thread").with_journal(Arc::new(journal));
            let _ = steradian::fit(&config(index), &source(&data), &runner);
            let journal = std::fs::read(&path).unwrap_or_default();
            let snapshot = std::fs::read(folder.path().join(format!("{NAME}.pass"))).unwrap_or_default();
            seeds.push((format!("{index}-{passes}.checkpoint"), joined(index, &journal, &snapshot)));
        }
    }
    seeds
}

fn joined(index: u8, journal: &[u8], snapshot: &[u8]) -> Vec<u8> {
    [&[index], &(journal.len() as u32).to_le_bytes()[..], journal, snapshot].concat()
}

fn split(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (index, rest) = input.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (journal, snapshot) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((*index, journal, snapshot))
}

/// The contents of the records of a file.
fn records(file: &[u8], magic: usize) -> Vec<Vec<u8>> {
    let (mut records, mut at) = (Vec::new(), magic);
    while let Some(head) = file.get(at..at + 12) {
        let length = u64::from_le_bytes(head[..8].try_into().expect("eight bytes")) as usize;
        let Some(content) = file.get(at + 12..(at + 12).saturating_add(length)) else { break };
        records.push(content.to_vec());
        at += 12 + length;
    }
    records
}

/// A file of records with their lengths and checksums.
fn file(magic: &[u8], records: &[Vec<u8>]) -> Vec<u8> {
    let record = |content: &Vec<u8>| {
        let head = [&(content.len() as u64).to_le_bytes()[..], &crc32fast::hash(content).to_le_bytes()].concat();
        [head, content.clone()].concat()
    };
    [magic.to_vec(), records.iter().flat_map(record).collect()].concat()
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    let Some((index, journal, snapshot)) = split(&input).filter(|_| dice.below(4) > 0) else {
        mutate::bytes(dice, &mut input, 1);
        return input;
    };
    let mut files = [journal.to_vec(), snapshot.to_vec()];
    let chosen = usize::from(dice.below(2) == 0 && !snapshot.is_empty());
    let magic = files[chosen].get(..MAGICS[chosen]).unwrap_or_default().to_vec();
    let mut parts = records(&files[chosen], magic.len());
    if parts.len() > 1 {
        // The first record is the identity of the fit: with another one the rest is not read.
        let place = 1 + dice.below(parts.len() - 1);
        match dice.below(10) {
            0 => drop(parts.remove(place)),
            1 => {
                let copy = parts[place].clone();
                parts.push(copy);
            }
            _ => {
                // The content starts with the identity of the pass, too.
                let from = parts[place].len() * usize::from(dice.below(4) > 0) / 4;
                mutate::bytes(dice, &mut parts[place], from);
            }
        }
    }
    files[chosen] = file(&magic, &parts);
    joined(index, &files[0], &files[1])
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    let Some((index, journal, snapshot)) = split(input) else { return TargetVerdict::Rejected };
    let path = place.file(NAME, journal);
    if !snapshot.is_empty() {
        place.file(&format!("{NAME}.pass"), snapshot);
    }
    let resume = || {
        let checkpoint = Arc::new(Checkpoint::open(&path, identity(index), Duration::from_secs(3600), |_| ())?);
        let data = cells(index);
        let runner = Local::new(1)?.with_journal(Arc::clone(&checkpoint) as _);
        steradian::fit(&config(index), &source(&data), &runner)?;
        checkpoint.remove()
    };
    TargetVerdict::of(resume())
}
