//! Accuracy of the planned memory: a fit never needs more, and not much less.

use crate::common::{TestRandom, alone, source};
use peak_alloc::PeakAlloc;
use steradian::Local;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes of the panels of matrix products, for any shape; not part of the plan.
const PANELS: u64 = 16_000_000;

#[test]
fn a_fit_stays_within_its_plan() {
    if !alone("plan::a_fit_stays_within_its_plan") {
        return;
    }
    let runner = Local::new(2).unwrap();
    for (n, features) in [(300, 4000), (4000, 300)] {
        let x = TestRandom::new(9).samples(n, features, 3);
        for method in steradian_baselines::BASELINES {
            let config = steradian_baselines::preset(method, 3);
            let data = source(&x);
            let plan = steradian_baselines::plan(&config, &data, 2).unwrap();
            let check = |work: &dyn Fn()| {
                let before = HEAP.current_usage();
                HEAP.reset_peak_usage();
                work();
                let measured = (HEAP.peak_usage() - before) as u64;
                let planned = plan.peak_memory_bytes;
                let what = format!("{} {n} x {features}: {measured} bytes measured, {planned} planned", method.name());
                assert!(measured <= planned + PANELS, "{what}");
                assert!(planned <= 2 * measured + PANELS, "{what}");
            };
            check(&|| drop(steradian_baselines::fit(&config, &data, &runner).unwrap()));
            if method == steradian_baselines::PCP {
                // Both parts replace arrays that are no longer needed.
                check(&|| drop(steradian_baselines::principal_component_pursuit(&config, &data, &runner).unwrap()));
            }
        }
    }
}
