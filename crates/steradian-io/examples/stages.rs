//! Times of the passes of a fit: `cargo run --release -p steradian-io --example stages -- DATA METHOD D ANGLE [THREADS [ROUNDS]]`.
//!
//! Prints the milliseconds of every pass, from the end of the previous one, for the fastest of several rounds.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use steradian::config::{Angle, Cone, Screen};
use steradian::{Config, Local, Method};
use steradian_io::TableOptions;

/// Index and name of a pass, and the times at the ends of its first and last block, in seconds.
type Pass = (usize, &'static str, f64, f64);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: usize| arguments.get(k).map_or(Ok(default), |x| x.parse());
    let [data, method, d, angle, ..] = &arguments[..] else {
        return Err("DATA METHOD D ANGLE [THREADS [ROUNDS]]".into());
    };
    let method = Method::ALL.into_iter().find(|m| m.name() == method).ok_or("no such method")?;
    let mut config = Config::new(method, d.parse::<usize>()?);
    if let Screen::Cone(cone) = config.screen().clone() {
        config = config.with_screen(Screen::Cone(Cone { max_angle: Angle::Degrees(angle.parse()?), ..cone }));
    }
    let mut best: Option<(f64, Vec<String>)> = None;
    for _ in 0..number(5, 5)? {
        let start = Instant::now();
        let passes: Arc<Mutex<Vec<Pass>>> = Arc::default();
        let sink = Arc::clone(&passes);
        let runner = Local::new(number(4, 0)?)?.with_progress(move |progress| {
            let now = start.elapsed().as_secs_f64();
            let mut passes = sink.lock().expect("no thread panicked");
            match passes.last_mut() {
                Some(last) if last.0 == progress.pass => last.3 = now,
                _ => passes.push((progress.pass, progress.name, now, now)),
            }
        });
        let source = steradian_io::open(data, &TableOptions::default())?;
        let opened = start.elapsed().as_secs_f64();
        let model = steradian::fit(&config, &source, &runner)?;
        let total = start.elapsed().as_secs_f64();
        if best.as_ref().is_some_and(|(fastest, _)| *fastest <= total) {
            continue;
        }
        let mut lines = vec![format!("{:>9.2} ms  open", 1e3 * opened)];
        let mut previous = opened;
        for (_, name, first, last) in passes.lock().expect("no thread panicked").iter() {
            lines.push(format!(
                "{:>9.2} ms  {name} (first block after {:.2})",
                1e3 * (last - previous),
                1e3 * (first - previous)
            ));
            previous = *last;
        }
        lines.push(format!("{:>9.2} ms  after the last pass", 1e3 * (total - previous)));
        lines.push(format!(
            "{:>9.2} ms  total; {} passes, sine bound {:.1e}",
            1e3 * total,
            model.report.passes,
            model.certificate().sine_bound
        ));
        best = Some((total, lines));
    }
    if let Some((_, lines)) = best {
        println!("{}", lines.join("\n"));
    }
    Ok(())
}
