//! The `local` context engine: keeps an index of the workspace in the user's cache and ranks its passages. No network, no
//! model.

mod index;
mod search;
#[cfg(test)]
mod tests;
mod walk;

pub use walk::{SearchLimits, read_workspace, walk_workspace};

use crate::derived::{Fault, forget_unused, name_of, open_file, open_in_memory, remove};
use crate::gateways::{ContextEngine, RetrievalError, RetrievalRequest, Retrieved};
use async_trait::async_trait;
use impresario_policies::domain::Proof;
use impresario_policies::retrieval::left_out::describe_coverage;
use index::LAYOUT;
use rusqlite::Connection;
use search::Answer;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::time::timeout;
use walk::Pace;

/// Indexes of so many workspaces are kept, the ones used last …
pub const INDEXES_MAX: usize = 24;
/// … as long as they are no larger together.
pub const INDEXES_BYTES_MAX: u64 = 4_000_000_000;

/// So long an index is worked at in the background before the next question has to ask for more.
const BACKGROUND_MAX: Duration = Duration::from_secs(600);

const GOES_ON: &str = "Indexing goes on in the background.";
const NOT_ALL: &str = "The workspace is larger than can be looked through at once, or a part of it cannot be read: not \
                       everything was seen.";

/// Whether long computations leave the thread of the actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeavyWork {
    /// On the pool of blocking threads, so that no handler computes for long.
    #[default]
    Aside,
    /// Where it is asked for: a simulation has one thread.
    Inline,
}

impl HeavyWork {
    /// Does the work in the chosen place; an error is the panic of the work.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        match self {
            Self::Inline => Ok(work()),
            Self::Aside => tokio::task::spawn_blocking(work)
                .await
                .map_err(|error| error.to_string()),
        }
    }
}

/// Searches the files of the workspace itself.
#[derive(Debug, Clone)]
pub struct LocalContextEngine {
    limits: SearchLimits,
    heavy_work: HeavyWork,
    answer_within: Duration,
    indexes: Indexes,
}

impl LocalContextEngine {
    /// An engine with its limits, and the directory where it keeps its indexes; in memory without one.
    pub fn new(limits: SearchLimits, heavy_work: HeavyWork, directory: Option<PathBuf>) -> Self {
        Self {
            answer_within: limits.within * 2,
            limits,
            heavy_work,
            indexes: Indexes {
                goes_on: heavy_work == HeavyWork::Aside,
                ..Indexes::new(directory)
            },
        }
    }

    /// One that answers within this time: two thirds of it for reading, what is left for ranking what was read.
    pub fn within(answer_within: Duration, directory: Option<PathBuf>) -> Self {
        let limits = SearchLimits {
            within: answer_within * 2 / 3,
            ..SearchLimits::default()
        };
        Self {
            answer_within,
            ..Self::new(limits, HeavyWork::default(), directory)
        }
    }
}

#[async_trait(?Send)]
impl ContextEngine for LocalContextEngine {
    fn name(&self) -> &str {
        "local"
    }

    async fn retrieve(&self, request: RetrievalRequest) -> Result<Retrieved, RetrievalError> {
        let (limits, indexes) = (self.limits.clone(), self.indexes.clone());
        // Whoever stops waiting drops this, and the search ends at its next file.
        let waiting = Arc::new(());
        let waited_for = Arc::downgrade(&waiting);
        let found = self.heavy_work.run(move || {
            let wanted = || waited_for.strong_count() > 0;
            indexes.answer(&request, &Pace::begin(&limits, &wanted))
        });
        let unavailable = |why| RetrievalError::Unavailable {
            engine: self.name().to_string(),
            why,
        };
        match timeout(self.answer_within, found).await {
            Ok(Ok(results)) => results,
            Ok(Err(why)) => Err(unavailable(why)),
            Err(_) => Err(unavailable(format!(
                "no answer within {} s",
                self.answer_within.as_secs_f64()
            ))),
        }
    }

    async fn close(&self, _grace: Duration) -> Option<Proof> {
        None
    }
}

