//! Execution of passes without the interpreter's lock. Passes run on threads of their own; the calling
//! thread wakes at intervals to check for Ctrl-C and to report progress.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use steradian::engine::{CancelToken, Iteration, Progress, Runner};
use steradian::memory;
use steradian::{Error, Local, Result};

use crate::errors::{exception, internal_error};

/// Time between two checks for Ctrl-C: a tenth of the latency that the tests accept.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Progress of the worker threads that the calling thread has not reported yet.
#[derive(Default)]
struct PendingReports {
    /// The latest progress of each unreported pass, the newest pass last.
    passes: VecDeque<Progress>,
    done: bool,
}

#[derive(Default)]
struct ProgressQueue {
    reports: Mutex<PendingReports>,
    changed: Condvar,
}

impl ProgressQueue {
    fn reports(&self) -> MutexGuard<'_, PendingReports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the progress of a pass, in place of its earlier one. It does not wake the calling thread.
    fn record(&self, progress: Progress) {
        let mut reports = self.reports();
        match reports.passes.back_mut() {
            Some(last) if last.pass == progress.pass && last.name == progress.name => *last = progress,
            _ => reports.passes.push_back(progress),
        }
    }

    fn finish(&self) {
        self.reports().done = true;
        self.changed.notify_all();
    }

    /// Waits for the end of the work, at most [`POLL_INTERVAL`]. Returns the unreported passes, and true at the end.
    fn wait(&self) -> (VecDeque<Progress>, bool) {
        let reports = self.reports();
        let (mut reports, _) = self
            .changed
            .wait_timeout_while(reports, POLL_INTERVAL, |reports| !reports.done)
            .unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut reports.passes), reports.done)
    }
}

/// Marks the work as done when it is dropped, also by a panic.
struct FinishGuard(Arc<ProgressQueue>);

impl Drop for FinishGuard {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Runs `work` on `threads` threads (0: one per core) without the interpreter's lock.
///
/// `callback(name, pass, bytes, total_bytes)` receives the progress of each pass at least once. Ctrl-C, or an exception
/// of the callback, cancels the work and is raised once it has stopped.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Local) -> Result<T> + Send,
) -> PyResult<T> {
    let cancel = CancelToken::default();
    let queue = Arc::new(ProgressQueue::default());
    let mut runner = Local::new(threads).map_err(exception)?.with_cancel_token(cancel.clone());
    if callback.is_some() {
        let queue = Arc::clone(&queue);
        runner = runner.with_progress(move |progress| queue.record(progress));
    }
    let mut raised = None;
    let result: PyResult<_> = std::thread::scope(|scope| {
        let finish = FinishGuard(Arc::clone(&queue));
        let work = move || {
            let _finish = finish;
            // On the threads of the runner, so that nothing starts others.
            memory::guard(|| runner.compute(|| work(&runner)))
        };
        let worker = std::thread::Builder::new().spawn_scoped(scope, work).map_err(cannot_start)?;
        loop {
            let (passes, done) = py.detach(|| queue.wait());
            if raised.is_none() {
                raised = report(callback, passes).and_then(|()| py.check_signals()).err();
                if raised.is_some() {
                    cancel.cancel();
                }
            }
            if done {
                return Ok(py.detach(|| worker.join()));
            }
        }
    });
    match (raised, result?) {
        (_, Err(panic)) => Err(internal_error(&*panic)),
        (Some(error), Ok(_)) => Err(error),
        (None, Ok(result)) => result.map_err(exception),
    }
}

/// Runs `work` that cannot be canceled on its own thread. Ctrl-C is raised at once; the thread continues unobserved.
pub fn run_uninterruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let queue = Arc::new(ProgressQueue::default());
    let finish = FinishGuard(Arc::clone(&queue));
    let work = move || {
        let _finish = finish;
        memory::guard(|| Ok(work()))
    };
    let worker = std::thread::Builder::new().spawn(work).map_err(cannot_start)?;
    while !py.detach(|| queue.wait()).1 {
        py.check_signals()?;
    }
    py.detach(|| worker.join()).map_err(|panic| internal_error(&*panic))?.map_err(exception)
}

/// The exception for a thread that the system cannot start.
fn cannot_start(error: io::Error) -> PyErr {
    exception(Error::io("threads", error))
}

fn report(callback: Option<&Bound<'_, PyAny>>, passes: VecDeque<Progress>) -> PyResult<()> {
    let Some(callback) = callback else {
        return Ok(());
    };
    passes.into_iter().try_for_each(|p| callback.call1((named(&p), p.pass, p.bytes, p.total_bytes)).map(drop))
}

/// The name of a pass; for a step of an iteration in memory, with the step, its residual and its rank.
fn named(progress: &Progress) -> String {
    match progress.iteration {
        None => progress.name.to_owned(),
        Some(Iteration { step, residual, rank }) => {
            let rank = rank.map_or(String::new(), |rank| format!(", rank {rank}"));
            format!("{} step {step}: {residual:.1e}{rank}", progress.name)
        }
    }
}
