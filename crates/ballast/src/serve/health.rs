//! Whether this process lives and is ready, judged by what the runner was last seen to do.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ballast_core::policy::Mode;
use ballast_live::kubernetes::access::granted_from;
use ballast_live::kubernetes::{Asked, Tally};
use tokio::time::Instant;

/// A loop that has not turned for so long hangs: at rest it turns every few seconds.
const TURNS_WITHIN: Duration = Duration::from_secs(30);
/// A plan that is overdue by so long does not come.
const OVERDUE: Duration = Duration::from_secs(30);

/// A lease of which nothing was heard for so long is not kept by anybody; and a ledger that is not stored for so long, or a leader
/// that is kept from leading, is no passing thing any more.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is written so that people can look at it: no decision and no action needs it.
const FOR_SHOW: &str = "events";

/// What the runner was last seen to do.
#[derive(Clone)]
pub struct Health {
    shared: Arc<Mutex<Seen>>,
    tally: Tally,
}

struct Seen {
    began: Instant,
    /// When the loop last turned.
    turned: Instant,
    standing: Option<Standing>,
}

/// How the last plan left things.
#[derive(Clone, Debug)]
pub struct Standing {
    /// When it was made.
    pub planned: Instant,
    /// When the next is due at the latest.
    pub due: Instant,
    /// The mode that holds.
    pub mode: Mode,
    /// What is wrong with nodes, pods or disruption budgets, in words.
    pub troubled: Vec<String>,
    /// `Enforce`, and a limit without which nothing is done is missing.
    pub lacks_limits: bool,
    /// What keeps it from leading or from storing the ledger, and since when.
    pub hindered: Vec<(Instant, String)>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// All is well.
    pub is_well: bool,
    /// How it is, in words.
    pub words: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_well { '+' } else { '-' };
        write!(f, "[{sign}] {}: {}", self.name, self.words)
    }
}

impl Health {
    /// A process that has just begun.
    pub fn new(tally: Tally) -> Self {
        let now = Instant::now();
        Self { shared: Arc::new(Mutex::new(Seen { began: now, turned: now, standing: None })), tally }
    }

    /// The loop has turned.
    pub fn turned(&self) {
        self.seen().turned = Instant::now();
    }

    /// A plan was made, or something changed since.
    pub fn stands(&self, standing: Standing) {
        self.seen().standing = Some(standing);
    }

    /// Whether it lives.
    pub fn lives(&self) -> Vec<Check> {
        self.lives_at(Instant::now())
    }

    fn lives_at(&self, now: Instant) -> Vec<Check> {
        let rests = now.saturating_duration_since(self.seen().turned);
        let is_well = rests <= TURNS_WITHIN;
        let words = match is_well {
            true => "it turns".to_owned(),
            false => format!("it has not turned for {} s", rests.as_secs()),
        };
        vec![Check { name: "loop", is_well, words }]
    }

    /// Whether it is ready.
    pub fn ready(&self) -> Vec<Check> {
        self.ready_at(Instant::now())
    }

    fn ready_at(&self, now: Instant) -> Vec<Check> {
        let Seen { standing, began, .. } = &*self.seen();
        let mut denied = self.tally.denied();
        denied.retain(|asked| asked.resource != FOR_SHOW);
        let lease = self.tally.went_well("leases").map_or(*began, Instant::from_std);
        let unrenewed = self.tally.failing("update", "leases");
        let unrenewed = unrenewed.map(|(since, last)| (Instant::from_std(since), Instant::from_std(last)));
        vec![
            sees(standing.as_ref()),
            decides(standing.as_ref(), now),
            acts(standing.as_ref(), &denied),
            leads(standing.as_ref(), now, lease, unrenewed),
        ]
    }

