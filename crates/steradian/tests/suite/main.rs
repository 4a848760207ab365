//! Tests of the library through its public interface, in one binary, so that dependencies are linked once.

mod certificate;
mod certificates;
mod changing;
mod checkpoint;
mod choice;
mod cluster;
mod common;
mod component_order;
mod crafted_bytes;
mod elimination;
mod exact;
mod explained_variance;
mod feature_names;
mod format1;
mod golden;
mod hostile;
mod identities;
mod memory;
mod merge_laws;
mod messages;
mod plan;
mod precision;
mod robust;
mod scales;
mod solver_matrix;
mod subsample;
