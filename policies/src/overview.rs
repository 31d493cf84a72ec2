//! What runs now, in all sessions of a person: a tree, line by line.

use crate::domain::{GroupId, RunId, SessionId};
use crate::figures::{count_words, duration_words};
use crate::sight::{CallFate, RunSight, Standing};

/// A run that is not over, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRun {
    /// Which.
    pub run: RunId,
    /// The kind of host that asked for it.
    pub host: String,
    /// The host's session, where it has one.
    pub session: Option<SessionId>,
    /// Where it works, as a person knows the directory.
    pub workspace: String,
    /// The group it is a member of.
    pub group: Option<GroupId>,
    /// Its runtime is dead, and nobody drives it.
    pub cut_off: bool,
    /// What is seen of it.
    pub sight: RunSight,
}

/// A run that waits for room, as the journal says it to whoever is not its runtime.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InLine {
    /// Whose room it waits for.
    pub runtime: String,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    pub run: RunId,
}

/// How many wait for the same room and have asked before it.
pub fn before_in_line(one: &InLine, waiting: &[InLine]) -> usize {
    let same = waiting.iter().filter(|other| other.runtime == one.runtime);
    same.filter(|other| *other < one).count()
}

/// A line of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewLine {
    /// The run it is about; none for what runs stand below.
    pub run: Option<RunId>,
    /// How deep it stands.
    pub depth: usize,
    /// What it says.
    pub text: String,
}

impl OverviewLine {
    /// With its depth, as it is printed.
    pub fn indented(&self) -> String {
        format!("{}{}", "  ".repeat(self.depth), self.text)
    }
}

/// Makes the tree: sessions, groups in them, and runs in the order of their acceptance.
pub fn overview(runs: &[SeenRun], now_ms: u64) -> Vec<OverviewLine> {
    let place = |run: &SeenRun| (run.host.clone(), run.session.clone(), run.workspace.clone());
    let mut runs = runs.iter().collect::<Vec<_>>();
    runs.sort_by_key(|run| (place(run), run.group.clone(), run.run.clone()));
    let mut lines = Vec::new();
    let (mut session, mut group) = (None, None);
    for run in runs {
        if session.as_ref() != Some(&place(run)) {
            session = Some(place(run));
            group = None;
            lines.push(title(0, session_words(run)));
        }
        if run.group != group {
            group = run.group.clone();
            lines.extend(
                group
                    .as_ref()
                    .map(|group| title(1, format!("group {}", group.as_str()))),
            );
        }
        lines.push(OverviewLine {
            run: Some(run.run.clone()),
            depth: 1 + usize::from(group.is_some()),
            text: run_words(run, now_ms),
        });
    }
    lines
}

fn title(depth: usize, text: String) -> OverviewLine {
    OverviewLine {
        run: None,
        depth,
        text,
    }
}

fn session_words(run: &SeenRun) -> String {
    match &run.session {
        Some(session) => format!("{} session {}  {}", run.host, session.0, run.workspace),
        None => format!("{}  {}", run.host, run.workspace),
    }
}

fn run_words(run: &SeenRun, now_ms: u64) -> String {
    let sight = &run.sight;
    let since = duration_words(now_ms.saturating_sub(sight.begun_ms) as f64);
    let parts = [
        sight.name.clone(),
        run.run.to_string(),
        since,
        doing_words(run, now_ms),
    ];
    let parts = parts
        .into_iter()
        .chain(sight.model.clone())
        .chain(sight.used.clone());
    parts.collect::<Vec<_>>().join("  ")
}

