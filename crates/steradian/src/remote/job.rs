//! A job: a fold and the row transforms before it, serialized for other processes, and the merge of their partial results.
//!
//! Whoever has some rows of the data and a [`Job`] can make their [`PartialResult`]; sums of neighbouring rows merge anywhere, and
//! the last one holds what [`Fold::finish`] needs. Within a part the ordinary grid and tree are used, so a sum depends on
//! where parts begin and end, but not on threads, on machines, or on how often a part was summed. Parts that are cut on
//! the grid of the whole data may be summed there ([`Job::sum_leaves`]): then it does not depend on the cut, either.

use std::sync::Arc;

use super::partial_result::PartialResult;
use super::registry::{self, AnyFold};
use super::steps::{RowOp, apply, steps};
use crate::codec::{digest_bytes, split_bytes, to_bytes};
use crate::data::source::Source;
use crate::data::view::{GlobalIndexSource, OffsetSource};
use crate::engine::fold::Fold;
use crate::engine::local::Local;
use crate::error::{Error, Result};

/// One pass, ready to be sent: what is summed, and what becomes of rows before they are.
///
/// Two machines with a file each, and no cluster: both make the same job, sum their own rows, and one of them merges.
/// `examples/merge_by_hand.rs` is a whole embedding in this way.
///
/// ```
/// use steradian::folds::ColumnMeans;
/// use steradian::{ElementType, Job, Local, Sum};
/// # use steradian_io::{NpyWriter, TableOptions, open};
///
/// let folder = std::env::temp_dir().join(format!("steradian-job-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let save = |name: &str, numbers: &[f64]| -> steradian::Result<()> {
/// #     let mut file = NpyWriter::create(folder.join(name), ElementType::F64, &[numbers.len() / 2, 2])?;
/// #     file.write(numbers)?;
/// #     file.finish()
/// # };
/// save("first.npy", &[1.0, 2.0, 3.0, 4.0])?; // rows 0 and 1
/// save("second.npy", &[5.0, 6.0])?; // row 2
///
/// // On each machine: the sum of its own file, as bytes. A job travels as bytes, too: `Job::to_bytes`.
/// let machine = |name: &str, first_row: usize| -> steradian::Result<Vec<u8>> {
///     let part = open(folder.join(name), &TableOptions::default())?;
///     Job::new(&ColumnMeans::new(2, None))?.sum(&part, first_row, &Local::new(0)?)?.to_bytes()
/// };
/// let (first, second) = (machine("first.npy", 0)?, machine("second.npy", 2)?);
///
/// // On one of them: the sum of all rows, and what it means.
/// let mean = ColumnMeans::new(2, None);
/// let job = Job::new(&mean)?;
/// let total = job.merge(&Sum::from_bytes(&first)?, &Sum::from_bytes(&second)?)?;
/// assert_eq!(job.finish(&mean, &total, 3)?, [3.0, 4.0]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), steradian::Error>(())
/// ```
#[derive(Clone)]
pub struct Job<'a> {
    steps: Vec<RowOp<'a>>,
    fold: JobFold<'a>,
    /// Tells this job from others, so that their sums are not taken for each other.
    id: u64,
}

