//! Fuzz targets: each reads mutated bytes of one format and uses all that it accepts.
//!
//! `make fuzz` runs the driver of this crate on the stable toolchain; `fuzz/` has the same targets for cargo-fuzz.

mod dice;
pub mod driver;
pub mod mutate;
mod state;
pub mod target;
mod targets;
pub mod worker;

pub use dice::Dice;
pub use target::{Target, TargetVerdict, Workplace};
pub use targets::TARGETS;

/// Runs the target of this name on some bytes, for cargo-fuzz: a panic is a failure.
///
/// # Panics
/// For an unknown name, and where the target panics.
pub fn run(name: &str, bytes: &[u8]) {
    thread_local!(static PLACE: Workplace = Workplace::new().expect("a temporary folder can be created"));
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of this name");
    PLACE.with(|place| (target.run)(place, bytes));
}
