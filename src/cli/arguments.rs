//! What can be typed.

use super::exit::EXIT_CODES;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use impresario_actors::context::local::{INDEXES_BYTES_MAX, INDEXES_MAX};
use impresario_policies::added_tools::SessionTools;
use impresario_policies::capability::CapabilityKind;
use impresario_policies::domain::{Cap, Isolation, RunId};
use impresario_policies::figures::read_duration;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Runs sub-agents that survive being killed: every run ends in one state, no result is lost, nothing outlives its run.
#[derive(Debug, Parser)]
#[command(name = "impresario", version, after_help = EXIT_CODES, after_long_help = format!("\
Examples:
  impresario run explore \"How does a crashed actor come back?\"
  impresario skill refactor \"split src/main.rs by command\"
  impresario runs
  impresario trace 01kah3q

{EXIT_CODES}

State is kept in $XDG_STATE_HOME/impresario (else ~/.local/state/impresario), for your eyes only (mode 0700):
the journal of runs, nested sessions, and scratch directories that go with their run. `impresario runs prune`
forgets old runs. Logs go to stderr when IMPRESARIO_LOG is set, for instance IMPRESARIO_LOG=impresario=debug.

The search keeps an index of each workspace in $XDG_CACHE_HOME/impresario/search (else ~/.cache/impresario/search; with
--state-directory in its cache/search), for your eyes only. The {INDEXES_MAX} used last are kept, up to {} GB together. Delete
the directory whenever you like: the next search makes it anew.", INDEXES_BYTES_MAX / 1_000_000_000))]
pub struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    /// Leave control characters in the text of models, tools and files as they are; a terminal never gets them
    #[arg(long, global = true)]
    pub(super) raw: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a sub-agent: a built-in one, or one that a file describes
    Run(RunArguments),
    /// Run a skill: `.pi/skills/<name>/SKILL.md` of the workspace, then of your home
    Skill(SkillArguments),
    /// Run several sub-agents side by side, and put what they say together
    Parallel(ParallelArguments),
    /// Run sub-agents one after the other, each told what the one before it said, with gates between them
    Chain(ChainArguments),
    /// List runs, show one, follow it, tell or ask it something, cancel, resume, prune
    Runs(RunsArguments),
    /// Tell a sub-agent something while it works
    Steer(SteerArguments),
    /// Ask a sub-agent something while it works
    Ask(AskArguments),
    /// Show, apply and discard what runs changed in git worktrees of their own
    Worktrees(WorktreesArguments),
    /// Say what was spent on models, by day, agent and model
    Costs(CostsArguments),
    /// Say what the provider's prompt cache made of the requests of a run, and why
    Cache(CacheArguments),
    /// Tell the story of a run, step by step; report on the runs of a skill
    Trace(TraceArguments),
    /// List the agents that can be asked here, and files that describe none
    Agents(AgentsArguments),
    /// Find what can be used here: skills, agents, tools
    Capabilities(CapabilitiesArguments),
    /// Show everything that runs now, in all sessions
    Top(TopArguments),
    /// Say how each agent did so far: calls, successes, times, costs
    Stats(StatsArguments),
    /// Say which workspaces you trust, and take it back
    Trust(TrustArguments),
    /// Show and check the settings
    Config(ConfigArguments),
    /// Serve results kept aside to other hosts, as an MCP server
    Mcp(McpArguments),
    /// Serve a host over stdin and stdout (what the Pi extension starts)
    Bridge(BridgeArguments),
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario run explore \"Where is the retry policy decided?\"
  impresario run --model anthropic/claude-sonnet-4-5 explore \"Where is the retry policy decided?\"
  impresario run --runner pi --model anthropic/claude-sonnet-4-5 explore \"Where is the retry policy decided?\"
  impresario run --json --timeout 90s explore \"Where is the retry policy decided?\" | tail -n 1
  impresario runs attach $(impresario run --detach explore \"Where is the retry policy decided?\")

{EXIT_CODES}"))]
pub(super) struct RunArguments {
    /// Which: explore, oracle, librarian, general, reviewer, or one of yours; `impresario agents`
    /// lists them with their tools
    pub(super) agent: String,
    /// What is wanted, in your words
    pub(super) task: String,
    #[command(flatten)]
    pub(super) how: HowArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario skill review \"look at the last commit\"
  impresario skill review --runner pi --model anthropic/claude-sonnet-4-5 \"look at the last commit\"

{EXIT_CODES}"))]
pub(super) struct SkillArguments {
    /// The skill's name: the directory that holds its SKILL.md
    pub(super) name: String,
    /// What is wanted, in your words
    pub(super) task: String,
    #[command(flatten)]
    pub(super) how: HowArguments,
}

#[derive(Debug, Default, Args)]
pub(super) struct HowArguments {
    #[command(flatten)]
    pub(super) place: PlaceArguments,
    /// Print events as JSON lines on stdout instead of the answer; the last one is `run_ended`
    #[arg(long)]
    pub(super) json: bool,
    /// Print the id of the run as soon as it is accepted, and leave it to a process of its own, which ends with it
    #[arg(long)]
    pub(super) detach: bool,
    /// This is that process, and this is its run
    #[arg(long, hide = true, value_name = "ID", value_parser = run_id)]
    pub(super) detached_as: Option<RunId>,
    /// From admission to the end [default: as set, else 300s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) timeout: Option<Duration>,
    /// Until the sub-agent's first sign of life [default: as set, else 60s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) startup_timeout: Option<Duration>,
    /// Between two signs of life; a running tool has a limit of its own [default: as set, else 60s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) inactivity_timeout: Option<Duration>,
    /// Take the task as it stands: no brief, no judge
    #[arg(long)]
    pub(super) unjudged: bool,
    /// Where it works: in a git worktree of its own, whose changes become a patch, or in your files [default: as its agent says]
    #[arg(long, value_name = "HOW", value_parser = isolation)]
    pub(super) isolation: Option<Isolation>,
    #[command(flatten)]
    pub(super) budget: BudgetFlags,
}

/// What may be spent on what is typed here.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct BudgetFlags {
    /// Spend at most so many US dollars on it, sub-tasks together [default: as set (budget.tree.usd), else 10]
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    max_usd: Option<f64>,
    /// Spend at most so many tokens on it, sub-tasks together [default: as set (budget.tree.tokens), else no limit]
    #[arg(long, value_name = "COUNT")]
    max_tokens: Option<u64>,
}

impl BudgetFlags {
    /// What was typed wins over what is set.
    pub(super) fn over(self, set: Cap) -> Cap {
        Cap {
            usd: self.max_usd.or(set.usd),
            tokens: self.max_tokens.or(set.tokens),
        }
    }
}

fn run_id(typed: &str) -> Result<RunId, String> {
    RunId::try_from(typed.to_string()).map_err(|error| error.to_string())
}

fn dollars(typed: &str) -> Result<f64, String> {
    let dollars = typed.trim_start_matches('$').parse::<f64>();
    match dollars {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        Ok(_) | Err(_) => Err(format!("expected dollars above 0 like 2.50, got {typed:?}")),
    }
}

/// Who runs sub-agents, on which models, and where.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct PlaceArguments {
    /// Who runs a sub-agent: `embedded` needs nothing, `pi` is a nested Pi [default: as set, else embedded]
    #[arg(long)]
    pub(super) runner: Option<String>,
    /// The model, `provider/id`; repeat it for a fallback chain
    #[arg(long = "model", value_name = "MODEL")]
    pub(super) models: Vec<String>,
    /// Where it works [default: the current directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    /// The `pi` to run, when it is not the one on PATH
    #[arg(long, value_name = "PROGRAM", env = "IMPRESARIO_PI")]
    pub(super) pi: Option<PathBuf>,
    #[command(flatten)]
    pub(super) trust: TrustFlags,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

/// Whether what the workspace brings along is taken.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(super) struct TrustFlags {
    /// Take settings and skills of the workspace this once, without asking
    #[arg(long, conflicts_with = "no_trust")]
    trust: bool,
    /// Leave them out this once
    #[arg(long)]
    no_trust: bool,
}

