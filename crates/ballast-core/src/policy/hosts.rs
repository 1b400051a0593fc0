//! Which hosts the list of a ClusterPolicy allows: `host` for every port of it, `host:port` for one, `*.domain` for all below a
//! domain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::kube::Name;

/// Where clouds answer their machines about themselves, beside the link-local address that most of them use.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Whether a list allows a host to be called at a port.
pub fn is_listed(allowed: &[Name], host: &str, port: Option<u16>) -> bool {
    allowed.iter().any(|allowed| matches(allowed, host, port))
}

/// The host and the port of an address that begins with `http://` or `https://`; none of any other.
pub fn host_and_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (scheme, rest) = address.split_once("://")?;
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, port) = host_of(place);
    let port = port.map_or(Some(usual), |digits| digits.parse().ok());
    (!host.is_empty()).then_some((host, port))
}

/// The host of an entry, and its port where it names one.
pub fn host_of(allowed: &str) -> (&str, Option<&str>) {
    let is_address = allowed.parse::<IpAddr>().is_ok();
    let (name, port) = match allowed.rsplit_once(':').filter(|_| !is_address) {
        Some((name, digits)) => (name, Some(digits)),
        None => (allowed, None),
    };
    (name.trim_matches(['[', ']']), port)
}

fn matches(allowed: &str, host: &str, port: Option<u16>) -> bool {
    let (name, wanted) = host_of(allowed);
    let same_port = wanted.is_none_or(|digits| digits.parse().ok() == port);
    let same_host = match name.strip_prefix("*.") {
        // A pattern never stands for an address of this machine: that has to be written out.
        Some(domain) => !is_own(host) && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => name.eq_ignore_ascii_case(host),
    };
    same_port && same_host
}

/// An address of this machine or its cloud's metadata, or a name for one.
pub fn is_own(host: &str) -> bool {
    match host.parse() {
        Ok(address) => is_own_address(address),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// An address of this machine or its cloud's metadata.
pub fn is_own_address(address: IpAddr) -> bool {
    // `::ffff:127.0.0.1` is `127.0.0.1`.
    let address = address.to_canonical();
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    is_link_local || address.is_loopback() || address.is_unspecified() || METADATA.contains(&address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (address, told) in [
            ("https://machines.example.com/ballast", Some(("machines.example.com", Some(443)))),
            ("http://10.0.0.1:8080?a=b", Some(("10.0.0.1", Some(8080)))),
            ("https://me:secret@host:1/", Some(("host", Some(1)))),
            ("https://[fd00::1]:8443", Some(("fd00::1", Some(8443)))),
            ("https://host:none", Some(("host", None))),
            ("https:///path", None),
            ("machines.example.com:443", None),
            ("ftp://host", None),
        ] {
            assert_eq!(host_and_port(address), told, "{address}");
        }
    }
}
