//! Vector arithmetic of kernels in f32 or f64, at the vector length of the CPU.
//!
//! `pulp` detects the instruction set at run time and calls the version compiled for it: one portable binary, no unsafe
//! code here.

use pulp::{Arch, Simd, WithSimd};

use crate::data::element::Element;

/// A floating-point type of kernels: f32 or f64.
pub(crate) trait Real:
    Copy + Default + Send + Sync + pulp::bytemuck::Pod + std::ops::Sub<Output = Self>
{
    /// A vector register.
    type Vector<S: Simd>: Copy + pulp::bytemuck::Pod;

    /// The nearest value of this type.
    fn narrow(x: f64) -> Self;
    /// The value as f64.
    fn widen(self) -> f64;
    /// An element of the data in this type.
    fn of<T: Element>(x: T) -> Self;
    /// A vector whose lanes all have this value.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// a b + c.
    fn madd<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// A slice as vectors; the remainder that does not fill a vector is left out.
    fn vectors<S: Simd>(values: &[Self]) -> &[Self::Vector<S>];
    /// Number of values per vector.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
}

/// Runs `work` with the longest vectors of this CPU that have at most `width` values.
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
            fn vectors<S: Simd>(values: &[Self]) -> &[S::$vector] {
                S::$vectors(values).0
            }
        }
    };
}

real!(f32, f32s, single, splat_f32s, mul_add_e_f32s, as_simd_f32s);
real!(f64, f64s, widen, splat_f64s, mul_add_e_f64s, as_simd_f64s);
