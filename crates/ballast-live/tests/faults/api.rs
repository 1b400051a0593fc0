//! An API server in this process: it keeps objects with versions, serves lists in pages and watches with bookmarks, refuses
//! writes to what has changed, and misbehaves as the test says. No socket is involved, so time can be the test's own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures::stream::unfold;
use http::{Request, Response};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tower::service_fn;

/// Collections that Ballast watches.
pub(crate) const NODES: &str = "/api/v1/nodes";
pub(crate) const PODS: &str = "/api/v1/pods";
const COLLECTIONS: [&str; 12] = [
    "nodes",
    "pods",
    "poddisruptionbudgets",
    "persistentvolumes",
    "persistentvolumeclaims",
    "daemonsets",
    "priorityclasses",
    "clusterpolicies",
    "vmpools",
    "podtemplates",
    "capacitybuffers",
    "provisioningrequests",
];
/// Objects of one page at most, whatever is asked for.
const PAGE: usize = 2;
/// How long before its end a watch sends a bookmark, as the real one does.
const BOOKMARK_BEFORE: Duration = Duration::from_secs(2);

/// What is asked of the API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    /// `list`, `watch`, `get`, or the method of a write.
    pub verb: &'static str,
    /// The path.
    pub path: String,
    /// What stands behind the question mark.
    pub query: BTreeMap<String, String>,
    /// What was sent along.
    pub body: Value,
}

/// What the API does about it other than it should.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Answers so, with a header.
    Refuse(u16, Option<(&'static str, String)>),
    /// Answers this.
    Say(Value),
    /// Opens a watch, tells these events, and says nothing more, not even that it ends.
    Tell(Vec<Value>),
    /// Ends the connection.
    Reset,
    /// Does what it was asked for and never answers.
    DoAndHang,
}

type Meddle = Box<dyn FnMut(&Ask) -> Option<Fault> + Send>;

/// The API.
#[derive(Clone, Default)]
pub(crate) struct Api(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<String, Value>,
    /// Every change so far: version, collection, event.
    events: Vec<(u64, String, Value)>,
    watchers: Vec<(String, Sender)>,
    asked: Vec<Ask>,
    meddle: Option<Meddle>,
}

type Sender = mpsc::UnboundedSender<Result<Bytes, std::io::Error>>;
type Answer = Result<Response<Body>, std::io::Error>;

impl Api {
    /// A client of this API.
    pub(crate) fn client(&self) -> Client {
        let api = self.clone();
        Client::new(service_fn(move |request| serve(api.clone(), request)), "ballast")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it misbehaves like this.
    pub(crate) fn meddle(&self, meddle: impl FnMut(&Ask) -> Option<Fault> + Send + 'static) {
        self.state().meddle = Some(Box::new(meddle));
    }

    /// It behaves again.
    pub(crate) fn behave(&self) {
        self.state().meddle = None;
    }

    /// What was asked so far of one collection or object.
    pub(crate) fn asked(&self, verb: &str, path: &str) -> Vec<Ask> {
        let is_it = |ask: &&Ask| ask.verb == verb && ask.path == path;
        self.state().asked.iter().filter(is_it).cloned().collect()
    }

    /// Puts an object in the place of whatever has its path.
    pub(crate) fn put(&self, collection: &str, name: &str, object: Value) {
        self.state().put(&format!("{collection}/{name}"), object);
    }

    /// The object of a path.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        self.state().objects.get(path).cloned()
    }

    /// Takes an object away.
    pub(crate) fn delete(&self, collection: &str, name: &str) {
        self.state().delete(&format!("{collection}/{name}"));
    }
}

impl State {
    fn put(&mut self, path: &str, mut object: Value) -> Value {
        self.version += 1;
        let (collection, name) = path.rsplit_once('/').unwrap_or_default();
        object["metadata"]["name"] = name.into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = format!("uid-{}", self.version).into();
        }
        let is_new = self.objects.insert(path.to_owned(), object.clone()).is_none();
        self.tell(collection, if is_new { "ADDED" } else { "MODIFIED" }, object.clone());
        object
    }

    fn delete(&mut self, path: &str) {
        let Some(mut object) = self.objects.remove(path) else { return };
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.tell(path.rsplit_once('/').unwrap_or_default().0, "DELETED", object);
    }

    fn tell(&mut self, collection: &str, kind: &str, object: Value) {
        let event = json!({"type": kind, "object": object});
        self.events.push((self.version, collection.to_owned(), event.clone()));
        self.watchers.retain(|(watched, sender)| watched != collection || sender.send(line(&event)).is_ok());
    }

    fn answer(&mut self, ask: &Ask) -> Response<Body> {
        match ask.verb {
            "list" => self.list(ask),
            "watch" => self.watch(ask),
            "get" => self.objects.get(&ask.path).map_or_else(|| refused(404), said),
            "POST" => {
                let name = ask.body["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{}/{name}", ask.path);
                match self.objects.contains_key(&path) {
                    true => refused(409),
                    false => said(&self.put(&path, ask.body.clone())),
                }
            }
            "PUT" => self.replace(ask),
            _ => self.patch(ask),
        }
    }

    fn list(&self, ask: &Ask) -> Response<Body> {
        let prefix = format!("{}/", ask.path);
        let of_it = |(path, object): (&String, &Value)| path.starts_with(&prefix).then(|| object.clone());
        let from = ask.query.get("continue").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut items: Vec<Value> = self.objects.iter().filter_map(of_it).skip(from).collect();
        let more = if items.len() > PAGE { (from + PAGE).to_string() } else { String::new() };
        items.truncate(PAGE);
        said(&list_of(&items, self.version, &more))
    }

    fn watch(&mut self, ask: &Ask) -> Response<Body> {
        let since: u64 = ask.query.get("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or(0);
        let (sender, body) = stream();
        for (version, collection, event) in &self.events {
            if *version > since && *collection == ask.path {
                let _ = sender.send(line(event));
            }
        }
        self.watchers.push((ask.path.clone(), sender));
        Response::new(body)
    }

    fn replace(&mut self, ask: &Ask) -> Response<Body> {
        let Some(stored) = self.objects.get(&ask.path) else { return refused(404) };
        let sent = &ask.body["metadata"]["resourceVersion"];
        if !sent.is_null() && *sent != stored["metadata"]["resourceVersion"] {
            return refused(409);
        }
        said(&self.put(&ask.path, ask.body.clone()))
    }

    /// As much of server-side apply as a cordon and a status take.
    fn patch(&mut self, ask: &Ask) -> Response<Body> {
        if let Some(path) = ask.path.strip_suffix("/status") {
            return self.patch_status(path, &ask.body);
        }
        let Some(stored) = self.objects.get(&ask.path).cloned() else {
            return said(&self.put(&ask.path, ask.body.clone()));
        };
        let version = &ask.body["metadata"]["resourceVersion"];
        if !version.is_null() && *version != stored["metadata"]["resourceVersion"] {
            return refused(409);
        }
        let mut object = stored;
        object["spec"]["unschedulable"] = ask.body["spec"]["unschedulable"].clone();
        object["metadata"]["annotations"] = ask.body["metadata"]["annotations"].clone();
        said(&self.put(&ask.path, object))
    }
}

impl State {
    fn patch_status(&mut self, path: &str, sent: &Value) -> Response<Body> {
        let Some(mut object) = self.objects.get(path).cloned() else { return refused(404) };
        let same = |field: &str| sent["metadata"][field] == object["metadata"][field];
        if !same("uid") || !same("resourceVersion") {
            return refused(409);
        }
        object["status"] = sent["status"].clone();
        said(&self.put(path, object))
    }
}

async fn serve(api: Api, request: Request<kube::client::Body>) -> Answer {
    let ask = understand(request).await;
    let fault = {
        let mut state = api.state();
        state.asked.push(ask.clone());
        let mut meddle = state.meddle.take();
        let fault = meddle.as_mut().and_then(|meddle| meddle(&ask));
        state.meddle = state.meddle.take().or(meddle);
        fault
    };
    match fault {
        None => {
            let response = api.state().answer(&ask);
            if ask.verb == "watch" {
                end_in_time(&api, &ask);
            }
            Ok(response)
        }
        Some(Fault::Refuse(code, header)) => {
            let mut response = refused(code);
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, value.parse().expect("a header"));
            }
            Ok(response)
        }
        Some(Fault::Say(value)) => Ok(said(&value)),
        Some(Fault::Tell(events)) => {
            let (sender, body) = stream();
            events.iter().for_each(|event| drop(sender.send(line(event))));
            api.state().watchers.push((String::new(), sender));
            Ok(Response::new(body))
        }
        Some(Fault::Reset) => Err(std::io::ErrorKind::ConnectionReset.into()),
        Some(Fault::DoAndHang) => {
            drop(api.state().answer(&ask));
            std::future::pending().await
        }
    }
}

