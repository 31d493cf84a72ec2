//! Children that come and go. Each is restarted on its own account, and its owner is told once when it is gone.
//!
//! A dynamic supervisor that dies takes its children with it; their owners are told that they were killed.

mod actor;

pub use actor::DynamicSupervisorActor;

use super::{AskError, Child, ChildSpec, Exit, Message, Name, Port, SupervisorSettings};
use crate::message;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(60);
const STOP_WITHIN: Duration = Duration::from_secs(600);

/// A dynamic supervisor, as a child, and what others hold to start and stop children in it.
///
/// The settings hold for each child by itself: one that is restarted too often is given up alone.
pub fn dynamic_supervisor(
    name: &str,
    settings: SupervisorSettings,
) -> (Child<DynamicSupervisorActor>, DynamicSupervisor) {
    let child = Child::new(name, move |_| DynamicSupervisorActor::new(settings.clone())).above(Rc::from([]));
    let supervisor = DynamicSupervisor {
        start: child.port(),
        stop: child.port(),
    };
    (child, supervisor)
}

/// Starts and stops children in a dynamic supervisor; it survives restarts of the dynamic supervisor, the children do not.
#[derive(Clone, Debug)]
pub struct DynamicSupervisor {
    start: Port<StartChild>,
    stop: Port<StopChild>,
}

/// Why a child was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    #[error("a child called {0} is there already")]
    NameTaken(Name),
    /// Its builder or its `started` failed.
    #[error("it did not come up: it {0}")]
    Failed(Exit),
    /// The dynamic supervisor is going, or gone, or died over it; the child does not run.
    #[error("the dynamic supervisor is not there: it {0}")]
    SupervisorDown(Exit),
    /// The dynamic supervisor has more to do than it can.
    #[error("the dynamic supervisor did not take it in time")]
    SupervisorBusy,
}

/// Why a child was not stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopError {
    #[error("no child called {0} is there")]
    NotThere(Name),
    /// The dynamic supervisor died, and the child with it.
    #[error("the dynamic supervisor is not there: it {0}")]
    SupervisorDown(Exit),
    /// The dynamic supervisor has more to do than it can, or the child does not go.
    #[error("the child did not stop in time")]
    SupervisorBusy,
}

impl DynamicSupervisor {
    /// Starts a child. Once it was up, `on_exit` is told when it is gone for good, exactly once; also when this
    /// reply got lost with the dynamic supervisor.
    pub fn start(
        &self,
        spec: ChildSpec,
        on_exit: Option<Port<ChildExited>>,
    ) -> impl Future<Output = Result<(), StartError>> + use<> + 'static {
        let asked = self
            .start
            .ask_patiently(StartChild { spec, on_exit }, START_WITHIN);
        async {
            asked.await.unwrap_or_else(|error| {
                Err(match no_reply(error) {
                    Some(cause) => StartError::SupervisorDown(cause),
                    None => StartError::SupervisorBusy,
                })
            })
        }
    }

    /// Tells a child to go, and waits until it is gone. Says how it ended.
    pub fn stop(&self, name: &str) -> impl Future<Output = Result<Exit, StopError>> + use<> + 'static {
        let stop = StopChild { name: name.into() };
        let asked = self.stop.ask_patiently(stop, STOP_WITHIN);
        async {
            asked.await.unwrap_or_else(|error| {
                Err(match no_reply(error) {
                    Some(cause) => StopError::SupervisorDown(cause),
                    None => StopError::SupervisorBusy,
                })
            })
        }
    }
}

/// How the dynamic supervisor ended, if that is why there is no reply.
fn no_reply<M: Message>(error: AskError<M>) -> Option<Exit> {
    match error {
        AskError::Died { cause, .. } | AskError::Down { cause, .. } => Some(cause),
        AskError::Busy(_) | AskError::Timeout { .. } => None,
    }
}

message!(
    /// A child of a dynamic supervisor is gone for good.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub ChildExited {
        name: Name,
        /// Its last life.
        incarnation: u64,
        /// How that ended; `Escalated` when the dynamic supervisor gave it up.
        exit: Exit,
    }
);
message!(StartChild { spec: ChildSpec, on_exit: Option<Port<ChildExited>> } -> Result<(), StartError>);
message!(StopChild { name: Name } -> Result<Exit, StopError>);
