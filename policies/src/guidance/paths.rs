//! Which file does a path mean, and whose rules hold there?

use crate::receipt::without_detours;
use icu_normalizer::DecomposingNormalizerBorrowed;
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A longer path is no path.
const PATH_BYTES_MAX: usize = 4_096;

/// The places that a path may mean, in the order in which Pi's tools look for them: the path itself, then names as macOS
/// writes them.
pub fn places_meant(path: &str, workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
        return Vec::new();
    }
    let Some(itself) = place_of(path, workspace, home) else {
        return Vec::new();
    };
    let mut places = vec![itself.clone()];
    let Some(text) = itself.to_str() else {
        return places;
    };
    let decomposed = DecomposingNormalizerBorrowed::new_nfd()
        .normalize(text)
        .into_owned();
    let of_macos = [
        with_narrow_space(text),
        decomposed.clone(),
        with_curly_quotes(text),
        with_curly_quotes(&decomposed),
    ];
    for variant in of_macos.into_iter().map(PathBuf::from) {
        if !places.contains(&variant) {
            places.push(variant);
        }
    }
    places
}

/// Spaces of all kinds are one, `@` before a path says nothing, `~` is the home, and a file has an address too.
fn place_of(path: &str, workspace: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let plain: String = path.chars().map(plain_space).collect();
    let plain = plain.strip_prefix('@').unwrap_or(&plain);
    let place = match plain.strip_prefix('~') {
        Some("") => home?.to_path_buf(),
        Some(below) if below.starts_with('/') => home?.join(below.trim_start_matches('/')),
        _ => match plain.strip_prefix("file://") {
            Some(address) => PathBuf::from(without_escapes(address)?),
            None => workspace.join(plain),
        },
    };
    Some(without_detours(&place))
}

fn plain_space(character: char) -> char {
    match character {
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// `%20` is a space.
fn without_escapes(address: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = others;
            continue;
        }
        let digits = std::str::from_utf8(others.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &others[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Names of screenshots have a narrow space before the half of the day.
fn with_narrow_space(path: &str) -> String {
    static HALF_OF_DAY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i) (AM|PM)\.").ok());
    match &*HALF_OF_DAY {
        Some(half) => half.replace_all(path, "\u{202F}$1.").into_owned(),
        None => path.to_string(),
    }
}

fn with_curly_quotes(path: &str) -> String {
    path.replace('\'', "\u{2019}")
}

/// The directories whose rules hold in `directory`, the outermost first: those within `root` that the host has not read
/// itself. It reads its working directory's and those of all above.
pub fn directories_with_rules(directory: &Path, root: &Path, workspace: &Path) -> Vec<PathBuf> {
    let within = directory.ancestors().take_while(|above| above.starts_with(root));
    let mut directories: Vec<_> = within
        .filter(|above| !workspace.starts_with(above))
        .map(Path::to_path_buf)
        .collect();
    directories.reverse();
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &[&str]) {
        let places = places_meant(path, Path::new("/w"), Some(Path::new("/home/me")));
        assert_eq!(places, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_path_means_what_it_means_to_pi() {
        check("src/a.ts", &["/w/src/a.ts"]);
        check("./src/../b.ts", &["/w/b.ts"]);
        check("@src/a.ts", &["/w/src/a.ts"]);
        check("/x/a.ts", &["/x/a.ts"]);
        check("~/a.ts", &["/home/me/a.ts"]);
        check("~", &["/home/me"]);
        check("~you/a.ts", &["/w/~you/a.ts"]);
        check("a\u{A0}b.ts", &["/w/a b.ts"]);
        check("file:///x/a%20b.ts", &["/x/a b.ts"]);
        check("file:///x/%2", &[]);
        check("", &[]);
    }

    #[test]
    fn names_as_macos_writes_them_are_looked_for_too() {
        check(
            "shot 9.41 PM.png",
            &["/w/shot 9.41 PM.png", "/w/shot 9.41\u{202F}PM.png"],
        );
        check(
            "l'é",
            &["/w/l'é", "/w/l'e\u{301}", "/w/l\u{2019}é", "/w/l\u{2019}e\u{301}"],
        );
    }

    #[test]
    fn rules_between_the_root_and_a_place_hold_there() {
        let directories = |directory: &str, root: &str, workspace: &str| {
            directories_with_rules(Path::new(directory), Path::new(root), Path::new(workspace))
        };
        assert_eq!(
            directories("/r/a/b", "/r", "/r"),
            [PathBuf::from("/r/a"), "/r/a/b".into()]
        );
        assert!(directories("/r", "/r", "/r").is_empty());
        assert!(directories("/r-evil/a", "/r", "/r").is_empty());
        // Started in a directory of the repository: what lies beside it counts, what lies above was read by the host.
        assert_eq!(
            directories("/r/lib/x", "/r", "/r/app"),
            [PathBuf::from("/r/lib"), "/r/lib/x".into()]
        );
        assert_eq!(
            directories("/r/app/x", "/r", "/r/app"),
            [PathBuf::from("/r/app/x")]
        );
    }
}
