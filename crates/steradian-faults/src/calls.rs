//! The functions that replace those of the C library: each counts its call, fails if it is chosen, and calls the original otherwise.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use libc::{DIR, mode_t, off_t, off64_t, size_t, ssize_t};

use crate::kind::Kind;
use crate::settings::{Fault, LARGE, fault, plain_files, set_errno, signal};

/// The original of a function.
struct Original {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Original {
    const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    fn address(&self) -> *mut c_void {
        let known = self.address.load(SeqCst);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a C string. The C library of the program has every function that is replaced.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, SeqCst);
        found
    }
}

/// Calls the original of a function.
macro_rules! original {
    ($name:ident($($arg:ident: $type:ty),*) -> $result:ty) => {{
        static ORIGINAL: Original = {
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("no C string"),
            };
            Original::new(NAME)
        };
        // SAFETY: the original has this signature, and the arguments are those of the caller.
        unsafe {
            let call: extern "C" fn($($type),*) -> $result = std::mem::transmute(ORIGINAL.address());
            call($($arg),*)
        }
    }};
}

/// The decision about a call of a kind; a call that changes the file system is counted among the changes, too.
fn decide(kind: Kind, changes: bool) -> Option<Fault> {
    let own = fault(kind);
    let change = if changes { fault(Kind::Change) } else { None };
    own.or(change)
}

/// Defines functions that return -1, or another value, and set the error number on failure.
macro_rules! replace {
    ($($kind:ident, $changes:expr, $failure:expr => $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// That of the original.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
            match decide(Kind::$kind, $changes) {
                Some(Fault::Error(error)) => {
                    set_errno(error);
                    $failure
                }
                Some(Fault::SignalAfter) => {
                    let result = original!($name($($arg: $type),*) -> $result);
                    signal();
                    result
                }
                _ => original!($name($($arg: $type),*) -> $result),
            }
        }
    )*};
}

replace! {
    Sync, true, -1 => fsync(file: c_int) -> c_int;
    Sync, true, -1 => fdatasync(file: c_int) -> c_int;
    Sync, true, -1 => msync(address: *mut c_void, bytes: size_t, flags: c_int) -> c_int;
    Rename, true, -1 => rename(from: *const c_char, to: *const c_char) -> c_int;
    Rename, true, -1 => renameat(from: c_int, old: *const c_char, to: c_int, new: *const c_char) -> c_int;
    Link, true, -1 => link(from: *const c_char, to: *const c_char) -> c_int;
    Link, true, -1 => linkat(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_int) -> c_int;
    Link, true, -1 => symlink(from: *const c_char, to: *const c_char) -> c_int;
    Open, false, std::ptr::null_mut() => opendir(path: *const c_char) -> *mut DIR;
    Truncate, true, -1 => ftruncate(file: c_int, bytes: off_t) -> c_int;
    Truncate, true, -1 => ftruncate64(file: c_int, bytes: off64_t) -> c_int;
    Truncate, true, -1 => fallocate(file: c_int, mode: c_int, start: off_t, bytes: off_t) -> c_int;
    Truncate, true, -1 => fallocate64(file: c_int, mode: c_int, start: off64_t, bytes: off64_t) -> c_int;
    Remove, true, -1 => unlink(path: *const c_char) -> c_int;
    Remove, true, -1 => unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
    Remove, true, -1 => rmdir(path: *const c_char) -> c_int;
    Folder, true, -1 => mkdir(path: *const c_char, mode: mode_t) -> c_int;
    Folder, true, -1 => mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int;
    Permission, true, -1 => chmod(path: *const c_char, mode: mode_t) -> c_int;
    Permission, true, -1 => fchmod(file: c_int, mode: mode_t) -> c_int;
    Permission, true, -1 => fchmodat(folder: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int;
    Process, false, -1 => fork() -> c_int;
}

/// Defines functions that return the error number.
macro_rules! replace_returning_error {
    ($($kind:ident => $name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// That of the original.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
            match decide(Kind::$kind, false) {
                Some(Fault::Error(error)) => error,
                _ => original!($name($($arg: $type),*) -> c_int),
            }
        }
    )*};
}

replace_returning_error! {
    Thread => pthread_create(thread: *mut c_void, attributes: *const c_void, run: *const c_void, argument: *mut c_void);
    Process => posix_spawn(
        id: *mut c_void, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const c_void, environment: *const c_void);
    Process => posix_spawnp(
        id: *mut c_void, path: *const c_char, actions: *const c_void, attributes: *const c_void,
        arguments: *const c_void, environment: *const c_void);
}

