//! Error messages in the vocabulary of the command line: the option that is at fault, and the option that helps.
//!
//! Libraries name their own parameters and no option. This file adds the names of options to their errors.

use std::io;
use std::path::Path;

use steradian::Error;
use steradian::error::format_bytes;
use steradian::error::os_error_text;

/// Options by the names of parameters in the libraries.
const OPTIONS: [(&str, &str); 33] = [
    ("n_components", "-d"),
    ("method", "--method"),
    ("center", "--center"),
    ("max_angle", "--max-angle"),
    ("cosine", "--cosine"),
    ("ties", "--ties"),
    ("recenter", "--recenter"),
    ("pivot_search", "--exact"),
    ("scaling", "--scaling"),
    ("order", "--order"),
    ("skew", "--skew"),
    ("n_directions", "--n-directions"),
    ("robust_scores", "--robust-scores"),
    ("solver", "--solver"),
    ("tolerance", "--tol"),
    ("trim", "--trim"),
    ("seed", "--seed"),
    ("threads", "--threads"),
    ("memory_limit", "--memory"),
    ("columns", "--columns"),
    ("row_names", "--row-names"),
    ("header", "--header"),
    ("missing", "--missing"),
    ("missing_mask", "--missing-mask"),
    ("exclude", "--exclude"),
    ("start", "--start"),
    ("end", "--end"),
    ("stride", "--stride"),
    ("resize", "--resize"),
    ("color", "--color"),
    ("train", "--train"),
    ("checkpoint", "--checkpoint"),
    ("ground_truth", "--ground-truth"),
];

/// The remedy for a missing cell.
const MISSING: &str =
    "drop such rows with --missing drop, or use their other cells with --missing use, where the method has it";

/// The largest number of column names in a message.
const MAX_COLUMNS: usize = 30;

/// The message of an error, with the remedy as options.
pub fn message(error: &Error) -> String {
    match error {
        Error::InvalidArgument { parameter, problem } => invalid_argument(*parameter, problem),
        Error::RankTooSmall { n_components, rank, of } => {
            format!("-d {n_components} exceeds the rank {rank} of {of}; use -d {rank} or less")
        }
        Error::OverMemory { alternative, .. } => {
            let other = alternative.map_or(String::new(), |(solver, bytes)| {
                format!(", or use --solver {solver}, which needs {}", format_bytes(bytes))
            });
            format!("{error}; allow more with --memory{other}")
        }
        Error::OutOfMemory { .. } => {
            format!(
                "{error}; use fewer --threads, or limit the fit with --memory; `steradian plan` shows what it needs"
            )
        }
        Error::FeatureCount { .. } => format!("{error} (in tables, select them with --columns)"),
        Error::NotFinite { value, .. } if value.is_nan() => format!("{error}; {MISSING}"),
        Error::NotFinite { .. } => format!("{error}; correct the cell, or make it NaN and pass --missing use or drop"),
        Error::MissingCell { .. } => format!("{error}; {MISSING}"),
        Error::NotNumeric { numeric, row_names, .. } => format!("{error}; {}", columns(numeric, *row_names)),
        Error::OverDecoded { .. } => format!("{error}; allow more with --max-decoded"),
        Error::Io { path, source } => io_error(path, source),
        _ => error.to_string(),
    }
}

/// The problem, after the option of its parameter: `n_components = 7 exceeds ..` becomes `-d 7 exceeds ..`.
fn invalid_argument(parameter: Option<&str>, problem: &str) -> String {
    let option = parameter.and_then(|parameter| OPTIONS.iter().find(|(name, _)| *name == parameter));
    let Some((name, option)) = option else { return problem.to_owned() };
    match problem.strip_prefix(name).and_then(|rest| rest.strip_prefix(" = ")) {
        Some(value) => format!("{option} {value}"),
        None => format!("{option}: {problem}"),
    }
}

