//! The settings of a fault, from the environment, and the decision about each call.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::kind::{Kind, NAMES, counts, map};

/// The result of the decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this error number.
    Error(c_int),
    /// The call transfers half of the bytes.
    Short,
    /// The process receives the signal after the call.
    SignalAfter,
}

const SHORT: i64 = -1;
const BEFORE: i64 = -2;
const AFTER: i64 = -3;

static KIND: AtomicUsize = AtomicUsize::new(usize::MAX);
static AT: AtomicU64 = AtomicU64::new(u64::MAX);
static REPEAT: AtomicU64 = AtomicU64::new(0);
static ERROR: AtomicI64 = AtomicI64::new(0);
static SIGNAL: AtomicI64 = AtomicI64::new(libc::SIGKILL as i64);
static PLAIN_FILES: AtomicU64 = AtomicU64::new(0);
/// Smallest allocation that is counted, in bytes; none is counted before the settings are read.
pub static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Counts a call, and decides about it.
pub fn fault(kind: Kind) -> Option<Fault> {
    let call = counts().calls[kind as usize].fetch_add(1, SeqCst) + 1;
    let at = AT.load(SeqCst);
    if KIND.load(SeqCst) != kind as usize || call < at || (call > at && REPEAT.load(SeqCst) == 0) {
        return None;
    }
    counts().faults.fetch_add(1, SeqCst);
    match ERROR.load(SeqCst) {
        SHORT => Some(Fault::Short),
        BEFORE => {
            signal();
            None
        }
        AFTER => Some(Fault::SignalAfter),
        error => Some(Fault::Error(error as c_int)),
    }
}

/// True if unnamed files and exchanges of names are to fail as on a file system without them.
pub fn plain_files() -> bool {
    PLAIN_FILES.load(SeqCst) != 0
}

/// Sends the signal to this process.
pub fn signal() {
    // SAFETY: a signal to this process, which ends it or calls its handler.
    unsafe {
        libc::kill(libc::getpid(), SIGNAL.load(SeqCst) as c_int);
    }
}

/// Sets the error number of the calling thread.
pub fn set_errno(error: c_int) {
    // SAFETY: the address is valid for the lifetime of the thread.
    unsafe { *libc::__errno_location() = error }
}

/// Reads the settings before the program starts.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn start() {
        // SAFETY: no other thread exists yet, so that the environment does not change.
        unsafe { read() }
    }
    start
};

unsafe fn read() {
    // SAFETY: the names are C strings, and the values that `getenv` returns are, too; they are used before the next change
    // of the environment.
    unsafe {
        let value = |name: &CStr| Some(libc::getenv(name.as_ptr())).filter(|value| !value.is_null());
        let number = |name: &CStr| value(name).map(|text| libc::atoll(text));
        if let Some(path) = value(c"STERADIAN_FAULT_COUNTS") {
            map(path);
        }
        let is = |text: *const c_char, name: &str| CStr::from_ptr(text).to_bytes() == name.as_bytes();
        if let Some(kind) = value(c"STERADIAN_FAULT_KIND") {
            KIND.store(NAMES.iter().position(|name| is(kind, name)).unwrap_or(usize::MAX), SeqCst);
        }
        if let Some(error) = value(c"STERADIAN_FAULT_ERROR") {
            let special = [("short", SHORT), ("before", BEFORE), ("after", AFTER)];
            let error =
                special.iter().find(|(name, _)| is(error, name)).map_or_else(|| libc::atoll(error), |(_, code)| *code);
            ERROR.store(error, SeqCst);
        }
        AT.store(number(c"STERADIAN_FAULT_AT").map_or(u64::MAX, |at| at as u64), SeqCst);
        REPEAT.store(u64::from(value(c"STERADIAN_FAULT_REPEAT").is_some()), SeqCst);
        PLAIN_FILES.store(u64::from(value(c"STERADIAN_FAULT_PLAIN_FILES").is_some()), SeqCst);
        LARGE.store(number(c"STERADIAN_FAULT_LARGE").map_or(1 << 20, |bytes| bytes as usize), SeqCst);
        if let Some(signal) = number(c"STERADIAN_FAULT_SIGNAL") {
            SIGNAL.store(signal, SeqCst);
        }
        if let Some(bytes) = number(c"STERADIAN_FAULT_FILE_BYTES") {
            let limit = libc::rlimit { rlim_cur: bytes as u64, rlim_max: bytes as u64 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
        }
        if let Some(time) = number(c"STERADIAN_FAULT_MICROSECONDS") {
            start_timer(time);
        }
        // Programs that this one starts run without faults.
        libc::unsetenv(c"LD_PRELOAD".as_ptr());
    }
}

/// Sends the signal to this process after a time.
unsafe fn start_timer(microseconds: i64) {
    // SAFETY: both structures are plain numbers, for which zero is valid, and outlive the calls.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = SIGNAL.load(SeqCst) as c_int;
        let mut timer: libc::timer_t = std::mem::zeroed();
        let mut time: libc::itimerspec = std::mem::zeroed();
        time.it_value.tv_sec = microseconds / 1_000_000;
        time.it_value.tv_nsec = (microseconds % 1_000_000) * 1000;
        if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) == 0 {
            libc::timer_settime(timer, 0, &time, std::ptr::null_mut());
        }
    }
}
