//! What Ballast does not let others do through it.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use ballast_core::made_pod::{MadePod, Owner};
use ballast_core::observation::ErrorClass;
use ballast_core::policy::{ClusterPolicySpec, Tenant};
use ballast_core::procedure::Reply;
use ballast_e2e::cloud;
use ballast_e2e::cluster::Cluster;
use ballast_live::kubernetes::{Place, Pods, SeenPod};
use serde_json::{Value, json};

use crate::stage::{Stage, ballast as program};

#[test]
fn a_provider_is_asked_with_a_secret_of_ballasts_own_namespace_or_not_at_all() -> Result<()> {
    let stage = Stage::set()?;
    // The same in another namespace is not what is meant.
    stage.cluster.apply(&cloud::SECRET.replace("namespace: ballast", "namespace: default"))?;
    let secret = ["delete", "secret", "ballast-providers", "-n", "ballast"];
    ensure!(stage.cluster.kubectl(&secret)?.success);
    stage.cluster.apply(&stage.policies("Enforce"))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 1, "2")?;
    let why = "there is no `ballast-providers` in the namespace `ballast`";
    stage.cluster.wait(why, |_| Ok(ballast.log()?.contains(why)))?;
    let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].message}";
    stage
        .cluster
        .wait("the pool to say so", |cluster| {
            Ok(cluster.get(&["vmpool", "workers", "-o", ready])?.contains("what `provider.bearer` names"))
        })
        .with_context(|| ballast.last_lines())?;
    ensure!(stage.cloud.machines().shown.is_empty(), "the cloud was asked");
    stage.cluster.apply(&cloud::SECRET.replace("cloud:", "another:"))?;
    let why = "`ballast-providers` in the namespace `ballast` has no key `cloud`";
    stage.cluster.wait(why, |_| Ok(ballast.log()?.contains(why)))?;
    ensure!(stage.cloud.machines().shown.is_empty(), "the cloud was asked");

    stage.cluster.apply(cloud::SECRET)?;
    stage.settles("web", 1, 1, &ballast)?;
    // Another one is taken up as soon as the cloud refuses the old.
    stage.cluster.apply(&cloud::SECRET.replace(cloud::TOKEN, "the-next"))?;
    stage.cloud.machines().demands = Some("the-next".to_owned());
    stage.deployment("web", 3, "2")?;
    stage.settles("web", 3, 2, &ballast)?;
    let shown = stage.cloud.machines().shown.clone();
    ensure!(shown == [format!("Bearer {}", cloud::TOKEN), "Bearer the-next".to_owned()], "{shown:?}");
    Ok(())
}

/// Says what namespaces may do.
fn bound(stage: &Stage, tenant: &Value) -> Result<()> {
    let patch = json!({"spec": {"tenants": [tenant]}}).to_string();
    let told = stage.cluster.kubectl(&["patch", "clusterpolicy", "cluster", "--type=merge", "-p", &patch])?;
    ensure!(told.success, "{}", told.error);
    Ok(())
}

/// What the ClusterPolicy says of namespaces.
fn told(stage: &Stage) -> Result<String> {
    stage.cluster.get(&["clusterpolicy", "cluster", "-o", "jsonpath={.status.tenants}"])
}

#[test]
fn a_namespace_raises_within_its_quota_and_keeps_nodes_up_to_its_cap() -> Result<()> {
    let stage = Stage::set()?;
    stage.cluster.apply(&stage.policies("Enforce"))?;
    bound(&stage, &json!({"namespaces": ["default"], "quota": {"cpu": "4"}}))?;
    let ballast = stage.ballast("one")?;
    stage.deployment("web", 3, "1900m")?;
    stage.settles("web", 2, 1, &ballast)?;
    let why = "no node is started for it: beyond the quota of cpu of its namespace";
    stage.cluster.wait("the pod to be told", |cluster| {
        Ok(cluster.get(&["events", "-o", "jsonpath={.items[*].note}{.items[*].message}"])?.contains(why))
    })?;
    let mut plan = Command::new(program()?);
    plan.args(["plan", "--namespace", "ballast", "--kubeconfig"]).arg(stage.cluster.kubeconfig("admin"));
    let plan = String::from_utf8_lossy(&plan.output()?.stdout).into_owned();
    ensure!(plan.contains("beyond the quota of cpu"), "{plan}");
    ensure!(stage.cloud.running() == 1, "a machine was started beyond the quota");
    bound(&stage, &json!({"namespaces": ["default"], "quota": {"cpu": "8"}}))?;
    stage.settles("web", 3, 2, &ballast)?;

    // One pod is left on each machine, and says that nobody shall disrupt it.
    let keep = ["annotate", "pods", "-l", "app=web", "ballast.dev/do-not-disrupt=true"];
    ensure!(stage.cluster.kubectl(&keep)?.success);
    stage.deployment("web", 2, "1900m")?;
    let both = r#"[{"namespace":"default","protectedNodes":2}]"#;
    stage
        .cluster
        .wait("both nodes to be kept", |_| Ok(stage.running("web")? == 2 && told(&stage)? == both))
        .with_context(|| format!("{:?}\n{}", told(&stage), ballast.last_lines()))?;
    ensure!(stage.cloud.running() == 2, "a node that is kept went");
    bound(&stage, &json!({"namespaces": ["default"], "protectedNodes": 1}))?;
    stage.settles("web", 2, 1, &ballast)?;
    let one = r#"[{"cap":1,"namespace":"default","protectedNodes":1}]"#;
    stage
        .cluster
        .wait("the cap to be told", |_| Ok(told(&stage)? == one))
        .with_context(|| format!("{:?}", told(&stage)))
}

