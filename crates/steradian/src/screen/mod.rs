//! Screens: who may speak when the subspace is found.

pub(crate) mod cone;
pub(crate) mod elimination;
pub(crate) mod outlyingness;
pub(crate) mod report;
pub(crate) mod sequential_test;
pub(crate) mod triangle_bounds;
pub(crate) mod unit_directions;
