//! The image as an OCI layout in a tar file, which container engines and registry tools read.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tar::{Builder, EntryType};

use super::origin::Origin;
use super::{digest, layer};

/// Nobody: no file of the image and no process on a node is theirs.
const USER: &str = "65532:65532";

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The archive of an image with this layer, and the digest of the image.
pub(super) fn pack(layer: &[u8], origin: &Origin) -> Result<(Vec<u8>, String)> {
    let platform = json!({"architecture": architecture(), "os": "linux"});
    let config = serde_json::to_vec(&config(layer, origin)?)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob(CONFIG, &config),
        "layers": [blob(LAYER, layer)],
    });
    let manifest = serde_json::to_vec(&manifest)?;
    let mut entry = blob(MANIFEST, &manifest);
    entry["platform"] = platform;
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": origin.version});
    // One image alone: engines that load an archive ask which one where there are more.
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});

    let mut files = vec![
        ("index.json".to_owned(), serde_json::to_vec(&index)?),
        ("oci-layout".to_owned(), serde_json::to_vec(&json!({"imageLayoutVersion": "1.0.0"}))?),
    ];
    for bytes in [&manifest, &config, layer] {
        files.push((format!("blobs/sha256/{}", digest::hex(bytes)), bytes.to_vec()));
    }
    files.sort();
    let mut tar = Builder::new(Vec::new());
    for folder in ["blobs/", "blobs/sha256/"] {
        layer::add(&mut tar, folder, EntryType::Directory, &[], origin)?;
    }
    for (path, bytes) in &files {
        layer::add(&mut tar, path, EntryType::Regular, bytes, origin)?;
    }
    Ok((tar.into_inner().context("cannot end the archive")?, digest::name(&manifest)))
}

fn blob(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest::name(bytes), "size": bytes.len()})
}

fn config(layer: &[u8], origin: &Origin) -> Result<Value> {
    let created = origin.time()?;
    Ok(json!({
        "created": created,
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "User": USER,
            "WorkingDir": "/",
            "Entrypoint": [format!("/{}", layer::PROGRAM)],
            "Cmd": ["run"],
            "Labels": {
                "org.opencontainers.image.title": "ballast",
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.version": origin.version,
                "org.opencontainers.image.revision": origin.revision,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [digest::name(layer)]},
        "history": [{"created": created, "created_by": "cargo xtask image"}],
    }))
}

/// What OCI calls the machines that we build on.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
