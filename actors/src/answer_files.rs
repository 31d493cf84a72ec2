//! Answers that are too long to be shown, each in a file of its own that only its owner can read: whole or not there.

use crate::context::local::HeavyWork;
use crate::gateways::AnswerShelf;
use crate::whole_file::write_whole;
use async_trait::async_trait;
use impresario_policies::domain::{AttemptNumber, RunId, WholeAnswer};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A disk that does not answer sooner is not waited for: the answer goes on without the rest.
const KEPT_WITHIN: Duration = Duration::from_secs(10);

/// A directory of such files.
#[derive(Debug, Clone)]
pub struct AnswerFiles {
    directory: PathBuf,
    heavy_work: HeavyWork,
}

impl AnswerFiles {
    pub fn new(directory: PathBuf, heavy_work: HeavyWork) -> Self {
        Self {
            directory,
            heavy_work,
        }
    }
}

#[async_trait(?Send)]
impl AnswerShelf for AnswerFiles {
    async fn keep(&self, run: &RunId, attempt: AttemptNumber, text: String) -> WholeAnswer {
        let file = self.directory.join(format!("{run}.{attempt}.md"));
        let bytes = text.len() as u64;
        let written = {
            let file = file.clone();
            self.heavy_work.run(move || write_answer(&file, &text))
        };
        let lost = |why: String| WholeAnswer::Lost { bytes, why };
        match tokio::time::timeout(KEPT_WITHIN, written).await {
            Ok(Ok(Ok(()))) => WholeAnswer::Kept { file, bytes },
            Ok(Ok(Err(error))) => lost(error.to_string()),
            Ok(Err(panicked)) => lost(panicked),
            Err(_) => lost(format!(
                "the disk did not answer within {} s",
                KEPT_WITHIN.as_secs()
            )),
        }
    }
}

/// The step that names the file is on disk soon; the file is there before it.
fn write_answer(file: &Path, text: &str) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    write_whole(file, text.as_bytes(), 0o600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn keep(directory: &Path, attempt: u32, text: &str) -> WholeAnswer {
        let shelf = AnswerFiles::new(directory.to_path_buf(), HeavyWork::Inline);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let run = RunId::new(1, 1);
        let kept = shelf.keep(&run, AttemptNumber(attempt), text.to_string());
        runtime.expect("a runtime").block_on(kept)
    }

    #[test]
    fn an_answer_is_whole_private_and_replaced_at_once() {
        let state = tempfile::tempdir().expect("a directory");
        let directory = state.path().join("answers");
        let first = keep(&directory, 1, "first");
        let file = first.file().expect("kept").clone();
        assert_eq!(
            first,
            WholeAnswer::Kept {
                file: file.clone(),
                bytes: 5
            }
        );
        assert_eq!(keep(&directory, 1, "again").file(), Some(&file));
        assert_ne!(keep(&directory, 2, "second").file(), Some(&file));
        assert_eq!(std::fs::read_to_string(&file).expect("a file"), "again");
        let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&directory)), (0o600, 0o700));
        let names = std::fs::read_dir(&directory).expect("a directory").count();
        assert_eq!(names, 2, "nothing unfinished is left");
    }

    #[test]
    fn what_cannot_be_written_is_lost_and_says_why() {
        let state = tempfile::tempdir().expect("a directory");
        let no_directory = state.path().join("file");
        std::fs::write(&no_directory, "").expect("a file");
        let lost = keep(&no_directory, 1, "words");
        let WholeAnswer::Lost { bytes: 5, why } = lost else {
            panic!("kept: {lost:?}");
        };
        assert!(!why.is_empty());
    }
}
