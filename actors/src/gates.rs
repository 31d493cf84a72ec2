//! Gates: commands that say by their exit code whether the answer of a run counts.
//!
//! A command runs below a keeper as a sub-agent's tools do, carries the mark of its run, and is started without a shell.
//! Its two streams are read as one text, of which the end is kept.

use crate::gateways::{GateAsk, GateReport, Gates};
use crate::processes::{
    ContainedProcess, ContainmentSetting, ExitFacts, Part, ProcessSpec, StartError, StderrTail, Streams,
};
use async_trait::async_trait;
use impresario_policies::child_environment::choose_gate_environment;
use impresario_policies::domain::{GateEnding, Proof};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

/// How long the last words are waited for when nothing is left that could say more.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(500);

/// What a gate's command is started with.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// The keeper's executable.
    pub keeper: PathBuf,
    pub containment: ContainmentSetting,
    /// Ours; the command gets what programs need of it, and no login of a provider.
    pub environment: BTreeMap<String, String>,
}

/// Commands of this machine.
#[derive(Debug, Clone)]
pub struct CommandGates {
    settings: GateSettings,
}

impl CommandGates {
    pub fn new(settings: GateSettings) -> Self {
        Self { settings }
    }

    fn spec(&self, ask: &GateAsk) -> Option<ProcessSpec> {
        let (program, arguments) = ask.gate.command.split_first()?;
        let program = match program.contains('/') {
            // Whoever writes `./check` means the directory it runs in.
            true => ask.directory.join(program),
            false => PathBuf::from(program),
        };
        Some(ProcessSpec {
            program,
            arguments: arguments.to_vec(),
            environment: choose_gate_environment(&self.settings.environment),
            working_directory: ask.directory.clone(),
            run: ask.run.clone(),
            // The sub-agent is over when its gate begins.
            part: Part::SubAgent,
            containment: self.settings.containment,
            keeper: self.settings.keeper.clone(),
        })
    }
}

#[async_trait(?Send)]
impl Gates for CommandGates {
    async fn run(&self, ask: GateAsk) -> GateReport {
        let Some(spec) = self.spec(&ask) else {
            return not_started("it names no program".to_string());
        };
        match ContainedProcess::start(spec).await {
            Ok((process, streams)) => watch(process, streams, &ask).await,
            // The keeper died first: nothing can be said of what it was to hold.
            Err(StartError::KeeperSilent { .. }) => GateReport {
                ending: None,
                output: String::new(),
                proof: Proof::NOTHING_STARTED,
            },
            Err(error) => not_started(error.to_string()),
        }
    }
}

fn not_started(why: String) -> GateReport {
    GateReport {
        ending: Some(GateEnding::NotStarted { why }),
        output: String::new(),
        proof: Proof::NOTHING_STARTED,
    }
}

/// Why the command is waited for no longer.
enum Over {
    Exited(ExitFacts),
    TimedOut,
    Stopped,
}

async fn watch(process: ContainedProcess, streams: Streams, ask: &GateAsk) -> GateReport {
    let Streams {
        stdin,
        stdout,
        stderr,
    } = streams;
    drop(stdin);
    let tail = Rc::new(RefCell::new(StderrTail::default()));
    let reading = async { tokio::join!(keep_end_of(stdout, &tail), keep_end_of(stderr, &tail)) };
    tokio::pin!(reading);
    let ended = async {
        tokio::select! {
            biased;
            exit = process.exited() => Over::Exited(exit),
            () = tokio::time::sleep(ask.gate.timeout) => Over::TimedOut,
            () = ask.stop.cancelled() => Over::Stopped,
        }
    };
    // A pipe that nobody reads would hold the command up.
    tokio::pin!(ended);
    let mut all_read = false;
    let over = loop {
        tokio::select! {
            biased;
            over = &mut ended => break over,
            _ = &mut reading, if !all_read => all_read = true,
        }
    };
    let stop = process.stop(ask.grace);
    tokio::pin!(stop);
    let proof = loop {
        tokio::select! {
            biased;
            proof = &mut stop => break proof,
            _ = &mut reading, if !all_read => all_read = true,
        }
    };
    if !all_read {
        let _ = timeout(LAST_WORDS_WITHIN, reading).await;
    }
    let output = tail.borrow_mut().text();
    GateReport {
        ending: ending_of(over),
        output,
        proof,
    }
}

fn ending_of(over: Over) -> Option<GateEnding> {
    let exit = match over {
        Over::Exited(exit) => exit,
        Over::TimedOut => return Some(GateEnding::TimedOut),
        Over::Stopped => return None,
    };
    if let Some(processes) = exit.processes {
        return Some(GateEnding::TooManyProcesses { processes });
    }
    match (exit.code, exit.signal) {
        (Some(code), _) => Some(GateEnding::Exited { code }),
        (None, Some(signal)) => Some(GateEnding::Signalled { signal }),
        // Nobody saw how it ended.
        (None, None) => None,
    }
}

async fn keep_end_of(mut stream: impl AsyncRead + Unpin, tail: &RefCell<StderrTail>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        tail.borrow_mut().push(&buffer[..count]);
    }
}
