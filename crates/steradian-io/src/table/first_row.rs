//! Detection of a header of numbers, such as wavelengths: a first row that rises or falls steadily, unlike most others.

/// Number of columns from which on a steady row is no coincidence.
const MIN_COLUMNS: usize = 6;
/// Number of columns from which on a row of equal steps is no coincidence.
const MIN_EVEN_COLUMNS: usize = 3;
/// Largest relative difference of equal steps, which are rounded in text.
const EVEN: f64 = 1e-6;

/// Largest fraction of the other rows that rise or fall steadily by chance.
const CHANCE: f64 = 0.1;

/// The first row of a table compared with the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct FirstRow {
    rows: usize,
    /// Values of the first and the last column, if the row may be a header.
    ends: Option<[f64; 2]>,
    /// True if the row has equal steps.
    even: bool,
    /// Number of other rows that may be a header as well.
    others: usize,
}

impl FirstRow {
    /// Compares the next row of the table.
    pub(crate) fn compare(&mut self, row: &[f64]) {
        if self.rows == 0 {
            self.even = row.len() >= MIN_EVEN_COLUMNS && is_even(row);
            let long = self.even || row.len() >= MIN_COLUMNS;
            self.ends = (long && is_steady(row)).then(|| [row[0], row[row.len() - 1]]);
        } else if self.ends.is_some() {
            self.others += usize::from(is_steady(row) && (!self.even || is_even(row)));
        }
        self.rows += 1;
    }

    /// Values of the first and the last column, if the first row looks like a header of numbers.
    pub(crate) fn number_header(self) -> Option<[f64; 2]> {
        self.ends.filter(|_| self.rows > 2 && self.others as f64 <= CHANCE * (self.rows - 1) as f64)
    }
}

/// True if the values rise or fall strictly.
fn is_steady(row: &[f64]) -> bool {
    let all = |holds: fn(f64, f64) -> bool| row.windows(2).all(|pair| holds(pair[0], pair[1]));
    all(|a, b| a < b) || all(|a, b| a > b)
}

fn is_even(row: &[f64]) -> bool {
    let step = (row[row.len() - 1] - row[0]) / (row.len() - 1) as f64;
    row.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() <= EVEN * step.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(rows: &[&[f64]]) -> Option<[f64; 2]> {
        let mut first = FirstRow::default();
        rows.iter().for_each(|row| first.compare(row));
        first.number_header()
    }

    #[test]
    fn a_first_row_of_wavelengths_differs_from_the_others() {
        let [a, b]: [&[f64]; 2] = [&[0.1, 0.3, 0.2, 0.5, 0.4, 0.6], &[1.0, 3.0, 2.0, 5.0, 4.0, 6.0]];
        assert_eq!(header(&[&[1100.0, 1102.0, 1105.0, 1106.0, 1110.0, 1112.0], a, b]), Some([1100.0, 1112.0]));
        assert_eq!(header(&[&[9.0, 8.0, 6.0, 4.0, 2.0, 1.0], a, b]), Some([9.0, 1.0]));
        assert_eq!(header(&[&[2018.0, 2019.0, 2020.0], &a[..3], &b[..3]]), Some([2018.0, 2020.0]));
        // Equal steps differ from other steady rows, and a few rows of many are steady by chance.
        assert_eq!(header(&[&[1.0, 2.0, 3.0], &[1.0, 2.5, 3.0], &[4.0, 7.0, 9.0]]), Some([1.0, 3.0]));
        let mut many: Vec<&[f64]> = vec![a; 40];
        (many[0], many[7]) = (&[1.0, 2.0, 4.0, 5.0, 8.0, 9.0], &[1.0, 2.0, 4.0, 5.0, 7.0, 9.0]);
        assert_eq!(header(&many), Some([1.0, 9.0]));
        assert_eq!(header(&many[..9]), None);
        // Short rows rise by chance, and sorted columns make every row rise.
        assert_eq!(header(&[&[1.0, 2.0, 4.0], &a[..3], &b[..3]]), None);
        assert_eq!(header(&[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], a, &[1.0, 2.0, 3.0, 5.0, 6.0, 7.0]]), None);
        assert_eq!(header(&[&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], a]), None);
        assert_eq!(header(&[a, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], b]), None);
        assert_eq!(header(&[&[1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0], a, b]), None);
        assert_eq!((header(&[]), header(&[&[1.0], &[2.0], &[0.0]])), (None, None));
    }
}
