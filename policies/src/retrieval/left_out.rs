//! Which files and directories of a workspace are not searched, and how that is said.

use std::fmt::Write;

/// Why a file is not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// A key or a password would be read and shown.
    Secret,
    Binary,
    /// Larger than a file may be.
    TooLarge,
    /// Made by a tool from what is searched.
    BuildOutput,
    /// It could not be opened.
    Unreadable,
    /// The index had no room for it.
    NoRoom,
    /// The time was over.
    NoTime,
}

impl LeftOut {
    fn words(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Secret, 1) => "file that holds keys or passwords",
            (Self::Secret, _) => "files that hold keys or passwords",
            (Self::Binary, 1) => "binary file",
            (Self::Binary, _) => "binary files",
            (Self::TooLarge, 1) => "file that is too large",
            (Self::TooLarge, _) => "files that are too large",
            (Self::BuildOutput, 1) => "directory of build output",
            (Self::BuildOutput, _) => "directories of build output",
            (Self::Unreadable, 1) => "file that cannot be read",
            (Self::Unreadable, _) => "files that cannot be read",
            (Self::NoRoom, 1) => "file for which the index has no room",
            (Self::NoRoom, _) => "files for which the index has no room",
            (Self::NoTime, 1) => {
                "file that was not reached in time (ask again: the index goes on where it stopped)"
            }
            (Self::NoTime, _) => {
                "files that were not reached in time (ask again: the index goes on where it stopped)"
            }
        }
    }

    /// A reader of the answer may miss such a file by name.
    fn is_named(self) -> bool {
        !matches!(self, Self::NoTime | Self::NoRoom | Self::Binary)
    }
}

/// So many are named of each sort.
const NAMED_MAX: usize = 3;

/// What was searched, in a sentence; nothing when nothing was left out.
pub fn describe_coverage(searched: usize, left_out: &[(LeftOut, String)]) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let mut said = format!("Searched {searched} files. Left out:");
    let mut sorts: Vec<LeftOut> = left_out.iter().map(|(why, _)| *why).collect();
    sorts.sort();
    sorts.dedup();
    for (rank, why) in sorts.iter().enumerate() {
        let names: Vec<&str> = left_out
            .iter()
            .filter(|(other, _)| other == why)
            .map(|(_, path)| path.as_str())
            .collect();
        let separator = if rank == 0 { "" } else { ";" };
        let _ = write!(said, "{separator} {} {}", names.len(), why.words(names.len()));
        if why.is_named() {
            let more = if names.len() > NAMED_MAX { ", …" } else { "" };
            let _ = write!(
                said,
                " ({}{more})",
                names[..names.len().min(NAMED_MAX)].join(", ")
            );
        }
    }
    said.push('.');
    Some(said)
}

/// The reason in a file's name not to open it.
pub fn reason_in_name(path: &str) -> Option<LeftOut> {
    let lower = path.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    if is_secret(directories, name, stem, ending) {
        return Some(LeftOut::Secret);
    }
    BINARY_ENDINGS.contains(&ending).then_some(LeftOut::Binary)
}

fn is_secret(directories: &str, name: &str, stem: &str, ending: &str) -> bool {
    let is_template = ["example", "sample", "template", "dist", "defaults"]
        .iter()
        .any(|each| name.ends_with(each));
    let by_ending = SECRET_ENDINGS.contains(&ending) && !stem.is_empty();
    let in_environment = (name == ".env" || name.starts_with(".env.") || ending == "env") && !is_template;
    let by_name = SECRET_NAMES.contains(&name) || (name.starts_with("id_") && SSH_KEYS.contains(&name));
    let in_cloud = name == "credentials" && directories.ends_with(".aws");
    by_ending || in_environment || by_name || in_cloud
}

/// A private key that is called like any other file.
pub fn begins_like_a_key(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or("");
    first.starts_with("-----BEGIN ") && first.contains("PRIVATE KEY")
}

const SECRET_ENDINGS: [&str; 13] = [
    "pem", "key", "p12", "pfx", "p8", "jks", "keystore", "kdbx", "ppk", "keytab", "tfstate", "ovpn",
    "htpasswd",
];

