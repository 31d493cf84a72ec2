//! `hashline_edit` as a model calls it, and as it is answered.

use super::{EditCall, Edited, FromDisk, Grounds, edit_file};
use crate::context::local::HeavyWork;
use crate::gateways::{Reach, ToolAnswer, ToolPlace};
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::anchored_edit::{EditSettings, GivenEdit, reply_words};
use serde::Deserialize;

/// Its arguments, under the names of the peer's tool. What else stands there is of no effect: every edit is verified.
#[derive(Debug, Deserialize)]
pub(in crate::tools) struct HashlineEditArguments {
    #[serde(rename = "filePath", alias = "file_path", alias = "path")]
    file_path: String,
    #[serde(default)]
    edits: Option<Vec<EditArguments>>,
    #[serde(default)]
    delete: Option<bool>,
    #[serde(default)]
    rename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EditArguments {
    op: String,
    #[serde(default)]
    pos: Option<String>,
    #[serde(default)]
    end: Option<String>,
    #[serde(default)]
    lines: Option<Lines>,
    #[serde(default, rename = "oldText", alias = "old_text")]
    old_text: Option<String>,
    #[serde(default, rename = "newText", alias = "new_text")]
    new_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
}

/// Makes a call; an error begins with its code.
pub(in crate::tools) async fn run(
    arguments: HashlineEditArguments,
    place: &ToolPlace,
    settings: EditSettings,
    heavy_work: HeavyWork,
) -> Result<ToolAnswer, String> {
    let (place, call) = (place.clone(), call_of(arguments));
    let made = heavy_work.run(move || {
        let grounds = match place.reach {
            Reach::Workspace => Grounds::within(&place.workspace),
            Reach::Anywhere => Grounds::anywhere(&place.workspace),
        };
        grounds.and_then(|grounds| edit_file(&call, &grounds, &settings, &FromDisk, &place.cancelled))
    });
    match made.await {
        Ok(Ok(edited)) => Ok(answer(edited)),
        Ok(Err(fault)) => Err(fault.words()),
        Err(why) => Err(format!("The tool failed: {why}")),
    }
}

fn call_of(arguments: HashlineEditArguments) -> EditCall {
    let edits = arguments
        .edits
        .unwrap_or_default()
        .into_iter()
        .map(|edit| GivenEdit {
            op: edit.op,
            pos: edit.pos,
            end: edit.end,
            lines: edit.lines.map(|lines| match lines {
                Lines::One(line) => vec![line],
                Lines::Many(lines) => lines,
            }),
            old_text: edit.old_text,
            new_text: edit.new_text,
        });
    EditCall {
        edits: edits.collect(),
        path: arguments.file_path,
        delete: arguments.delete.unwrap_or_default(),
        rename: arguments.rename.filter(|to| !to.is_empty()),
    }
}

fn answer(edited: Edited) -> ToolAnswer {
    ToolAnswer {
        text: reply_words(&edited.outcome, edited.preview.as_ref()),
        receipt: ToolReceipt {
            changed: edited.changed,
            ..ToolReceipt::default()
        },
        ..ToolAnswer::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::gateways::{Reach, ToolAnswer, ToolPlace, Tools};
    use crate::tools::LocalTools;
    use impresario_policies::added_tools::AddedTool;
    use impresario_policies::anchored_edit::Anchor;
    use impresario_policies::domain::FileState;
    use serde_json::{Value, json};
    use std::fs;
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    async fn ask(directory: &TempDir, arguments: Value) -> Result<ToolAnswer, String> {
        let place = ToolPlace {
            workspace: directory.path().join("in"),
            reach: Reach::Workspace,
            // What may be read there is not to be written.
            readable: vec![directory.path().join("skill")],
            cancelled: CancellationToken::new(),
        };
        let tools = LocalTools::default();
        tools.call(AddedTool::HashlineEdit, &arguments, &place).await
    }

    fn stage() -> TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["in", "skill"] {
            fs::create_dir(directory.path().join(name)).expect("a directory");
            fs::write(directory.path().join(name).join("f"), "a\nb\n").expect("a file");
        }
        directory
    }

    #[tokio::test]
    async fn an_edit_is_answered_with_its_anchors_and_its_receipt() {
        let directory = stage();
        let pos = Anchor::of(2, "b").to_string();
        let edits = json!([
            { "op": "replace", "pos": pos, "lines": "B" },
            { "op": "append", "lines": ["c"], "pos": null },
            { "op": "replace_text", "oldText": "a", "newText": "A" },
        ]);
        let answer = ask(
            &directory,
            json!({ "filePath": "f", "edits": edits, "postEditVerify": true }),
        )
        .await;
        let answer = answer.expect("edited");
        assert!(
            answer
                .text
                .starts_with("File updated. 3 lines.\n\n--- Updated anchors ---\n1#"),
            "{}",
            answer.text
        );
        assert!(
            answer.text.contains(&format!("+ {}| c", Anchor::of(3, "c"))),
            "{}",
            answer.text
        );
        assert_eq!(
            fs::read_to_string(directory.path().join("in/f")).expect("there"),
            "A\nB\nc\n"
        );
        let changed = &answer.receipt.changed[0];
        assert_eq!(changed.path, "f");
        let hashes =
            [Some(&changed.before), changed.after.as_ref()].map(|state| state.and_then(FileState::sha256));
        assert!(hashes[0].is_some() && hashes[1].is_some() && hashes[0] != hashes[1]);
    }

    #[tokio::test]
    async fn a_refusal_begins_with_its_code() {
        let directory = stage();
        let outside = directory.path().join("skill/f").display().to_string();
        for (arguments, begin) in [
            (
                json!({ "filePath": "none", "edits": [] }),
                "[E_NOT_FOUND] none does not exist",
            ),
            (
                json!({ "path": "f", "edits": [{ "op": "replace", "lines": ["x"] }] }),
                "[E_BAD_REF] edit 1: replace needs",
            ),
            (json!({ "filePath": outside, "edits": [] }), "[E_OUTSIDE] "),
            (
                json!({ "filePath": "../skill/f", "delete": true }),
                "[E_OUTSIDE] ",
            ),
            (
                json!({ "edits": [] }),
                "The arguments cannot be used: missing field `filePath`",
            ),
        ] {
            let said = ask(&directory, arguments).await.expect_err("refused");
            assert!(said.starts_with(begin), "{said}");
        }
        let stale =
            json!([{ "op": "replace", "pos": Anchor::of(1, &"x".repeat(9)).to_string(), "lines": [] }]);
        fs::write(
            directory.path().join("in/f"),
            format!("{}\n", "y".repeat(5_000)).repeat(9),
        )
        .expect("a file");
        let said = ask(&directory, json!({ "filePath": "f", "edits": stale }))
            .await
            .expect_err("refused");
        assert!(
            said.starts_with("[E_HASH_MISMATCH] edit 1: ") && said.chars().count() <= 1_200,
            "{said}"
        );
    }
}
