//! What the program publishes of itself: every example loads and is what its schema says, and so is what is really printed.

#[path = "reference/judge.rs"]
mod judge;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use ballast_core::check::check;
use ballast_core::documents::{self, DocumentKind, File};
use ballast_core::memory::Memory;
use ballast_core::plan::{Plan, PlanId, PromiseNote, Subject};
use ballast_core::policy::Provider;
use ballast_core::snapshot::Store;
use ballast_sim::scenario::ScenarioSpec;
use serde_json::{Value, json};
use snapbox::cmd::{Command, cargo_bin};

use judge::{trouble, trouble_with_answer};

/// The files that `ballast reference` writes, by their path in its folder.
static FILES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    ballast(&["reference", folder.path().to_str().unwrap()]).assert().success();
    let mut files = BTreeMap::new();
    gather(folder.path(), folder.path(), &mut files);
    files
});

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, files);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        files.insert(name, fs::read_to_string(&path).unwrap());
    }
}

fn ballast(args: &[&str]) -> Command {
    Command::new(cargo_bin!("ballast")).args(args).current_dir(env!("CARGO_MANIFEST_DIR"))
}

fn schema(name: &str) -> Value {
    let text = FILES.get(&format!("schemas/{name}.json")).unwrap_or_else(|| panic!("{name} has no schema"));
    serde_json::from_str(text).unwrap()
}

/// The examples: file, text, and what it says.
fn examples() -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    FILES.iter().filter_map(|(path, text)| {
        // Lines of JSON are no document.
        let file = path.strip_prefix("examples/").filter(|file| !file.ends_with(".jsonl"))?;
        Some((file, &**text, serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))))
    })
}

fn example(file: &str) -> Value {
    examples().find(|(known, ..)| *known == file).unwrap_or_else(|| panic!("there is no {file}")).2
}

#[test]
fn every_example_of_a_document_loads_and_is_what_its_schema_says() {
    for (file, text, value) in examples() {
        let Some(kind) = value["kind"].as_str() else { continue };
        let given = File { name: file.into(), bytes: text.into() };
        let loaded = documents::load(&[given]).unwrap_or_else(|problems| panic!("{problems}"));
        for scenario in loaded.scenarios {
            let spec: ScenarioSpec =
                scenario.value.spec.read().unwrap_or_else(|problems| panic!("{problems}"));
            assert!(spec.check().is_empty(), "{file}");
        }
        assert_eq!(trouble(&schema(kind), &value), None, "{file}");
        if let Some(body) = value["spec"].get("body").filter(|_| kind == "Observation") {
            let source = value["spec"]["source"]["kind"].as_str().unwrap();
            assert_eq!(trouble_with_answer(&schema(&format!("bodies/{source}")), body), None, "{file}");
        }
    }
}

#[test]
fn what_a_plan_prints_is_what_its_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("memory.json");
    fs::write(&memory, &FILES["examples/memory.json"]).unwrap();
    let cluster = "tests/documents/cluster.yaml";
    for more in [&[][..], &["--memory", memory.to_str().unwrap()]] {
        let args = [&["plan", "-f", cluster, "-o", "json"], more].concat();
        let printed = ballast(&args).output().unwrap().stdout;
        let printed: Value = serde_json::from_slice(&printed).unwrap();
        assert_eq!(trouble(&schema("Plan"), &printed), None, "{more:?}");
        assert_eq!(trouble(&schema("Memory"), &printed["memory"]), None, "{more:?}");
    }
    assert_eq!(trouble(&schema("Plan"), &example("plan.json")), None);
    assert_eq!(trouble(&schema("Memory"), &example("memory.json")), None);
}

/// What is wrong with a record, line by line.
fn trouble_with_record(text: &str) -> Option<String> {
    let schema = schema("Record");
    text.lines().find_map(|line| trouble(&schema, &serde_json::from_str(line).unwrap()))
}

#[test]
fn what_is_simulated_recorded_and_replayed_is_what_the_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let [record, policy] =
        ["record.jsonl", "policy.yaml"].map(|name| folder.path().join(name).display().to_string());
    let pool = fs::read_to_string("tests/reference/frugal.yaml").unwrap();
    fs::write(&policy, pool).unwrap();
    let printed = |args: &[&str], schema_of: &str| {
        let printed = ballast(&[args, &["-o", "json"]].concat()).output().unwrap().stdout;
        let printed: Value = serde_json::from_slice(&printed).unwrap();
        assert_eq!(trouble(&schema(schema_of), &printed), None, "{args:?}");
        printed
    };
    let simulate = ["simulate", "tests/reference/tea.yaml", "--seeds", "2", "--fail-if", "cost > 1"];
    let more = ["--policy", &policy, "--record", &record];
    let simulated = printed(&[&simulate[..], &more].concat(), "Simulation");
    // Nothing of it is judged by being empty.
    for list in ["/missed", "/gates", "/policies/1/scores", "/comparisons/B/differences"] {
        let list = simulated.pointer(&format!("/simulations/0{list}")).and_then(Value::as_array).unwrap();
        assert!(!list.is_empty());
    }
    assert_eq!(trouble_with_record(&fs::read_to_string(&record).unwrap()), None);
    printed(&["replay", &record], "Replay");
    let under = printed(&["replay", &record, "--policy", &policy], "Replay");
    assert!(!under["differing"].as_array().unwrap().is_empty());
    assert_eq!(trouble(&schema("Simulation"), &example("simulation.json")), None);
    assert_eq!(trouble(&schema("Replay"), &example("replay.json")), None);
}