/// Ends the watch that was opened last when its time is over, with a bookmark just before.
fn end_in_time(api: &Api, ask: &Ask) {
    let sender = api.state().watchers.last().expect("it was opened").1.clone();
    let length = ask.query.get("timeoutSeconds").and_then(|text| text.parse().ok()).unwrap_or(300);
    let api = api.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(length) - BOOKMARK_BEFORE).await;
        let version = api.state().version;
        let _ = sender.send(line(&bookmark(version)));
        sleep(BOOKMARK_BEFORE).await;
        api.state().watchers.retain(|(_, other)| !other.same_channel(&sender));
    });
}

async fn understand(request: Request<kube::client::Body>) -> Ask {
    let (head, body) = request.into_parts();
    let body = body.collect_bytes().await.expect("a body");
    let query: BTreeMap<String, String> = head
        .uri
        .query()
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let path = head.uri.path().to_owned();
    let is_collection = COLLECTIONS.iter().any(|name| path.ends_with(&format!("/{name}")));
    let verb = match head.method.as_str() {
        "GET" if query.contains_key("watch") => "watch",
        "GET" if is_collection => "list",
        "GET" => "get",
        "POST" => "POST",
        "PUT" => "PUT",
        _ => "PATCH",
    };
    Ask { verb, path, query, body: serde_json::from_slice(&body).unwrap_or_default() }
}

/// A list as the API sends it.
pub(crate) fn list_of(items: &[Value], version: u64, more: &str) -> Value {
    json!({"metadata": {"resourceVersion": version.to_string(), "continue": more}, "items": items})
}

/// A bookmark.
pub(crate) fn bookmark(version: u64) -> Value {
    json!({
        "type": "BOOKMARK",
        "object": {"kind": "Node", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}},
    })
}

fn stream() -> (Sender, Body) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let chunks = unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
    (sender, Body::from_stream(chunks))
}

fn line(event: &Value) -> Result<Bytes, std::io::Error> {
    Ok(format!("{event}\n").into())
}

fn said(value: &Value) -> Response<Body> {
    Response::new(value.to_string().into())
}

fn refused(code: u16) -> Response<Body> {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        _ => "",
    };
    let message = format!("said {code}");
    let body =
        json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message});
    let mut response = said(&body);
    *response.status_mut() = code.try_into().expect("a status");
    response
}
