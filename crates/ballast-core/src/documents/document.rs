//! The way of one document from a tree to a typed value.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::de::DeserializeOwned;

use super::across::Spot;
use super::check::{self, Findings};
use super::gangs;
use super::kind::{DocumentKind, Role, role};
use super::load::Loader;
use super::meta::{DocumentMeta, NAME_ALLOWED, NAMESPACE_ALLOWED, name_trouble, namespace_trouble};
use super::problem::{Problem, ProblemCode};
use super::read::{self, Manner};
use super::source::Placed;
use super::tree::{Entry, Node, Path, Segment, Value};
use super::{Documents, Part, Scenario, printable};
use crate::kube::{
    ANNOTATIONS_BYTES_MAX, CapacityBuffer, DaemonSet, Meta, Name, Node as KubeNode, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, PodGroup, PodTemplate, PriorityClass,
    ProvisioningRequest, StorageClass,
};
use crate::observation::{Body, Object, ObjectKind, Observation, SourceKind};
use crate::policy::{API_VERSION, Named};

/// A document on its way: what leads to it inside a list, and itself.
pub(super) struct Document<'s> {
    base: Path,
    node: Node<'s>,
}

/// The fields that a document of ours has.
const FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

impl<'s> Document<'s> {
    pub(super) fn new(node: Node<'s>, base: Path) -> Self {
        Self { base, node }
    }

    /// Finds out what it is and takes it in, or complains.
    pub(super) fn take(mut self, loader: &mut Loader<'s>, list: Option<&Node<'s>>) {
        match &self.node.value {
            Value::Null => return,
            Value::Map(_) => {}
            _ => {
                let mut findings = Findings::default();
                findings
                    .invalid(Path::default(), "a document is a mapping with `apiVersion`, `kind` and more");
                return self.complain(loader, findings);
            }
        }
        self.complain_of_duplicates(loader);
        let Some((api_version, kind)) = self.type_of(loader, list) else { return };
        let role = role(&api_version, &kind);
        if !matches!(role, Ok(Role::Ignored)) {
            self.complain_of_annotations(loader);
        }
        match role {
            Ok(Role::Ours(kind)) => self.ours(loader, kind),
            Ok(Role::Kubernetes(kind)) => self.kubernetes(loader, kind),
            Ok(Role::PodGroup) => self.pod_group(loader),
            Ok(Role::Ignored) => {
                let key = (printable(&api_version, 80).into(), printable(&kind, 80).into());
                *loader.documents.ignored.entry(key).or_default() += 1;
            }
            Err(unknown) => {
                let path = Path::default().key(unknown.field);
                let mut problem = self.problem(loader, &path, ProblemCode::UnknownKind, unknown.message);
                problem.allowed = Some(unknown.allowed);
                problem.suggestion = unknown.suggestion;
                loader.complain(problem);
            }
        }
    }

    /// Its `apiVersion` and `kind`, or those that its list gives it.
    fn type_of(&self, loader: &mut Loader<'s>, list: Option<&Node<'s>>) -> Option<(String, String)> {
        let own = |field: &str| self.node.get(field).and_then(Node::text).map(str::to_owned);
        let from_list = |field: &str| {
            let given = list?.get(field)?.text()?;
            let kind = list?.get("kind")?.text()?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
            Some(if field == "kind" { kind } else { given }.to_owned())
        };
        let kind = own("kind").or_else(|| from_list("kind"));
        let api_version = own("apiVersion").or_else(|| from_list("apiVersion"));
        if let (Some(api_version), Some(kind)) = (&api_version, &kind) {
            return Some((api_version.clone(), kind.clone()));
        }
        let mut findings = Findings::default();
        for (field, found) in [("apiVersion", &api_version), ("kind", &kind)] {
            if found.is_none() {
                findings.missing(Path::default().key(field), format!("the document has no `{field}`"));
            }
        }
        let is_ours = kind.is_some_and(|kind| DocumentKind::ALL.iter().any(|known| known.name() == kind));
        if is_ours && let Some(first) = findings.0.first_mut() {
            first.help(format!("write `apiVersion: {API_VERSION}`"));
        }
        self.complain(loader, findings);
        None
    }

