//! Statuses, where the API refuses them, changes them or forgets a part of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use ballast_core::documents::DocumentKind;
use ballast_core::publish::{DocumentRef, Fault as Problem, PlanSaid, PlanState, Published, Said};
use ballast_live::clock::Clock;
use ballast_live::kubernetes::{Leadership, Publisher, SeenDocuments, Word, watch_all};

use crate::api::{Ask, Fault};
use crate::writing::{Keeper, installed};

const POLICIES: &str = "/apis/ballast.dev/v1alpha1/clusterpolicies";
const STATUS: &str = "/apis/ballast.dev/v1alpha1/clusterpolicies/cluster/status";
const MINUTE: Duration = Duration::from_secs(60);

/// A publisher at work on the policy, of which it is told something new when a test says so.
struct Scene {
    api: crate::api::Api,
    word: watch::Sender<Word>,
    /// Keeps the lease for as long as it lives.
    _keeper: Option<Keeper>,
}

impl Scene {
    /// One that leads.
    async fn leading() -> Self {
        let api = installed();
        let mut keeper = Keeper::of(&api, "me");
        keeper.leads(true).await;
        let leadership = keeper.told.clone();
        Self::new(api, leadership, Some(keeper)).await
    }

    async fn new(
        api: crate::api::Api,
        leadership: watch::Receiver<Leadership>,
        keeper: Option<Keeper>,
    ) -> Self {
        api.put(POLICIES, "cluster", json!({"apiVersion": "ballast.dev/v1alpha1", "kind": "ClusterPolicy", "metadata": {"uid": "u"}, "spec": {}}));
        let (clock, seen) = (Clock::start(), SeenDocuments::default());
        let (sender, mut told) = mpsc::channel(1000);
        tokio::spawn(async move { while told.recv().await.is_some() {} });
        watch_all(&api.client(), clock, &sender, &seen);
        let (word, words) = watch::channel(Word::None);
        let mut documents = seen.subscribe();
        let publisher = Publisher::new(api.client(), clock, seen, leadership);
        tokio::spawn(publisher.run(words, CancellationToken::new()));
        timeout(MINUTE, documents.wait_for(|known| !known.is_empty()))
            .await
            .expect("in time")
            .expect("it is seen");
        Self { api, word, _keeper: keeper }
    }

    /// Says that there is nothing to do, and that this is wrong with the policy.
    fn say_that_nothing_is_to_do(&self, problem: &str) {
        let plan = PlanSaid {
            id: "0000000000001".parse().expect("an id"),
            state: PlanState::Empty,
            message: String::new(),
            summary: "nothing to do".to_owned(),
            actions: Vec::new(),
            more: 0,
            under_way: BTreeSet::new(),
        };
        self.tell(Said { plan: Some(plan), ..wrong(problem) });
    }

    /// Says of the policy that this is wrong with it.
    fn say(&self, problem: &str) {
        self.tell(wrong(problem));
    }

    fn tell(&self, said: Said) {
        let (kind, name) = (DocumentKind::ClusterPolicy, "cluster".into());
        let documents = BTreeMap::from([(DocumentRef { kind, namespace: "".into(), name }, said)]);
        self.word.send_replace(Some(Arc::new(Published { documents, ..Published::default() })));
    }

    fn written(&self) -> Vec<Ask> {
        self.api.asked("PATCH", STATUS)
    }

    /// Whether it stands there that this is wrong.
    fn says(&self, problem: &str) -> bool {
        self.stands()["conditions"][0]["message"].as_str().is_some_and(|words| words.starts_with(problem))
    }

    /// What stands there.
    fn stands(&self) -> Value {
        self.api.get(&format!("{POLICIES}/cluster")).expect("the policy")["status"].clone()
    }
}

