//! The page of what is asked of the Kubernetes API.

use ballast_live::kubernetes::access::{ACCESS, Access, Scope};

/// The page.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# Access\n\nWritten by `cargo xtask generate` from the program itself. This is all that `ballast run` asks of the \
         Kubernetes API, and all that its roles grant: a test holds what is granted against what the audit log of a real API \
         server says was asked for. One Secret is read, by its name, and only where a pool names it; nothing is deleted, nothing is \
         granted by a wildcard. `ballast roles --mode MODE` prints the roles; those for the namespace `ballast` are in [deploy/rbac](../../deploy/rbac).\n\n\
         | from mode | where | group | resource | verbs | only | what for |\n|---|---|---|---|---|---|---|\n",
    );
    for Access { group, resources, verbs, names, scope, from, why } in ACCESS {
        let place = match scope {
            Scope::Cluster => "the cluster",
            Scope::Own => "Ballast's own namespace",
        };
        let verbs: Vec<&str> = verbs.iter().map(|verb| verb.word()).collect();
        text.push_str(&format!(
            "| {from:?} | {place} | {} | {} | {} | {} | {why} |\n",
            named(&[group]),
            named(resources),
            verbs.join(", "),
            named(names),
        ));
    }
    text.push_str(
        "\nThe right to create cannot be restricted by name. So the Lease `ballast` and the ConfigMaps `ballast-ledger` and \
         `ballast-history` are made by the chart and the manifest, empty, and Ballast may only write into them: where one is \
         missing it does not lead, and its log says what to install. Commands that look at a cluster, such as `ballast status`, \
         ask with the rights of whoever runs them: who may not read the Secret that a pool names is not told its machines.\n",
    );
    text
}

fn named(words: &[&str]) -> String {
    let words: Vec<String> =
        words.iter().filter(|word| !word.is_empty()).map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