    /// Complains of keys that stand twice and goes on with the last of each.
    fn complain_of_duplicates(&mut self, loader: &mut Loader<'s>) {
        let twice = duplicates(&self.node);
        for (path, at) in &twice {
            let Some(Segment::Key(key)) = path.0.last() else { continue };
            let message = format!("the key `{}` stands twice", printable(key, 60));
            let path = self.base.join(path);
            loader.complain_of(|source| Problem {
                suggestion: Some("leave one of the two".into()),
                ..Problem::new(source, *at, path, ProblemCode::DuplicateKey, message)
            });
        }
        if !twice.is_empty() {
            self.node.keep_last_of_each_key();
        }
    }

    /// Complains of more annotations than an object may have: Kubernetes would not have taken them either.
    fn complain_of_annotations(&self, loader: &mut Loader<'s>) {
        let path = Path::default();
        let templates = [path.key("spec").key("template"), path.key("template")];
        let templates = templates.map(|template| template.key("metadata"));
        for holder in std::iter::once(path.key("metadata")).chain(templates) {
            let path = holder.key("annotations");
            let found = path.0.iter().try_fold(&self.node, |node, segment| match segment {
                Segment::Key(key) => node.get(key),
                Segment::Index(_) => None,
            });
            let Some(Value::Map(entries)) = found.map(|node| &node.value) else { continue };
            let bytes = |entry: &Entry<'_>| entry.key.len() + entry.node.text().map_or(0, str::len);
            let all: usize = entries.iter().map(bytes).sum();
            if all <= ANNOTATIONS_BYTES_MAX {
                continue;
            }
            let told = match entries.iter().find(|entry| bytes(entry) > ANNOTATIONS_BYTES_MAX) {
                Some(one) => (path.key(&one.key), "the annotation has", bytes(one)),
                None => (path, "the annotations have", all),
            };
            let (path, what, bytes) = told;
            let (has, most) = (bytes >> 10, ANNOTATIONS_BYTES_MAX >> 10);
            let message = format!("{what} {has} KiB, and an object's annotations at most {most} KiB");
            loader.complain(self.problem(loader, &path, ProblemCode::TooLarge, message));
        }
    }

    fn ours(mut self, loader: &mut Loader<'s>, kind: DocumentKind) {
        let fields_are_good = self.complain_of_fields(loader);
        let meta = self.meta(loader, kind).filter(|_| fields_are_good);
        if self.node.get("spec").is_none() {
            let mut findings = Findings::default();
            findings.missing(Path::default().key("spec"), "the document has no `spec`");
            return self.complain(loader, findings);
        }
        // The spec is judged also where the metadata is bad, so that its slips are seen in the same round.
        match kind {
            DocumentKind::ClusterPolicy => {
                let policy = self.named(loader, meta, check::cluster_policy);
                self.push(loader, policy.map(Object::ClusterPolicy));
            }
            DocumentKind::VmPool => {
                let pool = self.named(loader, meta, check::vm_pool);
                self.push(loader, pool.map(Object::VmPool));
            }
            DocumentKind::ElasticJobPolicy => {
                let policy = self.named(loader, meta, check::elastic_job_policy);
                self.keep(loader, kind, policy, |documents| &mut documents.elastic_job_policies);
            }
            DocumentKind::MetricScaler => {
                let scaler = self.named(loader, meta, check::metric_scaler);
                self.keep(loader, kind, scaler, |documents| &mut documents.metric_scalers);
            }
            DocumentKind::RayScaler => {
                let scaler = self.named(loader, meta, check::ray_scaler);
                self.keep(loader, kind, scaler, |documents| &mut documents.ray_scalers);
            }
            DocumentKind::SparkPool => {
                let pool = self.named(loader, meta, check::spark_pool);
                self.keep(loader, kind, pool, |documents| &mut documents.spark_pools);
            }
            DocumentKind::Observation => self.observation(loader, meta),
            DocumentKind::Scenario => self.scenario(loader, meta),
        }
    }

