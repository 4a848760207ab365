//! The identity of a fit: data, parameters and program, field by field, by which a checkpoint is matched to its fit.

use std::hash::Hasher;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::Plan;
use crate::codec::{digest, hasher};
use crate::config::options::Center;
use crate::data::block::each_element;
use crate::data::element::Element;
use crate::data::source::Source;
use crate::error::{Error, Result};
use crate::model::file;
use crate::numeric::random::{Stream, subsample};

/// The largest number of evenly spaced rows in the fingerprint, the first and the last among them.
const EVEN_ROWS: usize = 64;
/// The largest number of random rows in the fingerprint; the seed is fixed.
const RANDOM_ROWS: usize = 64;
/// Rows of a mask that are read at a time.
const MASK_ROWS: usize = 256;
/// Fact that is not compared: a copy has another one.
const INODE: &str = "inode";
/// Values longer than this are not quoted in messages.
const QUOTED: usize = 40;

/// Properties of the file or folder of the data that change with its content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// Size in bytes; of a folder, the total of its files.
    pub bytes: u64,
    /// Time of modification since 1970, where the file system stores it.
    pub modified: Option<Duration>,
    /// Checksum of names, sizes and times of the files of a folder.
    pub listing: Option<u32>,
    /// Number of the file in its file system.
    pub inode: Option<u64>,
}

/// The data, parameters and program of a fit. Threads and memory are not part of it: they may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitIdentity(Vec<(String, String)>);