/// The options that select the numeric columns of a table.
fn columns(numeric: &[String], row_names: bool) -> String {
    let more = match numeric.len().saturating_sub(MAX_COLUMNS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = format!("{}{more}", numeric[..numeric.len().min(MAX_COLUMNS)].join(", "));
    let select = match numeric.len() {
        0 => "no column is numeric".to_owned(),
        1 => format!("--columns numeric takes the numeric column {names}"),
        count => format!("--columns numeric takes the {count} numeric columns {names}"),
    };
    if row_names { select } else { format!("{select}; pass --row-names if the first column contains row names") }
}

/// A message without the numbers that [`io::Error`] appends, such as `(os error 2)`.
pub fn without_error_numbers(mut text: String) -> String {
    while let Some(start) = text.find(" (os error ") {
        let Some(length) = text[start..].find(')') else { break };
        text.replace_range(start..start + length + 1, "");
    }
    text
}

/// The path, then the message of the operating system without its error number.
fn io_error(path: &Path, source: &io::Error) -> String {
    without_error_numbers(format!("{}: {}", path.display(), os_error_text(source)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_becomes_its_option() {
        let of = |parameter, problem: &str| message(&Error::invalid_parameter(parameter, problem));
        assert_eq!(
            of("resize", "resize factor must be in (0, 1], got 2"),
            "--resize: resize factor must be in (0, 1], got 2"
        );
        assert_eq!(of("n_components", "n_components = 7 exceeds 6"), "-d 7 exceeds 6");
        assert_eq!(of("n_components", "n_components is odd"), "-d: n_components is odd");
        assert_eq!(of("weighting", "weighting = 3"), "weighting = 3");
        assert_eq!(message(&Error::invalid_argument("two parameters")), "two parameters");
        for (name, option) in OPTIONS {
            assert!(of(name, "got 2").starts_with(&format!("{option}: ")), "{name}");
        }
    }

    #[test]
    fn every_option_of_the_table_exists() {
        use clap::CommandFactory;
        let cli = crate::args::Cli::command();
        let has = |option: &str| {
            let is = |arg: &clap::Arg| match option.strip_prefix("--") {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short().is_some_and(|short| option == format!("-{short}")),
            };
            cli.get_subcommands().any(|command| command.get_arguments().any(is))
        };
        for (_, option) in OPTIONS {
            assert!(has(option), "{option}");
        }
    }

    #[test]
    fn memory_and_rank_name_their_options() {
        let over = |alternative| Error::OverMemory {
            needed: 2 << 20,
            limit: 1 << 20,
            with: "the gram solver".into(),
            alternative,
        };
        assert_eq!(
            message(&over(Some(("krylov", 1 << 19)))),
            "the fit needs about 2.0 MiB with the gram solver but may use 1.0 MiB; allow more with --memory, or use \
             --solver krylov, which needs 512.0 KiB"
        );
        assert!(message(&over(None)).ends_with("; allow more with --memory"));
        let rank = Error::RankTooSmall { n_components: 7, rank: 6, of: "the centered data" };
        assert_eq!(message(&rank), "-d 7 exceeds the rank 6 of the centered data; use -d 6 or less");
    }

    #[test]
    fn the_limit_of_decoded_frames_names_its_option() {
        let over = Error::OverDecoded { path: "a.mp4".into(), frames: 75, decoded: 3 << 30, limit: 2 << 30 };
        assert_eq!(
            message(&over),
            "a.mp4: 75 frames are 3.00 GiB when decoded, which exceeds the limit of 2.00 GiB; allow more with --max-decoded"
        );
    }

    #[test]
    fn cells_and_columns_name_the_options_of_tables() {
        let missing = Error::MissingCell { path: "t.csv".into(), place: "row 1".into(), text: "\"\"".into() };
        assert!(message(&missing).contains("; drop such rows with --missing drop, or use their other cells"));
        let not_finite = message(&Error::NotFinite { value: f64::NAN, row: 3, column: 4 });
        assert!(not_finite.starts_with("the data are NaN at row 3, column 4; drop such rows"), "{not_finite}");
        let infinite = message(&Error::NotFinite { value: f64::INFINITY, row: 3, column: 4 });
        assert!(infinite.contains("inf at row 3, column 4; correct the cell"), "{infinite}");
        let not_numeric = |numeric: &[&str], row_names| {
            let numeric = numeric.iter().map(ToString::to_string).collect();
            message(&Error::NotNumeric { path: "t.csv".into(), place: "row 1".into(), numeric, row_names })
        };
        assert_eq!(
            not_numeric(&["a", "b"], true),
            "t.csv: row 1 is not numeric; --columns numeric takes the 2 numeric columns a, b"
        );
        assert!(not_numeric(&["a"], false).contains("the numeric column a; pass --row-names if"));
        assert!(not_numeric(&[], true).ends_with("; no column is numeric"));
        let many: Vec<String> = (0..33).map(|i| format!("V{i}")).collect();
        assert!(columns(&many, true).ends_with("V28, V29 and 3 more"));
        let features = message(&Error::FeatureCount { expected: 6, found: 5 });
        assert!(features.contains("6 features") && features.contains("--columns"), "{features}");
    }

    #[test]
    fn io_errors_start_with_the_path_and_have_no_number() {
        let missing = Error::io("x.npy", io::Error::from_raw_os_error(2));
        assert_eq!(message(&missing), "x.npy: no such file or directory");
        let wrapped = Error::io("x.npy", io::Error::other("Disk full (os error 28); free some space"));
        assert_eq!(message(&wrapped), "x.npy: Disk full; free some space");
    }

    #[test]
    fn other_errors_keep_their_message() {
        for error in
            [Error::invalid_data("all rows are equal"), Error::corrupt_file("x.npy", "short"), Error::Cancelled]
        {
            assert_eq!(message(&error), error.to_string());
        }
    }
}
