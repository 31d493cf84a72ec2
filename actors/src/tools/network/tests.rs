//! The tools against servers of this machine that answer as badly as servers do.

mod pages;
mod server;
mod services;

use super::{HttpWeb, LookUp, NameLookUp, NetworkTools};
use crate::context::local::HeavyWork;
use crate::gateways::ToolAnswer;
use impresario_policies::added_tools::AddedTool;
use impresario_policies::network::services::{NetworkSettings, ServiceKey};
use impresario_policies::network::urls::OpenedHosts;
use impresario_policies::settings::Configured;
use serde_json::Value;
use server::Server;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// A key as services give them.
const KEY: &str = "mine-7d1e5b";

/// Every service is this server, and pages may be taken from it.
fn settings(server: &Server) -> NetworkSettings {
    let mut settings = Configured::default().network;
    let services = [
        &mut settings.exa,
        &mut settings.tavily,
        &mut settings.context7,
        &mut settings.code_search,
    ];
    for service in services {
        service.base_url = server.url("");
        service.key = ServiceKey::read(KEY);
    }
    settings.opened = OpenedHosts(vec![server.authority()]);
    settings
}

fn tools(server: &Server) -> NetworkTools {
    NetworkTools::new(settings(server), HeavyWork::default())
}

/// Names lead where the test says, each time one further; the last stays.
#[derive(Default)]
struct Names {
    known: BTreeMap<&'static str, Vec<SocketAddr>>,
    asked: Mutex<Vec<String>>,
}

impl NameLookUp for Names {
    fn look_up(&self, name: String) -> LookUp {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|other| **other == name).count();
        let addresses = self.known.get(name.as_str()).cloned().unwrap_or_default();
        asked.push(name);
        let address = addresses.get(before).or(addresses.last()).copied();
        Box::pin(async move {
            address
                .map(|address| vec![address])
                .ok_or(io::ErrorKind::NotFound.into())
        })
    }
}

fn tools_with(settings: NetworkSettings, names: &Arc<Names>) -> NetworkTools {
    let web = HttpWeb::new(&settings).with_names(names.clone());
    NetworkTools::over(settings, Arc::new(web), HeavyWork::default())
}

async fn call(tools: &NetworkTools, tool: AddedTool, arguments: Value) -> Result<ToolAnswer, String> {
    tools.call(tool, &arguments, &CancellationToken::new()).await
}
