//! What holds of every input, shown on many.

use proptest::prelude::*;
use serde::Deserialize;

use super::json::Reader;
use super::read::At;
use super::*;
use crate::kube::PodSpec;
use crate::observation::{ErrorClass, SourceKind};
use crate::plan::WaitingOn;

fn file(name: &str, text: &str) -> File {
    File { name: name.into(), bytes: text.as_bytes().to_vec() }
}

fn loaded(text: &str) -> Documents {
    load(&[file("test", text)]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn read_json(text: &str) -> Result<serde_json::Value, String> {
    let mut reader = Reader::new(text, 0);
    let node = reader.value(0).map_err(|error| error.message.to_owned())?;
    if reader.peek().is_some() {
        return Err("more follows".into());
    }
    serde_json::Value::deserialize(At::lenient(&node)).map_err(|error| error.to_string())
}

/// Any JSON value.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_read_as_serde_json_reads_it(value in any_json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        prop_assert_eq!(read_json(&text.unwrap()), Ok(value));
    }

    #[test]
    fn what_serde_json_refuses_is_refused(text in r#"[\[\]{}",:0-9a-z.+eE\\ \n-]{0,30}"#) {
        let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
        // Numbers beyond 64 bits are the one thing that they take in another way.
        prop_assert_eq!(read_json(&text).is_ok(), theirs.is_ok(), "{}", text);
    }

    #[test]
    fn no_text_panics(text in any::<String>(), is_json: bool) {
        let _ = load(&[file(if is_json { "a.json" } else { "a.yaml" }, &text)]);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = load(&[File { name: "a".into(), bytes }]);
    }

    /// A good document with one value replaced by anything: it loads, or every problem has a place inside the text.
    #[test]
    fn every_problem_has_a_place(field in 0usize..12, value in any_json()) {
        let fields = ["min", "max", "price", "times", "members", "template", "provider", "schedule", "budget", "pause", "headroom", "scaleDown"];
        let mut pool = serde_json::json!({
            "apiVersion": "ballast.dev/v1alpha1", "kind": "VmPool", "metadata": {"name": "a"},
            "spec": {"provider": {"kind": "Simulated"}, "template": {"allocatable": {"cpu": 4, "memory": "8Gi"}}, "max": 3}
        });
        pool["spec"][fields[field]] = value;
        let text = serde_json::to_string_pretty(&pool).unwrap();
        if let Err(problems) = load(&[file("a.json", &text)]) {
            for problem in problems.list {
                prop_assert!(problem.place.line >= 1 && problem.place.line as usize <= text.lines().count());
                prop_assert!(problem.path.to_string().starts_with("spec"), "{}", problem);
                let snippet = problem.snippet.as_ref().expect("there is a line");
                prop_assert!(snippet.text.chars().count() <= 102 && !snippet.text.contains('\n'));
            }
        }
    }

    /// YAML and JSON of one value say the same.
    #[test]
    fn yaml_is_read_as_json(value in any_json()) {
        let text = serde_json::to_string(&value).unwrap();
        let Ok(node) = yaml::read(&text, 0, false) else { return Ok(()) };
        let again = serde_json::Value::deserialize(At::lenient(&node)).unwrap();
        // YAML has no surrogate pairs and reads some numbers as floats: what is left must be equal.
        if text.is_ascii() && !text.contains('\\') && !text.contains('.') && !text.contains('e') {
            prop_assert_eq!(again, value);
        }
    }
}

