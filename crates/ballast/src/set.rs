//! `--set KIND/NAME.path=VALUE`: one field of a scenario, of one of its pools or of its policy, changed before the run.

use std::str::FromStr;

use ballast_core::documents::{File, Place, Problem, Snippet, nearest, whole};
use serde_json::Value;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    text: String,
    kind: Kind,
    name: String,
    path: Vec<Step>,
    value: Value,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scenario,
    ClusterPolicy,
    VmPool,
    Workload,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// No document is deeper, and whoever walks over one goes down as far.
const STEPS_MAX: usize = 64;

/// What the policy of a scenario is called, as in every cluster.
const POLICY: &str = "cluster";
/// What it was called before; heeded, and told no more.
const POLICY_BEFORE: &str = "default";

const FORM: &str = "write `KIND/NAME.path=VALUE`, such as `VmPool/gpu.max=10`";

impl FromStr for Set {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (place, value) = text.split_once('=').ok_or_else(|| format!("there is no `=`: {FORM}"))?;
        let (kind, rest) = place.split_once('/').ok_or_else(|| format!("there is no `/`: {FORM}"))?;
        let kind = match kind.to_ascii_lowercase().as_str() {
            "scenario" => Kind::Scenario,
            "clusterpolicy" => Kind::ClusterPolicy,
            "vmpool" | "pool" => Kind::VmPool,
            "workload" => Kind::Workload,
            _ => {
                let kinds = ["Scenario", "ClusterPolicy", "VmPool", "Workload"];
                let meant = did_you_mean(kind, kinds);
                return Err(format!("`{kind}` is not Scenario, ClusterPolicy, VmPool or Workload{meant}"));
            }
        };
        let (name, path) = rest.split_once('.').ok_or_else(|| format!("there is no path: {FORM}"))?;
        let file = File { name: "--set".to_owned(), bytes: value.as_bytes().to_vec() };
        let value = whole(&file).map_err(|_| format!("`{value}` is not a value in YAML"))?.to_json();
        Ok(Self { text: text.to_owned(), kind, name: name.to_owned(), path: steps(path)?, value })
    }
}

/// Splits `a.b[0]["c.d"]` into steps.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if steps.len() == STEPS_MAX {
            return Err(format!("the path has more than {STEPS_MAX} steps"));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) =
                inner.split_once(']').ok_or_else(|| format!("`[` is not closed in `{path}`"))?;
            let quoted = inside.strip_prefix('"').and_then(|inside| inside.strip_suffix('"'));
            steps.push(match (quoted, inside.parse()) {
                (Some(key), _) => Step::Key(key.to_owned()),
                (None, Ok(index)) => Step::Index(index),
                (None, Err(_)) => return Err(format!("`{inside}` is neither a number nor in double quotes")),
            });
            rest = after.strip_prefix('.').unwrap_or(after);
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("a name is missing in `{path}`"));
            }
            steps.push(Step::Key(rest[..end].to_owned()));
            rest = &rest[end..];
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
    }
    if steps.is_empty() { Err(format!("there is no path: {FORM}")) } else { Ok(steps) }
}

impl Set {
    /// The change as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The path within what it names.
    fn path_text(&self) -> &str {
        let place = self.text.split_once('=').map_or("", |(place, _)| place);
        place.split_once('.').map_or("", |(_, path)| path)
    }

    /// Puts a problem of what changes led to where it was written: to the last change of that field, else to the last of all.
    pub fn blame(sets: &[&Self], problem: &mut Problem) {
        let path = problem.path.to_string();
        let of_field = sets.iter().rfind(|set| path.contains(set.path_text()));
        let Some(set) = of_field.or(sets.last()) else { return };
        let field = set.path_text();
        let before = set.text.find(field).map_or(0, |at| set.text[..at].chars().count());
        problem.place = Place { file: "--set".into(), line: 1, column: before as u32 + 1 };
        problem.snippet = Some(Snippet { text: set.text.clone(), before, width: field.chars().count() });
    }

    /// Whether it speaks of this scenario: one that names none speaks of all.
    pub fn is_for(&self, scenario: &str) -> bool {
        self.kind != Kind::Scenario || self.name == scenario
    }

    /// Whether it changes what a policy says, so that another policy has to be changed too.
    pub fn is_of_policy(&self) -> bool {
        match self.kind {
            Kind::ClusterPolicy | Kind::VmPool => true,
            Kind::Workload => false,
            Kind::Scenario => {
                matches!(self.path.first(), Some(Step::Key(key)) if key == "policy" || key == "pools")
            }
        }
    }

