//! A cluster with the test kubelet, and how its pods are looked at.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use ballast_e2e::cluster::Cluster;
use ballast_e2e::kubelet::Kubelet;

/// The program that runs in pods.
pub(crate) const PEER: &str = env!("CARGO_BIN_EXE_peer");
/// How many cases run at a time: they mostly wait.
const AT_ONCE: usize = 4;
/// The longest that anything may take on a busy machine.
const PATIENCE: &str = "--timeout=90s";

/// A cluster whose one node is run by the test kubelet.
pub(crate) struct Yard {
    // Ended in this order: pods before the API.
    pub(crate) kubelet: Kubelet,
    pub(crate) cluster: Cluster,
}

/// One case: its name, and what it does in a namespace of its own.
pub(crate) type Case = (&'static str, fn(&Plot<'_>) -> Result<()>);

/// A namespace of its own for a case.
pub(crate) struct Plot<'a> {
    pub(crate) yard: &'a Yard,
    pub(crate) namespace: String,
}

impl Yard {
    pub(crate) fn open(start: fn(&Cluster) -> Result<Kubelet>) -> Result<Self> {
        let cluster = Cluster::start()?;
        let kubelet = start(&cluster)?;
        kubelet.register("n1", "16", "32Gi")?;
        let told = cluster.kubectl(&["wait", "--for=condition=Ready", "node/n1", PATIENCE])?;
        ensure!(told.success, "the node is not ready: {}", told.error);
        Ok(Self { kubelet, cluster })
    }

    /// Runs cases, a few at a time; all that fail are told.
    pub(crate) fn run(&self, cases: &[Case]) -> Result<()> {
        let next = Mutex::new(cases.iter().enumerate());
        let failures = Mutex::new(Vec::new());
        let take = || next.lock().ok().and_then(|mut next| next.next());
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some((number, (name, case))) = take() {
                        let done = Plot::fence(self, &format!("case-{number}")).and_then(|plot| case(&plot));
                        if let (Err(error), Ok(mut failures)) = (done, failures.lock()) {
                            failures.push(format!("{name}: {error:#}"));
                        }
                    }
                });
            }
        });
        let failures = failures.into_inner().unwrap_or_default();
        ensure!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
        Ok(())
    }
}

/// Whether a process with this among its words runs on the machine.
pub(crate) fn runs(mark: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let words = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    words.into_iter().any(|words| words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
}

impl<'a> Plot<'a> {
    pub(crate) fn fence(yard: &'a Yard, name: &str) -> Result<Self> {
        let plot = Self { yard, namespace: name.to_owned() };
        ensure!(yard.cluster.kubectl(&["create", "namespace", name])?.success, "no namespace {name}");
        plot.kubectl(&["wait", "--for=create", "serviceaccount/default", PATIENCE])?;
        Ok(plot)
    }

    /// Runs kubectl in the namespace; a failure is an error.
    pub(crate) fn kubectl(&self, args: &[&str]) -> Result<String> {
        self.kubectl_with(args, "")
    }

    pub(crate) fn kubectl_with(&self, args: &[&str], input: &str) -> Result<String> {
        let all = [&["--namespace", self.namespace.as_str()], args].concat();
        let told = self.yard.cluster.kubectl_with(&all, input)?;
        ensure!(told.success, "kubectl {args:?}: {}", told.error.trim());
        Ok(told.text)
    }

    pub(crate) fn apply(&self, documents: &str) -> Result<()> {
        self.kubectl_with(&["apply", "--server-side", "-f", "-"], documents).map(drop)
    }

    /// Makes a pod of this name with the rest of its spec as YAML in one line.
    pub(crate) fn pod(&self, name: &str, spec: &str) -> Result<()> {
        self.apply(&format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: {name}}}}}, spec: {{{spec}}}}}"
        ))
    }

    /// Waits until something holds, such as `condition=Ready`.
    pub(crate) fn wait(&self, object: &str, condition: &str) -> Result<()> {
        let waited = self.kubectl(&["wait", &format!("--for={condition}"), object, PATIENCE]);
        waited.map(drop).with_context(|| format!("it is {}", self.status(object)))
    }

    pub(crate) fn wait_for_phase(&self, pod: &str, phase: &str) -> Result<()> {
        self.wait(&format!("pod/{pod}"), &format!("jsonpath={{.status.phase}}={phase}"))
    }

    /// Waits until a pod has succeeded, and gives what its container `c` said.
    pub(crate) fn said(&self, pod: &str) -> Result<String> {
        self.wait_for_phase(pod, "Succeeded").with_context(|| format!("said {:?}", self.log(pod)))?;
        self.log(pod)
    }

    /// What the container `c` of a pod has said until now.
    pub(crate) fn log(&self, pod: &str) -> Result<String> {
        self.yard.kubelet.log(&self.namespace, pod, "c")
    }

    pub(crate) fn get(&self, object: &str, path: &str) -> Result<String> {
        self.kubectl(&["get", object, "-o", &format!("jsonpath={path}")])
    }

    pub(crate) fn expect(&self, object: &str, path: &str, value: &str) -> Result<()> {
        let found = self.get(object, path)?;
        ensure!(found == value, "{object} {path} is {found:?}, not {value:?}: {}", self.status(object));
        Ok(())
    }

    fn status(&self, object: &str) -> String {
        self.get(object, "{.status}").unwrap_or_else(|error| format!("{error:#}"))
    }

    /// Asks a pod for a page, over the bridge.
    pub(crate) fn ask(&self, pod: &str, port: u16, path: &str) -> Result<String> {
        let ip = self.get(&format!("pod/{pod}"), "{.status.podIP}")?;
        let mut stream = TcpStream::connect((ip.as_str(), port)).context("cannot reach the pod")?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {ip}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        match answer.lines().last() {
            Some(word) => Ok(word.to_owned()),
            None => bail!("the pod said nothing"),
        }
    }
}