/// That this is wrong with a document.
fn wrong(problem: &str) -> Said {
    Said::passed_over(&Problem { problem: problem.to_owned(), holds: false })
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_once_and_stands() {
    let scene = Scene::leading().await;
    scene.say("this");
    sleep(10 * MINUTE).await;
    let [write] = &scene.written()[..] else { panic!("{:?}", scene.written()) };
    assert_eq!(write.body["metadata"]["uid"], "u");
    assert!(scene.says("this"));
}

#[tokio::test(start_paused = true)]
async fn what_met_another_write_waits_for_the_watch() {
    let scene = Scene::leading().await;
    scene.api.meddle(|ask| (ask.path == STATUS).then_some(Fault::Refuse(409, None)));
    scene.say("this");
    sleep(5 * MINUTE).await;
    assert_eq!(scene.written().len(), 1, "what is there now, the watch will tell");
    scene.api.behave();
    let mut policy = scene.api.get(&format!("{POLICIES}/cluster")).expect("the policy");
    policy["metadata"]["annotations"] = json!({"somebody": "else"});
    scene.api.put(POLICIES, "cluster", policy);
    sleep(MINUTE).await;
    assert_eq!(scene.written().len(), 2);
    assert!(scene.says("this"));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_rests_for_a_minute() {
    let scene = Scene::leading().await;
    scene.api.meddle(|ask| (ask.path == STATUS).then_some(Fault::Refuse(403, None)));
    scene.say("this");
    sleep(5 * MINUTE).await;
    let tried = scene.written().len();
    assert!((4..=6).contains(&tried), "{tried}");
    scene.api.behave();
    sleep(2 * MINUTE).await;
    assert_eq!(scene.written().len(), tried + 1);
}

/// Kinds of an older release know less fields, and the API drops the others without a word.
#[tokio::test(start_paused = true)]
async fn what_the_api_does_not_keep_is_not_written_at_once_again() {
    let scene = Scene::leading().await;
    let mut policy = scene.api.get(&format!("{POLICIES}/cluster")).expect("the policy");
    policy["status"] = json!({"mode": "Observe"});
    scene.api.meddle(move |ask| (ask.path == STATUS).then(|| Fault::Say(policy.clone())));
    scene.say("this");
    sleep(5 * MINUTE).await;
    let tried = scene.written().len();
    assert!((1..=6).contains(&tried), "{tried}");
}

/// Issue 3: an approval that waits silenced every status, and a plan could be replaced before its approval was judged.
#[tokio::test(start_paused = true)]
async fn a_plan_that_a_person_approved_stays_and_all_else_moves() {
    let scene = Scene::leading().await;
    let mut policy = scene.api.get(&format!("{POLICIES}/cluster")).expect("the policy");
    let plan = json!({
        "id": "3k9v0q2m7xa1c", "madeAt": "2026-11-16T09:00:00Z", "validUntil": "2026-11-16T09:10:00Z",
        "state": "Proposed", "summary": "1 node more", "actions": [],
    });
    policy["status"]["plan"] = plan.clone();
    let approved = json!({"ballast.dev/approved-plan": "3k9v0q2m7xa1c@2026-11-16T09:00:00Z"});
    policy["metadata"]["annotations"] = approved;
    scene.api.put(POLICIES, "cluster", policy.clone());
    sleep(MINUTE).await;
    scene.say_that_nothing_is_to_do("this");
    sleep(20 * MINUTE).await;
    assert_eq!(scene.stands()["plan"]["id"], plan["id"]);
    assert_eq!(scene.stands()["plan"]["validUntil"], plan["validUntil"], "it is not renewed");
    assert!(scene.says("this"));
    // Without the approval the other plan takes its place.
    let mut policy = scene.api.get(&format!("{POLICIES}/cluster")).expect("the policy");
    policy["metadata"]["annotations"] = json!({});
    scene.api.put(POLICIES, "cluster", policy);
    sleep(MINUTE).await;
    assert_eq!(scene.stands()["plan"]["state"], "Empty");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_writes_nothing() {
    let (_leads, leadership) = watch::channel(Leadership::default());
    let scene = Scene::new(installed(), leadership, None).await;
    scene.say("this");
    sleep(5 * MINUTE).await;
    assert_eq!(scene.written(), []);
}
