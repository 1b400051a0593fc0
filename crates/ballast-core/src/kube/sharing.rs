//! Kubernetes objects as they are kept: small, and with equal parts shared.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Labels, Meta, Name, Pod, PodSpec, PodTemplate, is_read};

/// Bytes beyond which an annotation that nobody reads is not kept: what others keep there can be large.
const KEPT_BYTES_MAX: usize = 4096;

/// Equal parts of objects, each kept once.
#[derive(Debug, Default)]
pub struct Sharing {
    specs: FxHashSet<Arc<PodSpec>>,
    labels: FxHashSet<Arc<Labels>>,
    names: FxHashSet<Name>,
}

impl Sharing {
    /// Moves the node's name out of the spec, so that pods of one template have one spec, and shares it.
    pub fn pod(&mut self, pod: &mut Pod) {
        let spec = Arc::make_mut(&mut pod.spec);
        let node = std::mem::take(&mut spec.node_name);
        pod.node_name = self.name(node);
        pod.spec = self.spec(std::mem::take(&mut pod.spec));
    }

    /// Shares what a template gives its pods.
    pub fn template(&mut self, template: &mut PodTemplate) {
        self.meta(&mut template.template.metadata);
        template.template.spec = self.spec(std::mem::take(&mut template.template.spec));
    }

    /// Shares a spec.
    pub(crate) fn spec(&mut self, spec: Arc<PodSpec>) -> Arc<PodSpec> {
        share(&mut self.specs, spec)
    }

    /// Drops what is large and never read of metadata, and shares the rest.
    pub fn meta(&mut self, meta: &mut Meta) {
        let is_idle = |(key, value): (&Name, &Name)| value.len() > KEPT_BYTES_MAX && !is_read(key);
        if meta.annotations.iter().any(is_idle) {
            Arc::make_mut(&mut meta.annotations).retain(|key, value| !is_idle((key, value)));
        }
        meta.labels = share(&mut self.labels, std::mem::take(&mut meta.labels));
        meta.annotations = share(&mut self.labels, std::mem::take(&mut meta.annotations));
        meta.namespace = self.name(std::mem::take(&mut meta.namespace));
        for owner in &mut meta.owner_references {
            owner.kind = self.name(std::mem::take(&mut owner.kind));
            owner.name = self.name(std::mem::take(&mut owner.name));
            owner.uid = self.name(std::mem::take(&mut owner.uid));
        }
    }

    /// Lets go of what no object has any more; for whoever shares for a long time.
    pub fn forget_unused(&mut self) {
        self.specs.retain(|spec| Arc::strong_count(spec) > 1);
        self.labels.retain(|labels| Arc::strong_count(labels) > 1);
        self.names.retain(|name| Arc::strong_count(name) > 1);
    }

    fn name(&mut self, name: Name) -> Name {
        share(&mut self.names, name)
    }
}

fn share<T: std::hash::Hash + Eq + ?Sized>(known: &mut FxHashSet<Arc<T>>, value: Arc<T>) -> Arc<T> {
    if let Some(shared) = known.get(&value) {
        return shared.clone();
    }
    known.insert(value.clone());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_goes_only_where_nobody_reads_it() {
        let large: Name = "x".repeat(KEPT_BYTES_MAX + 1).into();
        let keys =
            ["small", "kubectl.kubernetes.io/last-applied-configuration", "karpenter.sh/do-not-disrupt"];
        let value = |key: &str| if key == "small" { "kept".into() } else { large.clone() };
        let annotations = keys.map(|key| (key.into(), value(key)));
        let mut meta = Meta { annotations: Arc::new(annotations.into()), ..Meta::default() };
        Sharing::default().meta(&mut meta);
        assert_eq!(keys.map(|key| meta.annotation(key).is_some()), [true, false, true]);
    }
}
