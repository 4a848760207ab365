//! Tests of the library through its public interface, in one binary, so that dependencies are linked once.

mod certificate;
mod checkpoint;
mod choice;
mod cluster;
mod common;
mod elimination;
mod explained_variance;
mod format1;
mod golden;
mod hostile;
mod identities;
mod merge_laws;
mod messages;
mod plan;
mod precision;
mod robust;
mod solver_matrix;
mod subsample;
