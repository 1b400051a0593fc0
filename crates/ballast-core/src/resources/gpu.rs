//! GPUs as devices: a share lies on one device, whole GPUs on free devices.

/// A whole device, in thousandths.
pub const GPU_WHOLE_MILLI: u16 = 1000;

/// Devices that are told apart: more than any node sold today has. What a node claims beyond them, time slices and other parts
/// that a device plugin calls devices, can only be had whole.
const TOLD_APART: usize = 16;

/// What a pod needs of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GpuNeed {
    /// None.
    #[default]
    None,
    /// So many whole devices.
    Whole(u16),
    /// A share of one device, in thousandths, less than the whole.
    Share(u16),
}

/// The devices of a node, each with what is free of it in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GpuDevices {
    free: [u16; TOLD_APART],
    count: u16,
    /// How many are free of those that are not told apart.
    others_free: u16,
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
        let told_apart = count.min(TOLD_APART);
        let mut free = [0; TOLD_APART];
        free[..told_apart].fill(GPU_WHOLE_MILLI);
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        Self { free, count, others_free: count - told_apart as u16 }
    }

    /// How many devices there are.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// What is free of each that is told apart, in thousandths.
    pub fn free(&self) -> &[u16] {
        &self.free[..self.count().min(TOLD_APART)]
    }

    fn free_mut(&mut self) -> &mut [u16] {
        let told_apart = self.count().min(TOLD_APART);
        &mut self.free[..told_apart]
    }

    /// What is free of all together, in thousandths.
    pub fn free_milli(&self) -> i64 {
        let others = i64::from(self.others_free) * i64::from(GPU_WHOLE_MILLI);
        self.free().iter().map(|&free| i64::from(free)).sum::<i64>() + others
    }

    /// Devices that are wholly free.
    pub fn wholly_free(&self) -> i64 {
        let told_apart = self.free().iter().filter(|&&free| free == GPU_WHOLE_MILLI).count();
        told_apart as i64 + i64::from(self.others_free)
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
        match need {
            GpuNeed::None => {}
            GpuNeed::Whole(devices) => {
                let others = self.count.saturating_sub(TOLD_APART as u16) - self.others_free;
                let others = others.min(devices);
                self.others_free += others;
                let used = self.free_mut().iter_mut().filter(|free| **free == 0);
                used.take(usize::from(devices - others)).for_each(|free| *free = GPU_WHOLE_MILLI);
            }
            GpuNeed::Share(milli) => {
                let fits = |device: &usize| self.free[*device] + milli <= GPU_WHOLE_MILLI;
                let devices = 0..self.free().len();
                if let Some(device) = devices.filter(fits).max_by_key(|&device| self.free[device]) {
                    self.free[device] += milli;
                }
            }
        }
    }

    /// Takes a share from one given device; returns whether it could.
    pub fn take_from(&mut self, device: usize, milli: u16) -> bool {
        let fits = self.free().get(device).is_some_and(|&free| free >= milli);
        if fits {
            self.free[device] -= milli;
        }
        fits
    }

    /// The device that a share leaves least free.
    pub fn tightest(&self, milli: u16) -> Option<usize> {
        let fits = |device: &usize| self.free[*device] >= milli;
        (0..self.free().len()).filter(fits).min_by_key(|&device| self.free[device])
    }

    /// Those that are not told apart first: no share could lie there.
    fn take_whole(&mut self, count: u16) -> bool {
        if self.wholly_free() < i64::from(count) {
            return false;
        }
        let others = count.min(self.others_free);
        self.others_free -= others;
        let mut left = count - others;
        for free in self.free_mut() {
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
    fn more_devices_than_are_told_apart_can_be_had_whole() {
        let mut slices = GpuDevices::new(80);
        assert_eq!((slices.count(), slices.wholly_free(), slices.free_milli()), (80, 80, 80_000));
        assert_eq!(slices.times(GpuNeed::Whole(3)), 26);
        assert!(slices.take(GpuNeed::Share(500)));
        assert!(slices.take(GpuNeed::Whole(70)));
        assert_eq!((slices.wholly_free(), slices.take(GpuNeed::Whole(10))), (9, false));
        slices.give_back(GpuNeed::Whole(70));
        slices.give_back(GpuNeed::Share(500));
        assert_eq!(slices, GpuDevices::new(80));
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
