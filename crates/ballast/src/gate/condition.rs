//! The comparisons of a gate one by one, with what stood on either side: what a reader wants to know of a gate that held.

use ballast_sim::score::Unit;

use super::{Gate, Kind, Node, units};

/// One comparison of a gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// As it was written.
    pub text: String,
    /// What stood left, where it has a value.
    pub left: Option<f64>,
    /// Between the two.
    pub sign: &'static str,
    /// What stood right.
    pub right: Option<f64>,
    /// In what both are counted; `None` where that has no name.
    pub unit: Option<Unit>,
    /// Whether it holds; `None` where a side has no value.
    pub holds: Option<bool>,
}

impl Gate {
    /// Its comparisons in the order in which they are written.
    pub fn conditions(
        &self,
        figure: &dyn Fn(&str) -> Result<f64, String>,
        unit: &dyn Fn(&str) -> Result<Unit, String>,
    ) -> Vec<Condition> {
        let mut found = Vec::new();
        self.gather(&self.root, figure, unit, &mut found);
        found
    }

    fn gather(
        &self,
        node: &Node,
        figure: &dyn Fn(&str) -> Result<f64, String>,
        unit: &dyn Fn(&str) -> Result<Unit, String>,
        found: &mut Vec<Condition>,
    ) {
        match &node.kind {
            Kind::And(left, right) | Kind::Or(left, right) => {
                self.gather(left, figure, unit, found);
                self.gather(right, figure, unit, found);
            }
            Kind::Not(inner) => self.gather(inner, figure, unit, found),
            Kind::Comparison(comparison, left, right) => found.push(Condition {
                text: self.text[node.place.clone()].to_owned(),
                left: self.number(left, figure).ok(),
                sign: comparison.sign(),
                right: self.number(right, figure).ok(),
                unit: units::unit_of(&self.text, node, unit),
                holds: self.truth(node, figure).ok(),
            }),
            Kind::Number(_) | Kind::Name(_) | Kind::Negative(_) | Kind::Arithmetic(..) => {}
        }
    }
}
