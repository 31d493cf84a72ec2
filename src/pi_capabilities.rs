//! What can be used in a session of the host: its tools and skills and our agents, found by what is wanted.
//!
//! The host says what it has when a session begins; what it is told, and what its prompt shows, is decided here. Whatever
//! goes wrong leaves the host with what it had.

use crate::bridge::wire::{
    CapabilitiesOffer, CapabilitiesTaken, CapabilityCall, CapabilityDone, HostTool, PromptAsk, PromptPlan,
    SeenPrompt, ToolUsed, capability_tools,
};
use crate::capabilities::gather;
use crate::capabilities::loadouts::{change_loadouts, loadouts_file, loadouts_in, write_skill};
use crate::capabilities::servers::ServerLists;
use crate::runtime::{Runtime, lock};
use crate::settings::{Settings, SettingsPlaces};
use crate::skill_files::find_skill;
use crate::skills::SpawnSettings;
use futures_util::stream::{FuturesUnordered, StreamExt};
use impresario_actors::capability_index::CapabilityRequest;
use impresario_actors::gateways::{SystemWallClock, WallClock};
use impresario_actors::messages::session::{ListedScope, ListedSkill, SkillOrder};
use impresario_policies::capability::add::NewSkill;
use impresario_policies::capability::answer::{Line, describe_found};
use impresario_policies::capability::deferral::{active_tools, has_own_search, is_always_there, is_ours};
use impresario_policies::capability::flatten::flatten_parameters;
use impresario_policies::capability::loadout::{LoadoutAsk, LoadoutEdit, Loadouts, read_typed_loadout};
use impresario_policies::capability::promotion::{used_by, within_reach};
use impresario_policies::capability::ranking::Confidence;
use impresario_policies::capability::servers::McpServer;
use impresario_policies::capability::slim::{SECTION, ShownSkill, skills_in, slim_prompt};
use impresario_policies::capability::{Capability, CapabilityKind};
use impresario_policies::delegation_block::delegate_tool_name;
use impresario_policies::domain::SessionId;
use impresario_policies::settings::CapabilitySettings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const HITS: u64 = 8;
const HITS_MAX: u64 = 50;
/// Tools of the host that are looked at.
const TOOLS_MAX: usize = 2_000;

/// The sessions that have offered something.
pub(crate) struct PiCapabilities {
    runtime: Runtime,
    skills: SpawnSettings,
    servers: ServerLists,
    offered: Mutex<BTreeMap<SessionId, Offered>>,
}

/// What is known of a session.
#[derive(Clone, Default)]
struct Offered {
    order: SkillOrder,
    settings: CapabilitySettings,
    tools: Vec<HostTool>,
    /// How many of each kind are in the index.
    counts: BTreeMap<CapabilityKind, usize>,
    activated: Vec<String>,
    /// How it stands with each server that is set, by name.
    servers: BTreeMap<String, ServerState>,
}

/// How it stands with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ServerState {
    Unknown,
    Asked,
    Listed(usize),
    Failed(String),
}

type Done = Result<CapabilityDone, String>;

impl PiCapabilities {
    pub(crate) fn new(runtime: Runtime, skills: SpawnSettings, servers: ServerLists) -> Self {
        Self {
            runtime,
            skills,
            servers,
            offered: Mutex::default(),
        }
    }

    /// Takes what the host has, and says with what the rest is found. Nothing where it is switched off.
    pub(crate) async fn take(
        self: &Arc<Self>,
        order: SkillOrder,
        offer: CapabilitiesOffer,
    ) -> CapabilitiesTaken {
        let session = offer.session.clone();
        let Some(offered) = self.index(order, offer).await else {
            return CapabilitiesTaken::default();
        };
        self.ask_servers(&session, &offered);
        let active = match offered.settings.defer_tools && !has_own_search(&names(&offered.tools)) {
            true => self.deferred(&offered).await,
            false => None,
        };
        CapabilitiesTaken {
            tools: capability_tools(),
            section: SECTION.to_string(),
            block: offered.settings.policy.block().to_string(),
            active,
        }
    }

