//! How much memory this process can still have, where the system says so: on Linux.
use std::fs;
use std::path::Path;

/// Bytes of memory and swap that are free or can be freed, within the limits of the control groups of this process;
/// `None` if the system does not say.
#[must_use]
pub fn available() -> Option<u64> {
    let of_system = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(of_system)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| of_group(line, Path::new("/sys/fs/cgroup")));
    Some(of_groups.fold(of_system, u64::min))
}

fn of_system(meminfo: &str) -> Option<u64> {
    let field = |name: &str| -> Option<u64> {
        let value = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    Some(field("MemAvailable")? + field("SwapFree").unwrap_or(0))
}

/// The files of a hierarchy that tell limit and use, and the use that can be freed at any time.
struct Names {
    limit: &'static str,
    used: &'static str,
    freeable: &'static str,
}

/// What a control group and those around it leave. `line` is one of `/proc/self/cgroup`.
fn of_group(line: &str, root: &Path) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    let (root, names) = if controllers.is_empty() {
        let names = Names { limit: "memory.max", used: "memory.current", freeable: "inactive_file" };
        (root.to_owned(), names)
    } else if controllers.split(',').any(|name| name == "memory") {
        let names = Names {
            limit: "memory.limit_in_bytes",
            used: "memory.usage_in_bytes",
            freeable: "total_inactive_file",
        };
        (root.join("memory"), names)
    } else {
        return None;
    };
    // In a container the path may be that of the host, where only the last folders are to be seen, or none.
    let inner = root.join(group.trim_start_matches('/'));
    let folders = inner.ancestors().take_while(|folder| folder.starts_with(&root));
    folders.filter_map(|folder| left(folder, &names)).min()
}

/// The bytes that one control group leaves, if it has a limit.
fn left(folder: &Path, names: &Names) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let limit: u64 = read(names.limit)?.trim().parse().ok()?;
    let used: u64 = read(names.used)?.trim().parse().ok()?;
    let freeable = read("memory.stat").and_then(|stat| {
        stat.lines().find_map(|line| line.strip_prefix(names.freeable)?.trim().parse::<u64>().ok())
    });
    Some(limit.saturating_sub(used.saturating_sub(freeable.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_what_is_free() {
        let meminfo =
            "MemTotal:  900 kB\nMemFree:  1 kB\nMemAvailable:  600 kB\nSwapTotal: 9 kB\nSwapFree:  4 kB\n";
        assert_eq!(of_system(meminfo), Some(604 * 1024));
        assert_eq!(of_system("MemAvailable:  600 kB\n"), Some(600 * 1024));
        assert_eq!(of_system("MemTotal:  900 kB\n"), None);
        assert_eq!(of_system("MemAvailable:  99999999999999999999 kB\n"), None);
        assert_eq!(available().is_some(), cfg!(target_os = "linux"));
    }

    #[test]
    fn the_narrowest_group_counts() {
        let root = std::env::temp_dir().join(format!("tokenmill-memory-{}", std::process::id()));
        let write = |name: &str, content: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        write("a/memory.max", "1000\n");
        write("a/memory.current", "900\n");
        write("a/memory.stat", "anon 600\ninactive_file 250\nactive_file 50\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "800\n");
        write("memory/c/memory.limit_in_bytes", "5000\n");
        write("memory/c/memory.usage_in_bytes", "6000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.usage_in_bytes", "7000\n");
        let left = |line| of_group(line, &root);
        assert_eq!(left("0::/a/b"), Some(350));
        assert_eq!(left("0::/a"), Some(350));
        assert_eq!(left("0::/"), None);
        assert_eq!(left("4:cpu,memory:/c"), Some(0));
        assert_eq!(left("4:memory:/elsewhere/d"), Some(9_223_372_036_854_764_712));
        assert_eq!(left("5:cpuacct:/c"), None);
        assert_eq!(left("nonsense"), None);
        fs::remove_dir_all(&root).unwrap();
    }
}
