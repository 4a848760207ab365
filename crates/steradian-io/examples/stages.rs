//! Where the time of a fit goes: `cargo run --release -p steradian-io --example stages -- DATA METHOD D ANGLE [THREADS [ROUNDS]]`.
//!
//! Prints milliseconds of every pass and, as "after", of the dense work that follows it; the fastest of some rounds.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use steradian::{Angle, Cone, Config, Local, Method, Screen};
use steradian_io::TableOptions;

/// Its number and name, and when its first and its last block were done.
type Pass = (usize, &'static str, f64, f64);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, otherwise: usize| arguments.get(k).map_or(Ok(otherwise), |x| x.parse());
    let [data, method, d, angle, ..] = &arguments[..] else {
        return Err("DATA METHOD D ANGLE [THREADS [ROUNDS]]".into());
    };
    let method = Method::ALL.into_iter().find(|m| m.name() == method).ok_or("no such method")?;
    let mut config = Config::new(method, d.parse::<usize>()?);
    if let Screen::Cone(cone) = &mut config.screen {
        *cone = Cone { angle: Angle::Degrees(angle.parse()?), ..*cone };
    }
    let mut best: Option<(f64, Vec<String>)> = None;
    for _ in 0..number(5, 5)? {
        let start = Instant::now();
        let seen: Arc<Mutex<Vec<Pass>>> = Arc::default();
        let sink = Arc::clone(&seen);
        let runner = Local::new(number(4, 0)?)?.with_progress(move |progress| {
            let now = start.elapsed().as_secs_f64();
            let mut seen = sink.lock().expect("no panic before");
            match seen.last_mut() {
                Some(last) if last.0 == progress.pass => last.3 = now,
                _ => seen.push((progress.pass, progress.name, now, now)),
            }
        });
        let source = steradian_io::open(data, &TableOptions::default())?;
        let opened = start.elapsed().as_secs_f64();
        let model = steradian::fit(&config, &source, &runner)?;
        let total = start.elapsed().as_secs_f64();
        if best.as_ref().is_some_and(|(least, _)| *least <= total) {
            continue;
        }
        let mut lines = vec![format!("{:>9.2} ms  open", 1e3 * opened)];
        let mut before = opened;
        for (_, name, first, last) in seen.lock().expect("no panic before").iter() {
            lines.push(format!(
                "{:>9.2} ms  {name} (to its first block {:.2})",
                1e3 * (last - before),
                1e3 * (first - before)
            ));
            before = *last;
        }
        lines.push(format!("{:>9.2} ms  after the last pass", 1e3 * (total - before)));
        lines.push(format!(
            "{:>9.2} ms  all; {} passes, bound {:.1e}",
            1e3 * total,
            model.passes,
            model.certificate.sine_bound
        ));
        best = Some((total, lines));
    }
    if let Some((_, lines)) = best {
        println!("{}", lines.join("\n"));
    }
    Ok(())
}
