//! HTTP clients, all with the same encryption.

use reqwest::{Client, ClientBuilder};

/// Builds a client. A machine without any certificates can still call what speaks plain HTTP, such as a server on the
/// machine itself.
pub(crate) fn build_client(
    configure: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, reqwest::Error> {
    // Another one may be installed by the program around us: then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    configure(Client::builder()).build().or_else(|error| {
        tracing::warn!(
            why = with_causes(&error),
            "no certificates of this machine can be used"
        );
        configure(Client::builder()).tls_certs_only([]).build()
    })
}

/// A failure of the network with what is behind it: the first line alone says "error sending request".
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
