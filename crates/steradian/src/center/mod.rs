//! Centers: the point that samples are seen from.

pub(crate) mod mean;
pub(crate) mod median;
pub(crate) mod spatial_median;
mod weiszfeld;
