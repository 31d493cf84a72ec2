//! The session file of a run: what it goes on with after a crash, and what it must not go on with.

use crate::gateways::AttemptRequest;
use crate::transcripts::set_aside;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// A torn line longer than this is not looked for; the file is then left as it is.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Makes the session file ready for an attempt. One that is not to go on is set aside, because Pi would go on with
/// whatever is there; one that is to go on is mended.
pub(super) fn prepare_session(request: &AttemptRequest) -> io::Result<()> {
    let session = &request.session_file;
    if let Some(parent) = session.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    if !session.exists() {
        return Ok(());
    }
    match request.resume {
        Some(_) => {
            mend(session)?;
            match fs::metadata(session)?.len() {
                0 => fs::remove_file(session),
                _ => Ok(()),
            }
        }
        None => fs::rename(session, set_aside(session, request.attempt.0)),
    }
}

/// A Pi that was killed while it wrote leaves half a line. Pi 0.74 appends the next entry to it, and both are lost:
/// the entries after them then hang in the air, and the model forgets what was done.
fn mend(session: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(session)?;
    let length = file.seek(SeekFrom::End(0))?;
    let Some(begins) = last_line_begins(&mut file, length)? else {
        return Ok(());
    };
    if begins == length {
        return Ok(());
    }
    file.seek(SeekFrom::Start(begins))?;
    let mut line = Vec::new();
    (&mut file).take(length - begins).read_to_end(&mut line)?;
    if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() {
        return file.write_all(b"\n");
    }
    file.set_len(begins)
}

/// Where the text behind the last line feed begins; none when that is too far away.
fn last_line_begins(file: &mut File, length: u64) -> io::Result<Option<u64>> {
    let mut end = length;
    let mut block = vec![0; 64 * 1024];
    while end > 0 && length - end < LINE_BYTES_MAX {
        let from = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(part)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(Some(from + at as u64 + 1));
        }
        end = from;
    }
    Ok((end == 0).then_some(0))
}

#[cfg(test)]
mod tests {
    use super::mend;
    use std::fs;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let session = directory.path().join("session.jsonl");
        fs::write(&session, before).expect("a file");
        mend(&session).expect("it is mended");
        assert_eq!(fs::read_to_string(&session).expect("the file"), after);
    }

    #[test]
    fn half_a_line_goes_and_whole_ones_stay() {
        check("{\"a\":1}\n{\"b\":", "{\"a\":1}\n");
        check("{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":2}\n");
        check("{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}\n");
        check("{\"a\":", "");
        check("", "");
    }

    #[test]
    fn half_a_long_line_goes_too() {
        let long = "x".repeat(300_000);
        check(&format!("{{\"a\":1}}\n{{\"b\":\"{long}"), "{\"a\":1}\n");
    }
}
