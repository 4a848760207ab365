//! Kernels: the inner loops over the cells of a block. Each is compiled for several instruction sets, and tests compare
//! it with a scalar reference implementation.
//!
//! Bodies are ordinary Rust over small fixed arrays, which the compiler keeps in registers.

pub(crate) mod column_sums;
pub(crate) mod cosine_counts;
pub(crate) mod digit_counts;
pub(crate) mod fused;
pub(crate) mod int8;
pub(crate) mod operand;
pub(crate) mod panel;
pub(crate) mod prefetch;
pub(crate) mod row_digest;
pub(crate) mod simd;
pub(crate) mod weighted_sums;
