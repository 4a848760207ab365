//! Passes in other processes: jobs, partial results, and the runner on a cluster.

pub(crate) mod cluster;
pub(crate) mod job;
pub(crate) mod partial_result;
pub(crate) mod registry;
pub(crate) mod source;
pub(crate) mod steps;

pub use cluster::Cluster;
pub use job::Job;
pub use partial_result::PartialResult;
pub use source::{Dispatch, RemoteSource};