/// Finds the passages of a workspace that answer a question, best first, with an index in this directory.
pub fn search_workspace(
    request: &RetrievalRequest,
    limits: &SearchLimits,
    directory: Option<PathBuf>,
) -> Result<Retrieved, RetrievalError> {
    Indexes::new(directory).answer(request, &Pace::begin(limits, &|| true))
}

#[derive(Debug, Clone)]
struct Indexes {
    directory: Option<PathBuf>,
    /// What stands in for a file that cannot be written, for as long as the engine lives.
    in_memory: Arc<Mutex<Option<InMemory>>>,
    /// What was cut off goes on in the background.
    goes_on: bool,
    /// The one thread that does so; it ends at its next file when this is gone.
    background: Arc<Mutex<Option<JoinHandle<()>>>>,
}

#[derive(Debug)]
struct InMemory {
    connection: Connection,
    of: PathBuf,
}

impl Indexes {
    fn new(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            in_memory: Arc::default(),
            goes_on: false,
            background: Arc::default(),
        }
    }

    /// Goes on with an index whose time was over, unless that is under way; whether it is.
    fn go_on(&self, file: &Path, workspace: &Path, limits: &SearchLimits) -> bool {
        let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.goes_on || background.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return self.goes_on;
        }
        let engine = Arc::downgrade(&self.background);
        let (file, workspace) = (file.to_path_buf(), workspace.to_path_buf());
        let limits = SearchLimits {
            within: BACKGROUND_MAX,
            ..limits.clone()
        };
        let thread = std::thread::Builder::new().name("search-index".to_string());
        let started = thread.spawn(move || {
            let wanted = || engine.strong_count() > 0;
            if let Err(why) = refresh_file(&file, &workspace, &Pace::begin(&limits, &wanted)) {
                tracing::warn!(why, "the index of the workspace could not be finished");
            }
        });
        *background = started.ok();
        background.is_some()
    }

    fn answer(&self, request: &RetrievalRequest, pace: &Pace<'_>) -> Result<Retrieved, RetrievalError> {
        let mut remark = None;
        let root = request
            .workspace
            .canonicalize()
            .unwrap_or_else(|_| request.workspace.clone());
        if let Some(directory) = self.directory.as_ref().filter(|_| !self.is_in_memory(&root)) {
            let file = directory.join(format!("{}.sqlite", name_of(&root)));
            let why = match answer_from(&file, request, pace)? {
                Ok(mut answer) => {
                    if answer.is_cut_off && self.go_on(&file, &request.workspace, pace.limits) {
                        answer.remarks.push(GOES_ON.to_string());
                    }
                    return Ok(retrieved(answer));
                }
                // Whoever damaged it, it is made anew, once.
                Err(Fault::Damaged) => match remove(&file).map(|()| answer_from(&file, request, pace)) {
                    Ok(again) => match again? {
                        Ok(answer) => return Ok(retrieved(answer)),
                        Err(Fault::Unwritable(why) | Fault::Other(why)) => why,
                        Err(Fault::Damaged) => "damaged again".to_string(),
                    },
                    Err(error) => error.to_string(),
                },
                Err(Fault::Unwritable(why) | Fault::Other(why)) => why,
            };
            tracing::warn!(
                why,
                "the index of the workspace cannot be kept; searching in memory"
            );
            remark = Some(format!(
                "The index cannot be kept, so that this search was in memory ({why})."
            ));
        }
        self.answer_in_memory(root, request, pace, remark)
    }

    fn is_in_memory(&self, root: &Path) -> bool {
        let in_memory = self.in_memory.lock().unwrap_or_else(PoisonError::into_inner);
        in_memory.as_ref().is_some_and(|index| index.of == root)
    }

    fn answer_in_memory(
        &self,
        root: PathBuf,
        request: &RetrievalRequest,
        pace: &Pace<'_>,
        remark: Option<String>,
    ) -> Result<Retrieved, RetrievalError> {
        let unavailable = |why| RetrievalError::Unavailable {
            engine: "local".to_string(),
            why,
        };
        let mut in_memory = self.in_memory.lock().unwrap_or_else(PoisonError::into_inner);
        if in_memory.as_ref().is_none_or(|index| index.of != root) {
            let connection = open_in_memory(&LAYOUT).map_err(unavailable)?;
            *in_memory = Some(InMemory { connection, of: root });
        }
        let Some(index) = in_memory.as_mut() else {
            return Err(unavailable("no index".to_string()));
        };
        let answered = refresh_and_search(
            &mut index.connection,
            request,
            pace,
            pace.limits.bytes_in_memory_max,
        )?;
        match answered {
            Ok(mut answer) => {
                answer.remarks.extend(remark);
                Ok(retrieved(answer))
            }
            Err(error) => {
                *in_memory = None;
                Err(unavailable(error.to_string()))
            }
        }
    }
}

