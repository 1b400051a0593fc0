//! What is said where pools have no price: what their nodes count as instead.

use ballast_core::policy::Price;

/// The pools without a price and what a node of theirs counts as; `None` where each has one, or there is no pool.
pub fn unpriced<'a>(pools: impl IntoIterator<Item = (&'a str, Price)>, currency: &str) -> Option<String> {
    let pools: Vec<(&str, Price)> = pools.into_iter().collect();
    let without = pools.iter().filter(|(_, price)| price.per_hour.is_none());
    let names: Vec<String> = without.map(|(name, _)| format!("`{name}`")).collect();
    let assumed = Price::assumed(pools.iter().map(|(_, price)| *price));
    match names.len() {
        0 => None,
        count if count == pools.len() => {
            Some(format!("no pool has a price, so each node counts as {assumed} {currency} an hour"))
        }
        _ => {
            let names = names.join(", ");
            Some(format!(
                "without a price, nodes of {names} count as the dearest, {assumed} {currency} an hour"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::units::Money;

    use super::*;

    #[test]
    fn what_has_no_price_counts_as_the_dearest_or_as_one() {
        let price =
            |micros: Option<i64>| Price { per_hour: micros.map(Money::from_micros), ..Price::default() };
        let [cheap, dear, none] = [Some(500_000), Some(3_000_000), None].map(price);
        assert_eq!(unpriced([], "USD"), None);
        assert_eq!(unpriced([("a", cheap)], "USD"), None);
        assert_eq!(
            unpriced([("a", none), ("b", none)], "USD").unwrap(),
            "no pool has a price, so each node counts as 1.00 USD an hour"
        );
        assert_eq!(
            unpriced([("a", cheap), ("b", none), ("c", dear), ("d", none)], "EUR").unwrap(),
            "without a price, nodes of `b`, `d` count as the dearest, 3.00 EUR an hour"
        );
    }
}