/// A fold of this process, or one that was read from bytes.
#[derive(Clone)]
enum JobFold<'a> {
    Lent(&'a dyn AnyFold),
    Read(Arc<dyn AnyFold + Send>),
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
    /// A pass over rows as they are, by its name `mean`, `scatter` and so on; a pass that cannot be sent is rejected.
    pub fn new<F: Fold>(fold: &'a F) -> Result<Self> {
        Self::after(fold, Vec::new())
    }

    /// A pass over a source that is made by views of the rows of other processes, which are `root` here.
    pub(super) fn over<F: Fold>(fold: &'a F, source: &'a dyn Source, root: &dyn Source) -> Result<Self> {
        let steps = steps(source, root)
            .map_err(|error| Error::invalid_argument(format!("the pass \"{}\" {error}", F::NAME)))?;
        Self::after(fold, steps)
    }

    fn after<F: Fold>(fold: &'a F, steps: Vec<RowOp<'a>>) -> Result<Self> {
        if !registry::knows(F::NAME) {
            return Err(Error::invalid_argument(format!(
                "the pass \"{}\" exists in this process only and cannot be sent to others; fit on one machine",
                F::NAME
            )));
        }
        let mut job = Self { steps, fold: JobFold::Lent(fold), id: 0 };
        job.id = digest_bytes(&job.to_bytes()?);
        Ok(job)
    }

    fn fold(&self) -> &dyn AnyFold {
        match &self.fold {
            JobFold::Lent(fold) => *fold,
            JobFold::Read(fold) => &**fold,
        }
    }

    /// The job as bytes; [`Job::from_bytes`] reads them, in any process with the same version.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = to_bytes(&(env!("CARGO_PKG_VERSION"), &self.steps, self.fold().name()))?;
        bytes.extend(self.fold().bytes()?);
        Ok(bytes)
    }

    /// The sum of a part of the data, whose first sample is number `first` of all.
    pub fn sum(&self, part: &dyn Source, first: usize, runner: &Local) -> Result<PartialResult> {
        let rows = first..first + part.shape().samples;
        let mut sum = None;
        apply(&self.steps, &OffsetSource::new(part, first), first, &mut |source| {
            sum = Some(self.fold().sum(self.id, rows.clone(), source, runner)?);
            Ok(())
        })?;
        Ok(sum.expect("steps call their work once"))
    }

    /// The sum of a part on the grid of all `samples`. Such sums merge to the bits of one machine wherever the data are
    /// cut, as long as parts begin and end with cells: at multiples of [`Job::leaf_rows`], and at the end of the data.
    pub fn sum_leaves(&self, part: &dyn Source, first: usize, samples: usize, runner: &Local) -> Result<PartialResult> {
        if !self.steps.is_empty() {
            return Err(Error::invalid_argument(
                "the pass reads samples that are changed or picked, which have no grid of the whole; sum parts by \
                 themselves"
                    .to_owned(),
            ));
        }
        let rows = first..first + part.shape().samples;
        self.fold().sum_leaves(self.id, rows, samples, &GlobalIndexSource::new(part, first), runner)
    }

    /// Rows of a cell of this pass, for data of this shape: 256 times a power of 2.
    pub fn leaf_rows(&self, samples: usize, features: usize) -> usize {
        self.fold().leaf_rows(samples, features)
    }

    /// The sum of two neighbours, the earlier rows first.
    pub fn merge(&self, left: &PartialResult, right: &PartialResult) -> Result<PartialResult> {
        left.require_job(self.id)?;
        right.require_job(self.id)?;
        if left.rows().end != right.rows().start {
            return Err(Error::invalid_argument(format!(
                "sums of rows {:?} and {:?} are no neighbours; merge parts in the order of the data, each once",
                left.rows(),
                right.rows()
            )));
        }
        self.fold().merge(self.id, left, right)
    }

    /// The sum of all parts: neighbours merged two by two, and their sums again, until one is left. The last of an odd
    /// number waits.
    pub fn total(&self, mut parts: Vec<PartialResult>) -> Result<PartialResult> {
        while parts.len() > 1 {
            let merged = parts.chunks_exact(2).map(|pair| self.merge(&pair[0], &pair[1])).collect::<Result<Vec<_>>>();
            let waiting = if parts.len() % 2 == 1 { parts.pop() } else { None };
            parts = merged?;
            parts.extend(waiting);
        }
        parts
            .pop()
            .ok_or_else(|| Error::invalid_argument("there are no sums to merge; sum at least one part".to_owned()))
    }

    /// What a fold makes of the sum of all `samples` of the data.
    pub fn finish<F: Fold>(&self, fold: &F, sum: &PartialResult, samples: usize) -> Result<F::Out> {
        sum.require_job(self.id)?;
        if sum.rows() != (0..samples) {
            return Err(Error::invalid_argument(format!(
                "the sum is of rows {:?} but the data have {samples}; merge the sums of all parts first",
                sum.rows()
            )));
        }
        fold.finish(sum.pieces::<F>()?.total(fold)?)
    }
}

impl Job<'static> {
    /// What [`Job::to_bytes`] wrote; refuses jobs of other versions by name.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let own = env!("CARGO_PKG_VERSION");
        // The version comes first, and text is written alike by all versions.
        let (version, rest): (String, _) = split_bytes(bytes, "a job")?;
        if version != own {
            return Err(Error::invalid_argument(format!(
                "the job was made by steradian {version} but this process has steradian {own}; install one version \
                 everywhere"
            )));
        }
        let ((steps, name), fold): ((Vec<RowOp<'static>>, String), _) = split_bytes(rest, "a job")?;
        Ok(Self { steps, fold: JobFold::Read(registry::read(&name, fold)?), id: digest_bytes(bytes) })
    }
}
