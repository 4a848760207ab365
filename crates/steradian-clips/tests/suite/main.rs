//! Tests on clips with known ground truth, in one binary.

mod scene;
mod shadows;
