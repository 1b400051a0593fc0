//! Which hosts may be called: those of the ClusterPolicy's list, and no others. A document can make Ballast call an address,
//! so whoever writes documents must not choose it freely.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::hosts::{host_of, is_listed, is_own, is_own_address};

use reqwest::dns;

use super::error;

/// The hosts of the ClusterPolicy: `host` for every port of it, `host:port` for one, `*.domain` for all below a domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<Name>);

impl AllowedHosts {
    /// The list of a policy.
    pub fn new(hosts: &[Name]) -> Self {
        Self(hosts.to_vec())
    }

    /// The address, if it may be called.
    pub(super) fn check(&self, address: &str) -> Result<reqwest::Url, SourceError> {
        let refused = |why: String| error(ErrorClass::Invalid, why);
        // What is refused is not told word for word: an address may hold a password.
        let url = reqwest::Url::parse(address)
            .map_err(|error| refused(format!("the endpoint is no address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("the endpoint is neither http nor https".into()));
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        if is_listed(&self.0, host, url.port_or_known_default()) {
            return Ok(url);
        }
        let what = if is_own(host) { OWN } else { "a host" };
        Err(refused(format!(
            "`{host}` is {what} that allowedHosts of the ClusterPolicy does not list: it is not called"
        )))
    }

    /// Whether a name that may be called may be called at an address that it was resolved to: whoever owns the name chooses
    /// the address, and must not choose this machine, unless the list says so itself.
    fn reaches(&self, name: &str, address: IpAddr) -> bool {
        let entries = || self.0.iter().map(|allowed| host_of(allowed));
        // An entry with a port speaks for that port alone, and which one the name is called at is not known here.
        let is_open = |host: &str| entries().any(|(own, port)| port.is_none() && own == host);
        let is_named = |host: &str| entries().any(|(own, _)| own.eq_ignore_ascii_case(host));
        let is_listed = is_open(&address.to_canonical().to_string()) || (is_own(name) && is_named(name));
        !is_own_address(address) || is_listed
    }
}

/// Resolves names for connections, and tells only addresses that may be called.
pub(super) struct Resolver(pub(super) Arc<AllowedHosts>);

impl dns::Resolve for Resolver {
    fn resolve(&self, name: dns::Name) -> dns::Resolving {
        let hosts = self.0.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            let reached = found.into_iter().filter(|found| hosts.reaches(name, found.ip()));
            let reached: Vec<SocketAddr> = reached.collect();
            match reached.is_empty() {
                true => {
                    Err(format!("`{name}` is {OWN} that allowedHosts of the ClusterPolicy does not list")
                        .into())
                }
                false => Ok(Box::new(reached.into_iter()) as dns::Addrs),
            }
        })
    }
}

const OWN: &str = "an address of this machine or its cloud's metadata";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_policy_lists_is_called() {
        let cases = [
            (&["cloud.example"][..], "https://cloud.example/v1", true),
            (&["cloud.example"], "https://cloud.example:8443/v1", true),
            (&["cloud.example:443"], "https://cloud.example/v1", true),
            (&["cloud.example:443"], "https://cloud.example:8443/v1", false),
            (&["*.example"], "https://a.b.example/", true),
            (&["*.example"], "https://example/", false),
            (&["*.example"], "https://badexample/", false),
            (&["example"], "https://cloud.example/", false),
            (&[], "http://127.0.0.1:8080/", false),
            (&["127.0.0.1:8080"], "http://127.0.0.1:8080/", true),
            (&["127.0.0.1:8080"], "http://127.0.0.1:8081/", false),
            (&["*.0.0.1"], "http://127.0.0.1/", false),
            (&[], "http://169.254.169.254/latest/meta-data", false),
            (&[], "http://168.63.129.16/metadata", false),
            (&["*.example"], "http://[::ffff:127.0.0.1]/", false),
            (&["127.0.0.1:http"], "http://127.0.0.1/", false),
            (&["[::1]:8080"], "http://[::1]:8080/", true),
            (&["::1"], "http://[::1]:8080/", true),
            (&["[::1]:8080"], "http://[::1]:8081/", false),
            (&["cloud.example"], "file:///etc/passwd", false),
            (&["cloud.example"], "http://cloud.example@evil.example/", false),
        ];
        for (allowed, address, called) in cases {
            let allowed: Vec<Name> = allowed.iter().map(|&host| host.into()).collect();
            assert_eq!(AllowedHosts::new(&allowed).check(address).is_ok(), called, "{allowed:?} {address}");
        }
    }

    #[test]
    fn a_name_that_leads_to_this_machine_is_not_followed() {
        let cases = [
            (&["cloud.example"][..], "cloud.example", "203.0.113.7", true),
            (&["cloud.example"], "cloud.example", "10.0.0.7", true),
            (&["cloud.example"], "cloud.example", "127.0.0.1", false),
            (&["cloud.example"], "cloud.example", "::ffff:169.254.169.254", false),
            (&["cloud.example"], "cloud.example", "fd00:ec2::254", false),
            (&["cloud.example"], "cloud.example", "100.100.100.200", false),
            (&["cloud.example", "127.0.0.1"], "cloud.example", "127.0.0.1", true),
            (&["cloud.example", "127.0.0.1:80"], "cloud.example", "127.0.0.1", false),
            (&["localhost:80"], "localhost", "::1", true),
            (&["*.localhost"], "a.localhost", "127.0.0.1", false),
        ];
        for (allowed, name, address, reached) in cases {
            let allowed: Vec<Name> = allowed.iter().map(|&host| host.into()).collect();
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(
                AllowedHosts::new(&allowed).reaches(name, address),
                reached,
                "{allowed:?} {name} {address}"
            );
        }
    }

    #[tokio::test]
    async fn what_a_name_resolves_to_is_looked_at_before_a_connection_is_made() {
        let resolve = async |allowed: &str| {
            let resolver = Resolver(Arc::new(AllowedHosts::new(&[allowed.into()])));
            let found = dns::Resolve::resolve(&resolver, "localhost".parse().expect("a name")).await;
            found.map(Iterator::count).map_err(|error| error.to_string())
        };
        assert!(resolve("localhost").await.is_ok_and(|count| count > 0));
        let refused = resolve("cloud.example").await.expect_err("it is this machine");
        assert!(refused.contains("allowedHosts"), "{refused}");
    }
}
