//! What the commands about clips share: how a scene is learnt, how frames are taken apart, what the truth says.

pub mod apart;
pub mod faces;
pub mod learn;
pub mod movies;
mod page;
pub mod pursuit;
pub mod report;
pub mod shown;
pub mod truth;