    /// The document as a named value; none after a complaint.
    fn named<T: DeserializeOwned>(
        &mut self,
        loader: &mut Loader<'s>,
        meta: Option<(Name, Name)>,
        check: fn(&T, &mut Findings),
    ) -> Option<Named<T>> {
        let spec = self.spec(loader, check)?;
        meta.map(|(name, namespace)| Named { name, namespace, spec })
    }

    /// Puts a document where those of its kind are kept.
    fn keep<T>(
        &self,
        loader: &mut Loader<'s>,
        kind: DocumentKind,
        named: Option<Named<T>>,
        list: fn(&mut Documents) -> &mut Vec<Placed<Named<T>>>,
    ) {
        let Some(value) = named else { return };
        loader.across.named(kind.name(), self.spot(loader), &value.name, &value.namespace);
        let place = loader.source().place(self.node.at);
        list(&mut loader.documents).push(Placed { value, place });
    }

    fn complain_of_fields(&self, loader: &mut Loader<'s>) -> bool {
        let Value::Map(entries) = &self.node.value else { return true };
        let mut is_good = true;
        for entry in entries.iter().filter(|entry| !FIELDS.contains(&&*entry.key)) {
            is_good = false;
            let what = read::What::UnknownField(entry.key.clone().into_owned(), &FIELDS);
            let path = [Segment::Key(entry.key.clone().into_owned())];
            loader.complain_of(|source| Problem::of_wrong(source, &self.base, &self.node, &path, what));
        }
        is_good
    }

    /// Name and namespace, where both are as they should be.
    fn meta(&mut self, loader: &mut Loader<'s>, kind: DocumentKind) -> Option<(Name, Name)> {
        let mut findings = Findings::default();
        let path = Path::default().key("metadata");
        if self.node.get("metadata").is_none() {
            findings.missing(path, "the document has no `metadata`").help("write `metadata: {name: …}`");
            self.complain(loader, findings);
            return None;
        }
        let meta: DocumentMeta = self.read_at(loader, "metadata", Manner::Lenient)?;
        check_name(&mut findings, &path, &meta.name);
        if !kind.is_namespaced() && !meta.namespace.is_empty() {
            findings
                .invalid(
                    path.key("namespace"),
                    format!("a {} belongs to the cluster, not to a namespace", kind.name()),
                )
                .help("leave the namespace out");
        }
        let namespace: Name =
            if kind.is_namespaced() && meta.namespace.is_empty() { "default".into() } else { meta.namespace };
        check_namespace(&mut findings, &path, &namespace);
        let is_good = findings.0.is_empty();
        self.complain(loader, findings);
        is_good.then_some((meta.name, namespace))
    }

    /// The spec as its type, checked; none after a complaint.
    fn spec<T: DeserializeOwned>(
        &mut self,
        loader: &mut Loader<'s>,
        check: fn(&T, &mut Findings),
    ) -> Option<T> {
        let spec: T = self.read_at(loader, "spec", Manner::Strict)?;
        let mut findings = Findings::default();
        check(&spec, &mut findings);
        let is_good = are_doubts(&findings);
        self.complain(loader, findings);
        is_good.then_some(spec)
    }

    /// A field of the document as a type.
    fn read_at<T: DeserializeOwned>(
        &mut self,
        loader: &mut Loader<'s>,
        field: &str,
        manner: Manner,
    ) -> Option<T> {
        let base = self.base.key(field);
        let node = self.node.find_mut(&[Segment::Key(field.to_owned())])?;
        // A block that is empty stands for its defaults.
        if node.value == Value::Null {
            node.value = Value::Map(Vec::new());
        }
        read_node(loader, &base, node, manner)
    }

