#!/bin/sh
# Unit tests of blocks, passes, the codec and the scalar kernels in Miri, which detects undefined behavior. Skipped by name
# without a nightly toolchain that has the component. Miri reports no vector instructions, so the kernels run their scalar
# path.
set -eu
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "miri: skipped, no nightly toolchain with the component miri (rustup toolchain install nightly --component miri)"
    exit 0
fi
# Rayon's threads outlive a test; the tests read the time and the number of processors.
export MIRIFLAGS="-Zmiri-ignore-leaks -Zmiri-disable-isolation"
export PROPTEST_CASES="${PROPTEST_CASES:-4}"
for tests in codec:: data::block:: data::slice:: data::view:: engine:: kernel::panel:: kernel::int8::scalar:: kernel::digit_counts::; do
    cargo +nightly miri test -p steradian --lib "$tests"
done
