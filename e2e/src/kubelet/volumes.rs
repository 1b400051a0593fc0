//! The volumes of a pod: folders on the host with what is in them, and where containers see them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ballast_core::units::Quantity;
use k8s_openapi::api::core::v1::{
    Container, DownwardAPIVolumeFile, KeyToPath, PodSpec, Volume, VolumeProjection,
};

use super::environment::Environment;
use super::lookup::{Lookup, Values};
use super::sandbox::{Mount, Sandbox};

/// What files of volumes may be used for, unless something else is said.
const MODE: i32 = 0o644;

/// A file of a volume.
struct Entry {
    path: String,
    bytes: Vec<u8>,
    mode: Option<i32>,
}

/// Makes the folders of a pod before its sandbox, with a list of those that the sandbox has to make in memory.
pub(super) fn prepare(folder: &Path, spec: &PodSpec) -> Result<()> {
    for name in ["layers", "shm", "volumes"] {
        fs::create_dir_all(folder.join(name)).context("cannot make the folder of a pod")?;
    }
    let group = group_of(spec);
    let mut in_memory = String::new();
    for volume in spec.volumes.iter().flatten() {
        let path = path_of(folder, &volume.name);
        fs::create_dir_all(&path).context("cannot make the folder of a volume")?;
        let Some(empty) = &volume.empty_dir else { continue };
        if empty.medium.as_deref() == Some("Memory") {
            let size = match &empty.size_limit {
                Some(limit) => format!(",size={}", limit.0.parse::<Quantity>()?.units()),
                None => String::new(),
            };
            in_memory.push_str(&format!("{}\tmode=2777,gid={}{size}\n", path.display(), group.unwrap_or(0)));
        } else {
            own(&path, 0o2777, group)?;
        }
    }
    fs::write(folder.join("memory"), in_memory).context("cannot write the folder of a pod")
}

/// Writes what is in the volumes of a pod.
///
/// # Errors
///
/// When something that is referred to is not there, yet.
pub(super) async fn fill(folder: &Path, spec: &PodSpec, lookup: &Lookup) -> Result<()> {
    for volume in spec.volumes.iter().flatten() {
        let (entries, default) = entries(volume, spec, lookup)
            .await
            .with_context(|| format!("MountVolume.SetUp failed for volume {:?}", volume.name))?;
        for entry in entries {
            let path = path_of(folder, &volume.name).join(&entry.path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).context("cannot make a folder in a volume")?;
            }
            fs::write(&path, &entry.bytes).context("cannot write a file of a volume")?;
            let group = group_of(spec);
            let mode = entry.mode.or(default).unwrap_or(MODE) | if group.is_some() { 0o440 } else { 0 };
            own(&path, mode as u32, group)?;
        }
    }
    Ok(())
}

/// What a container sees of the volumes, outer places before inner ones.
pub(super) fn mounts(
    folder: &Path,
    spec: &PodSpec,
    container: &Container,
    environment: &Environment,
    sandbox: &Sandbox,
) -> Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    for mount in container.volume_mounts.iter().flatten() {
        let volume = spec.volumes.iter().flatten().find(|volume| volume.name == mount.name);
        let can_write = volume.is_some_and(|volume| volume.empty_dir.is_some());
        let mut source = path_of(folder, &mount.name);
        let expanded = mount.sub_path_expr.as_ref().map(|expression| environment.expand(expression));
        if let Some(below) = expanded.as_ref().or(mount.sub_path.as_ref()) {
            source = source.join(below);
            let inside = sandbox.inside(&source);
            if !inside.exists() {
                fs::create_dir_all(&inside).context("cannot make a folder in a volume")?;
            }
        }
        let writable = can_write && mount.read_only != Some(true);
        mounts.push(Mount { source, target: mount.mount_path.clone(), writable });
    }
    mounts.sort_by_key(|mount| mount.target.len());
    Ok(mounts)
}

