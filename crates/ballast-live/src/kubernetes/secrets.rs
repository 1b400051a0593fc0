//! What others are asked with: entries of Secrets in the namespace that Ballast lives in, read when they are needed.
//!
//! A value leaves this file as a header that shows itself to nobody. No other namespace can be named.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use tokio::time::Instant;

use ballast_core::foreign::bounded;
use ballast_core::observation::{ErrorClass, SourceError};
use ballast_core::policy::SecretKey;

use super::error::classed;

/// How long a value is used before it is read again: a changed one is taken up within this time, and a provider that is asked
/// every few seconds does not double what the API is asked. One that is refused is forgotten at once.
const KEPT_FOR: Duration = Duration::from_secs(30);
/// Bytes of our words, which name what people have named.
const WORDS_MAX: usize = 300;

/// The Secrets of one namespace.
#[derive(Clone)]
pub struct Secrets {
    objects: Api<Secret>,
    namespace: Arc<str>,
    kept: Arc<Mutex<BTreeMap<SecretKey, (Instant, HeaderValue)>>>,
}

impl Secrets {
    /// Those of the namespace that Ballast lives in.
    pub fn new(client: &Client, namespace: &str) -> Self {
        let objects = Api::namespaced(client.clone(), namespace);
        Self { objects, namespace: namespace.into(), kept: Arc::default() }
    }

    /// An entry as the value of an `Authorization` header.
    pub(crate) async fn bearer(&self, entry: &SecretKey) -> Result<HeaderValue, SourceError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(entry).cloned();
        if let Some((_, value)) = kept.filter(|(read_at, _)| read_at.elapsed() < KEPT_FOR) {
            return Ok(value);
        }
        let value = self.read(entry).await?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(entry.clone(), (Instant::now(), value.clone()));
        Ok(value)
    }

    /// The value is refused: the next one who needs it reads it again.
    pub(crate) fn forget(&self, entry: &SecretKey) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(entry);
    }

    async fn read(&self, entry: &SecretKey) -> Result<HeaderValue, SourceError> {
        let SecretKey { name, key } = entry;
        // The words that say what is secret come last: what follows them is kept out of records.
        let failed = |class, what: String| {
            let message = format!("nothing is sent: {what} (provider.bearer)");
            SourceError { class, message: bounded(&message, WORDS_MAX) }
        };
        let place = format!("in the namespace `{}`", self.namespace);
        let missing = |what: String| failed(ErrorClass::Auth, what);
        let secret = self.objects.get(name).await.map_err(|error| match classed(&error) {
            SourceError { class: ErrorClass::NotFound, .. } => {
                missing(format!("there is no `{name}` {place}"))
            }
            SourceError { class: ErrorClass::Auth, .. } => {
                missing(format!("Ballast may not read `{name}` {place}"))
            }
            SourceError { message, .. } => {
                failed(ErrorClass::Transient, format!("`{name}` {place} cannot be read: {message}"))
            }
        })?;
        let value = secret.data.unwrap_or_default().remove(&**key);
        let value = value.ok_or_else(|| missing(format!("`{name}` {place} has no key `{key}`")))?;
        header(&value).ok_or_else(|| missing(format!("`{key}` of `{name}` {place} can be no header")))
    }
}

/// A value as a header that shows itself to nobody; a line's end, which editors add, is left out. A bearer token is visible ASCII:
/// of anything else nobody could tell whether an answer repeats it.
fn header(ByteString(value): &ByteString) -> Option<HeaderValue> {
    let value = value.trim_ascii();
    if !value.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let mut header = HeaderValue::from_bytes(&[b"Bearer ", value].concat()).ok()?;
    header.set_sensitive(true);
    (!value.is_empty()).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_shows_itself_to_nobody() {
        let header = |value: &[u8]| super::header(&ByteString(value.to_vec()));
        let shown = header(b"hunter2-canary\n").expect("a header");
        assert_eq!(shown.as_bytes(), b"Bearer hunter2-canary");
        assert!(!format!("{shown:?}").contains("canary"), "{shown:?}");
        for value in [&b""[..], b" \n", b"two\nlines", b"\x00", "schlüssel".as_bytes(), b"two words"] {
            assert_eq!(header(value), None, "{value:?}");
        }
    }
}
