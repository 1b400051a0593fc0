//! The hosts file of a pod: itself, the API server, and every Service by the address of a pod that is ready behind it.
//!
//! There is neither DNS nor a proxy for cluster addresses: a Service is reached by name, at the port of the pod.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::ResourceExt;

use super::door;
use super::mirror::Objects;

/// The label by which a slice names its Service.
const OF_SERVICE: &str = "kubernetes.io/service-name";

/// The lines for a pod.
pub(super) fn lines(
    pod: &Pod,
    ip: Ipv4Addr,
    gateway: Ipv4Addr,
    services: &Objects<Service>,
    slices: &Objects<EndpointSlice>,
) -> String {
    let namespace = pod.namespace().unwrap_or_default();
    let short = door::NAME.trim_end_matches(".svc");
    let mut text = format!(
        "127.0.0.1 localhost\n{gateway} {} {short} {}.cluster.local kubernetes\n{ip} {}\n",
        door::NAME,
        door::NAME,
        own_names(pod)
    );
    for alias in pod.spec.iter().flat_map(|spec| spec.host_aliases.iter().flatten()) {
        let names = alias.hostnames.iter().flatten().map(|name| format!(" {name}")).collect::<String>();
        text.push_str(&format!("{}{names}\n", alias.ip));
    }
    let backing = backing(slices);
    for key @ (of, service) in services.keys() {
        let Some(endpoints) = backing.get(key) else { continue };
        if let Some(first) = endpoints.first().and_then(|endpoint| endpoint.addresses.first()) {
            text.push_str(&format!("{first} {}\n", names_of(service, of, &namespace)));
        }
        for endpoint in endpoints {
            let (Some(host), Some(address)) = (&endpoint.hostname, endpoint.addresses.first()) else {
                continue;
            };
            let member = format!("{host}.{service}");
            text.push_str(&format!("{address} {}\n", names_of(&member, of, &namespace)));
        }
    }
    text
}

/// Writes the file in place: containers hold the file itself, and a new one of the same name they would not see.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let file = File::options().create(true).write(true).truncate(false).open(path);
    let mut file = file.context("cannot open a hosts file")?;
    // Whoever reads meanwhile finds lines, old or new, never none.
    file.write_all(text.as_bytes()).context("cannot write a hosts file")?;
    file.set_len(text.len() as u64).context("cannot shorten a hosts file")
}

/// The name that a pod has for itself.
pub(super) fn host_name(pod: &Pod) -> String {
    let given = pod.spec.as_ref().and_then(|spec| spec.hostname.clone());
    let mut name = given.unwrap_or_else(|| pod.name_any());
    // The kernel takes no more.
    name.truncate(63);
    name.trim_end_matches(['-', '.']).to_owned()
}

fn own_names(pod: &Pod) -> String {
    let host = host_name(pod);
    match pod.spec.as_ref().and_then(|spec| spec.subdomain.as_ref()) {
        Some(subdomain) => {
            let namespace = pod.namespace().unwrap_or_default();
            format!("{host}.{subdomain}.{namespace}.svc.cluster.local {host}")
        }
        None => host,
    }
}

/// Every name by which a pod of one namespace may call a Service of another, or of its own.
fn names_of(name: &str, of: &str, namespace: &str) -> String {
    let long = format!("{name}.{of}.svc.cluster.local {name}.{of}.svc {name}.{of}");
    if of == namespace { format!("{long} {name}") } else { long }
}

/// The endpoints that are ready, by Service, in the order of their addresses.
fn backing(slices: &Objects<EndpointSlice>) -> BTreeMap<(String, String), Vec<&Endpoint>> {
    let mut backing: BTreeMap<(String, String), Vec<&Endpoint>> = BTreeMap::new();
    for slice in slices.values().filter(|slice| slice.address_type == "IPv4") {
        let Some(service) = slice.labels().get(OF_SERVICE) else { continue };
        let key = (slice.namespace().unwrap_or_default(), service.clone());
        let ready = |endpoint: &&Endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
        };
        backing.entry(key).or_default().extend(slice.endpoints.iter().filter(ready));
    }
    backing.values_mut().for_each(|endpoints| endpoints.sort_by(|a, b| a.addresses.cmp(&b.addresses)));
    backing
}
