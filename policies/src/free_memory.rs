//! How much memory may still be taken, as the kernel says it?

/// What was read of one control group and those above it, where they have a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMemory<'a> {
    /// `memory.max`, or `memory.limit_in_bytes` of the first version.
    pub limit: &'a str,
    /// `memory.current`, or `memory.usage_in_bytes`.
    pub used: &'a str,
    /// `memory.stat`.
    pub statistics: &'a str,
}

/// The least of what the machine and each group have left; none where nothing of it can be read.
pub fn free_memory<'a>(
    machine: Option<&str>,
    groups: impl IntoIterator<Item = GroupMemory<'a>>,
) -> Option<u64> {
    let of_machine = machine.and_then(available);
    groups.into_iter().filter_map(left_in).chain(of_machine).min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

/// Pages of files that nobody uses now are given back when somebody needs them.
fn left_in(group: GroupMemory<'_>) -> Option<u64> {
    let limit: u64 = group.limit.trim().parse().ok()?;
    let used: u64 = group.used.trim().parse().ok()?;
    let of_files = ["inactive_file ", "total_inactive_file "]
        .iter()
        .filter_map(|name| group.statistics.lines().find_map(|line| line.strip_prefix(name)))
        .find_map(|number| number.trim().parse().ok())
        .unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(of_files)))
}

/// The directories of a process's group and those above it, from `/proc/self/cgroup`; relative to where groups are
/// mounted.
pub fn group_directories(cgroup: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let root = match controllers {
            "" => "",
            _ if controllers.split(',').any(|one| one == "memory") => "memory",
            _ => return None,
        };
        Some((root, path.trim_matches('/').to_string()))
    };
    let mut directories = Vec::new();
    for (root, path) in cgroup.lines().filter_map(of_line) {
        let mut below = path.as_str();
        loop {
            let parts = [root, below].into_iter().filter(|part| !part.is_empty());
            directories.push(parts.collect::<Vec<_>>().join("/"));
            if below.is_empty() {
                break;
            }
            below = below.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";

    fn group<'a>(limit: &'a str, used: &'a str, statistics: &'a str) -> GroupMemory<'a> {
        GroupMemory {
            limit,
            used,
            statistics,
        }
    }

    #[test]
    fn the_least_of_all_counts() {
        assert_eq!(free_memory(Some(MEMINFO), []), Some(2_048 * 1024));
        let narrow = group("1000000\n", "900000\n", "anon 5\ninactive_file 300000\n");
        assert_eq!(free_memory(Some(MEMINFO), [narrow]), Some(400_000));
        let first_version = group("1000000", "900000", "cache 1\ntotal_inactive_file 50000");
        assert_eq!(free_memory(None, [narrow, first_version]), Some(150_000));
    }

    #[test]
    fn what_has_no_limit_or_cannot_be_read_says_nothing() {
        let unlimited = group("max\n", "900000\n", "");
        assert_eq!(free_memory(Some(MEMINFO), [unlimited]), Some(2_048 * 1024));
        assert_eq!(free_memory(Some("nonsense"), [unlimited]), None);
        assert_eq!(free_memory(None, []), None);
    }

    #[test]
    fn groups_are_looked_at_up_to_the_root() {
        let expected = ["user.slice/app.scope", "user.slice", ""];
        assert_eq!(group_directories("0::/user.slice/app.scope\n"), expected);
        let first_version = "12:cpu,cpuacct:/x\n4:memory:/docker/abc\n";
        assert_eq!(
            group_directories(first_version),
            ["memory/docker/abc", "memory/docker", "memory"]
        );
        assert!(group_directories("").is_empty());
    }
}
