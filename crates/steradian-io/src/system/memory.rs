//! The amount of memory that this process can still allocate.

/// Bytes that the system can give without taking them from anybody, cached files included; nothing where it is not told.
pub fn available() -> Option<u64> {
    let machine = available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    // In a container, the limit of its group; "max" is no number and no limit.
    let group = match (number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current")) {
        (Some(most), Some(now)) => {
            let cached = std::fs::read_to_string("/sys/fs/cgroup/memory.stat").ok();
            let cached = cached.and_then(|stat| field(&stat, "file ")).unwrap_or(0);
            most.saturating_sub(now.saturating_sub(cached))
        }
        _ => u64::MAX,
    };
    Some(machine.min(group))
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
    fn the_system_says_what_it_can_give() {
        assert_eq!(available_in("MemTotal: 9 kB\nMemAvailable:    123 kB\n"), Some(123 << 10));
        assert_eq!(available_in("MemTotal: 9 kB\n"), None);
        assert_eq!(field("anon 5\nfile 77\n", "file "), Some(77));
    }
}
