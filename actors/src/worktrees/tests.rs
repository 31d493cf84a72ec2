use super::{Applied, GitWorktrees, RunStands, WorktreeStage};
use super::{capture, patch};
use crate::gateways::{WorktreeAsk, WorktreeError};
use impresario_policies::domain::{Patch, RunId, Worktree};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A repository of a person, and a place for worktrees.
struct Stage {
    directory: TempDir,
    worktrees: GitWorktrees,
}

fn run(chance: u64) -> RunId {
    RunId::new(1_700_000_000_000, chance)
}

impl Stage {
    fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let worktrees = GitWorktrees::new(directory.path().join("state"));
        let stage = Self { directory, worktrees };
        fs::create_dir(stage.top()).unwrap();
        stage
    }

    fn unborn() -> Self {
        let stage = Self::empty();
        stage.git(&["init", "-q", "-b", "main"]);
        stage
    }

    /// Three files that are committed: `a`, `b`, `d/c`.
    fn new() -> Self {
        let stage = Self::unborn();
        for (file, text) in [
            ("a", "1\n2\n3\n"),
            ("b", "b\n"),
            ("d/c", "c\n"),
            (".gitignore", "target/\n"),
        ] {
            stage.write(file, text);
        }
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "first"]);
        stage
    }

    fn top(&self) -> PathBuf {
        self.directory.path().join("person")
    }

    fn write(&self, file: &str, text: &str) {
        write(&self.top().join(file), text);
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.top().join(file)).unwrap()
    }

    fn git(&self, words: &[&str]) -> String {
        git_in(&self.top(), words)
    }

    fn ask(&self, chance: u64) -> WorktreeAsk {
        WorktreeAsk {
            run: run(chance),
            workspace: self.top(),
            goes_on_in: None,
        }
    }

    fn prepare(&self) -> Worktree {
        capture::prepare(&self.worktrees.registry, &self.ask(1)).unwrap()
    }

    fn refused(&self) -> String {
        capture::prepare(&self.worktrees.registry, &self.ask(1))
            .unwrap_err()
            .0
    }

    fn take(&self, worktree: &Worktree) -> Patch {
        patch::take(&self.worktrees.registry, &run(1), worktree).unwrap()
    }

    fn clear(&self) -> Result<(), WorktreeError> {
        patch::clear(&self.worktrees.registry, &run(1))
    }

    fn apply(&self) -> Applied {
        self.worktrees.apply(&run(1), false).unwrap()
    }

    /// Everything of the person's that must be as it was: files, index, and what git says.
    fn evidence(&self) -> (Vec<(PathBuf, Vec<u8>)>, Vec<u8>, String) {
        let index = fs::read(self.top().join(".git/index")).unwrap_or_default();
        let mut files = Vec::new();
        collect(&self.top(), &mut files);
        (files, index, self.status())
    }

    fn status(&self) -> String {
        git_in(&self.top(), &["status", "--porcelain=v1", "-uall"])
    }
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with(".git"))
        .collect();
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            let link = fs::read_link(&path).unwrap();
            files.push((path, link.as_os_str().as_bytes().to_vec()));
        } else if path.is_dir() {
            collect(&path, files);
        } else {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            let text = [fs::read(&path).unwrap(), mode.to_le_bytes().to_vec()].concat();
            files.push((path, text));
        }
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn git_in(directory: &Path, words: &[&str]) -> String {
    let output = git_command(directory, words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// With a committer of its own: a machine may have none.
fn git_command(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    command
}

fn paths(patch: &Patch) -> Vec<String> {
    patch
        .files
        .iter()
        .map(|file| format!("{} {}", file.change.letter(), file.path))
        .collect()
}

#[test]
fn a_run_sees_what_the_person_has_not_committed_and_the_person_sees_nothing_of_it() {
    let stage = Stage::new();
    stage.write("a", "1\nTWO\n3\n");
    stage.write("staged", "s\n");
    stage.git(&["add", "staged"]);
    stage.write("staged", "s and more\n");
    stage.git(&["rm", "-q", "b"]);
    stage.write("new file", "n\n");
    stage.write("target/ignored", "i\n");
    let before = stage.evidence();
    let worktree = stage.prepare();
    assert_eq!(stage.evidence(), before);
    let there = &worktree.directory;
    assert_eq!(
        git_in(there, &["status", "--porcelain=v1", "-uall"]),
        stage.status()
    );
    assert_eq!(git_in(there, &["diff"]), stage.git(&["diff"]));
    assert_eq!(
        git_in(there, &["diff", "--cached"]),
        stage.git(&["diff", "--cached"])
    );
    assert_eq!(
        git_in(there, &["log", "--oneline"]),
        stage.git(&["log", "--oneline"])
    );
    assert!(
        !there.join("target").exists() && worktree.notes[0].contains("target/"),
        "{worktree:?}"
    );
    assert!(!there.starts_with(stage.top()));
    let patch = stage.take(&worktree);
    assert_eq!((patch.files_in_all, patch.bytes), (0, 0));
    stage.clear().unwrap();
    assert_eq!(stage.evidence(), before);
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.git(&["for-each-ref", "refs/impresario"]), "");
    assert_eq!(stage.worktrees.list(), []);
}

#[test]
fn what_changed_comes_back_whatever_it_is_and_is_applied_as_it_was() {
    let stage = Stage::new();
    stage.write("big", &"line\n".repeat(40));
    stage.write("tool.sh", "#!/bin/sh\n");
    stage.write("was a file", "w\n");
    stage.write("a", "1\nTWO\n3\n");
    let worktree = stage.prepare();
    let there = |name: &str| worktree.directory.join(name);
    write(&there("a"), "1\nTWO\nTHREE\n");
    fs::remove_file(there("b")).unwrap();
    fs::rename(there("big"), there("moved")).unwrap();
    fs::set_permissions(there("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(there("binary"), [0, 159, 146, 150, 0, 1]).unwrap();
    symlink("a", there("link")).unwrap();
    fs::remove_dir_all(there("d")).unwrap();
    write(&there("d"), "a file now\n");
    fs::remove_file(there("was a file")).unwrap();
    write(&there("was a file/now below"), "w\n");
    write(&there("e/f/g"), "deep\n");
    write(&there("two\nlines \"quoted\""), "odd\n");
    fs::write(worktree.directory.join(OsStr::from_bytes(b"no\xffutf8")), "odd\n").unwrap();
    let patch = stage.take(&worktree);
    let expected = [
        "M a",
        "D b",
        "A binary",
        "A d",
        "D d/c",
        "A e/f/g",
        "A link",
        "R moved",
        "A \"no\\377utf8\"",
        "M tool.sh",
        "A \"two\\nlines \\\"quoted\\\"\"",
        "R was a file/now below",
    ];
    assert_eq!(paths(&patch), expected);
    assert!(patch.complete && patch.notes.is_empty(), "{patch:?}");
    let of = |path: &str| patch.files.iter().find(|file| file.path == path).unwrap();
    assert_eq!((of("a").added, of("a").removed), (Some(1), Some(1)));
    assert_eq!(of("moved").from.as_deref(), Some("big"));
    assert_eq!(of("binary").added, None);
    assert!(of("tool.sh").mode_changed);
    let hash = stage.git(&["hash-object", "a"]);
    assert_eq!(of("a").before.as_deref(), Some(hash.trim()));

    let mut wanted = Vec::new();
    collect(&worktree.directory, &mut wanted);
    let index = fs::read(stage.top().join(".git/index")).unwrap();
    stage.clear().unwrap();
    assert!(!worktree.directory.exists());
    let before = stage.evidence();
    assert_eq!(stage.worktrees.apply(&run(1), true), Ok(Applied::Files(14)));
    assert_eq!(stage.evidence(), before, "a look changes nothing");
    assert_eq!(stage.apply(), Applied::Files(14));
    let mut got = Vec::new();
    collect(&stage.top(), &mut got);
    let below = |files: Vec<(PathBuf, Vec<u8>)>, top: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        files
            .into_iter()
            .map(|(path, text)| (path.strip_prefix(top).unwrap().to_path_buf(), text))
            .collect()
    };
    assert_eq!(below(got, &stage.top()), below(wanted, &worktree.directory));
    assert_eq!(
        fs::read(stage.top().join(".git/index")).unwrap(),
        index,
        "the index is the person's"
    );
    assert!(!stage.top().join(".git/impresario").join(run(1).as_str()).exists());
    assert_eq!(stage.apply(), Applied::Already);
    assert_eq!(
        stage.worktrees.list()[0].as_ref().unwrap().stage,
        WorktreeStage::Applied
    );
    stage.worktrees.discard(&run(1)).unwrap();
    assert_eq!(stage.git(&["for-each-ref", "refs/impresario"]), "");
}

/// Git tells by time and size whether a file changed, and by the time of its index whether that can be believed.
#[test]
fn a_change_of_the_same_size_in_the_same_second_is_seen() {
    let stage = Stage::new();
    let second = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).unwrap().mtime()
    };
    let (ask, worktree, changed_at) = (0..)
        .find_map(|round| {
            let ask = stage.ask(round);
            let worktree = capture::prepare(&stage.worktrees.registry, &ask).unwrap();
            let file = worktree.directory.join("a");
            write(&file, "1\n2\n4\n");
            let index = stage
                .directory
                .path()
                .join("state")
                .join(format!("{}.index", ask.run));
            (second(&file) == second(&index)).then(|| (ask, worktree, second(&file)))
        })
        .unwrap();
    let later = stage.directory.path().join("later");
    write(&later, "");
    while second(&later) == changed_at {
        write(&later, "");
    }
    let patch = patch::take(&stage.worktrees.registry, &ask.run, &worktree).unwrap();
    assert_eq!(paths(&patch), ["M a"]);
}

