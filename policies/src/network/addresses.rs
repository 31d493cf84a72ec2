//! Which addresses may a model reach?
//!
//! Only those of the public internet: what lies on this machine, beside it or nowhere is closed, and so is whatever
//! leads there from inside an IPv6 address. The blocks are those of IANA's special-purpose registries (RFC 6890).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses that is not the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedBlock {
    network: IpAddr,
    /// How many bits of an address belong to the network.
    bits: u32,
    /// What it is, as a person is told.
    pub what: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// Whether an address may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It is on the public internet.
    Open,
    /// It is in this block.
    Closed(&'static ClosedBlock),
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u32, what: &'static str, source: &'static str) -> ClosedBlock {
    ClosedBlock {
        network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        bits,
        what,
        source,
    }
}

/// The first four groups of a network, and its length.
const fn v6(groups: [u16; 4], bits: u32, what: &'static str, source: &'static str) -> ClosedBlock {
    let [a, b, c, d] = groups;
    ClosedBlock {
        network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)),
        bits,
        what,
        source,
    }
}

#[rustfmt::skip]
static CLOSED_V4: [ClosedBlock; 17] = [
    v4(0, 0, 0, 0, 8, "this network", "RFC 1122, 3.2.1.3"),
    v4(10, 0, 0, 0, 8, "a private network", "RFC 1918"),
    v4(100, 64, 0, 0, 10, "a carrier's network", "RFC 6598"),
    v4(127, 0, 0, 0, 8, "this machine", "RFC 1122, 3.2.1.3"),
    v4(168, 63, 129, 16, 32, "the host below an Azure machine", "Microsoft Learn: What is IP address 168.63.129.16?"),
    // Also where most clouds tell machines their secrets: 169.254.169.254.
    v4(169, 254, 0, 0, 16, "the local link", "RFC 3927"),
    v4(172, 16, 0, 0, 12, "a private network", "RFC 1918"),
    v4(192, 0, 0, 0, 24, "protocol assignments", "RFC 6890, 2.1"),
    v4(192, 0, 2, 0, 24, "documentation", "RFC 5737"),
    v4(192, 88, 99, 0, 24, "relays of 6to4", "RFC 7526"),
    v4(192, 168, 0, 0, 16, "a private network", "RFC 1918"),
    v4(198, 18, 0, 0, 15, "benchmarks of networks", "RFC 2544"),
    v4(198, 51, 100, 0, 24, "documentation", "RFC 5737"),
    v4(203, 0, 113, 0, 24, "documentation", "RFC 5737"),
    v4(224, 0, 0, 0, 4, "multicast", "RFC 5771"),
    v4(255, 255, 255, 255, 32, "broadcast", "RFC 919"),
    v4(240, 0, 0, 0, 4, "reserved", "RFC 1112, 4"),
];

/// The first that fits holds. Outside 2000::/3 nothing is handed out as public (RFC 4291, 2.4).
#[rustfmt::skip]
static CLOSED_V6: [ClosedBlock; 15] = [
    v6([0, 0, 0, 0], 64, "this machine, or an IPv4 address written as IPv6", "RFC 4291, 2.5"),
    v6([0x64, 0xff9b, 1, 0], 48, "a network's own translation to IPv4", "RFC 8215"),
    v6([0x100, 0, 0, 0], 64, "nowhere", "RFC 6666"),
    v6([0xfc00, 0, 0, 0], 7, "a private network", "RFC 4193"),
    v6([0xfe80, 0, 0, 0], 10, "the local link", "RFC 4291, 2.5.6"),
    v6([0xfec0, 0, 0, 0], 10, "a site", "RFC 3879"),
    v6([0xff00, 0, 0, 0], 8, "multicast", "RFC 4291, 2.7"),
    v6([0x2001, 0, 0, 0], 32, "a tunnel through IPv4 (Teredo)", "RFC 4380"),
    v6([0x2001, 0, 0, 0], 23, "protocol assignments", "RFC 2928"),
    v6([0x2001, 0xdb8, 0, 0], 32, "documentation", "RFC 3849"),
    v6([0x2002, 0, 0, 0], 16, "a tunnel through IPv4 (6to4)", "RFC 7526"),
    v6([0x3fff, 0, 0, 0], 20, "documentation", "RFC 9637"),
    v6([0, 0, 0, 0], 3, "reserved", "RFC 4291, 2.4"),
    v6([0x4000, 0, 0, 0], 2, "reserved", "RFC 4291, 2.4"),
    v6([0x8000, 0, 0, 0], 1, "reserved", "RFC 4291, 2.4"),
];

