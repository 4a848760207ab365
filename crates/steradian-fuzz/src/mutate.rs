//! Mutations of bytes that know no format: bits, numbers, varints, pieces.

use crate::dice::Dice;

/// Numbers at the edges of integer types and of limits.
pub const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    7,
    8,
    127,
    128,
    255,
    256,
    257,
    65_535,
    65_536,
    1 << 20,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 37,
    1 << 40,
    (1 << 53) + 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX,
];

/// Floating-point numbers at the edges of their range.
pub const FLOATS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e-160,
    1e154,
    1e300,
    0.5,
    1e-8,
];

/// One to four mutations at random places from `from` on.
pub fn bytes(dice: &mut Dice, input: &mut Vec<u8>, from: usize) {
    for _ in 0..1 + dice.below(4) {
        one(dice, input, from);
    }
}

fn one(dice: &mut Dice, input: &mut Vec<u8>, from: usize) {
    if input.len() <= from {
        input.push(dice.roll() as u8);
        return;
    }
    let at = from + dice.below(input.len() - from);
    let number = dice.pick(&NUMBERS);
    match dice.below(13) {
        0 => input[at] ^= 1 << dice.below(8),
        1 => input[at] = dice.roll() as u8,
        2 => input[at] = dice.pick(&[0, 1, 2, 4, 16, 0x7f, 0x80, 0xff]),
        3 => input[at] = input[at].wrapping_add(dice.pick(&[1, 2, 0xff, 0xfe])),
        4 => input.truncate(at),
        5 => {
            let end = (at + 1 + dice.below(16)).min(input.len());
            input.drain(at..end);
        }
        6 => {
            let end = (at + 1 + dice.below(64)).min(input.len());
            let piece = input[at..end].to_vec();
            let place = from + dice.below(input.len() - from);
            input.splice(place..place, piece);
        }
        7 => overwrite(input, at, &(number as u32).to_le_bytes()),
        8 => overwrite(input, at, &(number as u32).to_be_bytes()),
        9 => overwrite(input, at, &number.to_le_bytes()),
        10 => overwrite(input, at, &dice.pick(&FLOATS).to_le_bytes()),
        11 => replace_varint(input, at, number),
        _ => overwrite(input, at, &(number as u16).to_le_bytes()),
    }
}

/// Writes some bytes over those at a place, as far as the input reaches.
pub fn overwrite(input: &mut [u8], at: usize, with: &[u8]) {
    let end = (at + with.len()).min(input.len());
    input[at..end].copy_from_slice(&with[..end - at]);
}

/// Replaces the variable-length integer at a place, as postcard and thrift write it.
pub fn replace_varint(input: &mut Vec<u8>, at: usize, number: u64) {
    let length = input[at..].iter().take(10).position(|byte| *byte < 0x80).map_or(1, |last| last + 1);
    input.splice(at..at + length, varint(number));
}

/// A variable-length integer.
pub fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// One of some inputs; sometimes the start of one with the end of another.
pub fn start_from(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = inputs[dice.below(inputs.len())].clone();
    if dice.below(32) == 0 {
        let other = &inputs[dice.below(inputs.len())];
        input.truncate(dice.below(input.len() + 1));
        input.extend_from_slice(&other[dice.below(other.len() + 1)..]);
    }
    input
}
