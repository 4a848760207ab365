//! Row operations: the views between the rows of a cluster and a pass, as steps that the workers repeat.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::row_map::RowMap;
use crate::data::source::{Source, View};
use crate::data::view::{MappedSource, OffsetSource, SubsetSource};
use crate::error::{Error, Result};

/// One view of the preceding rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum RowOp<'a> {
    /// Selection of these samples, in ascending order; their indices start from 0 again.
    Select(Cow<'a, [usize]>),
    /// A transform of each sample by itself.
    Map(RowMap<'a>),
}

/// The steps from `root` to a source that consists of views of it; an error if other processes cannot repeat them.
pub(super) fn steps<'a>(source: &'a dyn Source, root: &dyn Source) -> Result<Vec<RowOp<'a>>> {
    let (of, step) = match source.view() {
        View::Own if std::ptr::addr_eq(source, root) => return Ok(Vec::new()),
        View::Subset(of, samples) if samples.is_sorted() => (of, RowOp::Select(Cow::Borrowed(samples))),
        View::Mapped(of, map) => (of, RowOp::Map(map.clone())),
        _ => {
            return Err(Error::invalid_parameter(
                "cells",
                "the fit reads samples that were transformed in this process, which others cannot repeat; use cells = keep, or \
                 fit on one machine",
            ));
        }
    };
    let mut all = steps(of, root)?;
    all.push(step);
    Ok(all)
}

/// Calls `work` with the source that results from applying the steps to a part of the data, whose first row is sample
/// `first`.
pub(super) fn apply(
    steps: &[RowOp<'_>],
    part: &dyn Source,
    first: usize,
    work: &mut dyn FnMut(&dyn Source) -> Result<()>,
) -> Result<()> {
    match steps.split_first() {
        None => work(part),
        Some((RowOp::Map(map), rest)) => apply(rest, &MappedSource::new(part, map.clone()), first, work),
        Some((RowOp::Select(samples), rest)) => {
            let before = samples.partition_point(|sample| *sample < first);
            let own = samples[before..].iter().take_while(|sample| **sample < first + part.shape().samples);
            let subset = SubsetSource::new(part, own.map(|sample| sample - first).collect());
            apply(rest, &OffsetSource::new(&subset, before), before, work)
        }
    }
}
