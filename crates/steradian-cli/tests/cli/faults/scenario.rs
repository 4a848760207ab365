//! The commands that faults are injected into, with their inputs and outputs.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::background::png;
use crate::lab::{npy, samples, uniform};

/// A command line and its outputs.
#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// Arguments, split at spaces; inputs are in `in`, outputs in `out`.
    pub line: &'static str,
    /// Outputs below `out`, each of which is written as a whole.
    pub units: &'static [&'static str],
    /// The command writes files into a folder that others may use, so that each file is an output.
    pub shared_folder: bool,
    /// Checkpoint below `out`, which may be left after an error.
    pub checkpoint: Option<&'static str>,
    /// Part in the trials of a campaign; commands that take longer have a smaller one.
    pub weight: usize,
    /// Part in the trials of the short form.
    pub short_weight: usize,
    /// Inputs with allocations of 1 MiB or more.
    pub large: bool,
}

const fn new(name: &'static str, line: &'static str, units: &'static [&'static str]) -> Scenario {
    Scenario { name, line, units, shared_folder: false, checkpoint: None, weight: 100, short_weight: 1, large: false }
}

impl Scenario {
    const fn weights(mut self, weight: usize, short_weight: usize) -> Self {
        (self.weight, self.short_weight) = (weight, short_weight);
        self
    }

    /// True if the command starts ffmpeg, which need not be installed.
    pub fn needs_ffmpeg(&self) -> bool {
        self.name.contains("video")
    }

    const fn checkpoint(mut self, name: &'static str) -> Self {
        self.checkpoint = Some(name);
        self
    }

    const fn shared_folder(mut self) -> Self {
        self.shared_folder = true;
        self
    }

    const fn large(mut self) -> Self {
        self.large = true;
        self
    }
}

/// All commands.
pub const SCENARIOS: &[Scenario] = &[
    new("demo", "demo -o out/demo", &["demo"]).weights(2, 0),
    new("background, videos", "background in/clip.npy -o out/clip", &["clip"]).weights(20, 0),
    new("background, video input", "background in/clip.mkv -o out/clip --no-videos", &["clip"]).weights(20, 0),
    new("background, array", "background in/clip.npy -o out/clip --no-videos", &["clip"]),
    new("background, images", "background in/frames -o out/clip --no-videos --color", &["clip"]),
    new("background, large", "background large/clip.npy -o out/clip --no-videos", &["clip"]).weights(10, 0).large(),
    new("shadows", "shadows in/faces -o out/faces -d 3", &["faces"]),
    new("shadows, large", "shadows large/faces.npy -o out/faces -d 3", &["faces"]).weights(10, 0).large(),
    new("fit robust", "fit in/x.npy -o out/m --threads 2", &["m"]),
    new("fit pca, scatter", "fit in/x.csv -o out/m --method pca --solver scatter", &["m"]),
    new("fit angular, krylov", "fit in/x.npy -o out/m --method angular --solver krylov --threads 1", &["m"]),
    new("fit ae, gram", "fit in/u.npy -o out/m --method ae --solver gram", &["m"]),
    new("fit tae", "fit in/x.npy -o out/m --method tae --json", &["m"]),
    new("fit cells", "fit in/x.npy -o out/m --method cells", &["m"]),
    new("fit tga", "fit in/x.npy -o out/m --method tga", &["m"]),
    new(
        "fit pcp, parts",
        "fit in/x.npy -o out/m --method pcp --low-rank out/l.npy --sparse out/s.npy",
        &["m", "l.npy", "s.npy"],
    ),
    new("fit, checkpoint", "fit in/x.npy -o out/m --checkpoint out/c --checkpoint-every 0", &["m"]).checkpoint("c"),
    new(
        "fit, streamed",
        "fit large/streamed.npy -o out/m --method ae --solver krylov --memory 20M --threads 2",
        &["m"],
    )
    .weights(10, 0)
    .large(),
    new("fit robust, many samples", "fit large/tall.npy -o out/m", &["m"]).weights(10, 0).large(),
    new("fit robust, many features", "fit large/wide.npy -o out/m", &["m"]).weights(10, 0).large(),
    new("fit pca, many features", "fit large/wide.npy -o out/m --method pca", &["m"]).weights(10, 0).large(),
    new("transform", "transform in/m in/x.npy -o out/t.npy", &["t.npy"]),
    new("transform, large", "transform large/tall.m large/tall.npy -o out/t.npy", &["t.npy"]).weights(10, 0).large(),
    new("reconstruct", "reconstruct in/m in/x.csv -o out/r.npy", &["r.npy"]),
    new("reconstruct, large", "reconstruct large/wide.m large/wide.npy -o out/r.npy", &["r.npy"])
        .weights(10, 0)
        .large(),
    new("outliers, table and svg", "outliers in/m in/x.npy -o out/f.csv --plot out/p.svg", &["f.csv", "p.svg"]),
    new(
        "outliers, three files",
        "outliers in/c in/x.npy -o out/f.csv --plot out/p.png --cells out/b.npy",
        &["f.csv", "p.png", "b.npy"],
    ),
    new(
        "outliers, cells",
        "outliers in/c in/n.npy --training --cells out/b.csv --cell-map out/map.svg",
        &["b.csv", "map.svg"],
    ),
    new("fill, table", "fill in/c in/n.npy -o out/f.csv --bad-cells --mask out/k.npy", &["f.csv", "k.npy"]),
    new("fill, parquet", "fill in/m in/n.npy -o out/f.parquet", &["f.parquet"]),
    new("outliers, large", "outliers large/tall.m large/tall.npy -o out/f.csv --plot out/p.svg", &["f.csv", "p.svg"])
        .weights(10, 0)
        .large(),
    new("plan", "plan in/x.npy --json", &[]),
    new("inspect", "inspect in/m --json", &[]),
    new("export, table", "export in/m -o out/e.csv", &["e.csv"]),
    new("export, array", "export in/m -o out/e.npy", &["e.npy"]),
    new("completions", "completions bash", &[]),
    new("manpages", "manpages -o out/man", &["man"]).shared_folder(),
];

