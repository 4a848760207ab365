//! Which instructions a kernel is compiled for, chosen at run time: one portable binary.

use crate::element::Element;

/// The arithmetic of a kernel: single or double precision.
pub(crate) trait Real: Copy + Default + Send + Sync + std::ops::Sub<Output = Self> + 'static {
    /// The nearest number of this precision.
    fn narrow(x: f64) -> Self;
    /// The same number in double precision.
    fn widen(self) -> f64;
    /// An element of the data in this precision.
    fn of<T: Element>(x: T) -> Self;
    /// a b + c, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
    /// a b + c, rounded twice.
    fn plain(a: Self, b: Self, c: Self) -> Self;
}

macro_rules! real {
    ($type:ty, $of:ident) => {
        impl Real for $type {
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
            fn fused(a: Self, b: Self, c: Self) -> Self {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn plain(a: Self, b: Self, c: Self) -> Self {
                a * b + c
            }
        }
    };
}

real!(f32, single);
real!(f64, widen);

/// A kind of processor.
pub(crate) trait Machine {
    /// a b + c as this processor does it fastest.
    fn madd<F: Real>(a: F, b: F, c: F) -> F;
}

/// Has fused multiply-add.
pub(crate) struct Fused;

/// May not have it: there the fused form would be a slow call.
pub(crate) struct Portable;

impl Machine for Fused {
    #[inline(always)]
    fn madd<F: Real>(a: F, b: F, c: F) -> F {
        F::fused(a, b, c)
    }
}

impl Machine for Portable {
    #[inline(always)]
    fn madd<F: Real>(a: F, b: F, c: F) -> F {
        if cfg!(target_arch = "aarch64") { F::fused(a, b, c) } else { F::plain(a, b, c) }
    }
}

/// A hot loop with its arguments. `run` must be `#[inline(always)]`, to be compiled within each version.
pub(crate) trait Kernel {
    /// What it returns.
    type Output;
    /// The loop.
    fn run<M: Machine>(self) -> Self::Output;
}

/// Whether the wide version of kernels runs here.
pub(crate) fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Runs a kernel in the best version for this processor.
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<Fused>()
        }
        if is_wide() {
            // SAFETY: the processor has just said that it has these instructions.
            #[allow(unsafe_code)]
            return unsafe { wide(kernel) };
        }
    }
    kernel.run::<Portable>()
}