#[test]
fn the_example_of_a_record_replays() {
    let text = &FILES["examples/record.jsonl"];
    assert_eq!(trouble_with_record(text), None);
    let replayed = ballast_core::record::replay(text.as_bytes()).unwrap();
    assert_eq!((replayed.differences, replayed.is_cut), (Vec::new(), false));
    assert!(replayed.plans > 0);
}

#[test]
fn what_no_scaler_of_this_program_remembers_is_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("memory.json");
    fs::write(&file, &FILES["examples/memory.json"]).unwrap();
    let args =
        ["plan", "-f", "tests/documents/cluster.yaml", "-o", "json", "--memory", file.to_str().unwrap()];
    let answer: Value = serde_json::from_slice(&ballast(&args).output().unwrap().stdout).unwrap();
    let given = example("memory.json");
    assert_eq!(answer["memory"]["ledger"], given["ledger"]);
    for part in ["boots", "metrics", "jobs", "ray", "spark"] {
        assert_eq!(answer["memory"]["history"][part], given["history"][part], "{part}");
    }
}

#[test]
fn every_part_of_memory_stands_in_its_example() {
    let schema = schema("Memory");
    serde_json::from_value::<Memory>(example("memory.json")).unwrap();
    let mut shown = BTreeSet::new();
    gather_fields(&schema, &schema, &example("memory.json"), "Memory", &mut shown);
    let types = schema["$defs"].as_object().unwrap().iter().map(|(name, part)| (&**name, part));
    for (name, part) in types.chain([("Memory", &schema)]) {
        for field in part["properties"].as_object().into_iter().flat_map(|fields| fields.keys()) {
            assert!(shown.contains(&(name.to_owned(), field.clone())), "{name}.{field} is not shown");
        }
    }
}

/// The fields that a value shows, each with the type that it is of.
fn gather_fields(
    root: &Value,
    schema: &Value,
    value: &Value,
    of: &str,
    shown: &mut BTreeSet<(String, String)>,
) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return gather_fields(root, &root["$defs"][name], value, name, shown);
    }
    for item in value.as_array().into_iter().flatten() {
        gather_fields(root, &schema["items"], item, of, shown);
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name);
        if known.is_some() {
            shown.insert((of.to_owned(), name.clone()));
        }
        gather_fields(root, known.unwrap_or(&schema["additionalProperties"]), field, of, shown);
    }
}

#[test]
fn every_action_target_scaler_and_step_stands_in_the_example_of_a_plan() {
    let (schema, plan) = (schema("Plan"), example("plan.json"));
    for (name, list, field) in [
        ("ActionKind", "/actions", "/kind"),
        ("TargetKind", "/actions", "/target/kind"),
        ("Scaler", "/wishes", "/scaler"),
        ("Scaler", "/grants", "/scaler"),
        ("Step", "/report/trace", "/step"),
    ] {
        let entries = plan.pointer(list).and_then(Value::as_array).unwrap();
        let shown: Vec<&Value> = entries.iter().filter_map(|entry| entry.pointer(field)).collect();
        let words = words(&schema["$defs"][name]);
        assert!(words.len() > 3, "{name}: {words:?}");
        for word in words {
            assert!(shown.contains(&word), "{name}: {word} is not shown");
        }
    }
}

#[test]
fn no_list_of_the_report_is_empty_in_the_example_of_a_plan() {
    let (schema, report) = (schema("Plan"), &example("plan.json")["report"]);
    let lists = schema["$defs"]["Report"]["properties"].as_object().unwrap().iter();
    let lists: Vec<&String> =
        lists.filter(|(_, field)| field["type"] == "array").map(|(name, _)| name).collect();
    assert!(lists.len() > 5, "{lists:?}");
    for list in lists {
        assert!(report[list].as_array().is_some_and(|entries| !entries.is_empty()), "{list} is not shown");
    }
}

#[test]
fn the_reference_names_the_providers_that_nobody_speaks_to_yet() {
    let kind = schema("VmPool")["$defs"]["Provider"]["properties"]["kind"]["description"].to_string();
    let (_, without) = kind.split_once("in a simulation.").unwrap();
    for provider in Provider::KINDS {
        let is_named = without.contains(&format!("`{provider}`"));
        assert_eq!(is_named, Provider::WITHOUT_ADAPTER.contains(&provider), "{provider}");
    }
}

