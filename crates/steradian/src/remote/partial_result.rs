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
pub struct Sum {
    /// The job that it belongs to.
    job: u64,
    rows: Range<usize>,
    content: Arc<Content>,
}

/// What is summed, along which tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Pieces<S> {
    /// By a grid and a tree of the part's own; parts merge by their order.
    Own(S),
    /// By the cells of the whole data; any cut between cells merges along the tree of the whole.
    Cells(Forest<S>),
}

impl<S> Pieces<S> {
    /// With the pieces of later rows.
    pub(crate) fn merge<F: Fold<Sum = S>>(self, later: Self, fold: &F) -> Result<Self> {
        match (self, later) {
            (Self::Own(left), Self::Own(right)) => Ok(Self::Own(fold.merge(left, right))),
            (Self::Cells(left), Self::Cells(right)) => Ok(Self::Cells(left.join(right, fold)?)),
            _ => Err(Error::asked(
                "one sum lies on the grid of the whole data and the other does not; sum both parts in the same way"
                    .to_owned(),
            )),
        }
    }

    /// The sum itself, when nothing is missing.
    pub(crate) fn total<F: Fold<Sum = S>>(self, fold: &F) -> Result<S> {
        match self {
            Self::Own(sum) => Ok(sum),
            Self::Cells(forest) => forest.total(fold),
        }
    }
}

/// A sum in memory, or its bytes as long as nobody needed more.
enum Content {
    Pieces(Box<dyn AnyPieces>),
    Bytes(Vec<u8>),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pieces(_) => "a sum",
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

impl<S: Serialize + Send + Sync + 'static> AnyPieces for Pieces<S> {
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

impl Sum {
    pub(crate) fn new<F: Fold>(job: u64, rows: Range<usize>, pieces: Pieces<F::Sum>) -> Self {
        Self { job, rows, content: Arc::new(Content::Pieces(Box::new(pieces))) }
    }

    /// What was summed by this fold.
    pub(crate) fn pieces<F: Fold>(&self) -> Result<Pieces<F::Sum>> {
        match &*self.content {
            Content::Pieces(pieces) => match (**pieces).any().downcast_ref::<Pieces<F::Sum>>() {
                Some(pieces) => Ok(pieces.clone()),
                None => Err(Error::asked("a sum belongs to a pass of another kind".to_owned())),
            },
            Content::Bytes(bytes) => from_bytes(bytes, "a sum"),
        }
    }

    /// Refuses a sum of another job.
    pub(crate) fn require_job(&self, job: u64) -> Result<()> {
        if self.job == job {
            return Ok(());
        }
        Err(Error::asked(
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
            Content::Pieces(pieces) => (**pieces).size(),
            Content::Bytes(bytes) => bytes.len(),
        }
    }

    /// The sum as bytes, for a file or another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match &*self.content {
            Content::Pieces(pieces) => (**pieces).bytes(self.job, &self.rows),
            Content::Bytes(content) => Ok([&to_bytes(&(self.job, &self.rows))?[..], content].concat()),
        }
    }

    /// What [`Sum::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let ((job, rows), content) = split_bytes(bytes, "a sum")?;
        Ok(Self { job, rows, content: Arc::new(Content::Bytes(content.to_vec())) })
    }
}
