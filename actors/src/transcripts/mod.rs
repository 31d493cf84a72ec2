//! Nested sessions as a person reads them: of nested Pi and of the embedded runner. Only the end of a long one is read,
//! and what is no line of a session is left out.

mod wire;

use crate::gateways::session_file;
use impresario_policies::domain::RunId;
use impresario_policies::transcript::Spoken;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// So much of the end of a session is read.
const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What is kept of a run's conversation, the oldest session first: one for each attempt of `from_scratch` that set an
/// earlier one aside, and the last one. Sessions that are gone are left out.
pub fn read_sessions(sessions: &Path, run: &RunId, from_scratch: &[u32]) -> io::Result<Vec<Vec<Spoken>>> {
    let last = session_file(sessions, run);
    let set_aside = from_scratch.iter().map(|attempt| set_aside(&last, *attempt));
    let mut read = Vec::new();
    for file in set_aside.chain([last.clone()]) {
        match read_session(&file) {
            Ok(spoken) => read.push(spoken),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// Where the session of a run lies that this attempt did not go on with.
pub fn set_aside(session: &Path, attempt: u32) -> PathBuf {
    session.with_extension(format!("before-{attempt}.jsonl"))
}

/// What was told and said in the session that a run goes on with; nothing where there is none.
pub fn conversation_of(session: &Path) -> io::Result<Vec<Spoken>> {
    match read_session(session) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

fn read_session(file: &Path) -> io::Result<Vec<Spoken>> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(FILE_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    // What is read from the middle on begins within a line.
    let lines = lines.skip(usize::from(from > 0));
    Ok(lines.filter_map(wire::read_line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::transcript::Speaker;

    #[test]
    fn sessions_of_both_runners_are_read_and_what_was_set_aside_comes_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let run = RunId::new(1, 1);
        let last = session_file(directory.path(), &run);
        let of_pi = concat!(
            r#"{"type":"session","version":3,"id":"x"}"#,
            "\n",
            r#"{"type":"message","id":"a","message":{"role":"system","content":""}}"#,
            "\n",
            r#"{"type":"message","id":"b","message":{"role":"user","content":[{"type":"text","text":"find it"}]}}"#,
            "\n",
            r#"{"type":"message","id":"c","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"toolCall","id":"t","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}"#,
            "\n",
            r#"{"type":"message","id":"d","message":{"role":"toolResult","toolCallId":"t","toolName":"read","content":[{"type":"text","text":"gone"}],"isError":true}}"#,
            "\n",
            r#"{"type":"message","id":"e","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"529"}}"#,
            "\n",
            "half a li",
        );
        std::fs::write(set_aside(&last, 2), of_pi).expect("a file");
        let embedded = concat!(
            r#"{"line":"session","version":1}"#,
            "\n",
            r#"{"line":"message","role":"user","text":"find it","tool_calls":[],"answers_call":null}"#,
            "\n",
            r#"{"line":"message","role":"assistant","text":"","tool_calls":[{"id":"t","tool":"ls","arguments":{}}],"answers_call":null}"#,
            "\n",
            r#"{"line":"message","role":"tool","text":"a.rs","tool_calls":[],"answers_call":"t"}"#,
            "\n",
        );
        std::fs::write(&last, embedded).expect("a file");
        let read = read_sessions(directory.path(), &run, &[2, 3]).expect("they are read");
        let [of_pi, embedded] = read.as_slice() else {
            panic!("{read:?}")
        };
        let speakers = |spoken: &[Spoken]| spoken.iter().map(|one| one.speaker.clone()).collect::<Vec<_>>();
        let tool = |name: &str, is_error| Speaker::Tool {
            name: name.into(),
            is_error,
        };
        assert_eq!(
            speakers(of_pi),
            [
                Speaker::User,
                Speaker::SubAgent,
                tool("read", true),
                Speaker::SubAgent
            ]
        );
        assert_eq!(
            of_pi[1].calls,
            [("read".to_string(), r#"{"path":"a.rs"}"#.to_string())]
        );
        assert_eq!(
            (of_pi[1].thinking.as_str(), of_pi[1].text.as_str()),
            ("hm", "I look.")
        );
        assert_eq!(of_pi[3].fault.as_deref(), Some("529"));
        assert_eq!(
            speakers(embedded),
            [Speaker::User, Speaker::SubAgent, tool("", false)]
        );
        assert_eq!(embedded[1].calls, [("ls".to_string(), "{}".to_string())]);
    }

    #[test]
    fn of_a_run_without_a_session_there_is_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(
            read_sessions(directory.path(), &RunId::new(1, 1), &[]).expect("nothing"),
            Vec::<Vec<Spoken>>::new()
        );
    }
}
