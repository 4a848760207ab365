//! The search for a subspace of a sample in memory with bad rows, bad cells and missing cells.
//!
//! Candidates start from the cells and from wrapped cells, each with d and with d + q components; every candidate is
//! polished, and a selection criterion decides between them. The rows of the sample are in an order that depends on their
//! values only, so random choices by position do not depend on the order of the rows in the data.

pub(crate) mod calibration;
pub(crate) mod candidate;
pub(crate) mod component_count;
pub(crate) mod concentration;
pub(crate) mod criterion;
pub(crate) mod extension;
pub(crate) mod found_model;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod laws;
pub(crate) mod leading;
pub(crate) mod mcd;
pub(crate) mod outlyingness;
pub(crate) mod polish;
pub(crate) mod sample;
pub(crate) mod student_steps;
pub(crate) mod tables;
pub(crate) mod tails;

pub(crate) use crate::screen::outlyingness::majority;
pub(crate) use candidate::search;
pub(crate) use found_model::Candidate;
pub(crate) use sample::Sample;
