//! A bench: a folder with the inputs of one command, its former outputs and its expected outputs, for runs with faults.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;

use crate::faults::fault::{Fault, KINDS, Moment};
use crate::faults::scenario::{LARGE_MODELS, MODELS, Scenario, program, write_inputs, write_large_inputs};
use crate::faults::tree::{Tree, without_numbers};

/// Time in which a command with a fault must end, beside five times its normal one.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The end of a run.
struct Run {
    status: ExitStatus,
    timed_out: bool,
    stdout: Vec<u8>,
    stderr: String,
    /// Number of calls that failed or sent a signal.
    faults: u64,
    counts: Vec<u64>,
}

impl Run {
    fn text(&self) -> String {
        let end = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (_, Some(signal)) => format!("signal {signal}"),
            _ => String::from("no exit code"),
        };
        format!("{end}: {}", self.stderr.trim())
    }
}

/// A result of a trial.
pub struct TrialResult {
    /// True if the fault happened.
    pub fired: bool,
    /// Violated promises.
    pub problems: Vec<String>,
}

/// A state of the output folder before a command, and the state after it.
struct Start {
    before: Tree,
    after: Tree,
}

/// A folder for the runs of one command.
pub struct Bench {
    folder: TempDir,
    pub scenario: &'static Scenario,
    /// The output folder with former outputs, and empty.
    starts: [Start; 2],
    stdout: Vec<u8>,
    /// Number of calls of each kind in a run without a fault.
    pub counts: Vec<u64>,
    /// Time of a run without a fault.
    pub time: Duration,
    inputs: Vec<(PathBuf, u64, SystemTime)>,
}