    fn observation(mut self, loader: &mut Loader<'s>, meta: Option<(Name, Name)>) {
        let Some(spec) = self.spec(loader, check::observation) else { return };
        let outcome = match (spec.body, spec.error) {
            (_, Some(error)) => Err(error),
            (body, None) => {
                let Some(body) = self.body(loader, spec.source.kind, body.unwrap_or_default()) else {
                    return;
                };
                Ok(body)
            }
        };
        if meta.is_none() {
            return;
        }
        let observation = Observation { source: spec.source, taken_at: spec.taken_at, outcome };
        let source = Path::default().key("spec").key("source").key("name");
        loader.across.observation(self.spot(loader), self.spot_of(loader, &source), &observation);
        let place = loader.source().place(self.node.at);
        loader.documents.observations.push(Placed { value: observation, place });
    }

    /// The body of an observation, once it has been read as what its kind of source answers.
    fn body(&mut self, loader: &mut Loader<'s>, kind: SourceKind, answer: serde_json::Value) -> Option<Body> {
        use crate::observation::bodies;
        match kind {
            SourceKind::Kubernetes => None,
            SourceKind::Instances => {
                let list: bodies::InstanceList = self.body_as(loader)?;
                let mut findings = Findings::default();
                check::instances(&list.items, &mut findings);
                let is_good = findings.0.is_empty();
                self.complain(loader, findings);
                return is_good.then(|| Body::Instances(list.items.into()));
            }
            SourceKind::SparkMaster => self.body_as::<bodies::SparkMaster>(loader).map(drop),
            SourceKind::SparkWorker => self.body_as::<bodies::SparkWorker>(loader).map(drop),
            SourceKind::RayGcs => self.body_as::<bodies::RayGcs>(loader).map(drop),
            SourceKind::PrometheusQuery => self.body_as::<bodies::PrometheusQuery>(loader).map(drop),
            SourceKind::ResourceMetrics => self.body_as::<bodies::ResourceMetrics>(loader).map(drop),
            SourceKind::CustomMetrics => self.body_as::<bodies::CustomMetrics>(loader).map(drop),
            SourceKind::ExternalMetrics => self.body_as::<bodies::ExternalMetrics>(loader).map(drop),
            SourceKind::Scale => self.body_as::<bodies::Scale>(loader).map(drop),
            SourceKind::VirtualClusters => self.body_as::<bodies::VirtualClusters>(loader).map(drop),
            SourceKind::ClusterInquiry => self.body_as::<bodies::ClusterInquiry>(loader).map(drop),
        }?;
        Some(Body::Answer(answer))
    }

    fn body_as<T: DeserializeOwned>(&mut self, loader: &mut Loader<'s>) -> Option<T> {
        let path = [Segment::Key("spec".into()), Segment::Key("body".into())];
        let base = self.base.join(&Path(path.to_vec()));
        let body = self.node.find_mut(&path)?;
        if let Some(at) = body.first_not_finite() {
            let message = "JSON has no such number".to_owned();
            let mut problem = Problem::new(loader.source(), at, base, ProblemCode::InvalidValue, message);
            problem.suggestion = Some("as Prometheus does, write it as a text: \"NaN\", \"+Inf\"".into());
            loader.complain(problem);
            return None;
        }
        read_node(loader, &base, body, Manner::Lenient)
    }

    fn scenario(mut self, loader: &mut Loader<'s>, meta: Option<(Name, Name)>) {
        let Some((name, namespace)) = meta else { return };
        let Some(spec) = self.node.find_mut(&[Segment::Key("spec".into())]) else { return };
        let nothing = Node::new(spec.at, Value::Null);
        let spec = std::mem::replace(spec, nothing).into_owned();
        let part = Part::new(Arc::new(loader.source().to_owned()), self.base.key("spec"), spec);
        loader.across.named("Scenario", self.spot(loader), &name, &namespace);
        let place = loader.source().place(self.node.at);
        loader.documents.scenarios.push(Placed { value: Scenario { name, spec: part }, place });
    }