/// Defines functions that transfer bytes from or to a file: `$bytes` is the argument that a short transfer halves.
macro_rules! replace_transfer {
    ($($kind:ident, $bytes:ident => $name:ident($file:ident: c_int $(, $arg:ident: $type:ty)*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// That of the original.
        #[unsafe(no_mangle)]
        #[allow(unused_mut)]
        pub unsafe extern "C" fn $name($file: c_int $(, mut $arg: $type)*) -> ssize_t {
            let is_write = Kind::$kind == Kind::Write;
            let printed = is_write && ($file == 1 || $file == 2);
            let decision = if printed { decide(Kind::Print, false) } else { decide(Kind::$kind, is_write) };
            if let Some(Fault::Error(error)) = decision {
                set_errno(error);
                return -1;
            }
            if decision == Some(Fault::Short) && $bytes > 1 {
                $bytes /= 2;
            }
            let result = original!($name($file: c_int $(, $arg: $type)*) -> ssize_t);
            if decision == Some(Fault::SignalAfter) {
                signal();
            }
            result
        }
    )*};
}

replace_transfer! {
    Write, bytes => write(file: c_int, buffer: *const c_void, bytes: size_t);
    Write, bytes => pwrite(file: c_int, buffer: *const c_void, bytes: size_t, start: off_t);
    Write, bytes => pwrite64(file: c_int, buffer: *const c_void, bytes: size_t, start: off64_t);
    Write, parts => writev(file: c_int, buffers: *const c_void, parts: c_int);
    Read, bytes => read(file: c_int, buffer: *mut c_void, bytes: size_t);
    Read, bytes => pread(file: c_int, buffer: *mut c_void, bytes: size_t, start: off_t);
    Read, bytes => pread64(file: c_int, buffer: *mut c_void, bytes: size_t, start: off64_t);
    Read, parts => readv(file: c_int, buffers: *const c_void, parts: c_int);
}

/// Defines functions that open a file. The C functions are variadic; the calling conventions of the supported processors pass
/// the mode as if it were always given.
macro_rules! replace_open {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// That of the original.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type,)* flags: c_int, mode: mode_t) -> c_int {
            if flags & libc::O_TMPFILE == libc::O_TMPFILE && plain_files() {
                set_errno(libc::EOPNOTSUPP);
                return -1;
            }
            let decision = decide(Kind::Open, flags & (libc::O_ACCMODE | libc::O_CREAT) != 0);
            if let Some(Fault::Error(error)) = decision {
                set_errno(error);
                return -1;
            }
            let result = original!($name($($arg: $type,)* flags: c_int, mode: mode_t) -> c_int);
            if decision == Some(Fault::SignalAfter) {
                signal();
            }
            result
        }
    )*};
}

replace_open! {
    open(path: *const c_char);
    open64(path: *const c_char);
    openat(folder: c_int, path: *const c_char);
    openat64(folder: c_int, path: *const c_char);
}

/// `renameat2` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn renameat2(
    from: c_int,
    old: *const c_char,
    to: c_int,
    new: *const c_char,
    flags: c_uint,
) -> c_int {
    if flags != 0 && plain_files() {
        set_errno(libc::EINVAL);
        return -1;
    }
    let decision = decide(Kind::Rename, true);
    if let Some(Fault::Error(error)) = decision {
        set_errno(error);
        return -1;
    }
    let result =
        original!(renameat2(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_uint) -> c_int);
    if decision == Some(Fault::SignalAfter) {
        signal();
    }
    result
}

/// Defines functions that map a file; maps of memory without a file are not counted.
macro_rules! replace_map {
    ($($name:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        ///
        /// # Safety
        /// That of the original.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            address: *mut c_void, bytes: size_t, access: c_int, flags: c_int, file: c_int, start: off64_t,
        ) -> *mut c_void {
            if file >= 0 && let Some(Fault::Error(error)) = decide(Kind::Map, false) {
                set_errno(error);
                return libc::MAP_FAILED;
            }
            original!($name(
                address: *mut c_void, bytes: size_t, access: c_int, flags: c_int, file: c_int, start: off64_t
            ) -> *mut c_void)
        }
    )*};
}

replace_map! {
    mmap;
    mmap64;
}

// The allocator of the GNU C library under its own names: finding the originals of these functions would allocate.
unsafe extern "C" {
    fn __libc_malloc(bytes: size_t) -> *mut c_void;
    fn __libc_calloc(count: size_t, bytes: size_t) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: size_t) -> *mut c_void;
    fn __libc_memalign(align: size_t, bytes: size_t) -> *mut c_void;
}

/// True if an allocation is to fail.
fn fails(bytes: size_t) -> bool {
    let failed = bytes >= LARGE.load(SeqCst) && matches!(fault(Kind::Allocate), Some(Fault::Error(_)));
    if failed {
        set_errno(libc::ENOMEM);
    }
    failed
}

/// `malloc` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: size_t) -> *mut c_void {
    // SAFETY: the arguments are those of the caller.
    if fails(bytes) { std::ptr::null_mut() } else { unsafe { __libc_malloc(bytes) } }
}

/// `calloc` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: size_t, bytes: size_t) -> *mut c_void {
    // SAFETY: the arguments are those of the caller.
    if fails(count.saturating_mul(bytes)) { std::ptr::null_mut() } else { unsafe { __libc_calloc(count, bytes) } }
}

/// `realloc` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, bytes: size_t) -> *mut c_void {
    // SAFETY: the arguments are those of the caller.
    if fails(bytes) { std::ptr::null_mut() } else { unsafe { __libc_realloc(old, bytes) } }
}

/// `aligned_alloc` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(align: size_t, bytes: size_t) -> *mut c_void {
    // SAFETY: the arguments are those of the caller.
    if fails(bytes) { std::ptr::null_mut() } else { unsafe { __libc_memalign(align, bytes) } }
}

/// `posix_memalign` of the C library.
///
/// # Safety
/// That of the original.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, align: size_t, bytes: size_t) -> c_int {
    if fails(bytes) {
        return libc::ENOMEM;
    }
    // SAFETY: the arguments are those of the caller, who provides room for the result.
    unsafe {
        let found = __libc_memalign(align, bytes);
        if found.is_null() {
            return libc::ENOMEM;
        }
        *result = found;
    }
    0
}