const SECRET_NAMES: [&str; 14] = [
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".dockercfg",
    "credentials.json",
    "service-account.json",
    "service_account.json",
    "secrets.yml",
    "secrets.yaml",
];

const SSH_KEYS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// Names that never hold text; a look inside would only cost a read.
const BINARY_ENDINGS: [&str; 52] = [
    "png", "jpg", "jpeg", "gif", "webp", "ico", "bmp", "tiff", "pdf", "zip", "gz", "tgz", "xz", "zst", "bz2",
    "7z", "tar", "jar", "war", "class", "o", "a", "so", "dylib", "dll", "exe", "wasm", "rlib", "rmeta",
    "pyc", "pyo", "woff", "woff2", "ttf", "otf", "eot", "mp3", "mp4", "ogg", "wav", "webm", "avi", "mov",
    "sqlite", "sqlite3", "db", "bin", "dat", "beam", "der", "node", "parquet",
];

/// What stands beside a directory, as far as it tells what the directory is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// A manifest of a build: `package.json`, `Cargo.toml`, …
    pub manifest: bool,
    /// The directory of what is built: `src`, `lib`.
    pub sources: bool,
}

/// Files that say that a directory is built.
pub const MANIFESTS: [&str; 8] = [
    "package.json",
    "Cargo.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "pyproject.toml",
    "setup.py",
    "build.sbt",
];

/// Directories of what is built.
pub const SOURCES: [&str; 4] = ["src", "lib", "packages", "source"];

/// Other people's packages and the caches of tools, wherever they are.
pub fn is_made_by_tools(name: &str) -> bool {
    ["node_modules", "bower_components", "__pycache__", "site-packages"].contains(&name)
}

/// Whether a directory has the name that builds write to.
pub fn may_be_build_output(name: &str) -> bool {
    ["dist", "build", "out", "target", "coverage"].contains(&name)
}

/// Whether a directory of such a name holds what a build made of what is beside it.
pub fn is_build_output(name: &str, beside: Beside) -> bool {
    may_be_build_output(name) && beside.manifest && (beside.sources || name == "target")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_not_searched() {
        for path in [
            "server.key",
            "certs/a.PEM",
            "id_rsa",
            ".env",
            "app/.env.local",
            "prod.env",
            ".netrc",
            ".aws/credentials",
            "a.p12",
        ] {
            assert_eq!(reason_in_name(path), Some(LeftOut::Secret), "{path}");
        }
        for path in [
            ".env.example",
            "src/key.rs",
            "id_rsa.pub",
            "keys.md",
            "src/env.ts",
            "pem.c",
        ] {
            assert_eq!(reason_in_name(path), None, "{path}");
        }
        assert!(begins_like_a_key("\n-----BEGIN RSA PRIVATE KEY-----\nMII"));
        assert!(!begins_like_a_key("let key = \"-----BEGIN PRIVATE KEY-----\";"));
    }

    #[test]
    fn what_a_build_made_is_told_from_what_is_called_like_it() {
        let built = Beside {
            manifest: true,
            sources: true,
        };
        assert!(
            is_build_output("dist", built)
                && is_build_output(
                    "target",
                    Beside {
                        manifest: true,
                        sources: false
                    }
                )
        );
        assert!(!is_build_output(
            "dist",
            Beside {
                manifest: true,
                sources: false
            }
        ));
        assert!(!is_build_output("build", Beside::default()) && !is_build_output("src", built));
    }

    #[test]
    fn what_was_left_out_is_said_with_its_names() {
        assert_eq!(describe_coverage(3, &[]), None);
        let left_out = [
            (LeftOut::Binary, "a.png".to_string()),
            (LeftOut::Secret, "server.key".to_string()),
            (LeftOut::Binary, "b.png".to_string()),
        ];
        assert_eq!(
            describe_coverage(3, &left_out).as_deref(),
            Some(
                "Searched 3 files. Left out: 1 file that holds keys or passwords (server.key); 2 binary files."
            )
        );
        let late: Vec<_> = (0..7).map(|at| (LeftOut::NoTime, at.to_string())).collect();
        assert!(
            describe_coverage(1, &late)
                .is_some_and(|said| said.contains("7 files that were not reached in time"))
        );
    }
}