#[test]
fn what_the_person_changed_meanwhile_is_a_conflict_and_nothing_is_touched() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    for file in ["a", "b", "new/one", "d/c"] {
        write(&worktree.directory.join(file), "of the run\n");
    }
    stage.take(&worktree);
    stage.write("b", "of the person\n");
    stage.write("new", "a file of the person\n");
    fs::remove_file(stage.top().join("d/c")).unwrap();
    let before = stage.evidence();
    let Applied::Conflicts(conflicts) = stage.apply() else {
        panic!("applied");
    };
    assert_eq!(
        conflicts,
        [
            "b: was changed meanwhile",
            "d/c: is not there any more",
            "new/one: new is no directory"
        ]
    );
    assert_eq!(stage.evidence(), before);
    stage.write("b", "b\n");
    stage.write("d/c", "c\n");
    fs::remove_file(stage.top().join("new")).unwrap();
    assert_eq!(stage.apply(), Applied::Files(4));
    assert_eq!(
        (stage.read("b"), stage.read("new/one")),
        ("of the run\n".into(), "of the run\n".into())
    );
}

#[test]
fn a_commit_of_the_person_is_no_conflict_where_the_files_are_the_same() {
    let stage = Stage::new();
    stage.write("b", "dirty\n");
    let worktree = stage.prepare();
    write(&worktree.directory.join("b"), "dirty\nand more\n");
    stage.take(&worktree);
    stage.git(&["commit", "-qam", "second"]);
    stage.write("other", "x\n");
    assert_eq!(stage.apply(), Applied::Files(1));
    assert_eq!(stage.read("b"), "dirty\nand more\n");
}

