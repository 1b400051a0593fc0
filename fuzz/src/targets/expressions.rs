//! What people write on the command line: the conditions of `--fail-if`, and the changes of `--set`.

use ballast::gate;
use ballast::set::Set;
use ballast_sim::scenario::Scenario;
use ballast_sim::score::Figure;

/// Any text is a condition or a mistake that can be shown; a condition that makes sense can be judged.
pub(super) fn gate(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match gate::parse(text) {
        Ok(gate) => {
            let unit = |name: &str| {
                Figure::find(name).map(|figure| figure.unit).ok_or_else(|| "there is none".to_owned())
            };
            let told = gate.check(&unit).and_then(|()| gate.holds(&|_| Ok(1.0)));
            drop(told.map_err(|mistake| mistake.to_string()));
        }
        Err(mistake) => assert!(!mistake.to_string().is_empty()),
    }
}

/// A small world in which something can be changed.
const WORLD: &str = include_str!("../../../crates/ballast/tests/simulate/small.yaml");

/// Any text is a change or refused; what comes of a change is a scenario or refused.
pub(super) fn set(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(set) = text.parse::<Set>() else { return };
    let mut world: serde_json::Value = serde_saphyr::from_str(WORLD).unwrap_or_default();
    if set.apply(&mut world).is_ok() {
        drop(Scenario::from_value(world).map_err(|error| error.to_string()));
    }
}
