//! The models of agents in the user's settings file: what is set, and what a person chose instead.
//!
//! The file is read again right before it is written, and only these keys of it change. Who reads it meanwhile reads the
//! old one or the new one.

mod wire;

use impresario_actors::whole_file::write_whole;
use impresario_policies::setup_models::{AgentSetting, SetupChoice};
use std::fs;
use std::io;
use std::path::Path;

/// What stands in the file for agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentModels {
    /// For those that were asked about, in that order.
    pub agents: Vec<AgentSetting>,
    /// Something is set for some agent.
    pub has_settings: bool,
}

/// Reads what the file says of these agents. One that is not there says nothing.
pub fn read_agent_models(file: &Path, agents: &[String]) -> Result<AgentModels, String> {
    let settings = wire::parse(&text_of(file)?)?;
    Ok(AgentModels {
        agents: agents
            .iter()
            .map(|agent| wire::setting(&settings, agent))
            .collect(),
        has_settings: wire::has_settings(&settings),
    })
}

/// Writes what was chosen. `clears_all` takes the model of every other agent away too.
pub fn write_agent_models(file: &Path, choices: &[SetupChoice], clears_all: bool) -> Result<(), String> {
    let before = wire::parse(&text_of(file)?)?;
    let mut settings = before.clone();
    wire::apply(&mut settings, choices, clears_all);
    if settings == before {
        return Ok(());
    }
    replace(file, &wire::print(&settings)).map_err(|error| format!("it cannot be written ({})", error.kind()))
}

fn text_of(file: &Path) -> Result<String, String> {
    match super::read_bounded(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("it cannot be read ({})", error.kind())),
    }
}

/// A link is followed, and the new file has the mode of the old one; a file that was not there is the user's alone.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    write_whole(&file, text.as_bytes(), 0o600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::setup_models::Change;
    use std::os::unix::fs::PermissionsExt;

    fn choice(agent: &str, model: Change, effort: Change) -> SetupChoice {
        SetupChoice {
            agent: agent.into(),
            model,
            effort,
        }
    }

    #[test]
    fn only_what_was_chosen_changes_and_the_mode_stays() {
        let place = tempfile::tempdir().expect("a directory");
        let (file, link) = (place.path().join("real.json"), place.path().join("settings.json"));
        let before = r#"{"theme":"dark","impresario":{"agents":{"enabled":true,"explore":{"model":"old/m","timeoutMs":5}},"budget":{}}}"#;
        fs::write(&file, before).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a mode");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let agents = ["explore".to_string(), "oracle".to_string()];
        let found = read_agent_models(&link, &agents).expect("read");
        assert!(found.has_settings && found.agents[0].model.as_deref() == Some("old/m"));
        let choices = [
            choice("explore", Change::Clear, Change::Keep),
            choice("oracle", Change::Set("a/one".into()), Change::Set("high".into())),
        ];
        write_agent_models(&link, &choices, false).expect("written");
        let after = fs::read_to_string(&file).expect("the file");
        let wanted = "{\n  \"theme\": \"dark\",\n  \"impresario\": {\n    \"agents\": {\n      \"enabled\": true,\n      \
                      \"explore\": {\n        \"timeoutMs\": 5\n      },\n      \"oracle\": {\n        \"model\": \
                      \"a/one\",\n        \"reasoningEffort\": \"high\"\n      }\n    },\n    \"budget\": {}\n  }\n}\n";
        assert_eq!(after, wanted);
        let mode = fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
        assert_eq!((mode, fs::read_link(&link).expect("still a link")), (0o640, file));
        assert_eq!(fs::read_dir(place.path()).expect("a directory").count(), 2);
    }

    #[test]
    fn a_file_that_is_no_object_is_left_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("settings.json");
        for text in ["{bad", "[]", "\"x\""] {
            fs::write(&file, text).expect("a file");
            let choices = [choice("explore", Change::Set("a/one".into()), Change::Keep)];
            assert!(write_agent_models(&file, &choices, false).is_err());
            assert_eq!(fs::read_to_string(&file).expect("the file"), text);
        }
    }
}
