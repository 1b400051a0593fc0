//! The environment of a container, and the commands that see it.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource};

use super::credentials::Credentials;
use super::lookup::{Lookup, Values};

/// Where commands are looked for: there is no image that would say.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every command of a container is run with.
pub(super) struct Environment {
    variables: Vec<(String, String)>,
    credentials: Credentials,
    folder: String,
}

impl Environment {
    /// Of a container that finds the API at an address, with all values looked up.
    ///
    /// # Errors
    ///
    /// When something that is referred to is not there.
    pub(super) async fn of(
        container: &Container,
        lookup: &Lookup,
        credentials: Credentials,
        host_name: &str,
        (host, port): (String, u16),
    ) -> Result<Self> {
        let mut environment = Self {
            variables: vec![
                ("PATH".to_owned(), PATH.to_owned()),
                ("HOME".to_owned(), "/".to_owned()),
                ("HOSTNAME".to_owned(), host_name.to_owned()),
                ("KUBERNETES_SERVICE_HOST".to_owned(), host),
                ("KUBERNETES_SERVICE_PORT".to_owned(), port.to_string()),
                ("KUBERNETES_SERVICE_PORT_HTTPS".to_owned(), port.to_string()),
            ],
            credentials,
            folder: container.working_dir.clone().unwrap_or_else(|| "/".to_owned()),
        };
        for source in container.env_from.iter().flatten() {
            let prefix = source.prefix.as_deref().unwrap_or_default();
            if let Some(from) = &source.config_map_ref {
                environment.add_all(prefix, lookup.config_map(&from.name, from.optional).await?);
            }
            if let Some(from) = &source.secret_ref {
                environment.add_all(prefix, lookup.secret(&from.name, from.optional).await?);
            }
        }
        for variable in container.env.iter().flatten() {
            if let Some(value) = environment.value(variable, container, lookup).await? {
                environment.set(&variable.name, value);
            }
        }
        Ok(environment)
    }

    /// The words that run a command of the container as it is to be run.
    pub(super) fn command(&self, words: &[String]) -> Vec<String> {
        let mut all = vec!["setpriv".to_owned(), "--pdeathsig=KILL".to_owned()];
        all.extend(self.credentials.setpriv.iter().cloned());
        // A shell that starts something in the background has it ignore these two.
        all.extend(["env", "--ignore-environment", "--default-signal=INT,QUIT"].map(str::to_owned));
        all.push(format!("--chdir={}", self.folder));
        all.extend(self.variables.iter().map(|(name, value)| format!("{name}={value}")));
        all.extend(words.iter().cloned());
        all
    }

    /// Nothing but volumes can be written.
    pub(super) fn is_read_only(&self) -> bool {
        self.credentials.read_only
    }

    /// A text with `$(NAME)` replaced by the variable, where there is one.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            expanded.push_str(&rest[..at]);
            rest = &rest[at..];
            let name = rest.strip_prefix("$(").and_then(|inner| inner.split_once(')')).map(|(name, _)| name);
            let value = name.and_then(|name| self.get(name));
            match (name, value) {
                (Some(name), Some(value)) => {
                    expanded.push_str(value);
                    rest = &rest[name.len() + 3..];
                }
                _ if rest.starts_with("$$") => {
                    expanded.push('$');
                    rest = &rest[2..];
                }
                _ => {
                    expanded.push('$');
                    rest = &rest[1..];
                }
            }
        }
        expanded + rest
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: String) {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value));
    }

    fn add_all(&mut self, prefix: &str, values: Option<Values>) {
        for (key, value) in values.into_iter().flatten() {
            self.set(&format!("{prefix}{key}"), String::from_utf8_lossy(&value).into_owned());
        }
    }

    async fn value(&self, variable: &EnvVar, own: &Container, lookup: &Lookup) -> Result<Option<String>> {
        let Some(EnvVarSource { config_map_key_ref, field_ref, resource_field_ref, secret_key_ref, .. }) =
            &variable.value_from
        else {
            return Ok(Some(self.expand(variable.value.as_deref().unwrap_or_default())));
        };
        if let Some(from) = config_map_key_ref {
            return key(lookup.config_map(&from.name, from.optional).await?, &from.key, from.optional);
        }
        if let Some(from) = secret_key_ref {
            return key(lookup.secret(&from.name, from.optional).await?, &from.key, from.optional);
        }
        if let Some(from) = field_ref {
            return lookup.field(from).map(Some);
        }
        let from = resource_field_ref.as_ref().context("a variable whose value comes from nowhere")?;
        lookup.resource(own, from).await.map(Some)
    }
}

fn key(values: Option<Values>, key: &str, optional: Option<bool>) -> Result<Option<String>> {
    match values.and_then(|mut values| values.remove(key)) {
        Some(value) => Ok(Some(String::from_utf8_lossy(&value).into_owned())),
        None if optional == Some(true) => Ok(None),
        None => anyhow::bail!("couldn't find key {key}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_others_stay() {
        let variables = vec![("A".to_owned(), "1".to_owned())];
        let folder = "/".to_owned();
        let environment = Environment { variables, credentials: Credentials::default(), folder };
        for (text, expanded) in
            [("x$(A)y", "x1y"), ("$$(A)", "$(A)"), ("$(B)", "$(B)"), ("$A $", "$A $"), ("$(A", "$(A")]
        {
            assert_eq!(environment.expand(text), expanded);
        }
    }
}
