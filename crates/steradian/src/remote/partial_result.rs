//! A partial result: the accumulator of consecutive rows, serialized for another process or a file.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::codec::{from_bytes, size_in_bytes, split_bytes, to_bytes};
use crate::engine::fold::Fold;
use crate::engine::forest::Forest;
use crate::error::{Error, Result};

/// The sum of some neighbouring rows, and which.
#[derive(Debug, Clone)]
pub struct PartialResult {
    /// The job that it belongs to.
    job: u64,
    rows: Range<usize>,
    content: Arc<PartialContent>,
}

/// What is summed, along which tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum PartialState<S> {
    /// By a grid and a tree of the part's own; parts merge by their order.
    Own(S),
    /// By the cells of the whole data; any cut between cells merges along the tree of the whole.
    Leaves(Forest<S>),
}

impl<S> PartialState<S> {
    /// With the pieces of later rows.
    pub(crate) fn merge<F: Fold<Accumulator = S>>(self, later: Self, fold: &F) -> Result<Self> {
        match (self, later) {
            (Self::Own(left), Self::Own(right)) => Ok(Self::Own(fold.merge(left, right))),
            (Self::Leaves(left), Self::Leaves(right)) => Ok(Self::Leaves(left.join(right, fold)?)),
            _ => Err(Error::invalid_argument(
                "one sum lies on the grid of the whole data and the other does not; sum both parts in the same way"
                    .to_owned(),
            )),
        }
    }

    /// The sum itself, when nothing is missing.
    pub(crate) fn total<F: Fold<Accumulator = S>>(self, fold: &F) -> Result<S> {
        match self {
            Self::Own(sum) => Ok(sum),
            Self::Leaves(forest) => forest.total(fold),
        }
    }
}

/// A sum in memory, or its bytes as long as nobody needed more.
enum PartialContent {
    PartialState(Box<dyn AnyPieces>),
    Bytes(Vec<u8>),
}

impl std::fmt::Debug for PartialContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PartialState(_) => "a sum",
            Self::Bytes(_) => "bytes of a sum",
        })
    }
}

/// Pieces of any fold.
trait AnyPieces: Send + Sync {
    /// After what identifies the sum, so that large ones are written once.
    fn bytes(&self, job: u64, rows: &Range<usize>) -> Result<Vec<u8>>;
    fn size(&self) -> usize;
    fn any(&self) -> &dyn Any;
}

impl<S: Serialize + Send + Sync + 'static> AnyPieces for PartialState<S> {
    fn bytes(&self, job: u64, rows: &Range<usize>) -> Result<Vec<u8>> {
        to_bytes(&(job, rows, self))
    }

    fn size(&self) -> usize {
        size_in_bytes(self)
    }

    fn any(&self) -> &dyn Any {
        self
    }
}

impl PartialResult {
    pub(crate) fn new<F: Fold>(job: u64, rows: Range<usize>, pieces: PartialState<F::Accumulator>) -> Self {
        Self { job, rows, content: Arc::new(PartialContent::PartialState(Box::new(pieces))) }
    }

    /// What was summed by this fold.
    pub(crate) fn pieces<F: Fold>(&self) -> Result<PartialState<F::Accumulator>> {
        match &*self.content {
            PartialContent::PartialState(pieces) => {
                match (**pieces).any().downcast_ref::<PartialState<F::Accumulator>>() {
                    Some(pieces) => Ok(pieces.clone()),
                    None => Err(Error::invalid_argument("a sum belongs to a pass of another kind".to_owned())),
                }
            }
            PartialContent::Bytes(bytes) => from_bytes(bytes, "a sum"),
        }
    }

    /// Refuses a sum of another job.
    pub(crate) fn require_job(&self, job: u64) -> Result<()> {
        if self.job == job {
            return Ok(());
        }
        Err(Error::invalid_argument(
            "a sum belongs to another pass than this job; use sums that were made with one job".to_owned(),
        ))
    }

    /// The rows that are summed.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// About how many bytes it is.
    pub fn size(&self) -> usize {
        match &*self.content {
            PartialContent::PartialState(pieces) => (**pieces).size(),
            PartialContent::Bytes(bytes) => bytes.len(),
        }
    }

    /// The sum as bytes, for a file or another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match &*self.content {
            PartialContent::PartialState(pieces) => (**pieces).bytes(self.job, &self.rows),
            PartialContent::Bytes(content) => Ok([&to_bytes(&(self.job, &self.rows))?[..], content].concat()),
        }
    }

    /// What [`PartialResult::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let ((job, rows), content) = split_bytes(bytes, "a sum")?;
        Ok(Self { job, rows, content: Arc::new(PartialContent::Bytes(content.to_vec())) })
    }
}
