//! Gates: a small language for `--fail-if`, such as `B.cost > A.cost * 1.02 || waitP95 > 300s`.
//!
//! ```text
//! text ──▶ words with places ──▶ tree, checked for sense ──▶ units checked ──▶ true or false, given the figures
//! ```
//!
//! Numbers may carry a unit: durations are times (`300s`, `5m`, `1h30m`, `7d`), `80%` is a share. A name is a figure of the
//! report, with the policy it belongs to in front where there are several. A mistake is shown under its place.

mod condition;
mod parse;
mod units;
mod words;

use std::fmt;
use std::ops::Range;

use ballast_sim::score::{Amount, Unit};

pub use condition::Condition;
pub use parse::parse;

/// A condition that was read and makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    text: String,
    root: Node,
}

/// A part of a condition and where it stands.
#[derive(Clone, Debug, PartialEq)]
struct Node {
    place: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(Amount),
    Name(String),
    Negative(Box<Node>),
    Not(Box<Node>),
    Arithmetic(char, Box<Node>, Box<Node>),
    Comparison(Comparison, Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    /// How it is written.
    const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }
}

/// What is wrong with a condition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    text: String,
    place: Range<usize>,
    message: String,
}

impl Mistake {
    fn new(text: &str, place: Range<usize>, message: impl Into<String>) -> Self {
        Self { text: text.to_owned(), place, message: message.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |range: Range<usize>| self.text[range].chars().count();
        let before = letters(0..self.place.start);
        let wide = letters(self.place.clone()).max(1);
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  | {}", self.text)?;
        write!(f, "  | {}{}", " ".repeat(before), "^".repeat(wide))
    }
}

impl std::error::Error for Mistake {}

impl Gate {
    /// Whether it holds. `figure` knows what each name stands for, or says why not.
    pub fn holds(&self, figure: &dyn Fn(&str) -> Result<f64, String>) -> Result<bool, Mistake> {
        self.truth(&self.root, figure)
    }

    /// The condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Refuses names that are not known and units that do not go together. `unit` says in what a figure is counted, or why
    /// there is none of its name.
    pub fn check(&self, unit: &dyn Fn(&str) -> Result<Unit, String>) -> Result<(), Mistake> {
        units::check(&self.text, &self.root, unit)
    }

    fn truth(&self, node: &Node, figure: &dyn Fn(&str) -> Result<f64, String>) -> Result<bool, Mistake> {
        Ok(match &node.kind {
            Kind::And(left, right) => self.truth(left, figure)? && self.truth(right, figure)?,
            Kind::Or(left, right) => self.truth(left, figure)? || self.truth(right, figure)?,
            Kind::Not(inner) => !self.truth(inner, figure)?,
            Kind::Comparison(comparison, left, right) => {
                let (left, right) = (self.number(left, figure)?, self.number(right, figure)?);
                match comparison {
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                    Comparison::Equal => left == right,
                    Comparison::NotEqual => left != right,
                }
            }
            Kind::Number(_) | Kind::Name(_) | Kind::Negative(_) | Kind::Arithmetic(..) => {
                return Err(Mistake::new(
                    &self.text,
                    node.place.clone(),
                    "this is a number, not a condition",
                ));
            }
        })
    }

