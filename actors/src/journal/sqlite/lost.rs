//! What a damaged log took.
//!
//! SQLite ends a log at the first page that does not fit its checksum and drops what follows without a word, committed or
//! not. How far the log went stands beside it, in the index that its users share (`-shm`); it is written after every
//! commit and costs no sync of ours. So it outlives every process, but not always the machine: after a power cut the index
//! may be gone or old, and then nothing is noticed here.
//!
//! The layout of both files is described in SQLite's file format documentation (sections 4 and "WAL-Index File Format").

use super::open::companion;
use std::io;
use std::path::Path;

const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;
/// A log is no longer than the journal's limit and what one large transaction adds; a larger one is not looked at.
const LOG_BYTES_MAX: u64 = 256 << 20;

/// Commits that were on disk and are not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the last {commits} writes to the journal are lost, because its log was damaged")]
pub struct LostCommits {
    pub commits: u64,
}

/// What the index says of the log.
struct Index {
    /// The last frame that was committed.
    last: u64,
    /// So many frames stand in the journal's file already.
    in_file: u64,
    salt: [u8; 8],
}

/// Looks for what will be lost when nobody has the journal open and SQLite reads its log. Reads only.
pub(super) fn find_lost_commits(journal: &Path) -> io::Result<Option<LostCommits>> {
    let Some(index) = read_index(&companion(journal, "-shm"))? else {
        return Ok(None);
    };
    if index.last <= index.in_file {
        return Ok(None);
    }
    let log = read_log(&companion(journal, "-wal"))?;
    let (readable, commits) = walk(&log, &index);
    let is_whole = readable.max(index.in_file) >= index.last;
    Ok((!is_whole).then_some(LostCommits {
        commits: commits.max(1),
    }))
}

fn read_log(log: &Path) -> io::Result<Vec<u8>> {
    match std::fs::metadata(log) {
        Ok(metadata) if metadata.len() > LOG_BYTES_MAX => Err(io::ErrorKind::FileTooLarge.into()),
        Ok(_) => std::fs::read(log),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// None where there is no index, or one that was not finished.
fn read_index(index: &Path) -> io::Result<Option<Index>> {
    let bytes = match std::fs::read(index) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (Some(header), Some(copy)) = (bytes.get(0..48), bytes.get(48..96)) else {
        return Ok(None);
    };
    let is_whole = header == copy && header[12] == 1;
    let native = |from: usize| {
        let four = bytes.get(from..from + 4)?;
        Some(u32::from_ne_bytes(four.try_into().ok()?))
    };
    let (Some(last), Some(in_file), true) = (native(16), native(96), is_whole) else {
        return Ok(None);
    };
    let mut salt = [0; 8];
    salt.copy_from_slice(&header[32..40]);
    Ok(Some(Index {
        last: last.into(),
        in_file: in_file.into(),
        salt,
    }))
}

/// How many frames SQLite will read, and how many commits are behind them.
fn walk(log: &[u8], index: &Index) -> (u64, u64) {
    let Some(reader) = LogReader::begin(log, index) else {
        return (0, 0);
    };
    let mut sum = reader.sum;
    let (mut readable, mut lost, mut broken) = (0, 0, false);
    for frame in reader
        .frames
        .clone()
        .take(usize::try_from(index.last).unwrap_or(usize::MAX))
    {
        broken |= !reader.fits(frame, &mut sum);
        let is_commit = frame[4..8] != [0; 4];
        readable += u64::from(!broken);
        lost += u64::from(broken && is_commit);
    }
    (readable, lost)
}

struct LogReader<'a> {
    frames: std::slice::ChunksExact<'a, u8>,
    salt: [u8; 8],
    sum: [u32; 2],
    is_big: bool,
}

impl<'a> LogReader<'a> {
    /// None for a log that is not the one of the index.
    fn begin(log: &'a [u8], index: &Index) -> Option<Self> {
        let header = log.get(..LOG_HEADER)?;
        let magic = big(header, 0)?;
        if magic & !1 != MAGIC {
            return None;
        }
        let is_big = magic & 1 == 1;
        let sum = add(&header[..24], [0, 0], is_big);
        let fits = [big(header, 24)?, big(header, 28)?] == sum && header[16..24] == index.salt;
        let page = usize::try_from(big(header, 8)?).ok()?;
        let frames = log.get(LOG_HEADER..)?.chunks_exact(FRAME_HEADER + page);
        fits.then_some(Self {
            frames,
            salt: index.salt,
            sum,
            is_big,
        })
    }

    fn fits(&self, frame: &[u8], sum: &mut [u32; 2]) -> bool {
        *sum = add(&frame[..8], *sum, self.is_big);
        *sum = add(&frame[FRAME_HEADER..], *sum, self.is_big);
        frame[8..16] == self.salt && [big(frame, 16), big(frame, 20)] == [Some(sum[0]), Some(sum[1])]
    }
}

fn big(bytes: &[u8], from: usize) -> Option<u32> {
    let four = bytes.get(from..from + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// SQLite's checksum: two sums that feed each other, over pairs of words in the log's own order of bytes.
fn add(bytes: &[u8], sum: [u32; 2], is_big: bool) -> [u32; 2] {
    let word = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        match is_big {
            true => u32::from_be_bytes(four),
            false => u32::from_le_bytes(four),
        }
    };
    bytes.chunks_exact(8).fold(sum, |[first, second], pair| {
        let first = first.wrapping_add(word(&pair[..4])).wrapping_add(second);
        let second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
        [first, second]
    })
}
