//! How much memory is free.

use impresario_policies::free_memory::{GroupMemory, free_memory, group_directories};
use std::path::Path;

const GROUPS: &str = "/sys/fs/cgroup";

/// What may still be taken, in bytes, of the machine and of every control group around this process; none where the
/// system does not say.
pub fn free_memory_now() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mut groups = Vec::new();
    for directory in group_directories(&own) {
        let directory = Path::new(GROUPS).join(directory);
        let first_of = |names: [&str; 2]| names.iter().find_map(|name| read(&directory.join(name)));
        let limit = first_of(["memory.max", "memory.limit_in_bytes"]);
        let used = first_of(["memory.current", "memory.usage_in_bytes"]);
        if let (Some(limit), Some(used)) = (limit, used) {
            groups.push((
                limit,
                used,
                read(&directory.join("memory.stat")).unwrap_or_default(),
            ));
        }
    }
    let groups = groups.iter().map(|(limit, used, statistics)| GroupMemory {
        limit,
        used,
        statistics,
    });
    free_memory(read(Path::new("/proc/meminfo")).as_deref(), groups)
}
