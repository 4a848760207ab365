//! Screens: rules that select the samples of a fit, the cone and the outlyingness.

pub(crate) mod cone;
pub(crate) mod elimination;
pub(crate) mod outlyingness;
pub(crate) mod report;
pub(crate) mod sequential_test;
pub(crate) mod triangle_bounds;
pub(crate) mod unit_directions;
