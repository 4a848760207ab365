//! The amount of memory that this process can still allocate.

/// Bytes that the system can allocate without swapping, cached files included; `None` where the system does not report
/// it.
pub fn available() -> Option<u64> {
    let total = available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // In a container the limit of its control group applies; "max" does not parse and means no limit.
    let group = match (number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current")) {
        (Some(limit), Some(used)) => {
            let cached = std::fs::read_to_string("/sys/fs/cgroup/memory.stat").ok();
            let cached = cached.and_then(|stat| field(&stat, "file ")).unwrap_or(0);
            limit.saturating_sub(used.saturating_sub(cached))
        }
        _ => u64::MAX,
    };
    Some(total.min(group))
}

fn available_in(meminfo: &str) -> Option<u64> {
    Some(1024 * field(meminfo, "MemAvailable:")?)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_parsed() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:    123 kB\n"), Some(123 << 10));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
        assert_eq!(field("anon 5\nfile 77\n", "file "), Some(77));
    }
}
