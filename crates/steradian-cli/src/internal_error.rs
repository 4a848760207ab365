//! The last net: a panic of a command, on any thread that it waits for, becomes an internal error in one line.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::outcome::{CommandError, CommandResult};

/// The first panic: its message and its place.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Runs a command; a panic is its error. Prints the backtrace only if `RUST_BACKTRACE` asks for one.
pub fn catch(command: impl FnOnce() -> CommandResult) -> CommandResult {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("unknown panic").replace('\n', " ");
        let place = info.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        let mut first = FIRST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        first.get_or_insert(format!("{message}{place}"));
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            print(info);
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(command));
    let _ = std::panic::take_hook();
    result.unwrap_or_else(|_| {
        let first = FIRST.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        Err(CommandError::Internal(first.unwrap_or_else(|| "unknown panic".to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn a_panic_on_any_thread_is_an_internal_error() {
        let message = |result: CommandResult| match result {
            Err(CommandError::Internal(message)) => message,
            other => panic!("{other:?}"),
        };
        let own = message(catch(|| panic!("out of\ncheese")));
        assert!(own.starts_with("out of cheese (") && own.contains("internal_error.rs:"), "{own}");
        let pool = message(catch(|| {
            (0..64).into_par_iter().for_each(|i| assert!(i != 40, "task {i}"));
            Ok(())
        }));
        assert!(pool.starts_with("task 40"), "{pool}");
        let index = message(catch(|| {
            let values: Vec<u8> = Vec::new();
            std::thread::scope(|scope| scope.spawn(|| values[values.len()]).join())
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok(())
        }));
        assert!(index.starts_with("index out of bounds"), "{index}");
        assert!(catch(|| Ok(())).is_ok());
    }
}
