//! One end of a socket pair that carries JSON lines and open files.

use impresario_actors::processes::descriptors;
use impresario_actors::processes::wire::{LINE_BYTES_MAX, line_of, message_in};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::stdio::dup2_stdin;
use rustix::time::Timespec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A peer of ours answers within milliseconds; a machine that swaps needs longer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(15);
const CHUNK_BYTES: usize = 64 * 1024;

/// One end, closed on exec.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    read: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    is_closed: bool,
}

impl Channel {
    /// Takes over standard input, which becomes `/dev/null`.
    pub fn from_stdin() -> io::Result<Self> {
        let socket = fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
        dup2_stdin(File::open("/dev/null")?)?;
        Self::over(socket)
    }

    /// Speaks over standard input and leaves it in place, for a child that takes it over.
    pub fn beside_stdin() -> io::Result<Self> {
        Self::over(fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?)
    }

    /// A channel, and the other end for a child's standard input.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::over(ours.into())?, theirs.into()))
    }

    fn over(socket: OwnedFd) -> io::Result<Self> {
        set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_WITHIN))?;
        Ok(Self {
            socket,
            read: Vec::new(),
            descriptors: VecDeque::new(),
            is_closed: false,
        })
    }

    /// Sends a message and, with it, open files.
    pub fn send(&self, message: &impl Serialize, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let line = line_of(message);
        let mut sent = descriptors::send(&self.socket, &line, files)?;
        while sent < line.len() {
            sent += descriptors::send(&self.socket, &line[sent..], &[])?;
        }
        Ok(())
    }

    /// The next message, waiting for it; none when the other end closed.
    pub fn receive<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        loop {
            if let Some(message) = self.next()? {
                return Ok(Some(message));
            }
            if self.is_closed {
                return Ok(None);
            }
            let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
            let within = Timespec {
                tv_sec: ANSWER_WITHIN.as_secs() as i64,
                tv_nsec: 0,
            };
            match poll(&mut ready, Some(&within)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.fill()?;
        }
    }

    /// Reads what is there; call when it is readable.
    pub fn fill(&mut self) -> io::Result<()> {
        let before = self.read.len();
        self.read.resize(before + CHUNK_BYTES, 0);
        let mut files = Vec::new();
        let received = descriptors::receive(&self.socket, &mut self.read[before..], &mut files);
        self.read.truncate(before + *received.as_ref().unwrap_or(&0));
        self.descriptors.extend(files);
        self.is_closed |= received? == 0;
        if self.read.len() > LINE_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(())
    }

    /// The next message that was read already.
    pub fn next<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let Some(end) = self.read.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let message = message_in(&self.read[..end]);
        self.read.drain(..=end);
        Ok(Some(message?))
    }

    /// The next open files that came along, in order.
    pub fn take_files<const N: usize>(&mut self) -> Option<[OwnedFd; N]> {
        if self.descriptors.len() < N {
            return None;
        }
        self.descriptors.drain(..N).collect::<Vec<_>>().try_into().ok()
    }

    /// There is something to [`fill`](Self::fill) from, the end included.
    pub fn is_readable(&self) -> bool {
        is_readable(&self.socket)
    }

    /// The other end closed and everything it said was read.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The other end closed, whether or not everything it said was read.
    pub fn is_abandoned(&self) -> bool {
        let mut ready = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let seen = poll(&mut ready, Some(&now));
        seen.is_ok_and(|_| ready[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether a read would not wait.
pub fn is_readable(descriptor: &impl AsFd) -> bool {
    let mut ready = [PollFd::new(descriptor, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut ready, Some(&now)).is_ok_and(|ready| ready > 0)
}