#[test]
fn pods_of_one_template_share_their_spec_and_labels() {
    let pod = |name: &str, node: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{a: b}}}}, spec: {{nodeName: {node}, containers: [{{resources: {{requests: {{cpu: 1}}}}}}]}}}}\n"
        )
    };
    let documents = loaded(&format!("{}{}", pod("p", "n1"), pod("q", "n2")));
    let pods: Vec<_> = documents
        .objects
        .iter()
        .map(|placed| match &placed.value {
            Object::Pod(pod) => pod,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(std::sync::Arc::ptr_eq(&pods[0].spec, &pods[1].spec));
    assert!(std::sync::Arc::ptr_eq(&pods[0].metadata.labels, &pods[1].metadata.labels));
    assert_eq!((&*pods[0].node_name, &*pods[1].node_name), ("n1", "n2"));
    assert_eq!(pods[0].spec.node_name, PodSpec::default().node_name);
    assert_eq!(&*pods[0].metadata.namespace, "default");
    assert_eq!((documents.objects[1].place.line, documents.objects[1].place.column), (4, 1));
}

#[test]
fn a_kind_that_failed_is_unknown_and_not_empty() {
    let documents = loaded(
        "apiVersion: ballast.dev/v1alpha1\nkind: Observation\nmetadata: {name: o}\nspec:\n  source: {kind: Kubernetes, name: Pod}\n  takenAt: 2026-11-15T06:00:00Z\n  error: {class: Transient, message: \"503\"}\n",
    );
    let observations = documents.into_observations(Time::from_secs(5));
    let pods: Vec<_> = observations.iter().filter(|seen| &*seen.source.name == "Pod").collect();
    assert_eq!(pods.len(), 1);
    assert!(matches!(&pods[0].outcome, Err(error) if error.class == ErrorClass::Transient));
    assert_eq!(observations.len(), ObjectKind::ALL.len());
    let nodes = observations.iter().find(|seen| &*seen.source.name == "Node").expect("nodes are listed");
    assert_eq!((nodes.source.kind, &nodes.outcome), (SourceKind::Kubernetes, &Ok(Body::Listed(Vec::new()))));
}

/// A pool, so many pods of a gang and what describes it.
fn a_gang_of(pods: u32, mark: &str, group: &str) -> String {
    let pod = |number: u32| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: train-{number}, namespace: ml, {mark}}}, \
             spec: {{containers: [{{resources: {{requests: {{cpu: 3}}}}}}]}}}}\n"
        )
    };
    let pool = "apiVersion: ballast.dev/v1alpha1\nkind: VmPool\nmetadata: {name: cpu}\nspec: {max: 9, provider: {kind: \
                Simulated}, price: {perHour: 1}, template: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}\n";
    let group = format!(
        "---\n{{apiVersion: {group}, kind: PodGroup, metadata: {{name: train, namespace: ml}}, spec: {{minMember: 3}}}}\n"
    );
    format!("{pool}{}{group}", (0..pods).map(pod).collect::<String>())
}

fn planned(text: &str) -> crate::plan::Plan {
    let now = Time::from_secs(5);
    let mut store = crate::snapshot::Store::new();
    loaded(text).into_observations(now).into_iter().for_each(|observation| store.observe(observation));
    let snapshot = store.snapshot();
    crate::planner::plan(&snapshot, &Default::default(), now, &mut Default::default()).0
}

#[test]
fn a_pod_group_says_how_large_a_gang_is_whose_pods_do_not() {
    let coscheduling = "labels: {scheduling.x-k8s.io/pod-group: train}";
    let volcano = "annotations: {scheduling.k8s.io/group-name: train}";
    for (mark, group) in
        [(coscheduling, "scheduling.x-k8s.io/v1alpha1"), (volcano, "scheduling.volcano.sh/v1beta1")]
    {
        let half = planned(&a_gang_of(2, mark, group));
        let waits = half.report.waiting.iter().map(|waiting| waiting.on.clone()).collect::<Vec<_>>();
        assert_eq!(waits, [WaitingOn::Gang { present: 2, needed: 3 }], "{group}");
        assert_eq!(half.actions.len(), 0);
        assert_eq!(half.report.unmodelled, [], "its size is known");
        assert_eq!(planned(&a_gang_of(3, mark, group)).actions.len(), 3);
    }
    // What pods say themselves counts; a group of another API says nothing.
    let own = "labels: {scheduling.x-k8s.io/pod-group: train}, annotations: {ballast.dev/gang-size: '2'}";
    assert_eq!(planned(&a_gang_of(2, own, "scheduling.x-k8s.io/v1alpha1")).actions.len(), 2);
    let foreign = planned(&a_gang_of(2, coscheduling, "example.com/v1"));
    assert_eq!((foreign.actions.len(), foreign.report.unmodelled.len()), (2, 1));
}

#[test]
fn a_field_that_nobody_knows_is_told_also_where_it_holds_nothing() {
    let text = "apiVersion: ballast.dev/v1alpha1\nkind: VmPool\nmetadata: {name: p}\nspec:\n  max: 3\n  scaledown:\n  \
                provider: {kind: Simulated}\n  template: {allocatable: {cpu: 4}}\n  price: {perHour: 98,32}\n";
    let problems = load(&[file("a.yaml", text)]).unwrap_err();
    let told: Vec<String> = problems.list.iter().map(|problem| problem.message.clone()).collect();
    assert_eq!(told, ["there is no field `scaledown`", "there is no field `32`"]);
}

