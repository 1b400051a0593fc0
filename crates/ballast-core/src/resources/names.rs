//! Which dimension of the vector a resource name has.

use crate::kube::Name;

use super::{DIMENSIONS, Resources};

/// Where the amount of a resource name goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Into the vector.
    At(usize),
    /// To the GPU devices.
    Gpu,
    /// Nowhere: more kinds are asked for than the model holds.
    Unmodelled,
}

/// The resource names of one cluster, in the order in which they were met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceNames {
    fixed: [Name; Resources::FIRST_EXTENDED],
    extended: Vec<Name>,
}

impl Default for ResourceNames {
    fn default() -> Self {
        let fixed = ["cpu", "memory", "pods", "ephemeral-storage", "gpu", "gpu share"];
        Self { fixed: fixed.map(Name::from), extended: Vec::new() }
    }
}

/// Whether a resource name stands for whole GPU devices.
pub fn is_gpu(name: &str) -> bool {
    matches!(name, "nvidia.com/gpu" | "amd.com/gpu" | "gpu.intel.com/i915" | "gpu.intel.com/xe")
}

impl ResourceNames {
    /// The dimension of a name, given one if it has none yet.
    pub fn intern(&mut self, name: &Name) -> Dimension {
        match self.find(name) {
            Some(dimension) => dimension,
            None if Resources::FIRST_EXTENDED + self.extended.len() < DIMENSIONS => {
                self.extended.push(name.clone());
                Dimension::At(Resources::FIRST_EXTENDED + self.extended.len() - 1)
            }
            None => Dimension::Unmodelled,
        }
    }

    /// The dimension of a name that has one.
    pub fn find(&self, name: &str) -> Option<Dimension> {
        match name {
            "cpu" => Some(Dimension::At(Resources::CPU)),
            "memory" => Some(Dimension::At(Resources::MEMORY)),
            "pods" => Some(Dimension::At(Resources::PODS)),
            "ephemeral-storage" => Some(Dimension::At(Resources::STORAGE)),
            name if is_gpu(name) => Some(Dimension::Gpu),
            name => {
                let at = self.extended.iter().position(|known| &**known == name)?;
                Some(Dimension::At(Resources::FIRST_EXTENDED + at))
            }
        }
    }

    /// The name of a dimension.
    pub fn name(&self, dimension: usize) -> Name {
        let extended = || self.extended.get(dimension - Resources::FIRST_EXTENDED);
        self.fixed.get(dimension).or_else(extended).cloned().unwrap_or_default()
    }
}
