//! A PID namespace around the program: when its init goes, the kernel kills everything in it.
//!
//! `unshare` moves only later children into the new namespace, so a short-lived process enters it, starts the init
//! and goes; the init is then handed to the keeper, which is subreaper. Without privileges a user namespace comes
//! first, with the user mapped to itself. The namespace gets a `/proc` of its own, or it is not used: with the old
//! one every process id that a program reads there would be wrong.

use super::channel::Channel;
use super::launch::{Launched, Unlaunched, launch, spawn_role};
use super::tree;
use super::wire::{FromNamespace, Launch, ToInit};
use super::{ROLE_INIT, ROLE_NAMESPACE};
use impresario_actors::processes::KEEPER_MARKER;
use impresario_actors::processes::wire::Program;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getgid, getuid, pidfd_open,
    set_parent_process_death_signal, wait, waitpid,
};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities,
};
use std::env;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

const CLEARING_WITHIN: Duration = Duration::from_secs(5);

/// A namespace that is ready for a program.
#[derive(Debug)]
pub struct Namespace {
    /// Its first process, our child.
    pub init: OwnedFd,
    /// To and from that process.
    pub channel: Channel,
}

impl Namespace {
    /// Makes one, or says why not; then nothing of it is left.
    pub fn open(run: &str) -> Result<Self, String> {
        Self::try_open(run).inspect_err(|_| clear())
    }

    fn try_open(run: &str) -> Result<Self, String> {
        let explain = |error: io::Error| format!("the keeper could not prepare one: {error}");
        let (mut channel, theirs) = Channel::pair().map_err(explain)?;
        let opener = spawn_role(ROLE_NAMESPACE, run, theirs.into()).map_err(explain)?;
        let opened = channel.receive::<FromNamespace>().map_err(explain)?;
        waitpid(Some(opener), WaitOptions::empty()).map_err(|errno| explain(errno.into()))?;
        let init = match opened {
            Some(FromNamespace::Opened { init }) => Pid::from_raw(init).ok_or("its init has no number")?,
            Some(FromNamespace::Unavailable { why }) => return Err(why),
            _ => return Err("the process that makes it died".to_string()),
        };
        let init = pidfd_open(init, PidfdFlags::empty()).map_err(|errno| explain(errno.into()))?;
        channel.send(&ToInit::Furnish, &[]).map_err(explain)?;
        match channel.receive().map_err(explain)? {
            Some(FromNamespace::Furnished) => Ok(Self { init, channel }),
            Some(FromNamespace::Unavailable { why }) => Err(why),
            _ => Err("its init died".to_string()),
        }
    }

    /// Starts the program inside.
    pub fn start(
        &mut self,
        run: &str,
        program: Program,
        streams: [OwnedFd; 3],
    ) -> Result<Launched, Unlaunched> {
        let started = self.try_start(run, program, streams);
        started.unwrap_or_else(|error| Err(Unlaunched::keeper(&error)))
    }

    fn try_start(
        &mut self,
        run: &str,
        program: Program,
        streams: [OwnedFd; 3],
    ) -> io::Result<Result<Launched, Unlaunched>> {
        // The init is the parent inside, and always the first process there.
        let launch = Launch {
            run: run.to_string(),
            parent: 1,
            program,
        };
        self.channel.send(
            &ToInit::Start(launch),
            &streams.each_ref().map(|stream| stream.as_fd()),
        )?;
        match self.channel.receive()? {
            Some(FromNamespace::Started) => {}
            Some(FromNamespace::Failed { what, errno }) => return Ok(Err(Unlaunched { what, errno })),
            _ => return Err(Errno::CHILD.into()),
        }
        let [pidfd] = self.channel.take_files().ok_or(Errno::BADMSG)?;
        let pid = number_outside(&pidfd)?;
        Ok(Ok(Launched { pid, pidfd }))
    }
}

/// Nothing but a failed namespace is below the keeper when this is called.
fn clear() {
    tree::kill_all(CLEARING_WITHIN, |_, _| {});
}

/// A pidfd that comes from inside says which number the process has here.
fn number_outside(pidfd: &OwnedFd) -> io::Result<Option<Pid>> {
    use std::os::fd::AsRawFd;
    let about = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let number = about
        .lines()
        .find_map(|line| line.strip_prefix("Pid:")?.trim().parse::<i32>().ok());
    // -1 stands for a process that ended already.
    Ok(number.filter(|number| *number > 0).and_then(Pid::from_raw))
}