    /// Asks the servers of which nothing is known yet, beside everything else; what they say is found from then on.
    fn ask_servers(self: &Arc<Self>, session: &SessionId, offered: &Offered) {
        let mut asked: Vec<McpServer> = Vec::new();
        if let Some(known) = lock(&self.offered).get_mut(session) {
            // The host may offer what it has twice at the same time; each server is asked by one of them.
            for server in &offered.settings.servers {
                if let Some(state @ ServerState::Unknown) = known.servers.get_mut(&server.name) {
                    *state = ServerState::Asked;
                    asked.push(server.clone());
                }
            }
        }
        if asked.is_empty() {
            return;
        }
        let (ours, session, place) = (self.clone(), session.clone(), offered.order.workspace.clone());
        tokio::spawn(async move {
            let ask = |server: McpServer| {
                let (ours, place) = (ours.clone(), place.clone());
                async move { (server.name.clone(), ours.servers.ask(server, place).await) }
            };
            let mut asking: FuturesUnordered<_> = asked.into_iter().map(ask).collect();
            while let Some((name, listed)) = asking.next().await {
                let state = match listed {
                    Ok(all) => ServerState::Listed(all.len()),
                    Err(why) => {
                        tracing::warn!(server = name, why, "a server did not list its tools");
                        ServerState::Failed(why)
                    }
                };
                if let Some(known) = lock(&ours.offered).get_mut(&session) {
                    known.servers.insert(name, state);
                }
                if let Ok(known) = ours.of(&session) {
                    ours.index_again(&known, &session).await;
                }
            }
        });
    }

    async fn index_again(&self, known: &Offered, session: &SessionId) -> Option<Offered> {
        let offer = CapabilitiesOffer {
            session: session.clone(),
            tools: known.tools.clone(),
            listed: known.order.listed.clone(),
        };
        self.index(known.order.clone(), offer).await
    }

    async fn index(&self, order: SkillOrder, offer: CapabilitiesOffer) -> Option<Offered> {
        let (session, mut spawn) = (offer.session.clone(), self.skills.clone());
        let lists = self.servers.clone();
        let read = tokio::task::spawn_blocking(move || {
            let places = SettingsPlaces::of(&order.workspace, order.workspace_trusted);
            let configured = Settings::read(&places).configured();
            let settings = configured.capabilities.clone();
            spawn.set(configured);
            let order = SkillOrder {
                listed: offer.listed,
                ..order
            };
            let tools: Vec<HostTool> = offer.tools.into_iter().take(TOOLS_MAX).collect();
            let mut all = gather(&spawn, &order);
            if !has_own_search(&names(&tools)) {
                all.extend(
                    tools
                        .iter()
                        .filter(|tool| is_looked_for(&tool.name))
                        .map(capability_of),
                );
            }
            let mut listed = BTreeMap::new();
            for server in settings.servers.iter().filter(|_| settings.enabled) {
                if let Some(kept) = lists.kept(server) {
                    listed.insert(server.name.clone(), ServerState::Listed(kept.len()));
                    all.extend(kept);
                }
            }
            (all, order, settings, tools, listed)
        });
        let (all, order, settings, tools, listed) = read.await.ok()?;
        if !settings.enabled {
            return None;
        }
        let mut counts = BTreeMap::new();
        for capability in &all {
            *counts.entry(capability.kind).or_default() += 1;
        }
        let indexed = self
            .runtime
            .index_capabilities(order.workspace.clone(), all)
            .await;
        if let Err(why) = indexed {
            tracing::warn!(why, "what can be used is not indexed");
            return None;
        }
        let mut known = lock(&self.offered);
        let before = known.remove(&session).unwrap_or_default();
        let state_of = |name: &String| {
            let known = listed.get(name).or_else(|| before.servers.get(name));
            (name.clone(), known.cloned().unwrap_or(ServerState::Unknown))
        };
        let servers = settings
            .servers
            .iter()
            .map(|server| state_of(&server.name))
            .collect();
        let offered = Offered {
            order,
            settings,
            tools,
            counts,
            servers,
            ..before
        };
        known.insert(session, offered.clone());
        Some(offered)
    }

