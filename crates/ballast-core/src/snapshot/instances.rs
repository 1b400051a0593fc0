//! The instances of a pool: what one list after the other changes.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::kube::Name;
use crate::observation::Instance;
use crate::units::Time;

/// Instances by identity, in its order.
pub(crate) type Instances = IndexMap<Name, Instance, FxBuildHasher>;

/// Takes in what a list says otherwise than was known. Returns which instances came, changed or went.
pub(super) fn bring_up_to_date(known: &mut Instances, listed: &[Instance], at: Time) -> Vec<Name> {
    let mut is_listed = vec![false; known.len()];
    let mut news: Vec<Instance> = Vec::new();
    for instance in listed {
        let before = known.get_full(&instance.id);
        // Where a provider does not say since when an instance has been in its state: since it was first seen in it.
        let seen = before.and_then(|(_, _, before)| before.since.filter(|_| before.state == instance.state));
        let since = instance.since.or(seen).or(Some(at));
        let again = before.is_some_and(|(at, ..)| std::mem::replace(&mut is_listed[at], true));
        // Of an instance that is listed twice the last word counts.
        if again || before.is_none_or(|(_, _, before)| !says_the_same(before, instance, since)) {
            news.push(Instance { since, ..instance.clone() });
        }
    }
    let gone = known.keys().zip(&is_listed).filter(|(_, is_listed)| !**is_listed);
    let mut concerned: Vec<Name> = gone.map(|(id, _)| id.clone()).collect();
    if !concerned.is_empty() {
        let mut is_listed = is_listed.into_iter();
        known.retain(|_, _| is_listed.next().unwrap_or(false));
    }
    let before = known.len();
    for instance in news {
        concerned.push(instance.id.clone());
        known.insert(instance.id.clone(), instance);
    }
    if known.len() > before {
        known.sort_unstable_keys();
    }
    concerned
}

/// Whether an instance is still as it was known, since then.
fn says_the_same(known: &Instance, listed: &Instance, since: Option<Time>) -> bool {
    let Instance { id, name, pool, zone, instance_type, state, since: _, token } = listed;
    (&known.id, &known.name, &known.pool, &known.zone) == (id, name, pool, zone)
        && (&known.instance_type, known.state, known.since, &known.token)
            == (instance_type, *state, since, token)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::observation::InstanceState;

    const STATES: [InstanceState; 3] =
        [InstanceState::Running, InstanceState::Stopping, InstanceState::Stopped];

    /// An instance as one provider tells of it: its number, its state, and whether it says since when.
    fn instance((number, state, since): (u8, usize, bool)) -> Instance {
        Instance {
            id: format!("i-{number}").into(),
            name: format!("n-{number}").into(),
            pool: "cpu".into(),
            zone: Name::default(),
            instance_type: Name::default(),
            state: STATES[state],
            since: since.then_some(Time::from_secs(1)),
            token: Name::default(),
        }
    }

    proptest! {
        #[test]
        fn lists_one_by_one_lead_to_what_the_last_says(
            lists in prop::collection::vec(prop::collection::vec((0u8..6, 0usize..3, any::<bool>()), 0..8), 1..6),
        ) {
            let (mut known, mut expected) = (Instances::default(), BTreeMap::<Name, Instance>::new());
            for (at, list) in (10..).zip(lists) {
                let (at, list) = (Time::from_secs(at), list.into_iter().map(instance).collect::<Vec<_>>());
                let before = std::mem::take(&mut expected);
                for listed in &list {
                    let known = before.get(&listed.id).filter(|known| known.state == listed.state);
                    let since = listed.since.or(known.and_then(|known| known.since)).or(Some(at));
                    expected.insert(listed.id.clone(), Instance { since, ..listed.clone() });
                }
                let concerned = bring_up_to_date(&mut known, &list, at);
                prop_assert!(known.iter().eq(expected.iter()), "{known:?} is not {expected:?}");
                let changed = |id: &&Name| before.get(*id) != expected.get(*id);
                for id in before.keys().chain(expected.keys()).filter(changed) {
                    prop_assert!(concerned.contains(id), "{id} changed");
                }
                prop_assert!(bring_up_to_date(&mut known, &expected.into_values().collect::<Vec<_>>(), at).is_empty());
                expected = known.iter().map(|(id, instance)| (id.clone(), instance.clone())).collect();
            }
        }
    }
}
