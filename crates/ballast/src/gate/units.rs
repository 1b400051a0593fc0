//! Whether what is compared can be compared: money with money, times with times, shares with shares.

use ballast_sim::score::{Amount, Unit};

use super::{Kind, Mistake, Node};

/// What a part of a condition is counted in.
#[derive(Clone, Copy)]
enum Measure {
    /// In the unit of a figure, or in one that is written.
    In(Unit),
    /// Nothing yet: a plain number, or what it was derived from.
    Plain(Option<f64>),
    /// Something that has no name, such as money for each second.
    Other,
}

type Units<'a> = &'a dyn Fn(&str) -> Result<Unit, String>;

/// Refuses a condition in which units do not go together.
pub(super) fn check(text: &str, node: &Node, units: Units<'_>) -> Result<(), Mistake> {
    match &node.kind {
        Kind::And(left, right) | Kind::Or(left, right) => {
            check(text, left, units)?;
            check(text, right, units)
        }
        Kind::Not(inner) => check(text, inner, units),
        _ => measure(text, node, units).map(|_| ()),
    }
}

/// In what both sides of a comparison are counted, where that has a name.
pub(super) fn unit_of(text: &str, node: &Node, units: Units<'_>) -> Option<Unit> {
    match measure(text, node, units) {
        Ok(Measure::In(unit)) => Some(unit),
        _ => None,
    }
}

fn measure(text: &str, node: &Node, units: Units<'_>) -> Result<Measure, Mistake> {
    Ok(match &node.kind {
        Kind::Number(Amount { unit: Some(unit), .. }) => Measure::In(*unit),
        Kind::Number(Amount { value, unit: None }) => Measure::Plain(Some(*value)),
        Kind::Name(name) => {
            Measure::In(units(name).map_err(|message| Mistake::new(text, node.place.clone(), message))?)
        }
        Kind::Negative(inner) => measure(text, inner, units)?,
        Kind::Arithmetic('*', left, right) => {
            match (measure(text, left, units)?, measure(text, right, units)?) {
                (Measure::Plain(_), Measure::Plain(_)) => Measure::Plain(None),
                // A share of something is of its unit.
                (other, Measure::Plain(_) | Measure::In(Unit::Share))
                | (Measure::Plain(_) | Measure::In(Unit::Share), other) => other,
                _ => Measure::Other,
            }
        }
        Kind::Arithmetic('/', left, right) => {
            match (measure(text, left, units)?, measure(text, right, units)?) {
                (Measure::In(one), Measure::In(other)) if one == other => Measure::Plain(None),
                (Measure::Plain(_), Measure::Plain(_)) => Measure::Plain(None),
                (other, Measure::Plain(_) | Measure::In(Unit::Share)) => other,
                _ => Measure::Other,
            }
        }
        Kind::Arithmetic(_, left, right) | Kind::Comparison(_, left, right) => {
            let measures = (measure(text, left, units)?, measure(text, right, units)?);
            match measures {
                (Measure::In(one), Measure::In(other)) if one != other => {
                    return Err(clash(text, (left, one), (right, other)));
                }
                (Measure::In(unit), Measure::Plain(Some(value))) => fits(text, left, unit, right, value)?,
                (Measure::Plain(Some(value)), Measure::In(unit)) => fits(text, right, unit, left, value)?,
                _ => {}
            }
            match measures {
                (Measure::Plain(_), other) => other,
                (one, _) => one,
            }
        }
        Kind::And(..) | Kind::Or(..) | Kind::Not(_) => Measure::Other,
    })
}

/// A plain number is counted in the unit of what it is compared with, where it can be.
fn fits(text: &str, figure: &Node, unit: Unit, number: &Node, value: f64) -> Result<(), Mistake> {
    if unit.takes(Amount::plain(value)) {
        return Ok(());
    }
    let (figure, place) = (&text[figure.place.clone()], number.place.clone());
    let message = format!("`{figure}` is {}: write {}", unit.what(), unit.form());
    Err(Mistake::new(text, place, message))
}

/// Says it under the side that is no figure, where there is one, with the form that would be right.
fn clash(text: &str, left: (&Node, Unit), right: (&Node, Unit)) -> Mistake {
    let is_written = |node: &Node| matches!(node.kind, Kind::Number(_));
    let (other, wrong) = if is_written(left.0) { (right, left) } else { (left, right) };
    let told = |(node, unit): (&Node, Unit)| format!("`{}` is {}", &text[node.place.clone()], unit.what());
    let message = format!("{}, but {}", told(wrong), told(other));
    let form = is_written(wrong.0).then(|| format!(": write {}", other.1.form()));
    Mistake::new(text, wrong.0.place.clone(), message + &form.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        let unit = |name: &str| {
            Ok(match name {
                "cost" | "B.cost" => Unit::Money,
                "cpuUtilisation" => Unit::Share,
                "pendingP95" => Unit::Seconds,
                "adds" => Unit::Count,
                other => return Err(format!("there is no figure `{other}`")),
            })
        };
        parse(text).expect(text).check(&unit).map_err(|mistake| mistake.to_string())
    }

    #[test]
    fn what_goes_together_is_taken() {
        for text in [
            "cost > 5 && pendingP95 > 5m || cpuUtilisation < 90%",
            "cpuUtilisation < 0.9",
            "pendingP95 > 300",
            "B.cost > cost * 1.02",
            "B.cost > cost * 102%",
            "B.cost / cost > 1.02",
            "B.cost / cost > 110%",
            "pendingP95 > 2 * 60s + 30",
            "cost / adds > 3",
            "0 < -adds",
        ] {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_does_not_is_refused_with_the_right_form() {
        for (text, shown) in [
            (
                "cost > 5m",
                "`5m` is a time, but `cost` is money: write a plain number such as `5`\n  | cost > 5m\n  |        ^^",
            ),
            (
                "cpuUtilisation < 90",
                "`cpuUtilisation` is a share: write a percentage such as `90%` or a number from 0 to 1\n  \
                 | cpuUtilisation < 90\n  |                  ^^",
            ),
            (
                "cost > pendingP95",
                "`pendingP95` is a time, but `cost` is money\n  | cost > pendingP95\n  |        ^^^^^^^^^^",
            ),
            (
                "adds + 5% > 1",
                "`5%` is a share, but `adds` is a number: write a plain number such as `5`\n  | adds + 5% > 1\n  |        ^^",
            ),
            ("!(1 > cots)", "there is no figure `cots`\n  | !(1 > cots)\n  |       ^^^^"),
        ] {
            assert_eq!(checked(text), Err(shown.to_owned()), "{text}");
        }
    }
}
