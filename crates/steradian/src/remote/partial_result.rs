//! A partial result: the accumulator of consecutive rows, which can be serialized for another process or a file.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::codec::{from_bytes, inconsistent, size_in_bytes, split_bytes, to_bytes};
use crate::engine::fold::Fold;
use crate::engine::forest::Forest;
use crate::error::{Error, Result};

/// The accumulator of consecutive rows, and their range.
#[derive(Debug, Clone)]
pub struct PartialResult {
    /// Digest of the job.
    job: u64,
    rows: Range<usize>,
    content: Arc<PartialContent>,
}

/// Accumulators of some rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum PartialState<A> {
    /// The total of a part on its own grid and tree; parts are merged in order.
    Own(A),
    /// Leaves on the grid of all data, which are merged along its tree.
    Leaves(Forest<A>),
}

impl<A> PartialState<A> {
    /// Rejects a state that is not one of this fold over the samples with these indices.
    fn check<F: Fold<Accumulator = A>>(&self, fold: &F, samples: &Range<usize>) -> Result<()> {
        match self {
            Self::Own(total) => fold.check_accumulator(total, samples),
            Self::Leaves(forest) => {
                forest.check(fold)?;
                match forest.covers(samples) {
                    true => Ok(()),
                    false => Err(inconsistent(format!("its leaves are not those of the samples {samples:?}"))),
                }
            }
        }
    }

    /// Merges with the state of later rows.
    pub(crate) fn merge<F: Fold<Accumulator = A>>(self, later: Self, fold: &F) -> Result<Self> {
        match (self, later) {
            (Self::Own(left), Self::Own(right)) => Ok(Self::Own(fold.merge(left, right))),
            (Self::Leaves(left), Self::Leaves(right)) => Ok(Self::Leaves(left.join(right, fold)?)),
            _ => Err(Error::invalid_argument(
                "cannot merge a partial result on the grid of all data with one on its own grid; compute both in the \
                 same way",
            )),
        }
    }

    /// The total; an error if leaves are missing.
    pub(crate) fn total<F: Fold<Accumulator = A>>(self, fold: &F) -> Result<A> {
        match self {
            Self::Own(total) => Ok(total),
            Self::Leaves(forest) => forest.total(fold),
        }
    }
}

/// An accumulator in memory, or its bytes, which are decoded on use.
enum PartialContent {
    State(Box<dyn AnyPartialState>),
    Bytes(Vec<u8>),
}

impl std::fmt::Debug for PartialContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::State(_) => "an accumulator",
            Self::Bytes(_) => "bytes of an accumulator",
        })
    }
}

/// The state of a partial result of any fold.
trait AnyPartialState: Send + Sync {
    /// Serializes job, rows and state together, so that a large state is written once.
    fn bytes(&self, job: u64, rows: &Range<usize>) -> Result<Vec<u8>>;
    fn n_bytes(&self) -> usize;
    fn any(&self) -> &dyn Any;
}

impl<A: Serialize + Send + Sync + 'static> AnyPartialState for PartialState<A> {
    fn bytes(&self, job: u64, rows: &Range<usize>) -> Result<Vec<u8>> {
        to_bytes(&(job, rows, self))
    }

    fn n_bytes(&self) -> usize {
        size_in_bytes(self)
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl PartialResult {
    pub(crate) fn new<F: Fold>(job: u64, rows: Range<usize>, state: PartialState<F::Accumulator>) -> Self {
        Self { job, rows, content: Arc::new(PartialContent::State(Box::new(state))) }
    }

    /// The state, if it is one of this fold over the samples with these indices.
    pub(crate) fn state<F: Fold>(&self, fold: &F, samples: &Range<usize>) -> Result<PartialState<F::Accumulator>> {
        let state = match &*self.content {
            PartialContent::State(state) => match (**state).any().downcast_ref::<PartialState<F::Accumulator>>() {
                Some(state) => state.clone(),
                None => {
                    return Err(Error::invalid_argument(
                        "the partial result belongs to a pass of another kind; use one of this job",
                    ));
                }
            },
            PartialContent::Bytes(bytes) => from_bytes(bytes, "a partial result")?,
        };
        state.check(fold, samples)?;
        Ok(state)
    }

    /// Rejects a partial result of another job.
    pub(crate) fn require_job(&self, job: u64) -> Result<()> {
        if self.job == job {
            return Ok(());
        }
        Err(Error::invalid_argument(
            "the partial result belongs to another pass than this job; use partial results of one job",
        ))
    }

    /// The range of its rows.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Approximate size in bytes.
    pub fn n_bytes(&self) -> usize {
        match &*self.content {
            PartialContent::State(state) => (**state).n_bytes(),
            PartialContent::Bytes(bytes) => bytes.len(),
        }
    }

    /// Serializes the partial result, for a file or another process.
    ///
    /// # Errors
    /// If the accumulator cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match &*self.content {
            PartialContent::State(state) => (**state).bytes(self.job, &self.rows),
            PartialContent::Bytes(content) => Ok([&to_bytes(&(self.job, &self.rows))?[..], content].concat()),
        }
    }

    /// Reads the bytes of [`PartialResult::to_bytes`].
    ///
    /// # Errors
    /// For bytes that are no partial result.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let ((job, rows), content): ((u64, Range<usize>), _) = split_bytes(bytes, "a partial result")?;
        if rows.start > rows.end || rows.end > usize::MAX / 4 {
            return Err(inconsistent(format!("its rows are {rows:?}")));
        }
        Ok(Self { job, rows, content: Arc::new(PartialContent::Bytes(content.to_vec())) })
    }
}