    /// The tools that stay active; none where all do.
    async fn deferred(&self, offered: &Offered) -> Option<Vec<String>> {
        let active: Vec<String> = offered
            .tools
            .iter()
            .filter(|tool| tool.active)
            .map(|tool| tool.name.clone())
            .collect();
        let indexed: Vec<String> = active
            .iter()
            .filter(|name| is_looked_for(name))
            .cloned()
            .collect();
        let left = active_tools(&active, &indexed, &self.within_reach(offered).await);
        (left != active).then_some(left)
    }

    async fn within_reach(&self, offered: &Offered) -> Vec<String> {
        let shown = self
            .loadouts()
            .await
            .ok()
            .and_then(|loadouts| loadouts.shown())
            .unwrap_or_default();
        let uses = self
            .runtime
            .capability_uses(offered.order.workspace.clone())
            .await
            .unwrap_or_default();
        within_reach(
            &shown,
            &offered.activated,
            &uses,
            offered.settings.promotion_ceiling,
        )
    }

    async fn loadouts(&self) -> Result<Loadouts, String> {
        let file = self.loadouts_file();
        aside(move || loadouts_in(file.as_deref()).map_err(|error| error.to_string())).await
    }

    fn loadouts_file(&self) -> Option<PathBuf> {
        loadouts_file(self.skills.home.as_deref())
    }

    fn of(&self, session: &SessionId) -> Result<Offered, String> {
        lock(&self.offered).get(session).cloned().ok_or_else(|| {
            "The index of what can be used is switched off: capabilities.enabled in the settings switches it on.".to_string()
        })
    }

    /// Does what a tool or a command asks for. What cannot be done says why.
    pub(crate) async fn call(self: &Arc<Self>, call: CapabilityCall) -> CapabilityDone {
        let done = match self.of(&call.session) {
            Ok(offered) => self.done(&offered, &call).await,
            Err(why) => Err(why),
        };
        done.unwrap_or_else(|why| CapabilityDone {
            text: why,
            failed: true,
            activate: None,
        })
    }

    async fn done(self: &Arc<Self>, offered: &Offered, call: &CapabilityCall) -> Done {
        match call.tool.as_str() {
            "capability_search" => self.search(offered, call).await,
            "capability_activate" => self.activate(offered, call).await,
            "capability_add" => self.add(offered, call).await,
            "loadout" => self.loadout(offered, call).await,
            "capability_status" => self.status(offered, call.seen.as_ref()).await.map(said),
            "cap-reindex" => {
                self.forget_servers(offered, &call.session).await;
                let done = self.reindex(offered, call).await;
                self.ask_servers(&call.session, &self.of(&call.session)?);
                done
            }
            other => Err(format!("There is no tool called {other:?} here.")),
        }
    }

    async fn search(&self, offered: &Offered, call: &CapabilityCall) -> Done {
        let query = argument(call, "query")
            .or_else(|| argument(call, "typed"))
            .ok_or("Say what you want to do, in a few words (`query`).")?;
        let kind = match argument(call, "kind") {
            None => None,
            Some(word) if word == "all" => None,
            Some(word) => Some(CapabilityKind::read(&word).ok_or("`kind` is skill, agent, tool or mcp.")?),
        };
        let wanted = call.arguments.get("k").and_then(Value::as_u64).unwrap_or(HITS);
        let request = CapabilityRequest {
            query,
            kind,
            hits_max: wanted.clamp(1, HITS_MAX) as usize,
        };
        let found = self
            .runtime
            .search_capabilities(offered.order.workspace.clone(), request)
            .await?;
        let lines: Vec<Line<'_>> = found
            .hits
            .iter()
            .map(|hit| Line {
                id: &hit.capability.id,
                summary: &hit.capability.summary,
                score: hit.score,
            })
            .collect();
        Ok(said(describe_found(&lines, found.confidence)))
    }

