//! Which models a Pi has, asked without calling one.

use super::installation::PiCommand;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

const LISTED_WITHIN: Duration = Duration::from_secs(30);
const LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The models that Pi knows and has credentials for, as `provider/id`; none where it does not say.
///
/// Asked outside of any workspace, so that nothing that lies in one has a say.
pub async fn models_of(
    command: &PiCommand,
    environment: &BTreeMap<String, String>,
) -> Option<BTreeSet<String>> {
    let mut child = Command::new(&command.program)
        .args(&command.first_arguments)
        .arg("--list-models")
        .current_dir("/")
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = async { tokio::join!(read_some(stdout), read_some(stderr)) };
    // Pi 0.74 lists on stderr when nobody sits at a terminal, later versions on stdout.
    let (stdout, stderr) = timeout(LISTED_WITHIN, said).await.ok()?;
    models_in(&stdout).or_else(|| models_in(&stderr))
}

async fn read_some(stream: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What could be read before an error is looked at.
        let _ = stream.take(LIST_BYTES_MAX).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first two columns below a header; none where there is no such table.
fn models_in(listed: &str) -> Option<BTreeSet<String>> {
    let rows = listed.lines().map(|line| line.split_whitespace());
    let mut rows = rows.map(|mut words| (words.next().unwrap_or(""), words.next().unwrap_or("")));
    rows.find(|columns| *columns == ("provider", "model"))?;
    let models = rows.filter(|(provider, model)| !provider.is_empty() && !model.is_empty());
    Some(
        models
            .map(|(provider, model)| format!("{provider}/{model}"))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_models_is_read_and_nothing_else() {
        let table = "Warning: something\n\nprovider  model     context\nmock      mock-1    200K\nx         y/z  8K\n\n";
        let models = models_in(table).expect("a table");
        assert_eq!(models.into_iter().collect::<Vec<_>>(), ["mock/mock-1", "x/y/z"]);
        assert_eq!(models_in("No models available."), None);
    }
}