fn doing_words(run: &SeenRun, now_ms: u64) -> String {
    let sight = &run.sight;
    if run.cut_off {
        return "cut off: nobody drives it".into();
    }
    if let (Standing::Waiting, Some(waits)) = (sight.standing, &sight.waits) {
        return waits.words.clone();
    }
    let running = sight
        .calls
        .iter()
        .rev()
        .find(|call| call.fate == CallFate::Running);
    let count = sight.calls.len() as u64 + u64::from(sight.calls_before);
    match running {
        Some(call) => {
            let since = duration_words(now_ms.saturating_sub(call.begun_ms) as f64);
            format!("{} {} ({since}, call {count})", call.tool, call.with)
        }
        None => format!("works, {}", count_words(count as usize, "call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::{CallSight, Waits};

    fn seen(number: u64, session: Option<&str>, group: Option<u64>) -> SeenRun {
        SeenRun {
            run: RunId::new(number, 0),
            host: "pi".into(),
            session: session.map(|session| SessionId(session.into())),
            workspace: "~/app".into(),
            group: group.map(|group| GroupId::new(group, 0)),
            cut_off: false,
            sight: RunSight {
                name: "explore".into(),
                task: String::new(),
                standing: Standing::Working,
                begun_ms: 1_000,
                took: None,
                model: Some("a/one".into()),
                attempt: 1,
                waits: None,
                calls: Vec::new(),
                calls_before: 0,
                left: Vec::new(),
                words: None,
                used: Some("1.2k in, 40 out · $0.010".into()),
                flags: Vec::new(),
                receipt: Vec::new(),
            },
        }
    }

    fn lines(runs: &[SeenRun]) -> Vec<String> {
        let shortened = |line: OverviewLine| {
            let id = line.run.as_ref().map_or(String::new(), ToString::to_string);
            match id.is_empty() {
                true => line.indented(),
                false => line.indented().replace(&id, "ID"),
            }
        };
        overview(runs, 13_500).into_iter().map(shortened).collect()
    }

    #[test]
    fn runs_stand_below_their_session_and_members_below_their_group() {
        let runs = [
            seen(3, Some("b"), None),
            seen(2, Some("a"), Some(1)),
            seen(1, Some("a"), None),
        ];
        let group = GroupId::new(1, 0);
        let run = "explore  ID  12.5s  works, 0 calls  a/one  1.2k in, 40 out · $0.010";
        let wanted = [
            "pi session a  ~/app".to_string(),
            format!("  {run}"),
            format!("  group {}", group.as_str()),
            format!("    {run}"),
            "pi session b  ~/app".to_string(),
            format!("  {run}"),
        ];
        assert_eq!(lines(&runs), wanted);
    }

    #[test]
    fn a_place_in_line_is_among_those_of_the_same_runtime() {
        let waits = |number, runtime: &str, since_ms| InLine {
            runtime: runtime.into(),
            since_ms,
            run: RunId::new(number, 0),
        };
        let all = [
            waits(1, "a", 30),
            waits(2, "a", 10),
            waits(3, "b", 5),
            waits(4, "a", 30),
        ];
        assert_eq!(all.each_ref().map(|one| before_in_line(one, &all)), [1, 0, 0, 2]);
    }

    #[test]
    fn what_it_does_or_waits_for_is_said() {
        let mut waiting = seen(1, None, None);
        waiting.sight.standing = Standing::Waiting;
        waiting.sight.waits = Some(Waits {
            words: "waits for room".into(),
            until_ms: None,
        });
        let mut calling = seen(2, None, None);
        calling.sight.calls_before = 2;
        calling.sight.calls = vec![CallSight {
            tool: "bash".into(),
            with: "cargo test".into(),
            fate: CallFate::Running,
            begun_ms: 12_500,
            took: None,
            why: None,
        }];
        let mut cut_off = seen(3, None, None);
        cut_off.cut_off = true;
        let lines = lines(&[waiting, calling, cut_off]);
        assert_eq!(lines[0], "pi  ~/app");
        for (line, wanted) in lines[1..].iter().zip([
            "waits for room",
            "bash cargo test (1.0s, call 3)",
            "cut off: nobody drives it",
        ]) {
            assert!(line.contains(wanted), "{line}");
        }
    }
}