#[test]
fn applying_that_was_cut_off_is_finished_by_applying_again() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "of the run\n");
    fs::remove_file(worktree.directory.join("b")).unwrap();
    write(&worktree.directory.join("n"), "of the run\n");
    stage.take(&worktree);
    // As a kill in the middle leaves it: each file is as it was, or as it shall be.
    fs::remove_file(stage.top().join("b")).unwrap();
    stage.write("n", "of the run\n");
    assert_eq!(stage.apply(), Applied::Files(1));
    assert_eq!(stage.read("a"), "of the run\n");
    assert!(!stage.top().join("b").exists());
}

#[test]
fn a_patch_is_taken_once_and_what_was_prepared_is_found() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    assert_eq!(stage.prepare(), worktree, "another life of the run finds it");
    assert_eq!(fs::read_to_string(worktree.directory.join("a")).unwrap(), "x\n");
    let patch = stage.take(&worktree);
    write(&worktree.directory.join("a"), "somebody else\n");
    assert_eq!(stage.take(&worktree), patch);
}

#[test]
fn what_is_half_made_is_made_anew() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    let entry = stage
        .directory
        .path()
        .join("state")
        .join(format!("{}.json", run(1)));
    let mut half = stage.worktrees.list()[0].clone().unwrap();
    half.stage = WorktreeStage::Preparing;
    half.half_made = true;
    half.worktree = None;
    fs::write(&entry, super::wire::write_entry(&half)).unwrap();
    fs::remove_file(worktree.directory.join("a")).unwrap();
    fs::remove_file(worktree.directory.join(".git")).unwrap();
    let lock = stage
        .top()
        .join(".git")
        .join(format!("{}.lock", worktree.reference));
    fs::write(&lock, "").unwrap();
    stage.write("b", "changed since\n");
    let again = stage.prepare();
    assert_eq!(again.directory, worktree.directory);
    assert_eq!(
        fs::read_to_string(again.directory.join("b")).unwrap(),
        "changed since\n"
    );
    assert!(again.directory.join("a").exists());
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 2);
    fs::write(&entry, super::wire::write_entry(&half)).unwrap();
    stage.worktrees.settle(&run(1), RunStands::Over).unwrap();
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.git(&["for-each-ref", "refs/impresario"]), "");
    assert_eq!(stage.worktrees.list(), []);
}

