//! What keeps a pod where it is. The first rule that decides wins.

use crate::plan::PodBlock;
use crate::policy::{BarePods, LocalStorage, ScaleDown};
use crate::snapshot::Traits;

/// Why a pod must stay; `None` where it may be evicted or leaves with its node.
///
/// Disruption budgets are counted apart, over all that is displaced together.
pub fn pod_block(
    traits: &Traits,
    in_gang: bool,
    covered_by_budget: bool,
    rules: &ScaleDown,
) -> Option<PodBlock> {
    if traits.mirror || traits.daemon {
        return None;
    }
    if traits.do_not_disrupt {
        return Some(PodBlock::DoNotDisrupt);
    }
    match traits.safe_to_evict {
        Some(true) => return None,
        Some(false) => return Some(PodBlock::NotSafeToEvict),
        None => {}
    }
    if traits.on_completion {
        return Some(PodBlock::OnCompletion);
    }
    if in_gang {
        return Some(PodBlock::GangMember);
    }
    if traits.bare && rules.bare_pods == BarePods::Block {
        return Some(PodBlock::Bare);
    }
    if traits.system && !covered_by_budget {
        return Some(PodBlock::System);
    }
    (traits.local_storage && rules.local_storage == LocalStorage::Block).then_some(PodBlock::LocalStorage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_decides_wins() {
        let rules = ScaleDown::default();
        let bare = Traits { bare: true, ..Traits::default() };
        let table = [
            ("owned", Traits::default(), None),
            ("bare", bare, Some(PodBlock::Bare)),
            ("daemon", Traits { daemon: true, do_not_disrupt: true, ..bare }, None),
            ("safe", Traits { safe_to_evict: Some(true), local_storage: true, ..bare }, None),
            (
                "unsafe",
                Traits { safe_to_evict: Some(false), ..Traits::default() },
                Some(PodBlock::NotSafeToEvict),
            ),
            ("to its end", Traits { on_completion: true, ..Traits::default() }, Some(PodBlock::OnCompletion)),
            (
                "protected",
                Traits { do_not_disrupt: true, safe_to_evict: Some(true), ..bare },
                Some(PodBlock::DoNotDisrupt),
            ),
            ("local", Traits { local_storage: true, ..Traits::default() }, Some(PodBlock::LocalStorage)),
            ("system", Traits { system: true, ..Traits::default() }, Some(PodBlock::System)),
        ];
        for (name, traits, expected) in table {
            assert_eq!(pod_block(&traits, false, false, &rules), expected, "{name}");
        }
        assert_eq!(pod_block(&Traits::default(), true, false, &rules), Some(PodBlock::GangMember));
        let system = Traits { system: true, ..Traits::default() };
        assert_eq!(pod_block(&system, false, true, &rules), None, "its budget decides");
        let lenient = ScaleDown { bare_pods: BarePods::Evict, ..rules };
        assert_eq!(pod_block(&bare, false, false, &lenient), None);
    }
}
