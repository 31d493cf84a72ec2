//! The program as it is held: below the keeper, or inside a namespace below the keeper.

use super::launch::{Launched, Unlaunched, launch};
use super::namespace::{Namespace, exit_of};
use super::tree::{self, Reaped};
use super::wire::FromNamespace;
use impresario_actors::processes::ContainmentSetting;
use impresario_actors::processes::wire::{Failure, Program};
use impresario_policies::domain::Containment;
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// How the program ended: its exit code, or the signal it died of.
pub type Exit = (Option<i32>, Option<i32>);

/// A program that is held.
#[derive(Debug)]
pub struct Hold {
    program: Launched,
    namespace: Option<Namespace>,
    exit: Option<Exit>,
    is_empty: bool,
    /// Why it is not held better, where that was tried.
    pub note: Option<String>,
}

/// Why the program is not running.
#[derive(Debug)]
pub struct Unheld {
    /// What could not be done.
    pub unlaunched: Unlaunched,
    /// In words, where there are more.
    pub note: Option<String>,
}

impl Hold {
    /// Starts the program under the strongest hold that the setting asks for and the system gives.
    pub fn start(
        setting: ContainmentSetting,
        run: &str,
        program: Program,
        streams: [OwnedFd; 3],
    ) -> Result<Self, Unheld> {
        let (mut namespace, note) = match setting {
            ContainmentSetting::Keeper => (None, None),
            ContainmentSetting::Auto | ContainmentSetting::Namespace => match Namespace::open(run) {
                Ok(namespace) => (Some(namespace), None),
                Err(why) => (None, Some(why)),
            },
        };
        if setting == ContainmentSetting::Namespace && namespace.is_none() {
            let unlaunched = Unlaunched {
                what: Failure::Namespace,
                errno: Errno::PERM.raw_os_error(),
            };
            return Err(Unheld { unlaunched, note });
        }
        let started = match &mut namespace {
            Some(namespace) => namespace.start(run, program, streams),
            None => launch(run, program, streams),
        };
        match started {
            Ok(program) => Ok(Self {
                program,
                namespace,
                exit: None,
                is_empty: false,
                note,
            }),
            Err(unlaunched) => Err(Unheld { unlaunched, note }),
        }
    }

    /// How it is held.
    pub fn method(&self) -> Containment {
        match self.namespace {
            Some(_) => Containment::PidNamespace,
            None => Containment::Keeper,
        }
    }

    /// The program's process id, as seen from here; none when it ended before it could be seen.
    pub fn pid(&self) -> Option<i32> {
        self.program.pid.map(|pid| pid.as_raw_nonzero().get())
    }

    /// How the program ended, once it did.
    pub fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// What becomes readable when there is something to [`look`](Self::look) at. Children of the program that are
    /// handed to the keeper make nothing readable; looking from time to time reaps them.
    pub fn signs(&self) -> Vec<BorrowedFd<'_>> {
        let mut signs = Vec::new();
        match &self.namespace {
            Some(namespace) if !namespace.channel.is_closed() => {
                signs.extend([namespace.channel.as_fd(), namespace.init.as_fd()]);
            }
            Some(namespace) => signs.push(namespace.init.as_fd()),
            None if self.exit.is_none() => signs.push(self.program.pidfd.as_fd()),
            None => {}
        }
        signs
    }

    /// Takes notice of what ended; returns how many were reaped.
    pub fn look(&mut self) -> u32 {
        self.hear_init();
        let mut reaped = 0;
        let (program, namespaced, exit) = (self.program.pid, self.namespace.is_some(), &mut self.exit);
        let left = tree::reap(|pid, status| {
            reaped += 1;
            if Some(pid) == program && !namespaced {
                *exit = Some(exit_of(status));
            }
        });
        self.is_empty = left == Reaped::NoneLeft;
        reaped
    }

    fn hear_init(&mut self) {
        let Some(namespace) = &mut self.namespace else {
            return;
        };
        if namespace.channel.is_closed() || !namespace.channel.is_readable() {
            return;
        }
        // An init that cannot be read is one that died; its pidfd says so.
        let _ = namespace.channel.fill();
        while let Ok(Some(message)) = namespace.channel.next::<FromNamespace>() {
            if let FromNamespace::Exited { code, signal } = message {
                self.exit = Some((code, signal));
            }
        }
    }

    /// Whether nothing runs but the program and, in a namespace, its init. The program stands still while it is looked
    /// at: what does not run cannot start anything, so what is not there is not on its way either.
    pub fn is_program_alone(&self, within: Duration) -> bool {
        let Some(program) = self.program.pid.map(|pid| pid.as_raw_nonzero().get()) else {
            return false;
        };
        if self.exit.is_some() || pidfd_send_signal(&self.program.pidfd, Signal::STOP).is_err() {
            return false;
        }
        let alone = tree::is_frozen(program, within) && tree::is_alone(program);
        let _ = pidfd_send_signal(&self.program.pidfd, Signal::CONT);
        alone
    }

    /// Asks the program to end. One that was frozen is thawed, so that it hears it.
    pub fn ask(&self) {
        // It may have ended; that is what is wanted.
        let _ = pidfd_send_signal(&self.program.pidfd, Signal::TERM);
        let _ = pidfd_send_signal(&self.program.pidfd, Signal::CONT);
    }

    /// Asks everything that the program left behind to end. The init of a namespace does not hear it.
    pub fn ask_the_rest(&self) {
        tree::signal_all(Signal::TERM);
        tree::signal_all(Signal::CONT);
    }

    /// Kills everything; returns how many, the init of a namespace not counted.
    pub fn kill(&mut self, within: Duration) -> u32 {
        let inside = match &self.namespace {
            Some(namespace) => {
                let count = tree::descendants().len().saturating_sub(1) as u32;
                let _ = pidfd_send_signal(&namespace.init, Signal::KILL);
                Some(count)
            }
            None => None,
        };
        self.hear_init();
        let (program, namespaced, exit) = (self.program.pid, self.namespace.is_some(), &mut self.exit);
        let (left, killed) = tree::kill_all(within, |pid, status| {
            if Some(pid) == program && !namespaced {
                *exit = Some(exit_of(status));
            }
        });
        self.is_empty = left == Reaped::NoneLeft;
        if self.is_empty && self.exit.is_none() {
            self.exit = Some((None, Some(Signal::KILL.as_raw())));
        }
        inside.unwrap_or(killed)
    }
}
