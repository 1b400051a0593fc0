//! A fault at one request: for tests that try every step of a procedure.

use ballast_core::observation::ErrorClass;

/// A fault at one request of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Which request: the number of those sent before it.
    pub at: u64,
    /// What befalls it.
    pub kind: InjectionKind,
}

/// What befalls a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectionKind {
    /// The controller ends before it is carried out; it never is.
    CrashBefore,
    /// The controller ends after it was carried out and before it is answered.
    CrashAfter,
    /// It is refused.
    Error(ErrorClass),
    /// It is carried out, and no answer comes.
    TimeoutApplied,
    /// It is not carried out, and no answer comes.
    TimeoutNotApplied,
    /// It is answered, and from then on all views stand still for five minutes.
    StaleViews,
}

impl InjectionKind {
    /// Every kind, with every class of error.
    pub fn all() -> Vec<Self> {
        let errors = [
            ErrorClass::StockOut,
            ErrorClass::Quota,
            ErrorClass::Throttled,
            ErrorClass::Conflict,
            ErrorClass::NotFound,
            ErrorClass::Auth,
            ErrorClass::Invalid,
            ErrorClass::Transient,
        ];
        let mut all = vec![
            Self::CrashBefore,
            Self::CrashAfter,
            Self::TimeoutApplied,
            Self::TimeoutNotApplied,
            Self::StaleViews,
        ];
        all.extend(errors.map(Self::Error));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new kind or class does not compile until it has a number here, and is then missed until it is tried.
    fn number(kind: InjectionKind) -> usize {
        match kind {
            InjectionKind::CrashBefore => 0,
            InjectionKind::CrashAfter => 1,
            InjectionKind::TimeoutApplied => 2,
            InjectionKind::TimeoutNotApplied => 3,
            InjectionKind::StaleViews => 4,
            InjectionKind::Error(ErrorClass::StockOut) => 5,
            InjectionKind::Error(ErrorClass::Quota) => 6,
            InjectionKind::Error(ErrorClass::Throttled) => 7,
            InjectionKind::Error(ErrorClass::Conflict) => 8,
            InjectionKind::Error(ErrorClass::NotFound) => 9,
            InjectionKind::Error(ErrorClass::Auth) => 10,
            InjectionKind::Error(ErrorClass::Invalid) => 11,
            InjectionKind::Error(ErrorClass::Transient) => 12,
        }
    }

    #[test]
    fn every_kind_is_tried() {
        let numbers: Vec<usize> = InjectionKind::all().into_iter().map(number).collect();
        assert_eq!(numbers, (0..13).collect::<Vec<_>>());
    }
}
