//! Execution of passes without the interpreter's lock. Passes run on threads of their own; the calling
//! thread wakes at intervals to check for Ctrl-C and to report progress.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use steradian::{CancelToken, Iteration, Local, Progress, Result};

use crate::errors::exception;

/// How long the calling thread waits before it looks up: a tenth of the time in which Ctrl-C must be felt.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the workers tell the calling thread.
#[derive(Default)]
struct News {
    /// Where each unreported pass stands, the newest last.
    passes: VecDeque<Progress>,
    done: bool,
}

#[derive(Default)]
struct Board {
    news: Mutex<News>,
    changed: Condvar,
}

impl Board {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes where a pass stands, in place of what was noted of it before; a pass that ends wakes nobody.
    fn note(&self, progress: Progress) {
        let mut news = self.news();
        match news.passes.back_mut() {
            Some(last) if last.pass == progress.pass && last.name == progress.name => *last = progress,
            _ => news.passes.push_back(progress),
        }
    }

    fn finish(&self) {
        self.news().done = true;
        self.changed.notify_all();
    }

    /// Waits for the end of the work, at most [`POLL_INTERVAL`]; what is new since.
    fn wait(&self) -> (VecDeque<Progress>, bool) {
        let news = self.news();
        let (mut news, _) = self
            .changed
            .wait_timeout_while(news, POLL_INTERVAL, |news| !news.done)
            .unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut news.passes), news.done)
    }
}

/// Says that the work is done, also when it panics.
struct Finish(Arc<Board>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Runs `work` on `threads` threads (0: one per core) without the interpreter's lock.
///
/// `callback(name, pass, bytes, total_bytes)` hears where passes stand, each at least once. Ctrl-C, or an exception of
/// the callback, cancels the work and is raised once it has stopped.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Local) -> Result<T> + Send,
) -> PyResult<T> {
    let cancel = CancelToken::default();
    let board = Arc::new(Board::default());
    let mut runner = Local::new(threads).map_err(exception)?.with_cancel_token(cancel.clone());
    if callback.is_some() {
        let board = Arc::clone(&board);
        runner = runner.with_progress(move |progress| board.note(progress));
    }
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let finish = Finish(Arc::clone(&board));
        let worker = scope.spawn(move || {
            let _finish = finish;
            work(&runner)
        });
        loop {
            let (passes, done) = py.detach(|| board.wait());
            if raised.is_none() {
                raised = report(callback, passes).and_then(|()| py.check_signals()).err();
                if raised.is_some() {
                    cancel.cancel();
                }
            }
            if done {
                return py.detach(|| worker.join());
            }
        }
    });
    match (raised, result) {
        (_, Err(panic)) => std::panic::resume_unwind(panic),
        (Some(error), Ok(_)) => Err(error),
        (None, Ok(result)) => result.map_err(exception),
    }
}

/// Runs `work` that cannot be cancelled on a thread of its own; Ctrl-C is raised at once and leaves the thread to itself.
pub fn run_uninterruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let board = Arc::new(Board::default());
    let finish = Finish(Arc::clone(&board));
    let worker = std::thread::spawn(move || {
        let _finish = finish;
        work()
    });
    while !py.detach(|| board.wait()).1 {
        py.check_signals()?;
    }
    py.detach(|| worker.join()).map_err(|panic| std::panic::resume_unwind(panic))
}

fn report(callback: Option<&Bound<'_, PyAny>>, passes: VecDeque<Progress>) -> PyResult<()> {
    let Some(callback) = callback else {
        return Ok(());
    };
    passes.into_iter().try_for_each(|p| callback.call1((named(&p), p.pass, p.bytes, p.total_bytes)).map(drop))
}

/// What a pass does; a step of an iteration in memory says how far it has come.
fn named(progress: &Progress) -> String {
    match progress.iteration {
        None => progress.name.to_owned(),
        Some(Iteration { step, residual, rank }) => {
            let rank = rank.map_or(String::new(), |rank| format!(", rank {rank}"));
            format!("{} step {step}: {residual:.1e}{rank}", progress.name)
        }
    }
}
