//! What may be asked for: resources that there are, and devices as a whole.

use std::collections::BTreeMap;

use super::{Findings, Path};
use crate::documents::{printable, suggest};
use crate::kube::Name;
use crate::resources::is_gpu;
use crate::units::Quantity;

/// The resources that have no domain in front.
const PLAIN: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pods"];
/// Families of them.
const FAMILIES: [&str; 2] = ["hugepages-", "attachable-volumes-"];

/// Names of resources: Kubernetes refuses one that it does not know and that has no domain in front.
pub(super) fn names(found: &mut Findings, path: &Path, amounts: &BTreeMap<Name, Quantity>) {
    for name in amounts.keys().filter(|name| !is_name(name)) {
        let finding =
            found.invalid(path.key(name), format!("there is no resource `{}`", printable(name, 60)));
        // Of all plain names `cpu` would be the nearest to `gpu`.
        let is_device = name.to_ascii_lowercase().contains("gpu");
        let meant = if is_device { Some("nvidia.com/gpu") } else { suggest::nearest(name, PLAIN) };
        finding.help(match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "one of a vendor has a domain in front, such as `example.com/fpga`".to_owned(),
        });
    }
}

/// Requests of a pod: good names, and GPUs as a whole; `share` is the field in which a part of one is written.
pub(super) fn requests(found: &mut Findings, path: &Path, amounts: &BTreeMap<Name, Quantity>, share: &str) {
    names(found, path, amounts);
    for (name, amount) in amounts.iter().filter(|(name, amount)| is_part_of_device(name, **amount)) {
        let message = format!("{} is no whole number of GPUs", amount.as_f64());
        let finding = found.invalid(path.key(name), message);
        finding.help(match amount.milli() {
            milli @ 1..1000 => {
                format!("a share of one GPU is told in thousandths: write `{share}: {milli}` instead")
            }
            _ => "write a whole number".to_owned(),
        });
    }
}

/// Whether [`requests`] would complain.
pub(super) fn is_odd(name: &str, amount: Quantity) -> bool {
    !is_name(name) || is_part_of_device(name, amount)
}

/// Whether Kubernetes would take a name.
pub(super) fn is_name(name: &str) -> bool {
    name.contains('/') || PLAIN.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

fn is_part_of_device(name: &str, amount: Quantity) -> bool {
    is_gpu(name) && amount.milli() % 1000 != 0
}
