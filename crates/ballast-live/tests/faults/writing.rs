//! Writes and the lease, where the API refuses, changes or swallows them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use ballast_core::observation::ErrorClass;
use ballast_core::procedure::{Reply, Request};
use ballast_live::kubernetes::{Kubernetes, Leadership, Lease, LeaseTimes};

use crate::api::{Api, Fault, NODES};
use crate::sight::node;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/ballast/leases/ballast";
const LEDGER: &str = "/api/v1/namespaces/ballast/configmaps/ballast-ledger";

/// An API where the manifest was applied.
pub(crate) fn installed() -> Api {
    let api = Api::default();
    for path in [LEASE, LEDGER] {
        let (collection, name) = path.rsplit_once('/').expect("a path");
        api.put(collection, name, json!({}));
    }
    api
}

fn one_node() -> (Api, Kubernetes) {
    let api = installed();
    api.put(NODES, "n1", node("u1"));
    let kubernetes = Kubernetes::new(api.client(), "ballast");
    (api, kubernetes)
}

async fn send(kubernetes: &Kubernetes, request: &Request) -> Reply {
    kubernetes.send(request).await.reply(|node| node.is_ready())
}

fn cordon() -> Request {
    Request::Cordon { name: "n1".into(), uid: "u1".into(), mark: "m".into() }
}

fn class(reply: &Reply) -> Option<ErrorClass> {
    match reply {
        Reply::Failed(error) => Some(error.class),
        _ => None,
    }
}

/// Someone who keeps the lease: whether it is wanted, what is told of it, and how it ends.
pub(crate) struct Keeper {
    wanted: watch::Sender<bool>,
    pub(crate) told: watch::Receiver<Leadership>,
    end: CancellationToken,
}

impl Keeper {
    pub(crate) fn of(api: &Api, name: &str) -> Self {
        let (wanted, is_wanted) = watch::channel(true);
        let (tell, told) = watch::channel(Leadership::default());
        let end = CancellationToken::new();
        let lease = Lease::new(&api.client(), "ballast", name.to_owned(), LeaseTimes::default());
        tokio::spawn(lease.keep(is_wanted, tell, end.clone()));
        Self { wanted, told, end }
    }

    /// Waits until it leads, or does not any more.
    pub(crate) async fn leads(&mut self, leads: bool) {
        let is_so = |leadership: &Leadership| leadership.until().is_some() == leads;
        timeout(Duration::from_secs(60), self.told.wait_for(is_so))
            .await
            .expect("in time")
            .expect("it lives");
    }
}

fn holder(api: &Api) -> String {
    let lease = api.get(LEASE).unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn f_k2_a_renewal_that_meets_another_write_looks_again_and_leads_on() {
    let api = installed();
    let mut keeper = Keeper::of(&api, "me");
    keeper.leads(true).await;
    let conflicts = Arc::new(Mutex::new(0_usize));
    let counted = conflicts.clone();
    api.meddle(move |ask| {
        let mut conflicts = counted.lock().expect("nobody panicked");
        let meets = ask.verb == "PUT" && ask.path == LEASE && (*conflicts).is_multiple_of(2);
        *conflicts += usize::from(ask.verb == "PUT" && ask.path == LEASE);
        meets.then_some(Fault::Refuse(409, None))
    });
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        assert!(keeper.told.borrow().until().is_some(), "it never ceased to lead");
        sleep(Duration::from_millis(100)).await;
    }
    assert!(*conflicts.lock().expect("nobody panicked") > 40, "every other renewal met one");
}

#[tokio::test(start_paused = true)]
async fn f_k2_another_holder_ends_it() {
    let api = installed();
    let mut keeper = Keeper::of(&api, "me");
    keeper.leads(true).await;
    let mut lease = api.get(LEASE).expect("it was made");
    lease["spec"]["holderIdentity"] = "other".into();
    api.put(LEASE.trim_end_matches("/ballast"), "ballast", lease);
    keeper.leads(false).await;
    assert_eq!(holder(&api), "other", "and nothing was written over it");
}

#[tokio::test(start_paused = true)]
async fn f_k2_a_lease_that_is_not_wanted_for_a_while_has_one_keeper_throughout() {
    let api = installed();
    let mut keeper = Keeper::of(&api, "me");
    keeper.leads(true).await;
    keeper.wanted.send_replace(false);
    keeper.leads(false).await;
    let writes = api.asked("PUT", LEASE).len();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(api.asked("PUT", LEASE).len(), writes, "who observes writes nothing");
    assert_eq!(holder(&api), "me", "it runs out by itself");
    keeper.wanted.send_replace(true);
    keeper.leads(true).await;
    keeper.end.cancel();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(holder(&api), "", "given back in the end");
}

