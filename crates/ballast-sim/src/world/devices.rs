//! GPU devices of a machine: which are taken, and by whom.

use crate::placement::Need;

/// The devices of a machine, each with what is left of it in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Devices {
    left: [u16; Self::MOST],
    count: u8,
}

/// What a pod has taken of the devices of its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing.
    #[default]
    Nothing,
    /// These whole devices, a bit each.
    Whole(u16),
    /// A share of one device.
    Share {
        /// Which.
        device: u8,
        /// How much of it, in thousandths.
        milli: u16,
    },
}

impl Devices {
    /// The most devices of one machine; as many as the planner reckons with.
    pub(crate) const MOST: usize = 16;

    /// So many free devices.
    pub(crate) fn new(count: u8) -> Self {
        let count = count.min(Self::MOST as u8);
        let mut left = [0; Self::MOST];
        left[..usize::from(count)].fill(1000);
        Self { left, count }
    }

    /// What is left of each, in thousandths.
    pub(crate) fn left(&self) -> &[u16] {
        &self.left[..usize::from(self.count)]
    }

    /// Takes what a pod needs; a share from the given device, whole ones from the first that are free.
    pub(crate) fn take(&mut self, need: &Need, device: usize) -> Taken {
        if need.gpus == 0 {
            return Taken::Nothing;
        }
        if need.is_share() {
            self.left[device] -= need.gpu_milli;
            return Taken::Share { device: device as u8, milli: need.gpu_milli };
        }
        let mut mask = 0;
        let mut wanted = need.gpus;
        for (device, left) in self.left[..usize::from(self.count)].iter_mut().enumerate() {
            if wanted > 0 && *left == 1000 {
                *left = 0;
                mask |= 1 << device;
                wanted -= 1;
            }
        }
        Taken::Whole(mask)
    }

    /// Gives back what a pod had.
    pub(crate) fn give_back(&mut self, taken: Taken) {
        match taken {
            Taken::Nothing => {}
            Taken::Whole(mask) => {
                for device in (0..Self::MOST).filter(|device| mask & (1 << device) != 0) {
                    self.left[device] = 1000;
                }
            }
            Taken::Share { device, milli } => self.left[usize::from(device)] += milli,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_can_be_given_back() {
        let mut devices = Devices::new(3);
        let share = Need { gpus: 1, gpu_milli: 300, ..Need::default() };
        let whole = Need { gpus: 2, gpu_milli: 1000, ..Need::default() };
        let first = devices.take(&share, share.tightest(devices.left()));
        assert_eq!(share.tightest(devices.left()), 0, "a share joins the device in use");
        let second = devices.take(&whole, 0);
        assert_eq!(devices.left(), [700, 0, 0]);
        devices.give_back(first);
        devices.give_back(second);
        assert_eq!(devices, Devices::new(3));
    }
}