    fn number(&self, node: &Node, figure: &dyn Fn(&str) -> Result<f64, String>) -> Result<f64, Mistake> {
        let value = match &node.kind {
            Kind::Number(amount) => amount.value,
            Kind::Name(name) => {
                figure(name).map_err(|message| Mistake::new(&self.text, node.place.clone(), message))?
            }
            Kind::Negative(inner) => -self.number(inner, figure)?,
            Kind::Arithmetic(sign, left, right) => {
                let (left, right) = (self.number(left, figure)?, self.number(right, figure)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
            Kind::Not(_) | Kind::And(..) | Kind::Or(..) | Kind::Comparison(..) => f64::NAN,
        };
        // What is not a number compares false with everything, and a gate must not open by accident.
        if value.is_nan() {
            return Err(Mistake::new(&self.text, node.place.clone(), "this has no value here"));
        }
        Ok(value)
    }
}

impl Node {
    fn is_condition(&self) -> bool {
        matches!(self.kind, Kind::Not(_) | Kind::And(..) | Kind::Or(..) | Kind::Comparison(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str) -> Result<f64, String> {
        match name {
            "cost" | "A.cost" => Ok(100.0),
            "B.cost" => Ok(103.0),
            "waitP95" => Ok(240.0),
            "evictions" => Ok(0.0),
            other => Err(format!("there is no figure `{other}`")),
        }
    }

    fn holds(text: &str) -> bool {
        parse(text).expect(text).holds(&figures).expect(text)
    }

    #[test]
    fn conditions_hold_or_do_not() {
        for (text, wanted) in [
            ("cost > 99", true),
            ("cost>=100&&waitP95<=4m", true),
            ("B.cost > A.cost * 1.02", true),
            ("B.cost > A.cost * 1.05 || waitP95 > 300s", false),
            ("!(cost == 100)", false),
            ("cost != 100 || cost == 1e2", true),
            ("-cost < -50 - 10 * 2 - 29", true),
            ("cost / 2 == 50", true),
            ("waitP95 < 0.5h", true),
            ("evictions / cost > 1%", false),
            ("1d > 23h && 100ms < 1s", true),
        ] {
            assert_eq!(holds(text), wanted, "{text}");
        }
    }

    #[test]
    fn mistakes_are_shown_under_their_place() {
        for (text, shown) in [
            ("", "a condition is missing\n  | \n  | ^"),
            ("cost", "this is a number, not a condition: compare it with something\n  | cost\n  | ^^^^"),
            ("cost > ", "a number or a name is missing here\n  | cost > \n  |        ^"),
            ("cost >> 5", "a number or a name is missing here\n  | cost >> 5\n  |       ^"),
            ("cost > 5 5", "this is one too many\n  | cost > 5 5\n  |          ^"),
            ("(cost > 5", "the parenthesis is not closed\n  | (cost > 5\n  | ^"),
            ("cost > 5x", "`x` is no unit: write ms, s, m, h, d or %\n  | cost > 5x\n  |        ^^"),
            ("cost > 1 > 2", "this is one too many\n  | cost > 1 > 2\n  |          ^"),
            (
                "cost > 1 && 2",
                "this is a number, not a condition: compare it with something\n  | cost > 1 && 2\n  |             ^",
            ),
            (
                "(cost > 1) + 2 > 3",
                "this is a condition, not a number\n  | (cost > 1) + 2 > 3\n  | ^^^^^^^^^^",
            ),
            ("cost = 5", "`=` is no comparison: write `==`\n  | cost = 5\n  |      ^"),
            ("cost > §", "`§` has no meaning here\n  | cost > §\n  |        ^"),
            ("cost => 5", "`=>` is no comparison: did you mean `>=`?\n  | cost => 5\n  |      ^^"),
            ("cost =< 5", "`=<` is no comparison: did you mean `<=`?\n  | cost =< 5\n  |      ^^"),
            ("cost & 5", "`&` has no meaning here: write `&&`\n  | cost & 5\n  |      ^"),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_has_no_value_opens_no_gate() {
        let unknown = parse("cost > 1 && costs > 1").unwrap().holds(&figures).unwrap_err();
        assert_eq!(
            unknown.to_string(),
            "there is no figure `costs`\n  | cost > 1 && costs > 1\n  |             ^^^^^"
        );
        let nothing = parse("0 / 0 > 1").unwrap().holds(&figures).unwrap_err();
        assert!(nothing.to_string().starts_with("this has no value here"));
    }

    #[test]
    fn each_comparison_is_told_with_its_values() {
        let gate = parse("B.cost > A.cost * 1.02 || !(waitP95 < 5m && costs > 1)").unwrap();
        let unit = |name: &str| Ok(if name == "waitP95" { Unit::Seconds } else { Unit::Money });
        let told = |one: &Condition| (one.text.clone(), one.left, one.sign, one.right, one.unit, one.holds);
        let all: Vec<_> = gate.conditions(&figures, &unit).iter().map(told).collect();
        assert_eq!(
            all,
            [
                (
                    "B.cost > A.cost * 1.02".into(),
                    Some(103.0),
                    ">",
                    Some(102.0),
                    Some(Unit::Money),
                    Some(true)
                ),
                ("waitP95 < 5m".into(), Some(240.0), "<", Some(300.0), Some(Unit::Seconds), Some(true)),
                ("costs > 1".into(), None, ">", Some(1.0), Some(Unit::Money), None),
            ]
        );
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{}cost > 1{}", "(".repeat(100), ")".repeat(100));
        assert!(parse(&deep).unwrap_err().to_string().starts_with("too deep"));
        let long = format!("{}cost > 1", "!".repeat(100));
        assert!(parse(&long).is_err());
        let chain = format!("{}1 > 1", "1 + ".repeat(100_000));
        assert!(parse(&chain).unwrap_err().to_string().starts_with("too long"));
    }
}
