//! What a command looks at: a cluster as its user may see it, documents, or a record. All of them end in one engine that was
//! told what there is and has planned once.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ballast_core::documents::Documents;
use ballast_core::engine::Engine;
use ballast_core::observation::Observation;
use ballast_core::record;
use ballast_core::units::Time;

use super::{Result, load};
use crate::present::{Doing, Failure, Screen};
use crate::segments::segments;

/// Where to look.
#[derive(clap::Args)]
pub(super) struct Sight {
    /// Look at documents, or at the end of a record, instead of a cluster: a file or a folder
    #[arg(long, value_name = "PATH")]
    #[cfg_attr(feature = "live", arg(conflicts_with_all = ["kubeconfig", "context"]))]
    from: Option<PathBuf>,
    #[cfg(feature = "live")]
    #[command(flatten)]
    pub(super) cluster: Cluster,
    /// The namespace that Ballast lives in: its lease and its memory
    #[cfg(feature = "live")]
    #[arg(long, value_name = "NAME", env = "BALLAST_NAMESPACE", default_value = "ballast")]
    pub(super) namespace: String,
}

/// Which cluster, as kubectl names it.
#[cfg(feature = "live")]
#[derive(clap::Args)]
pub(super) struct Cluster {
    /// The kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the pod's service account]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// One look: what an engine is told, as often as one is wanted.
pub(super) struct Looked {
    start: Start,
    /// When.
    pub(super) now: Time,
    /// Where: the server, or the path.
    pub(super) place: String,
    /// Who leads, in words; empty where there is nobody to lead.
    pub(super) leader: String,
}

enum Start {
    /// What is stored, and what was seen.
    Observed { ledger: Option<String>, history: Option<String>, observations: Vec<Observation> },
    /// A record, with what followed from it.
    Recorded(PathBuf),
}

impl Sight {
    /// Looks once; what could not be seen is told.
    pub(super) fn look(&self, screen: &mut Screen) -> Result<Looked> {
        match &self.from {
            Some(path) => from(path, screen),
            None => self.live(screen),
        }
    }

    /// Whether it looks at what was kept, which does not change.
    #[cfg(feature = "live")]
    pub(super) fn is_kept(&self) -> bool {
        self.from.is_some()
    }

    #[cfg(not(feature = "live"))]
    fn live(&self, _: &mut Screen) -> Result<Looked> {
        Err(Failure::new("this program was built without what talks to clusters").hint("give `--from PATH`"))
    }

