//! The bill of materials: every crate that is linked in, the libraries of the compiler and of C, and the roots, as CycloneDX.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::digest;
use super::origin::Origin;
use crate::workspace;

/// What goes into the program.
pub(super) struct Bill {
    /// The program's own crate comes first.
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    name: String,
    version: String,
    /// As SPDX writes it; empty where it is not told.
    license: String,
    /// What the registry says of its file; none of our own crates.
    sha256: Option<String>,
    /// The parts that it uses, by reference.
    uses: BTreeSet<String>,
}

impl Part {
    fn reference(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

impl Bill {
    /// Of what `cargo rustc --package=ballast` links on this machine.
    pub(super) fn of_here() -> Result<Self> {
        let told = workspace::cargo()
            .args(["tree", "--locked", "--package=ballast", "--edges=normal,no-proc-macro", "--prefix=depth"])
            .arg("--format= {p}\t{l}")
            .stdin(Stdio::null())
            .output()
            .context("cannot run cargo tree")?;
        ensure!(told.status.success(), "cargo tree: {}", String::from_utf8_lossy(&told.stderr));
        let lock = std::fs::read_to_string(workspace::root().join("Cargo.lock"))
            .context("cannot read Cargo.lock")?;
        Self::read(&String::from_utf8_lossy(&told.stdout), &lock)
    }

    /// From the tree that cargo prints, depth first, and the sums of the lock file.
    pub(super) fn read(tree: &str, lock: &str) -> Result<Self> {
        let sums = sums(lock);
        let mut parts: Vec<Part> = Vec::new();
        let mut above: Vec<String> = Vec::new();
        for line in tree.lines().filter(|line| !line.is_empty()) {
            let (depth, part) = read_line(line).with_context(|| format!("cargo tree says `{line}`"))?;
            above.truncate(depth);
            if let Some(user) =
                above.last().and_then(|user| parts.iter_mut().find(|part| part.reference() == *user))
            {
                user.uses.insert(part.reference());
            }
            above.push(part.reference());
            if parts.iter().all(|known| known.reference() != part.reference()) {
                let sha256 =
                    sums.get(&(part.name.as_str(), part.version.as_str())).map(|sum| (*sum).to_owned());
                parts.push(Part { sha256, ..part });
            }
        }
        ensure!(!parts.is_empty(), "cargo tree says nothing");
        let roots =
            sums.iter().find(|((name, _), _)| *name == "webpki-root-certs").context("no roots are locked")?;
        let ((name, version), sum) = roots;
        parts.push(Part {
            name: (*name).to_owned(),
            version: (*version).to_owned(),
            license: "CDLA-Permissive-2.0".to_owned(),
            sha256: Some((*sum).to_owned()),
            uses: BTreeSet::new(),
        });
        parts[1..].sort_by_key(Part::reference);
        parts.dedup();
        Ok(Self { parts })
    }

    /// Whether a folder of cargo's sources, `NAME-VERSION`, is that of a part.
    pub(super) fn names_folder(&self, folder: &str) -> bool {
        self.parts.iter().any(|part| folder == format!("{}-{}", part.name, part.version))
    }

    /// The document.
    pub(super) fn text(&self, program: &[u8], image: &str, origin: &Origin) -> Result<Vec<u8>> {
        let (own, others) = self.parts.split_first().context("the bill is empty")?;
        let mut subject = component(own);
        subject["type"] = json!("application");
        subject["hashes"] = hashes(&digest::hex(program));
        subject["properties"] = json!([
            {"name": "ballast:image", "value": image},
            {"name": "ballast:revision", "value": origin.revision},
        ]);
        let mut components: Vec<Value> = others.iter().map(component).collect();
        components.extend(libraries()?);
        let dependencies: Vec<Value> =
            self.parts.iter().map(|part| json!({"ref": part.reference(), "dependsOn": part.uses})).collect();
        let document = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": format!("urn:uuid:{}", digest::uuid(program)),
            "version": 1,
            "metadata": {"timestamp": origin.time()?, "component": subject},
            "components": components,
            "dependencies": dependencies,
        });
        let mut text = serde_json::to_vec_pretty(&document)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// A line such as `2 serde v1.0.228 (/a/folder)\tMIT OR Apache-2.0 (*)`.
fn read_line(line: &str) -> Option<(usize, Part)> {
    let (depth, rest) = line.split_once(' ')?;
    let (package, license) = rest.split_once('\t')?;
    let mut words = package.split_whitespace();
    let (name, version) = (words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned());
    let license = license.trim_end_matches(" (*)").trim().to_owned();
    Some((depth.parse().ok()?, Part { name, version, license, sha256: None, uses: BTreeSet::new() }))
}

/// The sum of every locked file, by name and version.
fn sums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let value = |block: &'_ str, key: &str| -> Option<(usize, usize)> {
        let from = block.find(&format!("\n{key} = \""))? + key.len() + 5;
        Some((from, from + block[from..].find('"')?))
    };
    let read = |block| -> Option<((&str, &str), &str)> {
        let block: &str = block;
        let part = |key| value(block, key).map(|(from, to)| &block[from..to]);
        Some(((part("name")?, part("version")?), part("checksum")?))
    };
    lock.split("[[package]]").filter_map(read).collect()
}

fn component(part: &Part) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": part.reference(),
        "name": part.name,
        "version": part.version,
        "purl": part.reference(),
    });
    if !part.license.is_empty() {
        // Older crates write `/` for `OR`.
        component["licenses"] = json!([{"expression": part.license.replace('/', " OR ")}]);
    }
    if let Some(sum) = &part.sha256 {
        component["hashes"] = hashes(sum);
    }
    component
}

fn hashes(sha256: &str) -> Value {
    json!([{"alg": "SHA-256", "content": sha256}])
}

/// What is linked in beside crates: no registry knows them, the compiler brings them or the machine has them.
fn libraries() -> Result<[Value; 2]> {
    let told =
        |program, arg| workspace::first_line(Command::new(program).arg(arg).current_dir(workspace::root()));
    let rustc = told("rustc", "--version").context("cannot tell the version of rustc")?;
    let libc = told("getconf", "GNU_LIBC_VERSION").context("cannot tell the version of the C library")?;
    let library = |name: &str, told: &str, license: &str| {
        let version = told.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let purl = format!("pkg:generic/{name}@{version}");
        json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
               "licenses": [{"expression": license}]})
    };
    Ok([library("rust-std", &rustc, "MIT OR Apache-2.0"), library("glibc", &libc, "LGPL-2.1-or-later")])
}
