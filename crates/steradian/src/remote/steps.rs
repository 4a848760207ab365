//! Row operations: the views between the rows of a cluster and a pass, as steps that the workers repeat.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{bounded, inconsistent};
use crate::data::row_map::RowMap;
use crate::data::source::{Shape, Source, View};
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

/// Largest number of steps that are read from bytes; a fit has at most a few.
const MAX_STEPS: usize = 16;

/// Steps as they are read from bytes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct ReadSteps(#[serde(deserialize_with = "bounded::<MAX_STEPS, _, _>")] Vec<RowOp<'static>>);

impl ReadSteps {
    /// The steps, if each selects samples in ascending order.
    pub(super) fn checked(self) -> Result<Vec<RowOp<'static>>> {
        let unordered = |step: &RowOp<'_>| matches!(step, RowOp::Select(samples) if !samples.is_sorted());
        if self.0.iter().any(unordered) {
            return Err(inconsistent("it selects samples that are not in ascending order"));
        }
        Ok(self.0)
    }
}

/// The indices that samples of the rows of the data have after some steps.
pub(super) fn indices_after(steps: &[RowOp<'_>], rows: Range<usize>) -> Range<usize> {
    steps.iter().fold(rows, |rows, step| match step {
        RowOp::Map(_) => rows,
        RowOp::Select(samples) => {
            let place = |row: usize| samples.partition_point(|sample| *sample < row);
            place(rows.start)..place(rows.end)
        }
    })
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
        Some((RowOp::Map(map), rest)) => {
            let Shape { samples, features, .. } = part.shape();
            map.check(*features, first + samples)?;
            apply(rest, &MappedSource::new(part, map.clone()), first, work)
        }
        Some((RowOp::Select(samples), rest)) => {
            let before = samples.partition_point(|sample| *sample < first);
            let own = samples[before..].iter().take_while(|sample| **sample < first + part.shape().samples);
            let subset = SubsetSource::new(part, own.map(|sample| sample - first).collect());
            apply(rest, &OffsetSource::new(&subset, before), before, work)
        }
    }
}
