//! The library through its public interface. One binary, so that dependencies are linked once: a file here is a module.

mod certificate;
mod checkpoint;
mod choice;
mod cluster;
mod common;
mod elimination;
mod explained_variance;
mod golden;
mod hostile;
mod identities;
mod merge_laws;
mod plan;
mod precision;
mod robust;
mod solver_matrix;
mod subsample;
