//! The hot loops. Each is compiled twice, for AVX2 with FMA and portably, and held to a plain twin by tests.
//!
//! Bodies are ordinary Rust over small fixed arrays, which the compiler keeps in registers.

mod ahead;
pub(crate) mod columns;
pub(crate) mod cone;
pub(crate) mod fused;
pub(crate) mod integer;
pub(crate) mod machine;
pub(crate) mod panel;
pub(crate) mod pull;
