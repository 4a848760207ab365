//! Clips with a known truth, in one binary: a file here is a module.

mod scene;
mod shadows;
