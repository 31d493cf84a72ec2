//! Names of pages lead to addresses of the public internet, or nowhere.
//!
//! The client connects to the very addresses that were looked at here: a name that leads elsewhere a moment later
//! changes nothing.

use impresario_policies::network::urls::{OpenedHosts, closed_address};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

/// The addresses of a name, being looked for.
pub type LookUp = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks for the addresses of names.
pub trait NameLookUp: Send + Sync {
    /// Looks for the addresses of this one. Their ports mean nothing.
    fn look_up(&self, name: String) -> LookUp;
}

/// As the machine does it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNames;

impl NameLookUp for SystemNames {
    fn look_up(&self, name: String) -> LookUp {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    }
}

/// Gives a client the addresses that it may connect to.
pub(super) struct CheckedNames {
    pub names: Arc<dyn NameLookUp>,
    pub opened: OpenedHosts,
}

impl Resolve for CheckedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_string();
        let looked_up = self.names.look_up(name.clone());
        let is_opened = self.opened.holds_name(&name);
        Box::pin(async move {
            let addresses = looked_up.await?;
            match is_opened {
                true => Ok(Box::new(addresses.into_iter()) as Addrs),
                false => Ok(Box::new(open_addresses(&name, addresses)?.into_iter()) as Addrs),
            }
        })
    }
}

/// Those that may be reached; an error where none is, with why the first is not.
fn open_addresses(name: &str, addresses: Vec<SocketAddr>) -> io::Result<Vec<SocketAddr>> {
    let mut closed = None;
    let mut open = Vec::with_capacity(addresses.len());
    for address in addresses {
        match closed_address(address.ip()) {
            None => open.push(address),
            Some(why) => drop(closed.get_or_insert(why)),
        }
    }
    match (open.is_empty(), closed) {
        (false, _) => Ok(open),
        (true, Some(why)) => Err(io::Error::other(format!("{name} is not fetched from: {why}"))),
        (true, None) => Err(io::Error::other(format!("{name} has no address"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_addresses_only_those_of_the_internet_are_connected_to() {
        let all =
            ["10.0.0.1:0", "1.1.1.1:0", "[::1]:0", "[2606:4700::1111]:0"].map(|text| text.parse().unwrap());
        let open = open_addresses("x.com", all.to_vec()).unwrap();
        assert_eq!(open, [all[1], all[3]]);
        let why = open_addresses("x.com", vec![all[2], all[0]])
            .unwrap_err()
            .to_string();
        assert!(
            why.contains("x.com is not fetched from: ::1 is this machine"),
            "{why}"
        );
        assert!(open_addresses("x.com", Vec::new()).is_err());
    }
}
