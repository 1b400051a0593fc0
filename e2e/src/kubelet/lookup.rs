//! Where values come from: ConfigMaps and Secrets of the pod's namespace, tokens of its service account, and the pod itself.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ballast_core::units::Quantity;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, Node, ObjectFieldSelector, Pod, ResourceFieldSelector, Secret, ServiceAccount,
};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

/// Keys and values of a ConfigMap or a Secret.
pub(super) type Values = BTreeMap<String, Vec<u8>>;

/// What is known of a pod from its own point of view.
#[derive(Clone)]
pub(super) struct Lookup {
    /// The way to the API.
    pub(super) client: Client,
    /// The pod.
    pub(super) pod: Arc<Pod>,
    /// Its address.
    pub(super) ip: Ipv4Addr,
    /// The address of the host.
    pub(super) gateway: Ipv4Addr,
}

impl Lookup {
    fn namespace(&self) -> String {
        self.pod.namespace().unwrap_or_default()
    }

    /// A ConfigMap; none where it is missing and may be.
    pub(super) async fn config_map(&self, name: &str, optional: Option<bool>) -> Result<Option<Values>> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace());
        let found = api.get_opt(name).await.with_context(|| format!("cannot read configmap {name:?}"))?;
        let values = found.map(|map| {
            let text = map.data.into_iter().flatten().map(|(key, value)| (key, value.into_bytes()));
            text.chain(map.binary_data.into_iter().flatten().map(|(key, bytes)| (key, bytes.0))).collect()
        });
        demanded(values, optional, || format!("configmap {name:?} not found"))
    }

    /// A Secret; none where it is missing and may be.
    pub(super) async fn secret(&self, name: &str, optional: Option<bool>) -> Result<Option<Values>> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace());
        let found = api.get_opt(name).await.with_context(|| format!("cannot read secret {name:?}"))?;
        let values = found
            .map(|secret| secret.data.into_iter().flatten().map(|(key, bytes)| (key, bytes.0)).collect());
        demanded(values, optional, || format!("secret {name:?} not found"))
    }

    /// A token of the pod's service account, which ends with the pod.
    pub(super) async fn token(&self, audience: Option<&str>, seconds: Option<i64>) -> Result<Vec<u8>> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace());
        let account = self.pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: audience.map(str::to_owned).into_iter().collect(),
                expiration_seconds: seconds,
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(self.pod.name_any()),
                    uid: self.pod.uid(),
                }),
            },
            ..TokenRequest::default()
        };
        let (account, params) = (account.unwrap_or("default"), PostParams::default());
        let told = api.create_token_request(account, &params, &request).await.context("no token")?;
        let status = told.status.context("a token request without an answer")?;
        Ok(status.token.into_bytes())
    }

    /// A field of the pod.
    pub(super) fn field(&self, selector: &ObjectFieldSelector) -> Result<String> {
        let pod = &self.pod;
        let spec = pod.spec.as_ref().context("a pod without a spec")?;
        let path = selector.field_path.as_str();
        Ok(match path {
            "metadata.name" => pod.name_any(),
            "metadata.namespace" => self.namespace(),
            "metadata.uid" => pod.uid().unwrap_or_default(),
            "metadata.labels" => listed(pod.labels()),
            "metadata.annotations" => listed(pod.annotations()),
            "spec.nodeName" => spec.node_name.clone().unwrap_or_default(),
            "spec.serviceAccountName" => spec.service_account_name.clone().unwrap_or_default(),
            "status.podIP" | "status.podIPs" => self.ip.to_string(),
            "status.hostIP" | "status.hostIPs" => self.gateway.to_string(),
            _ => match subscript(path) {
                Some(("metadata.labels", key)) => pod.labels().get(key).cloned().unwrap_or_default(),
                Some(("metadata.annotations", key)) => {
                    pod.annotations().get(key).cloned().unwrap_or_default()
                }
                _ => bail!("there is no field {path:?}"),
            },
        })
    }

    /// An amount that a container asks for or is limited to, in units of the divisor, rounded up; without a limit, what the
    /// node has.
    pub(super) async fn resource(&self, own: &Container, selector: &ResourceFieldSelector) -> Result<String> {
        let spec = self.pod.spec.as_ref().context("a pod without a spec")?;
        let mut containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
        let container = match &selector.container_name {
            Some(name) => containers.find(|container| container.name == *name),
            None => Some(own),
        };
        let container = container.context("no container of that name")?;
        let (kind, name) = selector.resource.split_once('.').context("neither a limit nor a request")?;
        let resources = container.resources.clone().unwrap_or_default();
        let amounts = if kind == "limits" { resources.limits } else { resources.requests };
        let amount = amounts.and_then(|amounts| amounts.get(name).map(|amount| amount.0.clone()));
        let amount = match amount {
            Some(amount) => amount,
            None if kind == "limits" => self.allocatable(name).await?,
            None => "0".to_owned(),
        };
        let divisor = selector.divisor.as_ref().map_or("1", |divisor| divisor.0.as_str());
        let divisor = if divisor == "0" { "1" } else { divisor };
        let (amount, divisor): (Quantity, Quantity) = (amount.parse()?, divisor.parse()?);
        Ok(((amount.as_f64() / divisor.as_f64()).ceil() as i64).to_string())
    }

    async fn allocatable(&self, name: &str) -> Result<String> {
        let node = self.pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        let node = Api::<Node>::all(self.client.clone()).get(&node).await.context("cannot read the node")?;
        let amounts = node.status.and_then(|status| status.allocatable).unwrap_or_default();
        Ok(amounts.get(name).map_or_else(|| "0".to_owned(), |amount| amount.0.clone()))
    }
}

fn demanded<T>(found: Option<T>, optional: Option<bool>, missing: impl Fn() -> String) -> Result<Option<T>> {
    if found.is_none() && optional != Some(true) {
        bail!(missing());
    }
    Ok(found)
}

/// Labels or annotations as files of the downward API have them.
fn listed(pairs: &BTreeMap<String, String>) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={value:?}\n")).collect::<String>().trim_end().to_owned()
}

/// `a['b']` in its parts.
fn subscript(path: &str) -> Option<(&str, &str)> {
    let (field, rest) = path.split_once('[')?;
    Some((field, rest.strip_suffix(']')?.trim_matches('\'')))
}
