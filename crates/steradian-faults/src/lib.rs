//! Faults of the system for tests: a library for `LD_PRELOAD` that makes one chosen call of a program fail, or ends the program there.
//!
//! The functions of the C library that [`calls`] defines replace those of the system. Each call is counted by its kind, in a
//! file that the test reads afterwards, and the n-th call of one kind fails. Everything is set by environment variables:
//!
//! | variable | meaning |
//! |---|---|
//! | `STERADIAN_FAULT_COUNTS` | file for the counts of calls, 8 bytes per kind in the order of [`kind::Kind`], then the number of faults |
//! | `STERADIAN_FAULT_KIND` | kind of the call that fails, by its name |
//! | `STERADIAN_FAULT_AT` | index of the call among its kind, from 1; without it no call fails |
//! | `STERADIAN_FAULT_REPEAT` | if set, all later calls of the kind fail, too |
//! | `STERADIAN_FAULT_ERROR` | error number of the call; `short`: a read or write transfers half of the bytes; `before` or `after`: the process receives the signal there |
//! | `STERADIAN_FAULT_SIGNAL` | number of the signal |
//! | `STERADIAN_FAULT_MICROSECONDS` | time after which the process receives the signal, if no call is given |
//! | `STERADIAN_FAULT_FILE_BYTES` | largest size of a file that the process may write (`RLIMIT_FSIZE`) |
//! | `STERADIAN_FAULT_PLAIN_FILES` | if set, the file system has neither unnamed files nor an exchange of names |
//! | `STERADIAN_FAULT_LARGE` | smallest allocation that is counted, in bytes; 1 MiB without it |
//!
//! Processes that the program starts are not affected. Calls that bypass the C library are not counted.
//!
//! On other systems than Linux with the GNU C library this library is empty.

#![allow(unsafe_code)]
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod calls;
mod kind;
mod settings;
