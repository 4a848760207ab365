//! Tests of the baselines through their public interface, in one binary.

mod common;
mod golden;
mod plan;
mod properties;
mod scales;
