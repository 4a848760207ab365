//! Commands of the documentation, run as they stand on the pages.

use crate::lab::{Lab, samples_npy, stderr};

/// A file of the repository.
fn page(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The lines of all `sh` blocks of a page, without comments.
fn shell_lines(page: &str) -> Vec<&str> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| line.split(" # ").next().unwrap().trim()).collect()
}

/// The commands of the program on a page, without the name of the program.
fn commands(page: &str) -> Vec<&str> {
    shell_lines(page).into_iter().filter_map(|line| line.strip_prefix("steradian ")).collect()
}

#[test]
fn the_page_on_data_larger_than_memory_runs() {
    let page = page("docs/larger-than-memory.md");
    let lab = Lab::new();
    lab.write("large.npy", samples_npy("|u1", 3_000, 2_000));
    assert_eq!(commands(&page).len(), 4);
    assert_eq!(commands(&page).len(), shell_lines(&page).len());
    for command in commands(&page) {
        lab.ok(command);
    }
    assert_eq!(lab.listing(), ["flags.csv", "large.npy", "model.safetensors", "scores.npy"]);
}

#[test]
fn the_quick_start_of_the_readme_runs() {
    let page = page("README.md");
    let lab = Lab::new();
    assert_eq!(commands(&page).len(), 6);
    for command in commands(&page) {
        lab.ok(command);
    }
    let written = ["flags.csv", "map.png", "model.safetensors", "out", "scores.npy", "steradian-demo"];
    assert_eq!(lab.listing(), written);
    assert!(lab.path("out/report.html").exists());
    assert!(lab.path("steradian-demo/background/report.html").exists());
}

#[test]
fn make_targets_of_the_readme_exist() {
    let (page, makefile) = (page("README.md"), page("Makefile"));
    let lines = shell_lines(&page);
    let targets: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("make ")?.split_whitespace().next()).collect();
    assert!(targets.contains(&"demo") && targets.contains(&"test"), "{targets:?}");
    for target in targets {
        assert!(makefile.contains(&format!("\n{target}:")), "make {target}");
    }
}

/// Their files do not exist here, so a command with valid options fails with exit code 4, one with a wrong option with 2.
#[test]
fn commands_of_other_pages_have_valid_options() {
    for name in ["docs/guide.md", "docs/video-to-masks.md"] {
        let page = page(name);
        assert!(!commands(&page).is_empty(), "{name}");
        for command in commands(&page) {
            let output = Lab::new().run(command);
            assert_eq!(output.status.code(), Some(4), "{name}: {command}\n{}", stderr(&output));
        }
    }
}