/// The role that enters a new namespace and starts its init.
pub fn run_opener() -> i32 {
    let Ok(channel) = Channel::beside_stdin() else {
        return 125;
    };
    let (message, code) = match open() {
        Ok(init) => (
            FromNamespace::Opened {
                init: init.as_raw_nonzero().get(),
            },
            0,
        ),
        Err(why) => (FromNamespace::Unavailable { why }, 1),
    };
    let _ = channel.send(&message, &[]);
    code
}

fn open() -> Result<Pid, String> {
    let needed = UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    if let Err(errno) = unshare(needed) {
        if errno != Errno::PERM {
            return Err(format!("unshare: {errno}"));
        }
        open_as_somebody(needed)?;
    }
    let run = env::var(KEEPER_MARKER).unwrap_or_default();
    // Standard input is the keeper's channel, for the init as for this process.
    spawn_role(ROLE_INIT, &run, Stdio::inherit()).map_err(|error| format!("start of its init: {error}"))
}

/// Without privileges: a user namespace in which this user is still the same one. The init needs one capability to
/// mount `/proc`, and keeps it over its `exec` only as an ambient one.
fn open_as_somebody(needed: UnshareFlags) -> Result<(), String> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(needed | UnshareFlags::NEWUSER)
        .map_err(|errno| format!("unshare with a user namespace: {errno}"))?;
    let map = |file: &str, content: String| {
        fs::write(format!("/proc/self/{file}"), content).map_err(|error| format!("write to {file}: {error}"))
    };
    map("setgroups", "deny".to_string())?;
    map("uid_map", format!("{user} {user} 1"))?;
    map("gid_map", format!("{group} {group} 1"))?;
    lend_mounting().map_err(|errno| format!("capability to mount: {errno}"))
}

fn lend_mounting() -> Result<(), Errno> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)
}

#[expect(
    deprecated,
    reason = "its successor is unsafe because of FILES, which is never asked for here"
)]
fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(flags)
}

/// The role of the first process in the namespace.
pub fn run_init() -> i32 {
    let Ok(mut channel) = Channel::from_stdin() else {
        return 125;
    };
    let Ok(Some(ToInit::Furnish)) = channel.receive() else {
        return 125;
    };
    if tie_life_to_parent(&channel).is_err() {
        return 125;
    }
    if let Err(why) = furnish() {
        let _ = channel.send(&FromNamespace::Unavailable { why }, &[]);
        return 1;
    }
    if channel.send(&FromNamespace::Furnished, &[]).is_err() {
        return 125;
    }
    let Ok(Some(ToInit::Start(order))) = channel.receive() else {
        return 125;
    };
    let Some(streams) = channel.take_files() else {
        return 125;
    };
    match launch(&order.run, order.program, streams) {
        Ok(launched) => serve(&channel, launched),
        Err(Unlaunched { what, errno }) => {
            let _ = channel.send(&FromNamespace::Failed { what, errno }, &[]);
            1
        }
    }
}

/// The kernel sends the signal when the keeper dies. Should it have died just before, its end of the channel is
/// closed; the parent's number says nothing across namespaces.
fn tie_life_to_parent(channel: &Channel) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if channel.is_abandoned() {
        return Err(Errno::CHILD.into());
    }
    Ok(())
}

fn furnish() -> Result<(), String> {
    let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|errno| format!("mounts of its own: {errno}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|errno| format!("/proc of its own: {errno}"))?;
    give_mounting_back().map_err(|errno| format!("dropping capabilities: {errno}"))
}

fn give_mounting_back() -> Result<(), Errno> {
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    sets.inheritable -= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)
}

/// Reaps everything in the namespace, and ends when nothing is left.
fn serve(channel: &Channel, program: Launched) -> i32 {
    if channel
        .send(&FromNamespace::Started, &[program.pidfd.as_fd()])
        .is_err()
    {
        return 125;
    }
    drop(program.pidfd);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == program.pid => {
                let (code, signal) = exit_of(status);
                let _ = channel.send(&FromNamespace::Exited { code, signal }, &[]);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return 0,
        }
    }
}

/// An exit as code or signal.
pub fn exit_of(status: WaitStatus) -> (Option<i32>, Option<i32>) {
    (status.exit_status(), status.terminating_signal())
}
