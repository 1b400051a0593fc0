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
    /// Nowhere: nobody asks for it, or more kinds are asked for than the model holds.
    Unmodelled,
}

/// The resource names of one cluster that have a dimension.
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
    /// How many extended resources have a dimension.
    const EXTENDED_MOST: usize = DIMENSIONS - Resources::FIRST_EXTENDED;

    /// The extended names that are asked for, given in their order: as many as there are dimensions for have one, whichever was
    /// asked for first.
    pub fn of<'a>(asked: impl Iterator<Item = &'a Name>) -> Self {
        Self { extended: asked.take(Self::EXTENDED_MOST).cloned().collect(), ..Self::default() }
    }

    /// Gives a name a dimension where one is left, for a world in which names only come.
    pub fn add(&mut self, name: Name) {
        if self.extended.len() < Self::EXTENDED_MOST && !self.extended.contains(&name) {
            self.extended.push(name);
        }
    }

    /// Whether these are the names that are asked for, given in their order.
    pub fn are_of<'a>(&self, asked: impl Iterator<Item = &'a Name>) -> bool {
        self.extended.iter().eq(asked.take(Self::EXTENDED_MOST))
    }

    /// The dimension of a name.
    pub fn find(&self, name: &str) -> Dimension {
        match name {
            "cpu" => Dimension::At(Resources::CPU),
            "memory" => Dimension::At(Resources::MEMORY),
            "pods" => Dimension::At(Resources::PODS),
            "ephemeral-storage" => Dimension::At(Resources::STORAGE),
            name if is_gpu(name) => Dimension::Gpu,
            name => match self.extended.iter().position(|known| &**known == name) {
                Some(at) => Dimension::At(Resources::FIRST_EXTENDED + at),
                None => Dimension::Unmodelled,
            },
        }
    }

    /// The name of a dimension.
    pub fn name(&self, dimension: usize) -> Name {
        let extended = || self.extended.get(dimension - Resources::FIRST_EXTENDED);
        self.fixed.get(dimension).or_else(extended).cloned().unwrap_or_default()
    }
}