#[test]
fn a_limit_for_a_model_in_other_letters_than_its_pools_is_refused() {
    let text = |model: &str| {
        format!(
            "apiVersion: ballast.dev/v1alpha1\nkind: ClusterPolicy\nmetadata: {{name: c}}\n\
             spec: {{limits: {{gpus: {{{model}: 8}}}}}}\n---\n\
             apiVersion: ballast.dev/v1alpha1\nkind: VmPool\nmetadata: {{name: p}}\nspec: {{max: 3, \
             provider: {{kind: Simulated}}, template: {{gpuModel: H100, allocatable: {{cpu: 4, memory: 8Gi, nvidia.com/gpu: 8}}}}}}\n"
        )
    };
    let problems = load(&[file("a.yaml", &text("h100"))]).unwrap_err();
    assert_eq!(problems.list[0].message, "no pool has GPUs of the model `h100`: this would limit nothing");
    assert_eq!(problems.list[0].suggestion.as_deref(), Some("did you mean `H100`?"));
    for model in ["H100", "A100", "'*'"] {
        loaded(&text(model));
    }
}

#[test]
fn a_list_of_mappings_in_one_line_is_yaml_unless_its_keys_are_quoted() {
    for (text, json) in
        [("[{a: 1}]", false), ("[{\"a\": 1}]", true), ("[]", true), ("{a: 1}", false), ("[ { } ]", true)]
    {
        assert_eq!(super::split::is_json("set", text), json, "{text}");
    }
}

#[test]
fn a_scenario_is_read_by_whoever_knows_it() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct World {
        seed: u32,
    }
    let scenario = |spec: &str| {
        let text = format!(
            "apiVersion: ballast.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec: {spec}\n"
        );
        loaded(&text).scenarios.remove(0).value
    };
    assert_eq!(scenario("{seed: 5}").spec.read::<World>(), Ok(World { seed: 5 }));
    assert_eq!(scenario("{seed: 5}").spec.to_json(), serde_json::json!({"seed": 5}));
    let problems = scenario("{seeed: 5}").spec.read::<World>().unwrap_err();
    let told: Vec<String> =
        problems.list.iter().map(|p| format!("{} {} {}", p.place, p.path, p.message)).collect();
    assert_eq!(
        told,
        ["test:4:8 spec.seeed there is no field `seeed`"],
        "what was meant is not missing besides"
    );
    let problems = scenario("{other: 5}").spec.read::<World>().unwrap_err();
    assert_eq!(problems.list.len(), 2, "an unknown field, and one that is missing");
    let mut found = Findings::default();
    found.invalid(Path::default().key("seed"), "too small");
    let problem = scenario("{seed: 5}").spec.problem(found.0.remove(0));
    assert_eq!(
        (problem.place.to_string(), problem.path.to_string()),
        ("test:4:14".into(), "spec.seed".into())
    );
}

