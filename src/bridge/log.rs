//! Logs go to a file: stdout belongs to the bridge, stderr to nobody.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tracing_subscriber::EnvFilter;

/// A log above this size is set aside as `bridge.log.1` when the next bridge starts.
const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Sends the logs of this process to `bridge.log` in `directory` and returns its path. Changes process-wide state:
/// only a program of our own calls it. `IMPRESARIO_LOG` sets the filter.
pub fn log_to_file(directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join("bridge.log");
    let file = open_log(&path)?;
    let filter = EnvFilter::try_from_env("IMPRESARIO_LOG")
        .unwrap_or_else(|_unset| EnvFilter::new("info,impresario::events=debug"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(Mutex::new(file));
    // An embedder that has a subscriber already keeps it.
    let _already_set = subscriber.try_init();
    Ok(path)
}

fn open_log(path: &Path) -> io::Result<File> {
    let too_long = fs::metadata(path).is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX);
    if too_long {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