    async fn activate(&self, offered: &Offered, call: &CapabilityCall) -> Done {
        let id = argument(call, "id")
            .or_else(|| argument(call, "typed"))
            .ok_or("Say in `id` what to use.")?;
        let workspace = offered.order.workspace.clone();
        let found = self.runtime.find_capability(workspace, id.clone()).await?;
        let Some(capability) = found else {
            return Err(format!(
                "Nothing has the id {id:?}. `capability_search` says which there are."
            ));
        };
        let done = match capability.kind {
            CapabilityKind::Skill => self.skill(offered, &capability).await?,
            CapabilityKind::Tool => tool(offered, call, &capability)?,
            CapabilityKind::Agent => agent(offered, &capability)?,
            CapabilityKind::Mcp => {
                return Err(format!(
                    "{id} is a tool of the MCP server {:?}, which this host cannot call: it is known by its description only. \
                     Tell the user that it would fit, or do the work with what you have.",
                    capability.source
                ));
            }
        };
        if let Some(known) = lock(&self.offered).get_mut(&call.session)
            && !known.activated.contains(&id)
        {
            known.activated.push(id.clone());
        }
        self.used(offered, id).await;
        Ok(done)
    }

    async fn skill(&self, offered: &Offered, capability: &Capability) -> Done {
        let (spawn, name) = (self.skills.clone(), capability.name.clone());
        let order = SkillOrder {
            name,
            hosts_form: false,
            ..offered.order.clone()
        };
        let found = aside(move || find_skill(&spawn, &order).map_err(|reason| reason.message)).await?;
        Ok(said(format!(
            "# {}\n\nWhat it names relative to itself lies in {}.\n\n{}",
            capability.name,
            found.directory.display(),
            found.skill.instructions
        )))
    }

    async fn used(&self, offered: &Offered, id: String) {
        let at = SystemWallClock.now();
        if let Err(why) = self
            .runtime
            .capability_used(offered.order.workspace.clone(), id, at)
            .await
        {
            tracing::warn!(why, "what was used is not counted");
        }
    }

    async fn add(&self, offered: &Offered, call: &CapabilityCall) -> Done {
        let given = |name| argument(call, name).unwrap_or_default();
        let skill = NewSkill {
            name: given("name"),
            description: given("description"),
            body: given("body"),
        };
        let request = CapabilityRequest {
            query: format!("{} {}", skill.name, skill.description),
            kind: Some(CapabilityKind::Skill),
            hits_max: 1,
        };
        let alike = self
            .runtime
            .search_capabilities(offered.order.workspace.clone(), request)
            .await?;
        let directory = self
            .skills
            .pis_directory()
            .ok_or("Nobody knows where your skills lie: set HOME.")?
            .join("skills");
        let (name, description) = (skill.name.clone(), skill.description.clone());
        let file =
            aside(move || write_skill(&directory, &skill).map_err(|error| format!("Not written: {error}.")))
                .await?;
        // The host looks for skills when a session begins, and may look elsewhere than we do.
        let mut more = offered.clone();
        more.order.listed.push(ListedSkill {
            name,
            description,
            file: file.clone(),
            scope: ListedScope::User,
            base: None,
        });
        self.reindex(&more, call).await?;
        let mut text = format!("Written: {}. It is found from now on.", file.display());
        if let Some(hit) = alike
            .hits
            .first()
            .filter(|_| alike.confidence == Confidence::High)
        {
            text.push_str(&format!(" {} says much the same.", hit.capability.id));
        }
        Ok(said(text))
    }

    /// What they said is not kept any more, so that each is asked again.
    async fn forget_servers(&self, offered: &Offered, session: &SessionId) {
        let (lists, servers) = (self.servers.clone(), offered.settings.servers.clone());
        let _ = aside(move || {
            servers.iter().for_each(|server| lists.forget(server));
            Ok(())
        })
        .await;
        if let Some(known) = lock(&self.offered).get_mut(session) {
            known.servers.clear();
        }
    }

