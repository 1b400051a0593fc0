//! Annotations: which of them anybody reads, and how large they may be.

/// Bytes that all annotations of an object may have, keys and values, as the API server counts them.
pub(crate) const ANNOTATIONS_BYTES_MAX: usize = 256 << 10;

/// Beginnings of the annotations that decisions read. Others may hold anything: `kubectl apply` keeps whole objects there,
/// secrets in their environment included.
const READ: [&str; 11] = [
    "alibabacloud.com/gpu-",
    "autoscaling.x-k8s.io/",
    "ballast.dev/",
    "cluster-autoscaler.kubernetes.io/",
    "controller.kubernetes.io/pod-deletion-cost",
    "gpu-fraction",
    "karpenter.sh/",
    "kubernetes.io/config.mirror",
    "kueue.x-k8s.io/",
    "scheduling.",
    "storageclass.",
];

/// Whether decisions may read an annotation.
pub(crate) fn is_read(key: &str) -> bool {
    READ.iter().any(|start| key.starts_with(start))
}
