//! What git lists of two trees, as bytes: paths may hold anything but a zero.

use crate::gateways::WorktreeError;
use impresario_policies::domain::{FileChange, PatchedFile};
use impresario_policies::worktree::{GitEntry, readable_path};

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Vec<u8>,
    /// What it was called, where it was moved.
    from: Option<Vec<u8>>,
    letter: u8,
    pub(super) before: Option<GitEntry>,
    pub(super) after: Option<GitEntry>,
}

fn fields(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

fn unexpected() -> WorktreeError {
    WorktreeError("git listed its files in a form that is not known here".to_string())
}

/// `--raw -z`: `:mode mode hash hash letter`, then the path, or two of them.
pub(super) fn read_raw(listed: &[u8]) -> Result<Vec<Difference>, WorktreeError> {
    let mut fields = fields(listed);
    let mut found = Vec::new();
    while let Some(head) = fields.next() {
        let head = std::str::from_utf8(head).map_err(|_| unexpected())?;
        let head = head.strip_prefix(':').ok_or_else(unexpected)?;
        let words: Vec<&str> = head.split(' ').collect();
        let [mode_before, mode_after, before, after, letter] = words[..] else {
            return Err(unexpected());
        };
        let entry = |mode: &str, hash: &str| {
            (mode != "000000").then(|| GitEntry {
                mode: mode.to_string(),
                hash: hash.to_string(),
            })
        };
        let letter = *letter.as_bytes().first().ok_or_else(unexpected)?;
        let first = fields.next().ok_or_else(unexpected)?.to_vec();
        let (from, path) = match letter {
            b'R' | b'C' => (Some(first), fields.next().ok_or_else(unexpected)?.to_vec()),
            _ => (None, first),
        };
        found.push(Difference {
            path,
            from,
            letter,
            before: entry(mode_before, before),
            after: entry(mode_after, after),
        });
    }
    Ok(found)
}

/// `--numstat -z`: lines that came and went, in the order of `--raw`; none where it is no text.
pub(super) fn read_counts(listed: &[u8]) -> Result<Vec<Option<(u64, u64)>>, WorktreeError> {
    let mut fields = fields(listed);
    let mut found = Vec::new();
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let (added, removed, path) = (parts.next(), parts.next(), parts.next());
        let number = |field: Option<&[u8]>| std::str::from_utf8(field?).ok()?.parse::<u64>().ok();
        if path.is_none_or(<[u8]>::is_empty) {
            // Moved: both names follow.
            fields.next();
            fields.next();
        }
        found.push(number(added).zip(number(removed)));
    }
    Ok(found)
}

/// As the run's journal and people have it.
pub(super) fn patched_files(
    differences: &[Difference],
    counts: &[Option<(u64, u64)>],
    files_max: usize,
) -> Vec<PatchedFile> {
    let counts = counts.iter().copied().chain(std::iter::repeat(None));
    let listed = differences.iter().zip(counts).take(files_max);
    listed
        .map(|(difference, lines)| {
            let Difference {
                path,
                from,
                letter,
                before,
                after,
            } = difference;
            let mode = |entry: &Option<GitEntry>| entry.as_ref().map(|entry| entry.mode.clone());
            PatchedFile {
                path: readable_path(path),
                from: from.as_deref().map(readable_path),
                change: match letter {
                    b'A' | b'C' => FileChange::Added,
                    b'D' => FileChange::Deleted,
                    b'R' => FileChange::Renamed,
                    b'T' => FileChange::Retyped,
                    _ => FileChange::Modified,
                },
                added: lines.map(|(added, _)| added),
                removed: lines.map(|(_, removed)| removed),
                before: before.as_ref().map(|entry| entry.hash.clone()),
                after: after.as_ref().map(|entry| entry.hash.clone()),
                mode_changed: before.is_some() && after.is_some() && mode(before) != mode(after),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_whatever_they_are_called() {
        let raw = b":100644 100755 aa bb M\0two\nlines\0:100644 100644 cc dd R090\0old\xff\0new\0:000000 120000 00 ee A\0link\0";
        let counts = b"1\t2\ttwo\nlines\x003\t4\t\0old\xff\0new\0-\t-\tlink\0";
        let differences = read_raw(raw).unwrap();
        assert_eq!(differences[1].path, b"new");
        assert_eq!(differences[2].before, None);
        let files = patched_files(&differences, &read_counts(counts).unwrap(), 10);
        let short = |file: &PatchedFile| {
            (
                file.path.clone(),
                file.from.clone(),
                file.change.letter(),
                file.added.zip(file.removed),
                file.mode_changed,
            )
        };
        assert_eq!(
            files.iter().map(short).collect::<Vec<_>>(),
            [
                ("\"two\\nlines\"".into(), None, 'M', Some((1, 2)), true),
                (
                    "new".into(),
                    Some("\"old\\377\"".into()),
                    'R',
                    Some((3, 4)),
                    false
                ),
                ("link".into(), None, 'A', None, false),
            ]
        );
    }

    #[test]
    fn a_form_that_is_not_known_is_refused() {
        for listed in [&b"x\0"[..], b":1 2 3\0p\0", b":100644 100644 a b M\0"] {
            assert!(read_raw(listed).is_err());
        }
        assert_eq!(read_raw(b"").unwrap(), []);
    }
}