async fn entries(volume: &Volume, spec: &PodSpec, lookup: &Lookup) -> Result<(Vec<Entry>, Option<i32>)> {
    if let Some(map) = &volume.config_map {
        let values = lookup.config_map(&map.name, map.optional).await?;
        return Ok((chosen(values, map.items.as_deref(), map.optional)?, map.default_mode));
    }
    if let Some(secret) = &volume.secret {
        let name = secret.secret_name.as_deref().context("a Secret without a name")?;
        let values = lookup.secret(name, secret.optional).await?;
        return Ok((chosen(values, secret.items.as_deref(), secret.optional)?, secret.default_mode));
    }
    if let Some(downward) = &volume.downward_api {
        let files = downward.items.as_deref().unwrap_or_default();
        return Ok((downward_files(files, spec, lookup).await?, downward.default_mode));
    }
    let mut entries = Vec::new();
    let projected = volume.projected.clone().unwrap_or_default();
    for source in projected.sources.iter().flatten() {
        entries.extend(projection(source, spec, lookup).await?);
    }
    Ok((entries, projected.default_mode))
}

async fn projection(source: &VolumeProjection, spec: &PodSpec, lookup: &Lookup) -> Result<Vec<Entry>> {
    if let Some(map) = &source.config_map {
        let values = lookup.config_map(&map.name, map.optional).await?;
        return chosen(values, map.items.as_deref(), map.optional);
    }
    if let Some(secret) = &source.secret {
        let values = lookup.secret(&secret.name, secret.optional).await?;
        return chosen(values, secret.items.as_deref(), secret.optional);
    }
    if let Some(downward) = &source.downward_api {
        return downward_files(downward.items.as_deref().unwrap_or_default(), spec, lookup).await;
    }
    let token = source.service_account_token.as_ref().context("a projection of nothing")?;
    let bytes = lookup.token(token.audience.as_deref(), token.expiration_seconds).await?;
    Ok(vec![Entry { path: token.path.clone(), bytes, mode: None }])
}

/// All keys, or those that are named, under the names that they are given.
fn chosen(values: Option<Values>, items: Option<&[KeyToPath]>, optional: Option<bool>) -> Result<Vec<Entry>> {
    let mut values = values.unwrap_or_default();
    let Some(items) = items else {
        let entry = |(path, bytes)| Entry { path, bytes, mode: None };
        return Ok(values.into_iter().map(entry).collect());
    };
    let mut entries = Vec::new();
    for item in items {
        match values.remove(&item.key) {
            Some(bytes) => entries.push(Entry { path: item.path.clone(), bytes, mode: item.mode }),
            None if optional == Some(true) => {}
            None => anyhow::bail!("references non-existent key: {}", item.key),
        }
    }
    Ok(entries)
}

async fn downward_files(
    files: &[DownwardAPIVolumeFile],
    spec: &PodSpec,
    lookup: &Lookup,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in files {
        let text = match (&file.field_ref, &file.resource_field_ref) {
            (Some(field), _) => lookup.field(field)?,
            (None, Some(resource)) => {
                let any = spec.containers.first().context("a pod without containers")?;
                lookup.resource(any, resource).await?
            }
            (None, None) => anyhow::bail!("a file whose text comes from nowhere"),
        };
        entries.push(Entry { path: file.path.clone(), bytes: text.into_bytes(), mode: file.mode });
    }
    Ok(entries)
}

fn group_of(spec: &PodSpec) -> Option<u32> {
    spec.security_context.as_ref()?.fs_group.and_then(|group| u32::try_from(group).ok())
}

fn path_of(folder: &Path, volume: &str) -> PathBuf {
    folder.join("volumes").join(volume)
}

fn own(path: &Path, mode: u32, group: Option<u32>) -> Result<()> {
    if group.is_some() {
        chown(path, None, group).context("cannot give a volume to its group")?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).context("cannot set the mode of a volume")
}
