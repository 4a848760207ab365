//! The commands of docs/larger-than-memory.md, run as written.

use crate::lab::{Lab, samples_npy};

#[test]
fn the_page_on_data_larger_than_memory_runs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/larger-than-memory.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let commands: Vec<&str> = blocks.flat_map(str::lines).collect();
    let lab = Lab::new();
    lab.write("large.npy", samples_npy("|u1", 3_000, 2_000));
    for command in &commands {
        lab.ok(command.strip_prefix("steradian ").unwrap());
    }
    assert_eq!(commands.len(), 4);
    assert_eq!(lab.listing(), ["flags.csv", "large.npy", "model.safetensors", "scores.npy"]);
}
