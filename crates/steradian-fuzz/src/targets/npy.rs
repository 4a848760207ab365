//! Arrays: the header of a `.npy` file, and the rows that it declares.

use steradian_io::{NpySource, StreamedNpySource, read_vector};

use super::rows::read_all;
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

/// A file of version 1 with this dictionary, whose length is right.
fn file(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut text = dictionary.as_bytes().to_vec();
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(b' ');
    }
    text.push(b'\n');
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], &text, data].concat()
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (descr, size) in [("|u1", 1), ("<u2", 2), (">u2", 2), ("<f4", 4), (">f8", 8), ("<f8", 8)] {
        for (name, order, shape) in [("c", "False", "(4, 3)"), ("f", "True", "(4, 3)"), ("i", "False", "(3, 2, 2)")] {
            let data: Vec<u8> = (0..12 * size).map(|i| (i * 37 % 61) as u8).collect();
            let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
            let kind = descr.replace('<', "little-").replace('>', "big-").replace('|', "");
            seeds.push((format!("{kind}-{name}.npy"), file(&text, &data)));
        }
    }
    seeds
}

/// Parts of a dictionary, at the edges of what numpy writes.
const PIECES: [&str; 22] = [
    "18446744073709551615",
    "99999999999999999999999999",
    "4294967296",
    "(1099511627776, 1099511627776)",
    "(0, 9223372036854775807)",
    "(9223372036854775807, 0)",
    "()",
    "(0,)",
    "-1",
    "((((((((((((((((",
    "[('a', '<f8')]",
    "'|O'",
    "'<f16'",
    "'>u8'",
    "'<c16'",
    "True",
    "None",
    "'shape': (1,), ",
    "}",
    "'",
    "\\u0000",
    "1L",
];

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    let length = input.get(8..10).map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])));
    if dice.below(3) == 0 || input.len() < 10 + length {
        mutate::bytes(dice, &mut input, 0);
        return input;
    }
    let mut text = input[10..10 + length].to_vec();
    for _ in 0..1 + dice.below(3) {
        let at = dice.below(text.len().min(90) + 1).min(text.len());
        match dice.below(4) {
            0 => {
                let end = (at + dice.below(4)).min(text.len());
                text.splice(at..end, dice.pick(&PIECES).bytes());
            }
            1 => {
                let digits: Vec<usize> = (0..text.len()).filter(|&i| text[i].is_ascii_digit()).collect();
                if !digits.is_empty() {
                    let place = dice.pick(&digits);
                    let number = dice.pick(&mutate::NUMBERS).to_string();
                    text.splice(place..=place, number.bytes());
                }
            }
            2 => text.drain(at..(at + dice.below(8)).min(text.len())).for_each(drop),
            _ => text.insert(at, dice.roll() as u8),
        }
    }
    let data = input.split_off(10 + length);
    input.truncate(8);
    if dice.below(4) == 0 {
        input[6] = 2 + dice.below(2) as u8;
        input.extend((text.len() as u32).to_le_bytes());
    } else {
        input.extend((text.len() as u16).to_le_bytes());
    }
    input.extend(text);
    input.extend(data);
    input
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    let path = place.file("input.npy", input);
    let mapped = NpySource::open(&path).and_then(|source| read_all(&source));
    let vector = read_vector(&path);
    if let Ok(sum) = &mapped {
        // Streams of arrays in Fortran order are not supported, and say so.
        if let Ok(streamed) = StreamedNpySource::open(&path).and_then(|source| read_all(&source)) {
            assert!(sum.to_bits() == streamed.to_bits() || sum.is_nan(), "{sum} mapped, {streamed} streamed");
        }
    }
    TargetVerdict::of(mapped.map(drop).or(vector.map(drop)))
}
