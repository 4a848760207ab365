//! How a source is made of rows that lie elsewhere, in a form that can be sent to where they lie.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::data::source::Source;
use crate::data::view::{Changed, Picked, Placed};
use crate::error::Result;
use crate::fit::component_count::Flips;

/// What becomes of rows before they are summed, step by step; by default nothing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Recipe<'a>(Vec<Step<'a>>);

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Step<'a> {
    /// Only these samples, in ascending order; they are numbered anew.
    Pick(Cow<'a, [usize]>),
    Change(Change<'a>),
}

/// A change of every sample by itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Change<'a> {
    /// Each feature divided by its scale.
    Divided(Cow<'a, [f64]>),
    /// How far each feature is from a point.
    Away(Cow<'a, [f64]>),
    /// Signs drawn anew.
    Flipped(Flips<'a>),
}

impl Change<'_> {
    /// Changes sample number `sample` of all.
    pub(crate) fn apply(&self, sample: usize, row: &mut [f64]) {
        match self {
            Self::Divided(scale) => row.iter_mut().zip(scale.iter()).for_each(|(x, s)| *x /= s),
            Self::Away(point) => row.iter_mut().zip(point.iter()).for_each(|(x, m)| *x = (*x - m).abs()),
            Self::Flipped(flips) => flips.apply(sample, row),
        }
    }
}

impl<'a> Recipe<'a> {
    /// Whether rows are summed as they are.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// These steps, then some of the samples; `None` where their order is not that of the data.
    pub(crate) fn then_pick(mut self, samples: &'a [usize]) -> Option<Self> {
        self.0.push(Step::Pick(Cow::Borrowed(samples)));
        samples.is_sorted().then_some(self)
    }

    /// These steps, then a change.
    pub(crate) fn then_change(mut self, change: Change<'a>) -> Self {
        self.0.push(Step::Change(change));
        self
    }

    /// Hands `work` the source that these steps make of a part of the data, whose first sample is number `first`.
    pub(crate) fn apply(
        &self,
        part: &dyn Source,
        first: usize,
        work: &mut dyn FnMut(&dyn Source) -> Result<()>,
    ) -> Result<()> {
        apply(&self.0, part, first, work)
    }
}

fn apply(
    steps: &[Step<'_>],
    part: &dyn Source,
    first: usize,
    work: &mut dyn FnMut(&dyn Source) -> Result<()>,
) -> Result<()> {
    match steps.split_first() {
        None => work(part),
        Some((Step::Change(change), rest)) => apply(rest, &Changed::new(part, change.clone()), first, work),
        Some((Step::Pick(samples), rest)) => {
            let before = samples.partition_point(|sample| *sample < first);
            let own = samples[before..].iter().take_while(|sample| **sample < first + part.shape().samples);
            let picked = Picked::new(part, own.map(|sample| sample - first).collect());
            apply(rest, &Placed::new(&picked, before), before, work)
        }
    }
}
