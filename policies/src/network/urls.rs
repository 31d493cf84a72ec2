//! Which addresses of pages may be asked for?

use super::addresses::{Reach, closed_name, decide_reach};
use super::limits::URL_BYTES_MAX;
use core::fmt;
use core::net::IpAddr;
use url::{Host, Url};

/// The address of a page that may be asked for, as far as its words say: what its name leads to is another question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageUrl(Url);

/// A page that stands in for the internet: this authority is asked as it is written, wherever it leads.
///
/// Only programs give it, for servers of their own; no setting does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenedHosts(pub Vec<String>);

impl OpenedHosts {
    /// Whether this host with this port is one of them.
    pub fn holds(&self, url: &Url) -> bool {
        let authority = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_string(),
            (None, _) => return false,
        };
        self.0.contains(&authority)
    }

    /// Whether one of them has this name.
    pub fn holds_name(&self, name: &str) -> bool {
        let of = |authority: &String| {
            authority
                .rsplit_once(':')
                .map_or(authority.as_str(), |(host, _)| host)
                == name
        };
        self.0.iter().any(of)
    }
}

/// Why an address cannot be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlRefusal {
    /// It is none, or of another scheme.
    NotWeb(String),
    /// It is too long, with so many bytes.
    TooLong(usize),
    /// It carries a name or a password, which would be sent to whoever answers.
    WithLogin,
    /// The port is not one of the web's.
    Port(u16),
    /// Its host is not on the public internet.
    Host { host: String, why: String },
}

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWeb(text) => {
                write!(f, "Invalid URL: {text}\nURL must start with http:// or https://.")
            }
            Self::TooLong(bytes) => write!(f, "the URL has {bytes} bytes, and {URL_BYTES_MAX} are the most"),
            Self::WithLogin => {
                f.write_str("a URL with a user name or a password is not fetched: take them out")
            }
            Self::Port(port) => write!(
                f,
                "port {port} is not fetched from: use 443, or one from 1024 that no other protocol has"
            ),
            Self::Host { host, why } => write!(f, "{host} is not fetched from: {why}"),
        }
    }
}

/// Ports from 1024 on that belong to other protocols: the "bad ports" of the Fetch standard, 2.9.
const OTHER_PORTS: [u16; 19] = [
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
    6697, 10080,
];

impl PageUrl {
    /// Reads what a model wrote. `http` becomes `https`.
    pub fn read(text: &str, opened: &OpenedHosts) -> Result<Self, UrlRefusal> {
        let text = text.trim();
        if text.len() > URL_BYTES_MAX {
            return Err(UrlRefusal::TooLong(text.len()));
        }
        let not_web = || UrlRefusal::NotWeb(shown(text));
        let is_web = |begin: &str| {
            text.get(..begin.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(begin))
        };
        if !is_web("http://") && !is_web("https://") {
            return Err(not_web());
        }
        Self::check(Url::parse(text).map_err(|_| not_web())?, opened)
    }

    /// Where a page at this address leads on to.
    pub fn follow(&self, location: &str, opened: &OpenedHosts) -> Result<Self, UrlRefusal> {
        if location.len() > URL_BYTES_MAX {
            return Err(UrlRefusal::TooLong(location.len()));
        }
        let next = self.0.join(location.trim());
        Self::check(next.map_err(|_| UrlRefusal::NotWeb(shown(location)))?, opened)
    }

    fn check(mut url: Url, opened: &OpenedHosts) -> Result<Self, UrlRefusal> {
        let not_web = |url: &Url| UrlRefusal::NotWeb(shown(url.as_str()));
        if !["http", "https"].contains(&url.scheme()) {
            return Err(not_web(&url));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefusal::WithLogin);
        }
        url.set_fragment(None);
        if opened.holds(&url) {
            return Ok(Self(url));
        }
        if url.scheme() == "http" && url.set_scheme("https").is_err() {
            return Err(not_web(&url));
        }
        let port = url.port_or_known_default().unwrap_or(443);
        if port != 443 && (port < 1024 || OTHER_PORTS.contains(&port)) {
            return Err(UrlRefusal::Port(port));
        }
        let refused = match url.host() {
            None => return Err(not_web(&url)),
            Some(Host::Domain(name)) => closed_name(name),
            Some(Host::Ipv4(address)) => closed_address(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => closed_address(IpAddr::V6(address)),
        };
        match refused {
            Some(why) => Err(UrlRefusal::Host {
                host: url.host_str().unwrap_or_default().to_string(),
                why,
            }),
            None => Ok(Self(url)),
        }
    }