    async fn reindex(&self, offered: &Offered, call: &CapabilityCall) -> Done {
        let again = self.index_again(offered, &call.session).await;
        let again = again.ok_or("The index could not be made; the runtime's log says why.")?;
        Ok(said(format!("Indexed: {}.", counted(&again.counts))))
    }

    async fn loadout(&self, offered: &Offered, call: &CapabilityCall) -> Done {
        let asked = match call.arguments.get("typed").and_then(Value::as_str) {
            Some(typed) => read_typed_loadout(typed)?,
            None => asked_of(call)?,
        };
        let edit = match asked {
            LoadoutAsk::List => None,
            LoadoutAsk::Edit(edit) => Some(edit),
            LoadoutAsk::Promote(id) => {
                let active = self
                    .loadouts()
                    .await?
                    .active
                    .ok_or("No loadout is active: create one and activate it first.")?;
                Some(LoadoutEdit::Add { name: active, id })
            }
        };
        if let Some(LoadoutEdit::Add { id, .. }) = &edit {
            let found = self
                .runtime
                .find_capability(offered.order.workspace.clone(), id.clone())
                .await?;
            if found.is_none() {
                return Err(format!(
                    "Nothing has the id {id:?}. `capability_search` says which there are."
                ));
            }
        }
        let file = self.loadouts_file();
        let loadouts = aside(move || {
            let changed = match &edit {
                Some(edit) => change_loadouts(file.as_deref(), edit),
                None => loadouts_in(file.as_deref()),
            };
            changed.map_err(|error| format!("Not done: {error}."))
        })
        .await?;
        Ok(said(loadouts_text(&loadouts)))
    }

    async fn status(&self, offered: &Offered, seen: Option<&SeenPrompt>) -> Result<String, String> {
        let (loadouts, said_of_them) = match self.loadouts().await {
            Ok(loadouts) => {
                let text = loadouts_text(&loadouts);
                (loadouts, text)
            }
            Err(why) => (Loadouts::default(), format!("Everything is shown: {why}.")),
        };
        let uses = self
            .runtime
            .capability_uses(offered.order.workspace.clone())
            .await?;
        let shown = loadouts.shown().unwrap_or_default();
        let near = within_reach(&shown, &[], &uses, offered.settings.promotion_ceiling);
        let promoted = near.get(shown.len()..).unwrap_or_default();
        let mut lines = vec![
            format!("In the index: {}.", counted(&offered.counts)),
            said_of_them,
            format!("The last prompt showed: {}.", shown_by(seen)),
            format!("Activated in this session: {}.", listed(&offered.activated)),
            format!("Used last: {}.", listed(promoted)),
        ];
        lines.extend(offered.servers.iter().map(|(name, state)| match state {
            ServerState::Unknown | ServerState::Asked => {
                format!("MCP server {name}: is asked for its tools.")
            }
            ServerState::Listed(count) => format!("MCP server {name}: {}.", counted_tools(*count)),
            ServerState::Failed(why) => format!("MCP server {name}: none of its tools is found, for {why}."),
        }));
        Ok(lines.join("\n"))
    }

    /// Which skills the prompt shows. Nothing where it is not clear.
    pub(crate) async fn prompt(&self, asked: PromptAsk) -> PromptPlan {
        if self.of(&asked.session).is_err() {
            return PromptPlan::default();
        }
        match self.loadouts().await {
            Ok(loadouts) => {
                let plan = loadouts.shown().and_then(|shown| plan_of(&asked, &shown));
                plan.unwrap_or_default()
            }
            Err(why) => PromptPlan {
                problem: Some(format!("All skills are shown: {why}.")),
                ..PromptPlan::default()
            },
        }
    }