impl FitIdentity {
    /// Of a fit that runs `solver`, to data in a file where there is one. Reads a few rows.
    ///
    /// # Errors
    /// Those of the source.
    pub fn new(plan: &Plan, source: &dyn Source, file: Option<&FileStamp>) -> Result<Self> {
        let (config, shape) = (plan.request.given(), source.shape());
        let mut facts: Vec<(String, String)> = [
            ("version of steradian", env!("CARGO_PKG_VERSION").to_owned()),
            ("instruction set", format!("{:?}", pulp::Arch::new()).split('(').next().unwrap_or_default().to_owned()),
            ("samples", shape.samples.to_string()),
            ("features", shape.features.to_string()),
            ("element type", shape.element.name().to_owned()),
            ("image size", shape.image.map_or("none".to_owned(), |(height, width)| format!("{height} x {width}"))),
            ("file size", file.map_or("none".to_owned(), |file| format!("{} bytes", file.bytes))),
            ("method", config.method.name().to_owned()),
            ("seed", config.seed.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let parameters = file::parameters(config, None).into_iter().map(|(name, value)| (name, text(&value)));
        facts.extend(parameters.collect::<std::collections::BTreeMap<_, _>>());
        if let Center::Given(point) = &config.center {
            facts.push(("the numbers of the given center".to_owned(), hex(digest(point))));
        }
        facts.push(("the solver that runs".to_owned(), plan.solver.name().to_owned()));
        facts.push(("the fingerprint of sampled rows".to_owned(), hex(fingerprint(source)?)));
        // After the rows, which are better evidence where they differ.
        if let Some(file) = file {
            let modified = file.modified.map(|time| format!("{}.{:09} s", time.as_secs(), time.subsec_nanos()));
            let listing = file.listing.map(|checksum| format!("{checksum:08x}"));
            let inode = file.inode.map(|number| number.to_string());
            for (name, value) in [
                ("the time of modification of the data", modified),
                ("the checksum of names, sizes and times of the files", listing),
                (INODE, inode),
            ] {
                facts.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        Ok(Self(facts))
    }

    /// With the rows of the data that take part, of a fit to some of them.
    #[must_use]
    pub fn with_rows(mut self, rows: &[usize]) -> Self {
        self.0.push(("the rows that take part".to_owned(), hex(digest(rows))));
        self
    }

    /// With the mask of missing cells; reads all of it.
    ///
    /// # Errors
    /// Those of the source of the mask.
    pub fn with_mask(mut self, mask: &dyn Source) -> Result<Self> {
        let samples = mask.shape().samples;
        let mut hasher = hasher();
        for start in (0..samples).step_by(MASK_ROWS) {
            mask.visit(start..samples.min(start + MASK_ROWS), &mut |block| {
                each_element!(block, data => for row in 0..data.rows() {
                    let marks: Vec<u8> = (0..data.columns()).map(|column| data.get(row, column).widen() as u8).collect();
                    hasher.write(&marks);
                });
                Ok(())
            })?;
        }
        self.0.push(("the mask of missing cells".to_owned(), hex(hasher.finish())));
        Ok(self)
    }

    /// As text, for the head of a file.
    ///
    /// # Errors
    /// If the text cannot be serialized.
    pub fn to_text(&self) -> Result<String> {
        serde_json::to_string(&self.0).map_err(|e| Error::invalid_argument(format!("cannot be written as text: {e}")))
    }

    /// Reads the text of [`FitIdentity::to_text`].
    ///
    /// # Errors
    /// For other text.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|e| Error::invalid_data(format!("not the data and parameters of a checkpoint: {e}")))
    }

    /// True if the data are another file now, which [`FitIdentity::difference`] permits: a copy with the same size, time of
    /// modification and sampled rows.
    pub fn is_of_another_file(&self, now: &Self) -> bool {
        let inode = |facts: &[(String, String)]| facts.iter().find(|(name, _)| name == INODE).cloned();
        inode(&self.0) != inode(&now.0)
    }

    /// The first difference between the fit of a checkpoint and the fit `now` that would resume it, in words. A file of
    /// equal size and sampled rows that was modified since is a difference: its other rows may have changed.
    pub fn difference(&self, now: &Self) -> Option<String> {
        let find = |facts: &[(String, String)], name: &str| {
            let found = facts.iter().find(|(other, _)| other == name);
            found.map_or("not set".to_owned(), |(_, value)| value.clone())
        };
        let names = self.0.iter().chain(&now.0).map(|(name, _)| name).filter(|name| *name != INODE);
        names.map(|name| (name, find(&self.0, name), find(&now.0, name))).find(|(_, then, now)| then != now).map(
            |(name, then, now)| match then.len().max(now.len()) > QUOTED {
                true => format!("{name} was another one"),
                false => format!("{name} was {then} and is {now} now"),
            },
        )
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

/// A digest of the numbers of a few rows: evenly spaced ones and random ones, which a regular change does not miss.
fn fingerprint(source: &dyn Source) -> Result<u64> {
    let samples = source.shape().samples;
    let count = samples.min(EVEN_ROWS);
    let mut rows: Vec<usize> = (0..count).map(|i| i * (samples - 1) / (count - 1).max(1)).collect();
    rows.extend(subsample(samples, RANDOM_ROWS, 0, Stream::Fingerprint));
    rows.sort_unstable();
    rows.dedup();
    source.prefetch(&rows)?;
    source.advise_access(&[], 0);
    let mut hasher = hasher();
    for row in rows {
        source.visit(row..row + 1, &mut |block| {
            each_element!(block, data => {
                for column in 0..data.columns() {
                    hasher.write(&data.get(0, column).widen().to_bits().to_le_bytes());
                }
            });
            Ok(())
        })?;
    }
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::method::Method;
    use crate::config::options::Solver;
    use crate::data::slice::SliceSource;

    fn origin(data: &[f64], features: usize, config: &Config, bytes: Option<u64>) -> FitIdentity {
        let file = bytes.map(|bytes| FileStamp { bytes, ..FileStamp::default() });
        stamped(data, features, config, file.as_ref())
    }

    fn stamped(data: &[f64], features: usize, config: &Config, file: Option<&FileStamp>) -> FitIdentity {
        let source = SliceSource::new(data, data.len() / features, features).unwrap();
        FitIdentity::new(&Plan::for_source(config, &source, 1).unwrap(), &source, file).unwrap()
    }

    #[test]
    fn a_modified_file_is_a_difference_and_a_copy_is_none() {
        let data: Vec<f64> = (0..7000).map(f64::from).collect();
        let config = Config::new(Method::Ae, 2);
        let modified = |seconds, nanoseconds| Some(Duration::new(seconds, nanoseconds));
        let file = FileStamp { bytes: 56_000, modified: modified(1_700_000_000, 5), listing: None, inode: Some(7) };
        let of = |file: &FileStamp| stamped(&data, 7, &config, Some(file));
        let then = of(&file);
        assert!(then.difference(&of(&file)).is_none() && !then.is_of_another_file(&of(&file)));
        let copy = of(&FileStamp { inode: Some(8), ..file.clone() });
        assert!(then.difference(&copy).is_none() && then.is_of_another_file(&copy));
        for later in [modified(1_700_000_000, 6), modified(1_700_000_001, 5), None] {
            let said = then.difference(&of(&FileStamp { modified: later, ..file.clone() })).unwrap();
            assert!(said.contains("the time of modification of the data was 1700000000.000000005 s and is"), "{said}");
        }
        let said = then.difference(&of(&FileStamp { listing: Some(3), ..file })).unwrap();
        assert!(said.contains("names, sizes and times of the files was not set and is 00000003 now"), "{said}");
    }

    #[test]
    fn a_difference_is_named() {
        let data: Vec<f64> = (0..600).map(|i| f64::from(i * i % 17)).collect();
        let config = Config::new(Method::Tae, 5).with_solver(Solver::Krylov);
        let then = origin(&data, 6, &config, Some(4800));
        assert_eq!(then.difference(&origin(&data, 6, &config, Some(4800))), None);
        assert_eq!(FitIdentity::from_text(&then.to_text().unwrap()).unwrap(), then);
        let differs = |now: FitIdentity, words: &str| {
            let said = then.difference(&now).unwrap();
            assert!(said.contains(words), "{said}");
            assert!(now.difference(&then).is_some());
        };
        differs(origin(&data, 5, &config, Some(4800)), "samples was 100 and is 120 now");
        differs(origin(&data, 6, &config, Some(4801)), "file size was 4800 bytes and is 4801 bytes now");
        differs(
            origin(&data, 6, &Config::new(Method::Tae, 6).with_solver(Solver::Krylov), Some(4800)),
            "n_components was 5 and is 6 now",
        );
        differs(
            origin(&data, 6, &Config::new(Method::Angular, 5).with_solver(Solver::Krylov), Some(4800)),
            "method was tae and is angular now",
        );
        differs(origin(&data, 6, &Config { seed: 3, ..config.clone() }, Some(4800)), "seed was 0 and is 3 now");
        let given = |x: f64| Config { center: Center::Given(vec![x; 6]), ..config.clone() };
        let said = origin(&data, 6, &given(1.0), None).difference(&origin(&data, 6, &given(2.0), None)).unwrap();
        assert!(said.contains("numbers of the given center"), "{said}");
    }

    #[test]
    fn other_rows_and_other_masks_are_differences() {
        let data: Vec<f64> = (0..600).map(f64::from).collect();
        let of = || origin(&data, 6, &Config::new(Method::Ae, 2), None);
        let rows = |rows: &[usize]| of().with_rows(rows);
        assert_eq!(rows(&[1, 2]).difference(&rows(&[1, 2])), None);
        for other in [rows(&[1, 3]), of()] {
            let said = rows(&[1, 2]).difference(&other).unwrap();
            assert!(said.contains("the rows that take part was"), "{said}");
        }
        let masked = |marked: Option<usize>| {
            let mut marks = vec![0u8; 300 * 2];
            marked.into_iter().for_each(|i| marks[i] = 1);
            of().with_mask(&SliceSource::new(&marks, 300, 2).unwrap()).unwrap()
        };
        assert_eq!(masked(Some(599)).difference(&masked(Some(599))), None);
        for other in [masked(None), masked(Some(598)), of()] {
            let said = masked(Some(599)).difference(&other).unwrap();
            assert!(said.contains("the mask of missing cells was"), "{said}");
        }
    }

    #[test]
    fn the_fingerprint_does_not_depend_on_the_compiler() {
        let data: Vec<f64> = (0..600).map(|i| f64::from(i * i % 17)).collect();
        let source = SliceSource::new(&data, 100, 6).unwrap();
        assert_eq!(fingerprint(&source).unwrap(), 0x81a1_1a45_f755_2734);
    }

    #[test]
    fn one_number_in_a_sampled_row_is_enough() {
        let data: Vec<f64> = (0..70_000).map(f64::from).collect();
        let then = origin(&data, 7, &Config::new(Method::Ae, 2), None);
        for row in [0, 9_999 * 32 / 63, 9_999] {
            let mut other = data.clone();
            other[row * 7 + 3] += 0.5;
            let said = then.difference(&origin(&other, 7, &Config::new(Method::Ae, 2), None)).unwrap();
            assert!(said.contains("fingerprint of sampled rows"), "{said}");
        }
    }
}
