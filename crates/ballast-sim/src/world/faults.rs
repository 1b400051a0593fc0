//! Faults that are at work now.

use rand::RngExt;

use ballast_core::kube::Name;
use ballast_core::observation::ErrorClass;
use ballast_core::units::{Share, Span};

use crate::random::Stream;
use crate::scenario::{Fault, FaultKind, View};

/// The faults of a scenario, and which of them are at work.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    all: Vec<Fault>,
    at_work: Vec<bool>,
}

/// The delay of a fault that delays and does not say by how much.
const DELAY: Span = Span::from_mins(10);

impl Faults {
    pub(crate) fn new(all: Vec<Fault>) -> Self {
        Self { at_work: vec![false; all.len()], all }
    }

    /// Takes in a fault that the scenario does not tell of, and gives it a number.
    pub(crate) fn add(&mut self, fault: Fault) -> u32 {
        self.all.push(fault);
        self.at_work.push(false);
        self.all.len() as u32 - 1
    }

    /// A fault by number.
    pub(crate) fn get(&self, fault: u32) -> &Fault {
        &self.all[fault as usize]
    }

    /// What its luck is named by: what it is, where and when, and how many of the same are before it. Its place in the list
    /// would do too, but another fault that is taken out would change it.
    pub(crate) fn entity(&self, fault: u32) -> String {
        let name = |fault: &Fault| {
            let (pool, zone) = (fault.pool.as_deref().unwrap_or("*"), fault.zone.as_deref().unwrap_or("*"));
            format!("{:?}/{}/{pool}/{zone}", fault.kind, fault.at)
        };
        let own = name(self.get(fault));
        let same = self.all[..fault as usize].iter().filter(|other| name(other) == own).count();
        format!("{own}/{same}")
    }

    /// All faults with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Fault)> {
        (0..).zip(&self.all)
    }

    /// Puts a fault to work, or mends it.
    pub(crate) fn set(&mut self, fault: u32, at_work: bool) {
        self.at_work[fault as usize] = at_work;
    }

    fn of(&self, kind: FaultKind, pool: &Name) -> impl Iterator<Item = &Fault> {
        let working =
            self.all.iter().zip(&self.at_work).filter(|(_, at_work)| **at_work).map(|(fault, _)| fault);
        working.filter(move |fault| fault.kind == kind && fault.pool.as_ref().is_none_or(|name| name == pool))
    }

    fn in_zone<'a>(
        &'a self,
        kind: FaultKind,
        pool: &Name,
        zone: &'a Name,
    ) -> impl Iterator<Item = &'a Fault> {
        self.of(kind, pool).filter(move |fault| fault.zone.as_ref().is_none_or(|name| name == zone))
    }

    /// Whether the cloud has no machine to give.
    pub(crate) fn is_out_of_stock(&self, pool: &Name, zone: &Name) -> bool {
        self.in_zone(FaultKind::StockOut, pool, zone).next().is_some()
    }

    /// How many machines may exist.
    pub(crate) fn quota(&self, pool: &Name) -> Option<u32> {
        self.of(FaultKind::Quota, pool).filter_map(|fault| fault.limit).min()
    }

    /// How much later than it should a machine that is launched now joins; `None`: never.
    pub(crate) fn fate_of_launch(&self, pool: &Name, zone: &Name, dice: &mut Stream) -> Option<Span> {
        if self.in_zone(FaultKind::NeverJoins, pool, zone).any(|fault| befalls(fault, dice)) {
            return None;
        }
        let mut late = self.in_zone(FaultKind::LateJoins, pool, zone).filter(|fault| befalls(fault, dice));
        Some(late.next().map_or(Span::ZERO, |fault| fault.span.unwrap_or(DELAY)))
    }

    /// How a request to the cloud fails; `None` where it does not.
    pub(crate) fn cloud_error(&self, pool: &Name, dice: &mut Stream) -> Option<ErrorClass> {
        let mut failing = self.of(FaultKind::CloudErrors, pool).filter(|fault| befalls(fault, dice));
        failing.next().map(|fault| fault.class.unwrap_or(ErrorClass::Transient))
    }

    /// Whether a request to the cloud is carried out and not answered.
    pub(crate) fn cloud_timeout(&self, pool: &Name, dice: &mut Stream) -> bool {
        self.of(FaultKind::CloudTimeouts, pool).any(|fault| befalls(fault, dice))
    }

    /// How a request to Kubernetes fails; `None` where it does not.
    pub(crate) fn api_error(&self, dice: &mut Stream) -> Option<ErrorClass> {
        let no_pool = Name::default();
        let mut failing = self.of(FaultKind::ApiErrors, &no_pool).filter(|fault| befalls(fault, dice));
        failing.next().map(|fault| fault.class.unwrap_or(ErrorClass::Transient))
    }

    /// How far behind the cloud's list of a pool is.
    pub(crate) fn lag(&self, pool: &Name) -> Option<Span> {
        self.of(FaultKind::StateLag, pool).map(|fault| fault.span.unwrap_or(DELAY)).max()
    }

    /// What befalls a view.
    pub(crate) fn of_view(&self, view: View, pool: &Name) -> Option<&Fault> {
        let kinds =
            [FaultKind::FailedView, FaultKind::StaleView, FaultKind::EmptyView, FaultKind::TruncatedView];
        kinds.into_iter().find_map(|kind| self.of(kind, pool).find(|fault| fault.view == Some(view)))
    }
}

/// Whether a fault that befalls a share befalls this one.
fn befalls(fault: &Fault, dice: &mut Stream) -> bool {
    match fault.share {
        Some(share) if share < Share::percent(100) => dice.random::<f64>() < share.as_f64(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fault_has_luck_of_its_own_whatever_else_befalls() {
        let reclaim = |pool: &str| json!({"kind": "SpotReclaim", "at": "5h", "pool": pool, "share": "50%"});
        let faults = |list: Vec<serde_json::Value>| {
            Faults::new(
                list.into_iter().map(|fault| serde_json::from_value(fault).expect("a fault")).collect(),
            )
        };
        let all = faults(vec![reclaim("a"), reclaim("b"), reclaim("b")]);
        let names: std::collections::BTreeSet<String> = (0..3).map(|fault| all.entity(fault)).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(faults(vec![reclaim("b"), reclaim("b")]).entity(1), all.entity(2));
    }
}
