//! Outputs that would replace an input, another output or a folder of the user are rejected before anything is done.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::background;
use crate::lab::{Lab, names, npy_f64, samples_npy, stderr};
use crate::shadows;

/// Content of all files below a folder, the target of each link, and the folders.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            found.insert(path.clone(), std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(content(&path));
        } else if path.is_file() {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Runs commands that must fail with exit code 2 and this message, and must change nothing at all.
fn rejected(lab: &Lab, lines: &[&str], needle: &str) {
    for line in lines {
        let before = content(&lab.path(""));
        lab.reject(2, line, &[needle]);
        assert!(content(&lab.path("")) == before, "{line} changed a file");
    }
}

/// Samples, their model, links to both, and a folder.
fn table_lab() -> Lab {
    let lab = Lab::new();
    lab.write("x.npy", samples_npy("<f8", 40, 6));
    lab.write("c.npy", npy_f64(&[6], &[60.0; 6]));
    lab.ok("fit x.npy -o m");
    std::fs::hard_link(lab.path("x.npy"), lab.path("hard.npy")).unwrap();
    std::fs::hard_link(lab.path("m"), lab.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink("x.npy", lab.path("link.npy")).unwrap();
    std::os::unix::fs::symlink("link.npy", lab.path("second.npy")).unwrap();
    std::fs::create_dir(lab.path("sub")).unwrap();
    std::os::unix::fs::symlink("../sub", lab.path("sub/loop")).unwrap();
    // A link to a file that does not exist yet.
    std::os::unix::fs::symlink("b.svg", lab.path("a.svg")).unwrap();
    lab
}

#[test]
fn no_file_replaces_an_input() {
    let lab = table_lab();
    let absolute = format!("fit x.npy -o {}", lab.path("sub/../x.npy").display());
    let lines = [
        "fit x.npy -o x.npy",
        "fit x.npy -o ./x.npy",
        "fit x.npy -o x.npy/",
        "fit x.npy -o hard.npy",
        "fit x.npy -o link.npy",
        "fit second.npy -o x.npy",
        "fit hard.npy -o second.npy",
        "fit x.npy -o sub/loop/../x.npy",
        &absolute,
        "fit x.npy -o c.npy --center c.npy",
        "fit x.npy -o n --checkpoint x.npy",
        "fit x.npy -o n --method pcp --low-rank x.npy",
        "fit x.npy -o n --method pcp --sparse link.npy",
        "transform m x.npy -o x.npy",
        "transform m x.npy -o m",
        "reconstruct m x.npy -o hard.npy",
        "reconstruct m x.npy -o m",
        "outliers m x.npy -o x.npy",
        "outliers m x.npy -o m",
        "outliers m x.npy --cells x.npy",
        "outliers m x.npy --cell-map x.npy",
        "fill m x.npy -o x.npy",
        "fill m x.npy -o y.npy --mask link.npy",
        "fill m x.npy -o hard.csv",
        "export hard.csv -o hard.csv",
        "export m -o hard.csv",
    ];
    rejected(&lab, &lines, "this output is also the input");
    // The check precedes all work: the data need not exist.
    rejected(&lab, &["fit absent.npy -o absent.npy", "transform m absent -o m"], "this output is also the input");
    // The snapshot of a checkpoint is a file beside it.
    lab.write("c.pass", lab.read("x.npy"));
    rejected(&lab, &["fit c.pass -o n --checkpoint c"], "c.pass: this output is also the input c.pass");
}

#[test]
fn no_output_replaces_another() {
    let lab = table_lab();
    let lines = [
        "outliers m x.npy -o b.svg --plot b.svg",
        "outliers m x.npy -o a.svg --plot b.svg",
        "outliers m x.npy -o b.svg --plot ./sub/../b.svg",
        "outliers m x.npy --plot b.svg --cells b.svg",
        "outliers m x.npy --cell-map b.svg --plot a.svg",
        "fill m x.npy -o y.npy --mask ./y.npy",
        "fit x.npy -o n --checkpoint n",
        "fit x.npy -o n --checkpoint ./n",
        "fit x.npy -o n.pass --checkpoint n",
        "fit x.npy -o n --method pcp --low-rank n",
        "fit x.npy -o n --method pcp --low-rank l.npy --sparse l.npy",
    ];
    rejected(&lab, &lines, "this output is also the output");
}

#[test]
fn links_devices_and_pipes_are_treated_as_before() {
    let lab = table_lab();
    assert!(Command::new("mkfifo").arg(lab.path("pipe.npy")).status().unwrap().success());
    for output in ["/dev/null", "/dev/stdout", "pipe.npy"] {
        let output = lab.command(&format!("transform m x.npy -o {output}")).stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("cannot write to a device or a pipe"), "{}", stderr(&output));
    }
    // An output that is a link to another file replaces that file, also one that does not exist yet.
    lab.ok("outliers m x.npy --plot a.svg");
    assert!(lab.path("a.svg").is_symlink() && lab.path("b.svg").is_file());
    // A model may replace its earlier version.
    lab.ok("fit x.npy -o m -d 3");
    assert_eq!(names(&lab.path("sub")), ["loop"]);
}

#[test]
fn no_file_replaces_an_image_of_an_input_folder() {
    let (lab, _) = background::lab();
    std::fs::hard_link(lab.path("frames/in100.png"), lab.path("outside")).unwrap();
    rejected(&lab, &["fit frames -o frames", "fit frames -o truth/../frames/"], "this output is also the input");
    let lines = ["fit frames -o frames/in100.png", "fit frames -o frames/new.PNG", "fit frames -o outside"];
    rejected(&lab, &lines, "this output is also an image of the input frames");
    // Other files in the folder are no frames.
    for _ in 0..2 {
        lab.ok("fit frames -o frames/model.safetensors --method pca");
    }
}

#[test]
fn no_folder_replaces_an_input_or_files_of_the_user() {
    let (lab, _) = background::lab();
    std::fs::rename(lab.path("truth"), lab.path("masks")).unwrap();
    std::os::unix::fs::symlink("frames", lab.path("link")).unwrap();
    std::os::unix::fs::symlink(".", lab.path("here")).unwrap();
    let lines = [
        "background frames -o . --truth masks",
        "background masks -o .",
        "background clip.npy -o here",
        "background clip.npy -o ..",
        "background frames -o masks/.. --no-videos",
        "shadows frames -o .",
    ];
    rejected(&lab, &lines, "the folder would be replaced, and it contains the input");
    let lines = [
        "background frames -o frames/",
        "background link -o frames",
        "background frames -o link",
        "shadows frames -o link",
    ];
    rejected(&lab, &lines, "this output is also the input");
    rejected(
        &lab,
        &["background clip.npy -o frames", "shadows masks -o frames", "demo -o frames"],
        "name a new folder",
    );

    let run = "background clip.npy -o out --no-videos";
    lab.ok(run);
    lab.ok("background clip.npy -o other --no-videos");
    assert_eq!(lab.read("out/.steradian-output"), lab.read("other/.steradian-output"));
    // A folder that this program wrote is replaced as long as nothing else is in it.
    lab.write("out/notes.txt", "mine");
    rejected(&lab, &[run], "\"notes.txt\" in it is not an output of this program");
    std::fs::rename(lab.path("out/notes.txt"), lab.path("out/masks/000099.png")).unwrap();
    rejected(&lab, &[run], "\"masks/000099.png\" in it is not an output of this program");
    std::fs::remove_file(lab.path("out/masks/000099.png")).unwrap();
    rejected(
        &lab,
        &["background clip.npy -o out --model out/model.safetensors", "background frames -o out --truth out/masks"],
        "the folder would be replaced, and it contains the input",
    );
    lab.ok(run);
    // Output of an earlier version has no marker.
    std::fs::remove_file(lab.path("out/.steradian-output")).unwrap();
    rejected(&lab, &[run], "remove this one if an earlier version wrote it");
}

#[test]
fn an_empty_folder_and_a_folder_within_the_input_may_be_used() {
    use std::os::unix::fs::PermissionsExt;
    let (lab, _) = background::lab();
    std::fs::create_dir(lab.path("empty")).unwrap();
    std::fs::set_permissions(lab.path("empty"), std::fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("empty", lab.path("link")).unwrap();
    for _ in 0..2 {
        lab.ok("background clip.npy -o link --no-videos");
    }
    assert!(lab.path("link").is_symlink());
    assert!(names(&lab.path("empty")).contains(&"summary.json".into()));
    assert_eq!(std::fs::metadata(lab.path("empty")).unwrap().permissions().mode() & 0o777, 0o750);
    let within = |line: &str| lab.command(line).current_dir(lab.path("frames")).output().unwrap();
    let output = within("background . -o deep/out --no-videos");
    assert!(output.status.success(), "{}", stderr(&output));
    // The current folder and its parents cannot be replaced, even if they are empty.
    std::fs::create_dir(lab.path("here")).unwrap();
    let here = lab.command("background ../clip.npy -o .").current_dir(lab.path("here")).output().unwrap();
    assert_eq!(here.status.code(), Some(2));
    assert!(stderr(&here).contains("the folder is the current folder or contains it"), "{}", stderr(&here));
    assert!(names(&lab.path("here")).is_empty());
    let left = [lab.listing(), names(&lab.path("frames")), names(&lab.path("frames/deep"))].concat();
    assert!(left.iter().all(|name| !name.starts_with(".steradian")), "{left:?}");
}

#[test]
fn a_kill_while_a_folder_is_replaced_loses_nothing() {
    const OLD: usize = 4000;
    let (lab, _) = background::lab();
    let run = "background clip.npy -o out --no-videos";
    lab.ok(run);
    // Many files, so that their removal takes a while.
    let mut marker = String::from_utf8(lab.read("out/.steradian-output")).unwrap();
    for file in 0..OLD {
        lab.write(&format!("out/masks/old{file}.png"), "");
        marker.push_str(&format!("masks/old{file}.png\n"));
    }
    lab.write("out/.steradian-output", marker);
    let own = || lab.listing().into_iter().filter(|name| name.starts_with(".steradian-")).collect::<Vec<_>>();
    let count = |folder: &str| std::fs::read_dir(lab.path(folder)).map_or(0, Iterator::count);
    let mut child = lab.command(run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    // The removal of the old files has begun, wherever they are now.
    let old = |folder: &str| count(folder).saturating_sub(background::FRAMES);
    let remaining = || old("out/masks") + own().iter().map(|name| count(&format!("{name}/masks"))).sum::<usize>();
    while remaining() >= OLD || remaining() == 0 {
        assert!(
            start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(),
            "no removal was seen"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let masks = count("out/masks");
    assert!(masks == background::FRAMES || masks == background::FRAMES + OLD, "{masks} masks are left");
    assert!(lab.path("out/summary.json").is_file());
    assert!(own().len() <= 1, "{:?}", own());
    lab.ok(run);
    assert_eq!((count("out/masks"), own().len()), (background::FRAMES, 0));
}

#[test]
fn outputs_of_faces_are_replaced_as_a_whole() {
    let lab = shadows::lab();
    lab.ok("shadows faces -o out -d 3");
    std::fs::remove_file(lab.path("faces/light13.pgm")).unwrap();
    lab.ok("shadows faces -o out -d 3");
    assert_eq!((names(&lab.path("out/relit")).len(), names(&lab.path("out/difference")).len()), (13, 13));
    assert_eq!(lab.listing(), ["faces", "out"]);
}