/// A pod for a document, with an account.
fn a_pod(owner: &Owner, account: &str, context: Value) -> MadePod {
    let spec = json!({
        "serviceAccountName": account,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "image": "none", "securityContext": context}],
    });
    MadePod { name: "worker-1".into(), owner: owner.clone(), labels: Default::default(), spec }
}

/// The class and the words of a refusal.
fn refused(reply: &Reply) -> Result<(ErrorClass, &str)> {
    let Reply::Failed(error) = reply else { anyhow::bail!("{reply:?} is no refusal") };
    Ok((error.class, &*error.message))
}

#[test]
fn a_pod_is_made_for_its_document_within_bounds_and_deleted_as_it_was_seen() -> Result<()> {
    let cluster = Cluster::start()?;
    cluster.apply(
        "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {pod-security.kubernetes.io/enforce: restricted}}}\n---\n\
         {apiVersion: v1, kind: ServiceAccount, metadata: {name: worker, namespace: team}}\n---\n\
         {apiVersion: v1, kind: ServiceAccount, metadata: {name: admin, namespace: team}}\n---\n\
         {apiVersion: v1, kind: ConfigMap, metadata: {name: jhub, namespace: team}}",
    )?;
    cluster.wait("the account of the namespace", |cluster| {
        Ok(cluster.kubectl(&["get", "serviceaccount", "default", "-n", "team"])?.success)
    })?;
    ballast_live::install_crypto();
    let runtime = tokio::runtime::Runtime::new()?;
    let place = Place { kubeconfig: Some(cluster.kubeconfig("admin")), context: None };
    let pods = Pods::new(runtime.block_on(place.connect())?.client);
    // Any object of the namespace can own a pod; the documents to come are such.
    let uid = cluster.get(&["configmap", "jhub", "-n", "team", "-o", "jsonpath={.metadata.uid}"])?;
    let owner = Owner {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "team".into(),
        name: "jhub".into(),
        uid: uid.as_str().into(),
    };
    let tenant = Tenant { service_accounts: vec!["worker".into()], ..Tenant::default() };
    let policy = ClusterPolicySpec { tenants: vec![tenant], ..ClusterPolicySpec::default() };
    let tight = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let make = |pod: &MadePod| runtime.block_on(pods.make(pod, &policy));

    let bare = make(&a_pod(&owner, "worker", json!({"privileged": true})));
    let (class, words) = refused(&bare)?;
    ensure!(class == ErrorClass::Invalid && words.contains("`c` is privileged"), "{words}");
    let other = make(&a_pod(&owner, "admin", tight.clone()));
    ensure!(refused(&other)?.1.contains("does not list the account `admin`"), "{other:?}");
    ensure!(cluster.get(&["pods", "-n", "team", "-o", "name"])?.is_empty(), "a pod was made");

    let good = a_pod(&owner, "worker", tight);
    ensure!(make(&good) == Reply::Done, "it is not made");
    let field =
        |path: &str| cluster.get(&["pod", "worker-1", "-n", "team", "-o", &format!("jsonpath={{{path}}}")]);
    ensure!(
        field(".metadata.ownerReferences[0].uid")? == uid && field(".spec.serviceAccountName")? == "worker"
    );
    ensure!(refused(&make(&good))?.0 == ErrorClass::Conflict, "a second of the same name");

    let seen = SeenPod {
        namespace: "team".into(),
        name: "worker-1".into(),
        uid: field(".metadata.uid")?.as_str().into(),
        resource_version: field(".metadata.resourceVersion")?.as_str().into(),
    };
    let delete = |pod: &SeenPod| runtime.block_on(pods.delete(pod));
    let another = SeenPod { uid: "another".into(), ..seen.clone() };
    ensure!(refused(&delete(&another))?.0 == ErrorClass::Conflict, "another of the same name");
    ensure!(cluster.kubectl(&["label", "pod", "worker-1", "-n", "team", "busy=yes"])?.success);
    ensure!(refused(&delete(&seen))?.0 == ErrorClass::Conflict, "it has changed since");
    // The scheduler writes into it as well: what was seen may have passed before it is told.
    cluster.wait("the pod to be deleted", |_| {
        let version = field(".metadata.resourceVersion")?;
        Ok(delete(&SeenPod { resource_version: version.as_str().into(), ..seen.clone() }) == Reply::Done)
    })?;
    ensure!(!cluster.kubectl(&["get", "pod", "worker-1", "-n", "team"])?.success, "it is still there");
    Ok(())
}
