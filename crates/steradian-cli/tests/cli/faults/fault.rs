//! The faults: which calls fail and how, and the results that a command may have then.

/// Error numbers and signals of Linux.
const EPERM: &str = "1";
const EIO: &str = "5";
const EAGAIN: &str = "11";
const ENOMEM: &str = "12";
const EMFILE: &str = "24";
const ENOSPC: &str = "28";
const EPIPE: &str = "32";
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// Kinds of calls in the order in which the library of faults counts them.
pub const KINDS: [&str; 16] = [
    "write",
    "print",
    "read",
    "sync",
    "rename",
    "link",
    "open",
    "map",
    "truncate",
    "remove",
    "folder",
    "permission",
    "thread",
    "process",
    "allocate",
    "change",
];

/// The moment of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The n-th call of a kind.
    Call(&'static str),
    /// A random time.
    Time,
    /// The write that makes a file larger than a random limit.
    FileSize,
}

/// A fault and the results that a command may have with it.
#[derive(Debug, Clone)]
pub struct Fault {
    pub name: &'static str,
    pub moment: Moment,
    /// `STERADIAN_FAULT_ERROR`: an error number, or the place of a signal.
    pub error: &'static str,
    /// All later calls of the kind fail, too.
    pub repeat: bool,
    /// Signal that the process receives, or 0.
    pub signal: i32,
    /// The file system has neither unnamed files nor an exchange of names.
    pub plain_files: bool,
    /// Exit codes that the program may have.
    pub codes: &'static [i32],
}

impl Fault {
    const fn call(name: &'static str, kind: &'static str, error: &'static str, codes: &'static [i32]) -> Self {
        Self { name, moment: Moment::Call(kind), error, repeat: false, signal: 0, plain_files: false, codes }
    }

    const fn repeated(mut self) -> Self {
        self.repeat = true;
        self
    }

    const fn on_plain_files(mut self) -> Self {
        self.plain_files = true;
        self
    }

    const fn signal(name: &'static str, moment: Moment, place: &'static str, signal: i32) -> Self {
        let codes: &[i32] = match signal {
            SIGINT => &[0, 130],
            SIGTERM => &[0, 143],
            _ => &[0],
        };
        Self { name, moment, error: place, repeat: false, signal, plain_files: false, codes }
    }

    /// True if the process ends at once, so that it cannot remove its own files or finish outputs that belong together.
    pub fn kills(&self) -> bool {
        self.signal == SIGKILL
    }

    /// Number of temporary files that may be left for so many outputs; the next run to these outputs removes them.
    pub fn files_left(&self, outputs: usize) -> usize {
        // Where names cannot be exchanged, the replaced file gets a temporary name beside that of the new one.
        let renamed = self.kills() && self.plain_files && outputs > 1;
        if self.may_leave_files() { outputs + usize::from(renamed) } else { 0 }
    }

    /// True if one temporary file per output may be left, which the next run to that output removes.
    pub fn may_leave_files(&self) -> bool {
        // A file that cannot be removed is left, as well, and a folder that cannot be opened to remove what is in it.
        let opens = self.repeat && self.moment == Moment::Call("open");
        self.kills() || opens || self.moment == Moment::Call("remove")
    }

    /// True if the process may end by this signal.
    pub fn may_end_by(&self, signal: i32) -> bool {
        // Before the program has installed its handlers, the system ends it; nothing is written then.
        self.signal == signal
    }

    /// The environment of the program for the n-th call, or for a time in microseconds or a size in bytes.
    pub fn environment(&self, at: u64) -> Vec<(&'static str, String)> {
        let mut set = Vec::new();
        match self.moment {
            Moment::Call(kind) => {
                set.push(("STERADIAN_FAULT_KIND", kind.to_string()));
                set.push(("STERADIAN_FAULT_AT", at.to_string()));
            }
            Moment::Time => set.push(("STERADIAN_FAULT_MICROSECONDS", at.to_string())),
            Moment::FileSize => set.push(("STERADIAN_FAULT_FILE_BYTES", at.to_string())),
        }
        if !self.error.is_empty() {
            set.push(("STERADIAN_FAULT_ERROR", self.error.to_string()));
        }
        if self.signal != 0 {
            set.push(("STERADIAN_FAULT_SIGNAL", self.signal.to_string()));
        }
        if self.repeat {
            set.push(("STERADIAN_FAULT_REPEAT", "1".to_string()));
        }
        if self.plain_files {
            set.push(("STERADIAN_FAULT_PLAIN_FILES", "1".to_string()));
        }
        set
    }
}

