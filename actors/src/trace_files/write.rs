//! Writing a trace: whole or not at all, under a name of its own.

use super::{TraceFiles, Unreadable};
use impresario_policies::trace_file::{
    Trace, files_of_skill, numbered_trace_file_name, parse_trace_file_name,
};
use std::io::{self, Write};
use tempfile::NamedTempFile;

/// So many traces of one skill in one millisecond.
const NUMBERS_MAX: u32 = 1_000;

impl TraceFiles {
    /// Keeps a trace in place of an earlier one of the same run; another run's is never overwritten.
    pub fn keep(&self, trace: &Trace) -> io::Result<String> {
        let mut file = NamedTempFile::with_prefix_in(".trace-", &self.directory)?;
        file.write_all(trace.to_file_text().as_bytes())?;
        if let Some(name) = self.earlier_of_same_run(trace)? {
            file.persist(self.directory.join(&name))?;
            return Ok(name);
        }
        for number in 1..=NUMBERS_MAX {
            let name = numbered_trace_file_name(&trace.skill_name, trace.timestamp as u64, number);
            match file.persist_noclobber(self.directory.join(&name)) {
                Ok(_) => return Ok(name),
                Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => file = taken.file,
                Err(failed) => return Err(failed.error),
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// A run whose end was cut off ends again, and leaves one trace. Only files since its beginning can be its own.
    fn earlier_of_same_run(&self, trace: &Trace) -> io::Result<Option<String>> {
        let Some(ours) = &trace.ours else {
            return Ok(None);
        };
        let names = self.names()?;
        let names = names.iter().map(String::as_str).collect::<Vec<_>>();
        let since = |name: &&str| {
            let time = parse_trace_file_name(name).map_or(0, |(_, time)| time);
            time as f64 >= ours.started_at
        };
        let of_run = |name: &str| {
            let read: Result<Trace, Unreadable> = self.one(name);
            read.is_ok_and(|found| found.ours.is_some_and(|found| found.run_id == ours.run_id))
        };
        let candidates = files_of_skill(&trace.skill_name, &names);
        let mut candidates = candidates.into_iter().take_while(since);
        Ok(candidates.find(|name| of_run(name)).map(str::to_string))
    }
}
