//! Connections that the script can close before anything was answered.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Closes the connection it belongs to: the next write on it fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scissors(Arc<AtomicBool>);

/// A listener whose connections can be cut.
#[derive(Debug)]
pub(crate) struct CuttableListener(pub TcpListener);

/// A connection that can be cut.
#[derive(Debug)]
pub(crate) struct CuttableConnection {
    stream: TcpStream,
    scissors: Scissors,
}

impl Scissors {
    pub(crate) fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::SeqCst) {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            Ok(())
        }
    }
}

impl Listener for CuttableListener {
    type Io = CuttableConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Deltas are small; a test should see each of them when it was sent. A failure only makes it slower.
        let _ = stream.set_nodelay(true);
        (
            CuttableConnection {
                stream,
                scissors: Scissors::default(),
            },
            address,
        )
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Scissors {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().scissors.clone()
    }
}

impl AsyncRead for CuttableConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CuttableConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.scissors.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
