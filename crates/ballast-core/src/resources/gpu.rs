//! GPUs as devices: a share lies on one device, whole GPUs on free devices.

/// A whole device, in thousandths.
pub const GPU_WHOLE_MILLI: u16 = 1000;

/// More devices than any node sold today has; a node that claims more has the rest ignored and named in the report.
const DEVICES: usize = 16;

/// What a pod needs of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuNeed {
    /// None.
    #[default]
    None,
    /// So many whole devices.
    Whole(u8),
    /// A share of one device, in thousandths, less than the whole.
    Share(u16),
}

/// The devices of a node, each with what is free of it in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GpuDevices {
    free: [u16; DEVICES],
    count: u8,
}

impl GpuNeed {
    /// In thousandths of a device.
    pub fn milli(self) -> i64 {
        match self {
            Self::None => 0,
            Self::Whole(count) => i64::from(count) * i64::from(GPU_WHOLE_MILLI),
            Self::Share(milli) => i64::from(milli),
        }
    }
}

impl GpuDevices {
    /// So many wholly free devices.
    pub fn new(count: usize) -> Self {
        let count = count.min(DEVICES);
        let mut free = [0; DEVICES];
        free[..count].fill(GPU_WHOLE_MILLI);
        Self { free, count: count as u8 }
    }

    /// How many devices there are.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// What is free of each, in thousandths.
    pub fn free(&self) -> &[u16] {
        &self.free[..self.count()]
    }

    /// What is free of all together, in thousandths.
    pub fn free_milli(&self) -> i64 {
        self.free().iter().map(|&free| i64::from(free)).sum()
    }

    /// Devices that are wholly free.
    pub fn wholly_free(&self) -> i64 {
        self.free().iter().filter(|&&free| free == GPU_WHOLE_MILLI).count() as i64
    }

    /// The greatest free share of one device.
    pub fn greatest_share(&self) -> i64 {
        i64::from(self.free().iter().copied().max().unwrap_or(0))
    }

    /// Whether the need can be met.
    pub fn fits(&self, need: GpuNeed) -> bool {
        match need {
            GpuNeed::None => true,
            GpuNeed::Whole(count) => self.wholly_free() >= i64::from(count),
            GpuNeed::Share(milli) => self.greatest_share() >= i64::from(milli),
        }
    }

    /// How many times the need can be met.
    pub fn times(&self, need: GpuNeed) -> u32 {
        match need {
            GpuNeed::None => u32::MAX,
            GpuNeed::Whole(0) | GpuNeed::Share(0) => u32::MAX,
            GpuNeed::Whole(count) => self.wholly_free() as u32 / u32::from(count),
            GpuNeed::Share(milli) => self.free().iter().map(|&free| u32::from(free / milli)).sum(),
        }
    }

    /// Takes the need from the devices: a share from the device that it leaves least free, whole ones from the first that
    /// are free. Returns whether it could be met; if not, nothing is taken.
    pub fn take(&mut self, need: GpuNeed) -> bool {
        match need {
            GpuNeed::None => true,
            GpuNeed::Whole(count) => self.take_whole(count),
            GpuNeed::Share(milli) => match self.tightest(milli) {
                Some(device) => {
                    self.free[device] -= milli;
                    true
                }
                None => false,
            },
        }
    }

    /// Gives the need back to the devices: a share to the device that it fills up best, whole ones to those in full use.
    pub fn give_back(&mut self, need: GpuNeed) {
        let count = self.count();
        match need {
            GpuNeed::None => {}
            GpuNeed::Whole(devices) => {
                let used = self.free[..count].iter_mut().filter(|free| **free == 0);
                used.take(usize::from(devices)).for_each(|free| *free = GPU_WHOLE_MILLI);
            }
            GpuNeed::Share(milli) => {
                let fits = |device: &usize| self.free[*device] + milli <= GPU_WHOLE_MILLI;
                if let Some(device) = (0..count).filter(fits).max_by_key(|&device| self.free[device]) {
                    self.free[device] += milli;
                }
            }
        }
    }

    /// Takes a share from one given device; returns whether it could.
    pub fn take_from(&mut self, device: usize, milli: u16) -> bool {
        let fits = device < self.count() && self.free[device] >= milli;
        if fits {
            self.free[device] -= milli;
        }
        fits
    }

    /// The device that a share leaves least free.
    pub fn tightest(&self, milli: u16) -> Option<usize> {
        (0..self.count()).filter(|&device| self.free[device] >= milli).min_by_key(|&device| self.free[device])
    }

    fn take_whole(&mut self, count: u8) -> bool {
        if self.wholly_free() < i64::from(count) {
            return false;
        }
        let mut left = count;
        for free in &mut self.free[..usize::from(self.count)] {
            if left > 0 && *free == GPU_WHOLE_MILLI {
                *free = 0;
                left -= 1;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_lie_on_one_device_and_whole_ones_on_free_devices() {
        let mut devices = GpuDevices::new(2);
        assert!(devices.take(GpuNeed::Share(600)));
        assert!(devices.take(GpuNeed::Share(300)), "it joins the device in use");
        assert_eq!(devices.free(), [100, 1000]);
        assert!(!devices.take(GpuNeed::Whole(2)));
        assert!(devices.take(GpuNeed::Whole(1)));
        assert!(!devices.take(GpuNeed::Share(101)), "100 are left, on one device");
        assert_eq!(devices.free_milli(), 100);
    }

    #[test]
    fn counts_how_often_a_need_fits() {
        let mut devices = GpuDevices::new(4);
        devices.take(GpuNeed::Share(500));
        assert_eq!(devices.times(GpuNeed::Whole(2)), 1);
        assert_eq!(devices.times(GpuNeed::Share(400)), 1 + 2 * 3);
        assert_eq!(devices.times(GpuNeed::None), u32::MAX);
    }
}
