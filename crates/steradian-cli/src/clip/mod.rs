//! What the commands about clips share: how a scene is learnt, how frames are taken apart, what the truth says.

pub mod apart;
pub mod learn;
pub mod movies;
pub mod report;
pub mod truth;
