//! Output of commands: tables, numbers and JSON. All output goes through [`print`], which handles closed pipes.

use std::io::Write;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::Value;
use steradian::model::Certificate;
use steradian::{Error, Method, Model, Solver};
use steradian_baselines::is_baseline;

use crate::outcome::{CommandError, CommandResult};
use crate::terminal;

/// Writes text to standard output, without characters that a terminal obeys. Names in it are escaped before, so that they
/// contain no line break.
pub fn print(text: &str) -> CommandResult {
    print_bytes(terminal::lines(text).as_bytes())
}

/// Writes bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> CommandResult {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CommandError::ClosedPipe,
        _ => Error::io("standard output", e).into(),
    })
}

/// Prints one JSON value on one line.
pub fn print_json(value: &Value) -> CommandResult {
    print(&format!("{}\n", terminal::json(&value.to_string())))
}

/// Table style with one line below the header and no other.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a header; all columns except the first are right-aligned.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    let escaped = |row: &Vec<String>| row.iter().map(|cell| terminal::line(cell).into_owned()).collect::<Vec<_>>();
    table.load_style(RULED).force_no_tty().set_header(header.to_vec()).add_rows(rows.iter().map(escaped));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

/// Names and values in two columns, one pair per line.
pub fn key_value_lines(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| terminal::line(name).len()).max().unwrap_or(0);
    let row = |(name, value): &(&str, String)| format!("{:width$}  {}\n", terminal::line(name), terminal::line(value));
    lines.iter().map(row).collect()
}

/// Text in place of the solver of a baseline, which has none.
pub const BASELINE_SOLVER: &str = "none (baseline iteration)";

/// The name of a solver; `None` for baselines.
pub fn solver_name(method: Method, solver: Solver) -> Option<&'static str> {
    (!is_baseline(method)).then(|| solver.name())
}

/// The solver of a model in reports.
pub fn solver_text(model: &Model) -> String {
    solver_name(model.method(), model.solver()).unwrap_or(BASELINE_SOLVER).to_string()
}

/// The certificate of a model in reports: convergence, sine bound and residual, without figures that are NaN.
pub fn certificate_text(certificate: &Certificate) -> String {
    let state = if certificate.converged { "converged" } else { "NOT converged" };
    let bounds = [("sine bound", certificate.sine_bound), ("residual", certificate.residual)];
    let figures: Vec<String> =
        bounds.iter().filter(|(_, x)| !x.is_nan()).map(|(name, x)| format!("{name} {x:.1e}")).collect();
    if figures.is_empty() { state.to_string() } else { format!("{state}: {}", figures.join(", ")) }
}

/// A number with four significant digits; `-` if it is not finite.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".into()
    } else if x.is_finite() && (1e-3..1e6).contains(&size) {
        let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
        format!("{x:.decimals$}")
    } else if x.is_finite() {
        format!("{x:.2e}")
    } else {
        "-".into()
    }
}

/// A fraction as a percentage; `-` if it is not finite.
pub fn percent(fraction: f64) -> String {
    if fraction.is_finite() { format!("{:.2} %", 100.0 * fraction) } else { "-".into() }
}

/// A number of bytes with a binary unit.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.123456), "0.1235");
        assert_eq!(number(123456.7), "123457");
        assert_eq!(number(-2.5e-9), "-2.50e-9");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 40), "3.0 TiB");
    }

    #[test]
    fn certificate_text_omits_nan() {
        let text = |residual, sine_bound, converged| certificate_text(&Certificate { residual, sine_bound, converged });
        assert_eq!(text(1e-8, 2e-7, true), "converged: sine bound 2.0e-7, residual 1.0e-8");
        assert_eq!(text(3e-4, f64::NAN, false), "NOT converged: residual 3.0e-4");
        assert_eq!(text(f64::NAN, f64::NAN, true), "converged");
    }

    #[test]
    fn values_are_aligned() {
        assert_eq!(key_value_lines(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2\n");
    }
}
