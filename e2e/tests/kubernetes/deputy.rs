//! What Ballast does not let others do through it.

use anyhow::{Context, Result, ensure};
use ballast_e2e::cloud;

use crate::stage::Stage;

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
