//! What a RayScaler may say.

use super::{Findings, Path, shared};
use crate::documents::printable;
use crate::policy::RayScalerSpec;

pub(in crate::documents) fn ray_scaler(spec: &RayScalerSpec, found: &mut Findings) {
    let path = Path::default().key("spec");
    shared::selector(found, &path.key("selector"), &spec.selector);
    shared::namespaces(found, &path.key("namespaces"), &spec.namespaces);
    shared::positive(found, path.key("period"), spec.period);
    if let Some(workers) = spec.defaults.max_workers {
        shared::count(found, path.key("defaults").key("maxWorkers"), workers);
    }
    for (index, group) in spec.groups.iter().enumerate() {
        let path = path.key("groups").index(index).key("name");
        if group.name.is_empty() {
            found.missing(path, "the name is empty");
        } else if spec.groups[..index].iter().any(|other| other.name == group.name) {
            found.contradiction(path, format!("the group `{}` stands twice", printable(&group.name, 60)));
        }
    }
    if spec.gcs.port == 0 {
        found.invalid(path.key("gcs").key("port"), "0 is not a port").allowed("from 1 to 65535");
    }
    shared::positive(found, path.key("gcs").key("timeout"), spec.gcs.timeout);
    if let Some(token) = &spec.gcs.token {
        shared::secret(found, &path.key("gcs").key("token"), token);
    }
    if spec.launch.concurrent == 0 {
        let path = path.key("launch").key("concurrent");
        found
            .invalid(path, "no worker could ever start")
            .allowed("from 1 up")
            .help("to stop growth, use `pause`");
    }
    shared::positive(found, path.key("launch").key("deadline"), spec.launch.deadline);
}
