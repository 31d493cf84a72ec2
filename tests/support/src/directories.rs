//! Where the project and its build directory lie.

use std::path::{Path, PathBuf};

/// The root of the project.
#[must_use]
pub fn project() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies two levels below the root")
        .to_path_buf()
}

/// The build directory that the running test program was built into.
///
/// Cargo marks it with a `CACHEDIR.TAG`, which also holds for a directory that the environment or a configuration
/// names.
#[must_use]
pub fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let marked = program
        .ancestors()
        .find(|directory| directory.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| project().join("target"), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(project().join("Cargo.lock").is_file());
    }

    #[test]
    fn the_build_directory_holds_this_program() {
        assert!(std::env::current_exe().unwrap().starts_with(target()));
    }
}