#[test]
fn nothing_is_removed_whose_patch_or_ref_is_not_as_it_was_written() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    assert!(stage.clear().unwrap_err().0.contains("not taken"));
    let patch = stage.take(&worktree);
    let text = fs::read(&patch.file).unwrap();
    fs::write(&patch.file, [&text[..], b" "].concat()).unwrap();
    assert!(stage.clear().unwrap_err().0.contains("not as it was written"));
    assert!(stage.worktrees.apply(&run(1), false).is_err());
    fs::write(&patch.file, &text).unwrap();
    stage.git(&["update-ref", &worktree.reference, "HEAD"]);
    assert!(stage.clear().unwrap_err().0.contains("does not name"));
    assert!(worktree.directory.join("a").exists());
    stage.git(&["update-ref", &worktree.reference, &patch.result]);
    stage.clear().unwrap();
    assert!(!worktree.directory.exists() && patch.file.exists());
}

#[test]
fn what_a_patch_cannot_hold_keeps_the_worktree() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    let inner = worktree.directory.join("inner");
    fs::create_dir(&inner).unwrap();
    git_in(&inner, &["init", "-q"]);
    write(&inner.join("f"), "f\n");
    let patch = stage.take(&worktree);
    assert!(!patch.complete && patch.notes[0].contains("inner/"), "{patch:?}");
    assert!(stage.clear().is_err() && inner.join("f").exists());
}