#[test]
fn a_hundred_thousand_documents_load() {
    let nodes =
        (0..100_000).map(|i| format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n{i}"}}}}"#));
    let text = format!(r#"{{"items":[{}],"kind":"List"}}"#, nodes.collect::<Vec<_>>().join(","));
    assert_eq!(loaded(&text).objects.len(), 100_000);
}

/// Each is held against each: a hundred thousand of them took minutes.
#[test]
fn pools_beyond_a_limit_are_refused_at_once() {
    let pool = |i: usize| {
        let spec = r#"{"provider":{"kind":"Simulated"},"members":{"namePrefix":"NAME-"},"max":1,"template":{"allocatable":{"cpu":"1","memory":"1Gi"}}}"#;
        let document =
            r#"{"apiVersion":"ballast.dev/v1alpha1","kind":"VmPool","metadata":{"name":"NAME"},"spec":SPEC}"#;
        document.replace("SPEC", spec).replace("NAME", &format!("p{i}"))
    };
    let text: Vec<String> = (0..=POOLS_MAX).map(pool).collect();
    assert_eq!(loaded(&text[..POOLS_MAX].join("\n")).objects.len(), POOLS_MAX);
    let problems = load(&[file("test", &text.join("\n"))]).unwrap_err().to_string();
    assert!(problems.contains("2001 pools: a cluster has 2000 at most"), "{problems}");
    assert!(problems.contains("test:2001:"), "{problems}");
}

/// Kubernetes would not have taken it either.
#[test]
fn annotations_beyond_the_limit_of_kubernetes_are_refused() {
    let refused = |annotations: &str| {
        let text = format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {annotations}\n");
        let problems = load(&[file("a.yaml", &text)]).unwrap_err();
        let [problem] = &problems.list[..] else { panic!("{problems}") };
        assert_eq!(problem.code, ProblemCode::TooLarge);
        (problem.place.to_string(), problem.path.to_string(), problem.message.clone())
    };
    let one = format!("{{small: kept, karpenter.sh/do-not-disrupt: {}}}", "x".repeat(1 << 20));
    let told = "the annotation has 1024 KiB, and an object's annotations at most 256 KiB";
    let path = r#"metadata.annotations["karpenter.sh/do-not-disrupt"]"#;
    assert_eq!(refused(&one), ("a.yaml:5:59".into(), path.into(), told.into()));
    let many = (0..300).map(|number| format!("a{number:03}: {}", "x".repeat(1020)));
    let many = format!("{{{}}}", many.collect::<Vec<_>>().join(", "));
    let told = "the annotations have 300 KiB, and an object's annotations at most 256 KiB";
    assert_eq!(refused(&many), ("a.yaml:5:3".into(), "metadata.annotations".into(), told.into()));
    let template = format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: d}}\nspec:\n  template:\n    metadata: {{annotations: {one}}}\n"
    );
    assert!(load(&[file("a.yaml", &template)]).is_err());
}

#[test]
fn annotations_within_the_limit_of_kubernetes_are_kept_where_they_are_read() {
    let value = "x".repeat(200 << 10);
    let documents = loaded(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, annotations: {{karpenter.sh/do-not-disrupt: {value}}}}}\n"
    ));
    let meta = documents.objects[0].value.meta().expect("a pod has metadata");
    assert_eq!(meta.annotation("karpenter.sh/do-not-disrupt"), Some(&*value));
}

#[test]
fn more_documents_than_the_limit_are_refused() {
    let text = "{\"apiVersion\":\"v1\",\"kind\":\"X\"}".repeat(DOCUMENTS_MAX + 1);
    let problems = load(&[file("a.json", &text)]).unwrap_err();
    assert_eq!(problems.list[0].code, ProblemCode::TooLarge);
    assert_eq!(problems.list[0].message, "more than 1000000 documents");
}

#[test]
fn problems_are_listed_up_to_a_limit() {
    let text = "{\"kind\": 1}".repeat(500);
    let problems = load(&[file("a.json", &text)]).unwrap_err();
    assert_eq!((problems.list.len(), problems.more), (PROBLEMS_MAX, true));
    assert!(problems.to_string().ends_with("more than 50 problems; nothing was loaded"));
}

/// Each problem that is made wants a look along its line: made for every double of a long one, they took minutes.
#[test]
fn a_line_of_a_hundred_thousand_doubles_is_refused_like_a_short_one() {
    let text = format!("apiVersion: v1\nkind: Node\nmetadata: {{{}}}\n", "name: a, ".repeat(100_000));
    let problems = load(&[file("a.yaml", &text)]).unwrap_err();
    assert_eq!((problems.list.len(), problems.more), (PROBLEMS_MAX, true));
}

#[test]
fn problems_stand_in_the_order_of_the_files() {
    let bad = "apiVersion: v1\nkind: Pod\nmetadata: {name: A}\n";
    let good = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
    let problems = load(&[file("z", good), file("b", bad), file("a", bad), file("c", good)]).unwrap_err();
    let places: Vec<String> = problems.list.iter().map(|problem| problem.place.to_string()).collect();
    assert_eq!(places, ["b:3:18", "a:3:18", "c:3:18"]);
}

#[test]
fn text_of_unknown_origin_is_made_printable() {
    assert_eq!(printable("a\u{1b}[31m\u{202e}b\n", 20), "a\\u{1b}[31m\\u{202e}b\\n");
    assert_eq!(printable("abcdef", 3), "abc…");
}
