//! Former spellings of options: accepted, and hidden in the help.

use crate::background;
use crate::lab::{Lab, samples_npy};

/// True if the help has the option as a word of its own.
fn has(help: &str, option: &str) -> bool {
    help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| word == option)
}

#[test]
fn former_options_of_fit_are_accepted_and_hidden() {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 90, 6));
    let help = ["-h", "--help"].map(|option| lab.ok(&format!("fit {option}")));
    for (options, former, current) in [
        ("", "--components 3", "--n-components 3"),
        ("--method tae ", "--angle 50", "--max-angle 50"),
        ("", "--directions 100", "--n-directions 100"),
        ("", "--scale mad", "--scaling mad"),
    ] {
        lab.ok(&format!("fit x.npy -o former {options}{former}"));
        lab.ok(&format!("fit x.npy -o current {options}{current}"));
        assert!(lab.read("former") == lab.read("current"), "{former}");
        let name = |text: &str| text.split(' ').next().unwrap().to_owned();
        for help in &help {
            assert!(has(help, &name(current)) && !has(help, &name(former)), "{former}");
        }
    }
}

#[test]
fn former_options_of_background_are_accepted_and_hidden() {
    let (lab, _) = background::lab();
    let help = ["-h", "--help"].map(|option| lab.ok(&format!("background {option}")));
    for (former, current) in [
        ("--components 2", "--n-components 2"),
        ("--method tae --angle 50", "--method tae --max-angle 50"),
        ("--scale 0.5", "--resize 0.5"),
        ("--from 2 --to 38 --every 3", "--start 2 --end 38 --stride 3"),
        ("--truth truth", "--ground-truth truth"),
    ] {
        lab.ok(&format!("background frames -o former --no-videos {former}"));
        lab.ok(&format!("background frames -o current --no-videos {current}"));
        assert!(lab.read("former/model.safetensors") == lab.read("current/model.safetensors"), "{former}");
        let names = |text: &str| text.split(' ').filter(|word| word.starts_with("--")).map(str::to_owned).collect();
        let (former, current): (Vec<String>, Vec<String>) = (names(former), names(current));
        for help in &help {
            assert!(current.iter().all(|name| has(help, name)), "{current:?}");
            assert!(former.iter().all(|name| current.contains(name) || !has(help, name)), "{former:?}");
        }
    }
}