    fn kubernetes(mut self, loader: &mut Loader<'s>, kind: ObjectKind) {
        let object = match kind {
            ObjectKind::Node => self.whole(loader).map(|node: KubeNode| Object::Node(node)),
            ObjectKind::Pod => self.whole(loader).map(|mut pod: Pod| {
                loader.shared.pod(&mut pod);
                Object::Pod(pod)
            }),
            ObjectKind::PodDisruptionBudget => {
                self.whole(loader).map(|budget: PodDisruptionBudget| Object::PodDisruptionBudget(budget))
            }
            ObjectKind::PersistentVolume => {
                self.whole(loader).map(|volume: PersistentVolume| Object::PersistentVolume(volume))
            }
            ObjectKind::PersistentVolumeClaim => {
                self.whole(loader).map(|claim: PersistentVolumeClaim| Object::PersistentVolumeClaim(claim))
            }
            ObjectKind::DaemonSet => self.whole(loader).map(|mut daemons: DaemonSet| {
                loader.shared.meta(&mut daemons.spec.template.metadata);
                daemons.spec.template.spec = loader.shared.spec(daemons.spec.template.spec);
                Object::DaemonSet(daemons)
            }),
            ObjectKind::PriorityClass => {
                self.whole(loader).map(|class: PriorityClass| Object::PriorityClass(class))
            }
            ObjectKind::StorageClass => {
                self.whole(loader).map(|class: StorageClass| Object::StorageClass(class))
            }
            ObjectKind::PodTemplate => self.whole(loader).map(|mut template: PodTemplate| {
                loader.shared.template(&mut template);
                Object::PodTemplate(template)
            }),
            ObjectKind::CapacityBuffer => {
                self.whole(loader).map(|buffer: CapacityBuffer| Object::CapacityBuffer(buffer))
            }
            ObjectKind::ProvisioningRequest => {
                self.whole(loader).map(|request: ProvisioningRequest| Object::ProvisioningRequest(request))
            }
            ObjectKind::ClusterPolicy | ObjectKind::VmPool => None,
        };
        let Some(mut object) = object else { return };
        if let Some(meta) = object.meta_mut() {
            loader.shared.meta(meta);
            if meta.namespace.is_empty() && kind.is_namespaced() {
                meta.namespace = "default".into();
            }
        }
        let mut findings = Findings::default();
        check::object(&object, &mut findings);
        let is_good = are_doubts(&findings);
        self.complain(loader, findings);
        if is_good {
            self.push(loader, Some(object));
        }
    }

    fn pod_group(mut self, loader: &mut Loader<'s>) {
        let Some(mut value) = self.whole::<PodGroup>(loader) else { return };
        if value.metadata.namespace.is_empty() {
            value.metadata.namespace = "default".into();
        }
        let Meta { name, namespace, .. } = &value.metadata;
        let mut findings = Findings::default();
        check_name(&mut findings, &Path::default().key("metadata"), name);
        gangs::check_size(&mut findings, &value, &self.node);
        let is_good = are_doubts(&findings);
        self.complain(loader, findings);
        if !is_good {
            return;
        }
        loader.across.named("PodGroup", self.spot(loader), name, namespace);
        let place = loader.source().place(self.node.at);
        loader.documents.pod_groups.push(Placed { value, place });
    }

    /// The whole document as a type.
    fn whole<T: DeserializeOwned>(&mut self, loader: &mut Loader<'s>) -> Option<T> {
        read_node(loader, &self.base, &mut self.node, Manner::Lenient)
    }

    fn push(&self, loader: &mut Loader<'s>, object: Option<Object>) {
        let Some(value) = object else { return };
        let owners = Path::default().key("metadata").key("ownerReferences");
        loader.across.object(self.spot(loader), self.spot_of(loader, &owners), &value);
        let place = loader.source().place(self.node.at);
        loader.documents.objects.push(Placed { value, place });
    }