    #[cfg(feature = "live")]
    fn live(&self, screen: &mut Screen) -> Result<Looked> {
        use ballast_live::look::{Look, look};

        let (place, Look { taken_at, observations, faults, memory, leader }) =
            self.cluster.talk(async |connection| {
                let seen = look(&connection, &self.namespace).await;
                Ok((connection.server, seen))
            })?;
        refuse_blind(&place, &observations)?;
        for (document, fault) in &faults {
            screen.note(format_args!("note: {document} is invalid and passed over: {}", fault.problem));
        }
        let stored = memory.unwrap_or_else(|error| {
            screen.note(format_args!("note: what Ballast remembers is not known: {error}"));
            Default::default()
        });
        let leader = match leader {
            Ok(Some(holder)) => match holder.is_silent_for(taken_at) {
                None => format!("led by {}", holder.identity),
                Some(silence) => {
                    format!("nobody leads: {} is silent for {}", holder.identity, silence.rounded())
                }
            },
            Ok(None) => "nobody leads".to_owned(),
            Err(_) => "who leads is not known".to_owned(),
        };
        let start = Start::Observed { ledger: stored.ledger, history: stored.history, observations };
        Ok(Looked { start, now: taken_at, place, leader })
    }
}

impl Looked {
    /// An engine that was told all of it, and `more`, and has planned. It follows: nothing is ever asked for by it. With a
    /// record it keeps all that it was told.
    pub(super) fn engine(&self, more: Vec<Observation>, with_record: bool) -> Result<Engine> {
        let mut engine = match &self.start {
            Start::Recorded(file) => {
                let reader = File::open(file).doing(|| format!("cannot read {}", file.display()))?;
                let ending = record::ending(BufReader::new(reader));
                ending.doing(|| format!("cannot follow {}", file.display()))?.engine
            }
            Start::Observed { ledger, history, .. } => {
                let engine = Engine::new(ledger.as_deref()).doing(|| "cannot read the stored ledger")?;
                engine.with_history(history.as_deref())
            }
        };
        if with_record {
            engine.record(usize::MAX);
        }
        engine.follow(self.now);
        let mut observations = match &self.start {
            Start::Observed { observations, .. } => observations.clone(),
            Start::Recorded(_) => Vec::new(),
        };
        let is_more = !more.is_empty();
        observations.extend(more);
        let outcome = engine.tick(self.now, observations);
        // After the first plan it waits a moment for more; nothing more comes here.
        if is_more && outcome.plan.is_none() {
            let _ = engine.tick(outcome.wake_at, Vec::new());
        }
        Ok(engine)
    }
}

#[cfg(feature = "live")]
impl Cluster {
    /// The way to it.
    pub(super) fn place(&self) -> ballast_live::kubernetes::Place {
        ballast_live::kubernetes::Place { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// Connects, and awaits what is done with the connection.
    pub(super) fn talk<T>(
        &self,
        talk: impl AsyncFnOnce(ballast_live::kubernetes::Connection) -> Result<T>,
    ) -> Result<T> {
        ballast_live::install_crypto();
        let runtime = tokio::runtime::Runtime::new().doing(|| "cannot start the runtime")?;
        runtime.block_on(async {
            let connection = self.place().connect().await.map_err(crate::run::not_connected)?;
            talk(connection).await
        })
    }
}

/// Nothing can be said of a cluster whose nodes nobody sees.
#[cfg(feature = "live")]
fn refuse_blind(server: &str, observations: &[Observation]) -> Result<()> {
    use ballast_core::observation::{ErrorClass, ObjectKind, Source};

    let nodes = Source::kubernetes(ObjectKind::Node);
    let seen = observations.iter().find(|observation| observation.source == nodes);
    let Some(Err(error)) = seen.map(|seen| &seen.outcome) else { return Ok(()) };
    let failure = Failure::new(format!("cannot see the nodes of {server}: {error}"));
    Err(failure.hint(match error.class {
        ErrorClass::Auth => "the rights of `ballast roles` suffice; `kubectl auth can-i list nodes` says whether you have them",
        _ => "`kubectl get nodes` with the same kubeconfig and context says whether the cluster can be reached",
    }))
}

fn from(path: &Path, screen: &mut Screen) -> Result<Looked> {
    let (place, leader) = (path.display().to_string(), String::new());
    if let Some(file) = record_in(path)? {
        let reader = File::open(&file).doing(|| format!("cannot read {}", file.display()))?;
        let ending =
            record::ending(BufReader::new(reader)).doing(|| format!("cannot follow {}", file.display()))?;
        return Ok(Looked { start: Start::Recorded(file), now: ending.at, place, leader });
    }
    let documents = load::cluster(&[path.to_owned()])?;
    load::tell(&documents.doubts, screen);
    let now = newest(&documents).unwrap_or_else(wall_clock);
    let observations = documents.into_observations(now);
    Ok(Looked { start: Start::Observed { ledger: None, history: None, observations }, now, place, leader })
}

/// The record that a path means: itself, or the newest segment of a folder.
fn record_in(path: &Path) -> Result<Option<PathBuf>> {
    if !path.is_dir() {
        return Ok(Some(path.to_owned()).filter(|path| is_record(path)));
    }
    Ok(segments(path)?.pop())
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// The time of the newest observation.
pub(super) fn newest(documents: &Documents) -> Option<Time> {
    documents.observations.iter().map(|placed| placed.value.taken_at).max()
}

/// What the clock of this machine says.
pub(super) fn wall_clock() -> Time {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(passed.as_millis() as i64)
}
