//! A pass that other processes run on parts of the data: the pass as bytes, sums of parts as bytes, sums merged.
//!
//! Whoever has some rows of the data and a [`Job`] can make their [`Sum`]; sums of neighbouring rows merge anywhere, and
//! the last one holds what [`Fold::finish`] needs. Within a part the ordinary grid and tree are used, so a sum depends on
//! where parts begin and end, but not on threads, on machines, or on how often a part was summed. Parts that are cut on
//! the grid of the whole data may be summed there ([`Job::sum_on_grid`]): then it does not depend on the cut, either.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::partial_result::{Pieces, Sum};
use super::steps::Recipe;
use crate::codec::{digest_bytes, from_bytes, split_bytes, to_bytes};
use crate::data::source::Source;
use crate::data::view::{Numbered, Placed};
use crate::engine::fold::Fold;
use crate::engine::grid::Grid;
use crate::engine::local::Local;
use crate::engine::runner::Runner;
use crate::error::{Error, Result};
use crate::folds::{
    ChosenRows, DigitCounts, Gathered, Moments, Pull, SentAnchorCounts, SentConeSizes, SentDistances, SentFarthest,
    SentProjection, SentScatter, SentSketch,
};

/// A pass that can be shipped, with all that it needs; [`Fold::ship`] makes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Work<'a>(pub(crate) Kind<'a>);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Kind<'a> {
    Mean(Cow<'a, Moments<'a>>),
    Columns(Cow<'a, Gathered>),
    Digits(Cow<'a, DigitCounts<'a>>),
    Pull(Cow<'a, Pull<'a>>),
    Scatter(SentScatter<'a>),
    Operator(SentSketch<'a>),
    Scores(SentProjection<'a>),
    Distances(SentDistances<'a>),
    Outlyingness(SentFarthest<'a>),
    Chosen(Cow<'a, ChosenRows>),
    Anchors(SentAnchorCounts<'a>),
    ConeSizes(SentConeSizes<'a>),
}

/// What can be done with a fold of any kind.
trait WithFold {
    type Out;
    fn run<F: Fold>(self, fold: &F) -> Self::Out;
}

impl Work<'_> {
    fn with<W: WithFold>(&self, with: W) -> W::Out {
        match &self.0 {
            Kind::Mean(fold) => with.run(&**fold),
            Kind::Columns(fold) => with.run(&**fold),
            Kind::Digits(fold) => with.run(&**fold),
            Kind::Pull(fold) => with.run(&**fold),
            Kind::Scatter(sent) => with.run(&sent.fold()),
            Kind::Operator(sent) => with.run(&sent.fold()),
            Kind::Scores(sent) => with.run(&sent.fold()),
            Kind::Distances(sent) => with.run(&sent.fold()),
            Kind::Outlyingness(sent) => with.run(&sent.fold()),
            Kind::Chosen(fold) => with.run(&**fold),
            Kind::Anchors(sent) => with.run(&sent.fold()),
            Kind::ConeSizes(sent) => with.run(&sent.fold()),
        }
    }
}

/// One pass, ready to be sent: what is summed, and what becomes of rows before they are.
///
/// Two machines with a file each, and no cluster: both make the same job, sum their own rows, and one of them merges.
/// `examples/merge_by_hand.rs` is a whole embedding in this way.
///
/// ```
/// use steradian::folds::Moments;
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
///     Job::new(&Moments::new(2, None))?.sum(&part, first_row, &Local::new(0)?)?.to_bytes()
/// };
/// let (first, second) = (machine("first.npy", 0)?, machine("second.npy", 2)?);
///
/// // On one of them: the sum of all rows, and what it means.
/// let mean = Moments::new(2, None);
/// let job = Job::new(&mean)?;
/// let total = job.merge(&Sum::from_bytes(&first)?, &Sum::from_bytes(&second)?)?;
/// assert_eq!(job.finish(&mean, &total, 3)?, [3.0, 4.0]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), steradian::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Job<'a> {
    envelope: Envelope<'a>,
    /// Tells this job from others, so that their sums are not taken for each other.
    id: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Envelope<'a> {
    version: Cow<'a, str>,
    recipe: Recipe<'a>,
    work: Work<'a>,
}

impl<'a> Job<'a> {
    /// A pass over rows as they are, by its name `mean`, `scatter` and so on; a pass that cannot be shipped is refused.
    pub fn new<F: Fold>(fold: &'a F) -> Result<Self> {
        Self::after(fold, Recipe::default())
    }

    /// A pass over a source that is made from rows elsewhere.
    pub fn over<F: Fold>(fold: &'a F, source: &'a dyn Source) -> Result<Self> {
        let recipe = source.recipe().ok_or_else(|| {
            Error::asked(format!(
                "the pass \"{}\" reads samples that were changed in this process and cannot be sent to others; use \
                 cells = \"keep\" and a number of components, or fit on one machine",
                fold.name()
            ))
        })?;
        Self::after(fold, recipe)
    }

    fn after<F: Fold>(fold: &'a F, recipe: Recipe<'a>) -> Result<Self> {
        let work = fold.ship().ok_or_else(|| {
            Error::asked(format!(
                "the pass \"{}\" exists in this process only and cannot be sent to others; fit on one machine",
                fold.name()
            ))
        })?;
        let envelope = Envelope { version: Cow::Borrowed(env!("CARGO_PKG_VERSION")), recipe, work };
        let id = digest_bytes(&to_bytes(&envelope)?);
        Ok(Self { envelope, id })
    }

    /// The job as bytes; [`Job::from_bytes`] reads them, in any process with the same version.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        to_bytes(&self.envelope)
    }

    /// The sum of a part of the data, whose first sample is number `first` of all.
    pub fn sum(&self, part: &dyn Source, first: usize, runner: &Local) -> Result<Sum> {
        struct Total<'a> {
            job: u64,
            rows: Range<usize>,
            source: &'a dyn Source,
            runner: &'a Local,
        }
        impl WithFold for Total<'_> {
            type Out = Result<Sum>;
            fn run<F: Fold>(self, fold: &F) -> Self::Out {
                let Self { job, rows, source, runner } = self;
                let shape = source.shape();
                let grid = Grid::new(shape.samples, shape.features, fold.sum_bytes());
                let forest = runner.run_cells(fold, source, grid, 0..grid.cells())?;
                Ok(Sum::new::<F>(job, rows, Pieces::Own(runner.compute(|| forest.total(fold))?)))
            }
        }
        let rows = first..first + part.shape().samples;
        let mut sum = None;
        self.envelope.recipe.apply(&Placed::new(part, first), first, &mut |source| {
            sum = Some(self.envelope.work.with(Total { job: self.id, rows: rows.clone(), source, runner })?);
            Ok(())
        })?;
        Ok(sum.expect("a recipe calls its work once"))
    }

    /// The sum of a part on the grid of all `samples`. Such sums merge to the bits of one machine wherever the data are
    /// cut, as long as parts begin and end with cells: at multiples of [`Job::cell_rows`], and at the end of the data.
    pub fn sum_on_grid(&self, part: &dyn Source, first: usize, samples: usize, runner: &Local) -> Result<Sum> {
        struct OnGrid<'a> {
            job: u64,
            rows: Range<usize>,
            samples: usize,
            source: &'a dyn Source,
            runner: &'a Local,
        }
        impl WithFold for OnGrid<'_> {
            type Out = Result<Sum>;
            fn run<F: Fold>(self, fold: &F) -> Self::Out {
                let Self { job, rows, samples, source, runner } = self;
                let grid = Grid::new(samples, source.shape().features, fold.sum_bytes());
                let size = grid.cell_rows();
                if rows.end > samples || rows.start % size > 0 || (rows.end < samples && rows.end % size > 0) {
                    return Err(Error::asked(format!(
                        "rows {rows:?} are no whole cells of the grid of {samples} samples; let parts begin at multiples of \
                         {size} and end there or with the data"
                    )));
                }
                let forest = runner.run_cells(fold, source, grid, rows.start / size..rows.end.div_ceil(size))?;
                Ok(Sum::new::<F>(job, rows, Pieces::Cells(forest)))
            }
        }
        if !self.envelope.recipe.is_plain() {
            return Err(Error::asked(
                "the pass reads samples that are changed or picked, which have no grid of the whole; sum parts by \
                 themselves"
                    .to_owned(),
            ));
        }
        let rows = first..first + part.shape().samples;
        let source = &Numbered::new(part, first);
        self.envelope.work.with(OnGrid { job: self.id, rows, samples, source, runner })
    }

    /// Rows of a cell of this pass, for data of this shape: 256 times a power of 2.
    pub fn cell_rows(&self, samples: usize, features: usize) -> usize {
        struct CellRows(usize, usize);
        impl WithFold for CellRows {
            type Out = usize;
            fn run<F: Fold>(self, fold: &F) -> usize {
                Grid::new(self.0, self.1, fold.sum_bytes()).cell_rows()
            }
        }
        self.envelope.work.with(CellRows(samples, features))
    }

    /// The sum of two neighbours, the earlier rows first.
    pub fn merge(&self, left: &Sum, right: &Sum) -> Result<Sum> {
        struct Both<'a>(u64, &'a Sum, &'a Sum);
        impl WithFold for Both<'_> {
            type Out = Result<Sum>;
            fn run<F: Fold>(self, fold: &F) -> Self::Out {
                let Self(job, left, right) = self;
                let pieces = left.pieces::<F>()?.merge(right.pieces::<F>()?, fold)?;
                Ok(Sum::new::<F>(job, left.rows().start..right.rows().end, pieces))
            }
        }
        left.require_job(self.id)?;
        right.require_job(self.id)?;
        if left.rows().end != right.rows().start {
            return Err(Error::asked(format!(
                "sums of rows {:?} and {:?} are no neighbours; merge parts in the order of the data, each once",
                left.rows(),
                right.rows()
            )));
        }
        self.envelope.work.with(Both(self.id, left, right))
    }

    /// The sum of all parts: neighbours merged two by two, and their sums again, until one is left. The last of an odd
    /// number waits.
    pub fn total(&self, mut parts: Vec<Sum>) -> Result<Sum> {
        while parts.len() > 1 {
            let merged = parts.chunks_exact(2).map(|pair| self.merge(&pair[0], &pair[1])).collect::<Result<Vec<_>>>();
            let waiting = if parts.len() % 2 == 1 { parts.pop() } else { None };
            parts = merged?;
            parts.extend(waiting);
        }
        parts.pop().ok_or_else(|| Error::asked("there are no sums to merge; sum at least one part".to_owned()))
    }

    /// What a fold makes of the sum of all `samples` of the data.
    pub fn finish<F: Fold>(&self, fold: &F, sum: &Sum, samples: usize) -> Result<F::Out> {
        sum.require_job(self.id)?;
        if sum.rows() != (0..samples) {
            return Err(Error::asked(format!(
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
        let (version, _): (String, _) = split_bytes(bytes, "a job")?;
        if version != own {
            return Err(Error::asked(format!(
                "the job was made by steradian {version} but this process has steradian {own}; install one version \
                 everywhere"
            )));
        }
        Ok(Self { envelope: from_bytes(bytes, "a job")?, id: digest_bytes(bytes) })
    }
}