#[test]
fn what_a_dead_runtime_left_is_a_patch_before_it_goes() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    stage.worktrees.settle(&run(1), RunStands::UnderWay).unwrap();
    assert!(worktree.directory.exists());
    stage.worktrees.settle(&run(1), RunStands::Parked).unwrap();
    assert!(worktree.directory.exists());
    stage.worktrees.settle(&run(1), RunStands::Over).unwrap();
    assert!(!worktree.directory.exists());
    assert_eq!(stage.apply(), Applied::Files(1));
    assert_eq!(stage.read("a"), "x\n");
}

#[test]
fn a_run_that_goes_on_works_where_the_one_before_it_did() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "first\n");
    stage.take(&worktree);
    let ask = WorktreeAsk {
        goes_on_in: Some(worktree.clone()),
        ..stage.ask(2)
    };
    let next = capture::prepare(&stage.worktrees.registry, &ask).unwrap();
    assert_eq!(
        (&next.directory, &next.snapshot),
        (&worktree.directory, &worktree.snapshot)
    );
    write(&next.directory.join("b"), "second\n");
    let patch = patch::take(&stage.worktrees.registry, &run(2), &next).unwrap();
    assert_eq!(paths(&patch), ["M a", "M b"]);
    patch::clear(&stage.worktrees.registry, &run(2)).unwrap();

    // The files went away meanwhile: what the run before it left is made anew.
    let ask = WorktreeAsk {
        run: run(3),
        goes_on_in: Some(next.clone()),
        ..ask
    };
    let third = capture::prepare(&stage.worktrees.registry, &ask).unwrap();
    assert_eq!(third.directory, worktree.directory);
    assert_eq!(fs::read_to_string(third.directory.join("a")).unwrap(), "first\n");
    assert_eq!(fs::read_to_string(third.directory.join("b")).unwrap(), "second\n");
}

#[test]
fn where_there_can_be_no_worktree_it_is_said_why() {
    let nowhere = Stage::empty();
    assert!(
        nowhere.refused().contains("not in a git repository"),
        "{}",
        nowhere.refused()
    );
    let bare = Stage::empty();
    bare.git(&["init", "-q", "--bare"]);
    assert!(bare.refused().contains("bare repository"), "{}", bare.refused());
    for stage in [nowhere, bare] {
        assert_eq!(stage.worktrees.list(), []);
    }
}

#[test]
fn a_repository_without_a_commit_has_worktrees_too() {
    let stage = Stage::unborn();
    stage.write("a", "1\n");
    let worktree = stage.prepare();
    assert_eq!(worktree.base, None);
    write(&worktree.directory.join("a"), "2\n");
    stage.take(&worktree);
    stage.clear().unwrap();
    assert_eq!(stage.apply(), Applied::Files(1));
    assert_eq!(stage.read("a"), "2\n");
}

#[test]
fn submodules_and_large_files_are_left_out_and_named() {
    let stage = Stage::new();
    let other = Stage::new();
    stage.git(&["submodule", "add", "-q", other.top().to_str().unwrap(), "sub"]);
    stage.git(&["commit", "-qm", "sub"]);
    fs::File::create(stage.top().join("huge"))
        .and_then(|file| file.set_len(11_000_000))
        .unwrap();
    let worktree = stage.prepare();
    let notes = worktree.notes.join("\n");
    assert!(
        notes.contains("sub (submodules") && notes.contains("huge (new and larger"),
        "{notes}"
    );
    assert!(
        fs::read_dir(worktree.directory.join("sub"))
            .unwrap()
            .next()
            .is_none()
    );
    write(&worktree.directory.join("a"), "x\n");
    assert_eq!(paths(&stage.take(&worktree)), ["M a"]);
    stage.clear().unwrap();
    assert_eq!(stage.apply(), Applied::Files(1));
}

