//! The server over streamable HTTP: on this machine only, and only for who knows the word.

use super::MESSAGE_BYTES_MAX;
use super::connections::{Visitor, serve_connections};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Others would reach it.
    #[error("{0} is not on this machine alone; use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("listen on {address}: {why}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// The system's words.
        why: io::Error,
    },
}

/// Serves at `/mcp` until `ended`; `listening` is told where, once it is so.
pub async fn serve_http<S: ServerHandler + Clone>(
    server: S,
    address: SocketAddr,
    token: String,
    listening: impl FnOnce(SocketAddr),
    ended: impl Future<Output = ()> + Send + 'static,
) -> Result<(), HttpError> {
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    let unavailable = |why| HttpError::Listen { address, why };
    let listener = TcpListener::bind(address).await.map_err(unavailable)?;
    listening(listener.local_addr().map_err(unavailable)?);
    // Every request stands for itself: there is no session that could be left open, and nothing is pushed.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
        .enforce_origin_validation();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let token = Arc::new(format!("Bearer {token}"));
    let router = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(token, admit));
    serve_connections(listener, router, ended).await;
    Ok(())
}

/// Every user of the machine reaches a loopback port; the memory is one user's.
async fn admit(
    State(expected): State<Arc<String>>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if given.is_some_and(|given| are_equal(given, expected.as_bytes())) {
        visitor.welcome();
        return next.run(request).await;
    }
    let challenge = [(WWW_AUTHENTICATE, "Bearer"), (CONNECTION, "close")];
    (StatusCode::UNAUTHORIZED, challenge, "a bearer token is needed\n").into_response()
}

/// Takes as long for a nearly right word as for a wrong one.
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::are_equal;

    #[test]
    fn only_the_very_word_is_equal() {
        assert!(are_equal(b"Bearer x", b"Bearer x"));
        for wrong in [&b""[..], b"Bearer ", b"Bearer y", b"Bearer xx", b"bearer x"] {
            assert!(!are_equal(wrong, b"Bearer x"));
        }
    }
}
