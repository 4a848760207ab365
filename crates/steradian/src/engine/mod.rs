//! Execution of passes: the grid, folds and their merge tree, runners, progress, the journal. It imports no fold by
//! name.

pub(crate) mod fold;
pub(crate) mod forest;
pub(crate) mod grid;
pub(crate) mod journal;
pub(crate) mod local;
pub(crate) mod pair_pass_state;
pub(crate) mod pass_id;
pub(crate) mod pass_recorder;
pub(crate) mod pass_state;
pub(crate) mod progress;
pub(crate) mod runner;

pub use fold::{Fold, PairFold};
pub use forest::Forest;
pub use grid::Grid;
pub use journal::{Journal, Payload};
pub use progress::{CancelToken, Iteration, Progress};
pub use runner::Runner;