fn answer_from(
    file: &Path,
    request: &RetrievalRequest,
    pace: &Pace<'_>,
) -> Result<Result<Answer, Fault>, RetrievalError> {
    let mut connection = match open_file(file, &LAYOUT) {
        Ok(connection) => connection,
        Err(why) => return Ok(Err(Fault::Unwritable(why))),
    };
    forget_unused(file, INDEXES_MAX, INDEXES_BYTES_MAX);
    let answered = refresh_and_search(&mut connection, request, pace, pace.limits.bytes_max)?;
    Ok(answered.map_err(Fault::from))
}

/// Brings an index up to date, without a question.
fn refresh_file(file: &Path, workspace: &Path, pace: &Pace<'_>) -> Result<(), String> {
    let mut connection = open_file(file, &LAYOUT)?;
    let walk = walk::walk(workspace, pace).map_err(|error| error.to_string())?;
    let refreshed = index::refresh(&mut connection, workspace, walk, pace.limits.bytes_max, pace);
    refreshed.map(|_| ()).map_err(|error| error.to_string())
}

/// The outer error is about the workspace, the inner one about the index.
///
/// The question is answered from the index as it is while the workspace is walked: most of the time nothing has changed
/// since, and the answer stands.
fn refresh_and_search(
    connection: &mut Connection,
    request: &RetrievalRequest,
    pace: &Pace<'_>,
    bytes_max: u64,
) -> Result<Result<Answer, rusqlite::Error>, RetrievalError> {
    let version = version_of(connection);
    let (answered, walk) = std::thread::scope(|scope| {
        let walk = scope.spawn(|| walk::walk(&request.workspace, pace));
        let answered = search_for(connection, request);
        (answered, walk.join())
    });
    let walk = walk.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let saw_all = walk.is_complete;
    let coverage = match index::refresh(connection, &request.workspace, walk, bytes_max, pace) {
        Ok(coverage) => coverage,
        Err(error) => return Ok(Err(error)),
    };
    let is_cut_off = pace.is_over();
    // Another runtime may have brought it up to date meanwhile.
    let answered = match coverage.is_as_before && version_of(connection) == version {
        true => answered,
        false => search_for(connection, request),
    };
    Ok(answered.map(|mut answer| {
        answer
            .remarks
            .extend(describe_coverage(coverage.files, &coverage.left_out));
        if !saw_all {
            answer.remarks.push(NOT_ALL.to_string());
        }
        answer.is_cut_off = is_cut_off;
        answer
    }))
}

/// Another number after every change that somebody else made.
fn version_of(connection: &Connection) -> Option<i64> {
    connection
        .pragma_query_value(None, "data_version", |row| row.get(0))
        .ok()
}

fn search_for(connection: &Connection, request: &RetrievalRequest) -> Result<Answer, rusqlite::Error> {
    search::search(
        connection,
        &request.workspace,
        &request.query,
        request.passages_max,
    )
}

fn retrieved(answer: Answer) -> Retrieved {
    Retrieved::Passages {
        passages: answer.passages,
        remarks: answer.remarks,
    }
}