    /// Counts what a call of a tool uses.
    pub(crate) async fn tool_used(&self, used: ToolUsed) {
        let Ok(offered) = self.of(&used.session) else {
            return;
        };
        let is_kept_apart = !is_looked_for(&used.tool);
        if let Some(id) = used_by(&used.tool, used.path.as_deref(), is_kept_apart) {
            self.used(&offered, id).await;
        }
    }
}

/// The plan for these ids; none where all skills are shown anyway, or where the prompt is not clear.
fn plan_of(asked: &PromptAsk, shown: &[String]) -> Option<PromptPlan> {
    let is_shown = |name: &str| shown.iter().any(|id| id.strip_prefix("skill:") == Some(name));
    let skills: Vec<ShownSkill> = asked
        .skills
        .iter()
        .filter(|skill| is_shown(&skill.name))
        .map(|skill| ShownSkill {
            name: skill.name.clone(),
            summary: skill.description.clone(),
            file: skill.file.clone(),
        })
        .collect();
    if skills.len() == asked.skills.len() {
        return None;
    }
    let prompt = match &asked.prompt {
        Some(prompt) => Some(slim_prompt(prompt, &skills)?),
        None => None,
    };
    Some(PromptPlan {
        shown: Some(skills.into_iter().map(|skill| skill.name).collect()),
        prompt,
        problem: None,
    })
}

fn tool(offered: &Offered, call: &CapabilityCall, capability: &Capability) -> Done {
    let name = &capability.activation;
    if !offered.tools.iter().any(|tool| tool.name == *name) {
        return Err(format!("The host has no tool called {name:?} any more."));
    }
    // Some hosts offer it within the turn, others from the next one on.
    let when = match call.active.contains(name) {
        true => "is active already.",
        false => "is active now. Where you cannot call it yet, you can with the user's next message.",
    };
    let mut text = format!("The tool {name} {when} {}", capability.summary);
    if !capability.params.is_empty() {
        text.push_str(&format!("\nIt takes: {}", capability.params));
    }
    Ok(CapabilityDone {
        text,
        failed: false,
        activate: Some(name.clone()),
    })
}

fn agent(offered: &Offered, capability: &Capability) -> Done {
    let name = delegate_tool_name(&capability.name);
    match offered.tools.iter().any(|tool| tool.name == name) {
        true => Ok(CapabilityDone {
            text: format!(
                "Ask {} with the tool {name}. {}",
                capability.name, capability.summary
            ),
            failed: false,
            activate: Some(name),
        }),
        false => Err(format!(
            "{} is an agent, and the main agent asks none here (agents.enabled). A person can: impresario run {} \"…\"",
            capability.name, capability.name
        )),
    }
}

fn asked_of(call: &CapabilityCall) -> Result<LoadoutAsk, String> {
    let action = argument(call, "action").ok_or("Say in `action` what to do.")?;
    let name = || argument(call, "name").ok_or(format!("{action} needs `name`."));
    let id = || argument(call, "capability").ok_or(format!("{action} needs `capability`, an id."));
    Ok(LoadoutAsk::Edit(match action.as_str() {
        "list" => return Ok(LoadoutAsk::List),
        "promote" => return Ok(LoadoutAsk::Promote(id()?)),
        "create" => LoadoutEdit::Create {
            name: name()?,
            description: argument(call, "description").unwrap_or_default(),
        },
        "update" => LoadoutEdit::Update {
            name: name()?,
            rename: argument(call, "new_name"),
            description: argument(call, "description"),
        },
        "delete" => LoadoutEdit::Delete { name: name()? },
        "activate" => LoadoutEdit::Activate { name: name()? },
        "deactivate" => LoadoutEdit::Deactivate,
        "add" => LoadoutEdit::Add {
            name: name()?,
            id: id()?,
        },
        "remove" => LoadoutEdit::Remove {
            name: name()?,
            id: id()?,
        },
        other => return Err(format!("{other:?} is nothing that can be done with loadouts.")),
    }))
}

fn argument(call: &CapabilityCall, name: &str) -> Option<String> {
    let text = call.arguments.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_string())
}