    /// Whether all of it is.
    pub fn is_ready(&self) -> bool {
        self.ready().iter().all(|check| check.is_well)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(name: &'static str, problem: Option<String>, well: impl Into<String>) -> Check {
    Check { name, is_well: problem.is_none(), words: problem.unwrap_or_else(|| well.into()) }
}

fn sees(standing: Option<&Standing>) -> Check {
    let problem = match standing {
        None => Some("nodes, pods and disruption budgets are not known yet".to_owned()),
        Some(standing) if standing.troubled.is_empty() => None,
        Some(standing) => Some(standing.troubled.join("; ")),
    };
    check("seen", problem, "nodes, pods and disruption budgets are known and fresh")
}

fn decides(standing: Option<&Standing>, now: Instant) -> Check {
    let Some(standing) = standing else {
        return check("decides", Some("no plan was made yet".to_owned()), "");
    };
    let late = now.saturating_duration_since(standing.due);
    let problem = (late > OVERDUE).then(|| format!("a plan is overdue by {} s", late.as_secs()));
    check(
        "decides",
        problem,
        format!("planned {} s ago", now.saturating_duration_since(standing.planned).as_secs()),
    )
}

fn acts(standing: Option<&Standing>, denied: &[Asked]) -> Check {
    let mode = standing.map(|standing| standing.mode).unwrap_or_default();
    let words: Vec<String> =
        denied.iter().map(|asked| format!("{} {}", asked.verb, asked.resource)).collect();
    let least = denied.iter().filter_map(|asked| granted_from(asked.verb, asked.resource)).max();
    let bind = least.unwrap_or(mode).max(mode);
    let problem = (!denied.is_empty())
        .then(|| format!("the API refuses {}: bind the roles of mode {bind:?}", words.join(", ")));
    let well = match mode {
        Mode::Observe => "mode Observe, nothing to act".to_owned(),
        mode => format!("mode {mode:?}, nothing is refused"),
    };
    check("acts", problem, well)
}

/// Whether it could lead, or does: somebody keeps the lease, the limits are set, and the ledger is stored. A lease that this process
/// is to renew and cannot is kept by nobody, however well it can be read; one that it does not even try to renew is another's.
fn leads(
    standing: Option<&Standing>,
    now: Instant,
    lease: Instant,
    unrenewed: Option<(Instant, Instant)>,
) -> Check {
    let Some(standing) = standing.filter(|standing| standing.mode != Mode::Observe) else {
        return check("leads", None, "nothing to lead");
    };
    let silent = now.saturating_duration_since(lease);
    let silent =
        (silent > PATIENCE).then(|| format!("nothing was heard of the lease for {} s", silent.as_secs()));
    let unrenewed = unrenewed.filter(|(_, last)| now.saturating_duration_since(*last) <= PATIENCE);
    let unrenewed = unrenewed.map(|(since, _)| (since, "the lease cannot be renewed".to_owned()));
    let limits =
        standing.lacks_limits.then(|| "Enforce needs limits.nodes and limits.costPerHour".to_owned());
    let hindered = standing.hindered.iter().chain(&unrenewed);
    let hindered = hindered.map(|(since, why)| (now.saturating_duration_since(*since), why));
    let hindered = hindered.filter(|(so_long, _)| *so_long > PATIENCE);
    let hindered = hindered.map(|(so_long, why)| format!("{why}, for {} s", so_long.as_secs()));
    let problems: Vec<String> = silent.into_iter().chain(limits).chain(hindered).collect();
    let problem = (!problems.is_empty()).then(|| problems.join("; "));
    check("leads", problem, "the lease is kept, and what is begun is stored")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing() -> Standing {
        let now = Instant::now();
        Standing {
            planned: now,
            due: now,
            mode: Mode::Enforce,
            troubled: Vec::new(),
            lacks_limits: false,
            hindered: Vec::new(),
        }
    }

    fn after(secs: u64) -> Instant {
        Instant::now() + Duration::from_secs(secs)
    }

    #[test]
    fn a_loop_that_hangs_does_not_live() {
        let health = Health::new(Tally::default());
        assert!(health.lives_at(after(29))[0].is_well);
        assert_eq!(health.lives_at(after(33))[0].to_string(), "[-] loop: it has not turned for 33 s");
    }

    #[test]
    fn readiness_says_what_is_missing() {
        let health = Health::new(Tally::default());
        assert!(!health.is_ready());
        assert_eq!(health.ready()[1].to_string(), "[-] decides: no plan was made yet");
        health.stands(standing());
        assert!(health.is_ready(), "{:?}", health.ready());
        health.stands(Standing { troubled: vec!["Kubernetes Pod has no answer".to_owned()], ..standing() });
        assert_eq!(health.ready()[0].to_string(), "[-] seen: Kubernetes Pod has no answer");
        assert_eq!(health.ready_at(after(33))[1].to_string(), "[-] decides: a plan is overdue by 33 s");
        let denied = [Asked { verb: "patch", resource: "nodes" }];
        let acts = acts(Some(&standing()), &denied).to_string();
        assert_eq!(acts, "[-] acts: the API refuses patch nodes: bind the roles of mode Enforce");
        let recommends = Standing { mode: Mode::Recommend, ..standing() };
        assert_eq!(
            self::acts(Some(&recommends), &denied).to_string(),
            acts,
            "those of Recommend would not help"
        );
    }

    #[test]
    fn who_cannot_lead_is_not_ready() {
        let (now, later) = (Instant::now(), after(40));
        let told = |standing: &Standing, lease| leads(Some(standing), later, lease, None).to_string();
        let well = "[+] leads: the lease is kept, and what is begun is stored";
        assert_eq!(told(&standing(), later), well);
        let silent = told(&standing(), now);
        assert!(silent.starts_with("[-] leads: nothing was heard of the lease for "), "{silent}");
        let unlimited = Standing { lacks_limits: true, ..standing() };
        assert_eq!(told(&unlimited, later), "[-] leads: Enforce needs limits.nodes and limits.costPerHour");
        let hindered = |since| {
            let why = "the memory cannot be read".to_owned();
            Standing { hindered: vec![(since, why)], ..standing() }
        };
        assert_eq!(told(&hindered(later), later), well, "that may pass");
        let lasts = told(&hindered(now), later);
        assert!(lasts.starts_with("[-] leads: the memory cannot be read, for "), "{lasts}");
        let renewing = |since, last| leads(Some(&standing()), later, later, Some((since, last))).to_string();
        let fails = renewing(now, later);
        assert!(fails.starts_with("[-] leads: the lease cannot be renewed, for "), "{fails}");
        assert_eq!(renewing(later, later), well, "that may pass");
        assert_eq!(renewing(now, now), well, "it is another's by now");
        let watches = Standing { mode: Mode::Observe, ..unlimited };
        assert_eq!(told(&watches, now), "[+] leads: nothing to lead");
    }
}
