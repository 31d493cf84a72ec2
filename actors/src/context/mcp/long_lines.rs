//! A stream that ends at a line that is too long, instead of growing with it.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Told when a line was too long.
#[derive(Debug, Clone, Default)]
pub(super) struct TooLong(Arc<AtomicBool>);

impl TooLong {
    pub(super) fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Passes on what `inner` gives until a line has more than `line_bytes_max` bytes.
pub(super) struct WithoutLongLines<R> {
    inner: R,
    line_bytes: Cell<usize>,
    line_bytes_max: usize,
    too_long: TooLong,
}

impl<R> WithoutLongLines<R> {
    pub(super) fn new(inner: R, line_bytes_max: usize, too_long: TooLong) -> Self {
        Self {
            inner,
            line_bytes: Cell::new(0),
            line_bytes_max,
            too_long,
        }
    }

    /// Whether the line that goes on through `bytes` stays within the limit; a short one may begin in them.
    fn fits(&self, bytes: &[u8]) -> bool {
        let mut line_bytes = self.line_bytes.get();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            line_bytes += part.len();
            if line_bytes > self.line_bytes_max {
                return false;
            }
            if part.ends_with(b"\n") {
                line_bytes = 0;
            }
        }
        self.line_bytes.set(line_bytes);
        true
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WithoutLongLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.too_long.happened() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if !self.fits(&buffer.filled()[before..]) {
            self.too_long.0.store(true, Ordering::Relaxed);
            buffer.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(bytes: &[u8], line_bytes_max: usize) -> (String, bool) {
        let too_long = TooLong::default();
        let mut stream = WithoutLongLines::new(bytes, line_bytes_max, too_long.clone());
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("text");
        (text, too_long.happened())
    }

    #[tokio::test]
    async fn a_line_at_the_limit_passes_and_one_above_it_is_the_end() {
        assert_eq!(read(b"abc\nde\n", 4).await, ("abc\nde\n".to_string(), false));
        assert_eq!(read(b"abcd\n", 4).await, (String::new(), true));
        assert_eq!(read(b"abcde", 4).await, (String::new(), true));
    }
}