    /// Changes the document of a scenario.
    pub fn apply(&self, document: &mut Value) -> Result<(), String> {
        let mut place = self.root(&mut document["spec"])?;
        for (at, step) in self.path.iter().enumerate() {
            place = match step {
                Step::Key(key) => {
                    if place.is_null() {
                        *place = Value::Object(serde_json::Map::new());
                    }
                    let is_last = at + 1 == self.path.len();
                    let map = place.as_object_mut();
                    let map = map.ok_or_else(|| format!("there are no fields where `{key}` should be"))?;
                    let missing = if is_last { Value::Null } else { Value::Object(serde_json::Map::new()) };
                    map.entry(key.clone()).or_insert(missing)
                }
                Step::Index(index) => {
                    let list =
                        place.as_array_mut().ok_or_else(|| format!("there is no list before `[{index}]`"))?;
                    let count = list.len();
                    list.get_mut(*index)
                        .ok_or_else(|| format!("`[{index}]` is beyond the end: there are {count}"))?
                }
            };
        }
        *place = self.value.clone();
        Ok(())
    }

    fn root<'a>(&self, spec: &'a mut Value) -> Result<&'a mut Value, String> {
        let list = match self.kind {
            Kind::Scenario => return Ok(spec),
            Kind::ClusterPolicy if [POLICY, POLICY_BEFORE].contains(&&*self.name) => {
                return Ok(&mut spec["policy"]);
            }
            Kind::ClusterPolicy => {
                return Err(format!(
                    "there is no ClusterPolicy `{}`: a scenario has one, `{POLICY}`",
                    self.name
                ));
            }
            Kind::VmPool => "pools",
            Kind::Workload => "workloads",
        };
        let names: Vec<String> = names(&spec[list]);
        let found =
            spec[list].as_array_mut().into_iter().flatten().find(|one| one["name"] == self.name.as_str());
        let found = found.ok_or_else(|| match names.is_empty() {
            true => format!("the scenario has no {list}"),
            false => {
                let meant = did_you_mean(&self.name, names.iter().map(String::as_str));
                format!("there is no `{}` among its {list}: {}{meant}", self.name, names.join(", "))
            }
        })?;
        Ok(if self.kind == Kind::VmPool { &mut found["spec"] } else { found })
    }
}

/// What was probably meant, behind a complaint.
fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(text: &str, document: &Value) -> Result<Value, String> {
        let mut document = document.clone();
        text.parse::<Set>()?.apply(&mut document)?;
        Ok(document)
    }

    fn document() -> Value {
        json!({"metadata": {"name": "day"}, "spec": {"until": "1d",
            "pools": [{"name": "gpu", "spec": {"max": 4, "template": {"zones": ["a"]}}}],
            "workloads": [{"name": "etl", "requests": {"cpu": "1"}}]}})
    }

    #[test]
    fn a_field_is_set_where_it_belongs() {
        let day = document();
        assert_eq!(set("VmPool/gpu.max=10", &day).unwrap()["spec"]["pools"][0]["spec"]["max"], 10);
        assert_eq!(
            set("pool/gpu.template.zones[0]=b", &day).unwrap()["spec"]["pools"][0]["spec"]["template"]["zones"]
                [0],
            "b"
        );
        for name in ["cluster", "default"] {
            let set = set(&format!("ClusterPolicy/{name}.limits.nodes=5"), &day).unwrap();
            assert_eq!(set["spec"]["policy"]["limits"]["nodes"], 5, "{name}");
        }
        let gpus = set(r#"Workload/etl.requests["nvidia.com/gpu"]=2"#, &day).unwrap();
        assert_eq!(gpus["spec"]["workloads"][0]["requests"]["nvidia.com/gpu"], 2);
        assert_eq!(set("Scenario/day.until=2d", &day).unwrap()["spec"]["until"], "2d");
        let night: Set = "Scenario/night.until=2d".parse().unwrap();
        assert!(night.is_for("night") && !night.is_for("day") && !night.is_of_policy());
        assert!("Scenario/day.pools[0].spec.max=2".parse::<Set>().unwrap().is_of_policy());
        assert_eq!(
            set("Scenario/day.expect={cost: [1, 2]}", &day).unwrap()["spec"]["expect"]["cost"],
            json!([1, 2])
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("max=10", "there is no `/`"),
            ("VmPool/gpu.max", "there is no `=`"),
            ("VmPool/gpu=10", "there is no path"),
            ("VmPool/gpu.=10", "there is no path"),
            ("Pod/gpu.max=10", "`Pod` is not Scenario"),
            ("VmPol/gpu.max=10", "VmPool or Workload; did you mean `VmPool`?"),
            ("VmPool/gpus.max=10", "there is no `gpus` among its pools: gpu; did you mean `gpu`?"),
            ("ClusterPolicy/x.mode=Observe", "there is no ClusterPolicy `x`: a scenario has one, `cluster`"),
            ("VmPool/gpu.template.zones[7]=b", "beyond the end: there are 1"),
            ("VmPool/gpu.template.zones[x]=b", "neither a number"),
            ("VmPool/gpu.max.deeper=1", "there are no fields where `deeper` should be"),
            ("VmPool/gpu.a..b=1", "a name is missing"),
            ("VmPool/gpu.max[0]=1", "there is no list"),
            ("VmPool/gpu.max={", "is not a value"),
        ] {
            let told = set(text, &document()).expect_err(text);
            assert!(told.contains(words), "{text}: {told}");
        }
    }
}
