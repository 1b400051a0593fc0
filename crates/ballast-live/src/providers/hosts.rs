//! Which hosts may be called: those of the ClusterPolicy's list, and no others. A document can make Ballast call an address,
//! so whoever writes documents must not choose it freely.

use std::net::IpAddr;

use ballast_core::kube::Name;
use ballast_core::observation::{ErrorClass, SourceError};

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
        if self.0.iter().any(|allowed| matches(allowed, host, url.port_or_known_default())) {
            return Ok(url);
        }
        let what = if is_own(host) { "an address of this machine or its cloud's metadata" } else { "a host" };
        Err(refused(format!(
            "`{host}` is {what} that allowedHosts of the ClusterPolicy does not list: it is not called"
        )))
    }
}

fn matches(allowed: &str, host: &str, port: Option<u16>) -> bool {
    let is_address = allowed.parse::<IpAddr>().is_ok();
    let (name, wanted) = match allowed.rsplit_once(':').filter(|_| !is_address) {
        Some((name, digits)) => (name, Some(digits)),
        None => (allowed, None),
    };
    let name = name.trim_matches(['[', ']']);
    let same_port = wanted.is_none_or(|digits| digits.parse().ok() == port);
    let same_host = match name.strip_prefix("*.") {
        // A pattern never stands for an address of this machine: that has to be written out.
        Some(domain) => !is_own(host) && host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => name.eq_ignore_ascii_case(host),
    };
    same_port && same_host
}

/// Loopback, link-local and unspecified addresses, and names for them.
fn is_own(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_link_local() || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unicast_link_local() || address.is_unspecified()
        }
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

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
}
