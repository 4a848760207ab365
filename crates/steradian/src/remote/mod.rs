//! Passes in other processes: jobs, partial results, and a cluster as a runner.

pub(crate) mod cluster;
pub(crate) mod job;
pub(crate) mod partial_result;
pub(crate) mod registry;
pub(crate) mod source;
pub(crate) mod steps;