/// Decides whether a model may reach this address.
pub fn decide_reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let bits = u32::from(address);
    let holds = |block: &&ClosedBlock| match block.network {
        IpAddr::V4(network) => (bits ^ u32::from(network)).checked_shr(32 - block.bits) == Some(0),
        IpAddr::V6(_) => false,
    };
    CLOSED_V4.iter().find(holds).map_or(Reach::Open, Reach::Closed)
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if let Some(inner) = translated(address) {
        return reach_v4(inner);
    }
    let bits = u128::from(address);
    let holds = |block: &&ClosedBlock| match block.network {
        IpAddr::V6(network) => (bits ^ u128::from(network)).checked_shr(128 - block.bits) == Some(0),
        IpAddr::V4(_) => false,
    };
    match CLOSED_V6.iter().find(holds) {
        Some(block) => Reach::Closed(block),
        // The network may be public and lead inside all the same.
        None => isatap(address).map_or(Reach::Open, reach_v4),
    }
}

/// The IPv4 address that is really reached: a mapped one (RFC 4291, 2.5.5.2), or one behind the well-known prefix of
/// NAT64 (RFC 6052), by which a network without IPv4 reaches all of it.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// The IPv4 address in an interface of ISATAP (RFC 5214, 6.1).
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [.., 0 | 0x200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

/// Names that no public server has, and who says so.
const CLOSED_NAMES: [(&str, &str); 8] = [
    ("localhost", "RFC 6761"),
    ("local", "RFC 6762"),
    ("internal", "ICANN, 2024"),
    ("home.arpa", "RFC 8375"),
    ("test", "RFC 6761"),
    ("invalid", "RFC 6761"),
    ("example", "RFC 6761"),
    ("onion", "RFC 7686"),
];

/// Why a name is no public server's; none where it may be one.
pub fn closed_name(name: &str) -> Option<String> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let below = |(ending, _): &&(&str, &str)| {
        name.strip_suffix(*ending)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if let Some((ending, source)) = CLOSED_NAMES.iter().find(below) {
        return Some(format!(
            "names that end in {ending} are not on the internet ({source})"
        ));
    }
    (!name.contains('.')).then(|| "a name without a dot is one of this network only".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> Option<&'static str> {
        match decide_reach(text.parse().unwrap()) {
            Reach::Open => None,
            Reach::Closed(block) => Some(block.source),
        }
    }

    #[test]
    fn the_first_and_the_last_address_of_every_block_are_closed_and_their_neighbours_are_not() {
        let blocks = [
            ("0.0.0.0", "0.255.255.255", None, Some("1.0.0.0")),
            (
                "10.0.0.0",
                "10.255.255.255",
                Some("9.255.255.255"),
                Some("11.0.0.0"),
            ),
            (
                "100.64.0.0",
                "100.127.255.255",
                Some("100.63.255.255"),
                Some("100.128.0.0"),
            ),
            (
                "127.0.0.0",
                "127.255.255.255",
                Some("126.255.255.255"),
                Some("128.0.0.0"),
            ),
            (
                "168.63.129.16",
                "168.63.129.16",
                Some("168.63.129.15"),
                Some("168.63.129.17"),
            ),
            (
                "169.254.0.0",
                "169.254.255.255",
                Some("169.253.255.255"),
                Some("169.255.0.0"),
            ),
            (
                "172.16.0.0",
                "172.31.255.255",
                Some("172.15.255.255"),
                Some("172.32.0.0"),
            ),
            (
                "192.0.0.0",
                "192.0.0.255",
                Some("191.255.255.255"),
                Some("192.0.1.0"),
            ),
            ("192.0.2.0", "192.0.2.255", Some("192.0.1.255"), Some("192.0.3.0")),
            (
                "192.88.99.0",
                "192.88.99.255",
                Some("192.88.98.255"),
                Some("192.88.100.0"),
            ),
            (
                "192.168.0.0",
                "192.168.255.255",
                Some("192.167.255.255"),
                Some("192.169.0.0"),
            ),
            (
                "198.18.0.0",
                "198.19.255.255",
                Some("198.17.255.255"),
                Some("198.20.0.0"),
            ),
            (
                "198.51.100.0",
                "198.51.100.255",
                Some("198.51.99.255"),
                Some("198.51.101.0"),
            ),
            (
                "203.0.113.0",
                "203.0.113.255",
                Some("203.0.112.255"),
                Some("203.0.114.0"),
            ),
            ("224.0.0.0", "255.255.255.255", Some("223.255.255.255"), None),
            (
                "2001::",
                "2001:1ff:ffff::",
                Some("2000:ffff::"),
                Some("2001:200::"),
            ),
            (
                "2001:db8::",
                "2001:db8:ffff::",
                Some("2001:db7:ffff::"),
                Some("2001:db9::"),
            ),
            ("2002::", "2002:ffff::", Some("2001:ffff::"), Some("2003::")),
            (
                "3fff::",
                "3fff:fff:ffff::",
                Some("3ffe:ffff::"),
                Some("3fff:1000::"),
            ),
            ("4000::", "ffff:ffff::", Some("3fff:ffff::"), None),
            ("::", "1fff:ffff::", None, Some("2000::")),
        ];
        for (first, last, before, after) in blocks {
            assert!(
                closed(first).is_some() && closed(last).is_some(),
                "{first} {last}"
            );
            for open in before.iter().chain(&after) {
                assert_eq!(closed(open), None, "{open}");
            }
        }
    }

    #[test]
    fn an_address_inside_another_is_the_one_that_counts() {
        for inner in [
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "100.100.100.200",
            "0.0.0.0",
        ] {
            let [a, b, c, d] = inner.parse::<Ipv4Addr>().unwrap().octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for outer in [
                format!("::ffff:{inner}"),
                format!("::{high:x}:{low:x}"),
                format!("64:ff9b::{inner}"),
                format!("64:ff9b:1::{inner}"),
                format!("2002:{high:x}:{low:x}::1"),
                format!("2001:0:{high:x}:{low:x}::"),
                format!("2606:4700::5efe:{high:x}:{low:x}"),
                format!("2606:4700::200:5efe:{high:x}:{low:x}"),
            ] {
                assert!(closed(&outer).is_some(), "{outer}");
            }
        }
        for open in ["::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2606:4700::5efe:101:101"] {
            assert_eq!(closed(open), None, "{open}");
        }
    }

    #[test]
    fn what_a_cloud_tells_its_machines_is_closed() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
            "fe80::a9fe:a9fe",
            "::1",
        ] {
            assert!(closed(address).is_some(), "{address}");
        }
    }

    #[test]
    fn public_servers_are_open() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.215.14",
            "2606:4700::1111",
            "2a00:1450::1",
        ] {
            assert_eq!(closed(address), None, "{address}");
        }
        for name in [
            "example.com",
            "docs.rs.",
            "xn--bcher-kva.example.org",
            "localhost.com",
        ] {
            assert_eq!(closed_name(name), None, "{name}");
        }
    }

    #[test]
    fn names_of_this_network_are_closed() {
        for name in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "metadata",
            "router.home.arpa",
            "",
        ] {
            assert!(closed_name(name).is_some(), "{name}");
        }
    }
}