impl Bench {
    /// Creates the inputs and runs the command without a fault.
    pub fn new(scenario: &'static Scenario) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let inputs = if scenario.large { large_inputs() } else { small_inputs() };
        inputs.write(folder.path());
        for name in ["out", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let empty = Start { before: Tree::default(), after: Tree::default() };
        let former = Start { before: Tree::default(), after: Tree::default() };
        let mut bench = Self {
            inputs: Vec::new(),
            folder,
            scenario,
            starts: [former, empty],
            stdout: Vec::new(),
            counts: Vec::new(),
            time: Duration::ZERO,
        };
        let inverted = scenario.line.replace(" in/", " other/").replace(" large/", " other/");
        bench.succeed(&inverted);
        let mut former = Tree::read(&bench.path("out"));
        Tree::default().write(&bench.path("out"));
        let start = Instant::now();
        let run = bench.succeed(scenario.line);
        bench.time = start.elapsed();
        (bench.counts, bench.stdout) = (run.counts, run.stdout);
        bench.starts[1].after = Tree::read(&bench.path("out"));
        if former == bench.starts[1].after {
            former = former.with_changed_pages();
        }
        former.write(&bench.path("out"));
        bench.succeed(scenario.line);
        bench.starts[0] = Start { before: former, after: Tree::read(&bench.path("out")) };
        assert!(bench.strays().is_empty(), "{}: {:?}", scenario.name, bench.strays());
        bench.inputs = bench.list_inputs();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the command with a fault and checks its results.
    pub fn trial(&self, fault: &Fault, at: u64, from_empty: bool, repeat_after: bool) -> TrialResult {
        let start = &self.starts[usize::from(from_empty)];
        start.before.write(&self.path("out"));
        Tree::default().write(&self.path("tmp"));
        let run = self.run(self.scenario.line, &fault.environment(at));
        let mut problems = Vec::new();
        let mut require = |holds: bool, problem: String| {
            if !holds {
                problems.push(format!("{problem} ({})", run.text()));
            }
        };
        require(!run.timed_out, "no end in time".into());
        if fault.kills() {
            // A video encoder ends when the pipe from the program is closed.
            require(self.wait_for_others(), "a process that the program started runs on".into());
        }
        let (code, signal) = (run.status.code(), run.status.signal());
        let documented =
            code.is_some_and(|code| fault.codes.contains(&code)) || signal.is_some_and(|s| fault.may_end_by(s));
        require(documented || run.timed_out, "undocumented exit code".into());
        for text in ["panicked", "internal error", "RUST_BACKTRACE", "memory allocation of"] {
            require(!run.stderr.contains(text), format!("the message has {text:?}"));
        }
        // Messages go to a file, whose size may be limited, too.
        let printed = matches!(fault.moment, Moment::Call("print") | Moment::FileSize);
        let has_message = run.stderr.lines().any(|line| line.starts_with("error: "));
        require(code.is_none_or(|code| code == 0) || has_message || printed, "no error message".into());
        if code == Some(0) && self.scenario.units.is_empty() && !printed {
            let equal = without_numbers(&run.stdout) == without_numbers(&self.stdout);
            require(equal, format!("other text on standard output, {} bytes", run.stdout.len()));
        }

        let mut found = Tree::read(&self.path("out"));
        if let (Some(checkpoint), false) = (self.scenario.checkpoint, code == Some(0)) {
            for end in ["", ".pass", ".pass.new"] {
                found.remove(&format!("{checkpoint}{end}"));
            }
        }
        let mut strays: Vec<String> =
            found.outside(&start.before, &start.after).iter().map(ToString::to_string).collect();
        strays.iter().for_each(|path| found.remove(path));
        strays.extend(self.strays());
        let named = strays.iter().all(|path| path.rsplit('/').next().unwrap().starts_with(".steradian-"));
        let outputs = if self.scenario.shared_folder { start.after.paths().count() } else { self.scenario.units.len() };
        require(strays.len() <= fault.files_left(outputs) && named, format!("files are left: {strays:?}"));
        let old = found.difference(&start.before);
        let new = found.difference(&start.after);
        if code == Some(0) {
            require(new.is_none(), format!("exit code 0 and not the new output: {}", new.clone().unwrap_or_default()));
        } else if !fault.kills() {
            let problem = || {
                format!("neither the old output ({}) nor the new one ({})", old.clone().unwrap(), new.clone().unwrap())
            };
            require(
                old.is_none() || new.is_none(),
                if old.is_some() && new.is_some() { problem() } else { String::new() },
            );
        } else if self.scenario.shared_folder {
            let mixed = found.mixed(&start.before, &start.after);
            require(mixed.is_none(), mixed.clone().unwrap_or_default());
        } else {
            for unit in self.scenario.units {
                let part = found.within(unit);
                let old = part.difference(&start.before.within(unit));
                let new = part.difference(&start.after.within(unit));
                if let (Some(old), Some(new)) = (old, new) {
                    require(false, format!("{unit} is neither the old output ({old}) nor the new one ({new})"));
                }
            }
        }
        require(self.list_inputs() == self.inputs, "an input has changed".into());

        if repeat_after || fault.may_leave_files() || self.scenario.checkpoint.is_some() {
            let again = self.run(self.scenario.line, &[]);
            let found = Tree::read(&self.path("out"));
            let difference = found.difference(&start.after);
            let mut require = |holds: bool, problem: String| {
                if !holds {
                    problems.push(format!("{problem} ({}; {})", run.text(), again.text()));
                }
            };
            require(again.status.success(), "the next run fails".into());
            require(difference.is_none(), format!("after the next run: {}", difference.clone().unwrap_or_default()));
            require(self.strays().is_empty(), format!("the next run leaves {:?}", self.strays()));
        }
        TrialResult { fired: run.faults > 0 || !matches!(fault.moment, Moment::Call(_)), problems }
    }

    /// Waits until no process runs in this folder; false after the time limit.
    fn wait_for_others(&self) -> bool {
        let folder = self.folder.path().canonicalize().unwrap();
        let here = |entry: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_link(entry.unwrap().path().join("cwd")).is_ok_and(|path| path == folder)
        };
        let start = Instant::now();
        while std::fs::read_dir("/proc").unwrap().any(here) {
            if start.elapsed() > TIMEOUT {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Files in the temporary folder and beside the output folder.
    fn strays(&self) -> Vec<String> {
        let mut found: Vec<String> = Tree::read(&self.path("tmp")).paths().map(|path| format!("tmp/{path}")).collect();
        let known = ["in", "large", "other", "out", "tmp", "counts", "stdout", "stderr"];
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        found.extend(names.filter(|name| !known.contains(&name.as_str())));
        found
    }

    /// Paths, sizes and times of the inputs.
    fn list_inputs(&self) -> Vec<(PathBuf, u64, SystemTime)> {
        let mut list = Vec::new();
        for name in ["in", "large"] {
            if self.path(name).is_dir() {
                add_files(&self.path(name), &mut list);
            }
        }
        list.sort();
        list
    }

    fn succeed(&self, line: &str) -> Run {
        let run = self.run(line, &[]);
        assert!(run.status.success(), "{line}: {}", run.text());
        run
    }

    fn run(&self, line: &str, environment: &[(&'static str, String)]) -> Run {
        let file = |name: &str| std::fs::File::create(self.path(name)).unwrap();
        let _ = std::fs::remove_file(self.path("counts"));
        let mut command = program();
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env("TMPDIR", self.path("tmp")).env("STERADIAN_FAULT_COUNTS", self.path("counts"));
        command.env("LD_PRELOAD", library()).envs(environment.iter().map(|(name, value)| (name, value)));
        command.env_remove("RUST_BACKTRACE").stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr"));
        let (start, mut child) = (Instant::now(), command.spawn().unwrap());
        let mut timed_out = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            // The first runs take a time that is not known yet.
            let limit = if self.time.is_zero() { 30 * TIMEOUT } else { TIMEOUT + 5 * self.time };
            if start.elapsed() > limit {
                timed_out = true;
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let bytes = std::fs::read(self.path("counts")).unwrap_or_default();
        let mut counts: Vec<u64> = bytes.chunks_exact(8).map(|x| u64::from_le_bytes(x.try_into().unwrap())).collect();
        assert!(counts.len() == KINDS.len() + 1, "{} was not loaded", library().display());
        let faults = counts.pop().unwrap();
        let stderr = String::from_utf8_lossy(&std::fs::read(self.path("stderr")).unwrap()).into_owned();
        Run { status, timed_out, stdout: std::fs::read(self.path("stdout")).unwrap(), stderr, faults, counts }
    }
}

fn add_files(folder: &Path, list: &mut Vec<(PathBuf, u64, SystemTime)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let kind = entry.metadata().unwrap();
        if kind.is_dir() {
            add_files(&entry.path(), list);
        } else {
            list.push((entry.path(), kind.len(), kind.modified().unwrap()));
        }
    }
}

/// The library of faults, which cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.with_file_name("libsteradian_faults.so");
    assert!(path.is_file(), "{} does not exist", path.display());
    path
}

fn small_inputs() -> &'static Tree {
    static INPUTS: OnceLock<Tree> = OnceLock::new();
    INPUTS.get_or_init(|| created("in", &MODELS, write_inputs))
}

fn large_inputs() -> &'static Tree {
    static INPUTS: OnceLock<Tree> = OnceLock::new();
    INPUTS.get_or_init(|| created("large", &LARGE_MODELS, write_large_inputs))
}

/// Inputs and models in a folder, and inputs with other values in the folder `other`.
fn created(name: &str, models: &[&str], write: fn(&Path, bool)) -> Tree {
    let folder = tempfile::tempdir().unwrap();
    for (name, inverted) in [(name, false), ("other", true)] {
        write(&folder.path().join(name), inverted);
    }
    for line in models {
        for line in [(*line).to_string(), line.replace(&format!("{name}/"), "other/")] {
            let status =
                program().args(line.split_whitespace()).current_dir(folder.path()).stdout(Stdio::null()).status();
            assert!(status.unwrap().success(), "{line}");
        }
    }
    Tree::read(folder.path())
}
