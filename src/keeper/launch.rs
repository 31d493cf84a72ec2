//! Starting the program: a process of ours that becomes it.

use super::ROLE_LAUNCH;
use super::channel::Channel;
use super::wire::{Launch, Launching};
use impresario_actors::processes::wire::{Failure, Program};
use impresario_actors::processes::{KEEPER_MARKER, RUN_MARKER};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, chdir, getpid, getppid, pidfd_open,
    set_parent_process_death_signal, setpgid, waitpid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The running program, our child.
#[derive(Debug)]
pub struct Launched {
    /// As this process sees it; none when it ended before it could be seen.
    pub pid: Option<Pid>,
    /// Readable when it ended.
    pub pidfd: OwnedFd,
}

/// What could not be done, and the system's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unlaunched {
    /// Which step.
    pub what: Failure,
    /// Why.
    pub errno: i32,
}

impl Unlaunched {
    /// Something of ours did not work.
    pub fn keeper(error: &io::Error) -> Self {
        Self {
            what: Failure::Keeper,
            errno: error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
        }
    }
}

/// Starts another of our own roles.
pub fn spawn_role(role: &str, run: &str, stdin: Stdio) -> io::Result<Pid> {
    let child = Command::new("/proc/self/exe")
        .arg(role)
        .env_clear()
        .env(KEEPER_MARKER, run)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Starts the program; returns when it has become itself.
pub fn launch(run: &str, program: Program, streams: [OwnedFd; 3]) -> Result<Launched, Unlaunched> {
    try_launch(run, program, streams).unwrap_or_else(|error| Err(Unlaunched::keeper(&error)))
}

fn try_launch(
    run: &str,
    program: Program,
    streams: [OwnedFd; 3],
) -> io::Result<Result<Launched, Unlaunched>> {
    let (mut channel, theirs) = Channel::pair()?;
    let pid = spawn_role(ROLE_LAUNCH, run, theirs.into())?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    let launch = Launch {
        run: run.to_string(),
        parent: getpid().as_raw_nonzero().get(),
        program,
    };
    channel.send(&launch, &streams.each_ref().map(|stream| stream.as_fd()))?;
    drop(streams);
    let mut failed = Unlaunched {
        what: Failure::Keeper,
        errno: Errno::CHILD.raw_os_error(),
    };
    let mut is_ready = false;
    while let Some(message) = channel.receive()? {
        match message {
            Launching::Ready => is_ready = true,
            Launching::Failed { what, errno } => {
                is_ready = false;
                failed = Unlaunched { what, errno };
            }
        }
    }
    if is_ready {
        return Ok(Ok(Launched {
            pid: Some(pid),
            pidfd,
        }));
    }
    waitpid(Some(pid), WaitOptions::empty())?;
    Ok(Err(failed))
}

/// The role: becomes the program, or says why not.
pub fn run() -> i32 {
    let Ok(mut channel) = Channel::from_stdin() else {
        return 125;
    };
    let (Ok(Some(order)), Some(streams)) = (channel.receive::<Launch>(), channel.take_files()) else {
        return 125;
    };
    // Returns only if it did not work.
    let Unlaunched { what, errno } = become_program(&channel, order, streams);
    let _ = channel.send(&Launching::Failed { what, errno }, &[]);
    127
}

fn become_program(channel: &Channel, order: Launch, streams: [OwnedFd; 3]) -> Unlaunched {
    if let Err(error) = prepare(order.parent, streams) {
        return Unlaunched::keeper(&error);
    }
    if let Err(errno) = chdir(order.program.working_directory.as_str()) {
        return Unlaunched {
            what: Failure::WorkingDirectory,
            errno: errno.raw_os_error(),
        };
    }
    if let Err(error) = channel.send(&Launching::Ready, &[]) {
        return Unlaunched::keeper(&error);
    }
    let error = Command::new(&order.program.program)
        .args(&order.program.arguments)
        .env_clear()
        .envs(&order.program.environment)
        .env(RUN_MARKER, &order.run)
        .exec();
    Unlaunched {
        what: Failure::Program,
        errno: error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error()),
    }
}

/// The signal survives the `exec`, and Pi cleans up on SIGTERM. A process group of its own, so that a program that
/// signals its group does not hit the keeper.
fn prepare(parent: i32, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if Pid::as_raw(getppid()) != parent {
        return Err(Errno::CHILD.into());
    }
    setpgid(None, None)?;
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    Ok(())
}
