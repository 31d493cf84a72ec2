//! Connections to the server, of which most of a hostile machine's never say who they are.
//!
//! Whoever has not said the word yet is a stranger. A stranger has a short time for each request's head, and only so many
//! of them are kept: one more takes the place of the oldest, so that they shut out each other and nobody else.

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// From the connection to the end of the request's head, and from one request to the next.
const HEAD_WITHIN: Duration = Duration::from_secs(5);
/// Strangers at a time.
const STRANGERS_MAX: usize = 64;
/// The system has no more descriptors for the moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection, as a request on it sees it.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    number: u64,
    strangers: Strangers,
}

impl Visitor {
    /// It said the word: from now on no stranger takes its place.
    pub(super) fn welcome(&self) {
        self.strangers.forget(self.number);
    }
}

#[derive(Debug, Clone, Default)]
struct Strangers(Arc<Mutex<VecDeque<(u64, AbortHandle)>>>);

impl Strangers {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, AbortHandle)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, number: u64, connection: AbortHandle) {
        let mut strangers = self.lock();
        if strangers.len() >= STRANGERS_MAX
            && let Some((_, oldest)) = strangers.pop_front()
        {
            oldest.abort();
        }
        strangers.push_back((number, connection));
    }

    fn forget(&self, number: u64) {
        self.lock().retain(|(other, _)| *other != number);
    }
}

/// Serves every connection until `ended`; those that are open then are closed.
pub(super) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    ended: impl Future<Output = ()>,
) {
    let strangers = Strangers::default();
    let mut connections = JoinSet::new();
    let mut number = 0;
    tokio::pin!(ended);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut ended => return,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        number += 1;
        let visitor = Visitor {
            number,
            strangers: strangers.clone(),
        };
        // Nothing of it runs before we wait again, so it is known as a stranger before it can be welcomed.
        let served = serve_one(stream, router.clone(), visitor);
        strangers.add(number, connections.spawn(served));
    }
}

async fn serve_one(stream: TcpStream, router: Router, visitor: Visitor) {
    let service = TowerToHyperService::new(router.layer(Extension(visitor.clone())));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection broke");
    }
    visitor.strangers.forget(visitor.number);
}
