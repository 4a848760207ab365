//! Progress bar on standard error: pass, bytes and remaining time; hidden if standard error is not a terminal.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use steradian::engine::{Iteration, Progress};

/// A progress bar; it is cleared on drop.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar on standard error if that is a terminal, otherwise a hidden one.
    pub fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "pass {prefix} {msg:20} {bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
        bar.set_style(ProgressStyle::with_template(template).expect("the template is constant"));
        Self(bar)
    }

    /// A function that hides the bar while something else is printed, from any thread.
    pub fn aside(&self) -> impl Fn(&dyn Fn()) + Send + Sync + 'static {
        let bar = self.0.clone();
        move |print| bar.suspend(print)
    }

    /// The callback of the runner, called after each block from any thread.
    pub fn observer(&self) -> impl Fn(Progress) + Send + Sync + 'static {
        let bar = self.0.clone();
        let current = AtomicUsize::new(0);
        move |progress| {
            if let Some(Iteration { step, residual, rank }) = progress.iteration {
                let rank = rank.map_or(String::new(), |rank| format!(", rank {rank}"));
                bar.set_message(format!("{} step {step}: {residual:.1e}{rank}", progress.name));
                return;
            }
            if current.fetch_max(progress.pass, Ordering::Relaxed) < progress.pass {
                bar.set_prefix(progress.pass.to_string());
                bar.set_message(progress.name);
                bar.set_length(progress.total_bytes);
                bar.set_position(0);
                bar.reset_eta();
            }
            bar.set_position(progress.bytes);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
