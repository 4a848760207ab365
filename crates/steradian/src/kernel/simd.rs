//! The arithmetic of kernels: single or double precision, in vectors as wide as the processor has them.
//!
//! `pulp` asks the processor at run time and calls the version compiled for it: one portable binary, no unsafe here.

use pulp::{Arch, Simd, WithSimd};

use crate::data::element::Element;

/// Single or double precision.
pub(crate) trait Real:
    Copy + Default + Send + Sync + pulp::bytemuck::Pod + std::ops::Sub<Output = Self>
{
    /// As many numbers as a register of the processor holds.
    type Vector<S: Simd>: Copy + pulp::bytemuck::Pod;

    /// The nearest number of this precision.
    fn narrow(x: f64) -> Self;
    /// The same number in double precision.
    fn widen(self) -> f64;
    /// An element of the data in this precision.
    fn of<T: Element>(x: T) -> Self;
    /// The same number in every place.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// a b + c.
    fn madd<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// Numbers as vectors; what does not fill one at the end is left out.
    fn vectors<S: Simd>(numbers: &[Self]) -> &[Self::Vector<S>];
    /// How many numbers a vector holds.
    fn n_threads<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
}

/// Runs `work` in the widest vectors of this processor that are no wider than `width` numbers.
pub(crate) fn dispatch_within<F: Real, W: WithSimd>(width: usize, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if width * size_of::<F>() < size_of::<pulp::f32x16>()
        && let Some(simd) = pulp::x86::V3::try_new()
    {
        return Simd::vectorize(simd, work);
    }
    Arch::new().dispatch(work)
}

macro_rules! real {
    ($type:ty, $vector:ident, $of:ident, $splat:ident, $madd:ident, $vectors:ident) => {
        impl Real for $type {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn narrow(x: f64) -> Self {
                x as $type
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn of<T: Element>(x: T) -> Self {
                x.$of()
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }

            #[inline(always)]
            fn madd<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$madd(a, b, c)
            }

            #[inline(always)]
            fn vectors<S: Simd>(numbers: &[Self]) -> &[S::$vector] {
                S::$vectors(numbers).0
            }
        }
    };
}

real!(f32, f32s, single, splat_f32s, mul_add_e_f32s, as_simd_f32s);
real!(f64, f64s, widen, splat_f64s, mul_add_e_f64s, as_simd_f64s);