/// All faults. An error of the system has exit code 4, or 0 if the command can do without the call.
pub const FAULTS: &[Fault] = &[
    Fault::call("write, disk full", "write", ENOSPC, &[0, 4]),
    Fault::call("write, disk stays full", "write", ENOSPC, &[0, 4]).repeated(),
    Fault::call("write, half of the bytes", "write", "short", &[0]),
    Fault::call("write, named files", "write", ENOSPC, &[0, 4]).on_plain_files(),
    Fault::call("print, disk full", "print", ENOSPC, &[0, 4]),
    Fault::call("print, closed pipe", "print", EPIPE, &[0, 4]),
    Fault::call("print, half of the bytes", "print", "short", &[0]),
    Fault::call("read, error", "read", EIO, &[0, 4]),
    Fault::call("read, half of the bytes", "read", "short", &[0]),
    Fault::call("sync", "sync", EIO, &[0, 4]),
    Fault::call("sync, named files", "sync", EIO, &[0, 4]).on_plain_files(),
    Fault::call("rename", "rename", EIO, &[0, 4]),
    Fault::call("rename, all later", "rename", EPERM, &[0, 4]).repeated(),
    Fault::call("rename, named files", "rename", EIO, &[0, 4]).on_plain_files(),
    Fault::call("link", "link", EIO, &[0, 4]),
    Fault::call("link, all later", "link", EPERM, &[0, 4]).repeated(),
    Fault::call("open", "open", EMFILE, &[0, 4]),
    Fault::call("open, all later", "open", EMFILE, &[0, 4]).repeated(),
    Fault::call("open, named files", "open", EMFILE, &[0, 4]).on_plain_files(),
    Fault::call("map", "map", ENOMEM, &[0, 4]),
    Fault::call("truncate", "truncate", EIO, &[0, 4]),
    Fault::call("remove", "remove", EIO, &[0, 4]),
    Fault::call("remove, named files", "remove", EIO, &[0, 4]).on_plain_files(),
    Fault::call("folder", "folder", ENOSPC, &[0, 4]),
    Fault::call("permission", "permission", EPERM, &[0, 4]),
    Fault::call("thread", "thread", EAGAIN, &[0, 4]),
    Fault::call("thread, all later", "thread", EAGAIN, &[0, 4]).repeated(),
    Fault::call("process", "process", EAGAIN, &[0, 4]),
    Fault::call("allocate 1 MiB", "allocate", ENOMEM, &[0, 4]),
    Fault::call("allocate 1 MiB, all later", "allocate", ENOMEM, &[0, 4]).repeated(),
    Fault::signal("KILL before a change", Moment::Call("change"), "before", SIGKILL),
    Fault::signal("KILL after a change", Moment::Call("change"), "after", SIGKILL),
    Fault::signal("KILL before a change, named files", Moment::Call("change"), "before", SIGKILL).on_plain_files(),
    Fault::signal("KILL after a change, named files", Moment::Call("change"), "after", SIGKILL).on_plain_files(),
    Fault::signal("TERM before a change", Moment::Call("change"), "before", SIGTERM),
    Fault::signal("TERM before a change, named files", Moment::Call("change"), "before", SIGTERM).on_plain_files(),
    Fault::signal("INT before a change", Moment::Call("change"), "before", SIGINT),
    Fault::signal("INT before a change, named files", Moment::Call("change"), "before", SIGINT).on_plain_files(),
    Fault::signal("KILL", Moment::Time, "", SIGKILL),
    Fault::signal("TERM", Moment::Time, "", SIGTERM),
    Fault::signal("INT", Moment::Time, "", SIGINT),
    // The signal XFSZ of a file that would become too large; with it ignored, the write fails.
    Fault { codes: &[0, 4], ..Fault::signal("XFSZ", Moment::FileSize, "", 0) },
];