#[test]
fn a_merge_under_way_and_a_directory_below_the_top_are_fine() {
    let stage = Stage::new();
    stage.git(&["checkout", "-qb", "other"]);
    stage.write("a", "other\n");
    stage.git(&["commit", "-qam", "other"]);
    stage.git(&["checkout", "-q", "main"]);
    stage.write("a", "main\n");
    stage.git(&["commit", "-qam", "main"]);
    let merged = git_command(&stage.top(), &["merge", "-q", "other"])
        .output()
        .unwrap();
    assert!(!merged.status.success());
    let before = stage.evidence();
    let ask = WorktreeAsk {
        workspace: stage.top().join("d"),
        ..stage.ask(1)
    };
    let worktree = capture::prepare(&stage.worktrees.registry, &ask).unwrap();
    assert_eq!(stage.evidence(), before);
    assert_eq!(worktree.workspace, worktree.directory.join("d"));
    assert!(
        fs::read_to_string(worktree.directory.join("a"))
            .unwrap()
            .contains("<<<<<<<")
    );
    assert!(worktree.notes[0].contains("merge"), "{:?}", worktree.notes);
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let stage = Stage::new();
    let ran = stage.directory.path().join("ran");
    let program = stage.directory.path().join("program");
    fs::write(
        &program,
        format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", ran.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    stage.write(".gitattributes", "* filter=f diff=d merge=m\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "attributes"]);
    for key in [
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "diff.d.command",
        "diff.d.textconv",
        "diff.external",
        "core.fsmonitor",
        "core.editor",
        "core.pager",
        "gpg.program",
        "merge.m.driver",
    ] {
        stage.git(&["config", key, program]);
    }
    stage.git(&["config", "commit.gpgSign", "true"]);
    let hooks = stage.top().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "post-commit",
        "pre-auto-gc",
    ] {
        symlink(program, hooks.join(hook)).unwrap();
    }
    stage.write("a", "dirty\n");
    let worktree = stage.prepare();
    write(&worktree.directory.join("b"), "of the run\n");
    stage.take(&worktree);
    stage.clear().unwrap();
    assert_eq!(stage.apply(), Applied::Files(1));
    stage.worktrees.discard(&run(1)).unwrap();
    assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "");
    assert!(
        worktree
            .notes
            .iter()
            .any(|note| note.contains("filters are not run (f)")),
        "{worktree:?}"
    );
}

#[test]
fn what_the_run_did_to_its_own_git_does_not_lose_its_work() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    let there = &worktree.directory;
    write(&there.join("a"), "committed\n");
    git_in(there, &["commit", "-qam", "of the run"]);
    let own = git_in(there, &["rev-parse", "HEAD"]);
    write(&there.join("b"), "not committed\n");
    git_in(there, &["update-index", "--assume-unchanged", "b"]);
    let patch = stage.take(&worktree);
    assert_eq!(paths(&patch), ["M a", "M b"]);
    let parents = stage.git(&["log", "-1", "--format=%P", &patch.result]);
    assert!(
        parents.contains(own.trim()),
        "its commit stays within reach: {parents}"
    );
    assert_eq!(
        stage.git(&["log", "--oneline"]).lines().count(),
        1,
        "the person's branch is as it was"
    );
}

#[test]
fn a_worktree_that_lost_its_link_to_git_gives_its_patch_all_the_same() {
    let stage = Stage::new();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    fs::remove_file(worktree.directory.join(".git")).unwrap();
    assert_eq!(paths(&stage.take(&worktree)), ["M a"]);
    stage.clear().unwrap();
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.apply(), Applied::Files(1));
}

#[test]
fn permissions_of_the_person_stay() {
    let stage = Stage::new();
    fs::set_permissions(stage.top().join("a"), fs::Permissions::from_mode(0o600)).unwrap();
    let worktree = stage.prepare();
    write(&worktree.directory.join("a"), "x\n");
    stage.take(&worktree);
    stage.apply();
    let mode = fs::metadata(stage.top().join("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_directory_is_the_same_wherever_git_is_called() {
    let worktrees = GitWorktrees::new(PathBuf::from("state"));
    assert!(worktrees.registry.0.is_absolute());
}
