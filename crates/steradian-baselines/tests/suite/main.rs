//! The baselines through their public interface, in one binary: a file here is a module.

mod common;
mod golden;
mod laws;
mod plan;
