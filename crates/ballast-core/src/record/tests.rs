//! Entries read back as they were written, hold no secret, and are refused where they cannot be trusted.

use std::sync::Arc;

use crate::fixtures::{Cluster, a_pool, changed, labels, noon};
use crate::observation::{
    Body as Said, Change, ErrorClass, ObjectKey, ObjectKind, Observation, Source, SourceError,
};
use crate::policy::Named;
use crate::procedure::Reply;

use super::{Body, Entry, RECORD_VERSION, Recorder, ReplayError, replay};
use crate::engine::RequestId;

const CANARY: &str = "hunter2-canary";

fn a_cluster() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.pool("cpu", a_pool(&[("cpu", "4")], 10, 1.5));
    cluster.node("n1", "cpu");
    cluster.running("busy-1", "n1", &[("cpu", "3")]);
    cluster.pending("job-1", &[("cpu", "3")]);
    cluster
}

fn entry(body: Body) -> Entry {
    Entry { seq: 1, at: noon(), body }
}

#[test]
fn observations_read_back_as_they_were_written() {
    let mut observations = a_cluster().observations();
    let error = SourceError { class: ErrorClass::Throttled, message: "slow down".into() };
    observations.push(Observation {
        source: Source::kubernetes(ObjectKind::Node),
        taken_at: noon(),
        outcome: Err(error),
    });
    let key = ObjectKey { namespace: "ns".into(), name: "gone".into(), uid: "u".into() };
    observations.push(Observation {
        source: Source::kubernetes(ObjectKind::Pod),
        taken_at: noon(),
        outcome: Ok(Said::Changed(vec![Change::Deleted(key)])),
    });
    observations.push(Observation {
        source: Source::kubernetes(ObjectKind::Pod),
        taken_at: noon(),
        outcome: Ok(Said::Answer(serde_json::json!({"value": 0.1, "list": [1, null]}))),
    });
    observations.push(changed(a_cluster().pods[0].clone(), noon()));
    let written = entry(Body::Observed { observations });
    let line = written.to_line();
    assert!(line.contains(r#""kind":"VmPool""#) && line.contains(r#""nodeName":"n1""#), "{line}");
    let read: Entry = serde_json::from_str(&line).unwrap();
    assert_eq!(read, written);
    assert_eq!(read.to_line(), line);
}

/// What a class reads in any letters is recorded in any: without it a replay would decide otherwise.
#[test]
fn parameters_that_decide_are_recorded() {
    let mut cluster = a_cluster();
    let request = cluster.request("train", "check-capacity", "big", 1);
    for key in ["validUntilSeconds", "NORETRY", "other"] {
        request.spec.parameters.insert(key.into(), CANARY.into());
    }
    let text = entry(Body::Observed { observations: cluster.observations() }).to_line();
    assert!(
        text.contains("validUntilSeconds") && text.contains("NORETRY") && !text.contains("\"other\""),
        "{text}"
    );
}

#[test]
fn no_secret_is_recorded() {
    let mut cluster = a_cluster();
    let settings = &mut cluster.pools.get_mut("cpu").unwrap().provider.settings;
    settings.insert("clientSecret".into(), CANARY.into());
    let secret = labels(&[
        ("kubectl.kubernetes.io/last-applied-configuration", CANARY),
        ("ballast.dev/do-not-disrupt", "true"),
    ]);
    cluster.nodes.get_mut("n1").unwrap().metadata.annotations = secret.clone();
    for pod in &mut cluster.pods {
        pod.metadata.annotations = Arc::clone(&secret);
    }
    let mut observations = cluster.observations();
    let leaky = |words: String| SourceError { class: ErrorClass::Auth, message: words };
    let errors = [
        format!("GET https://host/x?sig={CANARY} failed"),
        format!("header Authorization: Bearer {CANARY}"),
        format!("{}{CANARY}", "long ".repeat(100)),
        format!("bad PASSWORD '{CANARY}'"),
    ];
    for words in &errors {
        observations.push(Observation {
            source: Source::kubernetes(ObjectKind::Node),
            taken_at: noon(),
            outcome: Err(leaky(words.clone())),
        });
    }
    let mut text = entry(Body::Observed { observations }).to_line();
    for words in errors {
        let reply = Reply::Failed(leaky(words));
        text += &entry(Body::Settled { id: RequestId(1), reply }).to_line();
    }
    assert!(!text.contains(CANARY), "{text}");
    assert!(text.contains("do-not-disrupt") && text.contains("clientSecret"));
}

#[test]
fn a_full_recorder_drops_the_oldest_and_says_so() {
    let mut recorder = Recorder::new(3);
    recorder.started(None, None, false);
    for number in 0..5 {
        recorder.push(noon(), Body::Settled { id: RequestId(number), reply: Reply::Done });
    }
    let taken = recorder.take();
    assert_eq!(taken.len(), 4);
    assert_eq!(taken[0].body, Body::Lost { entries: 3 });
    assert_eq!(taken.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [3, 4, 5, 6]);
    assert!(recorder.take().is_empty());
    let lines: String = taken.iter().map(|entry| entry.to_line() + "\n").collect();
    assert!(matches!(replay(lines.as_bytes()), Err(ReplayError::Lost { entries: 3, .. })));
}

#[test]
fn what_is_not_a_whole_record_is_refused() {
    let start = |version| {
        entry(Body::Started { version, ledger: None, history: None, follows: false }).to_line() + "\n"
    };
    let settled = entry(Body::Settled { id: RequestId(1), reply: Reply::Done }).to_line() + "\n";
    assert!(matches!(replay(settled.as_bytes()), Err(ReplayError::NoStart)));
    assert!(matches!(replay(start(99).as_bytes()), Err(ReplayError::Version { found: 99 })));
    assert!(matches!(replay(&b"{\n"[..]), Err(ReplayError::Entry { line: 1, .. })));
    assert!(matches!(replay(&b"\xff\xfe\n"[..]), Err(ReplayError::Read(_))));
    let ledger = Some("{".into());
    let bad = entry(Body::Started { version: RECORD_VERSION, ledger, history: None, follows: false })
        .to_line()
        + "\n";
    assert!(matches!(replay(bad.as_bytes()), Err(ReplayError::Ledger(_))));
    // A last line that was cut off while it was written is passed over.
    let whole = Entry {
        seq: 1,
        at: crate::units::Time::ZERO,
        body: Body::Started { version: RECORD_VERSION, ledger: None, history: None, follows: false },
    };
    let cut = whole.to_line() + "\n{\"seq\":2,\"at\"";
    let replayed = replay(cut.as_bytes()).unwrap();
    assert_eq!((replayed.differences, replayed.is_cut), (Vec::new(), true));
    for nothing in ["", "\n\n", "{\"seq\":1"] {
        assert!(matches!(replay(nothing.as_bytes()), Err(ReplayError::Empty)), "{nothing}");
    }
}

#[test]
fn a_pool_keeps_its_shape() {
    let pool = Named { name: "cpu".into(), namespace: "".into(), spec: a_pool(&[("cpu", "4")], 3, 2.0) };
    let observations = vec![Observation {
        source: Source::kubernetes(ObjectKind::VmPool),
        taken_at: noon(),
        outcome: Ok(Said::Listed(vec![crate::observation::Object::VmPool(pool)])),
    }];
    let written = entry(Body::Observed { observations });
    assert_eq!(serde_json::from_str::<Entry>(&written.to_line()).unwrap(), written);
}