fn said(text: String) -> CapabilityDone {
    CapabilityDone {
        text,
        failed: false,
        activate: None,
    }
}

fn names(tools: &[HostTool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// Whether a tool is in the index: our own stand for agents, which are there themselves.
fn is_looked_for(tool: &str) -> bool {
    !is_always_there(tool) && !is_ours(tool)
}

fn capability_of(tool: &HostTool) -> Capability {
    Capability {
        id: format!("tool:pi:{}", tool.name),
        kind: CapabilityKind::Tool,
        source: "pi".to_string(),
        name: tool.name.clone(),
        summary: tool.description.clone(),
        params: flatten_parameters(&tool.parameters),
        activation: tool.name.clone(),
    }
}

fn counted(counts: &BTreeMap<CapabilityKind, usize>) -> String {
    let each = counts
        .iter()
        .map(|(kind, count)| format!("{count} {}", called(*kind, *count)));
    let all: Vec<String> = each.collect();
    if all.is_empty() {
        "nothing".to_string()
    } else {
        all.join(", ")
    }
}

fn called(kind: CapabilityKind, count: usize) -> &'static str {
    match (kind, count) {
        (CapabilityKind::Skill, 1) => "skill",
        (CapabilityKind::Skill, _) => "skills",
        (CapabilityKind::Tool, 1) => "tool",
        (CapabilityKind::Tool, _) => "tools",
        (CapabilityKind::Mcp, 1) => "tool of an MCP server",
        (CapabilityKind::Mcp, _) => "tools of MCP servers",
        (CapabilityKind::Agent, 1) => "agent",
        (CapabilityKind::Agent, _) => "agents",
    }
}

fn counted_tools(count: usize) -> String {
    format!("{count} {}", called(CapabilityKind::Tool, count))
}

/// What stands in a prompt that was sent, whatever was meant to.
fn shown_by(seen: Option<&SeenPrompt>) -> String {
    let Some(SeenPrompt { text, skills }) = seen else {
        return "no prompt was made yet".to_string();
    };
    let shown = skills_in(text, skills);
    match shown.len() {
        0 => format!("none of {} skills", skills.len()),
        all if all == skills.len() => format!("all {all} skills"),
        some => format!("{some} of {} skills: {}", skills.len(), shown.join(", ")),
    }
}

fn listed(ids: &[String]) -> String {
    if ids.is_empty() {
        "nothing".to_string()
    } else {
        ids.join(", ")
    }
}

fn loadouts_text(loadouts: &Loadouts) -> String {
    let active = loadouts.active.as_deref();
    let mut text = match active.map(|active| (active, loadouts.find(active))) {
        Some((_, Some(active))) => format!("Active loadout: {}.", active.name),
        Some((name, None)) => {
            format!(
                "The file says that {name:?} is active, and has no loadout of this name: everything is shown."
            )
        }
        None => "No loadout is active: everything is shown.".to_string(),
    };
    let shows_nothing = |shown: &[String]| {
        !shown
            .iter()
            .any(|id| CapabilityKind::of_id(id) == Some(CapabilityKind::Skill))
    };
    if loadouts.shown().is_some_and(|shown| shows_nothing(&shown)) {
        text.push_str(" It has no skill yet, so the prompt shows none; `promote` or `add` puts one in.");
    }
    for loadout in &loadouts.all {
        let mark = if active == Some(loadout.name.as_str()) {
            "*"
        } else {
            "-"
        };
        text.push_str(&format!("\n{mark} {}", loadout.name));
        if !loadout.description.is_empty() {
            text.push_str(&format!(" — {}", loadout.description));
        }
        text.push_str(&format!(": {}", listed(&loadout.ids)));
    }
    if !loadouts.core.is_empty() {
        text.push_str(&format!("\nAlways: {}", listed(&loadouts.core)));
    }
    text
}

/// Files are read and written beside the bridge, which goes on meanwhile.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| error.to_string())?
}
