//! How two runs differ: means over seeds, and their difference paired by seed with its 95 % interval.
//!
//! Both sides see the same seeds and so the same arrivals and faults; taking differences seed by seed leaves only what the
//! policies do.

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// Half of the 95 % interval of the mean; none where one seed cannot tell.
    pub half: Option<f64>,
}

/// How a difference is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The interval lies above zero.
    More,
    /// The interval lies below zero.
    Less,
    /// The interval holds zero: the seeds do not tell them apart.
    Same,
    /// One seed tells nothing about chance.
    Unknown,
}

/// Mean and interval of some values.
pub fn spread(values: &[f64]) -> Spread {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return Spread { mean, half: None };
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    Spread { mean, half: Some(student(values.len() - 1) * deviation / count.sqrt()) }
}

/// The difference of `b` from `a`, value by value.
pub fn paired(a: &[f64], b: &[f64]) -> Spread {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    spread(&differences)
}

impl Spread {
    /// What it says about a difference.
    pub fn reading(self) -> Reading {
        match self.half {
            None => Reading::Unknown,
            Some(half) if self.mean - half > 0.0 => Reading::More,
            Some(half) if self.mean + half < 0.0 => Reading::Less,
            Some(_) => Reading::Same,
        }
    }
}

/// The 97.5 % point of Student's distribution, by degrees of freedom from 1.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

fn student(freedom: usize) -> f64 {
    match STUDENT.get(freedom.max(1) - 1) {
        Some(point) => *point,
        // Within a thousandth of the table from 30 on.
        None => 1.96 + 2.46 / freedom as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_taken_seed_by_seed() {
        // Both vary a lot from seed to seed, but b is always about two less: unpaired, nobody could tell.
        let a = [100.0, 150.0, 90.0, 200.0];
        let b = [98.1, 147.9, 88.0, 198.0];
        let difference = paired(&a, &b);
        assert!((difference.mean + 2.0).abs() < 1e-9);
        assert_eq!(difference.reading(), Reading::Less);
        assert_eq!(paired(&b, &a).reading(), Reading::More);
        assert_eq!(paired(&a, &a).reading(), Reading::Same);
        assert_eq!(paired(&a[..1], &b[..1]).reading(), Reading::Unknown);
        assert_eq!(paired(&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.5]).reading(), Reading::Same);
    }

    #[test]
    fn the_interval_is_students() {
        let seen = spread(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((seen.mean - 3.0).abs() < 1e-12);
        assert!((seen.half.unwrap() - 2.776 * (2.5f64 / 5.0).sqrt()).abs() < 1e-9);
        assert!((student(31) - 2.040).abs() < 2e-3 && (student(1000) - 1.962).abs() < 1e-3);
    }
}
