//! Which services are asked, where they are, and with which keys.

use super::urls::OpenedHosts;
use core::fmt;

/// Who looks on the web, and reads pages first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchProvider {
    /// api.exa.ai; a key is not needed.
    #[default]
    Exa,
    /// api.tavily.com; a key is needed.
    Tavily,
}

impl SearchProvider {
    /// As settings name them.
    pub const WORDS: [&'static str; 2] = ["exa", "tavily"];

    /// The one of this name; the first where there is none.
    pub fn of(word: &str) -> Self {
        match word {
            "tavily" => Self::Tavily,
            _ => Self::Exa,
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exa => "Exa",
            Self::Tavily => "Tavily",
        }
    }

    /// As settings name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exa => "exa",
            Self::Tavily => "tavily",
        }
    }
}

/// A key of a service. It is never shown: not in an error, not in a log, not by `Debug`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServiceKey(String);

impl ServiceKey {
    /// None where nothing but space is given.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_string()))
    }

    /// For the header of a request, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text without this key in it: a service may say again what it was sent.
    pub fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, crate::redact::REDACTED)
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceKey")
    }
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Where it is: scheme, host and, before the paths that it has anyway, a path.
    pub base_url: String,
    /// The key it is asked with.
    pub key: Option<ServiceKey>,
}

impl Service {
    /// The address of something at it.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.trim_end_matches('/'))
    }

    /// Its host, as receipts and texts name it.
    pub fn host(&self) -> &str {
        let behind = self
            .base_url
            .split_once("://")
            .map_or(self.base_url.as_str(), |(_, rest)| rest);
        behind.split(['/', '?', '#']).next().unwrap_or_default()
    }
}

/// Everything the network tools are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Who looks on the web.
    pub provider: SearchProvider,
    pub exa: Service,
    pub tavily: Service,
    /// Documentation of libraries.
    pub context7: Service,
    /// Code on GitHub: an MCP server over streamable HTTP.
    pub code_search: Service,
    /// Hosts that pages are taken from without a look at where they lead. No setting fills this.
    pub opened: OpenedHosts,
}

/// The variable that holds a service's key where the settings hold none.
const VARIABLES: [&str; 3] = ["EXA_API_KEY", "TAVILY_API_KEY", "CONTEXT7_API_KEY"];

impl NetworkSettings {
    /// Takes keys that the settings do not have from the environment.
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let services = [&mut self.exa, &mut self.tavily, &mut self.context7];
        for (service, name) in services.into_iter().zip(VARIABLES) {
            if service.key.is_none() {
                service.key = variable(name).and_then(|value| ServiceKey::read(&value));
            }
        }
        self
    }

    /// Every key there is.
    pub fn keys(&self) -> impl Iterator<Item = &ServiceKey> {
        [&self.exa, &self.tavily, &self.context7, &self.code_search]
            .into_iter()
            .filter_map(|service| service.key.as_ref())
    }
}

/// Why a service cannot be there; none where it can. Plain HTTP may be meant: a gateway of one's own.
pub fn bad_service_url(text: &str) -> Option<&'static str> {
    match url::Url::parse(text) {
        Err(_) => Some("must be an address with http:// or https://"),
        Ok(url) if !["http", "https"].contains(&url.scheme()) => {
            Some("must be an address with http:// or https://")
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            Some("must have no user name and no password in it")
        }
        Ok(url) if url.query().is_some() || url.fragment().is_some() => Some("must end before ? and #"),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Configured;

    #[test]
    fn a_key_is_never_shown() {
        let key = ServiceKey::read(" abc123 ").unwrap();
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "ServiceKey Some(ServiceKey)");
        assert_eq!(key.hide_in("bad key abc123."), "bad key [REDACTED].");
        assert_eq!(ServiceKey::read("  "), None);
    }

    #[test]
    fn a_setting_comes_before_the_environment() {
        let mut settings = Configured::default().network;
        settings.exa.key = ServiceKey::read("set");
        let settings = settings.with_environment(|name| Some(format!("of {name}")));
        let keys: Vec<&str> = settings.keys().map(ServiceKey::expose).collect();
        assert_eq!(keys, ["set", "of TAVILY_API_KEY", "of CONTEXT7_API_KEY"]);
    }

    #[test]
    fn a_service_is_called_by_its_host() {
        let service = Service {
            base_url: "https://gate.example.org:8443/exa/".to_string(),
            key: None,
        };
        assert_eq!(service.host(), "gate.example.org:8443");
        assert_eq!(service.at("/search"), "https://gate.example.org:8443/exa/search");
    }

    #[test]
    fn an_address_of_a_service_is_one_of_the_web_without_a_login() {
        for good in ["https://api.exa.ai", "http://127.0.0.1:8080/exa"] {
            assert_eq!(bad_service_url(good), None);
        }
        for bad in [
            "api.exa.ai",
            "ftp://x",
            "https://u:p@x",
            "https://x?key=1",
            "https://x#a",
            "",
        ] {
            assert!(bad_service_url(bad).is_some(), "{bad}");
        }
    }
}