impl TrustFlags {
    pub(super) fn typed(self) -> Option<bool> {
        match (self.trust, self.no_trust) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Agents are built in, or described by files: YAML in .pi/sub-agents and ~/.pi/agent/sub-agents, Markdown with front matter
in .pi/agents, .claude/agents, ~/.pi/agent/agents and ~/.claude/agents. Files of a workspace count where you trust it.

Examples:
  impresario agents
  impresario agents --json | head -n 1
  impresario run explore \"Where is the retry policy decided?\"

{EXIT_CODES}"))]
pub(super) struct AgentsArguments {
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    /// When to ask whom, instead
    #[arg(long, conflicts_with = "json")]
    pub(super) when: bool,
    /// Where they shall work [default: the current directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) trust: TrustFlags,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
pub(super) struct CapabilitiesArguments {
    #[command(subcommand)]
    pub(super) action: CapabilitiesAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum CapabilitiesAction {
    /// Say what fits a request best, and how sure that is
    #[command(after_help = format!("\
Examples:
  impresario capabilities search \"review the last commit\"
  impresario capabilities search --kind agent --json \"where is it decided\"
  impresario capabilities search --from tools.json \"which agent knows about ships\"

{EXIT_CODES}"))]
    Search {
        /// What is wanted, in words
        query: String,
        /// At most so many
        #[arg(long, default_value_t = 8, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        max: u32,
        #[command(flatten)]
        what: CapabilitiesOf,
    },
    /// List everything that is in the index
    #[command(after_help = EXIT_CODES)]
    List {
        #[command(flatten)]
        what: CapabilitiesOf,
    },
}

/// Which ones.
#[derive(Debug, Args)]
pub(super) struct CapabilitiesOf {
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    /// Only this kind: `skill`, `agent`, `tool` or `mcp`
    #[arg(long, value_parser = capability_kind)]
    pub(super) kind: Option<CapabilityKind>,
    /// Those of a file instead: a list in JSON, each with `id` and `name`, and `summary`, `params` or `schema`
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// Where they shall work [default: the current directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) trust: TrustFlags,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

fn capability_kind(typed: &str) -> Result<CapabilityKind, String> {
    CapabilityKind::read(typed).ok_or_else(|| {
        let kinds = CapabilityKind::ALL.map(CapabilityKind::as_str);
        format!("there are {}", kinds.join(", "))
    })
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
On a terminal: arrows select a run, `t` reads its transcript, `s` tells its sub-agent something, `a` asks it something and
shows its answer, `c` cancels it when you confirm, `q` quits. What became of each message is shown. Elsewhere it is
printed once. It reads the journal, so tokens and costs are those that are written there.

Examples:
  impresario top
  impresario top --once
  impresario top --json | wc -l

{EXIT_CODES}"))]
pub(super) struct TopArguments {
    /// Print it once
    #[arg(long)]
    pub(super) once: bool,
    /// Print it once, one JSON object a line for each run
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
It is added up from the runs that the journal still has: it survives every restart, and goes with them.

Examples:
  impresario stats
  impresario stats --here --json

{EXIT_CODES}"))]
pub(super) struct StatsArguments {
    /// One JSON object a line: the agents, then what failed
    #[arg(long)]
    pub(super) json: bool,
    /// At most so many runs, the newest
    #[arg(long, default_value_t = 1000, value_name = "COUNT")]
    pub(super) newest: usize,
    /// Only the runs of the current directory
    #[arg(long)]
    pub(super) here: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
A workspace can bring settings that name programs and models, and skills. The command line asks before it takes them,
once for each directory; without a terminal it leaves them out. In Pi, Pi's own trust of the project counts.

Examples:
  impresario trust list
  impresario trust add
  impresario trust revoke ~/src/app

{EXIT_CODES}"))]
pub(super) struct TrustArguments {
    #[command(subcommand)]
    pub(super) action: TrustAction,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum TrustAction {
    /// Show what you said of which directory
    #[command(after_help = format!("Example:\n  impresario trust list --json\n\n{EXIT_CODES}"))]
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Trust a workspace from now on
    #[command(after_help = format!("Example:\n  impresario trust add ~/src/app\n\n{EXIT_CODES}"))]
    Add {
        /// The workspace [default: the current directory]
        directory: Option<PathBuf>,
    },
    /// Forget what you said of a workspace: the next command asks again
    #[command(after_help = format!("Example:\n  impresario trust revoke ~/src/app\n\n{EXIT_CODES}"))]
    Revoke {
        /// The workspace [default: the current directory]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
The file holds a JSON list. `id` and `goal` must be there:
  [{{\"id\": \"restarts\", \"goal\": \"How does a crashed actor come back?\", \"scope\": \"policies/\",
    \"retrievalHints\": [\"backoff\"], \"outputFormat\": \"three sentences\", \"maxOutputChars\": 4000}},
   {{\"id\": \"journal\", \"goal\": \"Where are steps written?\"}}]
What they say comes on stdout in the order of the list, whoever ends first.

Settings: parallelSubagents.maxSubagents, .perWorkerOutputCharCap and .totalTimeoutMs; a flag wins over them. Where a
settings file says parallelSubagents.enabled=false, the command refuses; unless one does, typing it is leave enough.

Examples:
  impresario parallel subtasks.json
  impresario parallel --concurrency 2 --max-output-chars 4000 --timeout 5m subtasks.json
  make-subtasks | impresario parallel --skill review --json -
  impresario parallel --resume 01kah3q8x5n2v7cd

Exit codes:
  0  every sub-task succeeded
  1  one failed, and none was cancelled or parked
  2  usage: the command or the file could not be understood
  3  cancelled
  4  one is parked, and none was cancelled: `--resume` goes on"))]
pub(super) struct ParallelArguments {
    /// The sub-tasks: a JSON file; `-` for stdin
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(super) file: Option<PathBuf>,
    /// Which sub-agent they all are
    #[arg(long, value_name = "AGENT", default_value = "explore")]
    pub(super) agent: String,
    /// They all have the instructions of this skill instead
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    pub(super) skill: Option<String>,
    /// At most so many at a time, 1 to 16 [default: as set, else 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(super) concurrency: Option<u32>,
    /// Cut what each says to so many characters, 0 for no limit; a sub-task's own limit wins [default: as set, else 8000]
    #[arg(long, value_name = "COUNT")]
    pub(super) max_output_chars: Option<u32>,
    /// For all of them together [default: as set, else 600s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) timeout: Option<Duration>,
    /// For each of them, from its admission to its end [default: as set, else 300s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) subtask_timeout: Option<Duration>,
    /// Between two signs of life of one; a running tool has a limit of its own [default: as set, else 60s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) inactivity_timeout: Option<Duration>,
    /// Go on with the parked sub-tasks of this group, and print all of it
    #[arg(long, value_name = "GROUP", conflicts_with = "file")]
    pub(super) resume: Option<String>,
    /// Print events as JSON lines on stdout instead of the text; the first is `group_started`, the last `group_ended`
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) budget: BudgetFlags,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
}

impl ParallelArguments {
    /// What holds for each of them.
    pub(super) fn how(&self) -> HowArguments {
        HowArguments {
            place: self.place.clone(),
            // Single answers are not printed, whatever is printed of the group.
            json: true,
            timeout: self.subtask_timeout,
            inactivity_timeout: self.inactivity_timeout,
            budget: self.budget,
            ..HowArguments::default()
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
A chain is a YAML file (docs/chains.md):
  steps:
    - id: find
      agent: explore
      task: Where is {task} decided?
    - agent: general
      task: \"Change it as asked: {task}. This is where it is: {previous}\"
      gate: [cargo, test, --quiet]
A name without a path is looked for in .pi/chains of a trusted workspace, then in ~/.pi/agent/chains. A gate is a program
and its arguments, run where its sub-agent worked when that has answered; with another exit code than 0 the step has failed.

Examples:
  impresario chain fix.yaml --task \"the first wait before a retry\"
  impresario chain release --json
  impresario chain --resume 01kah3q8x5n2v7cd

Exit codes:
  0  every step succeeded
  1  one failed, and none was cancelled or parked
  2  usage: the command or the file could not be understood
  3  cancelled
  4  one is parked, and none was cancelled: `--resume` goes on")]
pub(super) struct ChainArguments {
    /// The chain: a YAML file, its name in .pi/chains, or `-` for stdin
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(super) file: Option<String>,
    /// What it is asked for: stands in the place of {task}
    #[arg(long, value_name = "TEXT")]
    pub(super) task: Option<String>,
    /// For all of it [default: as the file says, else 1h]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) timeout: Option<Duration>,
    /// At most so many of one step at a time, 1 to 16 [default: as the file says, else 3]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(super) concurrency: Option<u32>,
    /// Between two signs of life of one; a running tool has a limit of its own [default: as set, else 60s]
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) inactivity_timeout: Option<Duration>,
    /// Go on with the parked steps of this chain, and print all of it
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["file", "task"])]
    pub(super) resume: Option<String>,
    /// Print events as JSON lines on stdout instead of the text; the first is `group_started`, the last `group_ended`
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) budget: BudgetFlags,
    #[command(flatten)]
    pub(super) place: PlaceArguments,
}

impl ChainArguments {
    /// What holds for each of its sub-agents.
    pub(super) fn how(&self) -> HowArguments {
        HowArguments {
            place: self.place.clone(),
            json: true,
            inactivity_timeout: self.inactivity_timeout,
            budget: self.budget,
            ..HowArguments::default()
        }
    }
}

#[derive(Debug, Clone, Default, Args)]
pub(super) struct StateArguments {
    /// Where the journal is kept [default: $XDG_STATE_HOME/impresario]
    #[arg(long, value_name = "DIRECTORY", env = "IMPRESARIO_STATE_DIRECTORY")]
    pub(super) state_directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Every call of a model is counted as its provider counted it, those of actor and judge too. Its price is what Pi or the
provider says, else that of a dated table; a call whose price nobody knows is counted as one. A call that was cut off is
reckoned with what was set aside for it. Days are UTC. Caps are settings: `impresario config show budget`.

Examples:
  impresario costs
  impresario costs --by agent --days 30
  impresario costs --by model --json

{EXIT_CODES}"))]
pub(super) struct CostsArguments {
    /// What a line is for
    #[arg(long, value_enum, default_value_t = CostsBy::Day)]
    pub(super) by: CostsBy,
    /// So many days, today included
    #[arg(long, default_value_t = 7, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=366))]
    pub(super) days: u64,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
pub(super) struct CacheArguments {
    #[command(subcommand)]
    pub(super) action: CacheAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum CacheAction {
    /// Request by request: what was read, written and paid for, and where a prompt parted from the one before
    Explain(CacheExplainArguments),
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario cache explain 01kah3q
  impresario cache explain 01kah3q --json

{EXIT_CODES}"))]
pub(super) struct CacheExplainArguments {
    /// The run, or the first characters of its id
    pub(super) run: String,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

/// What costs are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CostsBy {
    Day,
    Agent,
    Model,
    /// Each of them by itself
    All,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario runs
  impresario runs --here
  impresario runs --json | head -n 1
  impresario runs show 01kah3q
  impresario runs resume 01kah3q
  impresario runs prune --older-than 30d

{EXIT_CODES}"))]
pub(super) struct RunsArguments {
    #[command(subcommand)]
    pub(super) action: Option<RunsAction>,
    /// One JSON object a line
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// At most so many, the newest first
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    pub(super) newest: usize,
    /// Only the runs of the current directory
    #[arg(long, conflicts_with = "workspace")]
    pub(super) here: bool,
    /// Only the runs of this workspace
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum RunsAction {
    /// Show a run and its answer
    #[command(after_help = format!("\
Examples:
  impresario runs show 01kah3q
  impresario runs show 01kah3q --answer > answer.md

{EXIT_CODES}"))]
    Show {
        /// Its id, or as much of the beginning as makes it the only one
        run: String,
        /// Only the answer, all of it, however long it is
        #[arg(long, conflicts_with = "json")]
        answer: bool,
    },
    /// Show what a sub-agent and its model said to each other
    #[command(after_help = format!("\
The nested session is kept with its run: `impresario runs prune` and the 30 days of `impresario runs` end both.

Example:
  impresario runs transcript 01kah3q --follow

{EXIT_CODES}"))]
    Transcript {
        /// Its id, or as much of the beginning as makes it the only one
        run: String,
        /// Go on until the run is over
        #[arg(long)]
        follow: bool,
    },
    /// Follow a run to its end, whichever process drives it
    #[command(after_help = format!("\
It tells what happened so far and what happens, as `impresario run` does, then the answer and how it ended. Ctrl-C leaves
the run alone. Of a run that is over it prints the answer at once. With --json: events, one JSON object a line.

Examples:
  impresario runs attach 01kah3q
  impresario runs --json attach 01kah3q | tail -n 1

{EXIT_CODES}
  130  left with Ctrl-C; the run goes on"))]
    Attach {
        /// Its id, or as much of the beginning as makes it the only one
        run: String,
    },
    /// Cancel a run that another process drives
    #[command(after_help = format!("Example:\n  impresario runs cancel 01kah3q\n\n{EXIT_CODES}"))]
    Cancel {
        /// Its id, or as much of the beginning as makes it the only one
        run: String,
    },
    /// Go on with a run that is parked or was cut off, as a new run that names it
    #[command(after_help = format!("Examples:\n  impresario runs resume 01kah3q\n  impresario runs resume 01kah3q --max-usd 5\n\n{EXIT_CODES}"))]
    Resume {
        /// Its id, or as much of the beginning as makes it the only one
        run: String,
        #[command(flatten)]
        budget: BudgetFlags,
    },
    /// Forget runs that ended long ago
    #[command(after_help = format!("Example:\n  impresario runs prune --older-than 12h --keep 10\n\n{EXIT_CODES}"))]
    Prune {
        /// How long ago: `30d`, `12h`
        #[arg(long, default_value = "30d", value_name = "DURATION", value_parser = read_duration)]
        older_than: Duration,
        /// The newest runs stay, whatever their age
        #[arg(long, default_value_t = 50, value_name = "COUNT")]
        keep: usize,
    },
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
The sub-agent has the message before its next call of the model, wherever the run is driven, and goes on with its task.
When this returns the message is in the journal: a crash does not lose it. `impresario runs show` says what became of it:
queued, delivered, or expired because the run ended before.

Examples:
  impresario steer 01kah3q \"leave the generated files alone\"
  impresario steer --wait 01kah3q \"look at src/lock.rs first\"

Exit codes:
  0  the run has the message; with --wait: the sub-agent has it
  1  it does not, and why
  2  usage: the command could not be understood"))]
pub(super) struct SteerArguments {
    /// Which run: its id, or as much of the beginning as makes it the only one
    pub(super) run: String,
    /// What it is told
    pub(super) text: String,
    /// Return when the sub-agent has it
    #[arg(long)]
    pub(super) wait: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
The question reaches the sub-agent as `impresario steer` does, and what it says next is printed: it answers from where it
stands, and goes on with its task. This costs what its next words cost.

Examples:
  impresario ask 01kah3q \"how far are you?\"
  impresario ask --timeout 30s 01kah3q \"which files did you change?\"

Exit codes:
  0  it answered
  1  it did not: the run does not take the question, ended before, or is still at work when the time is over
  2  usage: the command could not be understood"))]
pub(super) struct AskArguments {
    /// Which run: its id, or as much of the beginning as makes it the only one
    pub(super) run: String,
    /// What it is asked
    pub(super) question: String,
    /// How long the answer is waited for; the question stays
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = read_duration)]
    pub(super) timeout: Duration,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
A run with `isolation: worktree` (its agent's file, or `--isolation worktree`) works in a git worktree of its own. What it
changed is a patch that changes your files only with `apply`: all of it, or nothing where you changed one of them
meanwhile. docs/worktrees.md says more.

Examples:
  impresario worktrees
  impresario worktrees show 01kah3q
  impresario worktrees show --patch 01kah3q | less
  impresario worktrees apply --check 01kah3q
  impresario worktrees apply 01kah3q
  impresario worktrees discard 01kah3q

Exit codes:
  0  done, or nothing to do
  1  failed; with `apply`: something stands in the way, and nothing was changed
  2  usage: the command could not be understood, or there is no such worktree"))]
pub(super) struct WorktreesArguments {
    #[command(subcommand)]
    pub(super) action: Option<WorktreesAction>,
    /// One JSON object a line
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum WorktreesAction {
    /// List them, the newest first
    #[command(after_help = "Example:\n  impresario worktrees list --json")]
    List,
    /// Show what a run changed, file by file
    #[command(after_help = "Example:\n  impresario worktrees show --patch 01kah3q")]
    Show {
        /// The run's id, or as much of the beginning as makes it the only one
        run: String,
        /// Print the patch itself
        #[arg(long)]
        patch: bool,
    },
    /// Change your files as the run did: all of it or nothing
    #[command(after_help = "Example:\n  impresario worktrees apply --check 01kah3q")]
    Apply {
        /// The run's id, or as much of the beginning as makes it the only one
        run: String,
        /// Only say what would happen
        #[arg(long)]
        check: bool,
    },
    /// Forget it: patch, ref and worktree
    #[command(after_help = "Example:\n  impresario worktrees discard 01kah3q")]
    Discard {
        /// The run's id, or as much of the beginning as makes it the only one
        run: String,
    },
}

#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, after_help = format!("\
Examples:
  impresario trace 01kah3q
  impresario trace --json 01kah3q
  impresario trace report review
  impresario trace report review --html review.html
  impresario trace view review_1795254361090.json

Trace files lie in .pi/traces of the workspace (executionTrace.traceDirectory); docs/traces.md says what is made of them.

{EXIT_CODES}"))]
pub(super) struct TraceArguments {
    #[command(subcommand)]
    pub(super) action: Option<TraceAction>,
    /// The run's id, or as much of the beginning as makes it the only one
    #[arg(required = true)]
    pub(super) run: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Subcommand)]
pub(super) enum TraceAction {
    /// Say what the last runs of a skill add up to: outcomes, signs of failure, the trend
    Report(ReportArguments),
    /// Show one run of a skill: what it did, when, and how it ended
    View(ViewArguments),
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario trace report review
  impresario trace report review --json
  impresario trace report review --html review.html

{EXIT_CODES}"))]
pub(super) struct ReportArguments {
    /// The skill's name
    pub(super) skill: String,
    #[command(flatten)]
    pub(super) traces: TracesArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  impresario trace view review_1795254361090.json
  impresario trace view review_1795254361090.json --html run.html

{EXIT_CODES}"))]
pub(super) struct ViewArguments {
    /// The trace's file, as the report lists it
    pub(super) file: String,
    #[command(flatten)]
    pub(super) traces: TracesArguments,
}

/// Which traces, and how they are shown.
#[derive(Debug, Args)]
pub(super) struct TracesArguments {
    /// One JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page to look at: what happened, drawn, in one file; `-` for stdout
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(super) html: Option<PathBuf>,
    /// The workspace [default: the current directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) trust: TrustFlags,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Settings stand under \"impresario\" in ~/.pi/agent/settings.json ($PI_CODING_AGENT_DIR/settings.json if that is set) and
in .pi/settings.json of the workspace, which wins; a flag wins over both.

Examples:
  impresario config show
  impresario config show --json | grep Timeout
  impresario config check
  impresario config schema > impresario.schema.json

{EXIT_CODES}"))]
pub(super) struct ConfigArguments {
    #[command(subcommand)]
    pub(super) action: ConfigAction,
    /// The workspace [default: the current directory]
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub(super) workspace: Option<PathBuf>,
    /// As where the host does not trust the workspace
    #[arg(long, global = true)]
    pub(super) untrusted: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigAction {
    /// Print every value and where it comes from
    #[command(after_help = format!("Example:\n  impresario config show --json\n\n{EXIT_CODES}"))]
    Show {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Print what cannot be meant, with file and line; exits with 1 when there is any
    #[command(after_help = format!("Example:\n  impresario config check --workspace .\n\n{EXIT_CODES}"))]
    Check,
    /// Print the JSON Schema of the settings, for editors
    #[command(after_help = format!("Example:\n  impresario config schema > impresario.schema.json\n\n{EXIT_CODES}"))]
    Schema,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
Tools: list, read (pages that end), search, and keep: a host that has a result too large for its model keeps it here and \
shows a short text in its place. What a host keeps goes with this process. With a run, list, read and search look into \
what that run keeps; when a run ends, what was kept for it is gone.

With --tools it serves tools of Impresario's instead, the same that its sub-agents have: {}.

Over stdio it ends when its input does. Over HTTP it listens on this machine only and wants a bearer token: the one in \
IMPRESARIO_MCP_TOKEN, else one that it makes and prints below its address.

Examples:
  claude mcp add context-memory -- impresario mcp
  impresario mcp --run 01kah3q
  impresario mcp --http 127.0.0.1:4141
  impresario mcp --tools glob,ast_search --workspace ~/project

  In the configuration of most hosts:
  {{ \"mcpServers\": {{ \"context-memory\": {{ \"command\": \"impresario\", \"args\": [\"mcp\"] }} }} }}

{EXIT_CODES}", SessionTools::WORDS[1..].join(", ")))]
pub(super) struct McpArguments {
    /// Only what this run keeps: its id, or as much of the beginning as makes it the only one
    #[arg(long, value_name = "RUN")]
    pub(super) run: Option<String>,
    /// Serve these tools instead of the memory: their names with commas between, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(SessionTools::WORDS), hide_possible_values = true, conflicts_with = "run")]
    pub(super) tools: Vec<String>,
    /// The directory in which the tools work, and outside of which they reach nothing [default: the current one]
    #[arg(long, value_name = "DIRECTORY", requires = "tools")]
    pub(super) workspace: Option<PathBuf>,
    /// Listen here instead of speaking over stdin and stdout; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) http: Option<SocketAddr>,
    /// What clients have to say; never on a command line, which everybody can read
    #[arg(skip = std::env::var("IMPRESARIO_MCP_TOKEN").ok())]
    pub(super) token: Option<String>,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

#[derive(Debug, Args)]
#[command(after_help = format!("\
The extension starts this; nobody types it. docs/protocol.md says what goes over the wire.

Example:
  impresario bridge < requests.jsonl

{EXIT_CODES}"))]
pub(super) struct BridgeArguments {
    /// Who runs sub-agents: `pi` or `embedded` [default: as set for the workspace, else pi]
    #[arg(long, env = "IMPRESARIO_RUNNER")]
    pub(super) runner: Option<String>,
    /// The `pi` to run, when it is not the one on PATH
    #[arg(long, value_name = "PROGRAM", env = "IMPRESARIO_PI")]
    pub(super) pi: Option<PathBuf>,
    #[command(flatten)]
    pub(super) state: StateArguments,
}

fn isolation(text: &str) -> Result<Isolation, String> {
    match text {
        "worktree" => Ok(Isolation::Worktree),
        "none" => Ok(Isolation::None),
        other => Err(format!("expected worktree or none, got {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_hang_together() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
