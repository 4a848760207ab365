//! A job: a fold and the row transforms before it, serialized for other processes, and the merge of their partial
//! results.
//!
//! Any process with some rows of the data and a [`Job`] can compute their [`PartialResult`]. Partial results of
//! adjacent rows can be merged anywhere, and the last one is the input of [`Fold::finish`]. A part has its own grid and
//! tree, so the total depends on the bounds of the parts, but not on threads, machines or retries. Parts that are
//! aligned to the grid of all data can use that grid ([`Job::sum_leaves`]): then the total does not depend on the
//! bounds of the parts, either.

use std::ops::Range;
use std::sync::Arc;

use super::partial_result::PartialResult;
use super::registry::{self, AnyFold};
use super::steps::{ReadSteps, RowOp, apply, indices_after, steps};
use crate::codec::{digest_bytes, split_bytes, to_bytes};
use crate::data::source::Source;
use crate::data::view::OffsetSource;
use crate::engine::fold::Fold;
use crate::engine::local::Local;
use crate::error::{Error, Result};

/// One pass in serializable form: a fold, and the row transforms before it.
///
/// Two machines with one file each, without a cluster: both create the same job and reduce their own rows, and one of
/// them merges the partial results. `examples/merge_by_hand.rs` computes a complete embedding in this way.
///
/// ```
/// use steradian::Local;
/// use steradian::data::ElementType;
/// use steradian::folds::ColumnMeans;
/// use steradian::remote::{Job, PartialResult};
/// # use steradian_io::{NpyWriter, TableOptions, open};
///
/// let folder = std::env::temp_dir().join(format!("steradian-job-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let save = |name: &str, values: &[f64]| -> steradian::Result<()> {
/// #     let mut file = NpyWriter::create(folder.join(name), ElementType::F64, &[values.len() / 2, 2])?;
/// #     file.write(values)?;
/// #     file.finish()
/// # };
/// save("first.npy", &[1.0, 2.0, 3.0, 4.0])?; // rows 0 and 1
/// save("second.npy", &[5.0, 6.0])?; // row 2
///
/// // On each machine: the partial result of its own file, as bytes. A job can be sent as bytes, too: `Job::to_bytes`.
/// let machine = |name: &str, first_row: usize| -> steradian::Result<Vec<u8>> {
///     let part = open(folder.join(name), &TableOptions::default())?;
///     Job::new(&ColumnMeans::new(2, None))?.sum(&part, first_row, &Local::new(0)?)?.to_bytes()
/// };
/// let (first, second) = (machine("first.npy", 0)?, machine("second.npy", 2)?);
///
/// // On one of them: the total over all rows, and the mean.
/// let mean = ColumnMeans::new(2, None);
/// let job = Job::new(&mean)?;
/// let total = job.merge(&PartialResult::from_bytes(&first)?, &PartialResult::from_bytes(&second)?)?;
/// assert_eq!(job.finish(&mean, &total, 3)?, [3.0, 4.0]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), steradian::Error>(())
/// ```
#[derive(Clone)]
pub struct Job<'a> {
    steps: Vec<RowOp<'a>>,
    fold: JobFold<'a>,
    /// Digest of the job, which its partial results carry, so that those of other jobs are rejected.
    id: u64,
}

/// A borrowed fold of this process, or one that was read from bytes.
#[derive(Clone)]
enum JobFold<'a> {
    Borrowed(&'a dyn AnyFold),
    Owned(Arc<dyn AnyFold + Send>),
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("fold", &self.fold().name())
            .field("steps", &self.steps)
            .field("id", &self.id)
            .finish()
    }
}

impl<'a> Job<'a> {
    /// A pass over rows without transforms; an error for a fold that other processes cannot run.
    ///
    /// # Errors
    /// For a fold that other processes cannot run.
    pub fn new<F: Fold>(fold: &'a F) -> Result<Self> {
        Self::after(fold, Vec::new())
    }

    /// A pass over `source`, which is `root`, the rows of other processes, or a view of it.
    pub(super) fn over<F: Fold>(fold: &'a F, source: &'a dyn Source, root: &dyn Source) -> Result<Self> {
        Self::after(fold, steps(source, root)?)
    }

    fn after<F: Fold>(fold: &'a F, steps: Vec<RowOp<'a>>) -> Result<Self> {
        if !registry::contains(F::NAME) {
            return Err(Error::invalid_argument(format!(
                "the pass \"{}\" is not supported by other processes; fit on one machine",
                F::NAME
            )));
        }
        let mut job = Self { steps, fold: JobFold::Borrowed(fold), id: 0 };
        job.id = digest_bytes(&job.to_bytes()?);
        Ok(job)
    }

    fn fold(&self) -> &dyn AnyFold {
        match &self.fold {
            JobFold::Borrowed(fold) => *fold,
            JobFold::Owned(fold) => &**fold,
        }
    }

