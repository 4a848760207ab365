//! Text tables.

use steradian_io::CsvSource;

use super::rows::{read_all, with_options};
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let texts = [
        ("header.csv", "a,b,c\n1,2,3\n4,5.5,-6e-3\n7,8,9\n"),
        ("bare.csv", "1,2,3\n4,5,6\n7,8,9\n10,11,12\n"),
        ("names.csv", "name,x,y\nfirst,1,2\n\"second, quoted\",3,4\n"),
        ("semicolon.csv", "x;y\n1.5;2\n3;4\n"),
        ("tab.tsv", "x\ty\r\n1\t2\r\n3\t4\r\n"),
        ("missing.csv", "x,y\n1,NA\n,4\n5,6\n"),
        ("quotes.csv", "\"a\",\"b \"\"c\"\"\"\n\"1\",\"2\"\n3,4\n"),
        ("bom.csv", "\u{feff}x,y\n1,2\n3,4\n"),
        ("one.csv", "x\n1\n2\n3\n"),
        ("blank.csv", "x,y\n\n1,2\n\n3,4\n\n"),
    ];
    texts.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

const CELLS: [&str; 24] = [
    "",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e-999",
    "1e",
    "0x10",
    "1_000",
    "١",
    "\"",
    "\"\"",
    "\"\n\"",
    ",",
    "\t",
    ";",
    "\r",
    "\0",
    "\u{feff}",
    "9999999999999999999999999999",
    "1,5",
    "true",
    "\u{1b}[31m",
];

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    for _ in 0..1 + dice.below(3) {
        let edges: Vec<usize> =
            (0..input.len()).filter(|&i| matches!(input[i], b',' | b'\n' | b';' | b'\t' | b'\r')).collect();
        match dice.below(6) {
            0 if !edges.is_empty() => {
                // A cell is replaced.
                let first = dice.below(edges.len());
                let (start, end) = (edges[first] + 1, edges.get(first + 1).copied().unwrap_or(input.len()));
                input.splice(start..end.max(start), dice.pick(&CELLS).bytes());
            }
            1 if !edges.is_empty() => {
                let at = dice.pick(&edges);
                input[at] = dice.pick(b",\n;\t\r\"");
            }
            2 => {
                // Many copies of a piece: wide rows, many rows.
                let start = dice.below(input.len() + 1);
                let end = (start + dice.below(40)).min(input.len());
                let piece = input[start..end].repeat(1 + dice.below(200));
                input.splice(start..start, piece);
            }
            3 => {
                let at = dice.below(input.len() + 1);
                input.splice(at..at, dice.pick(&CELLS).bytes());
            }
            _ => mutate::bytes(dice, &mut input, 0),
        }
        input.truncate(1 << 16);
    }
    input
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    let path = place.file("input.csv", input);
    with_options(|options| CsvSource::open(&path, options).and_then(|source| read_all(&source)))
}
