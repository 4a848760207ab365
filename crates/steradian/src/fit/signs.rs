//! The one rule for the sign of a component: its entry of largest magnitude is positive.

/// Magnitudes this close (relative) count as tied, so that rounding does not choose between mirror images.
const TIE: f64 = 1e-12;

/// Flips a component so that its entry of largest magnitude, the first on ties, is positive.
pub(crate) fn fix_sign(component: &mut [f64]) {
    let largest = component.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let leading = component.iter().find(|x| x.abs() >= largest * (1.0 - TIE));
    if leading.is_some_and(|&x| x < 0.0) {
        component.iter_mut().for_each(|x| *x = -*x);
    }
}

#[cfg(test)]
mod tests {
    use super::fix_sign;

    #[test]
    fn the_first_of_the_largest_is_positive() {
        let mut q = [0.5, -0.7, 0.7];
        fix_sign(&mut q);
        assert_eq!(q, [-0.5, 0.7, -0.7]);
        let mut zero = [0.0, -0.0];
        fix_sign(&mut zero);
        assert_eq!(zero, [0.0, 0.0]);
    }
}