const HEIGHT: usize = 12;
const WIDTH: usize = 16;
const FRAMES: usize = 10;

/// Writes small inputs: data, a clip, images. `inverted` gives other values in the same shapes.
pub fn write_inputs(folder: &Path, inverted: bool) {
    std::fs::create_dir_all(folder.join("frames")).unwrap();
    std::fs::create_dir_all(folder.join("faces")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let level = |x: f64| if inverted { 250.0 - x } else { x };
    let (n, features) = (60, 8);
    let x: Vec<f64> = samples(n, features).into_iter().map(level).collect();
    write("x.npy", &npy("<f8", &[n, features], &x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()));
    let missing = |(at, x): (usize, &f64)| if at % 23 == 5 { f64::NAN } else { *x };
    let bytes: Vec<u8> = x.iter().enumerate().map(missing).flat_map(f64::to_le_bytes).collect();
    write("n.npy", &npy("<f8", &[n, features], &bytes));
    write("u.npy", &npy("|u1", &[n, features], &x.iter().map(|&x| x as u8).collect::<Vec<_>>()));
    let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
    write("x.csv", (x.chunks(features).map(row).collect::<Vec<_>>().join("\n") + "\n").as_bytes());
    let clip = clip(FRAMES, HEIGHT, WIDTH, inverted);
    write("clip.npy", &npy("|u1", &[FRAMES, HEIGHT, WIDTH], &clip));
    for (t, frame) in clip.chunks(HEIGHT * WIDTH).enumerate() {
        write(&format!("frames/{t:03}.png"), &png(frame, HEIGHT, WIDTH));
        write(&format!("faces/{t:03}.png"), &png(frame, HEIGHT, WIDTH));
    }
    if has_ffmpeg() {
        let line = "-loglevel error -framerate 10 -i frames/%03d.png -c:v ffv1 clip.mkv";
        assert!(Command::new("ffmpeg").args(line.split(' ')).current_dir(folder).status().unwrap().success());
    }
}

/// Writes inputs whose per-sample and per-feature arrays have 1 MiB or more.
pub fn write_large_inputs(folder: &Path, inverted: bool) {
    std::fs::create_dir_all(folder).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let level = |x: f64| (if inverted { 250.0 - x } else { x }) as u8;
    let (samples, features) = (140_000, 3);
    let noise = uniform(8, samples * features);
    let x: Vec<u8> = noise.iter().enumerate().map(|(i, x)| level(200.0 * x * (1 + i % 3) as f64 / 3.0)).collect();
    write(
        "tall.npy",
        &npy("<f4", &[samples, features], &x.iter().flat_map(|&x| f32::from(x).to_le_bytes()).collect::<Vec<_>>()),
    );
    write("wide.npy", &npy("|u1", &[10, x.len() / 10], &x));
    let side = 380;
    write("clip.npy", &npy("|u1", &[8, side, side], &clip(8, side, side, inverted)));
    write("faces.npy", &npy("|u1", &[8, side, side], &clip(8, side, side, inverted)));
    let streamed: Vec<u8> = uniform(9, 1 << 16).iter().cycle().take(8000 * 3000).map(|x| level(200.0 * x)).collect();
    write("streamed.npy", &npy("|u1", &[8000, 3000], &streamed));
}

/// Frames of a wall with a moving square.
fn clip(frames: usize, height: usize, width: usize, inverted: bool) -> Vec<u8> {
    let (noise, side) = (uniform(6, 9973), height / 3);
    let value = |i: usize| {
        let (t, at) = (i / (height * width), i % (height * width));
        let (x, y) = (at % width, at / width);
        let (left, top) = (t * 3 % (width - side), t * 2 % (height - side));
        let inside = (left..left + side).contains(&x) && (top..top + side).contains(&y);
        let wall = 60.0 + 90.0 * x as f64 / width as f64 + 5.0 * (t % 4) as f64;
        (if inside { 240.0 } else { wall }) + 6.0 * noise[i % noise.len()]
    };
    (0..frames * height * width).map(|i| if inverted { 250 - value(i) as u8 } else { value(i) as u8 }).collect()
}

/// Models that commands read, as command lines; they run with the inputs in place.
pub const MODELS: [&str; 2] = ["fit in/x.npy -o in/m", "fit in/x.npy -o in/c --method cells"];
/// Models of the large inputs.
pub const LARGE_MODELS: [&str; 2] =
    ["fit large/tall.npy -o large/tall.m --method pca", "fit large/wide.npy -o large/wide.m --method pca"];

/// True if ffmpeg is installed.
pub fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_ok()
}

/// The program: of this build, or the one in `STERADIAN_FAULTS_PROGRAM`.
pub fn program() -> Command {
    match std::env::var_os("STERADIAN_FAULTS_PROGRAM") {
        Some(path) => Command::new(path),
        None => Command::new(assert_cmd::cargo::cargo_bin!("steradian")),
    }
}