/// The words of a type, or the tags of its alternatives.
fn words(definition: &Value) -> Vec<&Value> {
    let options = definition["oneOf"].as_array().into_iter().flatten();
    options
        .flat_map(|option| {
            let tags = option["properties"].as_object().into_iter().flat_map(|fields| fields.values());
            let listed = option["enum"].as_array().into_iter().flatten();
            tags.chain([option]).filter_map(|part| part.get("const")).chain(listed)
        })
        .collect()
}

#[test]
fn the_example_of_a_plan_names_whom_it_means_and_why() {
    let plan: Plan = serde_json::from_value(example("plan.json")).unwrap();
    assert_eq!(plan.id, PlanId::of(&plan.actions));
    let again: Plan = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
    let notes = check(&Store::new().snapshot(), &Memory::default(), &plan);
    // That its nodes are not there is another matter.
    let counts = |note: &&PromiseNote| matches!(note.subject, Subject::Workload { .. }) || note.promise == 15;
    let notes: Vec<&PromiseNote> = notes.iter().filter(counts).collect();
    assert!(notes.is_empty(), "{notes:#?}");
}

#[test]
fn a_schema_is_not_satisfied_by_anything() {
    let pool = example("vm-pool.yaml");
    let plan = example("plan.json");
    let slips = [
        ("/spec", "max", json!("three")),
        ("/spec", "mx", json!(3)),
        ("/spec", "stop", json!("Dealocate")),
        ("", "kind", json!("VmPol")),
        ("", "apiVersion", json!("ballast.dev/v1")),
        ("", "spec", json!({})),
    ];
    for (at, field, wrong) in slips {
        let mut value = pool.clone();
        value.pointer_mut(at).unwrap()[field] = wrong;
        assert!(trouble(&schema("VmPool"), &value).is_some(), "{at}/{field}");
    }
    for at in ["", "/report", "/actions/0", "/actions/0/target", "/report/trace/1", "/memory"] {
        let mut value = plan.clone();
        value.pointer_mut(at).unwrap()["unheardOf"] = json!(1);
        assert!(trouble(&schema("Plan"), &value).is_some(), "{at}");
    }
    for line in FILES["examples/record.jsonl"].lines() {
        let mut value: Value = serde_json::from_str(line).unwrap();
        value["unheardOf"] = json!(1);
        assert!(trouble(&schema("Record"), &value).is_some(), "{line}");
    }
    for (name, file) in [("Simulation", "simulation.json"), ("Replay", "replay.json")] {
        let mut value = example(file);
        value["plans"] = json!("many");
        assert!(trouble(&schema(name), &value).is_some(), "{name}");
    }
}

#[test]
fn every_kind_and_every_source_has_an_example() {
    let kinds: Vec<String> =
        examples().filter_map(|(_, _, value)| value["kind"].as_str().map(str::to_owned)).collect();
    for kind in DocumentKind::ALL {
        assert!(kinds.iter().any(|shown| shown == kind.name()), "{}", kind.name());
    }
    let sources: Vec<Value> =
        examples().map(|(_, _, value)| value["spec"]["source"]["kind"].clone()).collect();
    for path in FILES.keys().filter_map(|path| path.strip_prefix("schemas/bodies/")) {
        let source = path.trim_end_matches(".json");
        assert!(sources.iter().any(|shown| shown == source), "{source}");
    }
}

#[test]
fn every_schema_has_a_version_of_its_own() {
    let mut met = BTreeMap::new();
    for (path, text) in FILES.iter().filter(|(path, _)| path.starts_with("schemas/")) {
        let schema: Value = serde_json::from_str(text).unwrap();
        let id = schema["$id"].as_str().unwrap_or_else(|| panic!("{path} has no version")).to_owned();
        assert!(id.contains("/v1") || id.contains("/v2"), "{path}: {id}");
        assert_eq!(met.insert(id, path), None, "{path}");
    }
}

#[test]
fn every_type_of_a_schema_has_a_section_on_its_page() {
    for (path, text) in FILES.iter().filter(|(path, _)| path.starts_with("schemas/")) {
        let schema: Value = serde_json::from_str(text).unwrap();
        let page = page_of(&schema, path.contains("/bodies/"));
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            // A type that is only a word for text or a number is told where it is used.
            let has_parts =
                ["properties", "oneOf", "anyOf"].iter().any(|part| definition.get(part).is_some());
            assert!(!has_parts || page.contains(&format!("\n### {name}\n")), "{path}: {name}");
        }
    }
}

/// The page that tells a schema: of a body, its part of the page of all of them.
fn page_of(schema: &Value, is_body: bool) -> &'static str {
    let title = schema["title"].as_str().unwrap();
    if is_body {
        let (_, part) = FILES["observation-bodies.md"].split_once(&format!("\n## {title}\n")).unwrap();
        return part.split("\n## ").next().unwrap();
    }
    let page = FILES.values().find(|page| page.starts_with(&format!("# {title}\n")));
    page.unwrap_or_else(|| panic!("{title} has no page"))
}