    /// As it is asked for.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// As it is shown: without the `/` of an empty path, which says nothing (RFC 3986, 6.2.3).
    pub fn shown(&self) -> &str {
        let text = self.0.as_str();
        match self.0.path() == "/" && self.0.query().is_none() {
            true => text.trim_end_matches('/'),
            false => text,
        }
    }

    /// Whom it asks.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// A link on the page at this address, as a model can fetch it; none where it leads to no page.
    pub fn link(&self, target: &str) -> Option<String> {
        let link = self.0.join(target.trim()).ok()?;
        ["http", "https", "mailto"]
            .contains(&link.scheme())
            .then(|| link.to_string())
    }
}

/// Why an address cannot be reached; none where it can.
pub fn closed_address(address: IpAddr) -> Option<String> {
    match decide_reach(address) {
        Reach::Open => None,
        Reach::Closed(block) => Some(format!("{address} is {} ({})", block.what, block.source)),
    }
}

/// So much of what cannot be meant is said again.
fn shown(text: &str) -> String {
    text.chars()
        .take(200)
        .filter(|letter| !letter.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let read = PageUrl::read(text, &OpenedHosts::default());
        read.map(|url| url.shown().to_string())
            .map_err(|why| why.to_string())
    }

    #[test]
    fn http_becomes_https_and_fragments_stay_here() {
        for (written, asked) in [
            ("http://x.com", "https://x.com"),
            ("HTTP://X.com:80/a b?q=1#top", "https://x.com/a%20b?q=1"),
            (" https://x.com:8443/ ", "https://x.com:8443"),
            ("https://x.com/?", "https://x.com/?"),
            ("https://bücher.de", "https://xn--bcher-kva.de"),
        ] {
            assert_eq!(read(written).as_deref(), Ok(asked), "{written}");
        }
    }

    #[test]
    fn other_schemes_logins_and_ports_are_refused() {
        for refused in [
            "ftp://x.com",
            "file:///etc/passwd",
            "//x.com",
            "x.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://",
            "https:///",
            "https://user@x.com/",
            "https://user:pass@x.com/",
            "https://x.com:22/",
            "http://x.com:443.evil/",
            "https://x.com:6667/",
            "https://x.com:99999/",
            "",
        ] {
            assert!(read(refused).is_err(), "{refused}");
        }
        assert!(read(&format!("https://x.com/{}", "a".repeat(9_000))).is_err());
    }

    #[test]
    fn an_address_of_this_network_is_refused_however_it_is_written() {
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "169.254.169.254",
            "0",
            "localhost",
            "LOCALHOST.",
            "metadata.google.internal",
            "intranet",
            "１２７.0.0.1",
            "127。0。0。1",
            "[fd00:ec2::254]",
            "10.0.0.1",
        ] {
            let said = read(&format!("http://{host}/")).unwrap_err();
            assert!(said.contains("is not fetched from"), "{host}: {said}");
        }
    }

    #[test]
    fn every_hop_is_checked_like_the_first() {
        let opened = OpenedHosts::default();
        let page = PageUrl::read("https://x.com/a/b", &opened).unwrap();
        let follow = |location: &str| page.follow(location, &opened).map(|url| url.as_str().to_string());
        assert_eq!(follow("../c?d").as_deref(), Ok("https://x.com/c?d"));
        assert_eq!(follow("//y.com").as_deref(), Ok("https://y.com/"));
        assert_eq!(follow("http://y.com/").as_deref(), Ok("https://y.com/"));
        for refused in [
            "http://127.0.0.1/",
            "//[::1]/",
            "file:///etc/passwd",
            "//u:p@y.com/",
            "http://y.com:25/",
        ] {
            assert!(follow(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_host_that_a_program_opened_is_asked_as_it_is_written() {
        let opened = OpenedHosts(vec!["127.0.0.1:8000".to_string()]);
        let read = |text: &str| PageUrl::read(text, &opened).map(|url| url.as_str().to_string());
        assert_eq!(
            read("http://127.0.0.1:8000/x").as_deref(),
            Ok("http://127.0.0.1:8000/x")
        );
        assert!(read("http://127.0.0.1:8001/x").is_err() && read("http://127.0.0.1/x").is_err());
        assert!(opened.holds_name("127.0.0.1") && !opened.holds_name("localhost"));
    }

    #[test]
    fn links_are_made_whole_and_scripts_are_none() {
        let page = PageUrl::read("https://x.com/a/b", &OpenedHosts::default()).unwrap();
        assert_eq!(page.link("../c#d").as_deref(), Some("https://x.com/c#d"));
        assert_eq!(page.link("javascript:alert(1)"), None);
        assert_eq!(page.link("data:text/html,x"), None);
    }
}
