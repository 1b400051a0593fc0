//! What the API holds of a kind, kept as it changes: a list, and a watch from it on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// Objects by namespace and name.
pub(super) type Objects<K> = BTreeMap<(String, String), Arc<K>>;

/// After a watch that broke: long enough not to storm an API server that starts again.
const PAUSE: Duration = Duration::from_millis(300);

/// Follows a kind for as long as somebody looks.
pub(super) fn follow<K>(api: Api<K>) -> watch::Receiver<Objects<K>>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let (seen, looks) = watch::channel(Objects::new());
    tokio::spawn(async move {
        while !seen.is_closed() {
            tokio::select! {
                () = seen.closed() => return,
                // Whatever broke it: the next list tells all.
                _broken = follow_once(&api, &seen) => tokio::time::sleep(PAUSE).await,
            }
        }
    });
    looks
}

async fn follow_once<K>(api: &Api<K>, seen: &watch::Sender<Objects<K>>) -> kube::Result<()>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let list = api.list(&ListParams::default()).await?;
    let mut version = list.metadata.resource_version.unwrap_or_default();
    seen.send_replace(list.items.into_iter().map(|object| (key(&object), Arc::new(object))).collect());
    loop {
        let mut events = pin!(api.watch(&WatchParams::default(), &version).await?);
        while let Some(event) = events.next().await {
            match event? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    version = object.resource_version().unwrap_or_default();
                    seen.send_modify(|objects| {
                        objects.insert(key(&object), Arc::new(object));
                    });
                }
                WatchEvent::Deleted(object) => {
                    version = object.resource_version().unwrap_or_default();
                    seen.send_modify(|objects| {
                        objects.remove(&key(&object));
                    });
                }
                WatchEvent::Bookmark(mark) => version = mark.metadata.resource_version,
                WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            }
        }
    }
}

fn key<K: Resource>(object: &K) -> (String, String) {
    (object.namespace().unwrap_or_default(), object.name_any())
}
