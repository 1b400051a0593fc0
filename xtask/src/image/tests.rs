//! Of a small file in place of the program: the suite `ship` makes the image of the real one.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::Result;
use serde_json::Value;

use super::bill::Bill;
use super::origin::Origin;
use super::{archive, digest, layer, roots};

const PROGRAM: &[u8] = b"the program";

fn origin() -> Origin {
    Origin { version: "1.2.3", revision: "abc".to_owned(), seconds: 1_700_000_000 }
}

fn packed() -> Result<(Vec<u8>, String)> {
    archive::pack(&layer::pack(PROGRAM, &origin())?, &origin())
}

/// The files of a tar file with their bytes, and what an engine sees of each.
fn files(tar: &[u8]) -> Result<BTreeMap<String, (Vec<u8>, String)>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let (path, header) = (entry.path()?.display().to_string(), entry.header().clone());
        let owner = format!("{:o} {}:{} {}", header.mode()?, header.uid()?, header.gid()?, header.mtime()?);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(path, (bytes, owner));
    }
    Ok(files)
}

#[test]
fn the_same_files_give_the_same_bytes() -> Result<()> {
    assert_eq!(packed()?, packed()?);
    let later = Origin { seconds: 1_700_000_001, ..origin() };
    assert_ne!(packed()?.0, archive::pack(&layer::pack(PROGRAM, &later)?, &later)?.0);
    Ok(())
}

#[test]
fn the_layer_holds_the_program_and_the_roots_and_nothing_else() -> Result<()> {
    let files = files(&layer::pack(PROGRAM, &origin())?)?;
    let seen: Vec<(&str, &str)> =
        files.iter().map(|(path, (_, owner))| (path.as_str(), owner.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("ballast", "755 0:0 1700000000"),
            ("etc/", "755 0:0 1700000000"),
            ("etc/ssl/", "755 0:0 1700000000"),
            ("etc/ssl/certs/", "755 0:0 1700000000"),
            ("etc/ssl/certs/ca-certificates.crt", "644 0:0 1700000000"),
        ]
    );
    assert_eq!(files["ballast"].0, PROGRAM);
    Ok(())
}

#[test]
fn the_roots_are_certificates() {
    let all = pem::parse_many(roots::pem()).expect("PEM");
    assert!(all.len() > 100, "{} roots", all.len());
    assert!(all.iter().all(|root| root.tag() == "CERTIFICATE" && root.contents().starts_with(&[0x30, 0x82])));
}

#[test]
fn digests_are_of_what_they_name() -> Result<()> {
    let (archive, image) = packed()?;
    let files = files(&archive)?;
    let read = |path: &str| -> Result<Value> { Ok(serde_json::from_slice(&files[path].0)?) };
    let blob =
        |of: &Value| format!("blobs/{}", of["digest"].as_str().unwrap_or_default().replacen(':', "/", 1));
    let mut blobs: Vec<&str> = Vec::new();
    for (path, (bytes, _)) in
        files.iter().filter(|(path, _)| path.starts_with("blobs/sha256/") && !path.ends_with('/'))
    {
        assert_eq!(*path, format!("blobs/sha256/{}", digest::hex(bytes)));
        blobs.push(path);
    }
    let index = read("index.json")?;
    assert_eq!(index["manifests"].as_array().map(Vec::len), Some(1));
    let entry = &index["manifests"][0];
    assert_eq!(entry["digest"], image.as_str());
    let manifest = read(&blob(entry))?;
    let config = read(&blob(&manifest["config"]))?;
    let layer = &manifest["layers"][0];
    assert_eq!(config["rootfs"]["diff_ids"][0], layer["digest"]);
    let mut named = [blob(entry), blob(&manifest["config"]), blob(layer)];
    named.sort();
    assert_eq!(blobs, named);
    for of in [entry, &manifest["config"], layer] {
        assert_eq!(of["size"], files[&blob(of)].0.len());
    }
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["created"], "2023-11-14T22:13:20Z");
    Ok(())
}

const TREE: &str = "0 ballast v1.2.3 (/a/crates/ballast)\tApache-2.0\n\
    1 serde v1.0.228\tMIT OR Apache-2.0\n2 serde_core v1.0.228\tMIT OR Apache-2.0\n\
    1 odd v0.1.0\tMIT/Apache-2.0\n2 serde_core v1.0.228\tMIT OR Apache-2.0 (*)\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.228\"\nsource = \"r\"\nchecksum = \"9a\"\n\n\
    [[package]]\nname = \"webpki-root-certs\"\nversion = \"1.0.11\"\nsource = \"r\"\nchecksum = \"e4\"\n";

#[test]
fn the_bill_tells_what_is_linked_by_whom_and_under_which_licence() -> Result<()> {
    let bill: Value =
        serde_json::from_slice(&Bill::read(TREE, LOCK)?.text(PROGRAM, "sha256:00", &origin())?)?;
    let of = |name: &str| {
        let components = bill["components"].as_array().into_iter().flatten();
        components.clone().find(|part| part["name"] == name).cloned().unwrap_or_default()
    };
    assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], digest::hex(PROGRAM).as_str());
    assert_eq!(of("serde")["hashes"][0]["content"], "9a");
    assert_eq!(of("odd")["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert_eq!(of("webpki-root-certs")["purl"], "pkg:cargo/webpki-root-certs@1.0.11");
    assert!(of("glibc")["version"].as_str().is_some_and(|version| version.starts_with('2')));
    let uses = |name: &str| {
        let all = bill["dependencies"].as_array().into_iter().flatten();
        all.clone()
            .find(|part| part["ref"] == name)
            .map(|part| part["dependsOn"].to_string())
            .unwrap_or_default()
    };
    assert_eq!(uses("pkg:cargo/ballast@1.2.3"), r#"["pkg:cargo/odd@0.1.0","pkg:cargo/serde@1.0.228"]"#);
    assert_eq!(uses("pkg:cargo/odd@0.1.0"), r#"["pkg:cargo/serde_core@1.0.228"]"#);
    Ok(())
}

#[test]
fn the_bill_of_this_tree_names_what_no_ballast_is_without() -> Result<()> {
    let bill = Bill::of_here()?;
    let lock = include_str!("../../../Cargo.lock");
    for name in ["kube-client", "ring", "rustls", "serde_json", "tokio"] {
        let block = lock.split("[[package]]").find(|block| block.contains(&format!("\nname = \"{name}\"\n")));
        let version = block.and_then(|block| block.split("version = \"").nth(1)?.split('"').next());
        let folder = format!("{name}-{}", version.unwrap_or_default());
        assert!(bill.names_folder(&folder), "{folder}");
    }
    assert!(!bill.names_folder("proptest-1.0.0"));
    Ok(())
}