    /// Serializes the job; [`Job::from_bytes`] reads the bytes in any process with the same version.
    ///
    /// # Errors
    /// If the fold cannot be serialized.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = to_bytes(&(env!("CARGO_PKG_VERSION"), &self.steps, self.fold().name()))?;
        bytes.extend(self.fold().bytes()?);
        Ok(bytes)
    }

    /// The partial result of a part of the data, whose first row is sample `first`.
    ///
    /// # Errors
    /// Those of the fold and of the source.
    pub fn sum(&self, part: &dyn Source, first: usize, runner: &Local) -> Result<PartialResult> {
        let rows = rows_of(part, first)?;
        let indices = indices_after(&self.steps, rows.clone());
        let mut partial = None;
        apply(&self.steps, &OffsetSource::new(part, first), first, &mut |source| {
            self.fold().check_job(source.shape(), &indices)?;
            partial = Some(self.fold().sum(self.id, rows.clone(), source, runner)?);
            Ok(())
        })?;
        Ok(partial.expect("steps call their work once"))
    }

    /// The partial result of a part on the grid of all `samples`. Such partial results merge to a total that is bitwise
    /// identical to that of one machine. Parts must start and end at multiples of [`Job::leaf_rows`], or end with the
    /// data.
    ///
    /// # Errors
    /// For parts that are not aligned to the leaves, for transformed samples, and those of the fold and of the source.
    pub fn sum_leaves(&self, part: &dyn Source, first: usize, samples: usize, runner: &Local) -> Result<PartialResult> {
        if !self.steps.is_empty() {
            return Err(Error::invalid_argument(
                "a pass over transformed or selected samples does not support the grid of all data; reduce each part on \
                 its own grid",
            ));
        }
        let rows = rows_of(part, first)?;
        self.fold().check_job(part.shape(), &rows)?;
        self.fold().sum_leaves(self.id, rows, samples, &OffsetSource::by_sample_index(part, first), runner)
    }

    /// Rows per leaf of this pass, for data of this shape: 256 times a power of 2.
    pub fn leaf_rows(&self, samples: usize, features: usize) -> usize {
        self.fold().leaf_rows(samples, features)
    }

    /// Merges two partial results of adjacent rows, the earlier rows first.
    ///
    /// # Errors
    /// For partial results of other jobs or of rows that are not adjacent.
    pub fn merge(&self, left: &PartialResult, right: &PartialResult) -> Result<PartialResult> {
        left.require_job(self.id)?;
        right.require_job(self.id)?;
        if left.rows().end != right.rows().start {
            return Err(Error::invalid_argument(format!(
                "cannot merge rows {:?} with {:?}: ranges must be adjacent and in order; merge each part once",
                left.rows(),
                right.rows()
            )));
        }
        let indices = |partial: &PartialResult| indices_after(&self.steps, partial.rows());
        self.fold().merge(self.id, (left, indices(left)), (right, indices(right)))
    }

    /// Merges the partial results of all parts pairwise, level by level, until one is left. The last one of an odd
    /// number moves up to the next level unchanged.
    ///
    /// # Errors
    /// For an empty list, and those of [`Job::merge`].
    pub fn total(&self, mut parts: Vec<PartialResult>) -> Result<PartialResult> {
        while parts.len() > 1 {
            let merged = parts.chunks_exact(2).map(|pair| self.merge(&pair[0], &pair[1])).collect::<Result<Vec<_>>>();
            let unpaired = if parts.len() % 2 == 1 { parts.pop() } else { None };
            parts = merged?;
            parts.extend(unpaired);
        }
        parts.pop().ok_or_else(|| Error::invalid_argument("expected at least one partial result to merge, got none"))
    }

    /// The result of a fold from the total over all `samples`.
    ///
    /// # Errors
    /// For a partial result of another job or of some rows only, and those of the fold.
    pub fn finish<F: Fold>(&self, fold: &F, total: &PartialResult, samples: usize) -> Result<F::Out> {
        total.require_job(self.id)?;
        if total.rows() != (0..samples) {
            return Err(Error::invalid_argument(format!(
                "expected a partial result of all rows 0..{samples}, got rows {:?}; merge all parts first",
                total.rows()
            )));
        }
        let state = total.state(fold, &indices_after(&self.steps, total.rows()))?;
        fold.finish(state.total(fold)?)
    }
}

/// The indices of the rows of a part.
fn rows_of(part: &dyn Source, first: usize) -> Result<Range<usize>> {
    let samples = part.shape().samples;
    let end = first.checked_add(samples).filter(|end| *end <= usize::MAX / 4);
    end.map(|end| first..end).ok_or_else(|| {
        Error::invalid_argument(format!("{samples} rows from row {first} on exceed the largest number of rows"))
    })
}

impl Job<'static> {
    /// Reads the bytes of [`Job::to_bytes`]; jobs of other versions are rejected.
    ///
    /// # Errors
    /// For jobs of another version, and for bytes that are no job.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let own = env!("CARGO_PKG_VERSION");
        // The version comes first, and all versions write text in one format.
        let (version, rest): (String, _) = split_bytes(bytes, "a job")?;
        if version != own {
            return Err(Error::invalid_argument(format!(
                "the job requires steradian {version}, but this process has steradian {own}; install one version on all \
                 machines"
            )));
        }
        let ((steps, name), fold): ((ReadSteps, String), _) = split_bytes(rest, "a job")?;
        Ok(Self {
            steps: steps.checked()?,
            fold: JobFold::Owned(registry::read(&name, fold)?),
            id: digest_bytes(bytes),
        })
    }
}