#[tokio::test(start_paused = true)]
async fn f_k2_a_cordon_that_meets_another_write_is_a_conflict_and_no_second_try() {
    let (api, kubernetes) = one_node();
    api.meddle(|ask| (ask.verb == "PATCH").then_some(Fault::Refuse(409, None)));
    assert_eq!(class(&send(&kubernetes, &cordon()).await), Some(ErrorClass::Conflict));
    assert_eq!(api.asked("PATCH", &format!("{NODES}/n1")).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn f_k5_a_write_that_was_taken_and_not_answered_is_the_same_write_again() {
    let (api, kubernetes) = one_node();
    let write = |version, body: &str| Request::WriteLedger { version, body: body.into() };
    assert_eq!(send(&kubernetes, &write(1, "one")).await, Reply::Done);
    api.meddle(|ask| (ask.verb != "get").then_some(Fault::DoAndHang));
    assert_eq!(send(&kubernetes, &write(2, "two")).await, Reply::TimedOut);
    assert_eq!(send(&kubernetes, &cordon()).await, Reply::TimedOut);
    api.behave();
    assert_eq!(send(&kubernetes, &write(2, "two")).await, Reply::Done, "it is stored already");
    assert_eq!(class(&send(&kubernetes, &write(2, "other")).await), Some(ErrorClass::Conflict));
    assert_eq!(api.get(LEDGER).expect("stored")["data"]["body"], "two");
    assert_eq!(send(&kubernetes, &cordon()).await, Reply::Done, "it is cordoned with this mark already");
    assert_eq!(api.asked("PATCH", &format!("{NODES}/n1")).len(), 1, "and not written again");
}

#[tokio::test(start_paused = true)]
async fn f_k11_a_webhook_that_denies_a_cordon_is_told_as_such() {
    let (api, kubernetes) = one_node();
    api.meddle(|ask| (ask.verb == "PATCH").then_some(Fault::Refuse(403, None)));
    assert_eq!(class(&send(&kubernetes, &cordon()).await), Some(ErrorClass::Auth));
}

#[tokio::test(start_paused = true)]
async fn f_k11_a_webhook_that_undoes_a_cordon_is_seen_in_the_next_look() {
    let (api, kubernetes) = one_node();
    api.meddle(|ask| (ask.verb == "PATCH").then(|| Fault::Say(json!({"metadata": {"name": "n1"}}))));
    assert_eq!(send(&kubernetes, &cordon()).await, Reply::Done, "the API says so");
    api.behave();
    let look = Request::ReadNode { name: "n1".into(), provider_id: "".into() };
    let Reply::Node(node) = send(&kubernetes, &look).await else { panic!("there is a node") };
    assert_eq!((node.unschedulable, &*node.mark), (false, ""), "what counts is what is there");
}

#[tokio::test(start_paused = true)]
async fn f_k13_an_eviction_that_a_budget_refuses_is_throttled_and_not_forced() {
    let (api, kubernetes) = one_node();
    api.meddle(|ask| ask.path.ends_with("/eviction").then_some(Fault::Refuse(429, None)));
    let evict = Request::Evict { namespace: "ns".into(), name: "p".into(), uid: "u".into() };
    assert_eq!(class(&send(&kubernetes, &evict).await), Some(ErrorClass::Throttled));
    let asked = api.asked("POST", "/api/v1/namespaces/ns/pods/p/eviction");
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["deleteOptions"]["preconditions"]["uid"], "u", "this very pod");
    assert!(asked[0].body["deleteOptions"]["gracePeriodSeconds"].is_null(), "with its own grace");
}

#[tokio::test(start_paused = true)]
async fn what_the_manifest_makes_is_never_made_by_the_program() {
    let api = Api::default();
    let kubernetes = Kubernetes::new(api.client(), "ballast");
    let mut keeper = Keeper::of(&api, "me");
    let write = Request::WriteLedger { version: 1, body: "one".into() };
    let Reply::Failed(error) = send(&kubernetes, &write).await else { panic!("there is no ledger") };
    assert_eq!(error.class, ErrorClass::NotFound);
    assert_eq!(
        error.message,
        "there is no ConfigMap `ballast-ledger`: install it with the chart or deploy/manifest.yaml"
    );
    assert_eq!(class(&send(&kubernetes, &Request::ReadLedger).await), Some(ErrorClass::NotFound));
    sleep(Duration::from_secs(60)).await;
    assert!(keeper.told.borrow().until().is_none() && api.get(LEASE).is_none(), "nobody leads");
    let (collection, name) = LEASE.rsplit_once('/').expect("a path");
    api.put(collection, name, json!({}));
    keeper.leads(true).await;
}