    /// Where its name stands.
    fn spot(&self, loader: &Loader<'s>) -> Spot {
        let name = self.node.get("metadata").and_then(|meta| meta.get("name"));
        Spot { file: loader.file_number(), at: name.unwrap_or(&self.node).at }
    }

    /// Where a field stands.
    fn spot_of(&self, loader: &Loader<'s>, path: &Path) -> Spot {
        Spot { file: loader.file_number(), at: self.node.place_of(&path.0) }
    }

    fn complain(&self, loader: &mut Loader<'s>, findings: Findings) {
        for finding in findings.0 {
            let at = self.node.place_of(&finding.path.0);
            loader.complain_of(|source| Problem::of_finding(source, at, &self.base, finding));
        }
    }

    fn problem(&self, loader: &Loader<'s>, path: &Path, code: ProblemCode, message: String) -> Problem {
        Problem::new(loader.source(), self.node.place_of(&path.0), self.base.join(path), code, message)
    }
}

/// Whether nothing is wrong, though something may be probably not meant.
fn are_doubts(findings: &Findings) -> bool {
    findings.0.iter().all(|found| found.code == ProblemCode::Doubtful)
}

/// Reads a node and complains of all that is wrong with it; `base` leads to it.
fn read_node<T: DeserializeOwned>(
    loader: &mut Loader<'_>,
    base: &Path,
    node: &mut Node<'_>,
    manner: Manner,
) -> Option<T> {
    let mut problems = Vec::new();
    let source = loader.source();
    let value = read::read(node, manner, |node, path, what| {
        problems.push(Problem::of_wrong(source, base, node, path, what));
    });
    problems.into_iter().for_each(|problem| loader.complain(problem));
    value
}

pub(super) fn check_name(findings: &mut Findings, metadata: &Path, name: &str) {
    if let Some(trouble) = name_trouble(name) {
        findings.invalid(metadata.key("name"), trouble).allowed(NAME_ALLOWED);
    }
}

pub(super) fn check_namespace(findings: &mut Findings, metadata: &Path, namespace: &str) {
    if let Some(trouble) = namespace_trouble(namespace).filter(|_| !namespace.is_empty()) {
        findings.invalid(metadata.key("namespace"), trouble).allowed(NAMESPACE_ALLOWED);
    }
}

/// A step on the way to a key, borrowed while the tree is walked.
#[derive(Clone, Copy)]
enum Crumb<'a> {
    Key(&'a str),
    Index(usize),
}

/// Keys that stand twice in a mapping, with the place of the second.
fn duplicates(node: &Node<'_>) -> Vec<(Path, u32)> {
    let mut found = Vec::new();
    look_for_duplicates(node, &mut Vec::new(), &mut found);
    found
}

fn look_for_duplicates<'a>(node: &'a Node<'_>, way: &mut Vec<Crumb<'a>>, found: &mut Vec<(Path, u32)>) {
    match &node.value {
        Value::Map(entries) => {
            // Few keys are compared with each other, many looked up.
            let mut known = (entries.len() > 16).then(FxHashSet::default);
            for (number, entry) in entries.iter().enumerate() {
                let is_twice = match &mut known {
                    Some(known) => !known.insert(&*entry.key),
                    None => entries[..number].iter().any(|other| other.key == entry.key),
                };
                way.push(Crumb::Key(&entry.key));
                if is_twice {
                    found.push((path_of(way), entry.key_at));
                }
                look_for_duplicates(&entry.node, way, found);
                way.pop();
            }
        }
        Value::List(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                way.push(Crumb::Index(index));
                look_for_duplicates(node, way, found);
                way.pop();
            }
        }
        _ => {}
    }
}

fn path_of(way: &[Crumb<'_>]) -> Path {
    let segment = |crumb: &Crumb<'_>| match crumb {
        Crumb::Key(key) => Segment::Key((*key).to_owned()),
        Crumb::Index(index) => Segment::Index(*index),
    };
    Path(way.iter().map(segment).collect())
}
