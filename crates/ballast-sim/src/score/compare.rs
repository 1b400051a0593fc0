//! Comparison of policies, paired by seed: both meet the same luck, so that the difference is theirs.

use serde::Serialize;

use super::Score;

/// One policy against the first, figure by figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Pairs of runs.
    pub pairs: usize,
    /// The figures.
    pub differences: Vec<Difference>,
}

/// How a figure of one policy differs from that of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The figure's name.
    pub figure: String,
    /// Its mean under the first policy.
    pub first: f64,
    /// Its mean under the second policy.
    pub second: f64,
    /// The mean of the second less the first, pair by pair.
    pub difference: f64,
    /// Half the width of the 95 % interval around the difference (Student's t); `None` with fewer than two pairs.
    pub within: Option<f64>,
}

impl Difference {
    /// Whether the interval leaves zero out.
    pub fn is_clear(&self) -> bool {
        self.within.is_some_and(|within| self.difference.abs() > within)
    }
}

/// Compares runs of a second policy with those of a first, the same seed at the same place.
///
/// A pair in which one has no value of a figure says nothing of it.
pub fn compare<'f>(
    first: &[Score],
    second: &[Score],
    figures: impl IntoIterator<Item = &'f str>,
) -> Comparison {
    let differences = figures.into_iter().filter_map(|figure| {
        let pairs = first.iter().zip(second);
        let values = pairs.filter_map(|(first, second)| Some((first.get(figure)?, second.get(figure)?)));
        let values: Vec<(f64, f64)> = values.collect();
        (!values.is_empty()).then(|| difference(figure, &values))
    });
    Comparison { pairs: first.len().min(second.len()), differences: differences.collect() }
}

/// A figure over several runs: its mean, and half the width of the 95 % interval around it. `None` where no run has a value.
pub fn mean(scores: &[Score], figure: &str) -> Option<(f64, Option<f64>)> {
    let values = scores.iter().filter_map(|score| score.get(figure));
    let values: Vec<(f64, f64)> = values.map(|value| (0.0, value)).collect();
    let Difference { second, within, .. } = (!values.is_empty()).then(|| difference(figure, &values))?;
    Some((second, within))
}

fn difference(figure: &str, pairs: &[(f64, f64)]) -> Difference {
    let count = pairs.len().max(1) as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
    let first = mean(&mut pairs.iter().map(|pair| pair.0));
    let second = mean(&mut pairs.iter().map(|pair| pair.1));
    let difference = mean(&mut pairs.iter().map(|pair| pair.1 - pair.0));
    let within = (pairs.len() > 1).then(|| {
        let squares: f64 = pairs.iter().map(|pair| (pair.1 - pair.0 - difference).powi(2)).sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        student_t(pairs.len() - 1) * deviation / count.sqrt()
    });
    Difference { figure: figure.to_owned(), first, second, difference, within }
}

/// Student's t for a two-sided 95 % interval, by degrees of freedom.
fn student_t(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[freedom - 1],
        // Cornish-Fisher: good to the third digit from here on.
        _ => 1.959_964 + 2.3723 / freedom as f64 + 2.82 / (freedom * freedom) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(costs: &[f64]) -> Vec<Score> {
        costs.iter().map(|&cost| Score { cost, ..Score::default() }).collect()
    }

    #[test]
    fn pairs_show_what_means_hide() {
        // The luck of the seed moves both by ten; the policies differ by one.
        let (first, second) = (scores(&[10.0, 20.0, 30.0]), scores(&[11.0, 21.1, 30.9]));
        let comparison = compare(&first, &second, ["cost", "nothing"]);
        assert_eq!(comparison.differences.len(), 1);
        let cost = &comparison.differences[0];
        assert!((cost.difference - 1.0).abs() < 1e-9);
        // The deviation of 1.0, 1.1, 0.9 is 0.1; t of two degrees of freedom 4.303.
        assert!((cost.within.unwrap() - 4.303 * 0.1 / 3f64.sqrt()).abs() < 1e-6);
        assert!(cost.is_clear());
    }

    #[test]
    fn runs_without_a_value_say_nothing() {
        let mut runs = scores(&[1.0, 2.0, 3.0]);
        (runs[0].gpu_utilisation, runs[2].gpu_utilisation) = (Some(0.2), Some(0.4));
        let (seen, within) = mean(&runs, "gpuUtilisation").expect("two have one");
        assert!((seen - 0.3).abs() < 1e-9 && within.is_some());
        assert_eq!(mean(&runs, "fragmentation"), None);
        assert!(compare(&runs, &scores(&[1.0, 2.0, 3.0]), ["gpuUtilisation"]).differences.is_empty());
    }

    #[test]
    fn one_pair_says_nothing_of_chance() {
        let comparison = compare(&scores(&[1.0]), &scores(&[2.0]), ["cost"]);
        assert_eq!((comparison.differences[0].within, comparison.differences[0].is_clear()), (None, false));
    }

    #[test]
    fn t_goes_on_smoothly_beyond_the_table() {
        assert!((student_t(31) - 2.040).abs() < 2e-3);
        assert!((student_t(120) - 1.980).abs() < 1e-3);
        assert!(student_t(30) > student_t(31));
    }
}
