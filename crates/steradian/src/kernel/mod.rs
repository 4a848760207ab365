//! The hot loops, each beside a plain twin that tests it.

pub(crate) mod panel;
