//! Output of commands: tables, numbers, JSON. Everything goes through [`print`], which handles closed pipes.

use std::io::Write;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::Value;
use steradian::{Certificate, Error, Method, Model, Solver};
use steradian_baselines::is_baseline;

use crate::outcome::{CommandError, Outcome};

/// Writes to standard output.
pub fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CommandError::ClosedPipe,
        _ => Error::io("standard output", e).into(),
    })
}

/// Prints one json value on one line.
pub fn print_json(value: &Value) -> Outcome {
    print(&format!("{value}\n"))
}

/// One line under the header, no other.
const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table with a header; all columns but the first are aligned to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(RULED).force_no_tty().set_header(header.to_vec()).add_rows(rows.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", table.trim_fmt())
}

/// Lines of a name and what it is, in two columns.
pub fn key_value_lines(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect()
}

/// The name of a solver; none for baselines, which iterate on their own.
pub fn solver_name(method: Method, solver: Solver) -> Option<&'static str> {
    (!is_baseline(method)).then(|| solver.name())
}

/// The solver of a model, for people.
pub fn solver_text(model: &Model) -> String {
    solver_name(model.method(), model.solver()).unwrap_or("its own iteration").to_string()
}

/// How sure a model is, for people; what its method has no word for is left out.
pub fn certificate_text(certificate: &Certificate) -> String {
    let reached = if certificate.converged { "converged" } else { "NOT converged" };
    let known = [("sine at most", certificate.sine_bound), ("residual", certificate.residual)];
    let said: Vec<String> =
        known.iter().filter(|(_, x)| !x.is_nan()).map(|(what, x)| format!("{what} {x:.1e}")).collect();
    if said.is_empty() { reached.to_string() } else { format!("{reached}: {}", said.join(", ")) }
}

/// Four significant digits.
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

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", 100.0 * share) } else { "-".into() }
}

/// Bytes in the unit that suits them.
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
    fn a_certificate_says_what_is_known() {
        let words =
            |residual, sine_bound, converged| certificate_text(&Certificate { residual, sine_bound, converged });
        assert_eq!(words(1e-8, 2e-7, true), "converged: sine at most 2.0e-7, residual 1.0e-8");
        assert_eq!(words(3e-4, f64::NAN, false), "NOT converged: residual 3.0e-4");
        assert_eq!(words(f64::NAN, f64::NAN, true), "converged");
    }

    #[test]
    fn facts_line_up() {
        assert_eq!(key_value_lines(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2\n");
    }
}
